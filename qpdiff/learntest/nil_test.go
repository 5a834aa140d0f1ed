package learntest_test

import (
	"errors"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/penalised"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// A nil argument causes an error that names the argument, before and after a Fit.
func TestNilIsAnArgError(t *testing.T) {
	d := learn.Data{X: mat.NewDense(6, 2, []float64{1, 2, 3, -4, 5, 7, 7, 8, -9, 9, 1, 3}), Y: []float64{1, -1, 1, -1, 1, -1}}
	one := make([]float64, 6)
	x := d.Dense()
	type call struct {
		name string
		run  func() error
	}
	for _, l := range []learn.Learner{&linear.ElasticNet{}, &linear.Huber{}, &linear.Logistic{}, &linear.SparseLogistic{}, &margin.SVM{}, &margin.LearnedLoss{}, &kernel.SVM{}, &kernel.Ridge{}} {
		numtest.OK(t, l.Load(d))
		thetas, hypers := l.Dims(2)
		dtheta, hyper := make([]float64, thetas), make([]float64, hypers)
		for i := range hyper {
			hyper[i] = .5
		}
		calls := []call{{"VJP", func() error { return l.VJP(nil, nil, dtheta) }}}
		if l, ok := l.(learn.ForwardLearner); ok {
			calls = append(calls, call{"JVP", func() error { return l.JVP(nil, dtheta, nil) }})
		}
		if l, ok := l.(interface {
			learn.Predictor
			PredictJVP(w *qpdiff.Workspace, dst []float64, x, dx *mat.Dense, d *learn.Grad) error
		}); ok {
			calls = append(calls,
				call{"Predict", func() error { return l.Predict(nil, one, nil) }},
				call{"PredictVJP of no rows", func() error { return l.PredictVJP(nil, &learn.Grad{}, nil, nil, one) }},
				call{"PredictVJP", func() error { return l.PredictVJP(nil, nil, nil, x, one) }},
				call{"PredictJVP of no rows", func() error { return l.PredictJVP(nil, one, nil, nil, &learn.Grad{}) }},
				call{"PredictJVP", func() error { return l.PredictJVP(nil, one, x, nil, nil) }})
		}
		for _, c := range calls {
			if err := c.run(); !errors.Is(err, qpdiff.ErrNotFitted) {
				t.Errorf("%T before a Fit: %s: error %v", l, c.name, err)
			}
		}
		if err := l.Fit(make([]float64, thetas), hyper); err != nil {
			t.Fatalf("%T: %v", l, err)
		}
		for _, c := range calls {
			wantArgError(t, c.name, c.run)
		}
	}
	ridge := &kernel.Ridge{}
	numtest.OK(t, ridge.Load(d), ridge.LeaveOneOut(make([]float64, 6), []float64{.5, .5}))
	wantArgError(t, "LeaveOneOutVJP", func() error { return ridge.LeaveOneOutVJP(nil, nil, nil, one) })
	wantArgError(t, "Model.Predict", func() error { return (&kernel.Model{}).Predict(one, nil) })

	var s qpdiff.Solution
	wantArgError(t, "Solution.Solve", func() error { return s.Solve(nil) })
	numtest.OK(t, s.Solve(&qpdiff.QP{P: []float64{1}, G: mat.NewDense(1, 1, []float64{-1}), H: []float64{0}}))
	wantArgError(t, "Solution.VJP", func() error { return s.VJP(nil, nil, []float64{1}, nil, nil) })
	wantArgError(t, "Solution.JVP", func() error { return s.JVP(nil, []float64{0}, nil, nil, nil) })
	wantArgError(t, "Solution.DirectionalDerivative", func() error { return s.DirectionalDerivative(nil, []float64{0}, nil, nil, nil) })
}

func wantArgError(t *testing.T, name string, call func() error) {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s panics: %v", name, r)
		}
	}()
	var arg *qpdiff.ArgError
	if err := call(); !errors.As(err, &arg) {
		t.Errorf("%s: error %v", name, err)
	}
}

// Load returns an error for a dense X with a Centre or a Scale.
func TestCentreOfDenseData(t *testing.T) {
	for _, l := range []learn.Learner{&linear.ElasticNet{}, &linear.Huber{}, &linear.Logistic{}, &linear.SparseLogistic{}, &margin.SVM{}, &margin.LearnedLoss{}, &kernel.SVM{}, &kernel.Ridge{}, &penalised.GLM{}, &smooth.Learner{}} {
		for _, d := range []learn.Data{{Centre: []float64{1}}, {Scale: []float64{1}}} {
			d.X, d.Y = mat.NewDense(2, 1, []float64{1, 2}), []float64{1, -1}
			if err := l.Load(d); !errors.Is(err, qpdiff.ErrDomain) {
				t.Errorf("%T loads a dense X with a Centre or Scale: %v", l, err)
			}
		}
	}
}
