package chart

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

// A Panel is a coordinate system with plotted series. Its axes contain the finite points of the
// series, with headroom. A value that is NaN or ±Inf leaves a gap.
type Panel struct {
	Equal bool // both axes have the same range and the same length

	// If Direct is true, each line has a label at its end. These labels replace the legend.
	Direct bool

	// If NamesInside is true, the label of a line that ends before the right edge of the axes is
	// beside that end, if there is a place for it.
	NamesInside bool

	// Panels of a figure with the same SharedAxes, which is not empty, have the same axes.
	SharedAxes string

	// Bare axes have no ticks, because the values of the coordinates do not matter.
	Bare bool

	Name       string
	Plot       *plot.Plot // its axes cover the data, without headroom
	Series     []Series
	Ghosts     []Series // lines of the version with default parameters
	Notes      []Note
	isFixed    bool             // Range has fixed the axes
	marked     bool             // there are glyphs, which need headroom on all sides
	filled     bool             // there is a surface, which needs no headroom
	Banded     bool             // there are bands
	BesideRows []LegendEntry    // what RowEnds has put beside the rows
	heads      []int            // rows that are headings, as Rows received them
	Scale      *plotter.HeatMap // colour scale of the surface; nil: none
	contours   []contour        // of the surface
	levelNames []levelName      // of its contours
	named      int              // the largest number of contours with a name
	problem    string
}

// Series is one plotted series.
type Series struct {
	Name      string      // name in the CSV
	Entry     LegendEntry // if the name is empty, the series is not in the legend
	Stretches [][]point   // the finite points; gaps separate stretches
	Across    *reference  // a line whose points depend on the axes; nil: none
	Line      bool        // whether Line or Steps has added the series
	step      plotter.StepKind
}

// A point holds x, y, z, low and high. A coordinate that the point does not have is NaN.
type point [5]float64

// pairs returns two coordinates of each point: x, and the coordinate with the given index.
func pairs(points []point, coordinate int) plotter.XYs {
	return Mapped(points, func(p point) plotter.XY { return plotter.XY{X: p[0], Y: p[coordinate]} })
}

// A Note is a short text beside a point of a panel.
type Note struct {
	Text   string
	X, Y   float64
	sample *Style   // of the line that the text names; nil: none
	first  vg.Point // direction of the best place; zero: none
	near   bool     // there is no mark at the point, so the note can be nearer
}

// Note adds a note beside the point (x, y). The note takes the nearest place within the axes at
// which it covers no line, no mark and no other note. If there is no such place nearby, the note is
// omitted, so the caption or the legend must explain the point as well.
func (p *Panel) Note(text string, x, y float64) {
	if Drawable(x, y) {
		p.Notes = append(p.Notes, Note{Text: text, X: x, Y: y})
	}
}

// NoteAbove adds a note as Note does. At each distance, it first tries the place above the point and
// to its right, so that it leaves a valley along the x axis visible.
func (p *Panel) NoteAbove(text string, x, y float64) {
	if Drawable(x, y) {
		p.Notes = append(p.Notes, Note{Text: text, X: x, Y: y, first: vg.Point{X: 1, Y: 1}})
	}
}

// NoteAtEnd adds a note as Note does. The point is the right end of a line without a mark. At each
// distance, the note first tries the place to the left of the point and above or below it.
func (p *Panel) NoteAtEnd(text string, x, y float64, above bool) {
	first := vg.Point{X: -1, Y: -1}
	if above {
		first.Y = 1
	}
	if Drawable(x, y) {
		p.Notes = append(p.Notes, Note{Text: text, X: x, Y: y, first: first, near: true})
	}
}

// Ends returns the ends of a reference line on the axes.
func (s Series) Ends(axes Box) []point {
	if s.Across == nil {
		return nil
	}
	return Mapped(s.Across.Ends(axes), newPoint)
}

// NewPanel returns an empty panel. The argument name is the panel's name in the CSV. The title is
// above the panel, unless it is empty. The arguments x and y are the labels of the axes.
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
		a.Tick.Marker = RoundTicks{}
	}
	p.BackgroundColor = color.White
	panel := &Panel{Plot: p, Name: name}
	p.Add(ghostPlot{panel})
	return panel
}

// newPoint returns a point with only x and y.
func newPoint(v plotter.XY) point { return point{v.X, v.Y, math.NaN(), math.NaN(), math.NaN()} }

