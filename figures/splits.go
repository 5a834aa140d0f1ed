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
// of the examples. It compares random with balanced splits.
func SplitsTable(r *splits.Result) *Table {
	t := &Table{
		Name: "splits_elastic_net", Caption: fmt.Sprintf("Elastic net: random and balanced splits over %d data sets", r.Params.DataSets),
		Header: []string{"K", "p", "SD of CV loss, random", "balanced", "SD of gradient, random", "balanced",
			"SD of CV loss, balanced over random", "SD of gradient, balanced over random", "Test loss, random", "balanced", "Balanced minus random"},
		Brief: []string{"K", "p", "SD of CV loss, random", "SD of CV loss, balanced over random", "SD of gradient, balanced over random", "Balanced minus random"},
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
		Header: []string{"Step size", "CV loss", "minus quasi-Newton", "Test error", "Share of steps in which the CV loss rises"},
		Note:   fmt.Sprintf("K = %d. The quasi-Newton method has the same number of evaluations; the difference is taken on the same data. Means with 95 %% confidence intervals.", r.Params.Rings.K),
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
	net, rings := r.Params, r.Params.Rings
	const scatter, loss, errors = "elastic net, SD of the CV loss", "elastic net, test loss", "rings, test error"
	rows := [][]*Panel{{
		scatterOfSplits("scatter", atP(scatter, net.P), byK, r.ByK),
		testOfSplits("test loss by K", atP(loss, net.P), "test loss", byK, r.ByK), testOfSplits("rings by K", atP(errors, rings.P), "test error", byK, r.RingsByK),
	}, {
		scatterOfSplits("scatter by p", atK(scatter, net.K), byP, r.ByP),
		testOfSplits("test loss by p", atK(loss, net.K), "test loss", byP, r.ByP), testOfSplits("rings by p", atK(errors, rings.K), "test error", byP, r.RingsByP),
	}}
	const clear = .5 // balanced splits scatter clearly less
	if k := slices.IndexFunc(r.ByK, func(s splits.Setting) bool { return s.LossShare.Mean < clear }); k >= 0 {
		s := r.ByK[k]
		rows[0][0].Note(fmt.Sprintf("balanced, K = %d:\n%.2f times the\nSD of random", s.K, s.LossShare.Mean), byK.at(s), math.Log10(s.Balanced.LossSD.Mean))
	}
	return &Figure{Name: "splits", Width: 11 * vg.Inch, Height: 6 * vg.Inch, Legend: LegendBelow, Panels: rows,
		Caption: fmt.Sprintf("Left: standard deviation of the CV loss over %d draws of the splits for the same data, at λ₁ = λ₂ = %g. Middle and right: test loss or test error of the model at the lowest CV loss, minus its value with random splits at the K or p that the axis names, on the same data; so random splits are 0 there. The rings were run with random splits only. Means over %d data sets of the elastic net and %d of the rings.",
			net.Draws, net.At, net.DataSets, net.RingsDataSets)}
}

func atP(what string, p float64) string { return fmt.Sprintf("%s, p = %.3g", what, p) }

func atK(what string, k int) string { return fmt.Sprintf("%s, K = %d", what, k) }

// A sweep is the parameter of the splits that a panel has on its x axis: K or p.
type sweep struct {
	label, name string
	at          func(s splits.Setting) float64 // the coordinate on the axis
	text        func(s splits.Setting) string
}

var (
	byK = sweep{"number of splits K", "K", func(s splits.Setting) float64 { return math.Log10(float64(s.K)) }, func(s splits.Setting) string { return fmt.Sprint(s.K) }}
	byP = sweep{"training fraction p", "p", func(s splits.Setting) float64 { return s.P }, func(s splits.Setting) string { return fmt.Sprintf("%.3g", s.P) }}
)

// scatterFloor is the base-10 logarithm of the smallest drawn scatter. If all splits are equal,
// there is no scatter.
const scatterFloor = -16

// scatterOfSplits returns a panel with the standard deviation of the CV loss over draws of the
// splits.
func scatterOfSplits(name, title string, by sweep, settings []splits.Setting) *Panel {
	p := NewPanel(name, title, by.label, "SD over draws of the splits").LogAxes(by.name == byK.name, true).ClampLow(scatterFloor).Grid()
	drawSplits(p, by, settings, func(m splits.Measure) experiment.Estimate { return m.LossSD }, func(mean, low, high []float64) {
		for i := range low {
			low[i] = max(low[i], mean[i]/10) // intervals from few data sets extend below zero
		}
		for _, v := range [][]float64{mean, low, high} {
			copy(v, chart.ClampedLog10s(v, scatterFloor))
		}
	})
	return p
}

// testOfSplits returns a panel with each test loss minus the test loss with random splits at the
// last setting, on the same data. This difference scatters less than the losses, which also depend
// on the data set.
func testOfSplits(name, title, loss string, by sweep, settings []splits.Setting) *Panel {
	last := chart.Nth(settings, len(settings)-1)
	p := NewPanel(name, title, by.label, fmt.Sprintf("%s, difference\nfrom random %s = %s", loss, by.name, by.text(last))).LogAxes(by.name == byK.name, false).Grid()
	drawSplits(p, by, settings, func(m splits.Measure) experiment.Estimate {
		if m.TestLosses == nil { // there are no balanced splits
			return m.Test
		}
		return experiment.Compare(m.TestLosses, last.Uniform.TestLosses).Difference
	}, func(mean, low, high []float64) {})
	p.HLine("no difference", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	return p
}

// drawSplits draws a quantity with its intervals for both kinds of splits. The function scale
// changes its values to coordinates.
func drawSplits(p *Panel, by sweep, settings []splits.Setting, of func(m splits.Measure) experiment.Estimate, scale func(mean, low, high []float64)) {
	at := chart.Mapped(settings, by.at)
	for _, kind := range []struct {
		name    string
		measure func(s splits.Setting) splits.Measure
		style   Style
	}{
		{"random", func(s splits.Setting) splits.Measure { return s.Uniform }, Style{Color: Vermilion, Width: 2, Dash: []vg.Length{6, 3}}},
		{"balanced", func(s splits.Setting) splits.Measure { return s.Balanced }, Style{Color: Blue, Width: 2}},
	} {
		mean, low, high := meansAndEnds(chart.Mapped(settings, func(s splits.Setting) experiment.Estimate { return of(kind.measure(s)) }))
		scale(mean, low, high)
		p.Band(kind.name, at, low, high, kind.style)
		p.Line(kind.name, at, mean, kind.style)
		kind.style.Unlisted = true
		p.Scatter(kind.name+", measured", at, mean, kind.style)
	}
}
