package tune

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/search"
)

const (
	// A descent ends if changes of the hyperparameters by factors of up to e would lower the CV
	// loss, to first order, by at most the share tuneTol.
	tuneTol = 1e-4
	// A descent has at most descentEvals evaluations for each free kind of hyperparameters. A
	// longer descent would probably follow a kink, and along a kink the pattern search is faster.
	descentEvals = 25
	// A descent of a large table also ends if slowEvals successive evaluations have not lowered its
	// lowest CV loss by more than the share slowShare, which is far below the standard error of a
	// CV loss. A descent in all widths of a kernel ends after briefEvals of these evaluations, for
	// a table of any size. The descent is then at a kink, where gradients stay large, or in a flat
	// valley. The search that follows finds the rest with fewer evaluations.
	slowEvals, briefEvals, slowShare = 5, 3, 1e-3
	// firstPattern and lastPattern are the first and the last step of the pattern search, as shares
	// of the range. For a large table the last step is lastLargePattern, because shorter steps
	// lower the CV loss by far less than its standard error.
	firstPattern, lastPattern, lastLargePattern = .08, .01, .04
	// nearZero is a share of the range of a hyperparameter. Some hyperparameters may be 0. If such
	// a hyperparameter is within this share of its lower bound, the search tries 0 for it.
	nearZero = .25
	// Two starts of descents have at least the distance startsApart: see space.distance.
	startsApart = .2
)

// run makes the search. If no point has a finite CV loss, run returns the reason. If ctx ends, run
// returns ctx's error.
func (s *tuneSearch) run() error {
	if err := s.storeBudget(s.descents()); err != nil {
		return err
	}
	if !args.Finite(s.bestStep.Loss) {
		return s.failure
	}
	return nil
}

// descents evaluates the points of the design. It then makes descents or a race from the best
// points, and tries hyperparameters of 0.
func (s *tuneSearch) descents() error {
	if err := s.evaluateDesign(len(s.lookAt)); err != nil {
		return err
	}
	if !slices.Contains(s.isFree, true) || !args.Finite(s.bestStep.Loss) {
		return nil
	}
	from := s.descendAll
	if s.w.kinked() {
		from = s.raceAll
	}
	if err := from(); err != nil {
		return err
	}
	return s.tryZeros()
}

// starts returns the best points of the design that are at least minDistance apart; see
// space.distance.
func (s *tuneSearch) starts(minDistance float64) (starts []Step) {
	seen := slices.Clone(s.path)
	slices.SortStableFunc(seen, func(a, b Step) int { return cmp.Compare(a.Loss, b.Loss) })
	for _, look := range seen {
		if len(starts) == s.w.starts() || !args.Finite(look.Loss) {
			break
		}
		if !slices.ContainsFunc(starts, func(other Step) bool { return s.distance(look.Hyper, other.Hyper) < minDistance }) {
			starts = append(starts, look)
			starts[len(starts)-1].Start = len(starts)
		}
	}
	return starts
}

// descendAll descends from each start. It then makes a pattern search from the best point.
func (s *tuneSearch) descendAll() error {
	for _, start := range s.starts(startsApart) {
		s.descentNumber = start.Start
		if err := s.descend(start.Hyper); err != nil {
			return err
		}
	}
	s.descentNumber = 0
	if err := s.edges(); err != nil {
		return err
	}
	before := s.bestStep.Loss
	if err := s.pattern(); err != nil {
		return err
	}
	// If a descent ended at a kink, another descent may continue from a point beside the kink.
	if s.bestStep.Loss < before {
		return s.descend(s.bestStep.Hyper)
	}
	return nil
}

// raceAll runs a race between the starts. It then descends from the best point.
func (s *tuneSearch) raceAll() error {
	if err := s.raceFrom(s.starts(raceApart)); err != nil {
		return err
	}
	s.descentNumber = 0
	if err := s.descend(s.bestStep.Hyper); err != nil {
		return err
	}
	return s.edges()
}

// storedLoss returns the loss at x if x was evaluated before.
func (s *tuneSearch) storedLoss(x []float64) (loss float64, ok bool) {
	for _, step := range s.path {
		if s.distance(step.Hyper, x) < samePoint {
			return step.Loss, true
		}
	}
	return 0, false
}

