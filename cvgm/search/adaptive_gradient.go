package search

import (
	"cmp"
	"iter"
	"math"

	"cvgm/cvgm/internal/args"

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
// loss may rise on the way. One step size for coordinates of different units is
// slow.
type AdaptiveGradient struct {
	// FirstStep is how far the first step moves an entry at most, as a share of
	// its scale or, where that is less, of the largest |x0|. Too small costs a
	// few steps. Zero: .01.
	FirstStep float64
	MaxEvals  int     // evaluations at most; zero: 1000
	Tol       float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0 and yields every iterate.
func (m AdaptiveGradient) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, checkFirstStep("AdaptiveGradient", m.FirstStep), func(w *searchRun) {
		last, lastGrad := make([]float64, len(x0)), make([]float64, len(x0))
		reach := make([]float64, len(x0))
		var s float64
		ratio := 1. / 3
		for ok := w.eval(); ok; ok = w.evaluate() {
			if !w.defined() { // a failed trial
				if !w.next(false) {
					return
				}
				s, ratio = .1*s, .1
				copy(w.Grad, lastGrad)
				w.projectedStep(w.X, last, s)
				continue
			}
			var next []float64
			if s == 0 {
				longest := math.Inf(1)
				for i, g := range w.Grad {
					if g != 0 {
						longest = min(longest, cmp.Or(m.FirstStep, .01)*min(w.size(i, w.X[i]), w.length(w.X))/math.Abs(g))
					}
				}
				if args.Finite(longest) {
					s = longest
				}
			} else {
				before := s
				s = math.Sqrt(2./3+ratio) * before
				ahead := s // or, where the curvature tells it, to the minimum
				if moved := floats.Distance(w.X, last, 2); moved > 0 {
					change := floats.Distance(w.Grad, lastGrad, 2)
					sL := before * change / moved
					if denom := 2*sL*sL - 1; denom > 0 {
						s = min(s, before/math.Sqrt(denom))
					}
					ahead = min(moved/change, ahead/unseenTol)
				}
				ratio = s / before
				next = w.reach(reach, ahead)
			}
			if !w.next(w.converged(next, m.Tol)) {
				return
			}
			copy(last, w.X)
			copy(lastGrad, w.Grad)
			w.projectedStep(w.X, last, s)
		}
	})
}
