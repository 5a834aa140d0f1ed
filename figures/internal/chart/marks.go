package chart

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// These glyphs are filled arrow heads. They mark values beyond the end of an axis.
type (
	LeftGlyph  struct{}
	RightGlyph struct{}
	DownGlyph  struct{}
	UpGlyph    struct{}
)

func (LeftGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	fillHead(c, s, at, vg.Point{X: -1})
}

func (RightGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	fillHead(c, s, at, vg.Point{X: 1})
}

func (DownGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	fillHead(c, s, at, vg.Point{Y: -1})
}

func (UpGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	fillHead(c, s, at, vg.Point{Y: 1})
}

// fillHead fills a triangle whose tip points in the direction d, a unit vector.
func fillHead(c *draw.Canvas, s draw.GlyphStyle, at, d vg.Point) {
	across := vg.Point{X: d.Y * d.Y, Y: d.X * d.X} // along the other axis
	corner := func(along, side vg.Length) vg.Point {
		return at.Add(d.Scale(along * s.Radius)).Add(across.Scale(side * s.Radius))
	}
	c.FillPolygon(s.Color, []vg.Point{corner(1.2, 0), corner(-.8, 1), corner(-.8, -1)})
}

// A DiamondGlyph is a filled square that stands on a corner.
type DiamondGlyph struct{}

func (DiamondGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := 1.2 * s.Radius
	c.FillPolygon(s.Color, []vg.Point{{X: at.X + r, Y: at.Y}, {X: at.X, Y: at.Y + r}, {X: at.X - r, Y: at.Y}, {X: at.X, Y: at.Y - r}})
}

// These glyphs are outlines. Other marks are visible within them.
type (
	TriangleOutline struct{}
	SquareOutline   struct{}
)

func (TriangleOutline) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	strokeOver(c, s, polygon(at, s.Radius, 3), thin)
}

func (SquareOutline) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	strokeOver(c, s, polygon(at, s.Radius, 4), heavy)
}

// An OpenGlyph is a white disc with an outline. It hides lines below it.
type OpenGlyph struct{}

func (OpenGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	var outline vg.Path
	outline.Move(at.Add(vg.Point{X: s.Radius}))
	outline.Arc(at, s.Radius, 0, 2*math.Pi)
	outline.Close()
	c.SetColor(color.White)
	c.Fill(outline)
	c.SetLineStyle(draw.LineStyle{Color: s.Color, Width: 1})
	c.Stroke(outline)
}

// polygon returns a regular polygon that stands on a side.
func polygon(at vg.Point, radius vg.Length, corners int) (path vg.Path) {
	for k := range corners {
		sin, cos := math.Sincos(2 * math.Pi * (float64(k) + .5) / float64(corners))
		corner := at.Add(vg.Point{X: radius * vg.Length(sin), Y: -radius * vg.Length(cos)})
		if k == 0 {
			path.Move(corner)
		} else {
			path.Line(corner)
		}
	}
	path.Close()
	return path
}

// These glyphs are crosses with heavy strokes. The strokes of a HeavyPlus are upright and level.
type (
	HeavyCross struct{}
	HeavyPlus  struct{}
)

func (HeavyCross) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := s.Radius * math.Sqrt2 / 2
	strokeOver(c, s, strokes(at, vg.Point{X: r, Y: r}, vg.Point{X: r, Y: -r}), heavy)
}

func (HeavyPlus) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	strokeOver(c, s, strokes(at, vg.Point{X: s.Radius}, vg.Point{Y: s.Radius}), heavy)
}

// strokes returns strokes through a point. An arm is half a stroke.
func strokes(at vg.Point, arms ...vg.Point) (path vg.Path) {
	for _, arm := range arms {
		path.Move(at.Sub(arm))
		path.Line(at.Add(arm))
	}
	return path
}

// These are widths of strokeOver. The triangle is larger than other marks, so its line is thin.
const heavy, thin = 1.7, 1.1

// strokeOver draws a path with a white margin, which separates it from what is below.
func strokeOver(c *draw.Canvas, s draw.GlyphStyle, path vg.Path, width vg.Length) {
	margin := width / 2
	for _, line := range []draw.LineStyle{{Color: color.White, Width: width + 2*margin}, {Color: s.Color, Width: width}} {
		c.SetLineStyle(line)
		c.Stroke(path)
	}
}

// A TickGlyph is an upright stroke.
type TickGlyph struct{}

