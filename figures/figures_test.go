package figures

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

func exampleFigure() *Figure {
	p := NewPanel("panel", "A title", "x", "y")
	p.Grid()
	p.Band("band", []float64{0, 1, 2}, []float64{0, 0, 1}, []float64{1, 2, 2}, Style{Color: Blue})
	p.Line("line", []float64{0, 1, 2}, []float64{.5, 1, 1.5}, Style{Color: Blue})
	p.Scatter("dots, \"quoted\"", []float64{.1, .2}, []float64{.3, 1.0 / 3}, Style{})
	q := NewPanel("surface", "", "x", "y")
	q.Surface("z", []float64{0, 1}, []float64{0, 1, 2}, [][]float64{{1, 2, 3}, {2, 3, 4}}, []float64{2.5})
	return &Figure{Name: "example", Width: 5 * vg.Inch, Height: 2.5 * vg.Inch, Legend: LegendRight, Panels: [][]*Panel{{p, q}}}
}

func TestFigureFilesAreValidAndTheSameTwice(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := exampleFigure().Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, ext := range []string{".svg", ".png", ".pdf", ".csv"} {
		a, erra := os.ReadFile(filepath.Join(first, "example"+ext))
		b, errb := os.ReadFile(filepath.Join(second, "example"+ext))
		if erra != nil || errb != nil {
			t.Fatal(erra, errb)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("%s differs between two runs", ext)
		}
		switch ext {
		case ".png":
			img, err := png.Decode(bytes.NewReader(a))
			if err != nil || img.Bounds().Dx() != 800 || img.Bounds().Dy() != 400 {
				t.Errorf("PNG: %v, %v", err, img.Bounds())
			}
		case ".pdf":
			if !bytes.HasPrefix(a, []byte("%PDF-")) || !bytes.Contains(a, []byte("D:20180518000000")) {
				t.Error("PDF lacks its header or its fixed date")
			}
		case ".svg":
			d := xml.NewDecoder(bytes.NewReader(a))
			for {
				if _, err := d.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("SVG: %v", err)
				}
			}
		}
	}
}

func TestTwoSurfacesInOnePDFKeepTheirOrder(t *testing.T) {
	var first []byte
	for range 20 {
		f := &Figure{Width: 4 * vg.Inch, Height: 2 * vg.Inch, Panels: make([][]*Panel, 1)}
		for _, low := range []float64{1, 2} {
			p := NewPanel("surface", "", "x", "y")
			p.Surface("z", []float64{0, 1}, []float64{0, 1}, [][]float64{{low, 3}, {4, 5}}, nil)
			f.Panels[0] = append(f.Panels[0], p)
		}
		pdf, err := f.PDF()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = pdf
		}
		if !bytes.Equal(pdf, first) {
			t.Fatal("the PDF differs from one drawing to the next")
		}
	}
}

func TestFigureCSVHoldsEveryPlottedPoint(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(exampleFigure().CSV())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 3 + 3 + 2 + 6; len(rows) != want {
		t.Errorf("%d rows, want %d", len(rows), want)
	}
	for _, want := range [][]string{
		{"panel", "band", "2", "", "", "1", "2"},
		{"panel", "line", "1", "1", "", "", ""},
		{"panel", "dots, \"quoted\"", "0.2", "0.3333333333333333", "", "", ""},
		{"surface", "z", "1", "2", "4", "", ""},
	} {
		if !slices.ContainsFunc(rows, func(r []string) bool { return slices.Equal(r, want) }) {
			t.Errorf("no row %q", want)
		}
	}
}

