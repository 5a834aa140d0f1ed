package search

import (
	"cmp"
	"iter"

	"gonum.org/v1/gonum/floats"
)

// ProjectedGradient is projected gradient descent with a constant step size s: x ← P(x − s·∇f(x))
// for the projection P. It is Algorithm 1 of the paper on the cross-validation gradient method.
type ProjectedGradient struct {
	StepSize float64 // s > 0, required; in units of x²/f
	MaxEvals int     // evaluations at most; zero: 1000
	Tol      float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0. It yields every iterate, with the gradient at the iterate,
// before it takes the next step. If a step is too short to change x, the search ends without
// Converged. It does not end for this reason if Tol is negative or the objective is random.
func (m ProjectedGradient) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, checkStep("ProjectedGradient", m.StepSize), func(w *searchRun) {
		next, reach := make([]float64, len(x0)), make([]float64, len(x0))
		for w.eval() {
			w.projectedStep(next, w.X, m.StepSize)
			if !w.yieldStep(w.converged(w.projectedMoves(reach, m.StepSize), m.Tol)) || m.Tol >= 0 && !w.Random && floats.Equal(next, w.X) {
				return
			}
			copy(w.X, next)
		}
	})
}
