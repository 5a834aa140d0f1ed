package search

import (
	"iter"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// GridSearch evaluates the objective at every point of a grid. The caller gives the values of each
// coordinate. The first coordinate changes slowest.
type GridSearch struct {
	Values [][]float64 // per coordinate
}

// maxGrid bounds the number of points of a grid, which must fit an int. A search of a larger grid
// would take years, so a larger grid is probably a mistake.
const maxGrid = min(1<<40, math.MaxInt)

// Search uses only the length of x0, not its entries. Points are projected onto the constraint set.
func (m GridSearch) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.exact("GridSearch"), args.BadIf(len(m.Values) != len(x0), "GridSearch.Values", qpdiff.ErrShape, "give a list of values for every coordinate of x0",
		"has %d lists for %d coordinates", len(m.Values), len(x0)))
	total := 1
	for i, v := range m.Values {
		if len(v) == 0 {
			settings = args.Bad("GridSearch.Values", qpdiff.ErrEmpty, "give at least one value", "is empty for coordinate %d", i)
			break
		}
		if len(v) > maxGrid/total {
			settings = args.Bad("GridSearch.Values", qpdiff.ErrDomain, "use fewer values or another searcher", "has more than %d points", maxGrid)
			break
		}
		total *= len(v)
	}
	return search(p, x0, total, false, settings, func(w *searchRun) {
		for more := true; more; more = w.evaluate() && w.yieldStep(false) {
			rest := w.Evaluations
			for i := len(x0) - 1; i >= 0; i-- {
				n := len(m.Values[i])
				w.X[i] = m.Values[i][rest%n]
				rest /= n
			}
			p.project(w.X)
		}
	})
}
