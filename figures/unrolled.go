package figures

import (
	"fmt"
	"slices"

	"cvgm/cvgm/experiment/differentiability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *differentiability.UnrolledResult) []Output {
		return []Output{UnrolledTable(r), UnrolledCurves(r), UnrolledPrecisionTable(r)}
	})
}

// UnrolledTable lists the error and the memory of iterative differentiation.
func UnrolledTable(r *differentiability.UnrolledResult) *Table {
	p := r.Params
	last := chart.Nth(p.UnrolledSteps, len(p.UnrolledSteps)-1)
	t := &Table{
		Name: "unrolled_errors", Caption: "d(test loss)/dλ2 of a ridge regression: through the steps of its fit, against the implicit derivative",
		Header: []string{"Learning rate × largest curvature", "Momentum", "λ2", "Implicit"},
		Note: fmt.Sprintf("Relative errors of the derivative through so many steps. Iterative differentiation keeps (steps + 1)·%d numbers and makes as many products with the Hessian as steps; implicit differentiation keeps %d numbers and solves one system. "+
			"At the learning rate 1 / (largest curvature), %d steps differentiated through cost %d numbers.",
			r.Features, r.Features*r.Features, last, (last+1)*r.Features),
	}
	var shown []int
	for _, i := range chart.Nearest(p.UnrolledSteps, last, .001, .01, .03, .1, .3, 1) {
		shown = append(shown, p.UnrolledSteps[i])
		unit := "steps"
		if p.UnrolledSteps[i] == 1 {
			unit = "step"
		}
		t.Header = append(t.Header, fmt.Sprintf("%d %s", p.UnrolledSteps[i], unit))
	}
	for _, run := range slices.Concat(r.ByRate, r.ByPenalty) {
		row := []any{fmt.Sprint(run.Rate), fmt.Sprint(run.Momentum), fmt.Sprint(run.Penalty), Number{Value: run.Exact, Digits: 4}}
		e := run.Error()
		for _, s := range shown {
			row = append(row, nil)
			if k := slices.Index(run.Steps, s); k >= 0 {
				row[len(row)-1] = fmt.Sprintf("%.0e", e[k])
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// UnrolledCurves shows the error of iterative differentiation as a function of the number of steps
// of the fit. The line of a diverging fit ends at the top.
func UnrolledCurves(r *differentiability.UnrolledResult) *Figure {
	rates := unrolledPanel("rates", fmt.Sprintf("learning rates, λ₂ = %.4g", r.Params.Penalty), r.ByRate, r.Params.Penalty, func(u differentiability.UnrolledRun) string {
		if u.Momentum > 0 {
			return fmt.Sprintf("ηL = %.4g, momentum %.4g", u.Rate, u.Momentum)
		}
		return fmt.Sprintf("ηL = %.4g", u.Rate)
	})
	penalties := unrolledPanel("penalties", "penalties, ηL = 1", r.ByPenalty, r.Params.Penalty, func(u differentiability.UnrolledRun) string { return fmt.Sprintf("λ₂ = %.4g", u.Penalty) })
	return &Figure{Name: "unrolled", Width: 11 * vg.Inch, Height: 4 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: [][]*Panel{{rates, penalties}},
		Caption: fmt.Sprintf("Relative error of the derivative of the test loss in λ₂ through so many steps of gradient descent, against the implicit derivative at the solution. The learning rate η is in units of 1/L, where L is the largest curvature. The broad blue line is the same run in both panels. Errors below 10%s are drawn there.", chart.Superscript(fmt.Sprint(unrolledFloor)))}
}

// Below the logarithm unrolledFloor, rounding decides. Above unrolledCeiling, a derivative is
// useless.
const unrolledFloor, unrolledCeiling = -16, 3

// unrolledPanel returns a panel with a line for each run. The run of the given penalty, with
// learning rate 1 and without momentum, has the same style in all panels.
func unrolledPanel(name, title string, runs []differentiability.UnrolledRun, penalty float64, label func(differentiability.UnrolledRun) string) *Panel {
	styles := []Style{{Color: Grey, Dash: []vg.Length{3, 3}}, {Color: Sky, Dash: []vg.Length{8, 3}}, {Color: Green}, {Color: Vermilion, Width: 2}, {Color: Purple, Dash: []vg.Length{4, 2}}}
	p := NewPanel(name, title, "steps differentiated through", "relative error of the derivative").Grid().LogAxes(true, true).ClampLow(unrolledFloor)
	p.Direct = true
	other := 0
	common := func(run differentiability.UnrolledRun) bool {
		return run.Rate == 1 && run.Momentum == 0 && run.Penalty == penalty
	}
	others := slices.DeleteFunc(slices.Clone(runs), common)
	first := slices.DeleteFunc(slices.Clone(runs), func(run differentiability.UnrolledRun) bool { return !common(run) }) // so that its broad line hides no other
	for _, run := range append(first, others...) {
		style := Style{Color: Blue, Width: 2.5}
		if !common(run) {
			style = styles[other%len(styles)]
			other++
		}
		text := label(run)
		x, y := Log10s(chart.Floats(run.Steps)), chart.ClampedLog10s(run.Error(), unrolledFloor)
		if x, y, style.Leaves = cutAbove(x, y, unrolledCeiling); style.Leaves {
			text += ", diverges"
			p.Note("diverges", chart.Nth(x, len(x)-1), unrolledCeiling)
		}
		p.Line(text, x, y, style)
	}
	p.HLine("error as large as the derivative", 0, Style{Color: Black, Width: 1, Dash: []vg.Length{1, 3}})
	return p
}

// cutAbove returns the part of a line up to the point at which it rises above the ceiling for good.
// The third result reports whether there is such a point.
func cutAbove(x, y []float64, ceiling float64) (cutX, cutY []float64, cut bool) {
	i := len(y)
	for i > 0 && y[i-1] > ceiling {
		i--
	}
	if i == len(y) {
		return x, y, false
	}
	end := x[i]
	if i > 0 && chart.Drawable(y[i-1], y[i]) {
		end = x[i-1] + (x[i]-x[i-1])*(ceiling-y[i-1])/(y[i]-y[i-1])
	}
	return append(slices.Clone(x[:i]), end), append(slices.Clone(y[:i]), ceiling), true
}

// UnrolledPrecisionTable lists the rounding errors of the derivatives.
func UnrolledPrecisionTable(r *differentiability.UnrolledResult) *Table {
	p := r.Params
	t := &Table{
		Name: "unrolled_precision", Caption: fmt.Sprintf("Rounding of d(test loss)/dλ2 through %d steps of gradient descent", chart.Nth(p.UnrolledSteps, len(p.UnrolledSteps)-1)),
		Header: []string{"Condition number", "Iterates stored", "Stored, single precision", "Iterates computed again backwards", "Implicit"},
		Note: fmt.Sprintf("Relative distances from the same derivative in precise arithmetic, with λ2 equal to the smallest curvature and ηL = 1; 1 where no digit is right. "+
			"Double precision unless stated. The fourth column has momentum %g and stores the last two iterates alone.", p.Momentum),
	}
	for _, m := range r.Precision {
		t.Rows = append(t.Rows, []any{fmt.Sprintf("%.0e", m.Condition), fmt.Sprintf("%.0e", m.Double), fmt.Sprintf("%.0e", m.Single), fmt.Sprintf("%.0e", m.Backwards), fmt.Sprintf("%.0e", m.Implicit)})
	}
	return t
}
