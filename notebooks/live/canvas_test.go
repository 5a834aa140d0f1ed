package live

import (
	"image"
	"image/color"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func circle(x, y, r vg.Length) vg.Path {
	var p vg.Path
	p.Move(vg.Point{X: x + r, Y: y})
	p.Arc(vg.Point{X: x, Y: y}, r, 0, 2*math.Pi)
	p.Close()
	return p
}

func TestCanvas(t *testing.T) {
	red := color.NRGBA{255, 0, 0, 255}
	for name, of := range map[string]struct {
		draw func(c *canvas)
		want []string
	}{
		"discs of one kind are one path": {
			func(c *canvas) {
				c.SetColor(red)
				c.Fill(circle(10, 20, 3))
				c.Fill(circle(11, 30, 3))
				c.Fill(circle(12, 40, 2))
			},
			[]string{`stroke="#ff0000" stroke-width="6" d="M10 80h0M11 70h0"/>`, `stroke-width="4" d="M12 60h0"/>`},
		},
		"lines": {
			func(c *canvas) {
				c.SetLineWidth(1.5)
				c.SetLineDash([]vg.Length{4, 2}, 0)
				c.SetColor(color.NRGBA{255, 0, 0, 51})
				c.Stroke(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: 1, Y: 2}}, {Type: vg.LineComp, Pos: vg.Point{X: 3.14159, Y: 4}}})
			},
			[]string{`stroke="#ff0000" stroke-opacity="0.2" stroke-width="1.5" stroke-dasharray="4 2" d="M1 98L3.14 96"/>`},
		},
		"black is the page's colour": {
			func(c *canvas) { c.Fill(vg.Rectangle{Max: vg.Point{X: 5, Y: 5}}.Path()) },
			[]string{`<path fill="currentColor" d="M0 100`},
		},
		"transforms": {
			func(c *canvas) {
				c.Push()
				c.Translate(vg.Point{X: 50, Y: 50})
				c.Rotate(math.Pi / 2)
				c.Scale(2, 1)
				c.Fill(circle(10, 0, 1)) // 20 upwards of the middle
				c.Pop()
				c.Fill(circle(10, 0, 1))
			},
			[]string{`d="M50 30h0M10 100h0"`},
		},
		"text stands where and as it should": {
			func(c *canvas) {
				text := plot.New().Legend.TextStyle
				text.Font.Size = 8
				dc := draw.New(c)
				dc.FillText(text, vg.Point{X: 5, Y: 7}, "a < b")
				text.Rotation = math.Pi / 2
				dc.FillText(text, vg.Point{X: 20, Y: 30}, "up")
			},
			[]string{`font-size="8" lengthAdjust="spacingAndGlyphs" textLength="`, `>a &lt; b</text>`, "rotate(-90)"},
		},
		"images": {
			func(c *canvas) {
				c.DrawImage(vg.Rectangle{Min: vg.Point{X: 10, Y: 20}, Max: vg.Point{X: 30, Y: 60}}, image.NewGray(image.Rect(0, 0, 2, 2)))
			},
			[]string{`<image x="10.00" y="40.00" width="20.00" height="40.00"`, "data:image/png;base64,"},
		},
	} {
		c := newCanvas(100, 100)
		of.draw(c)
		svg := c.svg()
		checkSVG(t, svg)
		for _, want := range of.want {
			if !strings.Contains(string(svg), want) {
				t.Errorf("%s: no %s in\n%s", name, want, svg)
			}
		}
	}
}