// raceFrom runs a race between the given starts. If a point was evaluated before, raceFrom takes
// the loss of the point from the search's path.
func (s *tuneSearch) raceFrom(starts []Step) error {
	return s.race(starts, func(start int, x []float64) (float64, error) {
		if loss, ok := s.storedLoss(x); ok {
			return loss, nil
		}
		s.descentNumber = start
		return s.eval(nil, x)
	})
}

// edges looks for a lower CV loss at the upper bounds of the hyperparameters. It does so only if a
// kind of hyperparameters is at its upper bound at the best point. It then evaluates one point for
// each different kind. At this point, the different kind is near its upper bound, and all other
// hyperparameters have their defaults. If the point is the new best point, edges descends from it.
//
// For example, let one penalty at its bound remove all features, and let another penalty at its
// bound keep only the best features. The CV loss then has a valley near the bound of the second
// penalty. The valley is so narrow that no point of the design lies in it.
func (s *tuneSearch) edges() error {
	atBound := make([]bool, s.kinds)
	for i, h := range s.hyper {
		atBound[s.kind[i]] = atBound[s.kind[i]] || s.isFree[i] && s.bestStep.Hyper[i] > h.Upper/atBoundFactor
	}
	for kind := range s.kinds {
		others := slices.Contains(atBound[:kind], true) || slices.Contains(atBound[kind+1:], true)
		if !others {
			continue
		}
		x, free := s.trialPoint[:len(s.hyper)], false
		for i, h := range s.hyper {
			x[i] = h.Default
			if s.kind[i] == kind {
				x[i] = s.at(i, 1-firstPattern/2)
				free = free || s.isFree[i]
			}
		}
		if !free {
			continue
		}
		before := s.bestStep.Loss
		if _, err := s.eval(nil, x); err != nil {
			return err
		}
		if s.bestStep.Loss < before {
			if err := s.descend(s.bestStep.Hyper); err != nil {
				return err
			}
		}
	}
	return nil
}

// pattern moves each kind of free hyperparameters up and down from the best point. The steps are
// shares of the ranges. They are halved when no move lowers the CV loss. A descent may end early at
// a kink. The pattern search does not end there, because it needs no gradient.
func (s *tuneSearch) pattern() error {
	last := lastPattern
	if s.w.isLarge() {
		last = lastLargePattern
	}
	for step := firstPattern; step >= last; step /= 2 {
		for moved := true; moved; {
			moved = false
			for kind := range s.kinds {
				gained, err := s.moveKind(kind, step)
				if err != nil {
					return err
				}
				moved = moved || gained
			}
		}
	}
	return nil
}

// moveKind moves one kind of hyperparameters up. If this does not lower the CV loss, it moves them
// down. It reports whether the CV loss fell by more than rounding errors.
func (s *tuneSearch) moveKind(kind int, step float64) (gained bool, err error) {
	for _, by := range []float64{step, -step} {
		before := s.bestStep.Loss
		x := append(s.trialPoint[:0], s.bestStep.Hyper...)
		for i := range s.hyper {
			if s.kind[i] == kind {
				x[i] = s.at(i, s.logShare(i, x[i])+by)
			}
		}
		if _, ok := s.storedLoss(x); ok { // the loss there is not below the best one
			continue
		}
		if _, err := s.eval(nil, x); err != nil {
			return false, err
		}
		if s.bestStep.Loss < before {
			return s.bestStep.Loss < before-sameLoss*math.Abs(before), nil
		}
	}
	return false, nil
}

// descend lowers the CV loss from x by QuasiNewton, in the logarithms of the free hyperparameters.
func (s *tuneSearch) descend(x []float64) error {
	return s.descendWithin(x, descentEvals)
}

// descendWithin is the method descend with a limit of the number of evaluations.
func (s *tuneSearch) descendWithin(x []float64, evals int) error {
	searcher := search.QuasiNewton{MaxStep: s.longest, Tol: tuneTol, MaxEvals: evals}
	return s.search(x, func(i int) (lower, upper float64) { return s.hyper[i].Lower, s.hyper[i].Upper }, search.LogSpace{Searcher: searcher})
}

// errSlow ends a descent: see slowEvals.
var errSlow = errors.New("the descent is slow")

