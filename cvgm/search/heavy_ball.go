package search

import (
	"cmp"
	"iter"
	"slices"

	"cvgm/cvgm/internal/args"
)

// HeavyBall is the gradient method with momentum (Polyak 1964):
//
//	x⁺ = P(x − s·∇f(x) + β·(x − x⁻)).
type HeavyBall struct {
	StepSize float64 // s > 0, required; in units of x²/f
	Momentum float64 // β < 1; zero: .9
	MaxEvals int     // evaluations at most; zero: 1000
	Tol      float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0, at rest, and yields every iterate.
func (m HeavyBall) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	beta := cmp.Or(m.Momentum, .9)
	settings := args.First(checkStep("HeavyBall", m.StepSize), checkShare("HeavyBall.Momentum", beta))
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, settings, func(w *searchRun) {
		last, reach := slices.Clone(w.X), make([]float64, len(x0))
		for w.eval() {
			if !w.yieldStep(w.converged(w.projectedMoves(reach, m.StepSize), m.Tol)) {
				return
			}
			for i, x := range w.X {
				w.X[i], last[i] = x-m.StepSize*w.Grad[i]+beta*(x-last[i]), x
			}
			p.project(w.X)
		}
	})
}