// A malformed output causes an error that names the place, and no panic.
func TestOutputsThatCannotBeDrawn(t *testing.T) {
	figure := func(add func(p *Panel)) *Figure {
		p := NewPanel("panel", "", "x", "y")
		add(p)
		return &Figure{Name: "f", Width: 3 * vg.Inch, Height: 2 * vg.Inch, Panels: [][]*Panel{{p}}}
	}
	nan := math.NaN()
	two, three := make([]float64, 2), make([]float64, 3)
	for want, o := range map[string]Output{
		`f: no panels`: &Figure{Name: "f", Width: 3 * vg.Inch, Height: 2 * vg.Inch},
		`f: panel "panel": no finite point in 0 series`: figure(func(p *Panel) {}),
		`f: panel "panel": no finite point in 3 series`: figure(func(p *Panel) {
			p.Line("l", []float64{1, nan}, []float64{nan, 1}, Style{})
			p.HLine("h", math.Inf(1), Style{})
			p.Surface("z", []float64{0}, []float64{0}, [][]float64{{nan}}, []float64{1})
		}),
		`f: panel "panel": series "l": columns of lengths [2 3]`:     figure(func(p *Panel) { p.Line("l", two, three, Style{}) }),
		`f: panel "panel": series "s": columns of lengths [2 0]`:     figure(func(p *Panel) { p.Scatter("s", two, nil, Style{}) }),
		`f: panel "panel": series "b": columns of lengths [2 2 3]`:   figure(func(p *Panel) { p.Band("b", two, two, three, Style{}) }),
		`f: panel "panel": series "a": columns of lengths [2 2 2 3]`: figure(func(p *Panel) { p.Arrows("a", two, two, two, three, Style{}) }),
		`f: panel "panel": series "z": columns of lengths [2 1]`:     figure(func(p *Panel) { p.Surface("z", two, three, make([][]float64, 1), nil) }),
		`f: panel "panel": series "c": columns of lengths [3 0]`:     figure(func(p *Panel) { p.Contour("c", two, three, make([][]float64, 2), 0, Style{}) }),
		`table t: row 1: 1 cells under 2 headings`:                   &Table{Name: "t", Header: []string{"a", "b"}, Rows: [][]any{{"x"}}},
		`table t: row 2: 3 cells under 2 headings`:                   &Table{Name: "t", Header: []string{"a", "b"}, Rows: [][]any{{"x", nil}, {1, 2, 3}}},
		`table t: Brief names "c", which is not a heading`:           &Table{Name: "t", Header: []string{"a", "b"}, Brief: []string{"a", "c"}},
		`table t: row 1, column "b": a cell of type float64`:         &Table{Name: "t", Header: []string{"a", "b"}, Rows: [][]any{{"x", 1.5}}},
	} {
		err := o.Write(t.TempDir())
		if err == nil || !strings.HasPrefix(err.Error(), "figures: "+want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
		switch o := o.(type) {
		case *Figure:
			for _, render := range []func() ([]byte, error){o.PNG, o.SVG, o.PDF} {
				if _, again := render(); again == nil || again.Error() != err.Error() {
					t.Errorf("the error is %v and %v", err, again)
				}
			}
			o.CSV()
			o.Draw(draw.New(vgsvg.New(o.Width, o.Height)))
		case *Table:
			if o.Markdown() == "" || o.LaTeX() == "" || o.CSV() == "" {
				t.Error("a table without text")
			}
		}
	}
}

// Values that are NaN or infinite leave gaps in lines, bands and surfaces, and do not affect axes.
func TestGaps(t *testing.T) {
	p := NewPanel("gaps", "", "x", "y")
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e305}
	x := []float64{0, 1, 2, 3, 4, 5, 6}
	for _, v := range bad {
		y := []float64{1, 2, v, 4, v, 6, 7}
		p.Line("line", x, y, Style{})
		p.Band("band", x, y, y, Style{})
		p.Scatter("marks", y, x, Style{})
	}
	if got := chart.AxesOf(p.Plot); got != (chart.Box{Xmin: 0, Xmax: 7, Ymin: 0, Ymax: 7}) {
		t.Errorf("the data span %v", got)
	}
	var lengths []int
	for _, stretch := range p.Series[0].Stretches {
		lengths = append(lengths, len(stretch))
	}
	if !slices.Equal(lengths, []int{2, 1, 2}) {
		t.Errorf("the line has stretches of %v points", lengths)
	}
	checkFigure(t, &Figure{Width: 3 * vg.Inch, Height: 2 * vg.Inch, Legend: LegendRight, Panels: [][]*Panel{{p}}})
	// A cell with a value that is not finite has no colour and no contour.
	grid := &chart.Surface{Xs: []float64{0, 1, 2}, Ys: []float64{0, 1}, Values: [][]float64{{1, 1}, {3, math.NaN()}, {5, 5}}}
	if lines := grid.Contour(2); len(lines) != 0 {
		t.Errorf("contours %v cross cells with a corner that is not known", lines)
	}
	if h := grid.Heat(); h.Min != 0 || h.Max != math.Log(5) || h.NaN != nil {
		t.Errorf("the shades run from %v to %v, with %v for NaN", h.Min, h.Max, h.NaN)
	}
}

