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

// A Setup is the problem of a search for hyperparameters. It has the data, the CV loss, and the
// start and the bounds of the search. The result of a search is judged by its risk, the mean of
// Loss on fresh examples. Only one goroutine may use a Setup.
type Setup struct {
	Train, Test learn.Data
	// Coef holds the coefficients of the population from which the data were drawn. Rule is the
	// best classifier for this population. If the population has no coefficients, Coef is nil. If
	// it has no best classifier, Rule is nil.
	Coef []float64
	Rule *synth.BayesRule

	CV                  *cvgm.CV
	Splits              []cvgm.Split // splits of CV, if the kernel is learned
	Start, Lower, Upper []float64    // nil Lower or Upper: no bounds
	Loss                cvgm.Loss    // loss of Risk
	// Objective is the function that a search minimises. Nil: the CV loss of the field CV.
	Objective search.Objective
	// Hyper maps a point of the search to hyperparameters of the CV. Nil: the hyperparameters are
	// the point itself.
	Hyper func(x []float64) []float64
}

// Objective returns the CV loss as the objective of a search. If ctx ends, the evaluation ends with
// an error.
func Objective(ctx context.Context, cv *cvgm.CV) search.Objective {
	return func(grad, x []float64) (float64, error) { return cv.EvalContext(ctx, grad, x) }
}

// Problem returns the problem for a [search.Searcher]. After ctx is done, an evaluation of the CV
// loss returns ctx's error.
func (s *Setup) Problem(ctx context.Context) search.Problem {
	p := search.Problem{Objective: s.Objective, Lower: s.Lower, Upper: s.Upper}
	if p.Objective == nil {
		p.Objective = Objective(ctx, s.CV)
	}
	return p
}

// Search runs the searcher from Start. If ctx is done, a running evaluation of the CV loss ends,
// and the next step is ctx's error.
func (s *Setup) Search(ctx context.Context, searcher search.Searcher) iter.Seq2[search.Step, error] {
	return Until(ctx, searcher.Search(s.Problem(ctx), s.Start))
}

// Model returns the model that is fitted to all training examples, with the hyperparameters at a
// point of the search.
func (s *Setup) Model(x []float64) (*cvgm.Model, error) {
	if s.Hyper != nil {
		x = s.Hyper(x)
	}
	return s.CV.Final(x)
}

// Risk returns the mean loss, on the examples d, of the model at a point of the search.
func (s *Setup) Risk(x []float64, d learn.Data) (float64, error) {
	model, err := s.Model(x)
	if err != nil {
		return 0, err
	}
	return model.Risk(s.Loss, d)
}

// TestLoss is Risk on the test examples.
func (s *Setup) TestLoss(x []float64) (float64, error) { return s.Risk(x, s.Test) }

// Evaluate returns the metrics, on the test examples, of the model at a point of the search.
func (s *Setup) Evaluate(x []float64) (Metrics, error) {
	model, err := s.Model(x)
	if err != nil {
		return Metrics{}, err
	}
	return Evaluate(model, s.Test)
}

// CVLoss returns the CV loss at the given hyperparameters, or ctx's error after ctx is done.
func (s *Setup) CVLoss(ctx context.Context, hyper []float64) (float64, error) {
	return s.CV.EvalContext(ctx, nil, hyper)
}

// Until yields the elements of a sequence. After ctx is done, it yields ctx's error and stops.
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

// Metrics judge a classifier on some examples. Loss is the mean logistic loss. Accuracy is the
// share of examples for which the prediction has the sign of the label.
type Metrics struct{ Loss, Accuracy float64 }

// Evaluate returns the metrics of a model on the examples d.
func Evaluate(m *cvgm.Model, d learn.Data) (Metrics, error) {
	return EvaluateFunc(func(dst []float64, x *mat.Dense) error { return m.Predict(dst, x) }, d)
}

// EvaluateFunc returns the metrics of a prediction function on the examples d.
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
