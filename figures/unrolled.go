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
// of the fit.
func UnrolledCurves(r *differentiability.UnrolledResult) *Figure {
	const floor, ceiling = -16, 12 // below floor, rounding decides; above ceiling, no digit is correct
	styles := []Style{{Color: Grey}, {Color: Sky, Dash: []vg.Length{6, 3}}, {Color: Blue, Width: 2}, {Color: Green}, {Color: Vermilion, Width: 2}, {Color: Purple, Dash: []vg.Length{4, 2}}}
	draw := func(name, title string, runs []differentiability.UnrolledRun, label func(differentiability.UnrolledRun) string) *Panel {
		p := NewPanel(name, title, "steps differentiated through", "relative error of the derivative").Grid().LogAxes(true, true).ClampLow(floor)
		p.Direct = true
		for k, run := range runs {
			x, y := Log10s(chart.Floats(run.Steps)), chart.ClampedLog10s(run.Error(), floor)
			if i := slices.IndexFunc(y, func(v float64) bool { return !(v <= ceiling) }); i >= 0 {
				x, y = x[:i+1], y[:i+1]
			}
			p.Line(label(run), x, y, styles[k%len(styles)])
		}
		return p
	}
	rates := draw("rates", fmt.Sprintf("learning rates, λ₂ = %.4g", r.Params.Penalty), r.ByRate, func(u differentiability.UnrolledRun) string {
		if u.Momentum > 0 {
			return fmt.Sprintf("ηL = %.4g, momentum %.4g", u.Rate, u.Momentum)
		}
		return fmt.Sprintf("ηL = %.4g", u.Rate)
	})
	penalties := draw("penalties", "penalties, ηL = 1", r.ByPenalty, func(u differentiability.UnrolledRun) string { return fmt.Sprintf("λ₂ = %.4g", u.Penalty) })
	return &Figure{Name: "unrolled", Width: 11 * vg.Inch, Height: 4 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{rates, penalties}},
		Caption: fmt.Sprintf("Relative error of the derivative of the test loss in λ₂ through so many steps of gradient descent, against the implicit derivative at the solution. The learning rate η is in units of 1/L, where L is the largest curvature. Lines end above 10%s; errors below 10%s are drawn there.", chart.Superscript(fmt.Sprint(ceiling)), chart.Superscript(fmt.Sprint(floor)))}
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
