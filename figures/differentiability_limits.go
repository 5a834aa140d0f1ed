package figures

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/experiment/differentiability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func init() {
	register(func(r *differentiability.Limits) []Output {
		return []Output{DifferentiabilityKinks(r), DifferentiabilityLimits(r), DifferentiabilityTable(r)}
	})
}

// DifferentiabilityKinks shows three kinks. For each kink, the upper panel shows an entry of the
// solution, with both one-sided tangents at the kink. The panel below shows the derivative of this
// entry.
func DifferentiabilityKinks(r *differentiability.Limits) *Figure {
	f := &Figure{Name: "differentiability_kinks", Width: 10.5 * vg.Inch, Height: 5.2 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil, nil},
		Caption: "Three kinks. Above: an entry of the solution, with its two one-sided tangents at the kink. Below: its derivative, which jumps there. Kinks elsewhere on a line have no mark."}
	for _, k := range []struct {
		name, x, y string
		differentiability.Kink
	}{
		{"min ½(x−a)², x ≤ 0", "a", "x", r.Range.Kink},
		{"elastic net", "λ₁", chart.Subscripted(fmt.Sprintf("θ%d", r.ElasticNet.Entry+1)), r.ElasticNet},
		{"support vector machine", "λ₁", chart.Subscripted(fmt.Sprintf("θ%d", r.SVM.Entry+1)), r.SVM},
	} {
		value := NewPanel(k.name, k.name, k.x, k.y).Grid()
		value.Line("solution", k.Input, k.Value, Style{Color: Blue, Width: 2})
		reach := (chart.Nth(k.Input, len(k.Input)-1) - chart.Nth(k.Input, 0)) / 5
		at := math.NaN()
		if i := slices.Index(k.Input, k.At); i >= 0 {
			at = k.Value[i]
		}
		value.Line("tangent from the left", []float64{k.At, k.At + reach}, []float64{at, at + reach*k.Left}, Style{Color: Vermilion, Width: 1.5, Dash: []vg.Length{6, 2}})
		value.Line("tangent from the right", []float64{k.At - reach, k.At}, []float64{at - reach*k.Right, at}, Style{Color: Green, Width: 1.5, Dash: []vg.Length{1, 2}})
		value.Scatter("kink", []float64{k.At}, []float64{at}, Style{Color: Black})
		slope := NewPanel(k.name+", derivative", "", k.x, "∂"+k.y+"/∂"+k.x).Grid()
		x, y := brokenAtJumps(k.Input, k.Slope)
		slope.Line("derivative", x, y, Style{Color: Purple, Width: 2})
		slope.Scatter("one-sided derivative", []float64{k.At, k.At}, []float64{k.Left, k.Right}, Style{Color: Black, Glyph: draw.RingGlyph{}, GlyphRadius: 4})
		f.Panels[0], f.Panels[1] = append(f.Panels[0], value), append(f.Panels[1], slope)
	}
	return f
}

// DifferentiabilityLimits shows the size of derivatives as λ2 goes to 0. It also shows a CV loss
// that has no derivative.
func DifferentiabilityLimits(r *differentiability.Limits) *Figure {
	ridge := NewPanel("vanishing ridge", "elastic net, λ₂ → 0", "λ₂", "|dθ| along a change of X").LogAxes(true, true).Grid()
	x := Log10s(r.Ridge.Lambda2)
	ridge.Line("one feature given twice", x, Log10s(r.Ridge.Twice), Style{Color: Vermilion, Width: 2, Dash: []vg.Length{6, 2}})
	ridge.Line("independent features", x, Log10s(r.Ridge.Independent), Style{Color: Blue, Width: 2})
	ridge.HLine("independent, at λ₂ = 0", math.Log10(r.Ridge.IndependentAtZero), Style{Color: Black, Width: 1, Dash: []vg.Length{2, 2}})
	zeroOne := NewPanel("CV loss, misclassifications", "the same fits, two losses", "C", "CV loss").LogAxes(true, false).Grid()
	c := Log10s(r.Loss.C)
	zeroOne.Line("logistic loss", c, r.Loss.Logistic, Style{Color: Orange, Width: 3})
	// The loss ZeroOne is a step function. A horizontal line continues each value up to the next
	// point.
	var sx, sy []float64
	for i, v := range r.Loss.ZeroOne {
		if i > 0 {
			sx, sy = append(sx, c[i]), append(sy, r.Loss.ZeroOne[i-1])
		}
		sx, sy = append(sx, c[i]), append(sy, v)
	}
	zeroOne.Line("share misclassified", sx, sy, Style{Color: Blue, Width: 1})
	for k := range min(8, len(c)) {
		i := (2*k + 1) * (len(c) - 1) / 16
		const reach = .22
		slope := r.Loss.Slope[i] * r.Loss.C[i] * math.Ln10
		zeroOne.Line("tangent", []float64{c[i] - reach, c[i] + reach}, []float64{r.Loss.Logistic[i] - reach*slope, r.Loss.Logistic[i] + reach*slope},
			Style{Color: Black, Width: 1, Unlisted: k > 0})
	}
	return &Figure{Name: "differentiability_limits", Width: 9.5 * vg.Inch, Height: 3.9 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{ridge, zeroOne}},
		Caption: "Left: the norm |dθ| of the derivative of an elastic net along one random change of X, as λ₂ goes to 0. Right: the CV loss of logistic regressions, once as the logistic loss, with its tangents, and once as the share of misclassified examples, a step function."}
}

// DifferentiabilityTable lists the library's results and errors at points without a derivative.
func DifferentiabilityTable(r *differentiability.Limits) *Table {
	t := &Table{
		Name: "differentiability_answers", Caption: "Where no derivative exists, and what the library answers",
		Header: []string{"Where", "Slope from the left", "from the right", "Differences, left", "right", "Generalised", "Answer to a plain request"},
	}
	kink := func(name string, k differentiability.Kink, answer string) {
		row := []any{name}
		for _, v := range []float64{k.Left, k.Right, k.LeftDifference, k.RightDifference, k.Generalised} {
			row = append(row, Number{Value: v, Digits: 6})
		}
		t.Rows = append(t.Rows, append(row, answer))
	}
	kink("min ½(x−a)², x ≤ 0, at a = 0", r.Range.Kink, r.Range.Refusal)
	kink("the same by the general rule", r.Range.Kink, r.Range.Rule)
	kink(fmt.Sprintf("elastic net, a coefficient leaves at λ1 = %.6f", r.ElasticNet.At), r.ElasticNet, r.ElasticNet.Refusal)
	kink(fmt.Sprintf("support vector machine, the same at λ1 = %.6f", r.SVM.At), r.SVM, r.SVM.Refusal)
	for _, row := range [][2]string{
		{"elastic net, λ2 = 0, a feature given twice", r.Ridge.TwiceRefusal},
		{"support vector machine, λ2 = 0", r.Ridge.SVMRefusal},
		{"misclassifications as the CV loss", r.Loss.Refusal},
		{"multipliers of a constraint given twice", r.Multipliers},
	} {
		t.Rows = append(t.Rows, []any{row[0], nil, nil, nil, nil, nil, row[1]})
	}
	return t
}
