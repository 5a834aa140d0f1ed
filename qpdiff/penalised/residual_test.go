package penalised

import (
	"math"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/learn"
)

// The residual exceeds its tolerance if a parameter is wrong by the fraction 1e-6.
func TestResidualSeesAWrongSolution(t *testing.T) {
	d, classes, numbers := casetest.RandomData(1, 30, 6, false), casetest.NoisyClasses(2, 30, 6), casetest.RandomData(3, 30, 6, false)
	for i := range numbers.Y {
		numbers.Y[i] = float64(i % 3)
	}
	rates := casetest.CloneData(d)
	for i, y := range rates.Y {
		rates.Y[i] = math.Abs(y)
	}
	weighted := d
	weighted.Weights = make([]float64, 30)
	for i := range weighted.Weights {
		weighted.Weights[i] = float64(i % 4)
	}
	penalties := []Penalty{Ridge(0, 3), Differences(0, 6, 2), Ridge(3, 3)}
	lambda, squares := []float64{2, .5, 1}, [][2]float64{{2, 0}, {2, 0}, {2, 0}}
	glm := func(loss Loss, intercept bool) func() (learn.VerifiedLearner, func() []*float64) {
		return func() (learn.VerifiedLearner, func() []*float64) {
			l := &GLM{Loss: loss, Penalties: penalties, Intercept: intercept}
			return l, func() []*float64 { return casetest.Entries(l.theta) }
		}
	}
	for _, w := range []casetest.WrongFit{
		{Name: "squared", Data: d, New: glm(Squared, false)},
		{Name: "squared, weights and intercept", Data: weighted, New: glm(Squared, true)},
		{Name: "logistic", Data: classes, Classes: true, New: glm(Logistic, true)},
		{Name: "Poisson", Data: rates, Classes: true, New: glm(Poisson, true)},
		{Name: "multinomial", Data: numbers, Classes: true, New: func() (learn.VerifiedLearner, func() []*float64) {
			l := &Multinomial{Classes: 3, Penalties: penalties, Intercept: true}
			return l, func() []*float64 { return casetest.Entries(l.theta) }
		}},
	} {
		w.Hyper, w.Powers = lambda, squares
		w.Test(t)
	}
}
