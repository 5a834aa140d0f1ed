package qpdiff_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/qpdifftest"

	"gonum.org/v1/gonum/mat"
)

func init() {
	qpdiff.LearnerContract = func(t *testing.T, newLearner func() qpdiff.Learner, cases ...qpdiff.LearnerCase) {
		t.Helper()
		var own []qpdifftest.Case
		for _, c := range cases {
			own = append(own, qpdifftest.Case(c))
		}
		qpdifftest.Learner(t, newLearner, own...)
		for _, c := range own {
			t.Run(c.Name+"/allocations", func(t *testing.T) { qpdifftest.Allocations(t, newLearner, c) })
		}
	}
}

func TestKernels(t *testing.T) {
	for _, n := range []int{1, 4} {
		qpdifftest.Kernel(t, qpdiff.RBF{}, n, .7)
		for degree := range 4 {
			qpdifftest.Kernel(t, qpdiff.Polynomial{Degree: degree}, n, .3, 1.2)
		}
	}
}

func TestLeaveOneOut(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		for _, c := range []struct {
			kernel qpdiff.Kernel
			hyper  []float64
		}{
			{qpdiff.RBF{}, []float64{.05, .4}}, {qpdiff.RBF{}, []float64{0, 2}}, {qpdiff.RBF{}, []float64{1e-8, 1}},
			{qpdiff.Polynomial{}, []float64{.1, .2, 1}}, {qpdiff.Polynomial{Degree: 1}, []float64{.3, 1, 0}},
		} {
			for _, rows := range []int{2, 3, 9, 25} {
				t.Run(fmt.Sprintf("%T %v, intercept %v, %d rows", c.kernel, c.hyper, intercept, rows), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(rows), 3))
					d := qpdiff.Data{X: mat.NewDense(rows, 2, nil), Y: make([]float64, rows)}
					for i := range d.Y {
						d.X.SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
						d.Y[i] = 100 + d.X.At(i, 0) + rng.NormFloat64()
					}
					qpdifftest.LeaveOneOut(t, func() qpdiff.LeaveOneOutLearner { return &qpdiff.KernelRidge{Kernel: c.kernel, Intercept: intercept} },
						qpdifftest.Case{Data: d, Hyper: c.hyper})
				})
			}
		}
	}
}
