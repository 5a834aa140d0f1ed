package qpdiff

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// These learners count rows; the contract accepts refusals as well.
func TestLearnersThatCountRows(t *testing.T) {
	d := randomData(1, 12, 2, true)
	d.Rows = []int{0, 1, 1, 2, 3, 4, 5, 6, 7, 8}
	d.Weights = nanSlice(12, 0)
	for i := range d.Weights {
		d.Weights[i] = 1 + float64(i)/2
	}
	for _, l := range []Learner{new(ElasticNet), new(Logistic), new(SparseLogistic), new(SVM), new(LearnedLoss), new(KernelSVM), &KernelSVM{Intercept: true}} {
		if err := l.Load(d); err != nil {
			t.Errorf("%T: %v", l, err)
		}
		for name, change := range map[string]func(d *Data){
			"short weights":   func(d *Data) { d.Weights = d.Weights[1:] },
			"negative weight": func(d *Data) { d.Weights = []float64{-1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1} },
			"NaN weight":      func(d *Data) { d.Weights = nanSlice(12, 0) },
			"no row counts":   func(d *Data) { d.Weights = make([]float64, 12) },
			"sum not normal":  func(d *Data) { d.Weights = slices.Repeat([]float64{1e-310}, 12) },
			"sum overflows":   func(d *Data) { d.Weights = slices.Repeat([]float64{1e308}, 12) },
			"row too high":    func(d *Data) { d.Rows = []int{0, 12} },
			"row below 0":     func(d *Data) { d.Rows = []int{0, -1} },
			"no rows":         func(d *Data) { d.Rows = []int{} },
		} {
			bad := d
			change(&bad)
			var e *ArgError
			if err := l.Load(bad); !errors.As(err, &e) || !strings.HasPrefix(e.Arg, "Data.") {
				t.Errorf("%T, %s: %v", l, name, err)
			}
		}
	}
}
