package tune

import (
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/interval"
)

// foldModel uses cv to fit the model of an outer fold. It also fits the spread of the model's
// prediction errors to the out-of-fold errors of searchCV, the CV of the search on the training
// rows of this fold.
func (w *tuning) foldModel(cv, searchCV *cvgm.CV, outerSplit cvgm.Split, hyper []float64) (m foldModel) {
	if m.model, m.err = cv.FinalContext(w.ctx, outerSplit.Train, hyper); m.err != nil {
		return m
	}
	if _, m.err = searchCV.EvalContext(w.limit, nil, hyper); m.err != nil {
		return m
	}
	all := make([]float64, len(w.c.Data.Y))
	if m.err = searchCV.OutOfFold(all); m.err != nil {
		return m
	}
	var rows []int
	for i, p := range all {
		if p == p {
			rows = append(rows, i)
		}
	}
	m.spread = interval.FitSpread(sample.Pick(all, rows), sample.Pick(w.c.Data.Y, rows), sample.Relative(w.c.Data.Weights, rows))
	return m
}

// setIntervals makes the prediction intervals of Model if Tuner.Intervals is true and there are
// outer folds.
func (w *tuning) setIntervals() {
	if !w.Intervals {
		return
	}
	if w.firstRepeat == nil {
		w.warn(NoIntervals, "There are no prediction intervals, because they need the models of the nested estimate.")
		return
	}
	made, err := w.intervals()
	if err != nil {
		w.warn(NoIntervals, "There are no prediction intervals: %v.", err)
		return
	}
	if w.result.Intervals = made; w.result.Pipeline != nil {
		w.result.Pipeline.Intervals = made
	}
}

// intervals makes the prediction intervals from models of the outer folds of the first repeat. Like
// Tuned.Model, these models are tuned, have the default hyperparameters, or are constant
// predictions.
func (w *tuning) intervals() (*interval.CVPlus, error) {
	chosen := map[Choice]contender{ChoseWinner: ofTuning, ChoseDefault: ofDefault, ChoseConstant: ofConstant}[w.result.Choice]
	unit := func(i int) int { // the unit is the row's group, or the row if there are no groups
		if w.Groups != nil {
			return w.Groups[i]
		}
		return i
	}
	weights := map[int]float64{} // of each unit
	for _, fold := range w.firstRepeat.folds {
		for _, i := range fold.Val {
			if w.weight(i) > 0 {
				weights[unit(i)] += w.weight(i)
			}
		}
	}
	var folds []interval.Fold
	for j, outer := range w.firstRepeat.folds {
		m := foldModel{}
		if chosen == ofConstant {
			// A constant prediction gets no spread, because the spread would be the same for all
			// rows.
			m.model = w.constantModel(outer.Train)
		} else if m = w.foldModels[j][chosen]; m.err != nil {
			return nil, m.err
		}
		fold := interval.Fold{Model: m.model, Spread: m.spread}
		for _, i := range outer.Val {
			if !(w.weight(i) > 0) {
				continue
			}
			p := w.firstRepeat.predictions[chosen][i]
			fold.Scores = append(fold.Scores, math.Abs(w.c.Data.Y[i]-p)/m.spread.Of(p))
			weight := w.weight(i)
			if w.Groups != nil { // a group counts once
				weight /= weights[unit(i)]
			}
			fold.Weights = append(fold.Weights, weight)
		}
		folds = append(folds, fold)
	}
	return interval.New(folds, len(weights))
}
