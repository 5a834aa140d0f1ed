package learntest_test

import (
	"fmt"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// Errors of a learner begin with its package and name, and call nothing a wrong shape that
// is missing or empty.
func TestErrorsNameTheLearner(t *testing.T) {
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, -2}), Y: []float64{1, -1}}
	for _, l := range []learn.Learner{new(linear.ElasticNet), new(linear.Huber), new(linear.Logistic), new(linear.SparseLogistic),
		new(margin.SVM), new(margin.LearnedLoss), new(kernel.Ridge), new(kernel.SVM), &smooth.Learner{Objective: casetest.LinearModel(casetest.HalfSquare)}} {
		name := strings.TrimPrefix(fmt.Sprintf("%T", l), "*")
		nt, _ := l.Dims(1)
		theta := make([]float64, nt)
		for i, err := range []error{l.Load(learn.Data{}), l.Fit(theta, nil), l.Load(d), l.Fit(theta, nil), l.VJP(nil, nil, theta)} {
			message, loaded := fmt.Sprint(err), i == 2
			if loaded && err != nil || !loaded && !strings.HasPrefix(message, name+": ") || strings.Contains(message, "empty ("+qpdiff.ErrShape.Error()) {
				t.Errorf("%T, call %d: %q", l, i, message)
			}
		}
	}
}
