package live

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"

	"cvgm/figures"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// canvas is a vg.Canvas that writes SVG to be part of a page: small, because
// dozens of pictures a second go to the browser, and in the colours of the
// page's theme where plots are black and white.
type canvas struct {
	w, h vg.Length
	out  []byte
	pen
	stack []pen
	dots  dots
}

// pen is what Push saves. A point (x, y) is drawn at (a·x + c·y + e,
// b·x + d·y + f), with y upwards.
type pen struct {
	a, b, c, d, e, f float64
	width            vg.Length
	dashes           []vg.Length
	color            color.NRGBA
}

// dots is a run of discs of one size and colour, which are one path together.
type dots struct {
	radius vg.Length
	color  color.NRGBA
	path   []byte
}

func newCanvas(w, h vg.Length) *canvas {
	c := &canvas{w: w, h: h, pen: pen{a: 1, d: 1, width: 1, color: color.NRGBA{A: 255}}}
	c.out = fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="Liberation Sans,Arial,Helvetica,sans-serif" fill="none" stroke-linejoin="round">`,
		w.Points(), h.Points())
	return c
}

// svg ends the picture and returns it.
func (c *canvas) svg() []byte {
	c.flush()
	return append(c.out, "</svg>"...)
}

func (c *canvas) Size() (x, y vg.Length)                 { return c.w, c.h }
func (c *canvas) SetLineWidth(w vg.Length)               { c.width = w }
func (c *canvas) SetLineDash(d []vg.Length, _ vg.Length) { c.dashes = d }
func (c *canvas) Push()                                  { c.stack = append(c.stack, c.pen) }
func (c *canvas) Translate(p vg.Point)                   { c.e, c.f = c.at(p) }
func (c *canvas) Scale(x, y float64)                     { c.a, c.b, c.c, c.d = c.a*x, c.b*x, c.c*y, c.d*y }

func (c *canvas) Pop() {
	last := len(c.stack) - 1
	c.pen, c.stack = c.stack[last], c.stack[:last]
}

func (c *canvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.a, c.b, c.c, c.d = c.a*cos+c.c*sin, c.b*cos+c.d*sin, c.c*cos-c.a*sin, c.d*cos-c.b*sin
}

func (c *canvas) SetColor(col color.Color) {
	if col == nil {
		col = color.Black
	}
	c.color = color.NRGBAModel.Convert(col).(color.NRGBA)
}

func (c *canvas) at(p vg.Point) (x, y float64) {
	return c.a*p.X.Points() + c.c*p.Y.Points() + c.e, c.b*p.X.Points() + c.d*p.Y.Points() + c.f
}

// theme returns a colour as the page shows it: black is the page's own colour of
// text, light greys are grids, and blue is too dark for a dark page.
func theme(c color.NRGBA) string {
	grey := c.R == c.G && c.G == c.B
	switch {
	case grey && c.R == 0:
		return "currentColor"
	case grey && c.R > 200:
		return "var(--jp-border-color2,#e0e0e0)"
	case c == figures.Blue:
		return "var(--live-blue,#0072b2)"
	}
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

func (c *canvas) paint(attribute string, col color.NRGBA) {
	c.out = fmt.Appendf(c.out, ` %s="%s"`, attribute, theme(col))
	if col.A < 255 {
		c.out = fmt.Appendf(c.out, ` %s-opacity="%.2g"`, attribute, float64(col.A)/255)
	}
}

// white is what a plot fills its ground with; the page has a ground.
var white = color.NRGBA{255, 255, 255, 255}

func (c *canvas) Stroke(p vg.Path) {
	if c.width <= 0 || c.color.A == 0 {
		return
	}
	c.flush()
	c.out = append(c.out, "<path"...)
	c.paint("stroke", c.color)
	c.out = append(c.out, ` stroke-width="`...)
	c.out = appendNumber(c.out, c.width.Points())
	if len(c.dashes) > 0 {
		c.out = append(c.out, `" stroke-dasharray="`...)
		for i, d := range c.dashes {
			if i > 0 {
				c.out = append(c.out, ' ')
			}
			c.out = appendNumber(c.out, d.Points())
		}
	}
	c.out = append(c.out, '"')
	c.path(p)
}

func (c *canvas) Fill(p vg.Path) {
	if c.color.A == 0 || c.color == white {
		return
	}
	if center, radius, ok := disc(p); ok {
		if c.dots.path == nil || c.dots.radius != radius || c.dots.color != c.color {
			c.flush()
			c.dots = dots{radius: radius, color: c.color}
		}
		x, y := c.at(center)
		c.dots.path = append(appendPoint(append(c.dots.path, 'M'), x, c.h.Points()-y), "h0"...)
		return
	}
	c.flush()
	c.out = append(c.out, "<path"...)
	c.paint("fill", c.color)
	c.path(p)
}

