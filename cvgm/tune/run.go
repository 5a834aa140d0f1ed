package tune

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff"
)

func (w *tuning) run() (*Tuned, error) {
	if !w.deadline.IsZero() {
		limit, cancel := context.WithDeadline(w.ctx, w.deadline)
		defer cancel()
		w.limit = limit
	}
	rows := w.rows()
	if len(rows) < leastExamples {
		return nil, args.Bad("Data.Weights", qpdiff.ErrDomain, "give more examples a weight", "are above 0 for %d examples, and tuning needs %d at least", len(rows), leastExamples)
	}
	// The user's splits keep their rows of weight 0. If all training rows or all validation rows of
	// a split have the weight 0, New returns an error.
	splits := w.Tuner.Splits
	if splits == nil {
		var err error
		if splits, err = w.drawSplits(rows, w.Folds); err != nil {
			return nil, err
		}
	}
	s, err := w.newSearch(rows, splits)
	if err != nil {
		return nil, err
	}
	folds := max(0, w.outerFolds())
	w.stage, w.expected = "search", w.starts()*evalsPerStart
	if !w.kinked() && s.countFree(s.design(1)[0], true) == 1 {
		w.expected = w.starts() * evalsOfOne
	}
	if s.freeWidths() > 1 {
		w.expected += expectedWidths
	} else if s.largestKind() > 1 {
		w.expected += expectedSeparate
	}
	w.searches = float64(folds) * w.expectedRepeats(folds, w.expected*len(splits))
	// A search for an outer fold uses only a share of the rows. Its time is assumed to be
	// proportional to the square of this share. In fact the exponent is between 0 and 3.
	share := 1 - 1/float64(max(2, folds))
	w.evalTimeRatio = share * share
	if !w.deadline.IsZero() {
		if s, err = w.reduceWork(s, rows); err != nil {
			return w.stoppedResults(s, err)
		}
	}
	if err = s.find(); err == nil {
		err = w.finish(s)
	}
	if err != nil {
		return w.stoppedResults(s, err)
	}
	if err := w.estimateRisk(); err != nil {
		return w.result, err
	}
	if err := w.chooseModel(); err != nil {
		return w.result, err
	}
	w.setIntervals()
	w.result.Elapsed = time.Since(w.startTime)
	return w.result, nil
}

// stoppedResults makes no further fit. It returns the results of a search that ctx ended, together
// with the error err. If another error ended the search, stoppedResults returns only this error.
func (w *tuning) stoppedResults(s *tuneSearch, err error) (*Tuned, error) {
	if s == nil || w.ctx.Err() == nil || !args.Finite(s.bestStep.Loss) {
		return nil, err
	}
	w.record(s)
	var e error
	if w.result.ConstantLoss, e = w.constantLoss(s.splits); e != nil {
		return nil, e
	}
	w.warnOfSearch(s)
	w.result.Elapsed = time.Since(w.startTime)
	return w.result, err
}

// reduceWork evaluates the first two points of the design. From the time of these evaluations, it
// estimates how many starts and folds MaxTime allows, and reduces both numbers. It returns the
// search.
func (w *tuning) reduceWork(s *tuneSearch, rows []int) (*tuneSearch, error) {
	if err := s.evaluateDesign(2); err != nil {
		return s, s.storeBudget(err)
	}
	left, all := time.Until(w.deadline), len(s.splits)
	tooLong := func(starts, folds int) bool {
		return time.Duration(starts)*evalsPerStart*w.evalTime*time.Duration(folds)/time.Duration(all) > left
	}
	if starts := w.starts(); starts > 1 && tooLong(starts, all) {
		w.Starts = 1
		w.warn(FewerStarts, "MaxTime, %v, allows one start, not %d.", w.MaxTime, starts)
	}
	folds := all
	for w.Tuner.Splits == nil && folds > 2 && tooLong(1, folds) {
		folds = max(2, folds/2)
	}
	if folds == all {
		return s, nil
	}
	splits, err := w.drawSplits(rows, folds)
	if err != nil {
		return s, err
	}
	w.warn(FewerFolds, "MaxTime, %v, allows %d folds, not %d.", w.MaxTime, folds, all)
	s.cv = nil // the CV of fewer folds may use the memory of this CV
	fewer, err := w.newSearch(rows, splits)
	if err != nil {
		return s, err
	}
	w.evalTime = w.evalTime * time.Duration(folds) / time.Duration(all)
	return fewer, nil
}

