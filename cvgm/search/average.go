package search

import (
	"iter"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// Average runs a search to its end and returns the mean of its last steps. The parameter last is
// the number of these steps. If the search has fewer steps, Average takes all of them. It averages
// X, Loss and, if every step has a gradient, Grad. The other fields come from the last step. The
// mean of X lies in the constraint set of the [Problem], because the set is convex. The mean of
// Loss estimates the objective near X. If the draws are independent, its standard error is the
// standard deviation of a single loss divided by √last.
//
// Average is for random objectives. With a constant step size, a search moves at random around the
// minimum. The mean of its path is nearer to the minimum than a single point of the path (Polyak
// and Juditsky 1992). If the search ends with an error, Average returns this error and the mean of
// the last steps before the error. If the search has no steps, the error is of kind
// [qpdiff.ErrShape]. If the argument last is below 1, the error is of kind [qpdiff.ErrDomain].
func Average(steps iter.Seq2[Step, error], last int) (Step, error) {
	if err := args.First(
		args.BadIf(steps == nil, "steps", qpdiff.ErrEmpty, "give the steps of a Searcher", "is nil"),
		args.BadIf(last < 1, "last", qpdiff.ErrDomain, "average at least one step", "is %d", last),
	); err != nil {
		return Step{}, err
	}
	var lastSteps []Step // at most the number last; lastSteps[oldest] is the oldest
	oldest := 0
	var failure error
	for s, err := range steps {
		if failure = err; err != nil {
			break
		}
		if len(lastSteps) < last {
			lastSteps = append(lastSteps, s.clone())
			continue
		}
		copy(lastSteps[oldest].X, s.X)
		if s.Grad == nil {
			lastSteps[oldest].Grad = nil
		}
		copy(lastSteps[oldest].Grad, s.Grad)
		s.X, s.Grad = lastSteps[oldest].X, lastSteps[oldest].Grad
		lastSteps[oldest] = s
		oldest = (oldest + 1) % last
	}
	if len(lastSteps) == 0 {
		return Step{}, args.First(failure, args.Bad("steps", qpdiff.ErrEmpty, "give the search a budget", "are none"))
	}
	return mean(append(lastSteps[oldest:], lastSteps[:oldest]...)), failure
}

// mean returns the mean of the steps. The fields that Average does not average come from the last
// step.
func mean(steps []Step) Step {
	m := steps[len(steps)-1].clone()
	share := 1 / float64(len(steps))
	m.Loss = 0
	clear(m.X)
	clear(m.Grad)
	for _, s := range steps {
		m.Loss += share * s.Loss // terms that cannot overflow
		floats.AddScaled(m.X, share, s.X)
		if m.Grad != nil && s.Grad != nil {
			floats.AddScaled(m.Grad, share, s.Grad)
		} else {
			m.Grad = nil
		}
	}
	return m
}
