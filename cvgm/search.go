package cvgm

import (
	"fmt"
	"iter"
	"math"

	"cvgm/qpdiff"
)

// An Objective returns f(x) and, where grad is not nil, overwrites grad with
// ∇f(x). Value and gradient come together because they share every fit.
type Objective func(grad, x []float64) (float64, error)

// A Problem is what a Searcher minimises: an objective over a constraint set.
type Problem struct {
	Objective Objective
	// Project moves x, in place, to the nearest point of the constraint set.
	// Nil: every x is allowed.
	Project func(x []float64)
}

func (p Problem) project(x []float64) {
	if p.Project != nil {
		p.Project(x)
	}
}

// AtLeast is the projection onto x_i ≥ lower_i.
func AtLeast(lower ...float64) func(x []float64) {
	return func(x []float64) {
		for i, l := range lower {
			if x[i] < l {
				x[i] = l
			}
		}
	}
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
			best = s
			best.X = append([]float64(nil), s.X...)
			if s.Grad != nil {
				best.Grad = append([]float64(nil), s.Grad...)
			}
		}
	}
	return best, nil
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

func failed(s Step, err error) (Step, error) {
	return s, &SearchError{Index: s.Index, X: append([]float64(nil), s.X...), Err: err}
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
	return func(yield func(Step, error) bool) {
		x := append([]float64(nil), x0...)
		s := Step{X: x, Grad: make([]float64, len(x))}
		if !(m.StepSize > 0) || math.IsInf(m.StepSize, 1) {
			yield(failed(s, badArg("ProjectedGradient.StepSize", qpdiff.ErrDomain, "use a positive step size", "is %v", m.StepSize)))
			return
		}
		tol := orDefault(m.Tol, 1e-8)
		p.project(x)
		next := make([]float64, len(x))
		for s.Index = range orDefault(m.MaxSteps, 1000) {
			var err error
			if s.Loss, err = p.Objective(s.Grad, x); err != nil {
				yield(failed(s, err))
				return
			}
			s.Evaluations++
			var moved float64
			for i, g := range s.Grad {
				next[i] = x[i] - m.StepSize*g
			}
			p.project(next)
			for i := range next {
				moved = math.Max(moved, math.Abs(next[i]-x[i]))
			}
			s.Converged = moved <= tol*m.StepSize
			if !yield(s, nil) || s.Converged {
				return
			}
			copy(x, next)
		}
	}
}

// Exhaustive evaluates the objective on the full grid of the given values, the
// first coordinate outermost.
type Exhaustive struct {
	Values [][]float64 // per coordinate
}

// Search ignores x0 beyond its length.
func (m Exhaustive) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		s := Step{X: make([]float64, len(x0))}
		if len(m.Values) != len(x0) {
			yield(failed(s, badArg("Exhaustive.Values", qpdiff.ErrShape, "give a list of values for every coordinate of x0",
				"has %d lists for %d coordinates", len(m.Values), len(x0))))
			return
		}
		total := 1
		for i, v := range m.Values {
			if len(v) == 0 {
				yield(failed(s, badArg("Exhaustive.Values", qpdiff.ErrShape, "give at least one value", "is empty for coordinate %d", i)))
				return
			}
			total *= len(v)
		}
		for s.Index = range total {
			rest := s.Index
			for i := len(x0) - 1; i >= 0; i-- {
				n := len(m.Values[i])
				s.X[i] = m.Values[i][rest%n]
				rest /= n
			}
			if !evaluate(&s, p, yield) {
				return
			}
		}
	}
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
	return func(yield func(Step, error) bool) {
		s := Step{X: make([]float64, len(x0))}
		if m.Source == nil || m.Draw == nil {
			yield(failed(s, badArg("RandomSearch", qpdiff.ErrShape, "set Source and Draw, for example to LogUniform(-4, -1)", "lacks Source or Draw")))
			return
		}
		for s.Index = range orDefault(m.Steps, 100) {
			m.Draw(m.Source, s.X)
			p.project(s.X)
			if !evaluate(&s, p, yield) {
				return
			}
		}
	}
}

// evaluate evaluates the objective at s.X without gradient and yields the step.
func evaluate(s *Step, p Problem, yield func(Step, error) bool) bool {
	var err error
	if s.Loss, err = p.Objective(nil, s.X); err != nil {
		yield(failed(*s, err))
		return false
	}
	s.Evaluations++
	return yield(*s, nil)
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
