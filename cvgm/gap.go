package cvgm

import (
	"iter"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
)

// A GapMonitor watches a search for over-fitting of the CV loss. With many hyperparameters, a
// search can fit the validation rows as closely as a learner fits its training rows. The CV loss is
// then far below the risk. The monitor adds to each step an estimate of the risk that does not use
// the validation rows of the search. The estimate comes from held-out examples (HeldOut) or from
// the same search on parts of the data (Nested). The monitor can stop the search by this estimate:
//
//	monitor := cvgm.GapMonitor{HeldOut: cv.RiskAt(loss, heldOut), Patience: 20}
//	for step, err := range monitor.Watch(search.Search(problem, x0)) {
//		// step.Loss, step.HeldOut, step.Gap(), step.Best
//	}
type GapMonitor struct {
	// HeldOut estimates the risk at a step; see [CV.RiskAt]. Either HeldOut or Nested is required.
	HeldOut func(search.Step) (float64, error)
	// Nested holds runs of the same search, each on the training rows of an outer split. The Risk
	// of a run is measured on the validation rows of its split. With each step of the watched
	// search, each run advances by one evaluation. A run that has ended stays at its last step. The
	// estimate is the mean of the risks of the runs. It estimates the risk of an equally long
	// search with somewhat fewer data (nested cross-validation; Varma and Simon 2006).
	Nested []NestedSearch
	// Risk is the true risk at a step. If Risk is nil, the true risk is not known.
	Risk func(search.Step) (float64, error)
	// Patience ends the sequence after this number of successive steps without a new lowest estimate.
	// If Patience is zero, the sequence ends with the search.
	Patience int
}

// A NestedSearch is one run of a search on a part of the data.
type NestedSearch struct {
	Steps iter.Seq2[search.Step, error]
	Risk  func(search.Step) (float64, error) // the risk on the other part of the data
}

// A GapStep is a Step with the estimated risk at its X and, if it is known, the true risk.
type GapStep struct {
	search.Step         // Loss is the CV loss
	HeldOut     float64 // the monitor's estimate of the risk
	Risk        float64 // the true risk; NaN if it is not known
	Best        bool    // HeldOut is lower than at all steps before
}

// Gap returns HeldOut − Loss, the amount by which the CV loss is too low.
func (s GapStep) Gap() float64 { return s.HeldOut - s.Loss }

// Watch returns the steps of a search with their gaps. An error of the search, or of an estimate,
// ends the sequence and is a [search.Error].
func (m GapMonitor) Watch(steps iter.Seq2[search.Step, error]) iter.Seq2[GapStep, error] {
	return func(yield func(GapStep, error) bool) {
		if (m.HeldOut == nil) == (len(m.Nested) == 0) {
			yield(failedBest(search.Step{}, args.Bad("GapMonitor", qpdiff.ErrShape, "set HeldOut, for example to cv.RiskAt(loss, data), or Nested", "has both HeldOut and Nested, or none")))
			return
		}
		if m.HeldOut == nil {
			next := make([]func() (search.Step, error, bool), len(m.Nested))
			for j, n := range m.Nested {
				var stop func()
				next[j], stop = iter.Pull2(n.Steps)
				defer stop()
			}
			m.HeldOut = m.nested(next)
		}
		best, since := math.Inf(1), 0
		for s, err := range steps {
			g := GapStep{Step: s, Risk: math.NaN()}
			if err == nil {
				err = m.judgeStep(&g)
			}
			if err != nil {
				yield(failedBest(s, err))
				return
			}
			since++
			if g.Best = g.HeldOut < best; g.Best {
				best, since = g.HeldOut, 0
			}
			if !yield(g, nil) || m.Patience > 0 && since >= m.Patience {
				return
			}
		}
	}
}

// failedBest returns a step without estimates, and err as a search.Error.
func failedBest(s search.Step, err error) (GapStep, error) {
	if _, ok := err.(*search.Error); !ok {
		err = &search.Error{Evaluations: s.Evaluations, X: slices.Clone(s.X), Err: err}
	}
	return GapStep{Step: s, HeldOut: math.NaN(), Risk: math.NaN()}, err
}

// judgeStep sets the fields HeldOut and Risk of g.
func (m GapMonitor) judgeStep(g *GapStep) (err error) {
	if g.HeldOut, err = m.HeldOut(g.Step); err != nil {
		return err
	}
	if m.Risk != nil {
		if g.Risk, err = m.Risk(g.Step); err != nil {
			return err
		}
	}
	return args.First(
		args.BadIf(!(g.HeldOut > math.Inf(-1)) || m.Risk != nil && !(g.Risk > math.Inf(-1)), "GapMonitor", qpdiff.ErrNotFinite,
			"return an error where there is no risk", "is given NaN or -Inf as a risk"),
		args.BadIf(args.Finite(g.HeldOut) && args.Finite(g.Loss) && !args.Finite(g.Gap()), "GapMonitor", qpdiff.ErrNotFinite,
			"scale the loss", "has a gap that overflows, between the loss %v and the estimate %v", g.Loss, g.HeldOut))
}

// Best watches a search to its end and returns the step with the lowest estimate of the risk. The
// estimates are on examples that the CV loss has not used. According to them, this step is the best
// point to stop. The slices of the step belong to the caller. If the search ends with an error,
// Best returns the error and the best step before the error. If the search has no step, or no
// finite estimate, the error is of kind [qpdiff.ErrNotFinite].
func (m GapMonitor) Best(steps iter.Seq2[search.Step, error]) (GapStep, error) {
	best := GapStep{HeldOut: math.Inf(1), Risk: math.NaN()}
	for s, err := range m.Watch(steps) {
		if err != nil {
			return best, err
		}
		if s.Best {
			best = s
			best.X, best.Grad = slices.Clone(s.X), slices.Clone(s.Grad)
		}
	}
	if best.X == nil {
		return best, args.Bad("steps", qpdiff.ErrNotFinite, "start the search where the estimate of the risk is finite", "have no finite estimate of the risk")
	}
	return best, nil
}

// nested returns a function that estimates the risk as the mean of the risks of the nested
// searches. At every call, this function advances each nested search by one step.
func (m GapMonitor) nested(next []func() (search.Step, error, bool)) func(search.Step) (float64, error) {
	risks := slices.Repeat([]float64{math.NaN()}, len(next)) // NaN before the first step
	return func(search.Step) (float64, error) {
		for j, next := range next {
			s, err, ok := next()
			if ok && err == nil {
				risks[j], err = m.Nested[j].Risk(s)
			}
			if err != nil {
				return 0, &SplitError{j, err}
			}
		}
		return sample.MeanOf(risks), nil
	}
}

// RiskAt returns a function for HeldOut or Risk of a [GapMonitor]. At a step, this function fits
// the learner to all data of the CV, at the step's X, as [CV.Final] does. It returns the mean loss
// on d. The data d should not contain any of the CV's data.
func (cv *CV) RiskAt(loss Loss, d learn.Data) func(search.Step) (float64, error) {
	return func(s search.Step) (float64, error) {
		m, err := cv.Final(s.X)
		if err != nil {
			return 0, err
		}
		return m.Risk(loss, d)
	}
}
