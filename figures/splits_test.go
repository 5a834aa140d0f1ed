package figures

import (
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/splits"
	"cvgm/figures/internal/chart"
)

func TestSplitsOutputs(t *testing.T) {
	for name, change := range map[string]func(p *splits.SplitsParams){
		"small":       func(p *splits.SplitsParams) {},
		"one setting": func(p *splits.SplitsParams) { p.Ks, p.Ps = []int{3, 3}, []float64{.5, .5} },
	} {
		t.Run(name, func(t *testing.T) {
			p := splits.DefaultSplits()
			p.Ks, p.Ps, p.Draws, p.DataSets, p.Samples, p.RingsDataSets, p.K = []int{4, 15}, []float64{.8, .9}, 3, 2, 60, 2, 10
			p.Rings.Steps, p.Rings.Hidden, p.Rings.Test = 3, []int{4}, 50
			change(&p)
			r := mustRun[*splits.Result](t)(p.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{
				"splits_elastic_net": chart.FormatFull(r.ByK[1].Balanced.LossSD.Mean),
				"splits_rings":       chart.FormatFull(r.RingsByP[1].Uniform.Test.Mean),
			})
			if alt := SplitsCurves(r).Alt(); !strings.Contains(alt, "number of splits K") || !strings.Contains(alt, "test loss, difference from random K = ") {
				t.Errorf("no axes in words: %s", alt)
			}
		})
	}
}

func TestGapOutputs(t *testing.T) {
	for name, change := range map[string]func(p *splits.GapParams){
		"small":    func(p *splits.GapParams) {},
		"one step": func(p *splits.GapParams) { p.Budget, p.Patience, p.Groups = 1, 1, nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := splits.DefaultGap()
			p.Groups, p.DataSets, p.Budget, p.K, p.Rings.K, p.Rings.Hidden = []int{2}, 2, 6, 6, 6, []int{4}
			change(&p)
			r := mustRun[*splits.GapResult](t)(p.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{"cv_gap_stopping": chart.FormatFull(r.Problems[len(r.Problems)-1].Stopped.Mean)})
			f := GapCurves(r)
			if alt, want := f.Alt(), "with the monitor: "+withMargin(r.Problems[0].StoppedMinusEnd.Difference, 3); !strings.Contains(alt, want) {
				t.Errorf("no note %q: %s", want, alt)
			}
			for k, p := range f.Panels[1] {
				above, below := f.Panels[0][k].Axes(), p.Axes()
				if want := "gap at the end: " + withMargin(r.Problems[k].Gap, 3); p.Plot.Title.Text != want || below.Xmin != above.Xmin || below.Xmax != above.Xmax {
					t.Errorf("the title is %q, want %q; the x axes are %v and %v", p.Plot.Title.Text, want, above, below)
				}
			}
		})
	}
}
