package linear

import (
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/learn"
)

// In any units, the residual reveals a parameter that is wrong by the fraction 1e-6.
func TestResidualSeesAWrongSolution(t *testing.T) {
	d, classes := casetest.RandomData(1, 30, 6, false), casetest.NoisyClasses(2, 30, 6)
	for _, w := range []casetest.WrongFit{
		{Name: "elastic net", Data: d, Hyper: []float64{.01, .1}, Powers: [][2]float64{{1, 1}, {2, 0}}, New: func() (learn.VerifiedLearner, func() []*float64) {
			l := new(ElasticNet)
			return l, func() []*float64 { return casetest.Entries(l.qp.x) }
		}},
		{Name: "Huber", Data: d, Hyper: []float64{.1, .5}, Powers: [][2]float64{{2, 0}, {0, 1}}, New: func() (learn.VerifiedLearner, func() []*float64) {
			l := new(Huber)
			return l, func() []*float64 { return casetest.Entries(l.theta) }
		}},
		{Name: "logistic", Data: classes, Classes: true, Hyper: []float64{1}, Powers: [][2]float64{{-2, 0}}, New: func() (learn.VerifiedLearner, func() []*float64) {
			l := new(Logistic)
			return l, func() []*float64 { return casetest.Entries(l.theta) }
		}},
		{Name: "sparse logistic", Data: classes, Classes: true, Hyper: []float64{.001, .1}, Powers: [][2]float64{{1, 0}, {2, 0}}, New: func() (learn.VerifiedLearner, func() []*float64) {
			l := new(SparseLogistic)
			return l, func() []*float64 { return casetest.Entries(l.theta) }
		}},
	} {
		w.Test(t)
	}
}