// checkLengths reports whether the columns of a series have equal lengths. If their lengths differ,
// the series cannot be drawn, and the panel records the name of the series. The panel records only
// the first such series.
func (p *Panel) checkLengths(name string, lengths ...int) bool {
	ok := slices.Min(lengths) == slices.Max(lengths)
	if !ok && p.problem == "" {
		p.problem = fmt.Sprintf("series %q: columns of lengths %d: give each point all values, NaN where there is none", name, lengths)
	}
	return ok
}

// add adds a series of n points to the panel. It omits the points that cannot be drawn. The result
// holds the other points in stretches, and a stretch ends at a gap.
func (p *Panel) add(name string, s Style, n int, at func(i int) (v point, ok bool)) [][]point {
	added := Series{Name: name}
	gap := true
	for i := range n {
		v, ok := at(i)
		if ok && gap {
			added.Stretches = append(added.Stretches, nil)
		}
		if gap = !ok; ok {
			last := &added.Stretches[len(added.Stretches)-1]
			*last = append(*last, v)
		}
	}
	if !s.Unlisted && added.Stretches != nil {
		added.Entry = LegendEntry{Name: name, Style: s}
	}
	p.Series = append(p.Series, added)
	return added.Stretches
}

// points adds a series of points, and returns them as stretches.
func (p *Panel) points(name string, xs, ys []float64, s Style) [][]point {
	if !p.checkLengths(name, len(xs), len(ys)) {
		return nil
	}
	return p.add(name, s, len(xs), func(i int) (point, bool) { return newPoint(plotter.XY{X: xs[i], Y: ys[i]}), Drawable(xs[i], ys[i]) })
}

// Line plots a line through the points. A point between two gaps is a dot.
func (p *Panel) Line(name string, xs, ys []float64, s Style) {
	p.line(name, xs, ys, s, plotter.NoStep)
}

// Steps plots a line that keeps the y of each point until the x of the next point, and then jumps.
func (p *Panel) Steps(name string, xs, ys []float64, s Style) {
	p.line(name, xs, ys, s, plotter.PostStep)
}

func (p *Panel) line(name string, xs, ys []float64, s Style, step plotter.StepKind) {
	s.GlyphRadius = 0
	stretches := p.points(name, xs, ys, s)
	if n := len(p.Series); stretches != nil {
		p.Series[n-1].Line, p.Series[n-1].step = true, step
	}
	for _, stretch := range stretches {
		style := s.Line()
		if len(stretch) == 1 {
			p.Plot.Add(&plotter.Scatter{XYs: pairs(stretch, 1), GlyphStyle: draw.GlyphStyle{Color: style.Color, Radius: style.Width, Shape: draw.CircleGlyph{}}})
		} else {
			p.Plot.Add(curve{&plotter.Line{XYs: pairs(stretch, 1), StepStyle: step, LineStyle: style}})
		}
	}
}

// Strokes plots a straight stroke from (fromX[i], fromY[i]) to (toX[i], toY[i]) for each i, such as
// the intervals of points.
func (p *Panel) Strokes(name string, fromX, fromY, toX, toY []float64, s Style) {
	s.GlyphRadius = 0
	if !p.checkLengths(name, len(fromX), len(fromY), len(toX), len(toY)) {
		return
	}
	const places = 3 // the two ends of a stroke, and a gap
	for _, stretch := range p.add(name, s, places*len(fromX), func(k int) (point, bool) {
		i := k / places
		end := plotter.XY{X: fromX[i], Y: fromY[i]}
		if k%places == 1 {
			end = plotter.XY{X: toX[i], Y: toY[i]}
		}
		return newPoint(end), k%places < places-1 && Drawable(fromX[i], fromY[i], toX[i], toY[i])
	}) {
		p.Plot.Add(curve{&plotter.Line{XYs: pairs(stretch, 1), LineStyle: s.Line()}})
	}
}

// Measured plots a line with a glyph at each point, and a stroke at each point from low to high.
func (p *Panel) Measured(name string, xs, ys, low, high []float64, s Style) {
	mark := s
	mark.Unlisted = true
	p.intervals(name, xs, low, high, s)
	p.Line(name, xs, ys, s)
	if n := len(p.Series); n > 0 {
		p.Series[n-1].Entry.MarkRadius = mark.Mark().Radius
	}
	p.Scatter(name+", points", xs, ys, mark)
}

// Marked plots a glyph at each point, and a stroke at each point from low to high.
func (p *Panel) Marked(name string, xs, ys, low, high []float64, s Style) {
	p.intervals(name, xs, low, high, s)
	p.Scatter(name, xs, ys, s)
}

// intervals plots a stroke at each point from low to high.
func (p *Panel) intervals(name string, xs, low, high []float64, s Style) {
	s.Width, s.Dash, s.Unlisted = 1, nil, true
	p.Strokes(name+", 95 % interval", xs, low, xs, high, s)
}

