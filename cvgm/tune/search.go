package tune

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
)

const (
	looks = 9 // at the CV loss before the first descent, the default included
	// kinkedLooks is the number of points of the design if the loss has kinks. The CV loss then has
	// hundreds of valleys, for example with a hinge loss, and each descent ends in the valley in
	// which it begins.
	kinkedLooks = 49
	// tuneTol is a share of the CV loss. A descent ends if changes of all hyperparameters by a
	// factor e would lower the CV loss by at most this share, to first order.
	tuneTol = 1e-4
	// descentEvals bounds the number of evaluations of a descent. The bound is descentEvals for
	// each free kind of hyperparameters. A descent may become slow along a kink. The pattern search
	// is then faster.
	descentEvals = 25
	// storedStep limits the steps of a descent in the logarithm of a hyperparameter, if there are
	// more than storedFeatures stored features. At small penalties so many features are active that
	// one evaluation may take longer than all other evaluations together.
	storedStep     = 3
	storedFeatures = 1000
	// firstPattern and lastPattern are the first and the last step of the pattern search, as shares
	// of the range.
	firstPattern, lastPattern = .08, .01
	// nearZero is the distance from the lower bound, as a share of the range, within which 0 is
	// tried for a hyperparameter that may vanish.
	nearZero = .25
	// apart is the smallest distance from the first start at which another descent may start. It is
	// a share of the range of one kind of hyperparameters.
	apart = .2
	// sameHyper is the relative change of a hyperparameter that counts as rounding.
	sameHyper = 1e-14
	// widthEvals is the number of evaluations that is added to the limit of a search with several
	// widths.
	widthEvals = 300
)

// tuneSearch is a search on some rows.
type tuneSearch struct {
	space
	w       *tuning
	cv      *cvgm.CV
	splits  []cvgm.Split
	flat    bool        // no feature varies
	longest float64     // MaxStep of the descents
	lookAt  [][]float64 // the points of the design that are not yet evaluated
	path    []Step
	best    Step
	start   int     // the number of the descent
	known   []point // evaluated points of the design, with gradients
	failed  int
	failure error     // the first of the failed fits
	outOf   string    // why the search ended early
	trial   []float64 // storage for a point to be evaluated
	rows    []int     // that the splits draw on
	tied    bool      // the widths of features are one hyperparameter, or one factor of theirs
	fits    int       // of all evaluations, also of the parts
	last    bool      // MaxTime does not end the next evaluation
	before  int       // if this search is a part of another one: the evaluations of that search and of its other parts
}

// point is a point of the CV loss with its gradient.
type point struct {
	hyper, grad []float64
	loss        float64
}

// load makes a CV of c. It stops if the context ends. After the first evaluation, it also stops at
// the end of MaxTime.
func (w *tuning) load(c cvgm.Config) (*cvgm.CV, error) {
	ctx := w.ctx
	if w.evaluations > 0 {
		ctx = w.limit
	}
	cv, err := cvgm.NewContext(ctx, c)
	switch {
	case err == nil:
	case w.ctx.Err() != nil:
		err = context.Cause(w.ctx)
	case w.limit.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		err = errTime
	}
	return cv, err
}

// newSearch returns a search on the rows that the splits draw on.
func (w *tuning) newSearch(rows []int, splits []cvgm.Split) (*tuneSearch, error) {
	c := w.c
	c.Splits = splits
	if err := w.checkTrained(splits); err != nil {
		return nil, err
	}
	if w.Progress != nil && w.large() {
		w.Progress(Progress{Stage: "loading", Evaluations: w.evaluations, Loss: math.NaN(), Best: math.Inf(1), Elapsed: time.Since(w.began)})
	}
	beside := memory.Add(w.beside, w.seenBytes(len(rows)))
	if err := tooLarge(c, memory.Add(c.Bytes(), beside), len(splits)); err != nil {
		return nil, err
	}
	c.MaxBytes = less(c.MaxBytes, beside)
	cv, err := w.load(c)
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
	s := &tuneSearch{space: within, w: w, cv: cv, splits: splits, flat: flat, best: Step{Loss: math.Inf(1)}, trial: make([]float64, len(hyper)), rows: rows, tied: true}
	if m.Sparse && m.Features > storedFeatures {
		s.longest = storedStep
	}
	count := looks
	if w.kinked() {
		count = kinkedLooks
	}
	s.lookAt = s.design(count)
	return s, nil
}

