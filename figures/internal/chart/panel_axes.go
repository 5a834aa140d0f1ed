package chart

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// LogAxes declares that the coordinates along the given axes are base-10 logarithms. Like ClampLow
// and Grid, it returns the panel, so calls can be chained.
func (p *Panel) LogAxes(x, y bool) *Panel {
	if x {
		p.Plot.X.Tick.Marker = logTicks{4.5, math.Inf(-1)}
	}
	if y {
		p.Plot.Y.Tick.Marker = logTicks{7, math.Inf(-1)}
	}
	return p
}

// LabelX declares that the x coordinates are base-10 logarithms, and labels the axis at the given
// ones.
func (p *Panel) LabelX(logs []float64) *Panel {
	p.Plot.X.Tick.Marker = listedTicks{logs, 1}
	return p
}

// ClampLow declares a lowest value of a logarithmic y axis. The argument floor is the base-10
// logarithm of this value. Lower values are drawn at the lowest value, and its label has the sign
// ≤.
func (p *Panel) ClampLow(floor float64) *Panel {
	p.Plot.Y.Tick.Marker = logTicks{7, floor}
	return p
}

// StepsX declares that the x coordinates are base-10 logarithms of 1 plus a number of steps, and
// labels the axis at numbers of steps, from 0 on.
func (p *Panel) StepsX() *Panel {
	p.Plot.X.Tick.Marker = stepTicks{}
	return p
}

// FallingX declares that the x coordinates are negative. The x axis has their values without the
// sign, so that these values fall from the left to the right.
func (p *Panel) FallingX() *Panel {
	p.Plot.X.Tick.Marker = fallingTicks{p.Plot.X.Tick.Marker}
	return p
}

// Beside declares that the numbers of the x axis end at low and high. Beyond these ends, the axis has
// the given labels.
func (p *Panel) Beside(low, high float64, beside ...plot.Tick) *Panel {
	p.Plot.X.Tick.Marker = besideTicks{p.Plot.X.Tick.Marker, low, high, beside}
	return p
}

// Grid draws thin grid lines behind all series that are added later.
func (p *Panel) Grid() *Panel {
	g := plotter.NewGrid()
	g.Horizontal = draw.LineStyle{Color: color.NRGBA{225, 225, 225, 255}, Width: .5}
	g.Vertical = g.Horizontal
	p.Plot.Add(grid{g, p})
	return p
}

// A grid has no lines at the headings of rows.
type grid struct {
	*plotter.Grid
	panel *Panel
}

func (g grid) Plot(c draw.Canvas, q *plot.Plot) {
	lined := *q
	if ticks, rows := q.Y.Tick.Marker.(plot.ConstantTicks); rows {
		isHead := func(t plot.Tick) bool { return slices.Contains(g.panel.heads, int(-t.Value)) }
		lined.Y.Tick.Marker = plot.ConstantTicks(slices.DeleteFunc(slices.Clone(ticks), isHead))
	}
	g.Grid.Plot(c, &lined)
}

// Range fixes the axes of the panel.
func (p *Panel) Range(xmin, xmax, ymin, ymax float64) {
	Box{xmin, xmax, ymin, ymax}.setAxes(p.Plot)
	p.isFixed = true
}

// RangeX fixes the axes of the panel: the x axis is the one of the given axes, and the y axis covers
// the data so far. So panels one below the other have the same x axis.
func (p *Panel) RangeX(axes Box) {
	own := p.Axes()
	p.Range(axes.Xmin, axes.Xmax, own.Ymin, own.Ymax)
}

// NoTicks makes the axes bare.
func (p *Panel) NoTicks() *Panel {
	p.Bare = true
	for _, a := range []*plot.Axis{&p.Plot.X, &p.Plot.Y} {
		a.Tick.Marker, a.Tick.Length = plot.ConstantTicks(nil), 0
	}
	return p
}
