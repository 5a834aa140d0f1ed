package figures

import (
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/registry"
	"cvgm/cvgm/experiment/splits"
	"cvgm/synth"
)

// The axes of any two points have a positive length and some ticks.
func TestExtremeAxes(t *testing.T) {
	v := []float64{0, 5e-324, -5e-324, 1e-323, -1e-310, 1e-300, 1, 1 + 1e-15, 1 + 1e-9, 1e15, 1e15 + 1, 1e300, -1e300, math.MaxFloat64, math.Inf(1), math.NaN()}
	for i, a := range v {
		for _, b := range v[i:] {
			for _, log := range []bool{false, true} {
				p := NewPanel("p", "", "x", "y").LogAxes(log, log)
				p.Line("l", []float64{a, b}, []float64{b, a}, Style{})
				q := p.Axes()
				for _, axis := range [][2]float64{{q.Xmin, q.Xmax}, {q.Ymin, q.Ymax}} {
					if n := len(p.Plot.X.Tick.Marker.Ticks(axis[0], axis[1])); !(axis[0] < axis[1]) || n < 1 || n > 40 {
						t.Errorf("points at %v and %v, logarithmic %v: an axis from %v to %v with %d ticks", a, b, log, axis[0], axis[1], n)
					}
				}
			}
		}
	}
}

// LaTeX tables show special characters as they are, and no bar or line break ends a cell in
// Markdown.
func TestHostileTextsOfTables(t *testing.T) {
	table := &Table{Name: "t", Caption: "labels {0, 1}", Header: []string{"|θ|", "a\nb"}, Rows: [][]any{{"x^2 ~ g ∈ 10⁻⁴ of 10¹²", "two\nlines | bar"}}}
	for _, want := range []string{`labels \{0, 1\}`, `x\textasciicircum{}2 \textasciitilde{} g $\in$ 10$^{-}$$^4$ of 10$^1$$^2$`} {
		if !strings.Contains(table.LaTeX(), want) {
			t.Errorf("LaTeX lacks %q:\n%s", want, table.LaTeX())
		}
	}
	if want := "**labels {0, 1}**\n\n| \\|θ\\| | a␊b |\n| :-- | :-- |\n| x^2 ~ g ∈ 10⁻⁴ of 10¹² | two␊lines \\| bar |\n"; table.Markdown() != want {
		t.Errorf("Markdown is\n%s\nwant\n%s", table.Markdown(), want)
	}
}

// The scatter of two equal splits is 0 and drawn at the lower end of the axis.
func TestSplitsWithoutScatter(t *testing.T) {
	e := registry.Of(splits.SplitsParams{})
	p := e.Draw(synth.NewStream(7, "attack"+e.Name)).(*splits.SplitsParams)
	p.Train = 2
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	checkFigure(t, SplitsCurves(r))
}
