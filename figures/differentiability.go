package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// powerTicks labels an axis of base-10 logarithms with every third power of ten.
type powerTicks struct{}

func (powerTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for k := int(math.Ceil(low - 1e-9)); float64(k) <= high+1e-9; k++ {
		t := plot.Tick{Value: float64(k)}
		if k%3 == 0 {
			t.Label = "1e" + strconv.Itoa(k)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// powerAxes tells that coordinates are base-10 logarithms over many decades.
func (p *Panel) powerAxes(x, y bool) {
	if x {
		p.plot.X.Tick.Marker = powerTicks{}
	}
	if y {
		p.plot.Y.Tick.Marker = powerTicks{}
	}
}

var palette = []color.NRGBA{Blue, Vermillion, Green, Orange, Purple, Sky, Black, Grey}

// drawnAsZero stands for an error of exactly 0 on a logarithmic axis.
const drawnAsZero = 1e-16

// DerivativeErrors shows the relative error of central differences against
// their step, measured by the exact derivative, for every example and input.
func DerivativeErrors(r *experiment.DerivativeChecks) *Figure {
	f := &Figure{
		Name:    "derivative_errors",
		Caption: fmt.Sprintf("Central differences against the exact derivative: relative difference by step size. Dashed: h² and 1e-16/h; a difference of 0 is drawn at %g", drawnAsZero),
		Width:   11 * vg.Inch, Height: 5.6 * vg.Inch,
	}
	steps := Log10s(r.Steps)
	low, high := slices.Min(steps), slices.Max(steps)
	for k, name := range r.Examples() {
		p := NewPanel(name, name, "step h", "relative difference")
		p.powerAxes(true, true)
		p.Grid()
		// Truncation ~ h² from 1e-3 at h = .1, rounding ~ 1e-16/h.
		p.Line("h²", []float64{low / 2, high}, []float64{low - 1, 2 * high}, Style{Color: Grey, Width: .7, Dash: []vg.Length{2, 2}, Unlisted: true})
		p.Line("1e-16/h", []float64{low, high}, []float64{-16 - low, -16 - high}, Style{Color: Grey, Width: .7, Dash: []vg.Length{2, 2}, Unlisted: true})
		line := 0
		for _, c := range r.Checks {
			if c.Example != name {
				continue
			}
			errs := c.Errors()
			for i, e := range errs {
				errs[i] = math.Log10(math.Max(e, drawnAsZero))
			}
			p.Line(c.Input, steps, errs, Style{Color: palette[line%len(palette)], Width: 1.2})
			line++
		}
		p.Range(low, high, -16, 10) // room for the legend
		p.LegendAt(true, false)
		p.plot.Legend.Padding = 0
		p.plot.Legend.TextStyle.Font.Size = 8
		if k%4 == 0 {
			f.Panels = append(f.Panels, nil)
		}
		f.Panels[len(f.Panels)-1] = append(f.Panels[len(f.Panels)-1], p)
	}
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
			forward = power(c.JVP/c.VJP - 1)
		}
		t.Rows = append(t.Rows, []any{c.Example, c.Input, Number{Value: c.VJP, Digits: 6}, forward, power(best), power(r.Steps[i])})
	}
	return t
}

// power writes a number of any size with two digits.
func power(v float64) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(math.Abs(v), 'e', 1, 64)
}

// SolutionPaths shows the paths with the tangents that the derivatives give at
// some of their points.
func SolutionPaths(r *experiment.SolutionPaths) *Figure {
	f := &Figure{
		Name:    "solution_paths",
		Caption: "Solution paths (thin) with their exact tangents (thick). Each colour is a coordinate of θ or, below, an example; colours repeat",
		Width:   10.5 * vg.Inch, Height: 8 * vg.Inch,
		Panels: [][]*Panel{nil, nil, nil},
	}
	rows := [...]int{0, 1, 1, 2, 2} // the elastic net, the machine, its dual variables
	order := [...]int{0, 1, 3, 2, 4}
	for k, from := range order {
		p := pathPanel(r.Paths[from])
		f.Panels[rows[k]] = append(f.Panels[rows[k]], p)
	}
	f.Panels[0] = append(f.Panels[0], slopePanel(r.Paths[0]))
	return f
}

func pathAxis(s experiment.SolutionPath) []float64 {
	if s.Logarithmic {
		return Log10s(s.At)
	}
	return s.At
}

