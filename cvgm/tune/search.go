package tune

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
)

const (
	looks = 9 // at the CV loss before the first descent, the default included
	// kinkedLooks is the number of points of the design if the loss has kinks, as the hinge loss
	// has. The CV loss then has hundreds of valleys, and each descent ends in the valley in which
	// it begins.
	kinkedLooks = 49
	// If there are more than storedFeatures stored features, a step of a descent changes the
	// logarithm of a hyperparameter by at most storedStep. Longer steps may lead to small
	// penalties, at which many features are active. One evaluation there may take longer than all
	// other evaluations together.
	storedStep     = 3
	storedFeatures = 1000
	// Two values of a hyperparameter are equal up to rounding if their relative difference is at
	// most sameHyper.
	sameHyper = 1e-14
	// A search with several widths may make widthEvals more evaluations than usual, and
	// expectedWidths more are expected. For several hyperparameters of another kind, these numbers
	// are separateEvals and expectedSeparate.
	widthEvals, expectedWidths      = 600, 300
	separateEvals, expectedSeparate = 400, 150
)

// tuneSearch is a search on some rows.
type tuneSearch struct {
	space
	w               *tuning
	cv              *cvgm.CV
	splits          []cvgm.Split
	noFeatureVaries bool        // no feature varies
	longest         float64     // MaxStep of the descents
	lookAt          [][]float64 // the points of the design that are not yet evaluated
	path            []Step
	bestStep        Step
	descentNumber   int     // the number of the descent
	designPoints    []point // evaluated points of the design, with gradients
	failedCount     int
	failure         error     // the first of the failed fits
	outOf           string    // why the search ended early
	trialPoint      []float64 // storage for a point to be evaluated
	rows            []int     // the rows from which splits are drawn
	commonFactor    bool      // the hyperparameters of each kind, including widths, change by a common factor
	separateRefused bool      // separate hyperparameters were refused: they have no lower loss on rows that their search leaves out
	brief           bool      // descents end early: see briefEvals
	fitCount        int       // the number of fits in all evaluations, including the parts of the search
	timeIgnored     bool      // MaxTime does not end the next evaluation
	// If this search is a part of another search, earlierEvaluations is the number of evaluations
	// that the whole search has made so far outside this part.
	earlierEvaluations int
}

// point is a point of the CV loss with its gradient.
type point struct {
	hyper, grad []float64
	loss        float64
}

// load makes a CV of the configuration c. It stops if ctx ends. If the search already has an
// evaluation, load also stops at the end of MaxTime.
func (w *tuning) load(c cvgm.Config) (*cvgm.CV, error) {
	ctx := w.ctx
	if w.evaluations > 0 {
		ctx = w.limit
	}
	cv, err := cvgm.NewContext(ctx, c)
	err, _ = w.cause(err)
	return cv, err
}

// cause returns the reason for a failed fit: the error err, or the reason for which a context of
// the call ended. The second result reports whether the whole search must end. An error for too
// much memory ends the search: if it continued at another point, its result would depend on the
// memory.
func (w *tuning) cause(err error) (_ error, ends bool) {
	switch {
	case err == nil:
		return nil, false
	case w.ctx.Err() != nil:
		return context.Cause(w.ctx), true
	case errors.Is(err, errTime) || w.limit.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return errTime, true
	}
	return err, errors.Is(err, qpdiff.ErrTooLarge)
}

// newSearch returns a search on the rows from which the splits are drawn.
func (w *tuning) newSearch(rows []int, splits []cvgm.Split) (*tuneSearch, error) {
	c := w.c
	c.Splits = splits
	if w.isJoint() {
		if err := w.checkTrained(splits); err != nil {
			return nil, err
		}
	}
	w.report("loading", math.NaN(), math.Inf(1))
	beside := memory.Add(w.otherBytes, w.seenBytes(len(rows)))
	if err := tooLarge(c, memory.Add(c.Bytes(), beside), len(splits)); err != nil {
		return nil, err
	}
	c.MaxBytes = remaining(c.MaxBytes, beside)
	cv, err := w.load(c)
	if errors.Is(err, qpdiff.ErrIllPosed) {
		err = cmp.Or(w.checkTrained(splits), err)
	}
	if err != nil {
		return nil, err
	}
	m, flat, err := w.moments(rows)
	if err != nil {
		return nil, err
	}
	hyper, kind, err := w.hyperparameters(m)
	if err != nil {
		return nil, err
	}
	within, err := newSpace(hyper, kind, w.Fixed)
	if err != nil {
		return nil, err
	}
	s := &tuneSearch{space: within, w: w, cv: cv, splits: splits, noFeatureVaries: flat, bestStep: Step{Loss: math.Inf(1)}, trialPoint: make([]float64, len(hyper)), rows: rows, commonFactor: true}
	if m.Sparse && m.Features > storedFeatures {
		s.longest = storedStep
	}
	count := looks
	if w.kinked() {
		count = kinkedLooks
	}
	s.lookAt = s.design(count)
	if w.isLarge() {
		s.chain(s.lookAt)
	}
	return s, nil
}

