package kernels

import (
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/synth"
)

// AblationKernel describes a kernel that is learned twice: once along the gradient of the CV loss,
// and once along the gradient of the training loss. Models with these kernels are evaluated after
// several numbers of steps.
type AblationKernel struct {
	Test     int     `help:"test examples" range:"[1,∞)" small:"[10,50]" setting:"%v test examples"`
	Ks       []int   `help:"numbers of cross-validation splits" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[2,8]"`
	P        float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.7,.9]"`
	C        float64 `help:"weight of the logistic losses against the ridge penalty" range:"(0,∞)" small:"[.1,50]"`
	Hidden   []int   `help:"units of the network's hidden layers" range:"[1,∞)" small:"[2,8]"`
	StepSize float64 `help:"step size of both gradient methods" range:"(0,∞)" small:"[.01,.3]"`
	Budgets  []int   `help:"numbers of steps after which the models are judged" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[1,6]"`
}

// NewAblationKernel returns the kernel of m. The kernel is learned twice: once with m.K splits, and
// once with 64 splits, which is a quarter of the paper's number.
func NewAblationKernel(m KernelCVGM, budgets ...int) AblationKernel {
	return AblationKernel{Test: 1000, Ks: []int{64, m.K}, P: m.P, C: m.C, Hidden: m.Hidden, StepSize: m.StepSize, Budgets: budgets}
}

func (k AblationKernel) CVGM(splits int) KernelCVGM {
	return KernelCVGM{K: splits, P: k.P, C: k.C, Hidden: k.Hidden, StepSize: k.StepSize, Steps: slices.Max(k.Budgets)}
}

// AblationXOR describes a kernel that is learned for XOR.
type AblationXOR struct {
	XORData
	AblationKernel
	Train int `help:"training examples of XOR" range:"[4,∞)" small:"[8,20]" setting:"N = %v"`
}

// These constants are the names of the problems with a learned kernel.
const (
	ProblemRings = "rings, learned kernel"
	ProblemXOR   = "XOR, learned kernel"
)

// AblationStream returns a function for one data set. The function maps a purpose to a stream of
// random numbers.
func AblationStream(seed uint64, problem string) func(purpose string) *synth.Stream {
	return func(purpose string) *synth.Stream { return synth.NewStream(seed, "ablation, "+problem+": "+purpose) }
}

// Setup draws data, splits and initial weights. The parameter v is the variant of the gradient.
func (p AblationXOR) Setup(v Variant, splits int, stream func(purpose string) *synth.Stream) (*experiment.Setup, error) {
	train, errTrain := synth.MakeXOR(stream("training squares"), stream("training data"), p.Train, p.xor())
	test, errTest := synth.MakeXOR(stream("test squares"), stream("test data"), p.Test, p.xor())
	if err := experiment.FirstError(errTrain, errTest); err != nil {
		return nil, err
	}
	m := p.CVGM(splits)
	s := &experiment.Setup{Train: experiment.Rows(train, 0, p.Train), Test: experiment.Rows(test, 0, p.Test), Loss: cvgm.LogisticLoss{}}
	phi := m.Kernel()
	s.Start = make([]float64, phi.NumParams())
	phi.Init(s.Start, stream("weights"))
	return s, m.use(s, v, s.Train, stream("splits"))
}
