package figures

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The colours of Okabe and Ito, which readers with any kind of colour vision
// tell apart.
var (
	Blue       = color.NRGBA{0, 114, 178, 255}
	Vermillion = color.NRGBA{213, 94, 0, 255}
	Green      = color.NRGBA{0, 158, 115, 255}
	Orange     = color.NRGBA{230, 159, 0, 255}
	Purple     = color.NRGBA{204, 121, 167, 255}
	Sky        = color.NRGBA{86, 180, 233, 255}
	Black      = color.NRGBA{0, 0, 0, 255}
	Grey       = color.NRGBA{120, 120, 120, 255}
)

var palette = []color.NRGBA{Blue, Vermillion, Green, Orange, Purple, Sky, Black, Grey}

// paletteColor returns the k-th colour; colours repeat.
func paletteColor(k int) color.NRGBA { return palette[k%len(palette)] }

// Style is the look of a series. Zero values: black, 1.5 points, solid.
type Style struct {
	Color color.NRGBA
	Width vg.Length
	Dash  []vg.Length
	// Glyph, of GlyphRadius (zero: 2.5), marks the points of Scatter.
	Glyph       draw.GlyphDrawer
	GlyphRadius vg.Length
	// Unlisted keeps the series out of the legend.
	Unlisted bool
}

func (s Style) line() draw.LineStyle {
	if s.Color == (color.NRGBA{}) {
		s.Color = Black
	}
	if s.Width == 0 {
		s.Width = 1.5
	}
	return draw.LineStyle{Color: s.Color, Width: s.Width, Dashes: s.Dash}
}

func (s Style) mark() draw.GlyphStyle {
	if s.Glyph == nil {
		s.Glyph = draw.CircleGlyph{}
	}
	if s.GlyphRadius == 0 {
		s.GlyphRadius = 2.5
	}
	return draw.GlyphStyle{Color: s.line().Color, Radius: s.GlyphRadius, Shape: s.Glyph}
}

// A LegendEntry explains a style: that of a mark if it has a GlyphRadius, else that
// of a line.
type LegendEntry struct {
	Name  string
	Style Style
}

// newLegend returns a column of entries.
func newLegend(entries []LegendEntry) plot.Legend {
	l := plot.NewLegend()
	l.TextStyle.Font.Size = 9
	l.Padding, l.ThumbnailWidth, l.Top = 2, 22, true
	for _, e := range entries {
		if e.Style.GlyphRadius > 0 {
			l.Add(e.Name, &plotter.Scatter{GlyphStyle: e.Style.mark()})
		} else {
			l.Add(e.Name, &plotter.Line{LineStyle: e.Style.line()})
		}
	}
	return l
}

// drawRow draws entries beside each other, in the middle of c's height.
func drawRow(c draw.Canvas, entries []LegendEntry) {
	text := plot.New().Legend.TextStyle
	text.Font.Size, text.YAlign = 10, draw.YCenter
	x, y := c.Min.X, c.Center().Y
	for _, e := range entries {
		var sample vg.Length = 20
		if e.Style.GlyphRadius > 0 {
			sample = 2 * e.Style.GlyphRadius
			c.DrawGlyphNoClip(e.Style.mark(), vg.Point{X: x + sample/2, Y: y})
		} else {
			c.StrokeLine2(e.Style.line(), x, y, x+sample, y)
		}
		x += sample + 4
		c.FillText(text, vg.Point{X: x, Y: y}, e.Name)
		x += text.Width(e.Name) + 16
	}
}
