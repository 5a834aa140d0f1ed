package figures

import (
	"bytes"
	"image/png"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

// twoLines returns a figure of two panels, each with a line through the given values.
func twoLines(legend LegendPlace, left, right []float64) *Figure {
	a, b := NewPanel("left", "", "step", "loss"), NewPanel("right", "", "step", "accuracy")
	a.Line("curve", chart.OneTo(len(left)), left, Style{})
	a.HLine("level", left[0], Style{Color: Grey})
	b.Band("curve", chart.OneTo(len(right)), right, right, Style{Color: Blue})
	b.Line("curve", chart.OneTo(len(right)), right, Style{Color: Blue})
	b.Scatter("points", chart.OneTo(len(right)), right, Style{})
	return &Figure{Name: "two_lines", Caption: "c", Width: 300, Height: 150, Panels: [][]*Panel{{a, b}}, Legend: legend}
}

// drawnPNG returns the pixels of the figure as PNG.
func drawnPNG(t *testing.T, f *Figure) []byte {
	t.Helper()
	data, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A ghost appears only behind a line that differs from the given CSV, and the legend explains
// ghosts once.
func TestGhostsAreTheLinesThatDiffer(t *testing.T) {
	committed := twoLines(LegendRight, []float64{3, 2, 1}, []float64{1, 2, 4}).CSV()
	for _, legend := range []LegendPlace{LegendInside, LegendRight, LegendBelow, LegendNone} {
		f := twoLines(legend, []float64{3, 2, 1}, []float64{1, 2, 3})
		before, plain := f.CSV(), drawnPNG(t, f)
		f.Changed = "K = 2 (default 3)"
		f.Ghosts(committed)
		if left, right := f.Panels[0][0], f.Panels[0][1]; left.Ghosts != nil || len(right.Ghosts) != 1 {
			t.Errorf("%d and %d ghosts", len(left.Ghosts), len(right.Ghosts))
		}
		if f.CSV() != before {
			t.Error("ghosts are in the CSV")
		}
		explained := 0
		for _, e := range f.LegendEntries() {
			if e.Name == chart.GhostEntry.Name {
				explained++
			}
		}
		if explained != 1 && legend != LegendNone {
			t.Errorf("the legend explains ghosts %d times", explained)
		}
		if strings.Contains(f.Changed, chart.GhostEntry.Name) != (legend == LegendNone) {
			t.Errorf("legend %d: the changes are %q", legend, f.Changed)
		}
		if bytes.Equal(drawnPNG(t, f), plain) {
			t.Error("no ghost was drawn")
		}
	}
	f := twoLines(LegendRight, []float64{3, 2, 1}, []float64{1, 2, 4})
	plain := drawnPNG(t, f)
	if f.Ghosts(committed); !bytes.Equal(drawnPNG(t, f), plain) {
		t.Error("the same lines have ghosts")
	}
}

// A figure has no ghosts if the given CSV is damaged or has other panels or series.
func TestGhostsOfHostileCSV(t *testing.T) {
	committed := twoLines(LegendRight, []float64{3, 2, 1}, []float64{1, 2, 4}).CSV()
	head := strings.Join(chart.CSVHeader, ",") + "\n"
	for name, text := range map[string]string{
		"empty": "", "header alone": head, "other header": strings.Replace(committed, "panel", "Panel", 1),
		"cut off": committed[:len(committed)-9] + "\"", "binary": "\x00\xff\xfe" + committed,
		"short row": head + "left,curve,1\n", "words": head + "left,curve,1,many,,,\n", "NaN": head + "left,curve,1,2,,,\nleft,curve,2,NaN,,,\n",
		"infinite": head + "left,curve,1,2,,,\nleft,curve,Inf,2,,,\n", "too large": head + "left,curve,1,1e301,,,\n",
		"other panels": strings.NewReplacer("left", "top", "right", "bottom").Replace(committed),
		"other series": strings.ReplaceAll(committed, "curve", "line"), "a level and a scatter": head + "left,level,1,9,,,\nright,points,1,9,,,\n",
		"no coordinates": head + "left,curve,,,,,\nleft,curve,1,,,0,1\n",
	} {
		f := twoLines(LegendRight, []float64{3, 2, 1}, []float64{1, 2, 3})
		plain := drawnPNG(t, f)
		if f.Ghosts(text); !bytes.Equal(drawnPNG(t, f), plain) {
			t.Errorf("%s: changed the figure", name)
		}
	}
}

// A CSV cannot distinguish panels or series with the same name.
func TestGhostsOfDoubleNames(t *testing.T) {
	f := twoLines(LegendRight, []float64{3, 2}, []float64{1, 2})
	f.Panels[0][0].Line("curve", []float64{1, 2}, []float64{0, 5}, Style{})
	f.Panels = append(f.Panels, []*Panel{NewPanel("right", "", "", "")})
	f.Ghosts(twoLines(LegendRight, []float64{1, 1}, []float64{7, 7}).CSV())
	for _, p := range f.Panels[0] {
		if p.Ghosts != nil {
			t.Errorf("panel %s has ghosts", p.Name)
		}
	}
}

// Axes with ghosts contain the data and are at most twice as long as axes without ghosts.
func TestGhostsKeepTheDataInView(t *testing.T) {
	src := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		values := func() []float64 {
			v := make([]float64, 1+src.IntN(5))
			for i := range v {
				v[i] = math.Pow(10, src.Float64()*20-10) * (src.Float64() - .5)
				if src.IntN(12) == 0 {
					v[i] = []float64{chart.Largest, -chart.Largest, 0, math.SmallestNonzeroFloat64}[src.IntN(4)]
				}
			}
			return v
		}
		f := twoLines(LegendPlace(src.IntN(4)), values(), values())
		data := []chart.Box{chart.AxesOf(f.Panels[0][0].Plot), chart.AxesOf(f.Panels[0][1].Plot)}
		f.Ghosts(twoLines(LegendRight, values(), values()).CSV())
		for i, p := range f.Panels[0] {
			b, d := p.WithGhosts(data[i]), data[i]
			if b.Union(d) != b {
				t.Errorf("the axes %v do not contain the data, %v", b, d)
			}
			const rounding = 1 + 1e-9
			if b.Xmax-b.Xmin > 2*(d.Xmax-d.Xmin)*rounding || b.Ymax-b.Ymin > 2*(d.Ymax-d.Ymin)*rounding {
				t.Errorf("the axes %v are more than twice as long as the data, %v", b, d)
			}
		}
		if _, err := f.SVG(); err != nil {
			t.Error(err)
		}
	}
}

// Lines below the panels list all changed parameters, and the panels keep their size.
func TestChangedLines(t *testing.T) {
	f := twoLines(LegendRight, []float64{3, 2, 1}, []float64{1, 2, 3})
	size := func() vg.Length {
		c, err := png.DecodeConfig(bytes.NewReader(drawnPNG(t, f)))
		if err != nil {
			t.Fatal(err)
		}
		return vg.Length(c.Height) * 72 / 160
	}
	if h := size(); math.Abs(float64(h-f.Height)) > 1 {
		t.Errorf("height %v of %v", h, f.Height)
	}
	for _, changed := range []string{"K = 2 (default 3)", strings.Repeat("Ks = 1, 2, 3 (default 4); ", 20), strings.Repeat("1", 400) + " x", "  "} {
		f.Changed = changed
		lines := f.ChangedLines()
		if got, want := strings.Join(lines, " "), strings.Join(strings.Fields(changed), " "); got != want {
			t.Errorf("lines %q of %q", got, want)
		}
		if h, want := size(), f.Height+vg.Length(len(lines))*chart.ChangedHeight; math.Abs(float64(h-want)) > 1 {
			t.Errorf("%q: height %v, want %v", changed, h, want)
		}
		if svg, err := f.SVG(); err != nil || len(lines) > 0 && !strings.Contains(string(svg), lines[0]) {
			t.Errorf("the SVG lacks %q (%v)", lines, err)
		}
	}
	table := &Table{Name: "t", Caption: "c", Header: []string{"a"}, Rows: [][]any{{1}}, Changed: "C_1 = 2 (default 3)"}
	if md, tex := table.Markdown(), table.LaTeX(); !strings.HasSuffix(md, "|\n\nC_1 = 2 (default 3)\n") || !strings.Contains(tex, `C\_1 = 2 (default 3)`) {
		t.Errorf("%s\n%s", md, tex)
	}
}

// A PNG has its resolution at the required place, with the required checksum.
func TestPNGHasItsResolution(t *testing.T) {
	data := drawnPNG(t, twoLines(LegendRight, []float64{1, 2}, []float64{1, 2}))
	if _, err := png.Decode(bytes.NewReader(data)); err != nil { // Decode verifies the checksums
		t.Fatal(err)
	}
	const at = 33
	// The resolution is 6299 dots per metre along both axes.
	if want := "\x00\x00\x00\x09pHYs\x00\x00\x18\x9b\x00\x00\x18\x9b\x01"; string(data[at:at+len(want)]) != want {
		t.Errorf("%q", data[at:at+len(want)])
	}
}

func TestAlt(t *testing.T) {
	f := twoLines(LegendRight, []float64{1, 2}, []float64{1, 2})
	if got, want := f.Alt(), "left: loss over step; series “curve” from 1 to 2; reference lines “level”. right: accuracy over step; series “curve” from 1 to 2, “points”, with 95 % intervals."; got != want {
		t.Errorf("%s", got)
	}
	f.Changed = "K = 64 (default 128)"
	if got := f.Alt(); !strings.HasSuffix(got, "with 95 % intervals. K = 64 (default 128).") {
		t.Errorf("%s lacks the changed parameters", got)
	}
	f.Changed = ""
	right := f.Panels[0][1]
	right.Plot.X.Label.Text = "← better     worse →\nsteps"
	if got := f.Alt(); !strings.Contains(got, "over ← better worse → steps;") {
		t.Errorf("%s", got)
	}
	right.Plot.X.Label.Text = "step"
	f.Panels[0] = []*Panel{right, right, right, right}
	over := strings.Repeat(" right: accuracy over step.", 4)
	if got, want := f.Alt(), "4 panels."+over+" In each: series “curve”, “points”, with 95 % intervals."; got != want {
		t.Errorf("%s", got)
	}
	f.Panels, f.Heads = [][]*Panel{{right, right}, {right}}, []string{"above", "below"}
	if got, want := f.Alt(), "above, right: accuracy over step; series “curve” from 1 to 2, “points”, with 95 % intervals. above, right: accuracy"; !strings.HasPrefix(got, want) || !strings.Contains(got, " below, right: accuracy") {
		t.Errorf("%s", got)
	}
	p := NewPanel("p", "", "x", "y").LogAxes(false, true)
	p.Band("falls", []float64{1, 2}, []float64{1, -3}, []float64{1, -3}, Style{})
	p.Line("falls", []float64{1, 2}, []float64{1, -3}, Style{})
	p.Line("falls, again", []float64{1, 2}, []float64{1, -3}, Style{Unlisted: true})
	p.Line("nowhere", []float64{math.NaN()}, []float64{1}, Style{})
	if got, want := (&Figure{Panels: [][]*Panel{{p}}}).Alt(), "p: y over x; series “falls” from 10 to 0.001, with 95 % intervals."; got != want {
		t.Errorf("%s", got)
	}
}

// A name that is not a file name is refused.
func TestNamesOfFiles(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`, "/x"} {
		if err := (&Table{Name: name, Caption: "c", Header: []string{"a"}}).Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a file name") {
			t.Errorf("%q: error %v", name, err)
		}
	}
	if err := (&Table{Name: "x = é *?", Caption: "c", Header: []string{"a"}}).Write(t.TempDir()); err != nil {
		t.Error(err)
	}
}
