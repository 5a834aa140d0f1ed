package figures

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A KeyEntry explains a style: that of a mark if it has a GlyphRadius, else that
// of a line.
type KeyEntry struct {
	Name  string
	Style Style
}

// drawKey draws a row of styles with their names, in the middle of c's height.
func drawKey(c draw.Canvas, key []KeyEntry) {
	text := plot.New().Legend.TextStyle
	text.Font.Size = 10
	text.YAlign = draw.YCenter
	x, y := c.Min.X, c.Center().Y
	for _, e := range key {
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
