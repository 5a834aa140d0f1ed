package kernels

import (
	"context"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/synth"
)

// XORData describes the overlapping squares of the paper's third experiment.
type XORData struct {
	Overlap float64 `help:"how far a square reaches beyond the axes, as a share of its reach on its own side" range:"[1e-50,1]" small:"[.05,.5]" setting:"XOR: label 1 uniform on I×I and J×J, label −1 on I×J and J×I, with I = [−s, a·s], J = [−a·s, s], a = %v"`
	Scale   float64 `help:"all coordinates are multiplied by this" range:"[1e-50,1e50]" small:"[1,5]" setting:"s = %v"`
}

func (d XORData) xor() synth.XOR { return synth.XOR{Overlap: d.Overlap, Scale: d.Scale} }

// XORParams are the parameters of the paper's third experiment, "XOR Experiment" of the supplement.
type XORParams struct {
	XORData
	LearnedKernel
}

// DefaultXOR returns the parameters with which the published code printed its results. The paper
// gives N, the squares and the network. C, the number of steps and the other parameters are only in
// the code.
func DefaultXOR() XORParams {
	return XORParams{
		XORData: XORData{Overlap: .2, Scale: 3},
		LearnedKernel: LearnedKernel{
			Train: 100, Test: 1000,
			KernelCVGM:    KernelCVGM{K: 256, P: .95, C: 50, Hidden: []int{64, 64}, StepSize: .1, Steps: 50},
			ManifoldSteps: []int{1, 2, 5, 50}, GridPoints: 100, GridHalf: 3,
		},
	}
}

func (XORParams) Defaults() any { return DefaultXOR() }

// XORResult is the result of Run.
type XORResult struct {
	Params XORParams
	LearnedKernelResult
}

// Run draws the data, the splits and the initial weights of the published run. It then follows
// every Variant.
func (p XORParams) Run(ctx context.Context, hooks experiment.Hooks) (*XORResult, error) {
	r, err := p.run(ctx, hooks, p.Draw)
	if err != nil {
		return nil, err
	}
	return &XORResult{p, *r}, nil
}

// Stepper returns a stepper that follows a variant of the gradient. The data, the splits and the
// weights are the same as in Run.
func (p XORParams) Stepper(v Variant) (*experiment.Stepper, error) { return p.stepper(v, p.Draw) }

// Draw draws the data. It also returns the generator that draws the splits.
func (p XORParams) Draw() (*experiment.Setup, synth.Source, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, nil, err
	}
	square, src := synth.NewPython(int64(p.Seed)), synth.NewNumPy(p.Seed)
	rule, err := p.xor().Bayes()
	train, errTrain := synth.MakeXOR(square, src, p.Train, p.xor())
	test, errTest := synth.MakeXOR(square, src, p.Test, p.xor())
	if err := experiment.FirstError(err, errTrain, errTest); err != nil {
		return nil, nil, err
	}
	return &experiment.Setup{Train: experiment.Rows(train, 0, p.Train), Test: experiment.Rows(test, 0, p.Test), Rule: rule, Loss: cvgm.LogisticLoss{}}, src, nil
}
