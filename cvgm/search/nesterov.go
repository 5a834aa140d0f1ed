package search

import (
	"cmp"
	"iter"
	"slices"

	"cvgm/cvgm/internal/args"

	"gonum.org/v1/gonum/floats"
)

// Nesterov is the accelerated projected gradient method (Nesterov 1983; Beck
// and Teboulle 2009):
//
//	y = P(x + k/(k+3)·(x − x⁻)),   x⁺ = P(y − s·∇f(y)),
//
// In these formulas x⁻ is the point before x, s is the step size, P is the projection, and k counts
// steps. The count k restarts at zero whenever a step goes against the momentum, that is, if
// ∇f(y)ᵀ(x⁺ − x) > 0 (O'Donoghue and Candès 2015).
type Nesterov struct {
	StepSize float64 // s > 0, required; in units of x²/f
	MaxEvals int     // evaluations at most; zero: 1000
	Tol      float64 // of the test of convergence, at y; see [Searcher]; zero means 1e-9
}

// Search starts at the projection of x0. The steps that it yields are the evaluations at the points
// y.
func (m Nesterov) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, args.First(p.exact("Nesterov"), checkStep("Nesterov", m.StepSize)), func(w *searchRun) {
		x := slices.Clone(w.X)
		next, change := make([]float64, len(x0)), make([]float64, len(x0))
		momentum := 0.
		for w.eval() {
			if !w.yieldStep(w.converged(w.projectedMoves(next, m.StepSize), m.Tol)) {
				return
			}
			w.projectedStep(next, w.X, m.StepSize)
			momentum++
			floats.SubTo(change, next, x)
			if floats.Dot(w.Grad, change) > 0 {
				momentum = 0
			}
			for i := range next {
				w.X[i] = next[i] + momentum/(momentum+3)*(next[i]-x[i])
			}
			p.project(w.X)
			copy(x, next)
		}
	})
}
