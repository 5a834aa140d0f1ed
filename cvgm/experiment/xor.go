package experiment

import (
	"context"

	"cvgm/synth"
)

// XORParams are the parameters of the paper's third experiment, "XOR
// Experiment" of the supplement.
type XORParams struct {
	Overlap float64 `help:"how far a square reaches beyond the axes, as a share of its reach on its own side"`
	Scale   float64 `help:"all coordinates are multiplied by this"`
	LearnedKernelParams
}

// PaperXOR returns the parameters under which the published code printed its
// results. The paper states N, the squares and the network; C, the number of
// steps and the rest are those of the code.
func PaperXOR() XORParams {
	return XORParams{
		Overlap: .2, Scale: 3,
		LearnedKernelParams: LearnedKernelParams{
			Seed: 0, Train: 100, Test: 1000,
			KernelMethod: KernelMethod{K: 256, P: .95, C: 50, Hidden: []int{64, 64}, StepSize: .1, Steps: 50},
			Panels:       []int{1, 2, 5, 50}, GridPoints: 100, GridHalf: 3,
		},
	}
}

func (p XORParams) xor() synth.XOR { return synth.XOR{Overlap: p.Overlap, Scale: p.Scale} }

// Run draws the data, the splits and the initial weights of the published run
// and walks every Variant from there.
func (p XORParams) Run(ctx context.Context) (*LearnedKernelResult, error) {
	return p.run(ctx, p.draw, kernelQuotes{
		bayes: Quoted{Paper: ".851", Code: ".851"}, loss: Quoted{Code: ".3172"}, accuracy: Quoted{Paper: ".72", Code: ".716"},
	})
}

func (p XORParams) draw() (k kernelProblem, err error) {
	if err := p.check(); err != nil {
		return k, err
	}
	rule, err := p.xor().Bayes()
	if err != nil {
		return k, err
	}
	square, src := synth.NewPython(int64(p.Seed)), synth.NewNumPy(p.Seed)
	train, err := synth.MakeXOR(square, src, p.Train, p.xor())
	if err != nil {
		return k, err
	}
	test, err := synth.MakeXOR(square, src, p.Test, p.xor())
	if err != nil {
		return k, err
	}
	return p.problem(rule, train, test, src)
}
