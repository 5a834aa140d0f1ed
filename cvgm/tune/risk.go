package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// outerFolds returns the number of outer folds. Without a nested estimate it returns −1.
func (w *tuning) outerFolds() int { return cmp.Or(w.OuterFolds, defaultOuterFolds) }

// leastOuter is the smallest number of examples for a nested estimate. With 10 examples and 5 outer
// folds, each search still has 8 examples.
const leastOuter = 10

// estimateRisk makes the nested estimate of the risk. It returns an error only if ctx ends.
func (w *tuning) estimateRisk() error {
	none := func(format string, args ...any) error {
		w.warn(NoRisk, format, args...)
		return nil
	}
	folds, rows := w.outerFolds(), w.rows()
	switch n := len(rows); {
	case folds < 0:
		return nil
	case w.OuterFolds == 0 && n < leastOuter:
		return none("%d examples are too few for a nested estimate of the risk.", n)
	case w.OuterFolds == 0:
		folds = min(folds, w.mostFolds(rows))
	}
	if folds < 2 {
		return none("The data do not allow two outer folds.")
	}
	if need := w.evalTime * evalsPerStart; !w.deadline.IsZero() && need*time.Duration(folds) > time.Until(w.deadline) {
		return none("MaxTime, %v, does not suffice for the nested estimate of the risk.", w.MaxTime)
	}
	var err error
	if w.rival, err = w.newRival(); err != nil {
		w.rival = nil // no ridge can be fitted to these labels or features
	}
	repeats := w.repeats(folds, w.fitCount)
	w.firstSearchTime = w.measuredTime()
	w.expected = w.evaluations * (1 + repeats*folds)
	var done []*repeat
	for r := range repeats {
		if need := w.evalTime * time.Duration(len(w.result.Path)*folds); r > 0 && !w.deadline.IsZero() && need > time.Until(w.deadline) {
			w.warn(FewerRepeats, "MaxTime, %v, allows %d repeats of the outer folds, not %d.", w.MaxTime, r, repeats)
			break
		}
		nested, fold, err := w.nestedPredictions(rows, folds, r, repeats)
		switch {
		case err == nil:
			done = append(done, nested)
			continue
		case w.ctx.Err() != nil:
			return err
		case errors.Is(err, errTime) && r > 0:
			w.warn(FewerRepeats, "MaxTime, %v, sufficed for %d repeats of the outer folds, not for %d.", w.MaxTime, r, repeats)
		case errors.Is(err, errTime):
			return none("MaxTime, %v, did not suffice for the nested estimate of the risk.", w.MaxTime)
		case nested == nil:
			return none("There is no nested estimate of the risk: %v.", err)
		default:
			return none("There is no nested estimate of the risk: the search without outer fold %d failed: %v.", fold+1, err)
		}
		break
	}
	w.firstRepeat, w.result.Risk = done[0], w.risk(done)
	w.measureRisk(w.result.Risk, done)
	return nil
}

// nestedPredictions makes the predictions of one repeat of the outer folds. Repeats are numbered
// from 0. If the search or a fit of an outer fold fails, nestedPredictions returns the error and
// the index of this fold. If no outer folds can be drawn, the returned repeat is nil.
func (w *tuning) nestedPredictions(rows []int, folds, number, repeats int) (*repeat, int, error) {
	outer, err := w.drawOuterFolds(rows, folds, number)
	if err != nil {
		return nil, 0, err
	}
	r := newRepeat(outer, len(w.c.Data.Y), w.outputs)
	for j, fold := range outer {
		w.stage = fmt.Sprintf("outer fold %d of %d", j+1, len(outer))
		if repeats > 1 {
			w.stage += fmt.Sprintf(", repeat %d of %d", number+1, repeats)
		}
		made, err := w.outerFold(fold, number)
		w.result.Evaluations = w.evaluations
		if err != nil {
			return r, j, err
		}
		r.add(fold, made)
		// folded is the number of finished searches, without the first search.
		folded := number*len(outer) + j + 1
		w.expected = w.evaluations * (repeats*len(outer) + 1) / (folded + 1)
	}
	return r, 0, nil
}

// risk returns the estimates of the risk. The loss of an example is the mean of its losses over the
// repeats.
func (w *tuning) risk(done []*repeat) *Risk {
	rows, paired := w.judgedRows(done)
	var losses [contenders][][]float64
	for c := range losses {
		losses[c] = w.lossesOf(contender(c), rows, done)
	}
	failed := func(c contender) bool {
		return slices.ContainsFunc(losses[c], func(l []float64) bool { return slices.Contains(l, math.Inf(1)) })
	}
	r := &Risk{
		Folds: len(done[0].folds), Repeats: len(done),
		Tuned: paired.Risk(losses[ofTuning]), Default: paired.Risk(losses[ofDefault]), Constant: paired.Risk(losses[ofConstant]),
	}
	with := []contender{ofConstant, ofDefault}
	names := map[contender]string{ofConstant: constantName, ofDefault: defaultName}
	if w.rival != nil && !failed(ofRival) {
		r.Rival, r.RivalName = paired.Risk(losses[ofRival]), w.rival.name
		with, names[ofRival] = append(with, ofRival), w.rival.name
	}
	for _, c := range with {
		if compared, ok := paired.Compare(names[c], losses[ofTuning], losses[c], losses[ofConstant], len(with)); ok {
			r.Comparisons = append(r.Comparisons, compared)
		}
	}
	candidates := [][][]float64{losses[ofTuning], losses[ofConstant]}
	if !failed(ofDefault) {
		candidates = append(candidates, losses[ofDefault])
	}
	r.Selected = paired.Selected(candidates, w.Seed)
	return r
}

