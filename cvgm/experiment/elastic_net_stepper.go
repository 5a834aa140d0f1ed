package experiment

import (
	"context"
	"iter"
	"math"

	"cvgm/cvgm"
)

// An ElasticNetStepper is the gradient method on an elastic net's penalties, one
// step at a time and without end. Its first steps are those that Run takes.
type ElasticNetStepper struct {
	*Setup
	// LeastSquares and TrueCoefficients are the test losses of the fit without
	// penalties and of Coef.
	LeastSquares, TrueCoefficients float64

	params ElasticNetParams
}

// Stepper draws what Run draws.
func (p ElasticNetParams) Stepper() (*ElasticNetStepper, error) {
	if err := check(&p); err != nil {
		return nil, err
	}
	s, _, err := p.published(p.PublishedRegression)
	if err != nil {
		return nil, err
	}
	w := &ElasticNetStepper{Setup: s, TrueCoefficients: linearRisk(s.Test, s.Coef, asIs), params: p}
	w.LeastSquares, err = s.TestLoss(leastSquares)
	return w, err
}

// ElasticNetState is the state of the gradient method after a number of steps.
// The losses are mean squared errors.
type ElasticNetState struct {
	Step                        int
	Lambda                      [2]float64
	CVLoss, TrainLoss, TestLoss float64
	Model                       *cvgm.Model // fitted to all training examples
}

// States yields the states after 0, 1, 2, … steps, to the first error.
func (w *ElasticNetStepper) States() iter.Seq2[ElasticNetState, error] {
	return func(yield func(ElasticNetState, error) bool) {
		for step, err := range w.Search(context.Background(), w.params.gradient(math.MaxInt)) {
			s := ElasticNetState{Step: step.Evaluations - 1, CVLoss: step.Loss}
			if err == nil {
				s.Lambda = [2]float64(step.X)
				s.Model, err = w.Model(step.X)
			}
			if err == nil {
				s.TrainLoss, err = s.Model.Risk(w.Loss, w.Train)
			}
			if err == nil {
				s.TestLoss, err = s.Model.Risk(w.Loss, w.Test)
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// CVSurface evaluates the CV loss on a grid. The evaluations move the warm
// starts of States by rounding: use a Stepper of its own.
func (w *ElasticNetStepper) CVSurface(grid SurfaceGrid) (ElasticNetSurface, error) {
	return grid.evaluate(context.Background(), w.Setup, false)
}
