package figures

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *manyhyper.LeversResult) []Output {
		return []Output{ManyHyperparametersCurves(r), ManyHyperparametersGains(r), ManyHyperparametersTable(r)}
	})
	register(func(r *manyhyper.AdditiveResult) []Output {
		return []Output{AdditiveTerms(r), AdditiveTable(r)}
	})
	register(func(r *manyhyper.MapResult) []Output {
		return []Output{GradientMap(r), GradientMapTable(r)}
	})
	register(func(r *searches.StochasticResult) []Output {
		return []Output{OuterPenalty(r), StochasticTable(r)}
	})
}

// searchNames returns the names of the searches in words.
func searchNames(p manyhyper.LeversParams) map[string]string {
	return map[string]string{
		manyhyper.SearchFolds:  fmt.Sprintf("%d folds", p.Folds),
		manyhyper.SearchHalves: fmt.Sprintf("splits of share %.2g", p.HalfP),
		manyhyper.SearchTuner:  "tuner",
		manyhyper.SearchNet:    "tuner, elastic net",
	}
}

// ManyHyperparametersCurves shows the test loss and the CV loss as functions of the number of
// hyperparameters. Each loss is divided by the loss with a single hyperparameter of the same kind.
func ManyHyperparametersCurves(r *manyhyper.LeversResult) *Figure {
	f := &Figure{Name: "many_hyperparameters", Width: 11 * vg.Inch, Height: 4.1 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: [][]*Panel{nil},
		Caption: fmt.Sprintf("Test loss (thick, with 95 %% intervals of the paired differences) and CV loss (thin) against the number of hyperparameters, as multiples of the losses with one of the kind, over %d data sets. The square is the tuner's test loss.", r.Params.DataSets)}
	names := searchNames(r.Params)
	for _, l := range r.Problems {
		p := NewPanel(l.Name, l.Name, "hyperparameters", "loss, as a multiple of one's").Grid().LogAxes(true, false)
		for _, s := range []struct {
			name     string
			test, cv Style
		}{
			{manyhyper.SearchFolds, Style{Color: Blue, Width: 2}, Style{Color: Blue, Width: 1.2, Dash: []vg.Length{2, 2}}},
			{manyhyper.SearchHalves, Style{Color: Vermilion, Width: 2.5, Dash: []vg.Length{9, 3}}, Style{Color: Vermilion, Width: 1.2, Dash: []vg.Length{6, 2, 1, 2}}},
		} {
			var x []float64
			var test, cv []experiment.Estimate
			for _, row := range l.Rows {
				if row.Search == s.name {
					x, test, cv = append(x, float64(row.Hyperparameters)), append(test, l.Ratio(row)), append(cv, l.CVRatio(row))
				}
			}
			mean, low, high := meansAndEnds(test)
			p.Band("test loss, "+names[s.name], Log10s(x), low, high, s.test)
			p.Line("test loss, "+names[s.name], Log10s(x), mean, s.test)
			mean, _, _ = meansAndEnds(cv)
			p.Line("CV loss, "+names[s.name], Log10s(x), mean, s.cv)
		}
		if row, ok := l.Find(manyhyper.SearchTuner); ok {
			p.Scatter("test loss, "+names[manyhyper.SearchTuner], []float64{math.Log10(float64(row.Hyperparameters))}, []float64{l.Ratio(row).Mean}, Style{Color: Black, Glyph: draw.SquareGlyph{}, GlyphRadius: 3.5})
		}
		p.HLine("one hyperparameter", 1, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
		f.Panels[0] = append(f.Panels[0], p)
	}
	return f
}

// ManyHyperparametersGains lists how the remedies against over-fitting change the test loss: each
// remedy alone, and all remedies together.
func ManyHyperparametersGains(r *manyhyper.LeversResult) *Table {
	t := &Table{
		Name: "many_hyperparameters_gains", Caption: "Test losses as multiples of the test loss with one hyperparameter of the kind on folds",
		Header: []string{"Problem", "Test loss of one", "Test loss of a constant", "Many", "Many, folds", "One, other splits", "Many, other splits", "Many, tuner", "Lowest of all searches", "with", "CV loss of many, folds"},
		Note:   fmt.Sprintf("Means over %d data sets, with 95 %% confidence intervals of the paired differences. Many are the most hyperparameters of the kind. The other splits fit the share %.2g of the rows. The last column is a multiple of the CV loss of one on the same folds.", r.Params.DataSets, r.Params.HalfP),
	}
	for _, l := range r.Problems {
		var otherOne, lowest manyhyper.LeverRow
		for _, row := range l.Rows {
			if row.Search == manyhyper.SearchHalves && otherOne.Search == "" {
				otherOne = row
			}
			if lowest.Search == "" || row.Test.Mean < lowest.Test.Mean {
				lowest = row
			}
		}
		folds, _ := l.Find(manyhyper.SearchFolds)
		other, _ := l.Find(manyhyper.SearchHalves)
		tuner, _ := l.Find(manyhyper.SearchTuner)
		cells := []any{l.Name, Number{Value: l.Rows[0].Test.Mean, Digits: 3}, Number{Value: l.Constant.Mean, Digits: 3}, folds.Hyperparameters}
		for _, row := range []manyhyper.LeverRow{folds, otherOne, other, tuner, lowest} {
			cells = append(cells, chart.Estimated(l.Ratio(row), 2))
		}
		t.Rows = append(t.Rows, append(cells, lowest.Hyperparameters, chart.Estimated(l.CVRatio(folds), 2)))
	}
	return t
}

// ManyHyperparametersTable lists all searches.
func ManyHyperparametersTable(r *manyhyper.LeversResult) *Table {
	t := &Table{
		Name: "many_hyperparameters_searches", Caption: fmt.Sprintf("One hyperparameter of a kind against several, over %d data sets of each problem", r.Params.DataSets),
		Header: []string{"Problem", "Splits", "Hyperparameters", "Evaluations", "Fits", "CV loss", "Test loss", "Test loss minus one's", "Lower than one's", "Test loss of a constant", "Variance of the noise"},
		Brief:  []string{"Problem", "Splits", "Hyperparameters", "Fits", "CV loss", "Test loss", "Test loss minus one's", "Lower than one's"},
		Note: fmt.Sprintf("Means with 95 %% confidence intervals of mean squared errors. The difference is paired, from the first row of the problem; a tie counts half. A search of several hyperparameters begins where the search of one ended, and its fits include that search's. "+
			"Folds and splits are fitted at once, so that the time grows more slowly than the fits. A tuner tries several starts, looks for widths on splits of its own, and lets features leave; its fits are not counted. Training examples: %d for the widths, %d for the penalties, %d for the smooth terms.",
			r.Params.Widths.Train, r.Params.Bands.Train, r.Params.Smooths.Train),
	}
	names := searchNames(r.Params)
	for _, l := range r.Problems {
		for _, row := range l.Rows {
			var fits any
			if row.Fits.N > 0 {
				fits = Number{Value: row.Fits.Mean, Digits: 0}
			}
			t.Rows = append(t.Rows, []any{l.Name, names[row.Search], row.Hyperparameters, Number{Value: row.Evaluations.Mean, Digits: 0}, fits, chart.Estimated(row.CV, 3), chart.Estimated(row.Test, 3),
				chart.Estimated(row.TestLessOne.Difference, 3), fmt.Sprintf("%.0f %%", 100*row.TestLessOne.Wins), chart.Estimated(l.Constant, 3), Number{Value: l.Noise, Digits: 3}})
		}
	}
	return t
}

// AdditiveTerms shows the known functions, and the fits of both additive models to these functions.
func AdditiveTerms(r *manyhyper.AdditiveResult) *Figure {
	f := &Figure{Name: "additive_terms", Width: 11 * vg.Inch, Height: 3.6 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil},
		Caption: fmt.Sprintf("Four known functions of one feature each (dotted), whose sum makes the labels, and their estimates by an additive model with one penalty for all terms and with a penalty for each. Means over %d data sets of %d examples, with 95 %% confidence intervals. Each function is shown minus its mean.", r.Params.DataSets, r.Params.Smooths.Train)}
	for j, term := range r.Terms {
		p := NewPanel(term.Name, term.Name, fmt.Sprintf("x%s", chart.Subscripted(fmt.Sprint(j+1))), "effect").Grid()
		for k, s := range []Style{{Color: Vermilion, Width: 2, Dash: []vg.Length{6, 3}}, {Color: Blue, Width: 2}} {
			name := []string{"one penalty", "a penalty for each term"}[k]
			mean, low, high := meansAndEnds(term.Fits[k])
			p.Band(name, term.Places, low, high, s)
			p.Line(name, term.Places, mean, s)
		}
		p.Line("truth", term.Places, term.Truth, Style{Color: Black, Width: 2, Dash: []vg.Length{1, 3}})
		f.Panels[0] = append(f.Panels[0], p)
	}
	return f
}