func (TickGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	const width = 1.5
	c.StrokeLine2(draw.LineStyle{Color: s.Color, Width: width}, at.X, at.Y-s.Radius, at.X, at.Y+s.Radius)
}

// marks is a plotter of glyphs. If the colour is opaque, it draws all glyphs as one path. This
// takes much less time and fewer bytes than one path for each glyph.
type marks struct{ *plotter.Scatter }

func (m marks) Plot(c draw.Canvas, q *plot.Plot) {
	if _, _, _, alpha := m.Color.RGBA(); alpha == 0xffff {
		b := &batch{Canvas: c.Canvas, width: -1}
		c.Canvas = b
		defer b.flush()
	}
	m.Scatter.Plot(c, q)
}

// GlyphBoxes returns the boxes of the outermost points. Only these boxes affect the extent of the
// glyphs.
func (m marks) GlyphBoxes(q *plot.Plot) []plot.GlyphBox {
	return (&plotter.Scatter{XYs: outermost(m.XYs), GlyphStyle: m.GlyphStyle}).GlyphBoxes(q)
}

// curve is a plotter of a line. It returns glyph boxes only for the outermost points. The layout
// needs these boxes, because without them it would ignore the width of a line.
type curve struct{ *plotter.Line }

func (l curve) GlyphBoxes(q *plot.Plot) []plot.GlyphBox {
	return (&plotter.Line{XYs: outermost(l.XYs), LineStyle: l.LineStyle}).GlyphBoxes(q)
}

// outermost returns four points: the points with the smallest x, the largest x, the smallest y and
// the largest y.
func outermost(all plotter.XYs) plotter.XYs {
	if len(all) == 0 {
		return nil
	}
	x := func(v, w plotter.XY) int { return cmp.Compare(v.X, w.X) }
	y := func(v, w plotter.XY) int { return cmp.Compare(v.Y, w.Y) }
	return plotter.XYs{slices.MinFunc(all, x), slices.MaxFunc(all, x), slices.MinFunc(all, y), slices.MaxFunc(all, y)}
}

// A batch is a canvas that joins successive paths with the same style into one path.
type batch struct {
	vg.Canvas
	color   color.Color
	width   vg.Length
	dash    []vg.Length
	offset  vg.Length
	path    vg.Path
	filling bool
}

// flush draws the paths that are not drawn yet.
func (b *batch) flush() {
	path := b.path
	b.path = nil
	switch {
	case path == nil:
	case b.filling:
		b.Canvas.Fill(path)
	default:
		b.Canvas.Stroke(path)
	}
}

func (b *batch) SetColor(c color.Color) {
	if c != b.color {
		b.flush()
		b.color = c
		b.Canvas.SetColor(c)
	}
}

func (b *batch) SetLineWidth(w vg.Length) {
	if w != b.width {
		b.flush()
		b.width = w
		b.Canvas.SetLineWidth(w)
	}
}

func (b *batch) SetLineDash(dash []vg.Length, offset vg.Length) {
	if b.dash == nil || offset != b.offset || !slices.Equal(dash, b.dash) {
		b.flush()
		b.dash, b.offset = append([]vg.Length{}, dash...), offset
		b.Canvas.SetLineDash(dash, offset)
	}
}

func (b *batch) Stroke(p vg.Path) { b.join(p, false) }

func (b *batch) Fill(p vg.Path) { b.join(p, true) }

func (b *batch) join(p vg.Path, filling bool) {
	if filling != b.filling {
		b.flush()
		b.filling = filling
	}
	b.path = append(b.path, p...)
}

func (b *batch) Rotate(rad float64) { b.flush(); b.Canvas.Rotate(rad) }

func (b *batch) Translate(pt vg.Point) { b.flush(); b.Canvas.Translate(pt) }

func (b *batch) Scale(x, y float64) { b.flush(); b.Canvas.Scale(x, y) }

func (b *batch) Push() { b.flush(); b.Canvas.Push() }

// Pop restores an earlier style of the canvas. The batch therefore sets its own style again before
// it draws.
func (b *batch) Pop() {
	b.flush()
	b.Canvas.Pop()
	b.color, b.width, b.dash = nil, -1, nil
}

func (b *batch) FillString(f font.Face, pt vg.Point, text string) {
	b.flush()
	b.Canvas.FillString(f, pt, text)
}

func (b *batch) DrawImage(rect vg.Rectangle, img image.Image) {
	b.flush()
	b.Canvas.DrawImage(rect, img)
}
