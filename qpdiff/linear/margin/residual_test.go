package margin

import (
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
)

// In any units, the residual reveals a parameter or multiplier that is wrong by the fraction 1e-6.
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

// roundedResidual is the largest allowed residual of a degenerate fit, about 5000 rounding errors.
// A coordinate of the wrong sign has a far larger residual.
const roundedResidual = 1e-12

// Rounding moves no coordinate of the support beyond its kink.
func TestNoCoordinateCrossesItsKinkByRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	atKink := 0
	for range 400 {
		kind := degenerateKinds[rng.IntN(len(degenerateKinds))]
		d := degenerateData(rng, kind, 4+rng.IntN(30), 2+rng.IntN(8))
		l := &SVM{Generalised: true}
		hyper := []float64{math.Ldexp(1, -rng.IntN(6)), math.Ldexp(1, rng.IntN(9)-6)}
		if _, ok := fitDegenerate(t, kind, l, &l.p, d, hyper); !ok {
			continue
		}
		if r, err := l.Residual(); err != nil || r > roundedResidual {
			t.Errorf("%s at %v: residual %v, %v, of θ = %v", kind, hyper, r, err, l.p.theta)
		}
		for k, j := range l.p.act {
			if l.p.theta[j] == 0 {
				atKink++
			}
			if s := dense.Sign(l.p.theta[j]); s == -l.p.sgn[k] && s != 0 {
				t.Errorf("%s at %v: coordinate %d is %v beyond its kink", kind, hyper, j, l.p.theta[j])
			}
		}
	}
	if atKink == 0 {
		t.Error("no coordinate of the support is at its kink")
	}
}