// AdditiveTable compares the models on known functions, and on two data sets that the project
// contains.
func AdditiveTable(r *manyhyper.AdditiveResult) *Table {
	t := &Table{
		Name: "additive", Caption: fmt.Sprintf("Additive models beside others, tuned by the same calls, over %d data sets of each kind", r.Params.DataSets),
		Header: []string{"Data", "Model", "Hyperparameters", "Evaluations", "CV loss", "Test loss", "Minus one of the kind", "Minus linear", "Test loss of a constant"},
		Brief:  []string{"Data", "Model", "Hyperparameters", "Evaluations", "CV loss", "Test loss", "Minus one of the kind", "Minus linear"},
		Note:   "Mean squared errors: means with 95 % confidence intervals, and paired differences. One of the kind is the model with one penalty, or with one width.",
	}
	for _, s := range r.Sets {
		name := fmt.Sprintf("%s, %d rows", s.Name, s.Train)
		digits := 3
		if s.Constant.Mean > 1000 {
			digits = 0
		}
		for _, m := range s.Models {
			var lessOne any
			if m.TestLessOne.Difference.N > 0 {
				lessOne = chart.Estimated(m.TestLessOne.Difference, digits)
			}
			t.Rows = append(t.Rows, []any{name, m.Name, m.Hyperparameters, Number{Value: m.Evaluations.Mean, Digits: 0}, chart.Estimated(m.CV, digits), chart.Estimated(m.Test, digits),
				lessOne, chart.Estimated(m.TestLessLinear.Difference, digits), chart.Estimated(s.Constant, digits)})
		}
	}
	return t
}

