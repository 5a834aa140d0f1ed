package experiment

import (
	"context"
	"iter"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
)

// A Stepper runs the gradient method of an experiment one step at a time. It has no last step. Its
// first steps are the same as the steps of the experiment's Run.
type Stepper struct {
	*Setup

	Searcher search.Searcher
	Exact    *Setup // the same problem with the exact gradient of the loss; nil if the method already descends the exact gradient
}

// State is the state of the gradient method after a number of steps.
type State struct {
	Step   int
	X      []float64 // hyperparameters; valid until the next state
	CVLoss float64
	Model  *cvgm.Model // fitted to all training examples
	// Cosine is the cosine of the angle between two directions: the direction of the descent, and
	// the exact gradient of the same loss. If the two directions are the same, it is 1.
	Cosine float64
}

// States yields the states after 0, 1, 2, … steps. The sequence ends with the first error. Once ctx
// is done, this is ctx's error. The models of all states share the feature map of the CV, so only
// one goroutine may use the models.
func (w *Stepper) States(ctx context.Context) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		gradient := make([]float64, len(w.Start))
		for step, err := range w.Search(ctx, w.Searcher) {
			s := State{Step: step.Evaluations - 1, X: step.X, CVLoss: step.Loss, Cosine: 1}
			if err == nil && w.Exact != nil {
				if _, err = w.Exact.CV.EvalContext(ctx, gradient, step.X); err == nil {
					s.Cosine = Cosine(step.Grad, gradient)
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
