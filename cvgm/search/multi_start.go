package search

import (
	"cmp"
	"iter"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// MultiStart runs a searcher from x0, and then from random points, one start after the other. So
// the searches can find several local minima. [Best] returns the step with the lowest loss of all
// these searches.
type MultiStart struct {
	// Searcher runs from each start. It is required. A searcher that draws random numbers draws the
	// same numbers in the search from every start.
	Searcher Searcher
	Source   func() Source // required; see [Searcher]
	// Draw fills x with the next start. MultiStart then projects this start onto the constraint
	// set. Draw is required.
	Draw   func(src Source, x []float64)
	Starts int // the number of starts, x0 included; zero: 10
}

// Search yields the steps of all searches as one sequence. In each step, Evaluations is the number
// of evaluations of all searches so far, and Converged is about the current search only. The scales
// of all searches follow from x0. An error of one search ends the sequence.
func (m MultiStart) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.exact("MultiStart"),
		args.BadIf(m.Searcher == nil || m.Draw == nil, "MultiStart", qpdiff.ErrEmpty, "set Searcher, and Draw, for example to LogUniform(-4, 0)", "lacks Searcher or Draw"),
		args.BadIf(m.Starts < 0, "MultiStart.Starts", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %d", m.Starts))
	return drawingSearch(p, x0, cmp.Or(m.Starts, 10), settings, m.Source, func(w *searchRun, src Source) {
		start := w.X
		p.scale = p.scales(start) // the scales come from x0, not from the draws
		var evaluations int
		for k := range w.limit {
			if k > 0 {
				m.Draw(src, start)
				p.project(start)
			}
			before := evaluations
			for s, err := range m.Searcher.Search(p, start) {
				s.Evaluations += before
				if !w.yieldInner(s, err) {
					return
				}
				evaluations = s.Evaluations
			}
		}
	})
}
