package figures

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

func example() *Figure {
	p := NewPanel("panel", "A title", "x", "y")
	p.Grid()
	p.Band("band", []float64{0, 1, 2}, []float64{0, 0, 1}, []float64{1, 2, 2}, Style{Color: Blue})
	p.Line("line", []float64{0, 1, 2}, []float64{.5, 1, 1.5}, Style{Color: Blue})
	p.Scatter("dots, \"quoted\"", []float64{.1, .2}, []float64{.3, 1.0 / 3}, Style{})
	q := NewPanel("surface", "", "x", "y")
	q.Surface("z", []float64{0, 1}, []float64{0, 1, 2}, [][]float64{{1, 2, 3}, {2, 3, 4}}, []float64{2.5})
	return &Figure{Name: "example", Width: 5 * vg.Inch, Height: 2.5 * vg.Inch, LegendWidth: vg.Inch, Panels: [][]*Panel{{p, q}}}
}

func TestFigureFilesAreValidAndTheSameTwice(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := example().Write(dir); err != nil {
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
	rows, err := csv.NewReader(strings.NewReader(example().CSV())).ReadAll()
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

func TestTableFormats(t *testing.T) {
	table := &Table{Name: "t", Caption: "50 % of a_b", Header: []string{"Method", "Loss"}, Rows: [][]any{
		{"λ1 & co", Number{Value: -1.23456, Digits: 2, Margin: .056}},
		{"count", 12},
		{"silent", nil},
		{"quoted", quoted("1.0800000001")},
		{"tiny", Number{Value: 6.54e-10, Digits: 4}},
		{"huge", Number{Value: -4.5e84, Digits: 4}},
	}}
	for _, c := range []struct{ name, got, want string }{
		{"Markdown", table.Markdown(), "**50 % of a_b**\n\n| Method | Loss |\n| :-- | --: |\n| λ1 & co | -1.23 ± 0.06 |\n| count | 12 |\n| silent | – |\n| quoted | 1.080000 |\n| tiny | 6.5e-10 |\n| huge | -4.5e+84 |\n"},
		{"CSV", table.CSV(), "Method,Loss,Loss ±\nλ1 & co,-1.23456,0.056\ncount,12,\nsilent,,\nquoted,1.0800000001,\ntiny,6.54e-10,\nhuge,-4.5e+84,\n"},
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
	}{{0, 101, "0 20 40 60 80 100"}, {.94, 1.42, "1.0 1.1 1.2 1.3 1.4"}, {-3, 3, "-3 -2 -1 0 1 2 3"}, {0, 1e-3, "0.0000 0.0002 0.0004 0.0006 0.0008 0.0010"}, {2, 2, "2"}} {
		var labels []string
		for _, tick := range (roundTicks{}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("ticks from %v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

// Every figure and table of the elastic net draws from a small Result.
func TestElasticNetOutputs(t *testing.T) {
	p := experiment.PaperElasticNet()
	p.Samples, p.K, p.Steps, p.GridPoints, p.RandomPoints, p.Seeds, p.LongSteps, p.SurfacePoints = 60, 4, 5, 3, 6, 3, 8, 5
	r, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	seeds, err := p.RunSeeds(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, o := range []interface{ Write(dir string) error }{
		ElasticNetTable(r, seeds), ElasticNetCVTable(seeds),
		ElasticNetLearningCurves(r), ElasticNetSurfaces(r), ElasticNetEarlyStopping(r),
	} {
		if err := o.Write(dir); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "table1_elastic_net.csv"))
	if err != nil || !strings.Contains(string(text), full(r.Random.Final())) {
		t.Errorf("Table 1 lacks the random search's loss (%v):\n%s", err, text)
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
	grid := func(f func(x, y float64) float64) [][]float64 {
		z := make([][]float64, len(xs))
		for i, x := range xs {
			for _, y := range ys {
				z[i] = append(z[i], f(x, y))
			}
		}
		return z
	}
	circle := contour(xs, ys, grid(func(x, y float64) float64 { return x*x + y*y }), 1)
	if len(circle) != 1 || circle[0][0] != circle[0][len(circle[0])-1] {
		t.Fatalf("a circle gives %d lines", len(circle))
	}
	for _, p := range circle[0] {
		if r := math.Hypot(p.X, p.Y); math.Abs(r-1) > 2e-3 { // the grid's curvature
			t.Errorf("the circle runs through radius %v", r)
		}
	}
	saddle := contour(xs, ys, grid(func(x, y float64) float64 { return (x + .01) * (y + .02) }), 0)
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
	if flat := contour(xs, ys, grid(func(x, y float64) float64 { return 1 }), 1); len(flat) != 0 {
		t.Errorf("a flat surface gives %d lines", len(flat))
	}
}

func TestClaimsTables(t *testing.T) {
	claims := []Claim{
		{Text: "a", Place: "Table 1", Quoted: experiment.Quoted{Paper: "1.080"}, Ours: Measurement{Value: 1.07797, Margin: math.NaN(), N: 1}, Rule: "r", Verdict: Differs, Remark: "why"},
		{Text: "b", Ours: Measurement{Value: 322, Margin: math.NaN(), N: 1}, Verdict: Confirmed},
		{Text: "c", Ours: Measurement{Value: .5, Margin: .25, N: 9}, Verdict: Confirmed},
		{Text: "d", Ours: Measurement{Value: math.NaN(), Margin: math.NaN(), N: 1}, Verdict: NotTestable},
	}
	all := ClaimsTable(claims).CSV()
	for _, want := range []string{"a,Table 1,1.08,,1.07797,,,r,differs,why\n", "b,,,,322,,,,confirmed,\n", "c,,,,0.5,0.25,9,,confirmed,\n", "d,,,,,,,,not testable,\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("no line %q in\n%s", want, all)
		}
	}
	glance := ClaimsAtAGlance(claims).Markdown()
	for _, want := range []string{"| Claim | Paper | Its code | Here | Verdict |", "| c | – | – | 0.5000 ± 0.2500 | confirmed |", "4 claims: 2 confirmed, 1 differs, 1 not testable."} {
		if !strings.Contains(glance, want) {
			t.Errorf("no %q in\n%s", want, glance)
		}
	}
}