// GradientMap shows two differences of test losses as functions of each of the four factors. The
// first difference is the loss with the CV gradient minus the loss with the training gradient. The
// second difference is the loss with many hyperparameters minus the loss with one hyperparameter.
func GradientMap(r *manyhyper.MapResult) *Figure {
	f := &Figure{Name: "gradient_map", Width: 11 * vg.Inch, Height: 6.2 * vg.Inch, Legend: LegendBelow,
		Caption: fmt.Sprintf("Differences of test losses, as shares of the larger one: many hyperparameters by the CV gradient minus many by the training gradient (top), and minus one (bottom). Each point is the mean over all cells of a problem with this value. Bands are 95 %% confidence intervals over data sets: %d in a cell, and %d in a cell of weights. Below 0 the CV gradient helps, or many do.", r.Params.DataSets, r.Params.RingsDataSets)}
	styles := []Style{{Color: Blue, Width: 2}, {Color: Vermilion, Width: 2, Dash: []vg.Length{6, 2}}, {Color: Green, Width: 2.5, Dash: []vg.Length{2, 2}}}
	for _, what := range []struct {
		name, y string
		of      func(e manyhyper.MapEffect) experiment.Estimate
	}{
		{"CV minus training gradient", "CV gradient minus training gradient", func(e manyhyper.MapEffect) experiment.Estimate { return e.CVLessTraining }},
		{"many minus one", "many hyperparameters minus one", func(e manyhyper.MapEffect) experiment.Estimate { return e.ManyLessOne }},
	} {
		var row []*Panel
		var all []experiment.Estimate
		for _, e := range r.Effects {
			all = append(all, what.of(e))
		}
		_, lows, highs := meansAndEnds(all)
		ymin, ymax := padded(append(lows, 0), append(highs, 0))
		for factor, name := range manyhyper.Factors {
			var places []float64
			const share = 2 // index of the only factor whose axis is not logarithmic
			p := NewPanel(what.name+", "+name, "", name, what.y).Grid().LogAxes(factor != share, false)
			for k, problem := range manyhyper.MapProblems {
				var x []float64
				var y []experiment.Estimate
				for _, e := range r.Effects {
					if e.Problem == problem && e.Factor == factor {
						x, y = append(x, e.Level), append(y, what.of(e))
					}
				}
				if factor != share {
					x = Log10s(x)
				}
				places = append(places, x...)
				mean, low, high := meansAndEnds(y)
				p.Band(problem, x, low, high, styles[k])
				p.Line(problem, x, mean, styles[k])
			}
			p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
			xmin, xmax := padded(places, places)
			p.Range(xmin, xmax, ymin, ymax)
			row = append(row, p)
		}
		f.Panels = append(f.Panels, row)
	}
	return f
}

