package search

import (
	"cmp"
	"iter"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// RandomSearch evaluates the objective at points drawn one by one.
type RandomSearch struct {
	Source func() Source // required; see [Searcher]
	// Draw fills x with the next point. Apart from Draw, the search draws nothing from the source.
	// Draw is required.
	Draw     func(src Source, x []float64)
	MaxEvals int // points drawn; zero: 100
}

// LogUniform draws every coordinate as base-10 logarithm from [lo, hi).
func LogUniform(lo, hi float64) func(src Source, x []float64) {
	return func(src Source, x []float64) {
		for i := range x {
			x[i] = math.Pow(10, lo+(hi-lo)*src.Float64())
		}
	}
}

// Search uses only the length of x0, not its entries. Points are projected onto the constraint set.
func (m RandomSearch) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.exact("RandomSearch"), args.BadIf(m.Draw == nil, "RandomSearch.Draw", qpdiff.ErrEmpty, "give a function, for example LogUniform(-4, -1)", "is nil"))
	return drawingSearch(p, x0, cmp.Or(m.MaxEvals, 100), settings, m.Source, func(w *searchRun, src Source) {
		for more := true; more; more = w.evaluate() && w.yieldStep(false) {
			m.Draw(src, w.X)
			p.project(w.X)
		}
	})
}
