// Package kernels holds the experiments of notebooks 02_rings and 04_xor. A kernel is learned for
// two rings ([RingsParams]) and for XOR ([XORParams]), along each variant of the gradient
// ([Variant]). [GradientPartsParams] are the parameters of a measurement of the gradient's parts.
// [KernelCVGM] describes the CV loss as a function of the weights of the kernel. Experiments in
// other packages also minimise this CV loss.
package kernels

import (
	"iter"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/synth"
)

// KernelCVGM describes the CV loss of logistic regression on a learned kernel, and the gradient
// method for this loss. The kernel is a network that maps the plane to itself. The weights of the
// network are the hyperparameters.
type KernelCVGM struct {
	K        int     `help:"cross-validation splits" range:"[1,∞)" small:"[2,8]" setting:"CV loss: logistic loss of K = %v uniform splits"`
	P        float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.7,.9]" setting:"p = %v"`
	C        float64 `help:"weight of the logistic losses against the ridge penalty" range:"(0,∞)" small:"[.1,50]" setting:"logistic regression ½·‖θ‖² + C·Σ log(1+exp(−yᵢθᵀxᵢ)) on a network's outputs, C = %v, refitted at each step"`
	Hidden   []int   `help:"units of the network's hidden layers" range:"[1,∞)" small:"[2,8]" setting:"network: 2 inputs, hidden layers of %v rectified linear units, 2 outputs, initial weights uniform on ±1/√(inputs) of each layer"`
	StepSize float64 `help:"step size of the gradient method" range:"(0,∞)" small:"[.01,.3]" setting:"step of the gradient times %v"`
	Steps    int     `help:"steps of the gradient method" range:"[1,∞)" small:"[1,4]" setting:"%v steps"`
}

// Kernel returns the network of the kernel.
func (m KernelCVGM) Kernel() *cvgm.Perceptron {
	return &cvgm.Perceptron{Widths: slices.Concat([]int{2}, m.Hidden, []int{2})}
}

// NumHyperparameters returns the number of the network's weights.
func (m KernelCVGM) NumHyperparameters() int { return m.Kernel().NumParams() }

// Gradient returns the paper's gradient method.
func (m KernelCVGM) Gradient() search.Searcher { return GradientDescent(m.StepSize, m.Steps) }

// GradientDescent returns a searcher that takes the given number of steps. Each step is −size times
// the gradient. After the last step, the searcher evaluates the loss once more.
func GradientDescent(size float64, steps int) search.Searcher {
	return search.ProjectedGradient{StepSize: size, MaxEvals: steps + 1, Tol: -1}
}

// LastPoint returns the last point of a search.
func LastPoint(steps iter.Seq2[search.Step, error]) ([]float64, error) {
	var x []float64
	for step, err := range steps {
		if err != nil {
			return nil, err
		}
		x = append(x[:0], step.X...)
	}
	return x, nil
}

// The method use draws random splits of the examples d. It sets the objective of the setup s to the
// CV loss of these splits, with a variant of the gradient.
func (m KernelCVGM) use(s *experiment.Setup, v Variant, d learn.Data, src cvgm.Source) error {
	splits, err := cvgm.RandomSplits(src, len(d.Y), m.K, m.P)
	if err != nil {
		return err
	}
	phi := m.Kernel()
	cv, err := m.Loss(phi, v.Learner, s.Loss, d, splits)
	if err != nil {
		return err
	}
	s.CV, s.Splits = cv, splits
	if v.detached() {
		s.Objective = func(grad, params []float64) (float64, error) {
			loss, err := cv.Eval(grad, params)
			if err == nil && grad != nil {
				asTraining, _ := cv.FeatureCotangents()
				clear(grad)
				phi.Backward(grad, nil, asTraining)
			}
			return loss, err
		}
	}
	return nil
}

// Loss returns the CV loss of the examples d over the splits, as a CV. This CV uses one goroutine,
// because variants or cells run in parallel.
func (m KernelCVGM) Loss(phi *cvgm.Perceptron, learner func() learn.Learner, loss cvgm.Loss, d learn.Data, splits []cvgm.Split) (*cvgm.CV, error) {
	return cvgm.New(cvgm.Config{
		Data: d, Splits: splits, Learner: learner, Loss: loss,
		Features: phi, Hyper: []float64{m.C}, Workers: 1,
		Generalised: true, // the search may end at a kink that a unit of the network causes
	})
}

// torchStart returns the parameters that PyTorch gives to a new network after
// torch.manual_seed(seed).
func torchStart(phi *cvgm.Perceptron, seed uint32) []float64 {
	t := synth.NewTorch(uint64(seed))
	params := make([]float64, phi.NumParams())
	rest := params
	for l := 1; l < len(phi.Widths); l++ {
		in, out := phi.Widths[l-1], phi.Widths[l]
		t.Linear(rest[:in*out], rest[in*out:(in+1)*out])
		rest = rest[(in+1)*out:]
	}
	return params
}
