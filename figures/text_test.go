package figures

import (
	"math"
	"strings"
	"testing"

	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// textCanvas records the boxes of the texts that are drawn on it.
type textCanvas struct {
	*vgsvg.Canvas
	at    [6]float64 // transformation x' = at[0]x + at[2]y + at[4], y' = at[1]x + at[3]y + at[5]
	stack [][6]float64
	boxes []textBox
}

// textBox is a text with its font size and the rectangle of its letters.
type textBox struct {
	text string
	size vg.Length
	vg.Rectangle
}

func (c *textCanvas) Push() { c.stack = append(c.stack, c.at); c.Canvas.Push() }

func (c *textCanvas) Pop() {
	c.at, c.stack = c.stack[len(c.stack)-1], c.stack[:len(c.stack)-1]
	c.Canvas.Pop()
}

func (c *textCanvas) Translate(pt vg.Point) {
	c.at[4], c.at[5] = c.place(float64(pt.X), float64(pt.Y))
	c.Canvas.Translate(pt)
}

func (c *textCanvas) Rotate(angle float64) {
	sin, cos := math.Sincos(angle)
	a := c.at
	c.at = [6]float64{a[0]*cos + a[2]*sin, a[1]*cos + a[3]*sin, a[2]*cos - a[0]*sin, a[3]*cos - a[1]*sin, a[4], a[5]}
	c.Canvas.Rotate(angle)
}

func (c *textCanvas) place(x, y float64) (float64, float64) {
	return c.at[0]*x + c.at[2]*y + c.at[4], c.at[1]*x + c.at[3]*y + c.at[5]
}

func (c *textCanvas) FillString(f font.Face, pt vg.Point, text string) {
	const above, below = .72, .2 // extent of letters above and below the baseline, as a share of the font size
	size := float64(f.Font.Size)
	low, high := vg.Point{X: vg.Length(math.Inf(1)), Y: vg.Length(math.Inf(1))}, vg.Point{X: vg.Length(math.Inf(-1)), Y: vg.Length(math.Inf(-1))}
	for _, x := range []float64{float64(pt.X), float64(pt.X + f.Width(text))} {
		for _, y := range []float64{float64(pt.Y) - below*size, float64(pt.Y) + above*size} {
			u, v := c.place(x, y)
			low.X, low.Y = min(low.X, vg.Length(u)), min(low.Y, vg.Length(v))
			high.X, high.Y = max(high.X, vg.Length(u)), max(high.Y, vg.Length(v))
		}
	}
	if strings.TrimSpace(text) != "" {
		c.boxes = append(c.boxes, textBox{text, f.Font.Size, vg.Rectangle{Min: low, Max: high}})
	}
	c.Canvas.FillString(f, pt, text)
}

// overlaps reports whether two rectangles overlap by more than one point in both directions.
func overlaps(a, b vg.Rectangle) bool {
	const tolerance = 1
	return min(a.Max.X, b.Max.X)-max(a.Min.X, b.Min.X) > tolerance && min(a.Max.Y, b.Max.Y)-max(a.Min.Y, b.Min.Y) > tolerance
}

// leastSize is the smallest font size, in points, that is easy to read on paper and on a screen.
const leastSize = 8

// checkTexts checks that no text of a figure is too small, cut off, or over other texts or data.
// Legends inside a panel may cover data.
func checkTexts(t *testing.T, f *Figure) {
	t.Helper()
	w, h := f.Size()
	c := &textCanvas{Canvas: vgsvg.New(w, h), at: [6]float64{0: 1, 3: 1}}
	canvas := draw.New(c)
	if _, err := f.Render(canvas, c); err != nil {
		t.Error(err)
		return
	}
	boxes := c.boxes // without the boxes that the layout draws again
	var frames []vg.Rectangle
	inside := make(map[string]bool) // texts within the axes
	if f.Legend != LegendInside {
		f.LayOut(draw.Crop(canvas, 4, -8, 4+h-f.Height, -4), func(p *Panel, cell draw.Canvas, axes chart.Box) {
			q, cell, _ := p.LayOut(cell, axes, chart.NewLegend(nil))
			texts := p.Written()
			if p.NamesInside {
				for _, l := range p.DirectLabels() {
					texts = append(texts, l.Name)
				}
			}
			for _, text := range texts {
				for line := range strings.Lines(text) {
					for _, r := range chart.RunsOf(strings.TrimSuffix(line, "\n")) {
						inside[r.Text] = true
					}
				}
			}
			frames = append(frames, q.DataCanvas(cell).Rectangle)
		})
	}
	const edge = .5 // in points; few letters extend to the edge of their boxes
	for i, b := range boxes {
		if b.size < leastSize {
			t.Errorf("%s: the text %q has %v points", f.Name, b.text, b.size)
		}
		if b.Min.X < -edge || b.Min.Y < -edge || b.Max.X > w+edge || b.Max.Y > h+edge {
			t.Errorf("%s: the text %q is cut off: %.1f of %.1f by %.1f", f.Name, b.text, b.Rectangle, w, h)
		}
		for _, other := range boxes[:i] {
			if overlaps(b.Rectangle, other.Rectangle) {
				t.Errorf("%s: the text %q lies on %q: %.1f, %.1f", f.Name, b.text, other.text, b.Rectangle, other.Rectangle)
			}
		}
		for _, frame := range frames {
			if overlaps(b.Rectangle, frame) && !inside[b.text] {
				t.Errorf("%s: the text %q lies on data: %.1f, %.1f", f.Name, b.text, b.Rectangle, frame)
			}
		}
	}
}

// The lines of a text are at the same heights with and without superscripts, for any alignment.
func TestLinesWithSuperscripts(t *testing.T) {
	for _, rotation := range []float64{0, math.Pi / 2} {
		for _, align := range []text.YAlignment{draw.YBottom, draw.YCenter, draw.YTop} {
			var all [2][]textBox
			for k, txt := range []string{"one\nten", "one²\nten"} {
				c := &textCanvas{Canvas: vgsvg.New(200, 200), at: [6]float64{0: 1, 3: 1}}
				s := chart.KeyText()
				s.YAlign, s.Rotation = align, rotation
				canvas := draw.New(c)
				canvas.FillText(s, vg.Point{X: 100, Y: 100}, txt)
				for _, b := range c.boxes {
					if b.text == "one" || b.text == "ten" {
						all[k] = append(all[k], b)
					}
				}
			}
			for i, b := range all[0] {
				if len(all[1]) != 2 || math.Abs(float64(b.Min.X-all[1][i].Min.X)) > .01 || math.Abs(float64(b.Min.Y-all[1][i].Min.Y)) > .01 {
					t.Errorf("lines at %v, with a superscript at %v", all[0], all[1])
				}
			}
		}
	}
}

// A text at the right of a row has the height of the label at the left.
func TestRowEndsAreLevelWithLabels(t *testing.T) {
	p := NewPanel("rows", "", "x", "")
	p.Line("line", []float64{0, 1}, []float64{-1, 0}, Style{})
	p.Rows(200, []string{"left", "below"})
	p.RowEnds(200, []LegendEntry{{Name: "right"}, {Name: "under"}})
	f := &Figure{Name: "rows", Width: 300, Height: 200, Legend: LegendNone, Panels: [][]*Panel{{p}}}
	w, h := f.Size()
	c := &textCanvas{Canvas: vgsvg.New(w, h), at: [6]float64{0: 1, 3: 1}}
	if _, err := f.Render(draw.New(c), c); err != nil {
		t.Fatal(err)
	}
	at := make(map[string]float64)
	for _, b := range c.boxes {
		at[b.text] = float64(b.Min.Y)
	}
	for left, right := range map[string]string{"left": "right", "below": "under"} {
		if y, ok := at[left]; !ok || math.Abs(y-at[right]) > .1 {
			t.Errorf("%q is at %v, and %q at %v", left, y, right, at[right])
		}
	}
}

// The grid has a line at each row except headings.
func TestGridOmitsHeadings(t *testing.T) {
	lines := func(heads ...int) int {
		p := NewPanel("rows", "", "x", "").Grid()
		p.Line("line", []float64{0, 1}, []float64{-1, 0}, Style{})
		p.Rows(200, []string{"left", "below"}, heads...)
		svg, err := (&Figure{Name: "rows", Width: 300, Height: 200, Legend: LegendNone, Panels: [][]*Panel{{p}}}).SVG()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(svg), "#E1E1E1")
	}
	if all, fewer := lines(), lines(0); fewer != all-1 {
		t.Errorf("%d lines with a heading, %d without", fewer, all)
	}
}