// A line that consists of one point is drawn as a dot.
func TestSinglePointsAreDrawn(t *testing.T) {
	p := NewPanel("dot", "", "x", "y")
	p.Line("line", []float64{5}, []float64{3}, Style{Color: Blue, Width: 4})
	png := func(p *Panel) []byte {
		return mustRun[[]byte](t)((&Figure{Width: vg.Inch, Height: vg.Inch, Legend: LegendNone, Panels: [][]*Panel{{p}}}).PNG())
	}
	empty := NewPanel("dot", "", "x", "y")
	empty.Line("line", []float64{5}, []float64{3}, Style{Color: color.NRGBA{255, 255, 255, 255}})
	if bytes.Equal(png(p), png(empty)) {
		t.Error("nothing is drawn")
	}
}

func TestReferenceLinesCrossTheirPanel(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	p.Line("data", []float64{0, 10}, []float64{0, 100}, Style{})
	p.HLine("above", 200, Style{})
	p.VLine("right", 20, Style{})
	p.Across("diagonal", 10, -1, 0, Style{}) // y = 10 x
	p.Across("elsewhere", 1, 1, -50, Style{})
	axes := p.Axes()
	if got := len(p.LegendEntries(axes)); got != 4 {
		t.Errorf("%d of the series are in the legend, want all but the one that is not seen", got)
	}
	if axes != (chart.Box{Xmin: 0, Xmax: 20, Ymin: -8, Ymax: 208}) {
		t.Errorf("the axes are %v", axes)
	}
	ends := make(map[string]plotter.XYs)
	for _, s := range p.Series[1:] {
		ends[s.Name] = s.Across.Ends(axes)
	}
	want := map[string]plotter.XYs{
		"above": {{X: 0, Y: 200}, {X: 20, Y: 200}}, "right": {{X: 20, Y: -8}, {X: 20, Y: 208}}, "diagonal": {{X: 0, Y: 0}, {X: 20, Y: 200}}, "elsewhere": nil,
	}
	if !reflect.DeepEqual(ends, want) {
		t.Errorf("the lines run between %v", ends)
	}
}

// Headroom leaves room for a legend.
func TestLegendsHideNothing(t *testing.T) {
	x := chart.OneTo(50)
	for name, f := range map[string]func(x float64) float64{
		"rising":   func(x float64) float64 { return x },
		"falling":  func(x float64) float64 { return -x },
		"constant": func(x float64) float64 { return 3 },
		"zero":     func(x float64) float64 { return 0 },
		"wild":     func(x float64) float64 { return math.Sin(x * x) },
	} {
		p := NewPanel("p", "", "x", "y")
		y := make([]float64, len(x))
		for i := range x {
			y[i] = f(x[i])
		}
		p.Line("one line with a long name", x, y, Style{})
		p.Scatter("another", x, y, Style{})
		p.HLine("third", y[0], Style{})
		checkFigure(t, &Figure{Name: name, Width: 4 * vg.Inch, Height: 2.5 * vg.Inch, Panels: [][]*Panel{{p}}})
	}
}

func TestSameAxes(t *testing.T) {
	var row []*Panel
	for k := range 3 {
		p := NewPanel(fmt.Sprint(k), "", "x", "y")
		p.Line("line", []float64{0, float64(k + 1)}, []float64{-float64(k), 1}, Style{})
		row = append(row, p)
	}
	f := &Figure{Width: 6 * vg.Inch, Height: 2 * vg.Inch, Legend: LegendRight, SameAxes: true, Panels: [][]*Panel{row}}
	checkFigure(t, f)
	f.LayOut(draw.New(vgsvg.New(f.Width, f.Height)), func(p *Panel, _ draw.Canvas, axes chart.Box) {
		if want := (chart.Box{Xmin: 0, Xmax: 3, Ymin: -2.12, Ymax: 1.12}); axes != want {
			t.Errorf("panel %s has the axes %v, want %v", p.Name, axes, want)
		}
	})
}

