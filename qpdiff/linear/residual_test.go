package linear

import (
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
)

// A residual is large enough to reveal a parameter that is off by a part of 1e-6.
func TestResidualSeesAWrongSolution(t *testing.T) {
	const off = 1e-6
	d, classes := casetest.RandomData(1, 30, 6, false), casetest.NoisyClasses(2, 30, 6)
	for _, c := range []struct {
		l     learn.VerifiedLearner
		theta func(l learn.Learner) []float64
		hyper []float64
		data  learn.Data
	}{
		{new(ElasticNet), func(l learn.Learner) []float64 { return l.(*ElasticNet).qp.x }, []float64{.01, .1}, d},
		{new(Huber), func(l learn.Learner) []float64 { return l.(*Huber).theta }, []float64{.1, .5}, d},
		{new(Logistic), func(l learn.Learner) []float64 { return l.(*Logistic).theta }, []float64{1}, classes},
		{new(SparseLogistic), func(l learn.Learner) []float64 { return l.(*SparseLogistic).theta }, []float64{.001, .1}, classes},
	} {
		numtest.OK(t, c.l.Load(c.data), c.l.Fit(make([]float64, 6), c.hyper))
		before, err := c.l.Residual()
		c.theta(c.l)[0] *= 1 + off
		after, _ := c.l.Residual()
		if err != nil || !(before < 1e-13) || !(after > 1e-3*off) {
			t.Errorf("%T: residual %g, with a wrong parameter %g, error %v", c.l, before, after, err)
		}
	}
}