// search runs a searcher on the free hyperparameters within bounds. The searcher works with
// hyperparameters in units of their lower bounds, and with losses in units of a power of 2 near the
// lowest loss. So the units of hyperparameters and labels do not affect rounding errors, and
// squares of gradients do not overflow.
func (s *tuneSearch) search(x []float64, bounds func(i int) (lower, upper float64), searcher search.Searcher) error {
	var p search.Problem
	var x0 []float64
	at := s.coordinates(x, s.commonFactor)
	for _, c := range at {
		lower, upper := c.bounds(bounds)
		x0 = append(x0, c.start)
		p.Lower, p.Upper = append(p.Lower, lower), append(p.Upper, upper)
	}
	hyper, grad := slices.Clone(x), make([]float64, len(x))
	_, exponent := math.Frexp(s.bestStep.Loss)
	var stop error
	lowest, idle := math.Inf(1), 0
	p.Objective = func(g, x []float64) (float64, error) {
		for k, c := range at {
			c.set(hyper, x[k], x[k] == p.Upper[k], bounds)
		}
		full := grad
		if g == nil {
			full = nil
		}
		loss, ok := s.lookUp(full, hyper)
		if !ok {
			if loss, stop = s.eval(full, hyper); stop != nil {
				return 0, stop
			}
		}
		if idle++; loss < lowest-slowShare*math.Abs(lowest) || math.IsInf(lowest, 1) {
			lowest, idle = loss, 0
		}
		if s.w.isLarge() && idle >= slowEvals || s.brief && idle >= briefEvals {
			return 0, errSlow
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

// nearZeroGroups lists the hyperparameters that may be 0 and are near their lower bounds, each in a
// group of its own. If the hyperparameters of a kind have a common factor, they form one group,
// which is listed if all of them are near their lower bounds.
func (s *tuneSearch) nearZeroGroups() (groups [][]int) {
	of := make([][]int, s.kinds)
	far := make([]bool, s.kinds)
	for i, h := range s.hyper {
		switch {
		case !s.isFree[i] || s.isWidth(i):
		case h.Zero && s.bestStep.Hyper[i] > 0 && s.logShare(i, s.bestStep.Hyper[i]) < nearZero:
			of[s.kind[i]] = append(of[s.kind[i]], i)
		default:
			far[s.kind[i]] = true
		}
	}
	for k, some := range of {
		switch {
		case !s.commonFactor:
			for _, i := range some {
				groups = append(groups, []int{i})
			}
		case len(some) > 0 && !far[k]:
			groups = append(groups, some)
		}
	}
	return groups
}

// tryZeros sets hyperparameters to 0 if they may be 0 and are near their lower bounds. If the CV
// loss rises, they keep their values. tryZeros first tries 0 for all of them at once. If this
// raises the CV loss, tryZeros tries 0 for one after the other. If the hyperparameters of a kind
// have a common factor, they are tried together.
//
// If a hyperparameter became 0, tryZeros descends from the best point. The coordinates of this
// descent are the values of the hyperparameters, not their logarithms. The lower bound of a
// hyperparameter that may be 0 is 0. Widths stay above 0, because a later search uses their
// logarithms.
func (s *tuneSearch) tryZeros() error {
	near := s.nearZeroGroups()
	if len(near) == 0 {
		return nil
	}
	zeroed, err := s.setZero(slices.Concat(near...))
	if err == nil && !zeroed && len(near) > 1 {
		for _, some := range near {
			one, e := s.setZero(some)
			if err = e; err != nil {
				break
			}
			zeroed = zeroed || one
		}
	}
	if err != nil || !zeroed {
		return err
	}
	return s.search(s.bestStep.Hyper, func(i int) (lower, upper float64) {
		if s.hyper[i].Zero && !s.isWidth(i) {
			return 0, s.hyper[i].Upper
		}
		return s.hyper[i].Lower, s.hyper[i].Upper
	}, search.QuasiNewton{Tol: tuneTol, MaxEvals: evalsPerStart / 2})
}

// setZero sets the hyperparameters with the listed indices to 0 in the best point. If the CV loss
// rises, the best point stays as it was.
func (s *tuneSearch) setZero(some []int) (bool, error) {
	x := slices.Clone(s.bestStep.Hyper)
	for _, i := range some {
		x[i] = 0
	}
	before := s.bestStep
	loss, err := s.eval(nil, x)
	if err != nil || !(loss <= before.Loss) {
		return false, err
	}
	s.bestStep = s.path[len(s.path)-1]
	return true, nil
}
