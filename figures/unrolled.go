package figures

import (
	"cmp"
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
// of the fit. The line of a diverging fit ends at the top. A colour has the same meaning in both
// panels.
func UnrolledCurves(r *differentiability.UnrolledResult) *Figure {
	rates := unrolledPanel("rates", fmt.Sprintf("learning rates, λ₂ = %.4g", r.Params.Penalty), r.ByRate, r.Params.Penalty, func(u differentiability.UnrolledRun) string {
		if u.Momentum > 0 {
			return fmt.Sprintf("ηL = %.4g, momentum %.4g", u.Rate, u.Momentum)
		}
		return fmt.Sprintf("ηL = %.4g", u.Rate)
	})
	penalties := unrolledPanel("penalties", "penalties, ηL = 1", r.ByPenalty, r.Params.Penalty, func(u differentiability.UnrolledRun) string { return fmt.Sprintf("λ₂ = %.4g", u.Penalty) })
	f := &Figure{Name: "unrolled", Width: 11 * vg.Inch, Height: 4 * vg.Inch, Legend: LegendBelow, SameAxes: true, Panels: [][]*Panel{{rates, penalties}},
		Caption: "Relative error of the derivative of the test loss in λ₂ through so many steps of gradient descent, against the implicit derivative at the solution. The learning rate η is in units of 1/L, where L is here the largest curvature of the loss."}
	for _, kind := range unrolledKinds {
		used := func(s chart.Series) bool { return s.Line && s.Entry.Style.Color == kind.Style.Color }
		if slices.ContainsFunc(slices.Concat(rates.Series, penalties.Series), used) {
			f.Entries = append(f.Entries, kind)
		}
	}
	f.Entries = append(f.Entries, LegendEntry{Name: noRightDigit, Style: noRightDigitStyle})
	return f
}

// unrolledKinds are the kinds of runs, each with its colour.
var unrolledKinds = []LegendEntry{
	{Name: "same run in both panels", Style: Style{Color: Blue, Width: 3.5}},
	{Name: "smaller ηL or λ₂", Style: Style{Color: Sky}},
	{Name: "larger ηL or λ₂", Style: Style{Color: Green}},
	{Name: "with momentum", Style: Style{Color: Purple, Width: 2}},
	{Name: "diverges", Style: Style{Color: Vermilion, Width: 2}},
}

// These are indices in unrolledKinds.
const (
	commonRun = iota
	smallerRun
	largerRun
	momentumRun
	divergingRun
)

const noRightDigit = "error as large as the derivative"

var noRightDigitStyle = Style{Color: chart.Pale, Width: 2}

// Below the logarithm unrolledFloor, rounding decides. Above unrolledCeiling, a derivative is
// useless.
const unrolledFloor, unrolledCeiling = -16, 3

// unrolledPanel returns a panel with a line for each run. The common run of both panels has the
// given penalty, learning rate 1 and no momentum.
func unrolledPanel(name, title string, runs []differentiability.UnrolledRun, penalty float64, label func(differentiability.UnrolledRun) string) *Panel {
	p := NewPanel(name, title, "steps differentiated through", "relative error of the derivative").Grid().LogAxes(true, true).ClampLow(unrolledFloor)
	p.Direct, p.NamesInside = true, true
	p.HLine(noRightDigit, 0, noRightDigitStyle)
	kindOf := func(run differentiability.UnrolledRun) int {
		switch {
		case run.Momentum > 0:
			return momentumRun
		case run.Rate < 1 || run.Penalty < penalty:
			return smallerRun
		case run.Rate > 1 || run.Penalty > penalty:
			return largerRun
		}
		return commonRun
	}
	ordered := slices.Clone(runs)
	slices.SortStableFunc(ordered, func(a, b differentiability.UnrolledRun) int { return cmp.Compare(kindOf(a), kindOf(b)) }) // so that the broad line of the common run hides no other
	var lines [divergingRun + 1]int
	for _, run := range ordered {
		x, y, leaves := cutAbove(Log10s(chart.Floats(run.Steps)), chart.ClampedLog10s(run.Error(), unrolledFloor), unrolledCeiling)
		kind := kindOf(run)
		if leaves {
			kind = divergingRun
		}
		style := unrolledKinds[kind].Style
		style.Leaves, style.Dash = leaves, chart.Dashes[lines[kind]%len(chart.Dashes)]
		lines[kind]++
		p.Line(label(run), x, y, style)
	}
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
		Note: fmt.Sprintf("Relative distances from the same derivative in precise arithmetic, with λ2 equal to the smallest curvature and ηL = 1; 1 where no digit is correct. "+
			"Double precision unless stated. The fourth column has momentum %g and stores the last two iterates alone.", p.Momentum),
	}
	for _, m := range r.Precision {
		t.Rows = append(t.Rows, []any{fmt.Sprintf("%.0e", m.Condition), fmt.Sprintf("%.0e", m.Double), fmt.Sprintf("%.0e", m.Single), fmt.Sprintf("%.0e", m.Backwards), fmt.Sprintf("%.0e", m.Implicit)})
	}
	return t
}
