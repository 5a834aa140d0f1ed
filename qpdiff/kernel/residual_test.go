package kernel

import (
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/learn"
)

// The residual exceeds its tolerance if a coefficient or a constant is wrong by the fraction 1e-6.
func TestResidualSeesAWrongSolution(t *testing.T) {
	d, classes := casetest.RandomData(1, 20, 2, false), casetest.NoisyClasses(2, 20, 2)
	weighted := classes
	weighted.Weights = make([]float64, 20)
	for i := range weighted.Weights {
		weighted.Weights[i] = float64(i % 4)
	}
	ridge := func(intercept bool) func() (learn.VerifiedLearner, func() []*float64) {
		return func() (learn.VerifiedLearner, func() []*float64) {
			l := &Ridge{Intercept: intercept}
			return l, func() []*float64 { return append(casetest.Entries(l.coef), &l.b) }
		}
	}
	svm := func(intercept bool) func() (learn.VerifiedLearner, func() []*float64) {
		return func() (learn.VerifiedLearner, func() []*float64) {
			l := &SVM{Intercept: intercept}
			return l, func() []*float64 { return append(casetest.Entries(l.coef), &l.b) }
		}
	}
	for _, w := range []casetest.WrongFit{
		{Name: "ridge", Data: d, Hyper: []float64{.1, .4}, New: ridge(false)},
		{Name: "ridge, intercept", Data: d, Hyper: []float64{.1, .4}, New: ridge(true)},
		{Name: "ridge, weights", Data: weighted, Hyper: []float64{.1, .4}, New: ridge(true), Classes: true},
		{Name: "SVM", Data: classes, Hyper: []float64{3, .4}, New: svm(false), Classes: true},
		{Name: "SVM, intercept", Data: classes, Hyper: []float64{3, .4}, New: svm(true), Classes: true},
		{Name: "SVM, weights", Data: weighted, Hyper: []float64{3, .4}, New: svm(true), Classes: true},
	} {
		w.Powers = [][2]float64{{}, {-2, 0}}
		w.Test(t)
	}
}
