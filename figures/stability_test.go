package figures

import (
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/stability"
	"cvgm/figures/internal/chart"
)

func TestStabilityOutputs(t *testing.T) {
	for name, change := range map[string]func(p *stability.StabilityParams){
		"small": func(p *stability.StabilityParams) {},
		"one setting": func(p *stability.StabilityParams) {
			p.Draw, p.DataSets, p.RidgeLambda2, p.ElasticNetLambda1, p.LogisticC, p.PathSteps = 8, 2, []float64{7}, []float64{2}, []float64{9}, []int{1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := stability.DefaultStability()
			p.DataSets, p.FreshExamples, p.PathSteps = 4, 20, []int{1, 5}
			change(&p)
			r := mustRun[*stability.Result](t)(p.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{
				"stability_identity":   chart.FormatFull(r.Learners[2].Parts[0].Delta.Mean),
				"stability_along_path": chart.FormatFull(r.CVLoss[len(r.CVLoss)-1]),
			})
		})
	}
}
