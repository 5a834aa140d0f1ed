package figures

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot"
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
	f := &Figure{Name: "many_hyperparameters", Width: 11 * vg.Inch, Height: 5.6 * vg.Inch, Legend: LegendBelow, Panels: make([][]*Panel, 2),
		Caption: fmt.Sprintf("Top: test loss / test loss with one hyperparameter on %d folds. Bottom: CV loss / loss with one on the same splits. Means over %d data sets, with 95 %% intervals of paired differences. For widths, “one” is one shared width and a ridge penalty, so they start at 2 on the axis. Squares: the tuner, which keeps one unless separate ones lower the loss enough on other splits.", r.Params.Folds, r.Params.DataSets)}
	for _, l := range r.Problems {
		for k, loss := range []struct {
			name  string
			ratio func(row manyhyper.LeverRow) experiment.Estimate
		}{{"test loss", l.Ratio}, {"CV loss", l.CVRatio}} {
			title := l.Name
			if k > 0 {
				title = ""
			}
			p := NewPanel(l.Name+", "+loss.name, title, "number of hyperparameters", loss.name+" / loss with one").Grid().LogAxes(true, false)
			p.HLine("one hyperparameter", 1, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
			const apart, beside = .015, .08 // so that the marks of two searches, and the tuner, do not cover each other
			for i, s := range []struct {
				search, name string
				style        Style
			}{
				{manyhyper.SearchFolds, fmt.Sprintf("%d folds", r.Params.Folds), Style{Color: Blue}},
				{manyhyper.SearchHalves, fmt.Sprintf("%d splits that fit %.2g of the rows", r.Params.Halves, r.Params.HalfP), Style{Color: Vermilion, Dash: []vg.Length{6, 3}, Glyph: draw.PyramidGlyph{}, GlyphRadius: 3.5}},
			} {
				var x []float64
				var y []experiment.Estimate
				for _, row := range l.Rows {
					if row.Search == s.search {
						x, y = append(x, math.Log10(float64(row.Hyperparameters))+float64(2*i-1)*apart), append(y, loss.ratio(row))
					}
				}
				mean, low, high := meansAndEnds(y)
				p.Measured(s.name, x, mean, low, high, s.style)
			}
			if row, ok := l.Find(manyhyper.SearchTuner); ok && k == 0 {
				mean, low, high := meansAndEnds([]experiment.Estimate{loss.ratio(row)})
				p.Marked("tuner, all hyperparameters", []float64{math.Log10(float64(row.Hyperparameters)) + beside}, mean, low, high, Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 3})
			}
			f.Panels[k] = append(f.Panels[k], p)
		}
	}
	shareScales(f.Panels)
	return f
}

// shareScales gives all panels the same x axis, and at most two y axes. If the losses of some
// columns vary much less than the most variable ones, these columns have a y axis of their own. The
// titles of the smaller group of columns have the words "other y scale".
func shareScales(panels [][]*Panel) {
	var columns []chart.Box
	for j := range panels[0] {
		columns = append(columns, panels[0][j].Axes().Union(panels[1][j].Axes()))
	}
	var all chart.Box
	var groups [2][]int // columns that vary little, and much
	for j, c := range columns {
		if j == 0 {
			all = c
		}
		all = all.Union(c)
	}
	for j, c := range columns {
		const little = .7
		group := 0
		if c.Ymax-c.Ymin > little*(all.Ymax-all.Ymin) {
			group = 1
		}
		groups[group] = append(groups[group], j)
	}
	for k, group := range groups {
		for _, j := range group {
			y := columns[group[0]]
			for _, other := range group {
				y = y.Union(columns[other])
			}
			for _, row := range panels {
				row[j].Range(all.Xmin, all.Xmax, y.Ymin, y.Ymax)
			}
			if others := len(groups[1-k]); others > len(group) || others == len(group) && k == 1 {
				panels[0][j].Plot.Title.Text += " (other y scale)"
			}
		}
	}
}

