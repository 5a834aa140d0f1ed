package margin

import (
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/learn"
)

// A residual is large enough to reveal a parameter or a multiplier that is off by a part of 1e-6,
// in any units.
func TestResidualSeesAWrongSolution(t *testing.T) {
	d := casetest.NoisyClasses(2, 30, 6)
	weighted := d
	weighted.Weights = make([]float64, 30)
	for i := range weighted.Weights {
		weighted.Weights[i] = float64(i % 4)
	}
	solution := func(l *marginFit) func() []*float64 {
		return func() []*float64 {
			all := casetest.Entries(l.p.theta)
			for i, side := range l.p.side {
				if side == 0 {
					all = append(all, &l.mult[i])
				}
			}
			return all
		}
	}
	svm := func() (learn.VerifiedLearner, func() []*float64) {
		l := new(SVM)
		return l, solution(&l.marginFit)
	}
	learned := func() (learn.VerifiedLearner, func() []*float64) {
		l := new(LearnedLoss)
		return l, solution(&l.marginFit)
	}
	penalties := [][2]float64{{1, 0}, {2, 0}}
	losses := [][2]float64{{}, {}, {}, {}, {2, 0}}
	for _, w := range []casetest.WrongFit{
		{Name: "SVM", Data: d, Hyper: []float64{.03, .2}, New: svm},
		{Name: "SVM, weights", Data: weighted, Hyper: []float64{0, .2}, New: svm},
		{Name: "learned loss", Data: d, Hyper: []float64{.3, .2, .1, .4, .3}, Powers: losses, New: learned},
		{Name: "learned loss, weights", Data: weighted, Hyper: []float64{.3, .2, .1, .4, .3}, Powers: losses, New: learned},
		{Name: "learned loss without a hinge", Data: d, Hyper: []float64{0, .2, .1, .4, .3}, Powers: losses, New: learned},
	} {
		if w.Classes = true; w.Powers == nil {
			w.Powers = penalties
		}
		w.Test(t)
	}
}
