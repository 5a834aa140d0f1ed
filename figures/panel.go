package figures

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Panel is one coordinate system with the series plotted in it. Its axes span
// the finite points of the series, with headroom. NaN and ±Inf leave a gap.
type Panel struct {
	Equal bool // both axes have the same range and the same length

	// Direct labels each line at its end, in place of the legend.
	Direct bool

	name    string
	plot    *plot.Plot // its axes span the data, without headroom
	series  []series
	ghosts  []series         // lines of the default parameters
	fixed   bool             // the axes are those of Range
	marked  bool             // there are glyphs, which need headroom to all sides
	filled  bool             // there is a surface, which needs none
	banded  bool             // there are bands
	scale   *plotter.HeatMap // of the surface; nil: there is none
	problem string
}

// series is one thing plotted.
type series struct {
	name      string      // in the CSV
	entry     LegendEntry // without a name: not in the legend
	stretches [][]point   // the finite points, between the gaps
	across    *reference  // whose points come from the axes
	line      bool        // from Line
}

// point has x, y, z, low and high; NaN stands for none.
type point [5]float64

// pairs returns x and another coordinate of points.
func pairs(points []point, coordinate int) plotter.XYs {
	return mapped(points, func(p point) plotter.XY { return plotter.XY{X: p[0], Y: p[coordinate]} })
}

// ends returns the ends of a reference line that crosses the axes.
func (s series) ends(axes box) []point {
	if s.across == nil {
		return nil
	}
	return mapped(s.across.ends(axes), newPoint)
}

// NewPanel returns an empty panel. The name stands in the CSV, and above the
// panel where title is not empty.
func NewPanel(name, title, x, y string) *Panel {
	p := plot.New()
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = 11
	p.Title.Padding = 4
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = 10
		a.Tick.Label.Font.Size = 9
		a.LineStyle.Width = .5
		a.Tick.LineStyle.Width = .5
		a.Padding = 4
		a.Tick.Marker = roundTicks{}
	}
	p.BackgroundColor = color.White
	panel := &Panel{plot: p, name: name}
	p.Add(ghostPlot{panel})
	return panel
}

// LogAxes tells that the panel's coordinates are base-10 logarithms along the
// axes named. It returns the panel, as ClampLow and Grid do.
func (p *Panel) LogAxes(x, y bool) *Panel {
	if x {
		p.plot.X.Tick.Marker = logTicks{4.5, math.Inf(-1)}
	}
	if y {
		p.plot.Y.Tick.Marker = logTicks{7, math.Inf(-1)}
	}
	return p
}

// ClampLow labels a logarithmic y axis with ≤ at floor, the logarithm at which
// lower values are drawn.
func (p *Panel) ClampLow(floor float64) *Panel {
	p.plot.Y.Tick.Marker = logTicks{7, floor}
	return p
}

// Grid draws thin grid lines behind what is added later.
func (p *Panel) Grid() *Panel {
	g := plotter.NewGrid()
	g.Horizontal = draw.LineStyle{Color: color.NRGBA{225, 225, 225, 255}, Width: .5}
	g.Vertical = g.Horizontal
	p.plot.Add(g)
	return p
}

// Range fixes the panel's axes.
func (p *Panel) Range(xmin, xmax, ymin, ymax float64) {
	box{xmin, xmax, ymin, ymax}.setAxes(p.plot)
	p.fixed = true
}

// newPoint returns a point with x and y alone.
func newPoint(v plotter.XY) point { return point{v.X, v.Y, math.NaN(), math.NaN(), math.NaN()} }

// equal reports whether all lengths of a series' columns are equal. The first
// series without that is the panel's problem.
func (p *Panel) equal(name string, lengths ...int) bool {
	ok := slices.Min(lengths) == slices.Max(lengths)
	if !ok && p.problem == "" {
		p.problem = fmt.Sprintf("series %q: columns of lengths %d: give each point all values, NaN where there is none", name, lengths)
	}
	return ok
}

