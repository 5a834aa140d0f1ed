package experiment

import (
	"context"
	"iter"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// A Setup is the problem of a search for hyperparameters: a data set, its CV loss, the start and
// bounds of the search, and the risk that judges its result. It belongs to one goroutine.
type Setup struct {
	Train, Test learn.Data
	// Coef are the coefficients of the population from which the data comes, and Rule is its best
	// rule. They are nil if there are none.
	Coef []float64
	Rule *synth.BayesRule

	CV                  *cvgm.CV
	Splits              []cvgm.Split // of CV, if the kernel is learned
	Start, Lower, Upper []float64    // nil bounds: none
	Loss                cvgm.Loss    // of Risk
	// Objective is the function that a search descends; nil: CV.Eval.
	Objective search.Objective
	// Hyper maps a point of the search to the CV's hyperparameters. Nil: the point itself.
	Hyper func(x []float64) []float64
}

// Problem returns the search's problem.
func (s *Setup) Problem() search.Problem {
	p := search.Problem{Objective: s.Objective, Lower: s.Lower, Upper: s.Upper}
	if p.Objective == nil {
		p.Objective = s.CV.Eval
	}
	return p
}

// Search searches from Start. After ctx is done, the next step is ctx's error.
func (s *Setup) Search(ctx context.Context, searcher search.Searcher) iter.Seq2[search.Step, error] {
	return Until(ctx, searcher.Search(s.Problem(), s.Start))
}

// Model returns the model at a point of the search, fitted to all training examples.
func (s *Setup) Model(x []float64) (*cvgm.Model, error) {
	if s.Hyper != nil {
		x = s.Hyper(x)
	}
	return s.CV.Final(x)
}

// Risk returns the mean loss on d of the model at a point of the search.
func (s *Setup) Risk(x []float64, d learn.Data) (float64, error) {
	model, err := s.Model(x)
	if err != nil {
		return 0, err
	}
	return model.Risk(s.Loss, d)
}

// TestLoss is Risk on the test examples.
func (s *Setup) TestLoss(x []float64) (float64, error) { return s.Risk(x, s.Test) }

// Evaluate returns the metrics on the test examples of the model at a point of the
// search.
func (s *Setup) Evaluate(x []float64) (Metrics, error) {
	model, err := s.Model(x)
	if err != nil {
		return Metrics{}, err
	}
	return Evaluate(model, s.Test)
}

// CVLoss returns the CV loss at hyperparameters.
func (s *Setup) CVLoss(hyper []float64) (float64, error) { return s.CV.Eval(nil, hyper) }

// Until yields the values of steps. After ctx is done, it yields ctx's error in place of the next
// step.
func Until[S any](ctx context.Context, steps iter.Seq2[S, error]) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		for s, err := range steps {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(s, err) || err != nil {
				return
			}
		}
	}
}

// Metrics are the mean logistic loss of a classifier on some examples, and its accuracy: the share
// of examples whose prediction has the sign of the label.
type Metrics struct{ Loss, Accuracy float64 }

// Evaluate evaluates a model on the examples.
func Evaluate(m *cvgm.Model, d learn.Data) (Metrics, error) {
	return EvaluateFunc(func(dst []float64, x *mat.Dense) error { return m.Predict(dst, x) }, d)
}

// EvaluateFunc evaluates a prediction function.
func EvaluateFunc(predict func(dst []float64, x *mat.Dense) error, d learn.Data) (Metrics, error) {
	predictions := make([]float64, len(d.Y))
	if err := predict(predictions, d.Dense()); err != nil {
		return Metrics{}, err
	}
	var m Metrics
	for i, v := range predictions {
		loss, _ := cvgm.LogisticLoss{}.Eval(v, d.Y[i])
		m.Loss += loss
		if v*d.Y[i] > 0 {
			m.Accuracy++
		}
	}
	n := float64(len(d.Y))
	return Metrics{m.Loss / n, m.Accuracy / n}, nil
}
