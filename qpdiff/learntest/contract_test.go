package learntest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
)

// These learners count rows; the contract accepts refusals as well.
func TestLearnersThatCountRows(t *testing.T) {
	d := casetest.RandomData(1, 12, 2, true)
	d.Rows = []int{0, 1, 1, 2, 3, 4, 5, 6, 7, 8}
	d.Weights = numtest.NaNs(12, 0)
	for i := range d.Weights {
		d.Weights[i] = 1 + float64(i)/2
	}
	for _, l := range []learn.Learner{new(linear.ElasticNet), new(linear.Logistic), new(linear.SparseLogistic), new(margin.SVM), new(margin.LearnedLoss), new(kernel.SVM), &kernel.SVM{Intercept: true}} {
		if err := l.Load(d); err != nil {
			t.Errorf("%T: %v", l, err)
		}
		for name, change := range map[string]func(d *learn.Data){
			"short weights":   func(d *learn.Data) { d.Weights = d.Weights[1:] },
			"negative weight": func(d *learn.Data) { d.Weights = []float64{-1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1} },
			"NaN weight":      func(d *learn.Data) { d.Weights = numtest.NaNs(12, 0) },
			"no row counts":   func(d *learn.Data) { d.Weights = make([]float64, 12) },
			"sum not normal":  func(d *learn.Data) { d.Weights = slices.Repeat([]float64{1e-310}, 12) },
			"sum overflows":   func(d *learn.Data) { d.Weights = slices.Repeat([]float64{1e308}, 12) },
			"row too high":    func(d *learn.Data) { d.Rows = []int{0, 12} },
			"row below 0":     func(d *learn.Data) { d.Rows = []int{0, -1} },
			"no rows":         func(d *learn.Data) { d.Rows = []int{} },
		} {
			bad := d
			change(&bad)
			var e *qpdiff.ArgError
			if err := l.Load(bad); !errors.As(err, &e) || !strings.HasPrefix(e.Arg, "Data.") {
				t.Errorf("%T, %s: %v", l, name, err)
			}
		}
	}
}