// ManyHyperparametersGains lists how the remedies against over-fitting change the test loss: each
// remedy alone, and all remedies together.
func ManyHyperparametersGains(r *manyhyper.LeversResult) *Table {
	t := &Table{
		Name: "many_hyperparameters_gains", Caption: "Test losses as multiples of the test loss with one hyperparameter of the same kind on folds",
		Header: []string{"Problem", "Test loss of one", "Test loss of a constant", "Many", "Many, folds", "One, other splits", "Many, other splits", "Many, tuner", "Lowest of all searches", "hyperparameters", "CV loss of many, folds"},
		Note:   fmt.Sprintf("Means over %d data sets, with 95 %% confidence intervals of the paired differences. “Many” is the largest number; “one” width has a penalty beside it. The other splits fit the share %.2g of the rows. The last column is a multiple of the CV loss of one on the same folds.", r.Params.DataSets, r.Params.HalfP),
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

// AdditiveTerms shows the known functions with the fits of both additive models, and the fits minus
// the functions.
func AdditiveTerms(r *manyhyper.AdditiveResult) *Figure {
	f := &Figure{Name: "additive_terms", Width: 11 * vg.Inch, Height: 5.6 * vg.Inch, Legend: LegendBelow, Panels: make([][]*Panel, 2),
		Caption: fmt.Sprintf("Top: known functions of one feature each, minus their means, whose sum makes the labels, and their estimates by additive models. Bottom: estimates minus functions. Lines are means over %d data sets of %d examples; the titles have root mean square (RMS) errors of single estimates.", r.Params.DataSets, r.Params.Smooths.Train)}
	low, high := 0., 0. // of all errors
	for j, term := range r.Terms {
		x := fmt.Sprintf("x%s", chart.Subscripted(fmt.Sprint(j+1)))
		above, below := NewPanel(term.Name, term.Name, x, "effect").Grid(), NewPanel(term.Name+", error", "", x, "estimate minus truth").Grid()
		var rms [2]float64
		for k, s := range []Style{{Color: Vermilion, Width: 1.5, Dash: []vg.Length{6, 3}}, {Color: Blue, Width: 1.5}} {
			name := []string{"one penalty", "a penalty for each term"}[k]
			mean, from, to := meansAndEnds(term.Fits[k])
			above.Line(name, term.Places, mean, s)
			rms[k] = termError(term, k)
			for _, v := range [][]float64{from, to, mean} {
				for i := range v {
					v[i] -= chart.Nth(term.Truth, i)
				}
			}
			below.Band(name, term.Places, from, to, s)
			below.Line(name, term.Places, mean, s)
		}
		below.Plot.Title.Text = fmt.Sprintf("RMS error: one %#.2g, each %#.2g", rms[0], rms[1])
		truth := Style{Color: Black, Width: 2, Dash: []vg.Length{1, 3}}
		above.Line("truth", term.Places, term.Truth, truth)
		below.HLine("truth", 0, truth)
		f.Panels[0], f.Panels[1] = append(f.Panels[0], above), append(f.Panels[1], below)
		low, high = min(low, below.Axes().Ymin), max(high, below.Axes().Ymax)
	}
	for _, p := range f.Panels[1] { // errors have one scale
		p.Range(p.Axes().Xmin, p.Axes().Xmax, low, high)
	}
	return f
}

// termError returns the root mean square error of all single estimates of a function, at all places.
// Fit k of the term is meant. The mean square of a place is the square of the mean error plus the
// variance.
func termError(term manyhyper.AdditiveTerm, k int) float64 {
	var sum float64
	for i, e := range term.Fits[k] {
		bias := e.Mean - chart.Nth(term.Truth, i)
		sum += bias * bias
		if e.Repeated() {
			n := float64(e.N)
			sum += math.Pow(experiment.Deviation(e), 2) * (n - 1) / n
		}
	}
	return math.Sqrt(sum / float64(len(term.Fits[k])))
}

// AdditiveTable compares the models on known functions, and on two data sets that the project
// contains.
func AdditiveTable(r *manyhyper.AdditiveResult) *Table {
	t := &Table{
		Name: "additive", Caption: fmt.Sprintf("Additive models beside others, tuned by the same calls, over %d data sets of each kind", r.Params.DataSets),
		Header: []string{"Data", "Model", "Hyperparameters", "Evaluations", "CV loss", "Test loss", "Minus one of the kind", "Minus linear", "Test loss of a constant"},
		Brief:  []string{"Data", "Model", "Hyperparameters", "Evaluations", "CV loss", "Test loss", "Minus one of the kind", "Minus linear"},
		Note:   "Mean squared errors: means with 95 % confidence intervals, and paired differences. “One of the kind” is the model with one penalty, or with one width.",
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

// OuterPenalty shows the risk as a function of the weight of the outer penalty, for both gradients.
// To the left is the weight 0, at which there are also methods without an outer penalty. To the right
// is the weight that is chosen without test data.
func OuterPenalty(r *searches.StochasticResult) *Figure {
	p := r.Params
	panel := NewPanel("risk", "", "strength w of the outer penalty", "mean logistic loss on test examples").Grid()
	weights := Log10s(p.Weights)
	low, high := chart.Nth(weights, 0), chart.Nth(weights, len(weights)-1)
	span := max(high-low, 1)
	without, chosen := low-span/2, high+span/3 // places beside the weights
	risk := func(name string) experiment.Estimate {
		m, _ := r.Find(name)
		return m.Risk
	}
	type series struct {
		name  string
		x     []float64
		risks []experiment.Estimate
		style Style
	}
	var all []series
	apart := .015 * span // so that marks do not cover each other
	for k, s := range []struct {
		alone, penalty string
		series
	}{
		{searches.StochasticAlone, searches.StochasticPenalty, series{"stochastic CVGM", nil, r.Stochastic, Style{Color: Blue, GlyphRadius: 3}}},
		{searches.StochasticTraining, searches.StochasticTrainPenalty, series{"training gradient", nil, r.Training, Style{Color: Vermilion, Dash: []vg.Length{6, 3}, Glyph: draw.PyramidGlyph{}, GlyphRadius: 3.5}}},
	} {
		for _, x := range slices.Concat([]float64{without}, weights, []float64{math.NaN(), chosen}) {
			s.x = append(s.x, x+float64(2*k-1)*apart)
		}
		s.risks = slices.Concat([]experiment.Estimate{risk(s.alone)}, s.risks, []experiment.Estimate{{}, risk(s.penalty)})
		all = append(all, s.series)
	}
	for k, s := range []series{
		{name: searches.StochasticPlain, style: Style{Color: Black, Glyph: draw.BoxGlyph{}, GlyphRadius: 3}},
		{name: searches.StochasticRandom, style: Style{Color: Grey, Glyph: draw.RingGlyph{}, GlyphRadius: 3.5}},
		{name: searches.StochasticCMAES, style: Style{Color: Green, Glyph: draw.CrossGlyph{}, GlyphRadius: 3.5}},
	} {
		s.x, s.risks = []float64{without - float64(3+2*k)*apart}, []experiment.Estimate{risk(s.name)}
		all = append(all, s)
	}
	var ends []float64
	for _, s := range all {
		_, low, high := meansAndEnds(s.risks)
		ends = slices.Concat(ends, low, high)
	}
	steep := chart.IsSteep(ends)
	panel.LogAxes(true, steep).Beside(low, high, plot.Tick{Value: without, Label: "0"}, plot.Tick{Value: chosen, Label: "chosen"})
	for k, s := range all {
		mean, low, high := meansAndEnds(s.risks)
		if steep {
			mean, low, high = Log10s(mean), Log10s(low), Log10s(high)
		}
		if k < 2 {
			panel.Measured(s.name, s.x, mean, low, high, s.style)
		} else {
			panel.Marked(s.name, s.x, mean, low, high, s.style)
		}
	}
	return &Figure{Name: "outer_penalty", Width: 8 * vg.Inch, Height: 4.2 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{panel}},
		Caption: fmt.Sprintf("Risk of a model whose kernel is a network of %d weights, against the strength w of the penalty that keeps these near their start. The leftmost marks have w = 0. The chosen w has the lowest nested risk on each data set. Means over %d data sets, with 95 %% intervals.", p.Rings.NumHyperparameters(), p.DataSets)}
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