func pathPanel(s experiment.SolutionPath) *Panel {
	const tangents = 20
	y := "θ, by coordinate"
	dual := len(s.Entries) > 10
	if dual {
		y = "N × multiplier, by example"
	}
	p := NewPanel(s.Name+" in "+s.Hyper, s.Name, s.Hyper, y)
	p.LogAxes(s.Logarithmic, false)
	p.Grid()
	x := pathAxis(s)
	reach := (x[len(x)-1] - x[0]) / (3 * tangents)
	for k, name := range s.Entries {
		style := Style{Color: palette[k%len(palette)], Width: .6, Unlisted: true}
		p.Line(name, x, s.Value[k], style)
		thick := style
		thick.Width = 2
		for m := range tangents {
			i := (2*m + 1) * (len(x) - 1) / (2 * tangents)
			slope := s.Slope[k][i]
			if math.IsNaN(slope) || slope == 0 && s.Value[k][i] == math.Trunc(s.Value[k][i]) {
				continue // no derivative, or an entry that rests at a bound
			}
			if s.Logarithmic {
				slope *= s.At[i] * math.Ln10
			}
			p.Line(fmt.Sprintf("%s, tangent at %s", name, full(s.At[i])), []float64{x[i] - reach, x[i] + reach},
				[]float64{s.Value[k][i] - reach*slope, s.Value[k][i] + reach*slope}, thick)
		}
	}
	if dual {
		p.Range(x[0], x[len(x)-1], -.2, 1.2)
	}
	return p
}

// slopePanel shows the derivatives themselves along a path.
func slopePanel(s experiment.SolutionPath) *Panel {
	p := NewPanel(s.Name+", derivative in "+s.Hyper, s.Name+": the derivatives", s.Hyper, "∂θ/∂"+s.Hyper)
	p.Grid()
	x := pathAxis(s)
	for k, name := range s.Entries {
		var xs, ys []float64
		for i, v := range s.Slope[k] {
			if !math.IsNaN(v) {
				xs, ys = append(xs, x[i]), append(ys, v)
			}
		}
		p.Scatter(name, xs, ys, Style{Color: palette[k%len(palette)], GlyphRadius: .8, Unlisted: true})
	}
	return p
}

// DifferentiabilityKinks shows three kinks: an entry of the solution above, its
// derivative below, with both one-sided tangents at the kink.
func DifferentiabilityKinks(r *experiment.DifferentiabilityLimits) *Figure {
	f := &Figure{
		Name:    "differentiability_kinks",
		Caption: "Three kinks: the solution with its one-sided tangents, and its derivative where there is one",
		Width:   10.5 * vg.Inch, Height: 5 * vg.Inch,
		Panels: [][]*Panel{nil, nil},
	}
	for _, k := range []struct {
		name, x, y string
		experiment.Kink
	}{
		{"min ½(x−a)², x ≤ 0", "a", "x", r.Range.Kink},
		{"elastic net", "λ1", fmt.Sprintf("θ%d", r.ElasticNet.Entry+1), r.ElasticNet},
		{"support vector machine", "λ1", fmt.Sprintf("θ%d", r.SVM.Entry+1), r.SVM},
	} {
		value := NewPanel(k.name, k.name, k.x, k.y)
		value.Grid()
		value.Line("solution", k.Input, k.Value, Style{Color: Blue, Width: 2})
		reach := (k.Input[len(k.Input)-1] - k.Input[0]) / 5
		at := 0.0
		for i, x := range k.Input {
			if x == k.At {
				at = k.Value[i]
			}
		}
		value.Line("tangent from the left", []float64{k.At, k.At + reach}, []float64{at, at + reach*k.Left}, Style{Color: Vermillion, Width: 1, Dash: []vg.Length{4, 2}})
		value.Line("tangent from the right", []float64{k.At - reach, k.At}, []float64{at - reach*k.Right, at}, Style{Color: Green, Width: 1, Dash: []vg.Length{4, 2}})
		value.Scatter("kink", []float64{k.At}, []float64{at}, Style{Color: Black})
		value.LegendAt(false, k.Left < 0) // beside the solution and its tangents
		slope := NewPanel(k.name+", derivative", "", k.x, "∂"+k.y+"/∂"+k.x)
		slope.Grid()
		var xs, ys []float64
		for i, v := range k.Slope {
			if !math.IsNaN(v) {
				xs, ys = append(xs, k.Input[i]), append(ys, v)
			}
		}
		slope.Scatter("derivative", xs, ys, Style{Color: Blue, GlyphRadius: 1.5})
		slope.Scatter("one-sided", []float64{k.At, k.At}, []float64{k.Left, k.Right}, Style{Color: Black, Glyph: draw.RingGlyph{}, GlyphRadius: 4})
		slope.LegendAt(k.Left > 0, k.Left < 0)
		f.Panels[0], f.Panels[1] = append(f.Panels[0], value), append(f.Panels[1], slope)
	}
	return f
}