// Scatter plots the points as glyphs.
func (p *Panel) Scatter(name string, xs, ys []float64, s Style) {
	p.marked = true
	s.GlyphRadius = s.Mark().Radius
	for _, stretch := range p.points(name, xs, ys, s) {
		p.Plot.Add(marks{&plotter.Scatter{XYs: pairs(stretch, 1), GlyphStyle: s.Mark()}})
	}
}

// Band shades the area between the curves low and high. These are the ends of 95 % confidence
// intervals. All bands share one legend entry.
func (p *Panel) Band(name string, xs, low, high []float64, s Style) {
	faint := s.Line().Color.(color.NRGBA)
	faint.A = 50
	s.Unlisted = true
	if !p.checkLengths(name, len(xs), len(low), len(high)) {
		return
	}
	for _, stretch := range p.add(name, s, len(xs), func(i int) (point, bool) {
		return point{xs[i], math.NaN(), math.NaN(), low[i], high[i]}, Drawable(xs[i], low[i], high[i])
	}) {
		back := pairs(stretch, 4)
		slices.Reverse(back)
		area := &plotter.Polygon{XYs: []plotter.XYs{append(pairs(stretch, 3), back...)}, Color: faint}
		if len(stretch) == 1 { // one point has no area
			area.LineStyle = draw.LineStyle{Color: faint, Width: 2 * s.Line().Width}
		}
		p.Plot.Add(area)
		p.Banded = true
	}
}

// HLine plots a horizontal reference line at the height y, over the whole width of the panel. The
// range of the y axis includes y.
func (p *Panel) HLine(name string, y float64, s Style) { p.Across(name, 0, 1, y, s) }

// HBand fills the panel between two heights, over its whole width, as a background. The range of the
// y axis includes both heights.
func (p *Panel) HBand(name string, low, high float64, c color.NRGBA) {
	p.Plot.Add(strip{low, high, c})
	edge := Style{Color: c, Width: .5, Unlisted: true}
	p.HLine(name, low, edge)
	p.HLine(name, high, edge)
	p.Series[len(p.Series)-1].Entry = LegendEntry{Name: name, Style: Style{Color: c, Width: IntervalEntry.Style.Width}}
}

// A strip is a plotter that fills the axes between two heights.
type strip struct {
	low, high float64
	color     color.NRGBA
}

func (s strip) Plot(c draw.Canvas, q *plot.Plot) {
	low, high := max(s.low, q.Y.Min), min(s.high, q.Y.Max)
	if low < high {
		bottom, top := c.Y(q.Y.Norm(low)), c.Y(q.Y.Norm(high))
		c.FillPolygon(s.color, []vg.Point{{X: c.Min.X, Y: bottom}, {X: c.Max.X, Y: bottom}, {X: c.Max.X, Y: top}, {X: c.Min.X, Y: top}})
	}
}

// VLine plots a vertical reference line at x, over the whole height of the panel. The range of the
// x axis includes x.
func (p *Panel) VLine(name string, x float64, s Style) { p.Across(name, 1, 0, x, s) }

// Across plots the line a·x + b·y = c from edge to edge of the panel. If the line does not meet the
// panel, Across plots nothing.
func (p *Panel) Across(name string, a, b, c float64, s Style) {
	s.GlyphRadius = 0
	r := &reference{a, b, c, s.Line()}
	added := Series{Name: name, Across: r}
	if !s.Unlisted {
		added.Entry = LegendEntry{Name: name, Style: s}
	}
	p.Series = append(p.Series, added)
	p.Plot.Add(r)
}

// Arrows plots arrows. Arrow i goes from (x[i], y[i]) to (x[i] + dx[i], y[i] + dy[i]). The CSV has
// both ends of each arrow.
func (p *Panel) Arrows(name string, x, y, dx, dy []float64, s Style) {
	p.marked = true
	if p.checkLengths(name, len(x), len(y), len(dx), len(dy)) {
		ends := func(k int) (point, bool) {
			i, part := k/2, float64(k%2)
			return newPoint(plotter.XY{X: x[i] + part*dx[i], Y: y[i] + part*dy[i]}), Drawable(x[i], y[i], dx[i], dy[i])
		}
		for _, stretch := range p.add(name, s, 2*len(x), ends) {
			p.Plot.Add(&arrowPlot{plotter.Line{XYs: pairs(stretch, 1), LineStyle: s.Line()}})
		}
	}
}

