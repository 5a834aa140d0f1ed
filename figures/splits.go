package figures

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/experiment/splits"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *splits.Result) []Output {
		return []Output{SplitsTable(r), SplitsRingsTable(r), SplitsCurves(r), SplitsStepsTable(r)}
	})
}

// SplitsTable lists the scatter and the test loss for K splits, each of which trains on the share p
// of the examples. It compares uniform with balanced splits.
func SplitsTable(r *splits.Result) *Table {
	t := &Table{
		Name: "splits_elastic_net", Caption: fmt.Sprintf("Elastic net: uniform and balanced splits over %d data sets", r.Params.DataSets),
		Header: []string{"K", "p", "SD of CV loss, uniform", "balanced", "SD of gradient, uniform", "balanced",
			"SD of CV loss, balanced over uniform", "SD of gradient, balanced over uniform", "Test loss, uniform", "balanced", "Balanced minus uniform"},
		Brief: []string{"K", "p", "SD of CV loss, uniform", "SD of CV loss, balanced over uniform", "SD of gradient, balanced over uniform", "Balanced minus uniform"},
		Note: fmt.Sprintf("Standard deviations over %d draws of the splits for the same data, at λ1 = λ2 = %g, and the test loss of the model at the lowest CV loss: means over the data sets with 95 %% confidence intervals.",
			r.Params.Draws, r.Params.At),
	}
	for _, s := range slices.Concat(r.ByK, r.ByP) {
		t.Rows = append(t.Rows, []any{fmt.Sprint(s.K), fmt.Sprint(s.P),
			chart.Estimated(s.Uniform.LossSD, 3), chart.Estimated(s.Balanced.LossSD, 3), chart.Estimated(s.Uniform.GradientSD, 3), chart.Estimated(s.Balanced.GradientSD, 3),
			chart.Estimated(s.LossShare, 3), chart.Estimated(s.GradientShare, 3),
			chart.Estimated(s.Uniform.Test, 3), chart.Estimated(s.Balanced.Test, 3), chart.Estimated(s.BalancedMinusUniform.Difference, 3)})
	}
	return t
}

// SplitsRingsTable lists the test error on the rings by K and p.
func SplitsRingsTable(r *splits.Result) *Table {
	t := &Table{
		Name: "splits_rings", Caption: fmt.Sprintf("Rings: share of test examples classified wrongly, over %d data sets", r.Params.RingsDataSets),
		Header: []string{"K", "p", "Test error", "minus the last K or p"},
		Note:   fmt.Sprintf("Means with 95 %% confidence intervals; the last column is the difference, on the same data, from the last K or the last p. No rule has a test error below %.4f over the population.", r.Bayes),
	}
	for _, s := range slices.Concat(r.RingsByK, r.RingsByP) {
		t.Rows = append(t.Rows, []any{fmt.Sprint(s.K), fmt.Sprint(s.P), chart.Estimated(s.Uniform.Test, 4), chart.Estimated(s.MinusLast.Difference, 4)})
	}
	return t
}

// SplitsStepsTable lists the results of searches with constant step sizes on the rings.
func SplitsStepsTable(r *splits.Result) *Table {
	t := &Table{
		Name: "splits_rings_steps", Caption: fmt.Sprintf("Rings: constant step sizes after %d steps, over %d data sets", r.Params.Rings.Steps, r.Params.RingsDataSets),
		Header: []string{"Step size", "CV loss", "minus quasi-Newton", "Test error", "Steps in which the CV loss rises"},
		Note:   fmt.Sprintf("K = %d. The quasi-Newton method has as many evaluations; the difference is taken on the same data. Means with 95 %% confidence intervals.", r.Params.Rings.K),
	}
	for _, s := range r.RingsByStep {
		name := fmt.Sprint(s.StepSize)
		if s.StepSize == 0 {
			name = searches.QuasiNewton
		}
		t.Rows = append(t.Rows, []any{name, chart.Estimated(s.CV, 4), chart.Estimated(s.MinusLast.Difference, 4), chart.Estimated(s.Test, 4), chart.Estimated(s.Rises, 3)})
	}
	return t
}

