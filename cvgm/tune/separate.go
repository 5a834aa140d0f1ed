package tune

import (
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff/memory"
)

const (
	// separateDescent is the largest number of evaluations of a descent in which each
	// hyperparameter of a kind changes by itself. judgedDescent is this number for the descents on
	// the judging folds.
	separateDescent, judgedDescent = 60, 30
	// judgeFolds is the number of judging folds, on which separate hyperparameters are compared
	// with a common factor. With fewer folds, a search would have too few rows. On data sets whose
	// groups truly differ, three folds choose separate penalties less often.
	judgeFolds = 4
	// The judging folds are the outer folds of a repeat with the number judgeNumber. By default,
	// the nested estimate numbers its repeats below judgeNumber, so their folds differ from the
	// judging folds.
	judgeNumber = mostRepeats
	// If there are at least this many examples for each hyperparameter, separate hyperparameters
	// are not judged, because they cannot do much harm. On data for which a common factor is right,
	// and with 37 examples for each hyperparameter, separate hyperparameters raised the test loss
	// by only .8 %.
	plenty = 100
)

// find first runs a search in which the hyperparameters of each kind have a common factor. If the
// learner has several hyperparameters of a kind, a second search follows. If these are widths, find
// searches for a width of each feature. Otherwise it searches for separate values of the
// hyperparameters.
func (s *tuneSearch) find() error {
	if s.freeWidths() < 2 {
		if err := s.run(); err != nil || s.largestKind() < 2 || s.outOf != "" || !args.Finite(s.bestStep.Loss) {
			return err
		}
		return s.storeBudget(s.searchSeparately())
	}
	d, err := s.standardisedRows()
	if err != nil {
		return err
	}
	if err := s.oneWidth(d); err != nil || d.X == nil || s.outOf != "" {
		return err
	}
	return s.storeBudget(s.widths(d))
}

// searchSeparately continues a search in which the hyperparameters of each kind had a common
// factor. From the best point, it descends in each hyperparameter by itself. The result becomes the
// best point if it also lowers the loss on rows that neither search used. The minimised CV loss
// alone cannot decide this, because many hyperparameters fit noise.
//
// This rule was compared with another rule: a price for each hyperparameter in the unit of
// N·log(loss), like the price of the widths. Both rules were tried on 15 problems, with 40 data
// sets of each problem. The problems are nine populations of 50 to 150 rows, with penalties for
// groups, features or smooth terms. Test losses are divided by the test loss of a common factor.
// Their geometric mean is .980 with the rule. With the best price, 1.5 for each hyperparameter, it
// is .986. On 60 fresh sets of each problem, the geometric mean with the rule is .983. The highest
// mean of a single problem is 1.02 with the rule, and 1.20 if hyperparameters are always separate.
// Some rules also require that the loss is lower by 1 to 4 %, or lower in three of the four folds.
// These rules have means of .984 to .986.
func (s *tuneSearch) searchSeparately() error {
	one := s.bestStep
	s.commonFactor = false
	err := s.descendWithin(s.nearestInBox(one.Hyper), separateDescent)
	if err == nil {
		err = s.tryZeros()
	}
	lower := err == nil && s.bestStep.Loss < one.Loss
	if lower && len(s.rows) < plenty*s.countFree(one.Hyper, false) {
		lower, err = s.judgeSeparate(one.Hyper)
		s.separateRefused = err == nil && !lower
	}
	if !lower {
		s.bestStep, s.commonFactor = one, true
	}
	return err
}

// judgeSeparate reports whether separate hyperparameters have a lower loss than a common factor, on
// folds that both searches leave out. The searches of each fold begin near xCommon, the best point
// with common factors. The result is false if folds cannot be drawn or fitted.
func (s *tuneSearch) judgeSeparate(xCommon []float64) (bool, error) {
	outer, err := s.w.drawOuterFolds(s.rows, min(judgeFolds, s.w.mostFolds(s.rows)), judgeNumber)
	if err != nil {
		return false, nil
	}
	within := s.w.c
	within.Splits = s.splits
	before := s.w.otherBytes
	s.w.otherBytes = memory.Add(before, within.Bytes())
	defer func() { s.w.otherBytes = before }()
	var common, separate float64
	for _, fold := range outer {
		splits, err := s.w.innerSplits(fold.Train, len(s.splits))
		if err != nil {
			return false, nil
		}
		part, err := s.w.newSearch(fold.Train, splits)
		if err, ends := s.w.cause(err); ends {
			return false, err
		} else if err != nil {
			return false, nil
		}
		weight := 0.0
		for _, i := range fold.Val {
			weight += s.w.weight(i)
		}
		for _, loss := range []*float64{&common, &separate} {
			if err := s.runPart(part, func() error { return part.judgingDescent(xCommon) }); err != nil {
				return false, err
			}
			if !args.Finite(part.bestStep.Loss) {
				return false, nil
			}
			of, err := s.lossOn(fold, part.bestStep.Hyper)
			if err != nil {
				return false, err
			}
			*loss += weight * of
			part.commonFactor = false
		}
	}
	return separate < common, nil
}

// nearestInBox returns the nearest point to x in the box of hyperparameters.
func (s space) nearestInBox(x []float64) []float64 {
	x = slices.Clone(x)
	for i, h := range s.hyper {
		x[i] = min(max(x[i], h.Lower), h.Upper)
	}
	return x
}

// judgingDescent makes a descent on the training rows of a judging fold. With common factors it
// descends from x. With separate hyperparameters it descends from the best point so far.
func (s *tuneSearch) judgingDescent(x []float64) error {
	if !s.commonFactor {
		return s.descendWithin(s.bestStep.Hyper, judgedDescent)
	}
	x = s.nearestInBox(x)
	if _, err := s.eval(nil, x); err != nil || !args.Finite(s.bestStep.Loss) {
		return err
	}
	return s.descend(x)
}

// lossOn returns the loss on the validation rows of a split. If the fit fails, it returns +Inf.
func (s *tuneSearch) lossOn(split cvgm.Split, hyper []float64) (float64, error) {
	c := s.w.c
	c.Splits, c.MaxBytes = []cvgm.Split{split}, remaining(c.MaxBytes, s.w.otherBytes)
	cv, err := s.w.load(c)
	loss := math.Inf(1)
	if err == nil {
		loss, err = cv.EvalContext(s.w.limit, nil, hyper)
	}
	err, ends := s.w.cause(err)
	if err != nil && !ends {
		return math.Inf(1), nil
	}
	return loss, err
}
