package cvgm

import (
	"fmt"
	"iter"
	"math"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// An Objective returns f(x) and, where grad is not nil, overwrites grad with
// ∇f(x). Value and gradient come together because they share every fit.
type Objective func(grad, x []float64) (float64, error)

// A Problem is what a Searcher minimises: an objective over a constraint set,
// which is a box or what Project projects onto. No searcher evaluates the
// objective outside it.
type Problem struct {
	Objective Objective
	// Lower and Upper bound x entry by entry; infinite entries bound nothing.
	// Nil: no bounds on that side.
	Lower, Upper []float64
	// Project moves x, in place, to the nearest point of a convex set that is
	// no box. Nil: the set is the box. Searchers that need a box refuse others.
	Project func(x []float64)
}

func (p Problem) project(x []float64) {
	if p.Project != nil {
		p.Project(x)
		return
	}
	for i, l := range p.Lower {
		x[i] = max(x[i], l)
	}
	for i, u := range p.Upper {
		x[i] = min(x[i], u)
	}
}

// check reports what no searcher can start from.
func (p Problem) check(x0 []float64) error {
	switch {
	case p.Objective == nil:
		return badArg("Problem.Objective", qpdiff.ErrShape, "give a function, for example CV.Eval", "is nil")
	case len(x0) == 0:
		return badArg("x0", qpdiff.ErrShape, "start from at least one coordinate", "is empty")
	case p.Project != nil && (p.Lower != nil || p.Upper != nil):
		return badArg("Problem.Project", qpdiff.ErrDomain, "give either bounds or a projection", "stands beside bounds")
	}
	for _, side := range []struct {
		name   string
		bounds []float64
	}{{"Problem.Lower", p.Lower}, {"Problem.Upper", p.Upper}} {
		if side.bounds != nil && len(side.bounds) != len(x0) {
			return badArg(side.name, qpdiff.ErrShape, "give one bound per coordinate of x0, infinite where there is none",
				"has %d entries for %d coordinates", len(side.bounds), len(x0))
		}
	}
	for i, x := range x0 {
		if !finite(x) {
			return badArg("x0", qpdiff.ErrNotFinite, "start from finite numbers", "holds %v at index %d", x, i)
		}
		if lo, up := p.bounds(i); !(lo <= up) || math.IsInf(lo, 1) || math.IsInf(up, -1) {
			return badArg("Problem.Lower", qpdiff.ErrDomain, "use lower bounds at or below the upper ones", "to Upper is [%v, %v] at index %d", lo, up, i)
		}
	}
	return nil
}

// bounds returns the interval of coordinate i.
func (p Problem) bounds(i int) (lower, upper float64) {
	lower, upper = math.Inf(-1), math.Inf(1)
	if p.Lower != nil {
		lower = p.Lower[i]
	}
	if p.Upper != nil {
		upper = p.Upper[i]
	}
	return lower, upper
}

// box reports a constraint set that is no box.
func (p Problem) box(searcher string) error {
	if p.Project != nil {
		return badArg("Problem.Project", qpdiff.ErrDomain, "use a searcher that projects, for example AdaptiveGradient", "is not a box, which %s needs", searcher)
	}
	return nil
}

// A Step is one evaluation of a search. Its slices belong to the searcher and
// hold until the next step; copy what you keep.
type Step struct {
	Index       int       // 0, 1, …
	X           []float64 // where the objective was evaluated
	Loss        float64   // its value there
	Grad        []float64 // its gradient there; nil where the searcher uses none
	Evaluations int       // of the objective, this one included
	Converged   bool      // the searcher's own test of convergence holds at X
}

// A Searcher minimises a Problem, one evaluation at a time. The sequence ends
// when the searcher has converged or spent its budget; what else should stop
// it, be recorded or be tested is the body of the caller's loop. After an
// error, given with the X where it arose, the sequence ends.
type Searcher interface {
	Search(p Problem, x0 []float64) iter.Seq2[Step, error]
}

// Best runs a search to its end and returns the step of lowest loss, with
// slices of its own. With an error it returns the best step before it.
func Best(steps iter.Seq2[Step, error]) (Step, error) {
	best := Step{Loss: math.Inf(1)}
	for s, err := range steps {
		if err != nil {
			return best, err
		}
		if s.Loss < best.Loss {
			best = s.clone()
		}
	}
	return best, nil
}

// clone returns the step with slices of its own.
func (s Step) clone() Step {
	s.X = append([]float64(nil), s.X...)
	if s.Grad != nil {
		s.Grad = append([]float64(nil), s.Grad...)
	}
	return s
}

// SearchError says at which step and where a search failed.
type SearchError struct {
	Index int
	X     []float64
	Err   error
}

func (e *SearchError) Error() string {
	if len(e.X) > 8 {
		return fmt.Sprintf("search step %d: %v", e.Index, e.Err)
	}
	return fmt.Sprintf("search step %d at %v: %v", e.Index, e.X, e.Err)
}

func (e *SearchError) Unwrap() error { return e.Err }

// A walk is a search under way: the Step that the caller sees, and what the
// searchers share.
type walk struct {
	Step
	p     Problem
	yield func(Step, error) bool
	limit int // evaluations
}

// search returns the evaluations that run makes. X starts as the projection of
// x0, and Grad, where wanted, as zeros. Bad settings, or a problem that nothing
// can start from, come back as the sequence's only element.
func search(p Problem, x0 []float64, limit int, gradient bool, settings error, run func(w *walk)) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		w := &walk{Step: Step{X: append([]float64(nil), x0...)}, p: p, yield: yield, limit: limit}
		if gradient {
			w.Grad = make([]float64, len(x0))
		}
		if settings == nil {
			settings = p.check(x0)
		}
		if settings == nil && limit < 0 {
			settings = badArg("MaxSteps", qpdiff.ErrDomain, "use a positive budget, or zero for the default", "is %d", limit)
		}
		if settings != nil {
			w.fail(settings)
			return
		}
		p.project(w.X)
		run(w)
	}
}

func (w *walk) fail(err error) {
	w.yield(w.Step, &SearchError{Index: w.Index, X: append([]float64(nil), w.X...), Err: err})
}

// eval evaluates at X. Where it returns false the search is over.
func (w *walk) eval() bool {
	loss, err := w.p.Objective(w.Grad, w.X)
	if err == nil && (loss != loss || floats.HasNaN(w.Grad)) {
		err = badArg("Problem.Objective", qpdiff.ErrNotFinite, "return an error where it has no value", "is NaN, or its gradient")
	}
	if err != nil {
		w.fail(err)
		return false
	}
	w.Loss = loss
	w.Evaluations++
	return true
}

// next yields the evaluation and reports whether there is another.
func (w *walk) next(converged bool) bool {
	w.Converged = converged
	if !w.yield(w.Step, nil) || converged || w.Evaluations >= w.limit {
		return false
	}
	w.Index++
	return true
}

// pass yields what a search inside this one has yielded.
func (w *walk) pass(s Step, err error) bool {
	if err == nil {
		return w.yield(s, nil)
	}
	if inner, ok := err.(*SearchError); ok {
		err = inner.Err
	}
	w.Step = s
	w.fail(err)
	return false
}

// stationary reports whether ‖x − P(x − ∇f)‖∞ ≤ tol (zero: 1e-8): no allowed
// direction descends faster than that. A negative tol is never reached.
func (w *walk) stationary(work []float64, tol float64) bool {
	w.descend(work, w.X, 1)
	return floats.Distance(work, w.X, math.Inf(1)) <= orDefault(tol, 1e-8)
}

// descend sets dst to P(x − s·∇f).
func (w *walk) descend(dst, x []float64, s float64) {
	floats.AddScaledTo(dst, x, -s, w.Grad)
	w.p.project(dst)
}

