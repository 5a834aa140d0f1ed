package learntest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/penalised"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// Every error begins with the name of its learner or with its package.
func TestErrorsNameTheLearner(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, -2}), Y: []float64{1, -1}}
	for _, l := range []learn.Learner{new(linear.ElasticNet), new(linear.Huber), new(linear.Logistic), new(linear.SparseLogistic),
		new(margin.SVM), new(margin.LearnedLoss), new(kernel.Ridge), new(kernel.SVM), new(penalised.GLM), &smooth.Learner{Objective: casetest.LinearModel(casetest.HalfSquare)}} {
		name := strings.TrimPrefix(fmt.Sprintf("%T", l), "*")
		nt, _ := l.Dims(1)
		theta := make([]float64, nt)
		for i, err := range []error{l.Load(learn.Data{}), l.Fit(theta, nil), l.Load(d), l.Fit(theta, nil), l.VJP(nil, nil, theta)} {
			message, loaded := fmt.Sprint(err), i == 2
			if loaded && err != nil || !loaded && !strings.HasPrefix(message, name+": ") || strings.Contains(message, "empty ("+qpdiff.ErrShape.Error()) {
				t.Errorf("%T, call %d: %q", l, i, message)
			}
		}
		for i, err := range unfittedErrors(l) {
			if message := fmt.Sprint(err); message != name+": no successful fit yet: call Load and Fit first" {
				t.Errorf("%T, list %d: %q", l, i, message)
			}
		}
	}
	nothing, few := new(kernel.Model), &kernel.Model{X: d.Dense()}
	var s qpdiff.Solution
	for want, err := range map[string]error{
		"kernel.Model: x is nil: ":                                  nothing.Predict(nil, nil),
		"kernel.Model: Model.Coef has 0 entries ":                   few.Predict(nil, d.Dense()),
		"qpdiff: q is nil: ":                                        s.Solve(nil),
		"qpdiff: QP.P is empty: ":                                   s.Solve(&qpdiff.QP{}),
		"qpdiff: QP.H has 1 entries for no row (wrong shape): give": s.Solve(&qpdiff.QP{P: d.Y, H: d.Y[:1]}),
	} {
		if message := fmt.Sprint(err); !strings.HasPrefix(message, want) || !errors.Is(err, qpdiff.ErrShape) {
			t.Errorf("%q instead of %q", message, want)
		}
	}
	if err := s.Solve(nil); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("of no program: %v", err)
	}
}

// unfittedErrors returns the errors of methods that need a fit, for a learner without a fit.
func unfittedErrors(l learn.Learner) (errs []error) {
	add := func(err error) { errs = append(errs, err) }
	if l, ok := l.(interface {
		Multipliers([]float64) ([]float64, error)
	}); ok {
		_, err := l.Multipliers(nil)
		add(err)
	}
	if l, ok := l.(interface{ SupportVectors([]int) ([]int, error) }); ok {
		_, err := l.SupportVectors(nil)
		add(err)
	}
	if l, ok := l.(interface{ Elbow([]int) ([]int, error) }); ok {
		_, err := l.Elbow(nil)
		add(err)
	}
	if l, ok := l.(interface {
		Coefficients([]float64) ([]float64, error)
	}); ok {
		_, err := l.Coefficients(nil)
		add(err)
	}
	if l, ok := l.(kernel.Machine); ok {
		_, err := l.Model()
		add(err)
	}
	return errs
}
