package qpdiff_test

import (
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/qpdifftest"
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