// judgedRows returns the rows on which the outer folds validate, with their folds, weights and
// units. Rows that depend on each other have the same unit: rows of a group or, if the splits are
// in the order of time, rows of a fold.
func (w *tuning) judgedRows(doneRepeats []*repeat) (rows []int, paired assess.Rows) {
	for _, fold := range doneRepeats[0].folds {
		rows = append(rows, fold.Val...)
	}
	for k, r := range doneRepeats {
		of := make([]int, len(w.c.Data.Y))
		for j, fold := range r.folds {
			for _, i := range fold.Val {
				of[i] = j
			}
		}
		paired.Folds = append(paired.Folds, sample.Pick(of, rows))
		if k == 0 && w.ordered() {
			paired.Units = paired.Folds[0]
		}
	}
	if w.Groups != nil {
		paired.Units = sample.Pick(w.Groups, rows)
	}
	paired.Weights = sample.Relative(w.c.Data.Weights, rows)
	return rows, paired
}

// lossesOf returns the losses of a contender on the rows. Their indices are [repeat][row]. The loss
// of a row without a prediction is +Inf.
func (w *tuning) lossesOf(c contender, rows []int, done []*repeat) (losses [][]float64) {
	for _, r := range done {
		one := make([]float64, len(rows))
		for at, i := range rows {
			one[at] = math.Inf(1)
			if p := r.predictions[c][i]; p == p {
				one[at] = w.loss(p, i)
			}
		}
		losses = append(losses, one)
	}
	return losses
}

// outerFold searches on the training rows of an outer split, and returns the predictions of the
// contenders for the validation rows. If a fit of the rival or of the model with the defaults
// fails, the predictions of this contender are nil. In the first repeat, outerFold also makes the
// models for prediction intervals.
func (w *tuning) outerFold(outerSplit cvgm.Split, number int) (madePredictions foldPredictions, err error) {
	splits, err := w.innerSplits(outerSplit.Train, len(w.result.Splits))
	if err != nil {
		return madePredictions, err
	}
	c := w.c
	c.Splits = []cvgm.Split{outerSplit}
	w.otherBytes = c.Bytes()
	defer func() { w.otherBytes = 0 }()
	s, err := w.newSearch(outerSplit.Train, splits)
	if err == nil {
		err = s.find()
	}
	if err != nil {
		return madePredictions, err
	}
	if s.outOf == "MaxTime" {
		return madePredictions, errTime
	}
	within := w.c
	within.Splits = splits
	c.MaxBytes = remaining(c.MaxBytes, within.Bytes())
	cv, err := w.load(c)
	if err != nil {
		return madePredictions, err
	}
	models := map[contender]foldModel{}
	predictions := make([]float64, len(c.Data.Y))
	judge := func(k contender, hyper []float64) error {
		if _, err := cv.EvalContext(w.ctx, nil, hyper); err != nil {
			return err
		}
		if err := cv.OutOfFold(predictions); err != nil {
			return err
		}
		madePredictions.predictions[k] = sample.Pick(predictions, outerSplit.Val)
		if w.isJoint() && k == ofTuning {
			madePredictions.classProbabilities = mat.NewDense(len(c.Data.Y), w.outputs, nil)
			if err := cv.OutOfFoldClasses(madePredictions.classProbabilities); err != nil {
				return err
			}
		}
		if w.Intervals && number == 0 {
			models[k] = w.foldModel(cv, s.cv, outerSplit, hyper)
		}
		return nil
	}
	if settled, err := s.fitBest(func() error { return judge(ofTuning, s.bestStep.Hyper) }); !settled {
		return madePredictions, err
	}
	byDefault := s.path[0].Hyper
	switch err := judge(ofDefault, byDefault); {
	case w.ctx.Err() != nil:
		return madePredictions, context.Cause(w.ctx)
	case errors.Is(err, qpdiff.ErrTooLarge):
		return madePredictions, err
	}
	w.judgedModels = append(w.judgedModels, judgedModel{outerSplit, s.bestStep.Hyper, byDefault})
	w.foldModels = append(w.foldModels, models)
	constant := w.constantOn(outerSplit.Train)
	for _, i := range outerSplit.Val {
		madePredictions.predictions[ofConstant] = append(madePredictions.predictions[ofConstant], w.baselineAt(constant, i))
	}
	if w.rival == nil {
		return madePredictions, nil
	}
	madePredictions.predictions[ofRival], err = w.rivalOn(outerSplit, splits)
	return madePredictions, err
}
