package figures

import (
	"testing"

	"cvgm/cvgm/experiment"
)

func TestSplitsOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.SplitsParams){
		"small":       func(p *experiment.SplitsParams) {},
		"one setting": func(p *experiment.SplitsParams) { p.Ks, p.Ps = []int{3, 3}, []float64{.5, .5} },
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultSplits()
			p.Ks, p.Ps, p.Draws, p.DataSets, p.Samples, p.RingsDataSets, p.K = []int{4, 15}, []float64{.8, .9}, 3, 2, 60, 2, 10
			p.Rings.Steps, p.Rings.Hidden, p.Rings.Test = 3, []int{4}, 50
			change(&p)
			r := ran[*experiment.SplitsResult](t)(p.Run(t.Context()))
			testOutputs(t, r, map[string]string{
				"splits_elastic_net": formatFull(r.ByK[1].Balanced.LossSD.Mean),
				"splits_rings":       formatFull(r.RingsByP[1].Uniform.Test.Mean),
			})
		})
	}
}

func TestGapOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.GapParams){
		"small":    func(p *experiment.GapParams) {},
		"one step": func(p *experiment.GapParams) { p.Budget, p.Patience, p.Groups = 1, 1, nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultGap()
			p.Groups, p.DataSets, p.Budget, p.K, p.Rings.K, p.Rings.Hidden = []int{2}, 2, 6, 6, 6, []int{4}
			change(&p)
			r := ran[*experiment.GapResult](t)(p.Run(t.Context()))
			testOutputs(t, r, map[string]string{"cv_gap_stopping": formatFull(r.Problems[len(r.Problems)-1].Stopped.Mean)})
		})
	}
}
