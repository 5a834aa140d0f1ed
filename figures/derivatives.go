package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/differentiability"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *differentiability.DerivativeChecks) []Output {
		return []Output{DerivativeErrors(r, nil), DerivativeTable(r)}
	})
}

// DerivativeErrors shows the error of central differences as a function of the step. The error is
// relative to the exact derivative. There is a line for each input of each example. Lines that do
// not follow the truncation error have a name. A level shows the error of the Jacobian that the
// paper prints. It is measured at one step, and it is a level because the errors of the central
// differences are far smaller at all steps. If the parameter errata is nil, there is no level.
func DerivativeErrors(r *differentiability.DerivativeChecks, errata *differentiability.ErrataResult) *Figure {
	const columns = 3
	smooth, linear, jump := Style{Color: color.NRGBA{140, 165, 195, 255}, Width: 1}, Style{Color: Blue, Width: 1.5}, Style{Color: Vermilion, Width: 1.5}
	wrong := Style{Color: Black, Width: 2.5}
	truncation, rounding := Style{Color: Black, Width: .7, Dash: []vg.Length{2, 2}}, Style{Color: Black, Width: .7, Dash: []vg.Length{6, 2, 1, 2}}
	f := &Figure{Name: "derivative_errors", Width: 10 * vg.Inch, Height: 7.2 * vg.Inch, SameAxes: true, Legend: LegendInGap,
		Entries: []LegendEntry{{Name: "follows the guides", Style: smooth}, {Name: "linear", Style: linear}, {Name: "crosses a kink", Style: jump}},
		Caption: "Lines: relative difference between the exact derivative and a central difference with step δ, for each input. " +
			"Pale blue rises again by truncation, orange jumps where a step crosses a kink, and dark blue is linear and does not rise."}
	if errata != nil {
		f.Entries = append(f.Entries, LegendEntry{Name: "wrong: the paper's ∂θ/∂X", Style: wrong})
		f.Caption += " Black: a wrong derivative, the paper's Jacobian in the figure at the top."
	}
	f.Entries = append(f.Entries, LegendEntry{Name: "δ²: truncation", Style: truncation}, LegendEntry{Name: "10⁻¹⁶/δ: rounding", Style: rounding})
	// The CSV lists the points in ascending order of the step.
	steps := backwards(Log10s(r.Steps))
	var panels []*Panel
	var lowest []float64 // by line that follows the guides
	for _, name := range r.Examples() {
		p := NewPanel(name, name, "step δ", "relative difference").LogAxes(true, false).ClampLow(derivativeFloor).Grid()
		p.Direct = true
		named := 0
		for _, c := range r.Checks {
			if c.Example != name {
				continue
			}
			y, style := backwards(chart.ClampedLog10s(c.Errors(), derivativeFloor)), smooth
			switch {
			case crossesKink(steps, y):
				style = jump
			case isLinear(steps, y):
				style = linear
			default:
				style.Unlisted = true
				if finite := slices.DeleteFunc(slices.Clone(y), math.IsNaN); len(finite) > 0 {
					lowest = append(lowest, slices.Min(finite))
				}
			}
			if !style.Unlisted {
				style.Dash = chart.Dashes[named%len(chart.Dashes)]
				named++
			}
			p.Line(chart.Subscripted(shortInputs.Replace(c.Input)), steps, y, style)
		}
		// Two guides show the parts of the error of a central difference: δ² is the truncation
		// error, and 1e-16/δ is the rounding error.
		p.Across("δ²: truncation", -2, 1, 0, truncation)
		p.Across("10⁻¹⁶/δ: rounding", 1, 1, -16, rounding)
		if errata != nil && name == "logistic regression" {
			level := math.Log10(errata.Jacobian.PrintedError)
			p.HLine("∂θ/∂X as the paper prints it", level, wrong)
			p.Note("the paper's ∂θ/∂X", chart.Nth(steps, len(steps)/2), level)
		}
		panels = append(panels, p)
	}
	f.Panels = slices.Collect(slices.Chunk(panels, columns))
	if len(lowest) > 0 {
		slices.Sort(lowest)
		f.Caption = fmt.Sprintf("All lines of correct derivatives fall with the guide of rounding, typically to 10%s. ", chart.Superscript(fmt.Sprintf("%.0f", lowest[len(lowest)/2]))) + f.Caption
	}
	return f
}

// derivativeFloor is the logarithm of the smallest relative difference that is drawn.
const derivativeFloor = -16

// crossesKink reports whether an error jumps between two neighbouring steps. The arguments are
// logarithms, in ascending order of the step. A truncation error grows like the square of the step.
// A jump grows a hundred times as much.
func crossesKink(step, err []float64) bool {
	for i := 1; i < len(err); i++ {
		if err[i]-err[i-1] > 2+2*(step[i]-step[i-1]) {
			return true
		}
	}
	return false
}

// isLinear reports whether an error is far below the square of the step somewhere. The arguments
// are logarithms.
func isLinear(step, err []float64) bool {
	const far = -5
	for i, e := range err {
		if e-2*step[i] < far {
			return true
		}
	}
	return false
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