// contourEntry explains the contours of a Surface.
var contourEntry = LegendEntry{Name: "contours", Style: Style{Color: color.NRGBA{90, 90, 90, 255}, Width: .4}}

// reference is a plotter of the line a·x + b·y = c.
type reference struct {
	a, b, c float64
	style   draw.LineStyle
}

// Ends returns the two points at which the line crosses the frame of the axes. If the line does not
// meet the frame, it returns no points.
func (r *reference) Ends(axes Box) (all plotter.XYs) {
	for _, p := range []plotter.XY{
		{X: axes.Xmin, Y: (r.c - r.a*axes.Xmin) / r.b}, {X: axes.Xmax, Y: (r.c - r.a*axes.Xmax) / r.b},
		{X: (r.c - r.b*axes.Ymin) / r.a, Y: axes.Ymin}, {X: (r.c - r.b*axes.Ymax) / r.a, Y: axes.Ymax},
	} {
		if axes.Xmin <= p.X && p.X <= axes.Xmax && axes.Ymin <= p.Y && p.Y <= axes.Ymax && len(all) < 2 && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func (r *reference) Plot(c draw.Canvas, q *plot.Plot) {
	(&plotter.Line{XYs: r.Ends(AxesOf(q)), LineStyle: r.style}).Plot(c, q)
}

// DataRange returns a range that consists of one number: the y of a horizontal line, or the x of a
// vertical line. Other lines have no range.
func (r *reference) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	if r.b == 0 && Drawable(r.c/r.a) {
		xmin, xmax = r.c/r.a, r.c/r.a
	} else if r.a == 0 && Drawable(r.c/r.b) {
		ymin, ymax = r.c/r.b, r.c/r.b
	}
	return xmin, xmax, ymin, ymax
}

// arrowPlot is a plotter of arrows. Each pair of points is an arrow.
type arrowPlot struct{ plotter.Line }

func (a *arrowPlot) Plot(c draw.Canvas, q *plot.Plot) {
	// The head of an arrow consists of two strokes. Their length is at most maxStroke, in points.
	// The angle from the direction of the arrow to a stroke is strokeAngle, in radians.
	const strokeAngle = 2.7
	maxStroke := max(4.5, 3.2*float64(a.Width))
	toX, toY := q.Transforms(&c)
	at := func(i int) vg.Point { return vg.Point{X: toX(a.XYs[i].X), Y: toY(a.XYs[i].Y)} }
	for i := 1; i < len(a.XYs); i += 2 {
		tip := at(i)
		along := tip.Sub(at(i - 1))
		head := vg.Length(math.Min(maxStroke, .35*math.Hypot(float64(along.X), float64(along.Y))))
		c.StrokeLines(a.LineStyle, []vg.Point{at(i - 1), tip})
		for _, side := range []float64{strokeAngle, -strokeAngle} {
			sin, cos := math.Sincos(math.Atan2(float64(along.Y), float64(along.X)) + side)
			c.StrokeLine2(a.LineStyle, tip.X, tip.Y, tip.X+head*vg.Length(cos), tip.Y+head*vg.Length(sin))
		}
	}
}

// GhostEntry is the legend entry of the lines of Ghosts.
var GhostEntry = LegendEntry{Name: "default parameters", Style: Style{Color: color.NRGBA{165, 165, 165, 255}, Width: .8}}

// A ghostPlot is the plotter of a panel's ghosts. It is the first plotter of the panel, so that it
// draws behind all others.
type ghostPlot struct{ panel *Panel }

func (g ghostPlot) Plot(c draw.Canvas, q *plot.Plot) {
	axes := AxesOf(q)
	for _, s := range g.panel.Ghosts {
		for _, stretch := range s.Stretches {
			for _, part := range cropFar(stretch, axes) {
				(&plotter.Line{XYs: pairs(part, 1), StepStyle: s.step, LineStyle: GhostEntry.Style.Line()}).Plot(c, q)
			}
		}
	}
}

// cropFar removes points that are very many axis lengths away from the axes, because the positions
// of such points on the canvas may overflow. It returns the remaining parts of the line.
func cropFar(line []point, axes Box) (parts [][]point) {
	const most = 1e6
	gap := true
	for _, v := range line {
		far := math.Abs(v[0]-axes.Xmin) > most*(axes.Xmax-axes.Xmin) || math.Abs(v[1]-axes.Ymin) > most*(axes.Ymax-axes.Ymin)
		if !far && gap {
			parts = append(parts, nil)
		}
		if gap = far; !far {
			parts[len(parts)-1] = append(parts[len(parts)-1], v)
		}
	}
	return parts
}