// looks evaluates the next count points of the design.
func (s *tuneSearch) looks(count int) error {
	for range min(count, len(s.lookAt)) {
		x := s.lookAt[0]
		s.lookAt = s.lookAt[1:]
		var grad []float64
		if s.w.large() {
			grad = make([]float64, len(x))
		}
		loss, err := s.eval(grad, x)
		if err != nil {
			return err
		}
		if grad != nil {
			s.known = append(s.known, point{x, grad, loss})
		}
	}
	return nil
}

// look returns the loss at a point of the design and writes the gradient to grad, if both are
// known. Points that differ only by rounding count as equal, because hyperparameters are converted
// to logarithms and back.
func (s *tuneSearch) look(grad, hyper []float64) (loss float64, ok bool) {
	for _, p := range s.known {
		if floats.EqualFunc(p.hyper, hyper, func(a, b float64) bool { return scalar.EqualWithinRel(a, b, sameHyper) }) {
			copy(grad, p.grad)
			return p.loss, true
		}
	}
	return 0, false
}

// errEvals ends a search that has spent its evaluations.
var errEvals = errors.New("cvgm: Tuner.MaxEvals is spent: raise it")

// eval returns the CV loss and writes its gradient to grad. If the fit fails, the loss is +Inf. An
// error ends the search.
func (s *tuneSearch) eval(grad, hyper []float64) (float64, error) {
	if s.w.ctx.Err() != nil {
		return 0, context.Cause(s.w.ctx)
	}
	if s.before+len(s.path) >= s.mostEvals() {
		return 0, errEvals
	}
	began := time.Now()
	s.fits += len(s.splits)
	ctx := s.w.limit
	if s.before+len(s.path) == 0 || s.last { // without an evaluation the search, or the part, has no result
		ctx = s.w.ctx
	}
	loss, err := s.cv.EvalContext(ctx, grad, hyper)
	if err != nil {
		switch {
		case s.w.ctx.Err() != nil:
			return 0, context.Cause(s.w.ctx)
		case s.w.limit.Err() != nil && errors.Is(err, context.DeadlineExceeded):
			return 0, errTime
		case errors.Is(err, qpdiff.ErrTooLarge): // another point instead would let the result depend on the memory
			return 0, err
		}
		if !s.triesZero(hyper) {
			if s.failure == nil {
				s.failure = err
			}
			s.failed++
		}
		loss = math.Inf(1)
		for i := range grad {
			grad[i] = math.NaN()
		}
	}
	step := Step{Hyper: slices.Clone(hyper), Loss: loss, Start: s.start}
	s.path = append(s.path, step)
	if loss < s.best.Loss {
		s.best = step
	}
	s.w.evaluated(began, loss, s.best.Loss)
	return loss, nil
}

// run searches. It returns the reason why nothing was found, or ctx's.
func (s *tuneSearch) run() error {
	if err := s.ended(s.descents()); err != nil {
		return err
	}
	if !args.Finite(s.best.Loss) {
		return s.failure
	}
	return nil
}

// mostEvals returns the number of evaluations at which a search ends. Evaluations of its parts
// count.
func (s *tuneSearch) mostEvals() int {
	most := defaultEvals
	if s.w.kinked() {
		most = kinkedEvals
	}
	if s.freeWidths() > 1 {
		most += widthEvals
	}
	return cmp.Or(s.w.MaxEvals, most)
}

// settle calls fit with the best point. If fit fails, the next best point becomes s.best, and
// settle calls fit again, and so on. settle reports whether a fit succeeded. failure is the first
// failure, or ctx's error if ctx ends. If a fit needs too much memory, settle stops, because with
// another point the result would depend on the memory.
func (s *tuneSearch) settle(fit func() error) (settled bool, failure error) {
	if failure = fit(); failure == nil {
		return true, nil
	}
	best, left := s.best, slices.Clone(s.path)
	slices.SortStableFunc(left, func(a, b Step) int { return cmp.Compare(a.Loss, b.Loss) })
	for s.w.ctx.Err() == nil && !errors.Is(failure, qpdiff.ErrTooLarge) {
		left = slices.DeleteFunc(left, func(step Step) bool { return slices.Equal(step.Hyper, s.best.Hyper) })
		if len(left) == 0 || !args.Finite(left[0].Loss) {
			break
		}
		s.best = left[0]
		if err := fit(); err == nil {
			return true, failure
		} else if errors.Is(err, qpdiff.ErrTooLarge) {
			failure = err
		}
	}
	s.best = best
	if s.w.ctx.Err() != nil {
		failure = context.Cause(s.w.ctx)
	}
	return false, failure
}