func TestTableFormats(t *testing.T) {
	table := &Table{Name: "t", Caption: "50 % of a_b", Header: []string{"Method", "Loss"}, Rows: [][]any{
		{"λ1 & co", Number{Value: -1.23456, Digits: 2, Margin: .056}},
		{"count", 12},
		{"silent", nil},
		{"quoted", chart.Quoted("1.0800000001")},
		{"tiny", Number{Value: 6.54e-10, Digits: 4}},
		{"huge", Number{Value: -4.5e84, Digits: 4}},
		{"no sign", Number{Value: -3e-8, Digits: 2, Margin: .0625}},
	}}
	for _, c := range []struct{ name, got, want string }{
		{"Markdown", table.Markdown(), "**50 % of a_b**\n\n| Method | Loss |\n| :-- | --: |\n| λ1 & co | -1.23 ± 0.06 |\n| count | 12 |\n| silent | – |\n| quoted | 1.080000 |\n| tiny | 6.5e-10 |\n| huge | -4.5e+84 |\n| no sign | 0.00 ± 0.06 |\n"},
		{"CSV", table.CSV(), "Method,Loss,Loss ±\nλ1 & co,-1.23456,0.056\ncount,12,\nsilent,,\nquoted,1.0800000001,\ntiny,6.54e-10,\nhuge,-4.5e+84,\nno sign,-3e-08,0.0625\n"},
	} {
		if c.got != c.want {
			t.Errorf("%s is\n%s\nwant\n%s", c.name, c.got, c.want)
		}
	}
	for _, want := range []string{`\caption{50 \% of a\_b}`, `$\lambda_1$ \& co & $-1.23 \pm 0.06$ \\`, `silent & -- \\`} {
		if !strings.Contains(table.LaTeX(), want) {
			t.Errorf("LaTeX lacks %q:\n%s", want, table.LaTeX())
		}
	}
}

func TestTableColumnsOfTextStandLeft(t *testing.T) {
	table := &Table{Header: []string{"N", "Verdict", "Why", "Loss"}, Rows: [][]any{
		{8, "confirmed", nil, "never"}, {16, nil, strings.Repeat("word ", 20), 3},
	}}
	if commands := (&Table{Header: []string{"Of", "Command"}, Rows: [][]any{{"a", Code("./a")}}}).Markdown(); !strings.Contains(commands, "| :-- | :-- |") {
		t.Errorf("commands are no text:\n%s", commands)
	}
	if want := "| :-- | :-- | :-- | --: |"; !strings.Contains(table.Markdown(), want) {
		t.Errorf("no %s in\n%s", want, table.Markdown())
	}
	if want := `{tabular}{llp{.3\linewidth}r}`; !strings.Contains(table.LaTeX(), want) {
		t.Errorf("no %s in\n%s", want, table.LaTeX())
	}
}

func TestRoundTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{0, 101, "0 20 40 60 80 100"}, {.94, 1.42, "1.0 1.1 1.2 1.3 1.4"}, {-3, 3, "−3 −2 −1 0 1 2 3"}, {-2e7, 2e7, "−2·10⁷ −10⁷ 0 10⁷ 2·10⁷"}, {0, 1e-3, "0.0000 0.0002 0.0004 0.0006 0.0008 0.0010"}, {2, 2, "2"}} {
		var labels []string
		for _, tick := range (chart.RoundTicks{}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("ticks from %v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// Every output of the elastic net can be drawn from small and unusual results.
func TestElasticNetOutputs(t *testing.T) {
	for name, change := range map[string]func(p *elasticnet.ElasticNetParams){
		"small":           func(p *elasticnet.ElasticNetParams) {},
		"one step":        func(p *elasticnet.ElasticNetParams) { p.Seed, p.Steps, p.LongSteps, p.RandomPoints = 7, 1, 1, 1 },
		"off the surface": func(p *elasticnet.ElasticNetParams) { p.Seed, p.StepSize, p.BoxLow, p.BoxHigh = 3, 50, -7, 3 },
		"long run is short": func(p *elasticnet.ElasticNetParams) {
			p.Seed, p.Steps, p.LongSteps, p.Features, p.Informative, p.DiscardedInformative = 5, 12, 4, 3, 1, 2
		},
		"no noise":        func(p *elasticnet.ElasticNetParams) { p.Noise, p.Train = 0, 40 },
		"constant labels": func(p *elasticnet.ElasticNetParams) { p.Noise, p.Scale = 0, 1e300 },
	} {
		t.Run(name, func(t *testing.T) {
			p := elasticnet.DefaultElasticNet()
			p.Samples, p.K, p.Steps, p.GridPoints, p.RandomPoints, p.LongSteps, p.SurfacePoints = 60, 4, 5, 3, 6, 8, 5
			change(&p)
			q := elasticnet.ElasticNetSeedsParams{RegressionData: p.RegressionData, PenaltyCVGM: p.PenaltyCVGM,
				Steps: p.Steps, LongSteps: p.LongSteps, SearchBox: p.SearchBox, WideLow: -5, WideHigh: 1, Evaluations: 5, Seeds: map[bool]int{true: 1, false: 3}[name == "one step"]}
			r := mustRun[*elasticnet.Result](t)(p.Run(t.Context(), experiment.Hooks{}))
			seeds := mustRun[*elasticnet.Seeds](t)(q.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{
				"table1_elastic_net":          chart.FormatFull(r.Random.Final()),
				"elastic_net_learning_curves": chart.FormatFull(r.LeastSquares),
			}, func(r *elasticnet.Result) Output { return ElasticNetTable(r, seeds) })
			testOutputs(t, seeds, map[string]string{"elastic_net_cv_loss": chart.FormatFull(seeds.Methods[elasticnet.Random].CVMean.Mean)},
				func(seeds *elasticnet.Seeds) Output { return ElasticNetTable(r, seeds) })
		})
	}
}

func TestContourOfACircleAndOfASaddle(t *testing.T) {
	xs, ys := make([]float64, 41), make([]float64, 31)
	for i := range xs {
		xs[i] = -2 + .1*float64(i)
	}
	for j := range ys {
		ys[j] = -1.5 + .1*float64(j)
	}
	grid := func(f func(x, y float64) float64) *chart.Surface {
		z := make([][]float64, len(xs))
		for i, x := range xs {
			for _, y := range ys {
				z[i] = append(z[i], f(x, y))
			}
		}
		return &chart.Surface{Xs: xs, Ys: ys, Values: z}
	}
	circle := grid(func(x, y float64) float64 { return x*x + y*y }).Contour(1)
	if len(circle) != 1 || circle[0][0] != circle[0][len(circle[0])-1] {
		t.Fatalf("a circle gives %d lines", len(circle))
	}
	for _, p := range circle[0] {
		if r := math.Hypot(p.X, p.Y); math.Abs(r-1) > 2e-3 { // tolerance for the interpolation on the grid
			t.Errorf("the circle runs through radius %v", r)
		}
	}
	saddle := grid(func(x, y float64) float64 { return (x + .01) * (y + .02) }).Contour(0)
	if len(saddle) != 2 {
		t.Errorf("a saddle gives %d lines", len(saddle))
	}
	for _, line := range saddle {
		for _, p := range line {
			if math.Abs((p.X+.01)*(p.Y+.02)) > 3e-3 {
				t.Errorf("a saddle's line runs through (%v, %v)", p.X, p.Y)
			}
		}
	}
	if flat := grid(func(x, y float64) float64 { return 1 }).Contour(1); len(flat) != 0 {
		t.Errorf("a flat surface gives %d lines", len(flat))
	}
}

func TestClaimsTables(t *testing.T) {
	once := func(v float64) experiment.Estimate { return experiment.Estimate{Mean: v, Margin: math.NaN(), N: 1} }
	is := func(sign claims.Side, size claims.Size, v claims.Verdict) claims.Judgement {
		return claims.Judgement{Sign: sign, Size: size, Verdict: v}
	}
	judged := []claims.Claim{
		{Number: 1, Section: "Table 1", Sentence: "s", Short: "short s", Verdict: claims.Differs, Measured: []claims.Measurement{
			{Text: "a", Setting: "30 rows", Quoted: claims.Quoted{Paper: "1.080", Code: "1.078"}, Ours: once(1.07797), Rule: "r", Judgement: is("", "", claims.Differs), Remark: "See the errata in 05_differentiability."},
			{Text: "b", Setting: "30 rows", Ours: once(322), Rule: "r", Judgement: is("", "", claims.Confirmed), Control: &claims.Control{Text: "more", Ours: once(323), Verdict: claims.Differs}},
		}},
		{Number: 4, Section: "2", Sentence: "t", Short: "short t", Verdict: claims.NotTestable, Measured: []claims.Measurement{
			{Text: "c", Ours: experiment.Estimate{Mean: .5, Margin: .25, N: 9}, Rule: "r", Smallest: .1, Reason: "a tenth", Judgement: is(claims.Above, claims.Unclear, claims.Confirmed), Aside: true, Draws: &claims.Draws{N: 3, Flips: 1, Expected: .52}},
			{Text: "d", Brief: "quantity d", Ours: once(math.NaN()), Judgement: is("", "", claims.NotTestable)},
		}},
	}
	cards := &ClaimCards{judged}
	dir := t.TempDir()
	if err := cards.Write(dir); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	all, text := read("claims.csv"), read("claims.md")
	for _, want := range []string{"1,Table 1,“s”,,,,,,,,,,,,,differs,,,,,,,\n", "1a,,a,30 rows,1.08,1.078,1.07797,,,r,0,,,,,differs,,,,,,,See the errata in 05_differentiability.\n",
		"1b,,b,30 rows,,,322,,,r,0,,,,,confirmed,,,,more,323,differs,\n", "4a,,c,,,,0.5,0.25,9,r,0.1,a tenth,", ",above,not decided,(confirmed),3,1,0.52,,,,\n", "4b,,d,,,,,,,,0,,,,,not testable,,,,,,,\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("no line %q in\n%s", want, all)
		}
	}
	const errata = "../05_differentiability/errata.md"
	for _, want := range []string{"2 claims: 1 differs, 1 not testable. [The list](claims_at_a_glance.md)", "### 1. short s\n\n**differs** · Table 1 · “s”\n\na: **1.0780**. Confirmed if r. The paper prints 1.080, its code 1.078.\n",
		"See the [errata in 05_differentiability](" + errata + ").", "* 1b: Control, more: 323, differs.\n", "* Setting of 1a, 1b: 30 rows.\n", "| r | 0.1000 | above | not decided | (confirmed) |", "* 4a: Draws that have another verdict alone: 1 of 3, 0.5 expected from their scatter."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if list := ClaimsAtAGlance(judged).Markdown(); !strings.Contains(list, "| 1 | short s | differs | a | 1.0780 |") || !strings.Contains(list, "| 4 | short t | not testable | quantity d |") {
		t.Errorf("the list lacks a claim:\n%s", list)
	}
	if _, err := os.Stat(filepath.Join("out", "00_start", errata)); err != nil {
		t.Error(err)
	}
}

// Each search chooses the point with the lowest CV loss. Without a finite loss, it chooses none.
func TestChosenPoints(t *testing.T) {
	s := elasticnet.Search{Lambda: [][2]float64{{1, 2}, {3, 4}, {5, 6}}, CVLoss: []float64{math.NaN(), 2, 3}}
	if at := chosen(s); len(at) != 1 || at[0] != s.Lambda[1] {
		t.Errorf("%v", at)
	}
	s.CVLoss = []float64{math.NaN(), math.Inf(1), math.NaN()}
	if at := chosen(s); at != nil || chosen(elasticnet.Search{}) != nil {
		t.Errorf("%v without a loss", at)
	}
}

// LaTeX tables have commands for all letters beyond ASCII, because fonts of pdflatex lack these
// letters.
func TestLettersOfLaTeXTables(t *testing.T) {
	paths, err := filepath.Glob("out/*/*.md")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d tables: %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range string(text) { // the test escapes letters itself, because a committed file does not show changes of chart.LatexEscapes
			if strings.ContainsFunc(chart.LatexEscapes.Replace(string(r)), func(r rune) bool { return r > unicode.MaxASCII }) {
				t.Errorf("%s holds the letter %q: add it to latexEscapes", path, r)
			}
		}
	}
}