func checkStep(name string, s float64) error {
	if !(s > 0) || math.IsInf(s, 1) {
		return badArg(name+".StepSize", qpdiff.ErrDomain, "use a positive step size", "is %v", s)
	}
	return nil
}

// ProjectedGradient is the method of the paper's Algorithm 1 with a constant
// step size: x ← P(x − s·∇f(x)).
type ProjectedGradient struct {
	StepSize float64 // s > 0, required
	MaxSteps int     // evaluations at most; zero: 1000
	// Tol ends the search where ‖x − P(x − s·∇f(x))‖∞ ≤ Tol·s, that is where no
	// allowed direction descends faster than Tol. Zero: 1e-8. Negative: never.
	Tol float64
}

// Search starts at the projection of x0 and yields every iterate before it is
// left, with its gradient.
func (m ProjectedGradient) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return search(p, x0, orDefault(m.MaxSteps, 1000), true, checkStep("ProjectedGradient", m.StepSize), func(w *walk) {
		next := make([]float64, len(x0))
		for w.eval() {
			w.descend(next, w.X, m.StepSize)
			moved := floats.Distance(next, w.X, math.Inf(1))
			if !w.next(moved <= orDefault(m.Tol, 1e-8)*m.StepSize) {
				return
			}
			copy(w.X, next)
		}
	})
}

// Exhaustive evaluates the objective on the full grid of the given values, the
// first coordinate outermost.
type Exhaustive struct {
	Values [][]float64 // per coordinate
}

// maxGrid bounds the points of a grid. Years of evaluations are a mistake in the
// values, and an int must hold their number.
const maxGrid = min(1<<40, math.MaxInt)

// Search ignores x0 beyond its length. Points are projected onto the
// constraint set.
func (m Exhaustive) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	var settings error
	if len(m.Values) != len(x0) {
		settings = badArg("Exhaustive.Values", qpdiff.ErrShape, "give a list of values for every coordinate of x0",
			"has %d lists for %d coordinates", len(m.Values), len(x0))
	}
	total := 1
	for i, v := range m.Values {
		if len(v) == 0 {
			settings = badArg("Exhaustive.Values", qpdiff.ErrShape, "give at least one value", "is empty for coordinate %d", i)
			break
		}
		if len(v) > maxGrid/total {
			settings = badArg("Exhaustive.Values", qpdiff.ErrDomain, "use fewer values or another searcher", "has more than %d points", maxGrid)
			break
		}
		total *= len(v)
	}
	return search(p, x0, total, false, settings, func(w *walk) {
		for {
			rest := w.Index
			for i := len(x0) - 1; i >= 0; i-- {
				n := len(m.Values[i])
				w.X[i] = m.Values[i][rest%n]
				rest /= n
			}
			p.project(w.X)
			if !w.eval() || !w.next(false) {
				return
			}
		}
	})
}

// RandomSearch evaluates the objective at points drawn one by one.
type RandomSearch struct {
	Source Source
	// Draw fills x with the next point; the draws of a search are the only
	// ones it makes from the source.
	Draw  func(src Source, x []float64)
	Steps int // number of points; zero: 100
}

// LogUniform draws every coordinate as base-10 logarithm from [lo, hi).
func LogUniform(lo, hi float64) func(src Source, x []float64) {
	return func(src Source, x []float64) {
		for i := range x {
			x[i] = math.Pow(10, lo+(hi-lo)*src.Float64())
		}
	}
}

// Search ignores x0 beyond its length. Points are projected onto the
// constraint set.
func (m RandomSearch) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	var settings error
	if m.Source == nil || m.Draw == nil {
		settings = badArg("RandomSearch", qpdiff.ErrShape, "set Source and Draw, for example to LogUniform(-4, -1)", "lacks Source or Draw")
	}
	return search(p, x0, orDefault(m.Steps, 100), false, settings, func(w *walk) {
		for {
			m.Draw(m.Source, w.X)
			p.project(w.X)
			if !w.eval() || !w.next(false) {
				return
			}
		}
	})
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
