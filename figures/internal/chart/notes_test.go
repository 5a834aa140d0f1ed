package chart

import (
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Notes are within the axes, and cover no line, no mark and no other note. Notes without a place are
// omitted.
func TestNotesCoverNothing(t *testing.T) {
	src := rand.New(rand.NewPCG(1, 0))
	written, omitted := 0, 0
	for range 40 {
		p := NewPanel("p", "", "x", "y")
		for range src.IntN(4) {
			var x, y []float64
			for range 2 + src.IntN(20) {
				x, y = append(x, float64(len(x))), append(y, src.NormFloat64())
			}
			p.Line("l", x, y, Style{})
		}
		p.Scatter("s", []float64{0, 1, 2}, []float64{src.NormFloat64(), 0, 1}, Style{})
		p.HLine("h", 0, Style{})
		data := draw.Canvas{Canvas: vgsvg.New(300, 200), Rectangle: vg.Rectangle{Max: vg.Point{X: 300, Y: 200}}}
		q := *p.Plot
		p.Axes().setAxes(&q)
		l := p.newNoteLayout(&q, data)
		if len(l.strokes) == 0 || len(l.boxes) < 3 {
			t.Fatalf("%d parts of lines and %d marks", len(l.strokes), len(l.boxes))
		}
		for k := range 6 {
			before := len(l.boxes)
			if !l.write(Note{Text: fmt.Sprintf("note %d", k), X: float64(k % 3), Y: src.NormFloat64()}) {
				omitted++
				continue
			}
			written++
			box := l.boxes[before]
			within := func(at vg.Point) bool {
				return box.Min.X < at.X && at.X < box.Max.X && box.Min.Y < at.Y && at.Y < box.Max.Y
			}
			if box.Min.X < 0 || box.Min.Y < 0 || box.Max.X > 300 || box.Max.Y > 200 {
				t.Errorf("a note at %v, outside of the axes", box)
			}
			for _, s := range l.strokes {
				for i := range 401 {
					if at := s[0].Add(s[1].Sub(s[0]).Scale(vg.Length(i) / 400)); within(at) {
						t.Fatalf("a note at %v, on a line at %v", box, at)
					}
				}
			}
			for _, other := range l.boxes[:before] {
				if min(box.Max.X, other.Max.X) > max(box.Min.X, other.Min.X) && min(box.Max.Y, other.Max.Y) > max(box.Min.Y, other.Min.Y) {
					t.Errorf("a note at %v, on %v", box, other)
				}
			}
		}
	}
	if written < 100 || omitted < 10 {
		t.Errorf("%d notes, %d omitted", written, omitted)
	}
}

// A stroke from a point to its note crosses no other note.
func TestStrokesToNotesCrossNoNote(t *testing.T) {
	src := rand.New(rand.NewPCG(2, 0))
	strokes := 0
	for range 40 {
		p := NewPanel("p", "", "x", "y")
		p.Range(0, 2, 0, 2)
		data := draw.Canvas{Canvas: vgsvg.New(300, 200), Rectangle: vg.Rectangle{Max: vg.Point{X: 300, Y: 200}}}
		l := p.newNoteLayout(p.Plot, data)
		for k := range 8 {
			l.write(Note{Text: fmt.Sprintf("note %d", k), X: 1 + src.Float64()/4, Y: 1 + src.Float64()/4})
		}
		strokes += len(l.strokes)
		for _, s := range l.strokes {
			for _, note := range l.notes {
				inner := vg.Rectangle{Min: note.Min.Add(vg.Point{X: .1, Y: .1}), Max: note.Max.Sub(vg.Point{X: .1, Y: .1})}
				if crosses(s[0], s[1], inner) {
					t.Errorf("the stroke %v crosses the note %v", s, note)
				}
			}
		}
	}
	if strokes < 20 {
		t.Errorf("%d strokes", strokes)
	}
}

// A stroke from a point to its note crosses no mark at another point.
func TestStrokesToNotesCrossNoMark(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	p.Range(0, 2, 0, 2)
	p.Scatter("own mark and another one to its left", []float64{1.9, 1.8}, []float64{1, 1}, Style{})
	p.Line("below, above and to the right", []float64{1.5, 1.95, 1.95, 1.5}, []float64{.9, .9, 1.1, 1.1}, Style{})
	data := draw.Canvas{Canvas: vgsvg.New(300, 200), Rectangle: vg.Rectangle{Max: vg.Point{X: 300, Y: 200}}}
	l := p.newNoteLayout(p.Plot, data)
	at, other := l.at(1.9, 1), l.at(1.8, 1)
	if l.isClear(at, other.Sub(vg.Point{X: 20})) || !l.isClear(at, at.Add(vg.Point{Y: 20})) {
		t.Error("the mark is crossed, or a stroke without a mark is not drawn")
	}
	if before := len(l.strokes); l.write(Note{Text: "a note", X: 1.9, Y: 1}) {
		for _, s := range l.strokes[before:] {
			if crosses(s[0], s[1], around(other, markRadius, markRadius)) {
				t.Errorf("the stroke %v crosses the mark at %v", s, other)
			}
		}
	}
}

// NoteAbove prefers the place above a point and to its right; Note prefers the place beside it.
func TestNoteAbove(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	p.Range(0, 2, 0, 2)
	data := draw.Canvas{Canvas: vgsvg.New(300, 200), Rectangle: vg.Rectangle{Max: vg.Point{X: 300, Y: 200}}}
	p.Note("beside", 1, 1)
	p.NoteAbove("above", 1, 1)
	for k, isAbove := range []bool{false, true} {
		l := p.newNoteLayout(p.Plot, data)
		if at := l.at(1, 1); !l.write(p.Notes[k]) || l.boxes[0].Min.Y > at.Y != isAbove || l.boxes[0].Min.X < at.X {
			t.Errorf("%q is at %v, beside %v", p.Notes[k].Text, l.boxes, at)
		}
	}
}

// Names of contours lie on their contour and cover nothing else. Notes avoid contours.
func TestNamesOfContours(t *testing.T) {
	const n = 20
	p := NewPanel("p", "", "x", "y")
	axis, z := OneTo(n), make([][]float64, n)
	for i := range z {
		for j := range n {
			z[i] = append(z[i], float64(1+i+j))
		}
	}
	p.Surface("z", axis, axis, z, []float64{10, 20, 22, 30})
	p.Line("hides the contour of 30", []float64{n, n / 2}, []float64{n / 2, n}, Style{})
	p.NameContours(2, []float64{30, 20, 10, 22}, []string{"thirty", "twenty", "ten", "other"})
	p.Note("a note", 8, 4)
	data := draw.Canvas{Canvas: vgsvg.New(300, 200), Rectangle: vg.Rectangle{Max: vg.Point{X: 300, Y: 200}}}
	q := *p.Plot
	p.Axes().setAxes(&q)
	l := p.newNoteLayout(&q, data)
	if !l.write(p.Notes[0]) || l.crossesContour(l.boxes[0], math.NaN()) {
		t.Errorf("the note is at %v, on a contour", l.boxes)
	}
	l.nameContours(p.named, p.levelNames)
	if len(l.boxes) != 3 { // the note, “twenty” and “ten”
		t.Fatalf("the texts are at %v", l.boxes)
	}
	for k, level := range []float64{20, 10} {
		box := l.boxes[1+k]
		own := slices.ContainsFunc(l.contours, func(s contourStroke) bool { return s.level == level && crosses(s.from, s.to, box) })
		if !own || l.crossesContour(box, level) {
			t.Errorf("the name of the contour of %v is at %v", level, box)
		}
	}
	if texts := p.Written(); len(texts) != 5 {
		t.Errorf("the panel may write %q", texts)
	}
}

// A head points in its direction: its tip is farther from its point than its other corners.
func TestHeads(t *testing.T) {
	for glyph, d := range map[draw.GlyphDrawer]vg.Point{LeftGlyph{}: {X: -1}, RightGlyph{}: {X: 1}, DownGlyph{}: {Y: -1}, UpGlyph{}: {Y: 1}} {
		r := &recorder.Canvas{}
		c := draw.NewCanvas(r, 100, 100)
		glyph.DrawGlyph(&c, draw.GlyphStyle{Color: Black, Radius: 10}, vg.Point{X: 50, Y: 50})
		var tip vg.Point
		for _, a := range r.Actions {
			if f, ok := a.(*recorder.Fill); ok {
				tip = f.Path[0].Pos
			}
		}
		if tip != (vg.Point{X: 50 + 12*d.X, Y: 50 + 12*d.Y}) {
			t.Errorf("%T: the tip is at %v", glyph, tip)
		}
	}
}

// A line that ends inside of the axes has its name there, with a sample of the line. If there is no
// place, the name is to the right of the axes.
func TestNamesInside(t *testing.T) {
	names := func(inside bool, x float64) int {
		p := NewPanel("p", "", "x", "y")
		p.Direct, p.NamesInside = true, inside
		p.Line("short", []float64{0, x}, []float64{0, 1}, Style{})
		p.Line("long", []float64{0, 10}, []float64{0, 0}, Style{})
		c := vgsvg.New(300, 200)
		f := &Figure{Width: 300, Height: 200, Legend: LegendNone, Panels: [][]*Panel{{p}}}
		var right vg.Length
		f.LayOut(draw.New(c), func(p *Panel, cell draw.Canvas, axes Box) {
			q, cell, _ := p.LayOut(cell, axes, NewLegend(nil))
			data := q.DataCanvas(cell)
			right = data.Max.X
			p.drawDirect(q, data)
		})
		var b strings.Builder
		if _, err := c.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		beyond := 0
		for _, part := range strings.Split(b.String(), "<text ")[1:] {
			var at float64
			if _, err := fmt.Sscanf(part, `x="%g"`, &at); err != nil {
				t.Fatal(err)
			}
			if vg.Length(at) > right {
				beyond++
			}
		}
		return beyond
	}
	for _, c := range []struct {
		inside bool
		x      float64
		want   int
	}{{false, 4, 2}, {true, 4, 1}, {true, 10, 2}} {
		if got := names(c.inside, c.x); got != c.want {
			t.Errorf("inside %v, a line up to %v: %d names beside the axes, want %d", c.inside, c.x, got, c.want)
		}
	}
}

// Panels with the same SharedAxes have the same axes, and other panels keep theirs.
func TestSharedAxes(t *testing.T) {
	f := &Figure{Panels: make([][]*Panel, 1)}
	for k, shared := range []string{"a", "a", "", ""} {
		p := NewPanel(fmt.Sprint(k), "", "x", "y")
		p.SharedAxes = shared
		p.Line("l", []float64{0, 1}, []float64{0, float64(k + 1)}, Style{})
		f.Panels[0] = append(f.Panels[0], p)
	}
	axes := Mapped(f.Panels[0], func(p *Panel) Box { return f.axes(0, p) })
	if axes[0] != axes[1] || axes[0].Ymax < 2 || axes[0].Ymax > 3 || axes[2] != f.Panels[0][2].Axes() || axes[3] == axes[2] {
		t.Errorf("the axes are %v", axes)
	}
}

// A legend in the gap begins beside the last panel. Without a gap, it is below the panels.
func TestLegendInGap(t *testing.T) {
	for panels, inGap := range map[int]bool{3: true, 4: false} {
		var all []*Panel
		for k := range panels {
			p := NewPanel(fmt.Sprint(k), "", "x", "y")
			p.Line("line", []float64{0, 1}, []float64{0, 1}, Style{})
			all = append(all, p)
		}
		f := &Figure{Width: 400, Height: 300, Legend: LegendInGap, Panels: [][]*Panel{all[:2], all[2:]}}
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		_, part, _ := strings.Cut(string(svg), ">line<")
		before, _, _ := strings.Cut(string(svg), ">line<")
		at := before[strings.LastIndex(before, "<text "):]
		var x, y float64
		if _, err := fmt.Sscanf(at, `<text x="%g" y="%g"`, &x, &y); err != nil || strings.Contains(part, ">line<") {
			t.Fatalf("%v in %s", err, at)
		}
		if y = -y; (x > 200 && y > 50 && y < 150) != inGap || (y < 20) == inGap {
			t.Errorf("%d panels: the legend is at (%v, %v)", panels, x, y)
		}
	}
}

// NoteAtEnd prefers a place near the right end of its line: to the left of it, and above or below.
func TestNoteAtEnd(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	p.Range(0, 2, 0, 2)
	data := draw.Canvas{Canvas: vgsvg.New(300, 200), Rectangle: vg.Rectangle{Max: vg.Point{X: 300, Y: 200}}}
	for k, above := range []bool{false, true} {
		p.NoteAtEnd("note", 2, 1, above)
		l := p.newNoteLayout(p.Plot, data)
		if at := l.at(2, 1); !l.write(p.Notes[k]) || l.boxes[0].Min.Y > at.Y != above || l.boxes[0].Max.X > at.X || max(l.boxes[0].Min.Y-at.Y, at.Y-l.boxes[0].Max.Y) > noteDistances[0] {
			t.Errorf("above %v: the note is at %v, its point at %v", above, l.boxes, at)
		}
	}
}

// HBand is a background over the whole width: the axes and the legend include it.
func TestHBand(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	p.HBand("small", -1, 2, Pale)
	p.Line("line", []float64{0, 1}, []float64{0, 1}, Style{})
	axes := p.Axes()
	if all := p.LegendEntries(axes); axes.Ymin > -1 || axes.Ymax < 2 || len(all) != 2 || all[0].Name != "small" {
		t.Errorf("the axes are %v, the legend %v", axes, all)
	}
	p.Range(0, 1, -4, 4)
	c := vgimg.New(100, 100)
	strip{-1, 2, Pale}.Plot(draw.New(c), p.Plot)
	size := c.Image().Bounds().Size()
	for _, x := range []int{2, size.X - 3} {
		for y, filled := range map[int]bool{2: false, size.Y / 2: true, size.Y - 3: false} {
			if at := color.NRGBAModel.Convert(c.Image().At(x, y)); (at == color.Color(Pale)) != filled {
				t.Errorf("the colour at %d, %d is %v", x, y, at)
			}
		}
	}
}
