package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The frames of all panels have the same size and are aligned in a row, for any labels and titles.
func TestFramesAreEqual(t *testing.T) {
	src := rand.New(rand.NewPCG(1, 0))
	for range 50 {
		rows, columns := 1+src.IntN(3), 1+src.IntN(4)
		f := &Figure{Width: 9 * vg.Inch, Height: 6 * vg.Inch, Legend: LegendBelow}
		equal := src.IntN(2) == 0
		for i := range rows {
			f.Panels = append(f.Panels, nil)
			for range columns - i%2*src.IntN(columns) {
				p := NewPanel(fmt.Sprint(i, len(f.Panels[i])), strings.Repeat("t", src.IntN(3)), strings.Repeat("x", src.IntN(2)), strings.Repeat("y", src.IntN(2)))
				p.Equal, p.Direct = equal, src.IntN(2) == 0
				from, by := 1000*src.NormFloat64(), math.Pow(10, 3*src.NormFloat64())
				p.Line(strings.Repeat("l", 1+src.IntN(9)), []float64{2, 1, 0}, []float64{from, from + by, from}, Style{})
				f.Panels[i] = append(f.Panels[i], p)
			}
		}
		frames := make(map[string]vg.Rectangle)
		f.LayOut(draw.New(vgsvg.New(f.Width, f.Height)), func(p *Panel, cell draw.Canvas, axes chart.Box) {
			q, cell, _ := p.LayOut(cell, axes, chart.NewLegend(nil))
			frames[p.Name] = q.DataCanvas(cell).Rectangle
		})
		first := frames[f.Panels[0][0].Name]
		for i, row := range f.Panels {
			for j, p := range row {
				frame := frames[p.Name]
				size, of := frame.Size(), first.Size()
				if math.Abs(float64(size.X-of.X)) > .5 || math.Abs(float64(size.Y-of.Y)) > .5 || math.Abs(float64(frame.Max.Y-frames[row[0].Name].Max.Y)) > .5 {
					t.Errorf("%d×%d panels: the frame in row %d, column %d is %v, the first is %v", rows, columns, i, j, frame, first)
				}
			}
		}
	}
}

// The name of a line is beside the right end of the line, for any order of the points.
func TestNamesAreAtTheRightEnds(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	p.Direct = true
	p.Line("backwards", []float64{3, 2, 1}, []float64{5, 6, 7}, Style{})
	p.Line("forwards", []float64{1, 2, math.NaN(), 3}, []float64{5, 6, 7, 8}, Style{})
	for _, l := range p.DirectLabels() {
		if l.End[0] != 3 {
			t.Errorf("%s: the name is beside x = %v", l.Name, l.End[0])
		}
	}
	if n := len(p.DirectLabels()); n != 2 {
		t.Errorf("%d names", n)
	}
}

// No stroke leads to the name of a line that leaves its panel.
func TestNoStrokeToALineThatLeaves(t *testing.T) {
	strokes := func(leaves bool) int {
		p := NewPanel("p", "", "x", "y")
		p.Direct = true
		p.Line("line", []float64{0, 1}, []float64{0, 1}, Style{Leaves: leaves})
		svg, err := (&Figure{Width: 3 * vg.Inch, Height: 2 * vg.Inch, Panels: [][]*Panel{{p}}}).SVG()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(svg), "<path")
	}
	if with, without := strokes(false), strokes(true); with != without+1 {
		t.Errorf("%d paths with a stroke, %d without", with, without)
	}
}

// KeyRows returns as few rows as fit into the width, and keeps the order of the entries.
func TestRowsOfKeys(t *testing.T) {
	src := rand.New(rand.NewPCG(2, 0))
	for range 200 {
		var entries []LegendEntry
		for range src.IntN(12) {
			entries = append(entries, LegendEntry{Name: strings.Repeat("m", src.IntN(25)), Style: Style{GlyphRadius: vg.Length(3 * src.IntN(2))}})
		}
		const width = 300
		rows, widths := chart.KeyRows(entries, width)
		greedy := chart.BrokenAt(entries, width)
		if len(rows) != len(greedy) || len(widths) != len(rows) {
			t.Fatalf("%d rows, %d widths, %d rows suffice", len(rows), len(widths), len(greedy))
		}
		if !slices.EqualFunc(slices.Concat(rows...), entries, func(a, b LegendEntry) bool { return a.Name == b.Name }) {
			t.Fatal("entries are lost or in another order")
		}
		if len(rows) > 0 && slices.Max(widths) > max(slices.Max(chart.Mapped(greedy, chart.RowWidth)), width) {
			t.Errorf("rows of widths %v", widths)
		}
	}
	four := slices.Repeat([]LegendEntry{{Name: "twelve chars"}}, 4)
	if rows, _ := chart.KeyRows(four, 3.5*four[0].KeyWidth()); len(rows) != 2 || len(rows[0]) != 2 {
		t.Errorf("four equal entries stand in rows of %d and %d", len(rows[0]), len(rows[len(rows)-1]))
	}
}

// Subscripts and superscripts are small letters of the font, below or above the line.
func TestScripts(t *testing.T) {
	got := chart.RunsOf("E[Rₑₘₚ] of λ₁₀ at 5·10⁻⁹")
	want := []chart.Run{{Text: "E[R", Rise: 0}, {Text: "emp", Rise: -chart.SubscriptDrop}, {Text: "] of λ", Rise: 0}, {Text: "10", Rise: -chart.SubscriptDrop}, {Text: " at 5·10", Rise: 0}, {Text: "−9", Rise: chart.SuperscriptRise}}
	if !slices.Equal(got, want) {
		t.Errorf("the runs are %v", got)
	}
	s := chart.KeyText()
	if plain, small := s.Width("R"), s.Width("Rₑₘₚ"); !(plain < small && small < s.Width("Remp")) {
		t.Errorf("Rₑₘₚ takes %v, R %v, Remp %v", small, plain, s.Width("Remp"))
	}
}

// A common legend lists each name once.
func TestACommonLegendListsEachNameOnce(t *testing.T) {
	for _, place := range []LegendPlace{LegendRight, LegendBelow} {
		f := &Figure{Width: 8 * vg.Inch, Height: 2 * vg.Inch, Legend: place, Panels: make([][]*Panel, 1)}
		for _, name := range []string{"first", "second"} {
			p := NewPanel(name, "", "x", "y")
			p.Line(name+" line", []float64{0, 1}, []float64{0, 1}, Style{})
			p.HLine("level", .5, Style{})
			f.Panels[0] = append(f.Panels[0], p)
		}
		svg, err := f.SVG()
		for _, name := range []string{"first line", "second line", "level"} {
			if err != nil || strings.Count(string(svg), name) != 1 {
				t.Errorf("%q is wanted once (%v)", name, err)
			}
		}
	}
}
