package kernels

import (
	"context"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/synth"
)

// RingsData describes the two rings that the paper's second experiment separates.
type RingsData struct {
	InnerRadius float64 `help:"mean radius of the class -1" range:"[0,1e50]" below:"OuterRadius" small:"[.5,1]" setting:"rings: two classes of equal size around the origin, radii normal with mean %v for the label −1"`
	OuterRadius float64 `help:"mean radius of the class +1" range:"(0,1e50]" small:"[1.5,3]" setting:"mean %v for the label 1"`
	RadiusSD    float64 `help:"standard deviation of the radii" range:"[1e-50,1e50]" small:"[.1,.6]" setting:"standard deviation %v"`
}

func (d RingsData) Rings() synth.Rings {
	return synth.Rings{Radii: [2]float64{d.InnerRadius, d.OuterRadius}, SD: d.RadiusSD}
}

// Examples draws n training examples and then m test examples.
func (d RingsData) Examples(train, test synth.Source, n, m int) (*experiment.Setup, error) {
	rule, err := d.Rings().Bayes()
	first, errFirst := synth.MakeRings(train, n, d.Rings())
	second, errSecond := synth.MakeRings(test, m, d.Rings())
	if err := experiment.FirstError(err, errFirst, errSecond); err != nil {
		return nil, err
	}
	return &experiment.Setup{Train: experiment.Rows(first, 0, n), Test: experiment.Rows(second, 0, m), Rule: rule, Loss: cvgm.LogisticLoss{}}, nil
}

// RingsProblem describes a kernel that is learned for fresh rings.
type RingsProblem struct {
	RingsData
	Train int `help:"training examples of the rings" range:"[2,∞)" small:"[24,40]" setting:"N = %v"`
	Test  int `help:"test examples of the rings" range:"[1,∞)" small:"[10,50]" setting:"%v test examples"`
	KernelCVGM
}

func PaperRings() RingsProblem {
	return RingsProblem{
		RingsData: RingsData{InnerRadius: 1, OuterRadius: 2, RadiusSD: .4}, Train: 60, Test: 1000,
		KernelCVGM: KernelCVGM{K: 256, P: .95, C: 10, Hidden: []int{64}, StepSize: .1, Steps: 100},
	}
}

// Setup draws data, splits and initial weights. Each purpose has a separate stream of random
// numbers. The parameter splitPurpose is the purpose of the stream for the splits. The parameter
// rows lists the training examples that the CV loss uses. If it is nil, the CV loss uses all
// training examples.
func (p RingsProblem) Setup(v Variant, stream func(purpose string) *synth.Stream, splitPurpose string, rows []int) (*experiment.Setup, error) {
	s, err := p.Examples(stream("training data"), stream("test data"), p.Train, p.Test)
	if err != nil {
		return nil, err
	}
	phi := p.Kernel()
	s.Start = make([]float64, phi.NumParams())
	phi.Init(s.Start, stream("weights"))
	return s, p.use(s, v, experiment.Pick(s.Train, rows), stream(splitPurpose))
}

// RingsParams are the parameters of the paper's second experiment, "Synthetic
// Classification Data".
type RingsParams struct {
	RingsData
	LearnedKernel
}

// DefaultRings returns the parameters with which the published code printed its results. The paper
// gives N, C, K, p, the step size and the network. The seeds, the number of steps and the initial
// weights are only in the code.
func DefaultRings() RingsParams {
	q := PaperRings()
	return RingsParams{
		RingsData: q.RingsData,
		LearnedKernel: LearnedKernel{
			Train: q.Train, Test: q.Test, KernelCVGM: q.KernelCVGM,
			ManifoldSteps: []int{1, 10, 20, 100}, GridPoints: 100, GridHalf: 3,
		},
	}
}

func (RingsParams) Defaults() any { return DefaultRings() }

// RingsResult is the result of Run.
type RingsResult struct {
	Params RingsParams
	LearnedKernelResult
}

// Run draws the data, the splits and the initial weights of the published run. It then follows
// every Variant.
func (p RingsParams) Run(ctx context.Context, hooks experiment.Hooks) (*RingsResult, error) {
	r, err := p.run(ctx, hooks, p.Draw)
	if err != nil {
		return nil, err
	}
	return &RingsResult{p, *r}, nil
}

// Stepper returns a stepper along a variant, with the same data, splits and weights as in Run.
func (p RingsParams) Stepper(v Variant) (*experiment.Stepper, error) { return p.stepper(v, p.Draw) }

// Draw draws the data. It also returns the generator that draws the splits.
func (p RingsParams) Draw() (*experiment.Setup, synth.Source, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, nil, err
	}
	src := synth.NewNumPy(p.Seed)
	s, err := p.Examples(src, src, p.Train, p.Test)
	return s, src, err
}
