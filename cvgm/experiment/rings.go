package experiment

import (
	"context"

	"cvgm/cvgm"
	"cvgm/synth"
)

func init() {
	register[RingsParams]("rings", "A kernel learned for two rings, along five variants of the gradient")
}

// RingsData describes the two rings that the paper's second experiment tells
// apart.
type RingsData struct {
	InnerRadius float64 `help:"mean radius of the class -1" range:"[0,1e50]" below:"OuterRadius" small:"[.5,1]"`
	OuterRadius float64 `help:"mean radius of the class +1" range:"(0,1e50]" small:"[1.5,3]"`
	RadiusSD    float64 `help:"standard deviation of the radii" range:"[1e-50,1e50]" small:"[.1,.6]"`
}

func (d RingsData) rings() synth.Rings {
	return synth.Rings{Radii: [2]float64{d.InnerRadius, d.OuterRadius}, SD: d.RadiusSD}
}

// draw draws n training examples and then m test examples.
func (d RingsData) draw(train, test synth.Source, n, m int) (*Setup, error) {
	rule, err := d.rings().Bayes()
	first, errFirst := synth.MakeRings(train, n, d.rings())
	second, errSecond := synth.MakeRings(test, m, d.rings())
	if err := firstError(err, errFirst, errSecond); err != nil {
		return nil, err
	}
	return &Setup{Train: rows(first, 0, n), Test: rows(second, 0, m), Rule: rule, Loss: cvgm.LogisticLoss{}}, nil
}

// RingsProblem is a kernel learned for fresh rings.
type RingsProblem struct {
	RingsData
	Train int `help:"training examples of the rings" range:"[2,∞)" small:"[24,40]"`
	Test  int `help:"test examples of the rings" range:"[1,∞)" small:"[10,50]"`
	KernelCVGM
}

func paperRings() RingsProblem {
	return RingsProblem{
		RingsData: RingsData{InnerRadius: 1, OuterRadius: 2, RadiusSD: .4}, Train: 60, Test: 1000,
		KernelCVGM: KernelCVGM{K: 256, P: .95, C: 10, Hidden: []int{64}, StepSize: .1, Steps: 100},
	}
}

// setup draws data, splits and initial weights from one stream per purpose; the
// caller names that of the splits. The CV loss is that of the given rows of the
// training examples; nil: all.
func (p RingsProblem) setup(v Variant, stream func(purpose string) *synth.Stream, splits string, rows []int) (*Setup, error) {
	s, err := p.draw(stream("training data"), stream("test data"), p.Train, p.Test)
	if err != nil {
		return nil, err
	}
	phi := p.kernel()
	s.Start = make([]float64, phi.NumParams())
	phi.Init(s.Start, stream("weights"))
	return s, p.use(s, v, pick(s.Train, rows), stream(splits))
}

// RingsParams are the parameters of the paper's second experiment, "Synthetic
// Classification Data".
type RingsParams struct {
	RingsData
	LearnedKernel
}

// DefaultRings returns the parameters under which the published code printed its
// results. The paper states N, C, K, p, the step size and the network; the
// seeds, the number of steps and the initial weights are those of the code.
func DefaultRings() RingsParams {
	q := paperRings()
	return RingsParams{
		RingsData: q.RingsData,
		LearnedKernel: LearnedKernel{
			Train: q.Train, Test: q.Test, KernelCVGM: q.KernelCVGM,
			ManifoldSteps: []int{1, 10, 20, 100}, GridPoints: 100, GridHalf: 3,
		},
	}
}

func (RingsParams) defaults() any { return DefaultRings() }

// RingsResult is what Run measures.
type RingsResult struct {
	Params RingsParams
	LearnedKernelResult
}

// Run draws the data, the splits and the initial weights of the published run
// and follows every Variant from there.
func (p RingsParams) Run(ctx context.Context) (*RingsResult, error) {
	r, err := p.run(ctx, p.draw)
	if err != nil {
		return nil, err
	}
	return &RingsResult{p, *r}, nil
}

// Stepper draws what Run draws.
func (p RingsParams) Stepper(v Variant) (*Stepper, error) { return p.stepper(v, p.draw) }

// draw draws the data, and returns the generator for the splits.
func (p RingsParams) draw() (*Setup, synth.Source, error) {
	if err := Check(&p); err != nil {
		return nil, nil, err
	}
	src := synth.NewNumPy(p.Seed)
	s, err := p.RingsData.draw(src, src, p.Train, p.Test)
	return s, src, err
}
