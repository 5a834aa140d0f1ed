package figures

import (
	"fmt"
	"math"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// SearchesTable is how many data sets each searcher reaches the true minimum
// on, and in how many evaluations.
func SearchesTable(r *experiment.SearchesResult) *Table {
	p := r.Params
	few := min(5, p.DataSets)
	t := &Table{
		Name:    "searches_reached",
		Caption: fmt.Sprintf("Searchers for the lowest CV loss of the elastic net, over %d data sets", p.DataSets),
		Header: []string{"Searcher", "Uses gradients",
			fmt.Sprintf("First %d data sets, within %d", few, p.Few),
			fmt.Sprintf("All, within %d", p.Few), fmt.Sprintf("All, within %d", p.Budget), "All, at its end",
			fmt.Sprintf("Median excess after %d", p.Few), fmt.Sprintf("Median excess after %d", p.Budget)},
		Note: fmt.Sprintf("Data sets on which the CV loss comes within %g of its true minimum, within so many evaluations from (λ1, λ2) = (%g, %g). "+
			"The minimum is found independently, without gradients, from a dense grid. Searchers without gradient see λ ≤ %.3g; those in logarithms, and the grid, λ ≥ %g as well, "+
			"where they can come near to a minimum on a bound but not reach it. Multi-start runs %d searches one after the other, each within the budget.",
			p.Reach, p.Start, p.Start, math.Pow(10, p.BoxHigh), math.Pow(10, p.BoxLow), p.Starts),
	}
	for _, m := range r.Methods {
		of := func(evaluations, n int) string { return fmt.Sprintf("%d of %d", m.Within(evaluations, n), n) }
		after := func(evaluations int) string {
			return fmt.Sprintf("%.1e", max(m.Median[min(evaluations, len(m.Median))-1], 0))
		}
		t.Rows = append(t.Rows, []any{m.Name, yesNo(m.Gradient), of(p.Few, few), of(p.Few, p.DataSets), of(p.Budget, p.DataSets), of(math.MaxInt, p.DataSets), after(p.Few), after(p.Budget)})
	}
	return t
}

// SearchesMinimaTable tells of each data set's minimum, and in how many
// evaluations the quasi-Newton searches reach it.
func SearchesMinimaTable(r *experiment.SearchesResult) *Table {
	t := &Table{
		Name:    "searches_minima",
		Caption: "Where the CV loss of the elastic net is lowest",
		Header:  []string{"Data set", "Lowest CV loss", "λ1", "λ2", "On a bound", "Local minima on the grid", "Quasi-Newton", "Multi-start"},
		Note:    "The last two columns are the evaluations by which the minimum is reached. A local minimum of the grid need not be one of the function.",
	}
	for i, v := range r.Minimum {
		bound := r.At[i][0] <= r.Params.MinLambda1 || r.At[i][1] <= r.Params.MinLambda2
		row := []any{fmt.Sprint(i), Number{Value: v, Digits: 8}, fmt.Sprintf("%.4g", r.At[i][0]), fmt.Sprintf("%.4g", r.At[i][1]), yesNo(bound), r.LocalMinima[i]}
		for _, m := range r.Methods {
			if m.Name != experiment.SearchQuasiNewton && m.Name != experiment.SearchMultiStart {
				continue
			}
			if m.Reached[i] == 0 {
				row = append(row, nil)
			} else {
				row = append(row, m.Reached[i])
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// searchStyles are those of the searchers by name.
var searchStyles = map[string]Style{
	"projected gradient, paper's step": {Color: Grey, Dash: []vg.Length{2, 2}},
	"projected gradient":               {Color: Grey},
	"heavy ball":                       {Color: Green, Dash: []vg.Length{6, 3}},
	"Nesterov":                         {Color: Green},
	"Adam":                             {Color: Orange},
	"adaptive gradient":                {Color: Vermillion},
	experiment.SearchQuasiNewton:       {Color: Blue, Width: 2.5},
	experiment.SearchMultiStart:        {Color: Sky, Width: 2.5, Dash: []vg.Length{4, 2}},
	"exhaustive":                       {Color: Black},
	"random":                           {Color: Grey},
	"Bayesian":                         {Color: Purple},
	"Bayesian in log λ":                {Color: Purple, Dash: []vg.Length{4, 2}},
	"CMA-ES":                           {Color: Orange},
	"CMA-ES in log λ":                  {Color: Orange, Dash: []vg.Length{4, 2}},
}

// SearchesCurves shows the median distance to the true minimum against
// evaluations.
func SearchesCurves(r *experiment.SearchesResult) *Figure {
	const floor = -10 // below, rounding decides
	var row []*Panel
	for _, gradient := range []bool{true, false} {
		name := map[bool]string{true: "with gradients", false: "without gradients"}[gradient]
		p := NewPanel(name, name, "evaluations of the CV loss", "median excess over the minimum")
		p.Grid()
		p.LogAxes(false, true)
		p.Floored()
		p.LegendWidth = 2.3 * vg.Inch
		for _, m := range r.Methods {
			if m.Gradient != gradient && m.Name != experiment.SearchQuasiNewton {
				continue
			}
			y := make([]float64, r.Params.Budget)
			for k := range y {
				// A search that has ended stays.
				y[k] = math.Log10(max(m.Median[min(k, len(m.Median)-1)], math.Pow(10, floor)))
			}
			p.Line(m.Name, count(len(y)), y, searchStyles[m.Name])
		}
		reach := math.Log10(r.Params.Reach)
		p.Line("reached", []float64{0, float64(r.Params.Budget)}, []float64{reach, reach}, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
		p.Range(0, float64(r.Params.Budget), floor, .5)
		row = append(row, p)
	}
	return &Figure{
		Name:    "searches",
		Caption: fmt.Sprintf("Lowest CV loss found, above the true minimum: medians over the data sets. Values below 1e%d are drawn there", floor),
		Width:   11 * vg.Inch, Height: 4.2 * vg.Inch,
		Panels: [][]*Panel{row},
	}
}

// SearchesSurface shows a CV loss with several local minima, and which of them
// the starts of the multi-start search find.
func SearchesSurface(r *experiment.SearchesResult) *Figure {
	s := r.Picture.Surface
	l1, l2 := Log10s(s.Lambda1), Log10s(s.Lambda2)
	p := NewPanel("CV loss", "CV loss", "λ1", "λ2")
	p.LogAxes(true, true)
	p.Surface("CV loss", l1, l2, s.CV, LevelsAboveMinimum(s.CV))
	logs := func(points [][2]float64) (x, y []float64) {
		for _, v := range points {
			x, y = append(x, math.Log10(max(v[0], s.Lambda1[0]))), append(y, math.Log10(max(v[1], s.Lambda2[0])))
		}
		return x, y
	}
	x, y := logs(r.Picture.Path)
	p.Line("quasi-Newton", x, y, Style{Color: Blue, Width: 1.5})
	p.Scatter("evaluations", x, y, Style{Color: Blue, GlyphRadius: 1.8, Unlisted: true})
	x, y = logs(r.Picture.Ends)
	p.Scatter("ends of multi-start", x, y, Style{Color: Vermillion, GlyphRadius: 4, Glyph: draw.RingGlyph{}})
	x, y = logs(r.At[r.Params.Picture : r.Params.Picture+1])
	p.Scatter("true minimum", x, y, Style{Color: Black, Glyph: draw.CrossGlyph{}, GlyphRadius: 5})
	p.Range(l1[0], l1[len(l1)-1], l2[0], l2[len(l2)-1])
	return &Figure{
		Name:    "searches_surface",
		Caption: fmt.Sprintf("CV loss of data set %d (lowest %.4g); what lies at λ below %g is drawn on the edge. %s", r.Params.Picture, lowestValue(s.CV), s.Lambda1[0], surfaceNote()),
		Width:   6.7 * vg.Inch, Height: 4.4 * vg.Inch, LegendWidth: 1.7 * vg.Inch,
		Panels: [][]*Panel{{p}},
	}
}

// SearchDimensionsTable is the contest over the number of hyperparameters.
func SearchDimensionsTable(r *experiment.SearchDimensionsResult) *Table {
	p := r.Params
	t := &Table{
		Name:    "search_dimensions_reached",
		Caption: fmt.Sprintf("Lowest CV loss within %d evaluations, by number of hyperparameters", p.Budget),
		Header:  []string{"Hyperparameters", "Searcher", "Evaluations", "CV loss", "Above the lowest known", "Test loss there"},
		Note: fmt.Sprintf("Means over %d data sets with 95 %% confidence intervals. Up to %d hyperparameters: ridge regression of %d examples with penalties by groups of %d features (mean squared error); "+
			"%d: the weights of the rings experiment's network (logistic loss). The lowest known CV loss is that of any searcher, or of %d evaluations of the quasi-Newton method. "+
			"A grid stands only where two values of each hyperparameter are within the budget.",
			p.DataSets, p.Groups[len(p.Groups)-1], p.Train, p.Features, r.Dimensions[len(r.Dimensions)-1].Hyperparameters, p.Long),
	}
	for _, d := range r.Dimensions {
		for _, m := range d.Methods {
			row := []any{fmt.Sprint(d.Hyperparameters), m.Name, m.Evaluations, estimated(m.CVMean, 4), estimated(m.Excess, 4), estimated(m.TestMean, 4)}
			if m.Name == "exhaustive" {
				row[1] = fmt.Sprintf("exhaustive, %d values of each", m.PerAxis)
				if m.CV == nil {
					row = []any{row[0], "exhaustive, 2 values of each", fmt.Sprintf("%.2g needed", m.GridNeeded), nil, nil, nil}
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// SearchDimensionsCurves shows the lowest CV loss found, above the lowest known,
// against evaluations for each number of hyperparameters.
func SearchDimensionsCurves(r *experiment.SearchDimensionsResult) *Figure {
	const floor = -6
	var panels []*Panel
	for _, d := range r.Dimensions {
		title := fmt.Sprintf("%d hyperparameters", d.Hyperparameters)
		if d.Hyperparameters == 1 {
			title = "1 hyperparameter"
		}
		p := NewPanel(title, title, "evaluations", "CV loss above the lowest known")
		p.Grid()
		p.LogAxes(true, true)
		p.Floored()
		for _, m := range d.Methods {
			if m.Improve != nil {
				y := make([]float64, r.Params.Budget)
				for k := range y {
					excess := m.Improve[min(k, len(m.Improve)-1)] - d.Best.Mean
					y[k] = math.Log10(max(excess, math.Pow(10, floor)))
				}
				p.Line(m.Name, Log10s(count(len(y))), y, searchStyles[m.Name])
			}
		}
		p.Range(0, math.Log10(float64(r.Params.Budget)), floor, .5)
		panels = append(panels, p)
	}
	half := (len(panels) + 1) / 2
	return &Figure{
		Name:    "search_dimensions",
		Caption: fmt.Sprintf("Lowest CV loss found, above the lowest known: means over the data sets. Values below 1e%d are drawn there", floor),
		Width:   11 * vg.Inch, Height: 6 * vg.Inch, LegendWidth: 1.7 * vg.Inch,
		Panels: [][]*Panel{panels[:half], panels[half:]},
	}
}

// SplitsTable is what balanced splits change, and what K and p do.
func SplitsTable(r *experiment.SplitsResult) *Table {
	t := &Table{
		Name:    "splits_elastic_net",
		Caption: fmt.Sprintf("Elastic net: uniform and balanced splits over %d data sets", r.Params.DataSets),
		Header: []string{"K", "p", "SD of CV loss, uniform", "balanced", "SD of gradient, uniform", "balanced",
			"Test loss, uniform", "balanced", "Balanced less uniform"},
		Note: fmt.Sprintf("Standard deviations over %d draws of the splits for the same data, at λ1 = λ2 = %g, and the test loss of the model at the lowest CV loss: means over the data sets with 95 %% confidence intervals.",
			r.Params.Draws, r.Params.At),
	}
	for _, settings := range [][]experiment.SplitsSetting{r.ByK, r.ByP} {
		for _, s := range settings {
			t.Rows = append(t.Rows, []any{fmt.Sprint(s.K), fmt.Sprint(s.P),
				estimated(s.Uniform.LossSD, 3), estimated(s.Balanced.LossSD, 3), estimated(s.Uniform.GradientSD, 3), estimated(s.Balanced.GradientSD, 3),
				estimated(s.Uniform.Test, 3), estimated(s.Balanced.Test, 3), estimated(s.BalancedLess.Difference, 3)})
		}
	}
	return t
}

// SplitsRingsTable is what K and p do on the rings.
func SplitsRingsTable(r *experiment.SplitsResult) *Table {
	t := &Table{
		Name:    "splits_rings",
		Caption: fmt.Sprintf("Rings: share of test examples classified wrongly, over %d data sets", r.Params.RingsDataSets),
		Header:  []string{"K", "p", "Test error"},
		Note:    fmt.Sprintf("Means with 95 %% confidence intervals. No rule has less than %.4f over the population.", r.Bayes),
	}
	for _, settings := range [][]experiment.SplitsSetting{r.RingsByK, r.RingsByP} {
		for _, s := range settings {
			t.Rows = append(t.Rows, []any{fmt.Sprint(s.K), fmt.Sprint(s.P), estimated(s.Uniform.Test, 4)})
		}
	}
	return t
}

// SplitsCurves shows the scatter of the CV loss and the test loss against K and
// p.
func SplitsCurves(r *experiment.SplitsResult) *Figure {
	uniform, balanced := Style{Color: Vermillion, Width: 2, Dash: []vg.Length{6, 3}}, Style{Color: Blue, Width: 2}
	line := func(p *Panel, name string, x []float64, settings []experiment.SplitsSetting, of func(experiment.SplitsSetting) experiment.Estimate, s Style, log bool) {
		var e []experiment.Estimate
		for _, setting := range settings {
			e = append(e, of(setting))
		}
		mean, low, high := means(e)
		if log {
			for i := range low {
				low[i] = max(low[i], mean[i]/10) // intervals from few data sets reach below zero
			}
			mean, low, high = Log10s(mean), Log10s(low), Log10s(high)
		}
		p.Band(name, x, low, high, s)
		p.Line(name, x, mean, s)
	}
	var ks, ps []float64
	for _, s := range r.ByK {
		ks = append(ks, math.Log10(float64(s.K)))
	}
	for _, s := range r.ByP {
		ps = append(ps, s.P)
	}
	scatter := NewPanel("scatter", fmt.Sprintf("elastic net: scatter of the CV loss, p = %g", r.Params.P), "K", "SD over draws of the splits")
	scatter.LogAxes(true, true)
	byK := NewPanel("test loss by K", fmt.Sprintf("elastic net, p = %g", r.Params.P), "K", "test loss")
	byK.LogAxes(true, false)
	byP := NewPanel("test loss by p", fmt.Sprintf("elastic net, K = %d", r.Params.K), "p", "test loss")
	ringsK := NewPanel("rings by K", fmt.Sprintf("rings, p = %g", r.Params.Rings.P), "K", "test error")
	ringsK.LogAxes(true, false)
	ringsP := NewPanel("rings by p", fmt.Sprintf("rings, K = %d", r.Params.K), "p", "test error")
	scatterP := NewPanel("scatter by p", fmt.Sprintf("elastic net: scatter of the CV loss, K = %d", r.Params.K), "p", "SD over draws of the splits")
	scatterP.LogAxes(false, true)
	for _, p := range []*Panel{scatter, byK, byP, ringsK, ringsP, scatterP} {
		p.Grid()
	}
	lossSD := func(m experiment.SplitsMeasure) experiment.Estimate { return m.LossSD }
	test := func(m experiment.SplitsMeasure) experiment.Estimate { return m.Test }
	for _, c := range []struct {
		p        *Panel
		x        []float64
		settings []experiment.SplitsSetting
		of       func(experiment.SplitsMeasure) experiment.Estimate
		log      bool
	}{{scatter, ks, r.ByK, lossSD, true}, {byK, ks, r.ByK, test, false}, {scatterP, ps, r.ByP, lossSD, true}, {byP, ps, r.ByP, test, false}} {
		line(c.p, "uniform", c.x, c.settings, func(s experiment.SplitsSetting) experiment.Estimate { return c.of(s.Uniform) }, uniform, c.log)
		line(c.p, "balanced", c.x, c.settings, func(s experiment.SplitsSetting) experiment.Estimate { return c.of(s.Balanced) }, balanced, c.log)
	}
	of := func(s experiment.SplitsSetting) experiment.Estimate { return s.Uniform.Test }
	line(ringsK, "uniform", ks, r.RingsByK, of, uniform, false)
	line(ringsP, "uniform", ps, r.RingsByP, of, uniform, false)
	for _, p := range []*Panel{ringsK, ringsP} {
		p.Horizontal("Bayes", r.Bayes, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	}
	return &Figure{
		Name:    "splits",
		Caption: "The number K of splits and the fraction p that they train on; uniform and balanced splits; bands: 95 % confidence intervals; dotted: the Bayes rule",
		Width:   11 * vg.Inch, Height: 6 * vg.Inch, LegendWidth: 1 * vg.Inch,
		Panels: [][]*Panel{{scatter, byK, ringsK}, {scatterP, byP, ringsP}},
	}
}

// GapTable is what the CV loss promises, what is true, and what stopping by
// the nested estimate gives.
func GapTable(r *experiment.GapResult) *Table {
	p := r.Params
	t := &Table{
		Name:    "cv_gap_stopping",
		Caption: fmt.Sprintf("Over-fitting of the CV loss, over %d data sets", p.DataSets),
		Header: []string{"Hyperparameters", "Risk less CV loss, at the end", "Risk at the end", "Risk where the monitor stops",
			"Stopped less end", "Stopped is better", "Lowest risk on the path", "Evaluations until stopped"},
		Note: fmt.Sprintf("Means with 95 %% confidence intervals, on the test examples. The monitor watches a nested estimate from %d outer folds of the same training data, stops after %d steps without a new lowest one and returns the step of the lowest; the end is after at most %d steps. Nobody knows the lowest risk on the path.",
			p.Folds, p.Patience, p.Steps),
	}
	for _, g := range r.Problems {
		t.Rows = append(t.Rows, []any{fmt.Sprint(g.Hyperparameters), estimated(g.Gap, 3), estimated(g.AtEnd, 3), estimated(g.Stopped, 3),
			estimated(g.StoppedLess.Difference, 3), fmt.Sprintf("%.0f %%", 100*g.StoppedLess.Wins), estimated(g.Lowest, 3), estimated(g.Evaluations, 0)})
	}
	return t
}

// GapCurves shows CV loss, nested estimate and true risk along the searches.
func GapCurves(r *experiment.GapResult) *Figure {
	f := &Figure{
		Name:    "cv_gap",
		Caption: "CV loss, nested estimate and true risk along the search: means over the data sets",
		Width:   11 * vg.Inch, Height: 3.4 * vg.Inch, LegendWidth: 1.6 * vg.Inch,
	}
	var row []*Panel
	for _, g := range r.Problems {
		title := fmt.Sprintf("%d hyperparameters", g.Hyperparameters)
		p := NewPanel(title, title, "steps", "loss")
		p.Grid()
		x := count(len(g.CV))
		p.Line("CV loss", x, g.CV, Style{Color: Orange, Width: 2, Dash: []vg.Length{6, 3}})
		p.Line("nested estimate", x, g.Nested, Style{Color: Green, Width: 2, Dash: []vg.Length{2, 2}})
		p.Line("true risk", x, g.Risk, Style{Color: Blue, Width: 2})
		row = append(row, p)
	}
	f.Panels = [][]*Panel{row}
	return f
}

// UnrolledTable is the error and the memory of iterative differentiation.
func UnrolledTable(r *experiment.UnrolledResult) *Table {
	p := r.Params
	t := &Table{
		Name:    "unrolled_errors",
		Caption: "d(test loss)/dλ2 of a ridge regression: through the steps of its fit, against the implicit derivative",
		Header:  []string{"Learning rate × largest curvature", "Momentum", "λ2", "Implicit"},
		Note: fmt.Sprintf("Relative errors of the derivative through so many steps. Iterative differentiation keeps (steps + 1)·%d numbers and makes as many products with the Hessian as steps; implicit differentiation keeps %d numbers and solves one system. "+
			"At the learning rate 1 / (largest curvature), %d steps differentiated through cost %d numbers.",
			r.Features, r.Features*r.Features, p.UnrolledSteps[len(p.UnrolledSteps)-1], (p.UnrolledSteps[len(p.UnrolledSteps)-1]+1)*r.Features),
	}
	shown := []int{1, 10, 30, 100, 300, 1000}
	for _, s := range shown {
		t.Header = append(t.Header, fmt.Sprintf("%d steps", s))
	}
	for _, group := range [][]experiment.UnrolledRun{r.ByRate, r.ByPenalty} {
		for _, run := range group {
			row := []any{fmt.Sprint(run.Rate), fmt.Sprint(run.Momentum), fmt.Sprint(run.Penalty), Number{Value: run.Exact, Digits: 4}}
			e := run.Error()
			for _, s := range shown {
				var v any
				for k, steps := range run.Steps {
					if steps == s {
						v = fmt.Sprintf("%.0e", e[k])
					}
				}
				row = append(row, v)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// UnrolledCurves shows the error of iterative differentiation against the steps
// differentiated through.
func UnrolledCurves(r *experiment.UnrolledResult) *Figure {
	const floor, ceiling = -16, 12 // below, rounding decides; above, no digit is right
	colors := []Style{{Color: Grey}, {Color: Sky}, {Color: Blue, Width: 2}, {Color: Green}, {Color: Vermillion, Width: 2}, {Color: Purple, Dash: []vg.Length{4, 2}}}
	draw := func(name, title string, runs []experiment.UnrolledRun, label func(experiment.UnrolledRun) string) *Panel {
		p := NewPanel(name, title, "steps differentiated through", "relative error of the derivative")
		p.Grid()
		p.LogAxes(true, true)
		p.Floored()
		for k, run := range runs {
			var x, y []float64
			for i, e := range run.Error() {
				v := math.Log10(min(max(e, math.Pow10(floor)), math.MaxFloat64))
				x, y = append(x, math.Log10(float64(run.Steps[i]))), append(y, v)
				if v > ceiling {
					break // the line to this point is cut off where it leaves the axis
				}
			}
			p.Line(label(run), x, y, colors[k%len(colors)])
		}
		p.Range(0, 3, floor, ceiling)
		p.LegendAt(false, true)
		return p
	}
	rates := draw("rates", fmt.Sprintf("λ2 = %g", r.Params.Penalty), r.ByRate, func(u experiment.UnrolledRun) string {
		if u.Momentum > 0 {
			return fmt.Sprintf("ηL = %g, momentum %g", u.Rate, u.Momentum)
		}
		return fmt.Sprintf("ηL = %g", u.Rate)
	})
	penalties := draw("penalties", "ηL = 1", r.ByPenalty, func(u experiment.UnrolledRun) string { return fmt.Sprintf("λ2 = %g", u.Penalty) })
	return &Figure{
		Name: "unrolled",
		Caption: fmt.Sprintf("Iterative differentiation against implicit differentiation: learning rates η in units of the inverse of the largest curvature L, and penalties. "+
			"Curves end where they leave the axis (1e%d); errors below 1e%d are drawn there", ceiling, floor),
		Width: 9.5 * vg.Inch, Height: 4 * vg.Inch,
		Panels: [][]*Panel{{rates, penalties}},
	}
}