// record fills in the results of the search.
func (w *tuning) record(s *tuneSearch) {
	out := w.result
	out.Hyper, out.Path, out.Splits = s.bestStep.Hyper, s.path, s.splits
	out.Config, out.Searched = w.c, slices.Clone(s.hyper)
	out.Config.Splits = s.splits
	out.Names, out.DefaultHyper = nil, nil
	for _, h := range s.hyper {
		out.Names = append(out.Names, h.Name)
		out.DefaultHyper = append(out.DefaultHyper, h.Default)
	}
	out.Loss, out.DefaultLoss = s.bestStep.Loss, s.path[0].Loss
	out.StandardError, out.TrainLoss, out.Residual, out.OutOfFold = math.NaN(), math.NaN(), math.NaN(), nil
	out.Evaluations, w.fitCount = w.evaluations, s.fitCount
	out.Winner = Candidate{Hyper: out.Hyper, Loss: out.Loss, StandardError: math.NaN(), TrainLoss: math.NaN(), Residual: math.NaN()}
}

// finish fits the model and sets all results except the nested estimate. The fit to all data, or a
// fit without a warm start, may fail at the best point. Then the next best point replaces it.
func (w *tuning) finish(s *tuneSearch) error {
	var err error
	if w.result.ConstantLoss, err = w.constantLoss(s.splits); err != nil {
		return err
	}
	lowest := s.bestStep.Loss
	settled, failure := s.fitBest(func() error { return w.fit(s) })
	if !settled {
		return failure
	}
	w.warnOfSearch(s)
	if failure != nil {
		w.warn(FailedFits, "The model cannot be fitted at the lowest CV loss, %.4g: %v.", lowest, failure)
	}
	return nil
}

// fit fits the model at the best point.
func (w *tuning) fit(s *tuneSearch) error {
	w.record(s)
	winner, err := w.candidate(s.cv, w.result.Hyper)
	if err != nil {
		return err
	}
	w.result.Winner = winner
	w.setResult(winner)
	return nil
}