// add adds a series of n points, and returns those that can be drawn in stretches
// without a gap.
func (p *Panel) add(name string, s Style, n int, at func(i int) (v point, ok bool)) [][]point {
	added := series{name: name}
	gap := true
	for i := range n {
		v, ok := at(i)
		if ok && gap {
			added.stretches = append(added.stretches, nil)
		}
		if gap = !ok; ok {
			last := &added.stretches[len(added.stretches)-1]
			*last = append(*last, v)
		}
	}
	if !s.Unlisted && added.stretches != nil {
		added.entry = LegendEntry{name, s}
	}
	p.series = append(p.series, added)
	return added.stretches
}

// points adds a series of points.
func (p *Panel) points(name string, xs, ys []float64, s Style) [][]point {
	if !p.equal(name, len(xs), len(ys)) {
		return nil
	}
	return p.add(name, s, len(xs), func(i int) (point, bool) { return newPoint(plotter.XY{X: xs[i], Y: ys[i]}), drawable(xs[i], ys[i]) })
}

// Line plots a line through the points. A point between two gaps is a dot.
func (p *Panel) Line(name string, xs, ys []float64, s Style) {
	s.GlyphRadius = 0
	stretches := p.points(name, xs, ys, s)
	if n := len(p.series); stretches != nil {
		p.series[n-1].line = true
	}
	for _, stretch := range stretches {
		style := s.line()
		if len(stretch) == 1 {
			p.plot.Add(&plotter.Scatter{XYs: pairs(stretch, 1), GlyphStyle: draw.GlyphStyle{Color: style.Color, Radius: style.Width, Shape: draw.CircleGlyph{}}})
		} else {
			p.plot.Add(curve{&plotter.Line{XYs: pairs(stretch, 1), LineStyle: style}})
		}
	}
}

// Scatter plots the points as glyphs.
func (p *Panel) Scatter(name string, xs, ys []float64, s Style) {
	p.marked = true
	s.GlyphRadius = s.mark().Radius
	for _, stretch := range p.points(name, xs, ys, s) {
		p.plot.Add(marks{&plotter.Scatter{XYs: pairs(stretch, 1), GlyphStyle: s.mark()}})
	}
}

// Band shades the area between low and high, the ends of 95 % confidence intervals. One
// entry of the legend explains all bands.
func (p *Panel) Band(name string, xs, low, high []float64, s Style) {
	faint := s.line().Color.(color.NRGBA)
	faint.A = 50
	s.Unlisted = true
	if !p.equal(name, len(xs), len(low), len(high)) {
		return
	}
	for _, stretch := range p.add(name, s, len(xs), func(i int) (point, bool) {
		return point{xs[i], math.NaN(), math.NaN(), low[i], high[i]}, drawable(xs[i], low[i], high[i])
	}) {
		back := pairs(stretch, 4)
		slices.Reverse(back)
		area := &plotter.Polygon{XYs: []plotter.XYs{append(pairs(stretch, 3), back...)}, Color: faint}
		if len(stretch) == 1 { // without area
			area.LineStyle = draw.LineStyle{Color: faint, Width: 2 * s.line().Width}
		}
		p.plot.Add(area)
		p.banded = true
	}
}

// HLine plots a horizontal reference line across the panel, whose y axis includes
// its level.
func (p *Panel) HLine(name string, y float64, s Style) { p.Across(name, 0, 1, y, s) }

// VLine plots a vertical reference line across the panel, whose x axis includes x.
func (p *Panel) VLine(name string, x float64, s Style) { p.Across(name, 1, 0, x, s) }

// Across plots the line a·x + b·y = c across the panel, or nothing where it passes
// by.
func (p *Panel) Across(name string, a, b, c float64, s Style) {
	s.GlyphRadius = 0
	r := &reference{a, b, c, s.line()}
	added := series{name: name, across: r}
	if !s.Unlisted {
		added.entry = LegendEntry{name, s}
	}
	p.series = append(p.series, added)
	p.plot.Add(r)
}