// SplitsCurves shows, as functions of K and p, the scatter of the CV loss and the value of the test
// loss.
func SplitsCurves(r *splits.Result) *Figure {
	uniform, balanced := Style{Color: Vermilion, Width: 2, Dash: []vg.Length{6, 3}}, Style{Color: Blue, Width: 2}
	const floor = -16 // if all splits are equal, there is no scatter
	panel := func(name, title, x, y string, settings []splits.Setting, of func(last, m splits.Measure) experiment.Estimate) *Panel {
		log := name == "scatter" || name == "scatter by p"
		p := NewPanel(name, title, x, y).LogAxes(x == "K", log).Grid()
		if log {
			p.ClampLow(floor)
		}
		var at []float64
		columns := make([][]experiment.Estimate, 2)
		for _, s := range settings {
			at = append(at, map[string]float64{"K": math.Log10(float64(s.K)), "p": s.P}[x])
			last := settings[len(settings)-1].Uniform
			columns[0], columns[1] = append(columns[0], of(last, s.Uniform)), append(columns[1], of(last, s.Balanced))
		}
		for k, name := range []string{"uniform", "balanced"} {
			mean, low, high := meansAndEnds(columns[k])
			if log {
				for i := range low {
					low[i] = max(low[i], mean[i]/10) // intervals from few data sets extend below zero
				}
				mean, low, high = chart.ClampedLog10s(mean, floor), chart.ClampedLog10s(low, floor), chart.ClampedLog10s(high, floor)
			}
			p.Band(name, at, low, high, []Style{uniform, balanced}[k])
			p.Line(name, at, mean, []Style{uniform, balanced}[k])
		}
		return p
	}
	lossSD := func(_, m splits.Measure) experiment.Estimate { return m.LossSD }
	// The panels show each test loss minus the test loss at the last setting, on the same data. The
	// difference scatters less than the losses, which also depend on the data set.
	test := func(last, m splits.Measure) experiment.Estimate {
		if m.TestLosses == nil { // there are no balanced splits
			return m.Test
		}
		return experiment.Compare(m.TestLosses, last.TestLosses).Difference
	}
	net, rings := r.Params, r.Params.Rings
	const scatter, loss, errors = "elastic net, SD of the CV loss", "elastic net, test loss", "rings, test error"
	by := func(what, of, value string) string { return fmt.Sprintf("%s, %s = %s", what, of, value) }
	atP := func(what string, p float64) string { return by(what, "p", fmt.Sprintf("%.3g", p)) }
	atK := func(what string, k int) string { return by(what, "K", fmt.Sprint(k)) }
	const sd, fromLast = "SD over draws of the splits", "difference from the right end"
	rows := [][]*Panel{
		{panel("scatter", atP(scatter, net.P), "K", sd, r.ByK, lossSD), panel("test loss by K", atP(loss, net.P), "K", fromLast, r.ByK, test), panel("rings by K", atP(errors, rings.P), "K", fromLast, r.RingsByK, test)},
		{panel("scatter by p", atK(scatter, net.K), "p", sd, r.ByP, lossSD), panel("test loss by p", atK(loss, net.K), "p", fromLast, r.ByP, test), panel("rings by p", atK(errors, rings.K), "p", fromLast, r.RingsByP, test)},
	}
	for _, row := range rows {
		for _, p := range row[1:] {
			p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
		}
	}
	return &Figure{Name: "splits", Width: 11 * vg.Inch, Height: 6 * vg.Inch, Legend: LegendBelow, Panels: rows,
		Caption: fmt.Sprintf("Upper row: the number K of splits. Lower row: the fraction p of the examples that they train on. Left: standard deviation of the elastic net's CV loss over %d draws of the splits for the same data, at λ₁ = λ₂ = %g. Middle: test loss of the elastic net at the lowest CV loss, minus the test loss with uniform splits at the right end of the axis, on the same data. Right: the same difference for the rings, for the share of misclassified test examples and uniform splits. Means over %d data sets of the elastic net and %d of the rings.",
			net.Draws, net.At, net.DataSets, net.RingsDataSets)}
}