// padded returns a range that contains all given numbers, with some room at both ends.
func padded(lows, highs []float64) (low, high float64) {
	if len(lows) == 0 {
		return 0, 1
	}
	low, high = slices.Min(lows), slices.Max(highs)
	room := max(.06*(high-low), .01)
	return low - room, high + room
}

// effectWord returns the word "helps" or "harms" for a difference of losses. If the interval of the
// difference contains 0, the word is "undecided".
func effectWord(e experiment.Estimate) string {
	return [...]string{"helps", "undecided", "harms"}[1+e.Sign()]
}

// GradientMapTable lists all cells of the map.
func GradientMapTable(r *manyhyper.MapResult) *Table {
	p := r.Params
	t := &Table{
		Name: "gradient_map_cells", Caption: fmt.Sprintf("When the gradient of the CV loss helps, and when many hyperparameters do: %d cells", len(r.Cells)),
		Header: []string{"Problem", "N", "Hyperparameters", "Share", "Noise", "CV minus training gradient", "CV gradient", "Many minus one", "Many", "CV loss, one", "CV loss, many", "Test loss, one", "Test loss, many", "Test loss, training gradient"},
		Brief:  []string{"Problem", "N", "Hyperparameters", "Share", "Noise", "CV minus training gradient", "CV gradient", "Many minus one", "Many", "CV loss, one", "CV loss, many"},
		Note: fmt.Sprintf("Differences of test losses are paired and shares of the larger loss, with 95 %% confidence intervals over %d data sets a cell of penalties and widths and %d a cell of weights; no interval is widened for the number of cells. Losses are shares of a constant prediction's: mean squared errors, of the weights error rates for the test and logistic losses for CV. "+
			"Share is the share of the rows that the %d splits fit. Noise is the standard deviation of the labels' noise, of the weights that of the radii. With one hyperparameter the penalties and widths are all equal, and the weights stay at their start while C is searched for.", p.DataSets, p.RingsDataSets, p.K),
	}
	for _, c := range r.Cells {
		t.Rows = append(t.Rows, []any{c.Problem, fmt.Sprint(c.Train), c.Hyperparameters, fmt.Sprint(c.Share), fmt.Sprint(c.Noise),
			chart.Estimated(c.CVLessTraining, 3), effectWord(c.CVLessTraining), chart.Estimated(c.ManyLessOne, 3), effectWord(c.ManyLessOne),
			chart.Estimated(c.OneCV, 3), chart.Estimated(c.ManyCV, 3), chart.Estimated(c.One, 3), chart.Estimated(c.Many, 3), chart.Estimated(c.Training, 3)})
	}
	return t
}

// KeptGradientMap is [GradientMap] of the map that is kept with the sources.
func KeptGradientMap() *Figure {
	r := manyhyper.KeptMap()
	f := GradientMap(r)
	f.Name = "gradient_map_kept"
	f.Caption = fmt.Sprintf("The kept map, drawn like the map above, on %d data sets a cell (%d of weights).", r.Params.DataSets, r.Params.RingsDataSets)
	return f
}

// KeptGradientMapTable counts the cells of the kept map in which the CV gradient, or many
// hyperparameters, help or harm. It has one row for each problem, size and number of
// hyperparameters. Its CSV is in the order of the figure's lines.
func KeptGradientMapTable() *Table {
	r := manyhyper.KeptMap()
	t := &Table{
		Name: "gradient_map_kept_cells", Caption: fmt.Sprintf("The kept map by size and number of hyperparameters: %d cells", len(r.Cells)),
		Header: []string{"Problem", "N", "Hyperparameters", "Cells", "CV gradient helps", "harms", "Mean difference", "Many help", "harm", "Mean difference of many"},
		Note:   "A difference is the mean of the cells' differences of test losses, as shares of the larger loss. Below 0 the CV gradient helps, or many hyperparameters do. A cell helps or harms if its 95 % confidence interval excludes 0.",
	}
	for first := 0; first < len(r.Cells); {
		c, last := r.Cells[first], first
		for last < len(r.Cells) && r.Cells[last].Problem == c.Problem && r.Cells[last].Train == c.Train && r.Cells[last].Hyperparameters == c.Hyperparameters {
			last++
		}
		row := []any{c.Problem, fmt.Sprint(c.Train), c.Hyperparameters, last - first}
		for _, difference := range []func(c manyhyper.MapCell) experiment.Estimate{
			func(c manyhyper.MapCell) experiment.Estimate { return c.CVLessTraining },
			func(c manyhyper.MapCell) experiment.Estimate { return c.ManyLessOne },
		} {
			helps, harms := manyhyper.CountSigns(r.Cells[first:last], difference)
			var sum float64
			for _, c := range r.Cells[first:last] {
				sum += difference(c).Mean
			}
			row = append(row, helps, harms, Number{Value: sum / float64(last-first), Digits: 3})
		}
		t.Rows = append(t.Rows, row)
		first = last
	}
	return t
}

