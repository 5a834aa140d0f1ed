package experiment

import (
	"context"

	"cvgm/synth"
)

// RingsData describes the two rings that the paper's second experiment tells
// apart.
type RingsData struct {
	InnerRadius float64 `help:"mean radius of the class -1"`
	OuterRadius float64 `help:"mean radius of the class +1"`
	RadiusSD    float64 `help:"standard deviation of the radii"`
}

func (d RingsData) rings() synth.Rings {
	return synth.Rings{Radii: [2]float64{d.InnerRadius, d.OuterRadius}, SD: d.RadiusSD}
}

// RingsParams are the parameters of the paper's second experiment, "Synthetic
// Classification Data".
type RingsParams struct {
	RingsData
	LearnedKernelParams
}

// PaperRings returns the parameters under which the published code printed its
// results. The paper states N, C, K, p, the step size and the network; the
// seeds, the number of steps and the initial weights are those of the code.
func PaperRings() RingsParams {
	return RingsParams{
		RingsData: paperRingsData,
		LearnedKernelParams: LearnedKernelParams{
			Seed: 0, Train: 60, Test: 1000,
			KernelMethod: paperRingsMethod(),
			Panels:       []int{1, 10, 20, 100}, GridPoints: 100, GridHalf: 3,
		},
	}
}

var paperRingsData = RingsData{InnerRadius: 1, OuterRadius: 2, RadiusSD: .4}

func paperRingsMethod() KernelMethod {
	return KernelMethod{K: 256, P: .95, C: 10, Hidden: []int{64}, StepSize: .1, Steps: 100}
}

// Run draws the data, the splits and the initial weights of the published run
// and walks every Variant from there.
func (p RingsParams) Run(ctx context.Context) (*LearnedKernelResult, error) {
	return p.run(ctx, p.draw, kernelQuotes{
		bayes: Quoted{Paper: ".894"}, loss: Quoted{Code: ".33595"}, accuracy: Quoted{Paper: ".898", Code: ".899"},
	})
}

func (p RingsParams) draw() (k kernelProblem, err error) {
	if err := p.check(); err != nil {
		return k, err
	}
	rule, err := p.rings().Bayes()
	if err != nil {
		return k, err
	}
	src := synth.NewNumPy(p.Seed)
	train, err := synth.MakeRings(src, p.Train, p.rings())
	if err != nil {
		return k, err
	}
	test, err := synth.MakeRings(src, p.Test, p.rings())
	if err != nil {
		return k, err
	}
	return p.problem(rule, train, test, src)
}
