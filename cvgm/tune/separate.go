package tune

import (
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff/memory"
)

const (
	// separateDescent bounds the evaluations of a descent that changes each hyperparameter of a
	// kind by itself. In a fold that judges, judgedDescent bounds the evaluations of such a
	// descent.
	separateDescent, judgedDescent = 60, 30
	// judgeFolds is the number of folds that judge. With fewer folds, a search has too few rows: on
	// sets whose groups truly differ, three folds choose separate penalties less often.
	judgeFolds = 4
	// judgeNumber takes the place of the number of a repeat when the judging folds are drawn. By
	// default, the repeats of the nested estimate have smaller numbers.
	judgeNumber = mostRepeats
	// plenty is a number of examples for each hyperparameter. With so many examples, separate
	// hyperparameters are not judged, because they cannot do much harm. With 37 examples for each
	// hyperparameter, their test loss is .8 % higher on data on which a common factor is right.
	plenty = 100
)

// find runs the search. If the learner has several widths, find then searches for a width of each
// feature. Otherwise, if it has several hyperparameters of a kind, find then searches for separate
// values.
func (s *tuneSearch) find() error {
	if s.freeWidths() < 2 {
		if err := s.run(); err != nil || s.largestKind() < 2 || s.outOf != "" || !args.Finite(s.best.Loss) {
			return err
		}
		return s.ended(s.separate())
	}
	d, err := s.view()
	if err != nil {
		return err
	}
	if err := s.oneWidth(d); err != nil || d.X == nil || s.outOf != "" {
		return err
	}
	return s.ended(s.widths(d))
}

// separate continues a search that gave the hyperparameters of each kind a common factor. It
// descends in each hyperparameter by itself, from the best point. The result becomes the best point
// if it also lowers the loss on rows that neither search used. The minimised CV loss alone cannot
// decide this, because many hyperparameters fit noise.
//
// This rule was compared with another rule: a price for each hyperparameter in the unit of
// N·log(loss), like the price of the widths. The comparison has 40 data sets of each of 15
// problems: nine populations of 50 to 150 rows, with penalties for groups, features or smooth
// terms. Test losses are ratios to the test loss of a common factor. Their geometric mean is .980
// with the rule, and .986 with the best price, 1.5 for each hyperparameter. On 60 fresh sets of
// each problem the geometric mean is .983. The highest mean of a problem is 1.02 with the rule, and
// 1.20 if hyperparameters are always separate. Rules that also require a lower loss by 1 to 4 %, or
// in three of the four folds, have means of .984 to .986.
func (s *tuneSearch) separate() error {
	one := s.best
	s.tied = false
	err := s.descendWithin(s.nearest(one.Hyper), separateDescent)
	if err == nil {
		err = s.zeros()
	}
	lower := err == nil && s.best.Loss < one.Loss
	if lower && len(s.rows) < plenty*s.counted(one.Hyper, false) {
		lower, err = s.judgeSeparate(one.Hyper)
		s.refused = err == nil && !lower
	}
	if !lower {
		s.best, s.tied = one, true
	}
	return err
}

// judgeSeparate reports whether separate hyperparameters have a lower loss than a common factor on
// folds that both searches leave out. The searches of a fold begin at the point given by the
// parameter one. The result is false if folds cannot be drawn or fitted.
func (s *tuneSearch) judgeSeparate(one []float64) (bool, error) {
	outer, err := s.w.outer(s.rows, min(judgeFolds, s.w.mostFolds(s.rows)), judgeNumber)
	if err != nil {
		return false, nil
	}
	within := s.w.c
	within.Splits = s.splits
	before := s.w.beside
	s.w.beside = memory.Add(before, within.Bytes())
	defer func() { s.w.beside = before }()
	var common, separate float64
	for _, fold := range outer {
		splits, err := s.w.inner(fold.Train, len(s.splits))
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
			if err := s.runPart(part, func() error { return part.judged(one) }); err != nil {
				return false, err
			}
			if !args.Finite(part.best.Loss) {
				return false, nil
			}
			of, err := s.lossOn(fold, part.best.Hyper)
			if err != nil {
				return false, err
			}
			*loss += weight * of
			part.tied = false
		}
	}
	return separate < common, nil
}

// nearest returns the point of the box that is nearest to x.
func (s space) nearest(x []float64) []float64 {
	x = slices.Clone(x)
	for i, h := range s.hyper {
		x[i] = min(max(x[i], h.Lower), h.Upper)
	}
	return x
}

// judged first descends from x in the common factors. Once the hyperparameters are separate, it
// descends from the best point so far.
func (s *tuneSearch) judged(x []float64) error {
	if !s.tied {
		return s.descendWithin(s.best.Hyper, judgedDescent)
	}
	x = s.nearest(x)
	if _, err := s.eval(nil, x); err != nil || !args.Finite(s.best.Loss) {
		return err
	}
	return s.descend(x)
}

// lossOn returns the loss on the validation rows of a split, or +Inf if the fit fails.
func (s *tuneSearch) lossOn(split cvgm.Split, hyper []float64) (float64, error) {
	c := s.w.c
	c.Splits, c.MaxBytes = []cvgm.Split{split}, remaining(c.MaxBytes, s.w.beside)
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
