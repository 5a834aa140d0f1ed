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
			if name == "default" {
				testUnrolledColors(t, UnrolledCurves(r))
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

// A colour has one meaning in both panels, which the legend explains.
func testUnrolledColors(t *testing.T, f *Figure) {
	t.Helper()
	want := map[string]int{"ηL = 1": commonRun, "λ₂ = 0.01": commonRun, "ηL = 0.01": smallerRun, "ηL = 0.1": smallerRun, "λ₂ = 0.001": smallerRun,
		"ηL = 1.9": largerRun, "λ₂ = 0.1": largerRun, "λ₂ = 1": largerRun, "ηL = 1, momentum 0.5": momentumRun, "ηL = 2.1": divergingRun}
	for _, s := range slices.Concat(f.Panels[0][0].Series, f.Panels[0][1].Series) {
		if !s.Line {
			continue
		}
		points := slices.Concat(s.Stretches...)
		if (points[len(points)-1][1] >= unrolledCeiling) != (want[s.Name] == divergingRun) {
			t.Errorf("%s ends at 1e%.0f: only the divergent rate ends at the top", s.Name, points[len(points)-1][1])
		}
		kind, known := want[s.Name]
		if !known || s.Entry.Style.Color != unrolledKinds[kind].Style.Color {
			t.Errorf("%s has the colour %v", s.Name, s.Entry.Style.Color)
		}
	}
	if len(f.Entries) != len(unrolledKinds)+1 {
		t.Errorf("the legend has %v, want every kind of run and the level", f.Entries)
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