// warnOfSearch adds the warnings that follow from the search.
func (w *tuning) warnOfSearch(s *tuneSearch) {
	out := w.result
	if w.table != nil {
		for _, n := range w.table.Notes {
			if n.Check {
				w.warn(UncertainColumn, "%v", n)
			}
		}
	}
	w.warnOfDates()
	w.warnOfBounds(s)
	w.warnOfWeights()
	free := s.countFree(out.Hyper, s.commonFactor)
	if s.separateRefused {
		w.warn(CommonFactor, "%d hyperparameters of a kind keep one common factor: separate ones have no lower loss on rows that their search leaves out. More examples, or hyperparameters for fewer groups, may change this.", s.largestKind())
	}
	if args.Finite(out.DefaultLoss) && out.DefaultLoss != 0 && !(out.Loss < out.DefaultLoss-improvementUnit*math.Abs(out.DefaultLoss)) && free > 0 {
		w.warn(NoImprovement, "The search found no CV loss below %.4g, the loss of the defaults.", out.DefaultLoss)
	}
	if gap := out.Loss - out.TrainLoss; gap > max(2*out.StandardError, improvementUnit*math.Abs(out.ConstantLoss)) && out.Loss > overfit*out.TrainLoss {
		w.warn(Overfitting, "The CV loss, %.4g, is far above the training loss, %.4g: more data or a simpler model may help.", out.Loss, out.TrainLoss)
	}
	if n := len(w.rows()); free*bearable > n {
		w.warn(ManyHyperparameters, "%d hyperparameters are many for %d examples: the CV loss may be far too low, and a nested estimate shows how far.", free, n)
	}
	if constant(w.c.Data.Y) {
		w.warn(NoInformation, "All labels are equal to %s.", w.label(w.c.Data.Y[0]))
	}
	if s.noFeatureVaries {
		w.warn(NoInformation, "No feature varies: the model predicts the same for all examples.")
	}
	if w.stratified() {
		for j, split := range s.splits {
			if len(split.Val) > 1 && constant(sample.Pick(w.c.Data.Y, split.Val)) {
				w.warn(OneClass, "Split %d validates on examples of the class %s alone.", j, w.label(w.c.Data.Y[split.Val[0]]))
				break
			}
		}
	}
	w.warnOfOtherLoss()
	if s.outOf != "" {
		w.warn(OutOfBudget, "%s ended the search before it converged.", s.outOf)
	}
	if s.failedCount > 0 {
		w.warn(FailedFits, "%d of %d evaluations failed, the first with: %v.", s.failedCount, s.earlierEvaluations+len(s.path), s.failure)
	}
}

// warnOfDates warns of random folds if a column of the table holds dates.
func (w *tuning) warnOfDates() {
	if w.table == nil || w.Tuner.Splits != nil {
		return
	}
	for _, c := range w.table.Columns {
		if c.Date != nil && c.Date.Part == table.PartDays {
			w.warn(RandomFolds, "Column %q holds dates, but the folds are random: losses and risks are for rows between the known dates. To predict later rows, sort the rows by date, and set Tuner.Splits to cvgm.TimeSplits.", c.Date.Source)
			return
		}
	}
}

// warnOfBounds warns of hyperparameters that ended at or near a bound of their search.
func (w *tuning) warnOfBounds(s *tuneSearch) {
	warn := func(name, which string, v, bound float64) {
		where := "near"
		if math.Abs(v-bound) <= boundError*bound {
			where = "at"
		}
		w.warn(AtBound, "%s = %.3g ended %s the %s bound of its search, %.3g.", name, v, where, which, bound)
	}
	for i, h := range s.hyper {
		switch v := w.result.Hyper[i]; {
		case !s.isFree[i] || s.isWidth(i) && v == 0:
			continue
		case v > h.Upper/atBoundFactor:
			warn(h.Name, "upper", v, h.Upper)
		case v < h.Lower*atBoundFactor && v > 0 && !s.isWidth(i): // a feature without effect
			warn(h.Name, "lower", v, h.Lower)
		}
	}
}

// warnOfWeights warns if the results depend mainly on the weight of one example. The warning
// contains the effective number of examples, (Σw)²/Σw²: the mean of this number of equally weighted
// examples has the same variance as the weighted mean (Kish 1965).
func (w *tuning) warnOfWeights() {
	rows := w.rows()
	shares := sample.Relative(w.c.Data.Weights, rows)
	total, largest, squares := shares.Total(len(rows)), 0, 0.
	for at := range rows {
		share := shares.At(at) / total
		squares += share * share
		if shares.At(at) > shares.At(largest) {
			largest = at
		}
	}
	if share := shares.At(largest) / total; share > dominantShare {
		as := fmt.Sprintf("%.2g examples of equal weight", 1/squares)
		if strings.HasPrefix(as, "1 ") {
			as = "one example"
		}
		w.warn(DominantWeight, "The example at index %d has %s %% of the total weight: fits and estimates are as uncertain as with %s.", rows[largest], assess.FormatPercent(100*share), as)
	}
}

func constant(y []float64) bool {
	return !slices.ContainsFunc(y, func(v float64) bool { return v != y[0] })
}