// DifferentiabilityLimits shows what happens to derivatives as λ2 goes to 0, and
// the CV loss that has none.
func DifferentiabilityLimits(r *experiment.DifferentiabilityLimits) *Figure {
	ridge := NewPanel("vanishing ridge", "elastic net, λ2 → 0", "λ2", "norm of ∂θ along a change of X")
	ridge.powerAxes(true, true)
	ridge.Grid()
	x := Log10s(r.Ridge.Lambda2)
	ridge.Line("one feature given twice", x, Log10s(r.Ridge.Twice), Style{Color: Vermillion, Width: 2})
	ridge.Line("independent features", x, Log10s(r.Ridge.Independent), Style{Color: Blue, Width: 2})
	zero := math.Log10(r.Ridge.IndependentAtZero)
	ridge.Line("independent, at λ2 = 0", []float64{x[0], x[len(x)-1]}, []float64{zero, zero}, Style{Color: Black, Width: 1, Dash: []vg.Length{2, 2}})
	zeroOne := NewPanel("CV loss, misclassifications", "the same fits, two losses", "C", "CV loss")
	zeroOne.LogAxes(true, false)
	zeroOne.Grid()
	c := Log10s(r.Loss.C)
	zeroOne.Line("logistic loss", c, r.Loss.Logistic, Style{Color: Blue, Width: 2})
	// A step function: each value holds to the next point.
	var sx, sy []float64
	for i, v := range r.Loss.ZeroOne {
		if i > 0 {
			sx, sy = append(sx, c[i]), append(sy, r.Loss.ZeroOne[i-1])
		}
		sx, sy = append(sx, c[i]), append(sy, v)
	}
	zeroOne.Line("misclassified", sx, sy, Style{Color: Vermillion, Width: 1})
	for k := range 8 {
		i := (2*k + 1) * (len(c) - 1) / 16
		const reach = .22
		slope := r.Loss.Slope[i] * r.Loss.C[i] * math.Ln10
		zeroOne.Line("tangent", []float64{c[i] - reach, c[i] + reach}, []float64{r.Loss.Logistic[i] - reach*slope, r.Loss.Logistic[i] + reach*slope},
			Style{Color: Black, Width: 2, Unlisted: k > 0})
	}
	zeroOne.LegendAt(false, true) // below both curves
	return &Figure{
		Name:    "differentiability_limits",
		Caption: "The derivative as λ2 goes to 0, and a CV loss without derivative beside one that has it",
		Width:   9.5 * vg.Inch, Height: 3.6 * vg.Inch,
		Panels: [][]*Panel{{ridge, zeroOne}},
	}
}

// DifferentiabilityTable is what the library answers where no derivative
// exists.
func DifferentiabilityTable(r *experiment.DifferentiabilityLimits) *Table {
	t := &Table{
		Name: "differentiability_answers", Caption: "Where no derivative exists, and what the library answers",
		Header: []string{"Where", "Slope from the left", "from the right", "Differences, left", "right", "Generalised", "Answer to a plain request"},
	}
	kink := func(name string, k experiment.Kink, answer string) {
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

// arrows draws lines with heads from the points along the vectors.
func (p *Panel) arrows(name string, x, y, dx, dy []float64, s Style) {
	to := series{name: name}
	for i := range x {
		to.x, to.y = append(to.x, x[i], x[i]+dx[i]), append(to.y, y[i], y[i]+dy[i])
		length := math.Hypot(dx[i], dy[i])
		if length == 0 {
			continue
		}
		head := math.Min(.09, .35*length)
		line := func(x0, y0, x1, y1 float64) {
			p.plot.Add(&plotter.Line{XYs: points(name, []float64{x0, x1}, []float64{y0, y1}), LineStyle: s.line()})
		}
		tipX, tipY := x[i]+dx[i], y[i]+dy[i]
		line(x[i], y[i], tipX, tipY)
		for _, side := range []float64{2.7, -2.7} {
			sin, cos := math.Sincos(math.Atan2(dy[i], dx[i]) + side)
			line(tipX, tipY, tipX+head*cos, tipY+head*sin)
		}
	}
	p.series = append(p.series, to)
	p.plot.Legend.Add(name, &plotter.Line{LineStyle: s.line()})
}