// flush writes the run of discs, each a line of no length with round ends.
func (c *canvas) flush() {
	if c.dots.path == nil {
		return
	}
	d := c.dots
	c.dots = dots{}
	c.out = append(c.out, `<path stroke-linecap="round"`...)
	c.paint("stroke", d.color)
	c.out = append(c.out, ` stroke-width="`...)
	c.out = appendNumber(c.out, 2*d.radius.Points())
	c.out = append(append(append(c.out, `" d="`...), d.path...), `"/>`...)
}

// disc tells whether a path is a full circle.
func disc(p vg.Path) (center vg.Point, radius vg.Length, ok bool) {
	for _, comp := range p {
		switch comp.Type {
		case vg.ArcComp:
			if ok || math.Abs(comp.Angle) < 2*math.Pi-1e-9 {
				return center, 0, false
			}
			center, radius, ok = comp.Pos, comp.Radius, true
		case vg.MoveComp, vg.CloseComp:
		default:
			return center, 0, false
		}
	}
	return center, radius, ok
}

// path ends an element with the path.
func (c *canvas) path(p vg.Path) {
	c.out = append(c.out, ` d="`...)
	h := c.h.Points()
	for _, comp := range p {
		x, y := c.at(comp.Pos)
		switch comp.Type {
		case vg.MoveComp:
			c.out = appendPoint(append(c.out, 'M'), x, h-y)
		case vg.LineComp:
			c.out = appendPoint(append(c.out, 'L'), x, h-y)
		case vg.ArcComp:
			c.arc(comp)
		case vg.CurveComp:
			letter := byte('Q')
			if len(comp.Control) == 2 {
				letter = 'C'
			}
			c.out = append(c.out, letter)
			for _, q := range comp.Control {
				x, y := c.at(q)
				c.out = append(appendPoint(c.out, x, h-y), ' ')
			}
			c.out = appendPoint(c.out, x, h-y)
		case vg.CloseComp:
			c.out = append(c.out, 'Z')
		}
	}
	c.out = append(c.out, `"/>`...)
}

// arc draws an arc as a polygon; what plots draw of them are small marks.
func (c *canvas) arc(comp vg.PathComp) {
	const sides = 16
	n := max(1, int(math.Ceil(sides*math.Abs(comp.Angle)/(2*math.Pi))))
	for i := range n + 1 {
		sin, cos := math.Sincos(comp.Start + comp.Angle*float64(i)/float64(n))
		x, y := c.at(vg.Point{X: comp.Pos.X + comp.Radius*vg.Length(cos), Y: comp.Pos.Y + comp.Radius*vg.Length(sin)})
		c.out = appendPoint(append(c.out, 'L'), x, c.h.Points()-y)
	}
}

func (c *canvas) FillString(f font.Face, p vg.Point, text string) {
	if f.Font.Size <= 0 || text == "" {
		return
	}
	c.flush()
	x, y := c.at(p)
	c.out = append(c.out, `<text`...)
	c.paint("fill", c.color)
	c.out = append(c.out, ` font-size="`...)
	c.out = appendNumber(c.out, f.Font.Size.Points())
	// The width is that of the plot's own font; the browser may have another, which
	// is then stretched.
	c.out = append(c.out, `" lengthAdjust="spacingAndGlyphs" textLength="`...)
	c.out = appendNumber(c.out, f.Width(text).Points())
	c.out = append(c.out, `" transform="translate(`...)
	c.out = appendPoint(c.out, x, c.h.Points()-y)
	c.out = append(c.out, ')')
	if c.b != 0 {
		c.out = append(c.out, "rotate("...)
		c.out = appendNumber(c.out, -math.Atan2(c.b, c.a)*180/math.Pi)
		c.out = append(c.out, ')')
	}
	c.out = append(append(append(c.out, `">`...), html.EscapeString(text)...), `</text>`...)
}

func (c *canvas) DrawImage(rect vg.Rectangle, img image.Image) {
	c.flush()
	var b bytes.Buffer
	if png.Encode(&b, img) != nil {
		return // no image has a size that PNG cannot hold
	}
	x, top := c.at(vg.Point{X: rect.Min.X, Y: rect.Max.Y})
	right, y := c.at(vg.Point{X: rect.Max.X, Y: rect.Min.Y})
	c.out = fmt.Appendf(c.out, `<image x="%.2f" y="%.2f" width="%.2f" height="%.2f" preserveAspectRatio="none" href="data:image/png;base64,%s"/>`,
		x, c.h.Points()-top, right-x, top-y, base64.StdEncoding.EncodeToString(b.Bytes()))
}

func appendPoint(b []byte, x, y float64) []byte {
	return appendNumber(append(appendNumber(b, x), ' '), y)
}

// appendNumber appends v in hundredths of a point.
func appendNumber(b []byte, v float64) []byte {
	v = math.Round(v*100) / 100
	return strconv.AppendFloat(b, v+0, 'f', -1, 64)
}
