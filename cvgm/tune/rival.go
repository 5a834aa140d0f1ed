package tune

import (
	"context"
	"errors"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// rivalLooks is the number of penalties among which the ridge chooses. With nine penalties, every
// point of the range is within a factor of about 3 of one of them.
const rivalLooks = 9

// newRival returns the simple model with which tuning is compared, or nil if there is none. Usually
// this rival is a ridge, or a logistic ridge for the logistic loss. In three cases, the rival
// instead predicts one mean for each level of one categorical column: the learner itself is this
// ridge, the learner is a joint model of several classes, or the table is so large that a ridge
// would take longer than the learner.
func (w *tuning) newRival() (*rival, error) {
	_, odds := w.c.Loss.(cvgm.LogisticLoss)
	// A ridge makes one prediction for a row, and a joint model of several classes makes one for
	// each class. So no ridge is the rival of a joint model.
	if w.isJoint() || w.isRidge(odds) || w.isLarge() {
		if len(w.categorical()) == 0 {
			return nil, nil
		}
		return &rival{name: "the means of groups"}, nil
	}
	t := w.Tuner
	// The data already have the weights of Balanced.
	t.Hyper, t.Balanced, t.Progress, t.MaxTime, t.Loss = nil, false, nil, 0, w.c.Loss
	t.Starts, t.MaxEvals = 1, rivalLooks
	r := &rival{name: "ridge regression"}
	t.Learner, t.Fixed = &linear.ElasticNet{}, map[string]float64{"λ1": 0}
	if odds {
		r.name, t.Learner, t.Fixed = "logistic ridge regression", &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, nil
	}
	var err error
	r.ridge, err = t.begin(w.ctx, cvgm.Config{Data: w.c.Data, Prepare: w.c.Prepare}, w.table)
	return r, err
}

// isRidge reports whether the learner is a ridge or, if logisticRidge is true, a logistic ridge.
// The learner may have hyperparameters that a ridge does not have, if Fixed sets them to 0.
func (w *tuning) isRidge(logisticRidge bool) bool {
	l, ok := w.learner.(learn.RidgeLearner)
	if !ok || logisticRidge != (l.Convention().Loss == learn.LogisticLoss) {
		return false
	}
	zero := map[string]bool{}
	for name, v := range w.Fixed {
		zero[greek.Replace(name)] = zero[greek.Replace(name)] || v == 0
	}
	return !slices.ContainsFunc(l.BeyondRidge(), func(name string) bool { return !zero[greek.Replace(name)] })
}

// categorical lists the columns of the table that have levels.
func (w *tuning) categorical() (columns []int) {
	if w.table == nil {
		return nil
	}
	for j, c := range w.table.Columns {
		if c.Kind == table.Categorical {
			columns = append(columns, j)
		}
	}
	return columns
}

// rivalOn returns the rival's predictions for the validation rows of an outer fold. It chooses the
// rival's penalty or, for the means of a column, the column with the lowest CV loss on the given
// splits of the training rows. If the rival fails, the predictions are nil.
func (w *tuning) rivalOn(outerSplit cvgm.Split, splits []cvgm.Split) ([]float64, error) {
	own := w.rival.ridge
	if own == nil {
		return w.groupMeans(outerSplit, splits)
	}
	own.ctx, own.limit = w.ctx, w.limit
	own.c.MaxBytes = remaining(w.c.MaxBytes, w.otherBytes)
	ended := func(err error) ([]float64, error) {
		switch {
		case w.ctx.Err() != nil:
			return nil, context.Cause(w.ctx)
		case errors.Is(err, errTime) || errors.Is(err, qpdiff.ErrTooLarge):
			return nil, err
		}
		return nil, nil
	}
	s, err := own.newSearch(outerSplit.Train, splits)
	if err == nil {
		err = s.evaluateDesign(rivalLooks)
	}
	if err != nil {
		return ended(err)
	}
	if !args.Finite(s.bestStep.Loss) {
		return nil, nil
	}
	s.cv = nil // the next CV may use the memory of this one
	c := own.c
	c.Splits = []cvgm.Split{outerSplit}
	cv, err := own.load(c)
	if err != nil {
		return ended(err)
	}
	if _, err := cv.EvalContext(own.limit, nil, s.bestStep.Hyper); err != nil {
		return ended(err)
	}
	all := make([]float64, len(c.Data.Y))
	if err := cv.OutOfFold(all); err != nil {
		return ended(err)
	}
	return sample.Pick(all, outerSplit.Val), nil
}

// groupMeans predicts one constant for each level of one categorical column. It uses the column
// with the lowest CV loss on the splits.
func (w *tuning) groupMeans(outerSplit cvgm.Split, splits []cvgm.Split) ([]float64, error) {
	best, lowest := -1, math.Inf(1)
	for _, j := range w.categorical() {
		var loss float64
		for _, s := range splits {
			weights := sample.Relative(w.c.Data.Weights, s.Val)
			for at, p := range w.meansOf(j, s) {
				loss += weights.At(at) * w.loss(p, s.Val[at]) / weights.Total(len(s.Val))
			}
		}
		if loss < lowest {
			best, lowest = j, loss
		}
	}
	if best < 0 {
		return nil, nil
	}
	return w.meansOf(best, outerSplit), nil
}

// meansOf predicts a constant for each level of column j. Let overall be the best constant for all
// training rows. The constant of a level has the lowest total loss on the training rows of this
// level and one added example. The label of the added example is overall; for classes, its weight
// is instead divided between all classes. A level without training rows gets the constant overall.
func (w *tuning) meansOf(j int, s cvgm.Split) []float64 {
	level := func(i int) float64 { return w.c.Data.X.At(i, j) }
	rows := sample.Positive(slices.Clone(s.Train), w.c.Data.Weights)
	relative := sample.Relative(w.c.Data.Weights, rows)
	overall := w.constantOn(s.Train)
	labels, weights := map[float64][]float64{}, map[float64]sample.Weights{}
	for at, i := range rows {
		if v := level(i); v == v {
			labels[v], weights[v] = append(labels[v], w.c.Data.Y[i]), append(weights[v], relative.At(at))
		}
	}
	one := relative.Total(len(rows)) / float64(len(rows))
	means := map[float64]baseline{}
	for v := range labels {
		if w.stratified() {
			ys, totals := classWeights(sample.Pick(w.c.Data.Y, rows), relative, w.classLabels())
			labels[v] = append(labels[v], ys...)
			for _, total := range totals {
				weights[v] = append(weights[v], total/float64(len(rows)))
			}
		} else {
			labels[v], weights[v] = append(labels[v], overall[0]), append(weights[v], one)
		}
		means[v] = w.constantOf(labels[v], weights[v])
	}
	predictions := make([]float64, len(s.Val))
	for at, i := range s.Val {
		mean, known := means[level(i)]
		if !known {
			mean = overall
		}
		predictions[at] = w.baselineAt(mean, i)
	}
	return predictions
}