// chain orders points. After each point comes the nearest of the remaining points. The fits at a
// point then begin from the solutions of a near point.
func (s *tuneSearch) chain(points [][]float64) {
	for i := 1; i < len(points); i++ {
		next := i
		for j := i + 1; j < len(points); j++ {
			if s.distance(points[i-1], points[j]) < s.distance(points[i-1], points[next]) {
				next = j
			}
		}
		points[i], points[next] = points[next], points[i]
	}
}

// evaluateDesign evaluates the next count points of the design.
func (s *tuneSearch) evaluateDesign(count int) error {
	for range min(count, len(s.lookAt)) {
		x := s.lookAt[0]
		s.lookAt = s.lookAt[1:]
		var grad []float64
		if s.w.isLarge() {
			grad = make([]float64, len(x))
		}
		loss, err := s.eval(grad, x)
		if err != nil {
			return err
		}
		if grad != nil {
			s.designPoints = append(s.designPoints, point{x, grad, loss})
		}
	}
	return nil
}

// lookUp returns the stored loss at hyper, and writes the stored gradient to grad. The result ok is
// false if there is no stored point at hyper. Points that differ only by rounding count as equal,
// because hyperparameters are converted to logarithms and back.
func (s *tuneSearch) lookUp(grad, hyper []float64) (loss float64, ok bool) {
	for _, p := range s.designPoints {
		if floats.EqualFunc(p.hyper, hyper, func(a, b float64) bool { return scalar.EqualWithinRel(a, b, sameHyper) }) {
			copy(grad, p.grad)
			return p.loss, true
		}
	}
	return 0, false
}

// errEvals ends a search that has spent its evaluations.
var errEvals = errors.New("cvgm: Tuner.MaxEvals is spent: raise it")

// eval returns the CV loss and writes its gradient to grad. If a fit fails, the loss is +Inf and
// the error is nil, because an error ends the search.
func (s *tuneSearch) eval(grad, hyper []float64) (float64, error) {
	if s.w.ctx.Err() != nil {
		return 0, context.Cause(s.w.ctx)
	}
	if s.earlierEvaluations+len(s.path) >= s.mostEvals() {
		return 0, errEvals
	}
	s.fitCount += len(s.splits)
	ctx := s.w.limit
	// MaxTime does not end the first evaluation of a search, so that each search has a result.
	if s.earlierEvaluations+len(s.path) == 0 || s.timeIgnored {
		ctx = s.w.ctx
	}
	loss, err := s.cv.EvalContext(ctx, grad, hyper)
	if err != nil {
		var ends bool
		if err, ends = s.w.cause(err); ends {
			return 0, err
		}
		if !s.triesZero(hyper) {
			if s.failure == nil {
				s.failure = err
			}
			s.failedCount++
		}
		loss = math.Inf(1)
		for i := range grad {
			grad[i] = math.NaN()
		}
	}
	step := Step{Hyper: slices.Clone(hyper), Loss: loss, Start: s.descentNumber}
	s.path = append(s.path, step)
	if loss < s.bestStep.Loss {
		s.bestStep = step
	}
	s.w.recordEvaluation(loss, s.bestStep.Loss)
	return loss, nil
}

// mostEvals returns the number of evaluations at which a search ends. This number includes the
// evaluations of the search's parts.
func (s *tuneSearch) mostEvals() int {
	most := defaultEvals
	if s.w.kinked() {
		most = kinkedEvals
	}
	if s.freeWidths() > 1 {
		most += widthEvals
	} else if s.largestKind() > 1 {
		most += separateEvals
	}
	return cmp.Or(s.w.MaxEvals, most)
}

// fitBest calls the function fit for the best point, s.bestStep. If fit fails, fitBest replaces
// s.bestStep by the next best point and calls fit again. The first result reports whether fit
// succeeded for some point. The second result is the first failure, or ctx's error if ctx ends. If
// a fit needs too much memory, fitBest stops and returns this failure, because the choice of
// another point would depend on the memory.
func (s *tuneSearch) fitBest(fit func() error) (settled bool, failure error) {
	if failure = fit(); failure == nil {
		return true, nil
	}
	best, left := s.bestStep, slices.Clone(s.path)
	slices.SortStableFunc(left, func(a, b Step) int { return cmp.Compare(a.Loss, b.Loss) })
	for s.w.ctx.Err() == nil && !errors.Is(failure, qpdiff.ErrTooLarge) {
		left = slices.DeleteFunc(left, func(step Step) bool { return slices.Equal(step.Hyper, s.bestStep.Hyper) })
		if len(left) == 0 || !args.Finite(left[0].Loss) {
			break
		}
		s.bestStep = left[0]
		if err := fit(); err == nil {
			return true, failure
		} else if errors.Is(err, qpdiff.ErrTooLarge) {
			failure = err
		}
	}
	s.bestStep = best
	if s.w.ctx.Err() != nil {
		failure = context.Cause(s.w.ctx)
	}
	return false, failure
}

// If err is the error of a spent budget, storeBudget stores the name of the budget and returns nil.
// It returns any other error unchanged.
func (s *tuneSearch) storeBudget(err error) error {
	switch {
	case errors.Is(err, errEvals):
		s.outOf = "MaxEvals"
	case errors.Is(err, errTime):
		s.outOf = "MaxTime"
	default:
		return err
	}
	return nil
}
