package figures

import (
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/differentiability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *differentiability.DerivativeChecks) []Output {
		return []Output{DerivativeErrors(r), DerivativeTable(r)}
	})
}

// DerivativeErrors shows the error of central differences as a function of the step. The error is
// relative to the exact derivative. There is a line for each input of each example.
func DerivativeErrors(r *differentiability.DerivativeChecks) *Figure {
	const floor = -16
	f := &Figure{Name: "derivative_errors", Width: 8 * vg.Inch, Height: 9.4 * vg.Inch, SameAxes: true, Legend: LegendBelow,
		Caption: "Central differences against the exact derivative: their relative difference by step size, one line for each input of each example. " +
			"The grey guides are errors of the central difference: truncation, h², and rounding, 10⁻¹⁶/h. Convex program: derivatives of the solution x and of the multipliers λ and ν, in the mean α₀ of a die and in its faces m. CV loss: derivatives in the penalties of an elastic net, and in the weights of a network. A difference of 0 is drawn at 10⁻¹⁶."}
	// The CSV lists the points in ascending order of the step.
	steps := backwards(Log10s(r.Steps))
	reference := Style{Color: Grey, Width: .7, Dash: []vg.Length{2, 2}}
	var panels []*Panel
	for _, name := range r.Examples() {
		p := NewPanel(name, name, "step h", "relative difference").LogAxes(true, false).ClampLow(floor).Grid()
		// Two guides show the parts of the error of a central difference: h² is the truncation
		// error, and 1e-16/h is the rounding error.
		p.Across("h²: truncation", -2, 1, 0, reference)
		reference.Dash = []vg.Length{6, 2, 1, 2}
		p.Across("10⁻¹⁶/h: rounding", 1, 1, -16, reference)
		reference.Dash = []vg.Length{2, 2}
		p.Direct = true
		line := 0
		for _, c := range r.Checks {
			if c.Example == name {
				style := chart.PaletteStyle(line)
				style.Width = 1.2
				p.Line(chart.Subscripted(shortInputs.Replace(c.Input)), steps, backwards(chart.ClampedLog10s(c.Errors(), floor)), style)
				line++
			}
		}
		panels = append(panels, p)
	}
	f.Panels = slices.Collect(slices.Chunk(panels, 2))
	return f
}

// shortInputs shortens the names of inputs for labels beside a panel.
var shortInputs = strings.NewReplacer(" in mean α0", " by α0", " in faces α1…α6", " by m", "elastic net's ", "", "network's weights", "weights", "point decided on", "point")

// backwards returns v in reverse order.
func backwards(v []float64) []float64 {
	v = slices.Clone(v)
	slices.Reverse(v)
	return v
}

// DerivativeTable is a table of the errors in DerivativeErrors. It lists the derivatives in forward
// and reverse mode, and the smallest error that central differences reach.
func DerivativeTable(r *differentiability.DerivativeChecks) *Table {
	t := &Table{
		Name: "derivative_checks", Caption: "Exact derivatives beside central differences",
		Header: []string{"Example", "Input", "Derivative (VJP)", "JVP minus VJP, relative", "Best difference, relative", "at step"},
		Note: "The derivative of a random combination of the solution's entries. It is taken along one direction of the input: a hyperparameter's own size, " +
			"or a random direction of the data. A dash: the example has only one of VJP and JVP.",
	}
	for _, c := range r.Checks {
		i, best := c.Best()
		forward := any(nil)
		if !math.IsNaN(c.JVP) {
			forward = chart.FormatExp(c.Apart())
		}
		t.Rows = append(t.Rows, []any{c.Example, c.Input, Number{Value: c.VJP, Digits: 6}, forward, chart.FormatExp(best), chart.FormatExp(r.Steps[i])})
	}
	return t
}
