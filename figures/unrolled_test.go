package figures

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/differentiability"
	"cvgm/figures/internal/chart"
)

func TestUnrolledOutputs(t *testing.T) {
	for name, change := range map[string]func(p *differentiability.UnrolledParams){
		"default":  func(p *differentiability.UnrolledParams) {},
		"one step": func(p *differentiability.UnrolledParams) { p.UnrolledSteps, p.Penalties = []int{1}, []float64{3} },
		"divergent": func(p *differentiability.UnrolledParams) {
			p.UnrolledSteps, p.Rates, p.Conditions = []int{2, 40, 4000}, []float64{2.5, 30}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := differentiability.DefaultUnrolled()
			p.Conditions = []float64{1e4}
			change(&p)
			r := mustRun[*differentiability.UnrolledResult](t)(p.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{"unrolled_errors": chart.FormatFull(r.ByRate[0].Exact)})
			if rows := UnrolledPrecisionTable(r).Rows; len(rows) != len(r.Precision) {
				t.Errorf("%d rows of %d condition numbers", len(rows), len(r.Precision))
			}
			for _, s := range UnrolledCurves(r).Panels[0][0].Series {
				points := slices.Concat(s.Stretches...)
				if name == "default" && s.Line && (points[len(points)-1][1] >= unrolledCeiling) != (s.Name == "ηL = 2.1, diverges") {
					t.Errorf("%s ends at 1e%.0f: only the divergent rate ends at the top", s.Name, points[len(points)-1][1])
				}
			}
			header := UnrolledTable(r).Header
			last := fmt.Sprintf("%d steps", p.UnrolledSteps[len(p.UnrolledSteps)-1])
			if name == "one step" {
				last = "1 step"
			}
			if header[len(header)-1] != last {
				t.Errorf("the last column is %q, want %q", header[len(header)-1], last)
			}
		})
	}
}

// A line is cut where it rises above the ceiling for good, and not where it comes back.
func TestCutAbove(t *testing.T) {
	for _, c := range []struct {
		y, wantX, wantY []float64
	}{
		{[]float64{0, 2, 4, 6}, []float64{0, 1, 1.5}, []float64{0, 2, 3}},
		{[]float64{0, 4, 2, 1}, []float64{0, 1, 2, 3}, []float64{0, 4, 2, 1}},
		{[]float64{0, 4, 2, math.Inf(1)}, []float64{0, 1, 2, 3}, []float64{0, 4, 2, 3}},
		{[]float64{5, 6, 7, 8}, []float64{0}, []float64{3}},
	} {
		x, y, cut := cutAbove([]float64{0, 1, 2, 3}, c.y, 3)
		if !slices.Equal(x, c.wantX) || !slices.Equal(y, c.wantY) || cut != (c.y[3] > 3) {
			t.Errorf("%v is cut to %v, %v (%v)", c.y, x, y, cut)
		}
	}
}
