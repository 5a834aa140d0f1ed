package figures

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *experiment.SplitsResult) []Output {
		return []Output{SplitsTable(r), SplitsRingsTable(r), SplitsCurves(r)}
	})
}

// SplitsTable is what balanced splits change, and what K and p do.
func SplitsTable(r *experiment.SplitsResult) *Table {
	t := &Table{
		Name: "splits_elastic_net", Caption: fmt.Sprintf("Elastic net: uniform and balanced splits over %d data sets", r.Params.DataSets),
		Header: []string{"K", "p", "SD of CV loss, uniform", "balanced", "SD of gradient, uniform", "balanced",
			"Test loss, uniform", "balanced", "Balanced less uniform"},
		Note: fmt.Sprintf("Standard deviations over %d draws of the splits for the same data, at λ1 = λ2 = %g, and the test loss of the model at the lowest CV loss: means over the data sets with 95 %% confidence intervals.",
			r.Params.Draws, r.Params.At),
	}
	for _, s := range slices.Concat(r.ByK, r.ByP) {
		t.Rows = append(t.Rows, []any{fmt.Sprint(s.K), fmt.Sprint(s.P),
			estimated(s.Uniform.LossSD, 3), estimated(s.Balanced.LossSD, 3), estimated(s.Uniform.GradientSD, 3), estimated(s.Balanced.GradientSD, 3),
			estimated(s.Uniform.Test, 3), estimated(s.Balanced.Test, 3), estimated(s.BalancedMinusUniform.Difference, 3)})
	}
	return t
}

// SplitsRingsTable is what K and p do on the rings.
func SplitsRingsTable(r *experiment.SplitsResult) *Table {
	t := &Table{
		Name: "splits_rings", Caption: fmt.Sprintf("Rings: share of test examples classified wrongly, over %d data sets", r.Params.RingsDataSets),
		Header: []string{"K", "p", "Test error"},
		Note:   fmt.Sprintf("Means with 95 %% confidence intervals. No rule has less than %.4f over the population.", r.Bayes),
	}
	for _, s := range slices.Concat(r.RingsByK, r.RingsByP) {
		t.Rows = append(t.Rows, []any{fmt.Sprint(s.K), fmt.Sprint(s.P), estimated(s.Uniform.Test, 4)})
	}
	return t
}

// SplitsCurves shows the scatter of the CV loss and the test loss against K and
// p.
func SplitsCurves(r *experiment.SplitsResult) *Figure {
	uniform, balanced := Style{Color: Vermillion, Width: 2, Dash: []vg.Length{6, 3}}, Style{Color: Blue, Width: 2}
	const floor = -16 // splits that are all the same have no scatter
	panel := func(name, title, x, y string, settings []experiment.SplitsSetting, of func(experiment.SplitsMeasure) experiment.Estimate) *Panel {
		log := name == "scatter" || name == "scatter by p"
		p := NewPanel(name, title, x, y).LogAxes(x == "K", log).Grid()
		if log {
			p.ClampLow(floor)
		}
		var at []float64
		columns := make([][]experiment.Estimate, 2)
		for _, s := range settings {
			at = append(at, map[string]float64{"K": math.Log10(float64(s.K)), "p": s.P}[x])
			columns[0], columns[1] = append(columns[0], of(s.Uniform)), append(columns[1], of(s.Balanced))
		}
		for k, name := range []string{"uniform", "balanced"} {
			mean, low, high := means(columns[k])
			if log {
				for i := range low {
					low[i] = max(low[i], mean[i]/10) // intervals from few data sets reach below zero
				}
				mean, low, high = clampedLog10s(mean, floor), clampedLog10s(low, floor), clampedLog10s(high, floor)
			}
			p.Band(name, at, low, high, []Style{uniform, balanced}[k])
			p.Line(name, at, mean, []Style{uniform, balanced}[k])
		}
		return p
	}
	lossSD := func(m experiment.SplitsMeasure) experiment.Estimate { return m.LossSD }
	test := func(m experiment.SplitsMeasure) experiment.Estimate { return m.Test }
	atP, atK := fmt.Sprintf("p = %g", r.Params.P), fmt.Sprintf("K = %d", r.Params.K)
	ringsK := panel("rings by K", fmt.Sprintf("rings, p = %g", r.Params.Rings.P), "K", "test error", r.RingsByK, test)
	ringsP := panel("rings by p", fmt.Sprintf("rings, K = %d", r.Params.Rings.K), "p", "test error", r.RingsByP, test)
	for _, p := range []*Panel{ringsK, ringsP} {
		p.HLine("Bayes", r.Bayes, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	}
	const sd = "SD over draws of the splits"
	return &Figure{Name: "splits", Width: 11 * vg.Inch, Height: 6 * vg.Inch, Legend: LegendRight,
		Caption: "The number K of splits and the fraction p that they train on; uniform and balanced splits; bands: 95 % confidence intervals; dotted: the Bayes rule",
		Panels: [][]*Panel{
			{panel("scatter", "elastic net: scatter of the CV loss, "+atP, "K", sd, r.ByK, lossSD), panel("test loss by K", "elastic net, "+atP, "K", "test loss", r.ByK, test), ringsK},
			{panel("scatter by p", "elastic net: scatter of the CV loss, "+atK, "p", sd, r.ByP, lossSD), panel("test loss by p", "elastic net, "+atK, "p", "test loss", r.ByP, test), ringsP},
		}}
}