// ended notes that a budget ended the search; other errors it returns.
func (s *tuneSearch) ended(err error) error {
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

func (s *tuneSearch) descents() error {
	if err := s.looks(len(s.lookAt)); err != nil {
		return err
	}
	if !slices.Contains(s.free, true) || !args.Finite(s.best.Loss) {
		return nil
	}
	from := s.descendAll
	if s.w.kinked() {
		from = s.raceAll
	}
	if err := from(); err != nil {
		return err
	}
	return s.zeros()
}

// starts returns the best points of the design. Any two of them differ by at least apart, a share
// of a range.
func (s *tuneSearch) starts(apart float64) (starts []Step) {
	seen := slices.Clone(s.path)
	slices.SortStableFunc(seen, func(a, b Step) int { return cmp.Compare(a.Loss, b.Loss) })
	for _, look := range seen {
		if len(starts) == s.w.starts() || !args.Finite(look.Loss) {
			break
		}
		if !slices.ContainsFunc(starts, func(other Step) bool { return s.distance(look.Hyper, other.Hyper) < apart }) {
			starts = append(starts, look)
			starts[len(starts)-1].Start = len(starts)
		}
	}
	return starts
}

// descendAll descends from each start, and moves on from the best point.
func (s *tuneSearch) descendAll() error {
	for _, start := range s.starts(apart) {
		s.start = start.Start
		if err := s.descend(start.Hyper); err != nil {
			return err
		}
	}
	s.start = 0
	if err := s.edges(); err != nil {
		return err
	}
	before := s.best.Loss
	if err := s.pattern(); err != nil {
		return err
	}
	if s.best.Loss < before { // a descent that ended at a kink may go on beside it
		return s.descend(s.best.Hyper)
	}
	return nil
}

// raceAll lets the starts race, and descends from the best point.
func (s *tuneSearch) raceAll() error {
	if err := s.raceFrom(s.starts(raceApart)); err != nil {
		return err
	}
	s.start = 0
	if err := s.descend(s.best.Hyper); err != nil {
		return err
	}
	return s.edges()
}

// raceFrom lets some starts race. Points of the path are not evaluated again.
func (s *tuneSearch) raceFrom(starts []Step) error {
	return s.race(starts, func(start int, x []float64) (float64, error) {
		for _, step := range s.path {
			if s.distance(step.Hyper, x) < samePoint {
				return step.Loss, nil
			}
		}
		s.start = start
		return s.eval(nil, x)
	})
}

// edges acts only if the best point is at an upper bound of one kind of hyperparameters. It
// evaluates points at which only another kind is near its upper bound, and descends from the better
// of these points. If one penalty removes all features, another penalty that keeps just the best
// features may be better. Such a valley of the CV loss is too narrow for the points of the design.
func (s *tuneSearch) edges() error {
	atBound := make([]bool, s.kinds)
	for i, h := range s.hyper {
		atBound[s.kind[i]] = atBound[s.kind[i]] || s.free[i] && s.best.Hyper[i] > h.Upper/atBoundFactor
	}
	for kind := range s.kinds {
		others := slices.Contains(atBound[:kind], true) || slices.Contains(atBound[kind+1:], true)
		if !others {
			continue
		}
		x, free := s.trial[:len(s.hyper)], false
		for i, h := range s.hyper {
			x[i] = h.Default
			if s.kind[i] == kind {
				x[i] = s.at(i, 1-firstPattern/2)
				free = free || s.free[i]
			}
		}
		if !free {
			continue
		}
		before := s.best.Loss
		if _, err := s.eval(nil, x); err != nil {
			return err
		}
		if s.best.Loss < before {
			if err := s.descend(s.best.Hyper); err != nil {
				return err
			}
		}
	}
	return nil
}

// pattern moves each kind of free hyperparameters up and down from the best point. The steps are
// shares of the ranges. They are halved when no move lowers the CV loss. A descent may end early at
// a kink. pattern does not, because it needs no gradient.
func (s *tuneSearch) pattern() error {
	for step := firstPattern; step >= lastPattern; step /= 2 {
		for moved := true; moved; {
			moved = false
			for kind := range s.kinds {
				gained, err := s.move(kind, step)
				if err != nil {
					return err
				}
				moved = moved || gained
			}
		}
	}
	return nil
}

// move moves one kind of hyperparameters up. If that does not lower the CV loss, it moves the kind
// down. It reports whether the CV loss fell by more than rounding errors.
func (s *tuneSearch) move(kind int, step float64) (gained bool, err error) {
	for _, by := range []float64{step, -step} {
		before := s.best.Loss
		x := append(s.trial[:0], s.best.Hyper...)
		for i := range s.hyper {
			if s.kind[i] == kind {
				x[i] = s.at(i, s.share(i, x[i])+by)
			}
		}
		if slices.Equal(x, s.best.Hyper) {
			continue
		}
		if _, err := s.eval(nil, x); err != nil {
			return false, err
		}
		if s.best.Loss < before {
			return s.best.Loss < before-sameLoss*math.Abs(before), nil
		}
	}
	return false, nil
}

// descend descends the CV loss in logarithms of the free hyperparameters from x.
func (s *tuneSearch) descend(x []float64) error {
	return s.descendWithin(x, descentEvals)
}

// descendWithin is descend with at most evals evaluations.
func (s *tuneSearch) descendWithin(x []float64, evals int) error {
	searcher := search.QuasiNewton{MaxStep: s.longest, Tol: tuneTol, MaxEvals: evals}
	return s.search(x, func(i int) (lower, upper float64) { return s.hyper[i].Lower, s.hyper[i].Upper }, search.LogSpace{Searcher: searcher})
}

// search runs a searcher on the free hyperparameters within bounds. The searcher sees
// hyperparameters in units of their lower bounds, and the loss in units of a power of 2 near the
// lowest loss. So the units of hyperparameters and labels do not affect the searcher's rounding
// errors, and squares of gradients do not overflow.
func (s *tuneSearch) search(x []float64, bounds func(i int) (lower, upper float64), searcher search.Searcher) error {
	var p search.Problem
	var x0 []float64
	at := s.coordinates(x, s.tied)
	for _, c := range at {
		lower, upper := c.bounds(bounds)
		x0 = append(x0, c.start)
		p.Lower, p.Upper = append(p.Lower, lower), append(p.Upper, upper)
	}
	hyper, grad := slices.Clone(x), make([]float64, len(x))
	_, exponent := math.Frexp(s.best.Loss)
	var stop error
	p.Objective = func(g, x []float64) (float64, error) {
		for k, c := range at {
			c.set(hyper, x[k], x[k] == p.Upper[k], bounds)
		}
		full := grad
		if g == nil {
			full = nil
		}
		loss, ok := s.look(full, hyper)
		if !ok {
			if loss, stop = s.eval(full, hyper); stop != nil {
				return 0, stop
			}
		}
		for k := range g {
			g[k] = at[k].slope(grad, -exponent)
		}
		return math.Ldexp(loss, -exponent), nil
	}
	for _, err := range searcher.Search(p, x0) {
		if stop != nil {
			return stop
		}
		if err != nil { // an error of the search, for example an overflow of a gradient: the results so far count
			break
		}
	}
	return stop
}

// zeros sets hyperparameters to 0 if they may vanish and are near their lower bounds, as long as
// the CV loss does not rise. It first tries all of them at once, and then each one. The search then
// continues from the result in raw values, with the lower bound 0 for hyperparameters that may
// vanish. Widths stay above 0, because a search in the logarithms of the widths follows.
func (s *tuneSearch) zeros() error {
	var near []int
	for i, h := range s.hyper {
		if s.free[i] && h.Zero && !s.isWidth(i) && s.best.Hyper[i] > 0 && s.share(i, s.best.Hyper[i]) < nearZero {
			near = append(near, i)
		}
	}
	if len(near) == 0 {
		return nil
	}
	zeroed, err := s.zero(near)
	if err == nil && !zeroed && len(near) > 1 {
		for _, i := range near {
			one, e := s.zero([]int{i})
			if err = e; err != nil {
				break
			}
			zeroed = zeroed || one
		}
	}
	if err != nil || !zeroed {
		return err
	}
	return s.search(s.best.Hyper, func(i int) (lower, upper float64) {
		if s.hyper[i].Zero && !s.isWidth(i) {
			return 0, s.hyper[i].Upper
		}
		return s.hyper[i].Lower, s.hyper[i].Upper
	}, search.QuasiNewton{Tol: tuneTol, MaxEvals: evalsPerStart / 2})
}

// zero sets some entries of the best point to 0 if the CV loss does not rise.
func (s *tuneSearch) zero(some []int) (bool, error) {
	x := slices.Clone(s.best.Hyper)
	for _, i := range some {
		x[i] = 0
	}
	before := s.best
	loss, err := s.eval(nil, x)
	if err != nil || !(loss <= before.Loss) {
		return false, err
	}
	s.best = s.path[len(s.path)-1]
	return true, nil
}