// arrows plots an arrow from each of the points along its vector. The CSV has the
// ends of each.
func (p *Panel) arrows(name string, x, y, dx, dy []float64, s Style) {
	p.marked = true
	if p.equal(name, len(x), len(y), len(dx), len(dy)) {
		ends := func(k int) (point, bool) {
			i, part := k/2, float64(k%2)
			return newPoint(plotter.XY{X: x[i] + part*dx[i], Y: y[i] + part*dy[i]}), drawable(x[i], y[i], dx[i], dy[i])
		}
		for _, stretch := range p.add(name, s, 2*len(x), ends) {
			p.plot.Add(&arrowPlot{plotter.Line{XYs: pairs(stretch, 1), LineStyle: s.line()}})
		}
	}
}

// Surface shades the positive z[i][j] at xs[i], ys[j] by their logarithm, light
// where they are low, and draws contour lines at the levels. The grid must be
// regular.
func (p *Panel) Surface(name string, xs, ys []float64, z [][]float64, levels []float64) {
	p.filled = true
	g := p.grid(name, xs, ys, z)
	p.add(name, Style{Unlisted: true}, len(g.xs)*len(g.ys), func(k int) (point, bool) {
		i, j := k/len(g.ys), k%len(g.ys)
		return point{g.xs[i], g.ys[j], g.z[i][j], math.NaN(), math.NaN()}, drawable(g.xs[i], g.ys[j], g.z[i][j])
	})
	added := &p.series[len(p.series)-1]
	if added.stretches == nil || !drawable(g.xs...) || !drawable(g.ys...) {
		return
	}
	p.scale = g.heat()
	p.plot.Add(p.scale)
	for _, level := range levels {
		added.entry = contourEntry
		for _, line := range g.contour(level) {
			p.plot.Add(&plotter.Line{XYs: line, LineStyle: contourEntry.Style.line()})
		}
	}
}

// contourEntry explains a Surface.
var contourEntry = LegendEntry{"contours", Style{Color: color.NRGBA{90, 90, 90, 255}, Width: .4}}

// grid returns a surface, without any points if z does not have a value for each.
func (p *Panel) grid(name string, xs, ys []float64, z [][]float64) *surface {
	ok := p.equal(name, len(xs), len(z))
	for _, row := range z {
		ok = ok && p.equal(name, len(ys), len(row))
	}
	if !ok {
		return new(surface)
	}
	return &surface{xs, ys, z}
}

// Contour plots the lines along which z[i][j], given at xs[i], ys[j], equals
// level.
func (p *Panel) Contour(name string, xs, ys []float64, z [][]float64, level float64, s Style) {
	for i, line := range p.grid(name, xs, ys, z).contour(level) {
		part := name
		if i > 0 {
			part = fmt.Sprintf("%s (%d)", name, i+1)
			s.Unlisted = true
		}
		x, y := func(v plotter.XY) float64 { return v.X }, func(v plotter.XY) float64 { return v.Y }
		p.Line(part, mapped(line, x), mapped(line, y), s)
	}
}

// reference is a plotter of the line a·x + b·y = c.
type reference struct {
	a, b, c float64
	style   draw.LineStyle
}

