package search

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// A Step is one evaluation of a search. The slices of a step belong to the searcher and are valid
// until the next step. Copy the slices to keep them.
type Step struct {
	X           []float64 // the point of the evaluation
	Loss        float64   // its value there
	Grad        []float64 // its gradient there; nil if the searcher uses none
	Evaluations int       // number of evaluations in this search, including this one: 1, 2, …
	// Converged: the searcher's test of convergence holds at X; see [Searcher].
	Converged bool
	// Generalised is true if the objective has a kink at X. Grad is then an element of the
	// generalised derivative at X.
	Generalised bool
	// Random is true if Loss and Grad are estimates from one draw of a random objective; see
	// [Problem]. The step with the lowest estimate is only the step with the luckiest draw, so use
	// [Average] instead of [Best].
	Random bool
}

// A Searcher minimises a Problem. It yields one step for each evaluation. The sequence of steps
// ends when the searcher has converged or used its budget. The caller's loop may record and test
// the steps, and may stop for other reasons. An error ends the sequence. The step that comes with
// an error has the X at which the error arose.
//
// Searchers do not depend on units, because each coordinate has a scale. If the bounds fix the sign
// of a coordinate, the searcher treats it as a penalty or a width, and its scale is |x0|. Any other
// coordinate is treated as a weight, whose |x0| may be small by chance. The scale of a weight is
// the distance between its bounds. If this distance is infinite, the scale is the largest |x0| of
// all weights. If these rules give zero, the scale is the first nonzero number of the following:
// |lower|, |upper|, the largest scale of the other coordinates, |f|/‖∇f‖∞ at the start, and 1.
//
// If the unit of a single coordinate changes, [QuasiNewton], [Newton], [CMAES], [Bayesian] and
// [LogSpace] make the same steps in the new unit. The steps of all other searchers change. A
// searcher with a StepSize depends on the unit because StepSize has one unit for all coordinates.
// [AdaptiveGradient] depends on the unit because it has one step size. A search over a set that is
// not a box depends on the unit, too. If a coordinate starts at 0 without bounds, the searcher
// assumes that it has the unit of the other coordinates.
//
// In a search that uses the gradient, scales can grow: the scale of a coordinate is at least the
// coordinate's absolute value, and at least the length of its next step. Consider all moves that
// change each coordinate by at most its scale. The search has converged when, to first order, no
// such move lowers the loss by more than Tol·|f(x)|. For a convex loss, the test bounds the gain of
// these moves. With a negative Tol a search never converges.
//
// If a loss tends to zero, |f(x)| becomes too small for this test. The search has then also
// converged if three conditions hold:
//   - The gain is at most Tol·|f(x0)|.
//   - The last move was at most √Tol of the scale in every coordinate.
//   - The secant between the last two gradients predicts a minimum within Tol of the scales.
//
// Random objectives are objectives that [Problem] marks by Restart. Some searchers can minimise
// them: [Adam], [HeavyBall], [ProjectedGradient], [CMAES], and [LogSpace] with one of these
// searchers. All other searchers of this package return an error of kind [qpdiff.ErrDomain]. With a
// constant step size, the search stays at some distance from the minimum. This distance grows with
// the step size and the noise, and [Average] reduces it. A search of a random objective uses its
// whole budget, because one draw of a gradient cannot show convergence.
//
// Searchers are values. A second search by the same searcher repeats the first search, and a second
// pass over the sequence of a search repeats the first pass. Searchers that draw random numbers
// have a field Source. It is a function that returns a source of random numbers, and each pass
// calls it once. Each call must return a new source in the same state, such as synth.NewStream(1,
// "search").
type Searcher interface {
	Search(p Problem, x0 []float64) iter.Seq2[Step, error]
}

// Best runs a search to its end and returns the step with the lowest loss. If several steps have
// this loss, Best returns the first of them. The slices of the step belong to the caller. If no
// later step improved on the first step, the field Evaluations of the result is 1. If the search
// ends with an error, Best returns this error and the best step before the error. If the search has
// no step, or no finite loss, the error is of kind [qpdiff.ErrNotFinite]. If the objective is
// random, the error is of kind [qpdiff.ErrDomain]; use [Average].
func Best(steps iter.Seq2[Step, error]) (Step, error) {
	best := Step{Loss: math.Inf(1)}
	if steps == nil {
		return best, args.Bad("steps", qpdiff.ErrEmpty, "give the steps of a Searcher", "is nil")
	}
	for s, err := range steps {
		if err != nil {
			return best, err
		}
		if s.Random {
			return best, args.Bad("steps", qpdiff.ErrDomain, "take Average of the last steps", "are of a random objective, whose lowest loss is the luckiest draw")
		}
		if s.Loss < best.Loss {
			best = s.clone()
		}
	}
	if best.X == nil || math.IsInf(best.Loss, -1) {
		return best, noBest("steps", "loss")
	}
	return best, nil
}

func noBest(arg, value string) error {
	return args.Bad(arg, qpdiff.ErrNotFinite, "start the search where the "+value+" is finite", "have no finite %s", value)
}

// clone returns a copy of the step that shares no slice with it.
func (s Step) clone() Step {
	s.X, s.Grad = slices.Clone(s.X), slices.Clone(s.Grad)
	return s
}

// An Error is the error of a search, with the point at which the error arose.
type Error struct {
	// Evaluations is the number of evaluations of the objective up to the error. It includes a
	// failed evaluation. If the searcher's settings or the problem are invalid, it is 0.
	Evaluations int
	X           []float64
	Err         error
}

func (e *Error) Error() string {
	if len(e.X) > 8 {
		return fmt.Sprintf("search evaluation %d: %v", e.Evaluations, e.Err)
	}
	return fmt.Sprintf("search evaluation %d at %v: %v", e.Evaluations, e.X, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }
