package figures

import (
	"math"
	"slices"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *experiment.DerivativeChecks) []Output {
		return []Output{DerivativeErrors(r), DerivativeTable(r)}
	})
}

// DerivativeErrors shows the relative error of central differences against
// their step, measured by the exact derivative, for every example and input.
func DerivativeErrors(r *experiment.DerivativeChecks) *Figure {
	const floor = -16
	f := &Figure{Name: "derivative_errors", Width: 11 * vg.Inch, Height: 5.6 * vg.Inch, SameAxes: true,
		Caption: "Central differences against the exact derivative: relative difference by step size. Dashed: h² and 1e-16/h; a difference of 0 is drawn at 1e-16"}
	steps := Log10s(r.Steps)
	reference := Style{Color: Grey, Width: .7, Dash: []vg.Length{2, 2}, Unlisted: true}
	var panels []*Panel
	for _, name := range r.Examples() {
		p := NewPanel(name, name, "step h", "relative difference").LogAxes(true, false).ClampLow(floor).Grid()
		// Truncation ~ h² from 1e-3 at h = .1, rounding ~ 1e-16/h.
		p.Across("h²", -2, 1, 0, reference)
		p.Across("1e-16/h", 1, 1, -16, reference)
		line := 0
		for _, c := range r.Checks {
			if c.Example == name {
				p.Line(c.Input, steps, clampedLog10s(c.Errors(), floor), Style{Color: paletteColor(line), Width: 1.2})
				line++
			}
		}
		panels = append(panels, p)
	}
	f.Panels = slices.Collect(slices.Chunk(panels, 4))
	return f
}

// DerivativeTable is the same in numbers: derivatives from both sides, and the
// best that differences reach.
func DerivativeTable(r *experiment.DerivativeChecks) *Table {
	t := &Table{
		Name: "derivative_checks", Caption: "Exact derivatives beside central differences",
		Header: []string{"Example", "Input", "Derivative (VJP)", "JVP less VJP, relative", "Best difference, relative", "at step"},
		Note: "The derivative of a random combination of the solution's entries along the input's direction: a hyperparameter by its own size, " +
			"data along random directions. A dash: there is one way only.",
	}
	for _, c := range r.Checks {
		i, best := c.Best()
		forward := any(nil)
		if !math.IsNaN(c.JVP) {
			forward = formatExp(c.Apart())
		}
		t.Rows = append(t.Rows, []any{c.Example, c.Input, Number{Value: c.VJP, Digits: 6}, forward, formatExp(best), formatExp(r.Steps[i])})
	}
	return t
}