// ends returns the two points in which the line meets the ends of the axes, or none
// where it passes by.
func (r *reference) ends(axes box) (all plotter.XYs) {
	for _, p := range []plotter.XY{
		{X: axes.xmin, Y: (r.c - r.a*axes.xmin) / r.b}, {X: axes.xmax, Y: (r.c - r.a*axes.xmax) / r.b},
		{X: (r.c - r.b*axes.ymin) / r.a, Y: axes.ymin}, {X: (r.c - r.b*axes.ymax) / r.a, Y: axes.ymax},
	} {
		if axes.xmin <= p.X && p.X <= axes.xmax && axes.ymin <= p.Y && p.Y <= axes.ymax && len(all) < 2 && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func (r *reference) Plot(c draw.Canvas, q *plot.Plot) {
	(&plotter.Line{XYs: r.ends(axesOf(q)), LineStyle: r.style}).Plot(c, q)
}

// DataRange returns the level of a horizontal or vertical line.
func (r *reference) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	if r.b == 0 && drawable(r.c/r.a) {
		xmin, xmax = r.c/r.a, r.c/r.a
	} else if r.a == 0 && drawable(r.c/r.b) {
		ymin, ymax = r.c/r.b, r.c/r.b
	}
	return xmin, xmax, ymin, ymax
}

// arrowPlot is a plotter of arrows between every other two points.
type arrowPlot struct{ plotter.Line }

func (a *arrowPlot) Plot(c draw.Canvas, q *plot.Plot) {
	const longest, angle = 4.5, 2.7 // points; radians from the arrow's direction
	toX, toY := q.Transforms(&c)
	at := func(i int) vg.Point { return vg.Point{X: toX(a.XYs[i].X), Y: toY(a.XYs[i].Y)} }
	for i := 1; i < len(a.XYs); i += 2 {
		tip := at(i)
		along := tip.Sub(at(i - 1))
		head := vg.Length(math.Min(longest, .35*math.Hypot(float64(along.X), float64(along.Y))))
		c.StrokeLines(a.LineStyle, []vg.Point{at(i - 1), tip})
		for _, side := range []float64{angle, -angle} {
			sin, cos := math.Sincos(math.Atan2(float64(along.Y), float64(along.X)) + side)
			c.StrokeLine2(a.LineStyle, tip.X, tip.Y, tip.X+head*vg.Length(cos), tip.Y+head*vg.Length(sin))
		}
	}
}

// box is the range of a plot's axes, from +Inf to -Inf if it has no data.
type box struct{ xmin, xmax, ymin, ymax float64 }

func axesOf(q *plot.Plot) box { return box{q.X.Min, q.X.Max, q.Y.Min, q.Y.Max} }

func (b box) setAxes(q *plot.Plot) {
	q.X.Min, q.X.Max, q.Y.Min, q.Y.Max = b.xmin, b.xmax, b.ymin, b.ymax
}

func (b box) union(c box) box {
	return box{min(b.xmin, c.xmin), max(b.xmax, c.xmax), min(b.ymin, c.ymin), max(b.ymax, c.ymax)}
}

// square returns the box of the same centre with both sides as long as the longer
// one.
func (b box) square() box {
	half := max(b.xmax-b.xmin, b.ymax-b.ymin) / 2
	x, y := (b.xmin+b.xmax)/2, (b.ymin+b.ymax)/2
	return box{x - half, x + half, y - half, y + half}
}

// ghostEntry explains the lines of Ghosts.
var ghostEntry = LegendEntry{"default parameters", Style{Color: color.NRGBA{165, 165, 165, 255}, Width: .8}}

// A ghostPlot is the plotter of a panel's ghosts, the first of its plotters.
type ghostPlot struct{ panel *Panel }

func (g ghostPlot) Plot(c draw.Canvas, q *plot.Plot) {
	axes := axesOf(q)
	for _, s := range g.panel.ghosts {
		for _, stretch := range s.stretches {
			for _, part := range near(stretch, axes) {
				(&plotter.Line{XYs: pairs(part, 1), LineStyle: ghostEntry.Style.line()}).Plot(c, q)
			}
		}
	}
}

// near cuts out of a line the points that are so many axes away that their places on
// paper may overflow.
func near(line []point, axes box) (parts [][]point) {
	const most = 1e6
	gap := true
	for _, v := range line {
		far := math.Abs(v[0]-axes.xmin) > most*(axes.xmax-axes.xmin) || math.Abs(v[1]-axes.ymin) > most*(axes.ymax-axes.ymin)
		if !far && gap {
			parts = append(parts, nil)
		}
		if gap = far; !far {
			parts[len(parts)-1] = append(parts[len(parts)-1], v)
		}
	}
	return parts
}
