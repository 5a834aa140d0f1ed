package chart

import (
	"bytes"
	"image"
	"image/color"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// haloGlyph is a dot with a letter, and an outline in another colour.
type haloGlyph struct{}

func (haloGlyph) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, pt vg.Point) {
	draw.CircleGlyph{}.DrawGlyph(c, s, pt)
	c.SetLineStyle(draw.LineStyle{Color: color.Black, Width: 1, Dashes: []vg.Length{1, 2}})
	c.Push()
	c.Translate(vg.Point{X: 1})
	c.StrokeLine2(draw.LineStyle{Color: Blue, Width: .5}, pt.X, pt.Y, pt.X+3, pt.Y+3)
	c.Pop()
	draw.RingGlyph{}.DrawGlyph(c, s, pt)
}

// Marks of one style are drawn as one path, with the pixels of marks that are drawn one by one.
func TestMarksAreDrawnTogether(t *testing.T) {
	points := []vg.Point{{X: 10, Y: 10}, {X: 40, Y: 15}, {X: 20, Y: 40}, {X: 44, Y: 44}}
	for name, shape := range map[string]draw.GlyphDrawer{
		"ring": draw.RingGlyph{}, "circle": draw.CircleGlyph{}, "plus": draw.PlusGlyph{}, "cross": draw.CrossGlyph{}, "box": draw.BoxGlyph{},
		"square": draw.SquareGlyph{}, "triangle": draw.TriangleGlyph{}, "pyramid": draw.PyramidGlyph{}, "halo": haloGlyph{},
		"left": LeftGlyph{}, "right": RightGlyph{}, "down": DownGlyph{}, "up": UpGlyph{}, "diamond": DiamondGlyph{},
		"triangle outline": TriangleOutline{}, "square outline": SquareOutline{}, "heavy cross": HeavyCross{}, "heavy plus": HeavyPlus{}, "open": OpenGlyph{},
	} {
		var pictures [2][]uint8
		var paths [2]int
		for i := range 2 {
			on := func(c vg.Canvas) draw.Canvas {
				canvas := draw.Canvas{Canvas: c, Rectangle: vg.Rectangle{Max: vg.Point{X: 60, Y: 60}}}
				b := &batch{Canvas: c, width: -1}
				if i > 0 {
					canvas.Canvas = b
				}
				for _, pt := range points {
					canvas.DrawGlyph(draw.GlyphStyle{Color: Orange, Radius: 4, Shape: shape}, pt)
				}
				b.flush()
				return canvas
			}
			img, svg := vgimg.New(60, 60), vgsvg.New(60, 60)
			on(img)
			on(svg)
			var text bytes.Buffer
			if _, err := svg.WriteTo(&text); err != nil {
				t.Fatal(err)
			}
			pictures[i], paths[i] = img.Image().(*image.RGBA).Pix, strings.Count(text.String(), "<path")
		}
		others := 0
		for k := 0; k < len(pictures[0]); k += 4 {
			if !bytes.Equal(pictures[0][k:k+4], pictures[1][k:k+4]) {
				others++
			}
		}
		// At a crossing of two lines, one path smooths the edges only once.
		if crossings := map[string]int{"plus": 4, "cross": 8}[name]; others > crossings*len(points) {
			t.Errorf("%s: %d pixels differ", name, others)
		}
		want := 1
		if twoColours := []string{"halo", "triangle outline", "square outline", "heavy cross", "heavy plus", "open"}; slices.Contains(twoColours, name) {
			want = paths[0]
		}
		if paths[1] != want {
			t.Errorf("%s: %d paths, want %d, and %d one by one", name, paths[1], want, paths[0])
		}
	}
}

// Steps keep the y of a point until the x of the next point. A line is straight between them.
func TestStepsJumpAtPoints(t *testing.T) {
	corners := func(plot func(p *Panel)) int {
		p := NewPanel("p", "", "x", "y")
		plot(p)
		c := vgsvg.New(100, 100)
		(&Figure{Panels: [][]*Panel{{p}}, Legend: LegendNone}).Draw(draw.New(c))
		var text bytes.Buffer
		if _, err := c.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		for path := range strings.SplitSeq(text.String(), "<path") {
			if strings.Contains(path, "stroke-width:3") {
				return strings.Count(path, "L")
			}
		}
		return 0
	}
	x, y := []float64{0, 1, 2}, []float64{3, 5, 4}
	if n := corners(func(p *Panel) { p.Steps("s", x, y, Style{Width: 3}) }); n != 4 {
		t.Errorf("two steps have %d strokes", n)
	}
	if n := corners(func(p *Panel) { p.Line("l", x, y, Style{Width: 3}) }); n != 2 {
		t.Errorf("a line of three points has %d strokes", n)
	}
}

// A surface has the values of its grid at the points of the grid, is linear between them, and
// constant beyond them.
func TestSurfaceAt(t *testing.T) {
	g := &Surface{[]float64{0, 1, 3}, []float64{0, 2}, [][]float64{{1, 2}, {3, 4}, {7, 9}}}
	for _, c := range [][3]float64{{0, 0, 1}, {1, 2, 4}, {3, 2, 9}, {2, 0, 5}, {.5, 1, 2.5}, {-5, -5, 1}, {9, 9, 9}} {
		if v := g.At(c[0], c[1]); v != c[2] {
			t.Errorf("at (%v, %v): %v, want %v", c[0], c[1], v, c[2])
		}
	}
	if v := (&Surface{[]float64{1}, []float64{1}, [][]float64{{5}}}).At(3, 0); v != 5 {
		t.Errorf("a single value is %v", v)
	}
}

// The sample of a measured line has its mark, in a key and in a legend.
func TestMeasuredHasMarkInLegend(t *testing.T) {
	shapes := func(place LegendPlace) int {
		p := NewPanel("p", "", "x", "y")
		v := []float64{0, 1}
		p.Measured("line", v, v, v, v, Style{Color: Blue, Glyph: DiamondGlyph{}})
		svg, err := (&Figure{Width: 300, Height: 300, Legend: place, Panels: [][]*Panel{{p}}}).SVG()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(svg), "Z") // ends of closed paths
	}
	for _, place := range []LegendPlace{LegendBelow, LegendInside} {
		if got, want := shapes(place), shapes(LegendNone)+1; got != want {
			t.Errorf("place %v: %d filled shapes, want %d", place, got, want)
		}
	}
}
