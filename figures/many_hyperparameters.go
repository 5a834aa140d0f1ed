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