// OuterPenalty shows the risk as a function of the weight of the outer penalty. It also shows the
// risks of the methods that have no outer penalty.
func OuterPenalty(r *searches.StochasticResult) *Figure {
	p := r.Params
	panel := NewPanel("risk", "", "weight of the outer penalty", "mean logistic loss on test examples").Grid().LogAxes(true, false)
	panel.Direct = true // seven names
	for _, s := range []struct {
		name  string
		risks []experiment.Estimate
		style Style
	}{
		{"stochastic CVGM", r.Stochastic, Style{Color: Blue, Width: 2}},
		{"training gradient", r.Training, Style{Color: Vermilion, Width: 2, Dash: []vg.Length{6, 3}}},
	} {
		mean, low, high := meansAndEnds(s.risks)
		panel.Band(s.name, Log10s(p.Weights), low, high, s.style)
		panel.Line(s.name, Log10s(p.Weights), mean, s.style)
	}
	for _, s := range []struct {
		name  string
		style Style
	}{
		{searches.StochasticPlain, Style{Color: Black, Width: 1.5}},
		{searches.StochasticRandom, Style{Color: Grey, Width: 1.5, Dash: []vg.Length{1, 2}}},
		{searches.StochasticCMAES, Style{Color: Green, Width: 1.5, Dash: []vg.Length{9, 3}}},
		{searches.StochasticAlone, Style{Color: Blue, Width: 1.5, Dash: []vg.Length{2, 2}}},
		{searches.StochasticTraining, Style{Color: Vermilion, Width: 2.5, Dash: []vg.Length{12, 3, 2, 3}}},
	} {
		if m, ok := r.Find(s.name); ok && !math.IsNaN(m.Risk.Mean) {
			panel.Line(s.name, Log10s(p.Weights), slices.Repeat([]float64{m.Risk.Mean}, len(p.Weights)), s.style)
		}
	}
	return &Figure{Name: "outer_penalty", Width: 8 * vg.Inch, Height: 4.2 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{panel}},
		Caption: fmt.Sprintf("Risk of a model whose kernel is a network of %d weights, against the weight of the penalty that keeps these near their start: means over %d data sets, with 95 %% confidence intervals. Horizontal lines are methods without the penalty.", p.Rings.NumHyperparameters(), p.DataSets)}
}

// StochasticTable lists the methods with their numbers of fits.
func StochasticTable(r *searches.StochasticResult) *Table {
	p := r.Params
	t := &Table{
		Name: "stochastic", Caption: fmt.Sprintf("%d weights of a network as hyperparameters, over %d data sets", p.Rings.NumHyperparameters(), p.DataSets),
		Header: []string{"Method", "Fits", "Risk", "Stochastic CVGM with penalty minus it", "Lower on"},
		Note: fmt.Sprintf("Mean logistic losses on test examples, with 95 %% confidence intervals; differences are paired. The fits include the choice of the penalty's weight, among %d weights by %d outer folds. "+
			"Plain CVGM is a quasi-Newton search on the CV loss of %d fixed splits. CMA-ES and random search minimise the same loss without a gradient. Stochastic CVGM draws %d splits that fit the share %.2g of the rows at each of its %d steps. The training gradient descends the loss of the fit on its own rows.",
			len(p.Weights), p.OuterFolds, p.Rings.K, p.Fresh, p.FreshP, p.Steps),
	}
	for _, m := range r.Methods {
		difference, wins := any(nil), any(nil)
		if m.Name != searches.StochasticPenalty {
			difference, wins = chart.Estimated(m.PenaltyLess.Difference, 3), fmt.Sprintf("%.0f %%", 100*m.PenaltyLess.Wins)
		}
		t.Rows = append(t.Rows, []any{m.Name, m.Fits, chart.Estimated(m.Risk, 3), difference, wins})
	}
	return t
}
