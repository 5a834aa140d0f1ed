package search

import (
	"cmp"
	"iter"
	"math"

	"cvgm/cvgm/internal/args"

	"gonum.org/v1/gonum/floats"
)

// AdaptiveGradient is projected gradient descent without line search: every evaluation is a step.
// The step size s adapts to the curvature of the loss (Malitsky and Mishchenko, "Adaptive proximal
// gradient method for convex optimization", 2023). Let x⁻ be the point before x. The curvature
// between these points is L = ‖∇f(x) − ∇f(x⁻)‖/‖x − x⁻‖. Let θ be the last step size divided by the
// step size before it, and P the projection onto the constraint set. The next step size s⁺ and the
// next point x⁺ are
//
//	s⁺ = min(√(2/3 + θ)·s, s/√(max(2s²L² − 1, 0))),   x⁺ = P(x − s⁺·∇f(x)).
//
// The method converges on convex functions whose gradient is locally Lipschitz. The loss may rise
// during the search. The method has a single step size, so it is slow if coordinates have different
// units.
type AdaptiveGradient struct {
	// FirstStep limits the change of each entry of x in the first step. The limit is FirstStep
	// times the smaller of two lengths: the scale of the entry, and the largest |x0_i|. A value
	// that is too small costs a few steps. Zero: .01.
	FirstStep float64
	MaxEvals  int     // evaluations at most; zero: 1000
	Tol       float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0 and yields every iterate.
func (m AdaptiveGradient) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, args.First(p.exact("AdaptiveGradient"), checkFirstStep("AdaptiveGradient", m.FirstStep)), func(w *searchRun) {
		n := len(x0)
		r := &adaptation{w: w, ratio: 1. / 3, lastPoint: make([]float64, n), lastGrad: make([]float64, n), stepLengths: make([]float64, n)}
		for ok := w.eval(); ok; ok = w.evaluate() {
			if !w.isFinite() { // a failed trial
				if !w.yieldStep(false) {
					return
				}
				r.s, r.ratio = .1*r.s, .1
				copy(w.Grad, r.lastGrad)
			} else {
				if !w.yieldStep(w.converged(r.adapt(cmp.Or(m.FirstStep, .01)), m.Tol)) {
					return
				}
				copy(r.lastPoint, w.X)
				copy(r.lastGrad, w.Grad)
			}
			w.projectedStep(w.X, r.lastPoint, r.s)
		}
	})
}

// An adaptation holds the current step size s of an AdaptiveGradient. Before the first step, s is
// 0.
type adaptation struct {
	w                   *searchRun
	s, ratio            float64
	lastPoint, lastGrad []float64 // the last point and its gradient
	stepLengths         []float64 // work
}

// adapt computes the size s of the step from X. It returns nil before the first step. Later it
// returns the change of each coordinate in a projected step. If the curvature predicts the minimum,
// this is the step to the predicted minimum. Otherwise it is the step of size s.
func (r *adaptation) adapt(firstStep float64) []float64 {
	w := r.w
	if r.s == 0 {
		longest := math.Inf(1)
		for i, g := range w.Grad {
			if g != 0 {
				longest = min(longest, firstStep*min(w.scaleAt(i, w.X[i]), w.firstLength(w.X))/math.Abs(g))
			}
		}
		if args.Finite(longest) {
			r.s = longest
		}
		return nil
	}
	before := r.s
	r.s = math.Sqrt(2./3+r.ratio) * before
	ahead := r.s
	if moved := floats.Distance(w.X, r.lastPoint, 2); moved > 0 {
		change := floats.Distance(w.Grad, r.lastGrad, 2)
		sL := before * change / moved
		if denom := 2*sL*sL - 1; denom > 0 {
			r.s = min(r.s, before/math.Sqrt(denom))
		}
		ahead = min(moved/change, ahead/unseenTol)
	}
	r.ratio = r.s / before
	return w.projectedMoves(r.stepLengths, ahead)
}
