package experiment

import (
	"context"
	"iter"
	"math"

	"cvgm/cvgm"
)

// A KernelStepper is one variant of the gradient method on a learned kernel, one
// step at a time and without end. Its first steps are those that Run takes.
type KernelStepper struct {
	*Setup

	stepSize float64
	exact    *Setup // of the exact gradient of the same loss; nil where the variant is that gradient
}

func (p LearnedKernel) stepper(v Variant, draw drawKernel) (*KernelStepper, error) {
	s, err := p.setup(v, draw)
	if err != nil {
		return nil, err
	}
	w := &KernelStepper{Setup: s, stepSize: p.StepSize}
	if v.detached() {
		w.exact, err = p.setup(v.exact(), draw)
	}
	return w, err
}

// KernelState is the state of the gradient method after a number of steps.
type KernelState struct {
	Step   int
	CVLoss float64
	Model  *cvgm.Model // fitted to all training examples
	// Cosine is that between the variant's direction and the exact gradient of
	// the same loss: 1 where the variant is that gradient.
	Cosine float64
}

// States yields the states after 0, 1, 2, … steps, to the first error. All
// their models share the CV's feature map, and with it one goroutine.
func (w *KernelStepper) States() iter.Seq2[KernelState, error] {
	return func(yield func(KernelState, error) bool) {
		gradient := make([]float64, len(w.Start))
		for step, err := range w.Search(context.Background(), gradientDescent(w.stepSize, math.MaxInt-1)) {
			s := KernelState{Step: step.Evaluations - 1, CVLoss: step.Loss, Cosine: 1}
			if err == nil && w.exact != nil {
				if _, err = w.exact.CV.Eval(gradient, step.X); err == nil {
					s.Cosine = cosine(step.Grad, gradient)
				}
			}
			if err == nil {
				s.Model, err = w.Model(step.X)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}
