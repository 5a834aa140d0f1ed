package cvgm

import (
	"iter"
	"math"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// AdaptiveGradient is projected gradient descent with a step size that adapts
// to the curvature met, without line search, so that every evaluation is a step
// (Malitsky and Mishchenko, "Adaptive proximal gradient method for convex
// optimization", 2023): with the curvature
// L = ‖∇f(x) − ∇f(x⁻)‖/‖x − x⁻‖ between the last two points and the ratio θ of
// the last two step sizes,
//
//	s⁺ = min(√(2/3 + θ)·s, s/√(max(2s²L² − 1, 0))),   x⁺ = P(x − s⁺·∇f(x)).
//
// It converges on convex functions whose gradient is locally Lipschitz. The
// loss may rise on the way.
type AdaptiveGradient struct {
	// FirstStep is how far the first step moves the entry that moves most,
	// but for the projection. Too small costs a few steps. Zero: a hundredth
	// of the largest entry of x0, or .01 where that is zero.
	FirstStep float64
	MaxSteps  int // evaluations at most; zero: 1000
	// Tol ends the search where ‖x − P(x − ∇f(x))‖∞ ≤ Tol. Zero: 1e-8.
	// Negative: never.
	Tol float64
}

// Search starts at the projection of x0 and yields every iterate.
func (m AdaptiveGradient) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return search(p, x0, orDefault(m.MaxSteps, 1000), true, checkFirstStep("AdaptiveGradient", m.FirstStep), func(w *walk) {
		last, lastGrad := make([]float64, len(x0)), make([]float64, len(x0))
		work := make([]float64, len(x0))
		var s float64
		ratio := 1. / 3
		for w.eval() {
			if !w.next(w.stationary(work, m.Tol)) {
				return
			}
			if s == 0 {
				s = firstStep(m.FirstStep, .01, w.X) / floats.Norm(w.Grad, math.Inf(1))
			} else {
				before := s
				s = math.Sqrt(2./3+ratio) * before
				if moved := floats.Distance(w.X, last, 2); moved > 0 {
					bend := before * floats.Distance(w.Grad, lastGrad, 2) / moved
					if steep := 2*bend*bend - 1; steep > 0 {
						s = min(s, before/math.Sqrt(steep))
					}
				}
				ratio = s / before
			}
			copy(last, w.X)
			copy(lastGrad, w.Grad)
			w.descend(w.X, last, s)
		}
	})
}

func checkFirstStep(name string, s float64) error {
	if !(s >= 0) || math.IsInf(s, 1) {
		return badArg(name+".FirstStep", qpdiff.ErrDomain, "use a positive length, or zero for the default", "is %v", s)
	}
	return nil
}

// firstStep returns the length set, or else the share of x's largest entry.
func firstStep(set, share float64, x []float64) float64 {
	if set > 0 {
		return set
	}
	return share * orDefault(floats.Norm(x, math.Inf(1)), 1)
}
