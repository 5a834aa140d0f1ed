package mydata

import (
	"cmp"
	"context"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/tune"
	"cvgm/cvgm/tune/assess"
	"cvgm/synth"
)

// Judged holds predictions and their metrics. Each prediction is for a row on which the predicting
// model was not trained.
type Judged struct {
	// Nested is set if each prediction comes from an outer fold whose search has not used the row.
	// Without a nested estimate, the predictions come from the splits of the search, at the tuned
	// hyperparameters.
	Nested      bool
	Predictions [][]float64 // [repeat][row]; NaN if there is no prediction
	Weights     []float64   // weights of the rows; nil: 1 each
	Regression  *assess.Regression
	Classes     *assess.Classes
	ROC         ROC // empty if the target is a number
}

// judgedPredictions returns the predictions from the outer folds. Without a nested estimate, it
// returns the predictions from the splits of the search.
func (p MyDataParams) judgedPredictions(tuned *tune.Tuned) Judged {
	d := tuned.Config.Data
	j := Judged{Weights: d.Weights}
	if r := tuned.Risk; r != nil {
		j.Nested, j.Predictions, j.Regression, j.Classes = true, r.OutOfFold, r.Regression, r.Classes
	} else if tuned.Winner.OutOfFold != nil {
		whole := assess.Sample{Y: d.Y, Predictions: tuned.Winner.OutOfFold, Weights: d.Weights}
		for _, s := range tuned.Splits {
			whole.Folds = append(whole.Folds, s.Val)
		}
		j.Predictions = [][]float64{whole.Predictions}
		// With a prediction that is not finite, there are no metrics.
		if !allSigns(d.Y) {
			if m, err := assess.Regress(whole); err == nil {
				j.Regression = &m
			}
		} else if m, err := assess.Classify(p.Threshold, tuned.Winner.Model.LogOdds, whole); err == nil {
			j.Classes = &m
		}
	}
	if allSigns(d.Y) {
		j.ROC = roc(d.Y, j.Weights, p.Threshold, j.Predictions...)
	}
	return j
}

// ROC is the receiver operating characteristic of decisions. For each threshold, it has a point
// with two shares: for each class, the share of its rows with a decision above the threshold. The
// points go from (0, 0) to (1, 1).
type ROC struct {
	FalsePositive, TruePositive []float64
	Area                        float64    // area under the curve
	At                          [2]float64 // rates at the threshold of the confusion matrix
}

// rocSteps is the number of steps of a curve along an axis. Smaller steps would not be visible.
const rocSteps = 500

// roc returns the receiver operating characteristic of the decisions of all repeats. The labels y
// are ±1. If weights is nil, all weights are 1. Equal decisions make one step. Decisions that are
// NaN are skipped.
func roc(y, weights []float64, threshold float64, repeats ...[]float64) ROC {
	type row struct{ decision, positive, negative float64 }
	var rows []row
	var all row
	for _, decisions := range repeats {
		for i, d := range decisions {
			w := weightOf(weights, i)
			one := row{decision: d, positive: w}
			if y[i] <= 0 {
				one.positive, one.negative = 0, w
			}
			if d == d && w > 0 {
				rows = append(rows, one)
				all.positive, all.negative = all.positive+one.positive, all.negative+one.negative
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.decision, a.decision) })
	rate := func(part, of float64) float64 {
		if of == 0 {
			return 0
		}
		return part / of
	}
	r := ROC{FalsePositive: []float64{0}, TruePositive: []float64{0}}
	var above row
	var f, t float64
	for k, one := range rows {
		above.positive, above.negative = above.positive+one.positive, above.negative+one.negative
		if k+1 < len(rows) && rows[k+1].decision == one.decision {
			continue
		}
		nextF, nextT := rate(above.negative, all.negative), rate(above.positive, all.positive)
		r.Area += (nextF - f) * (nextT + t) / 2
		f, t = nextF, nextT
		if one.decision > threshold {
			r.At = [2]float64{f, t}
		}
		if last := len(r.FalsePositive) - 1; k+1 == len(rows) || f-r.FalsePositive[last] >= 1./rocSteps || t-r.TruePositive[last] >= 1./rocSteps {
			r.FalsePositive, r.TruePositive = append(r.FalsePositive, f), append(r.TruePositive, t)
		}
	}
	return r
}

// weightOf returns the weight of row i. If weights is nil, the weight is 1.
func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// allSigns reports whether all labels are ±1.
func allSigns(y []float64) bool {
	return !slices.ContainsFunc(y, func(v float64) bool { return v != 1 && v != -1 })
}

// A Learning is a learning curve. It has the CV loss, at the tuned hyperparameters, of models that
// are fitted to only a part of the training rows of each split.
type Learning struct {
	Rows        []float64 // number of training rows, as a mean over the splits
	Loss, Error []float64 // CV loss with its standard error; NaN if a fit fails
	// Gain is the CV loss at the second largest size minus the CV loss with all training rows.
	// GainError is its standard error by the jackknife, from the differences for each row. Both are
	// NaN if a fit fails.
	Gain, GainError float64
}

// ClearGain is the number of standard errors beyond which a Gain is clear.
const ClearGain = 2

// learningParts are the shares of the training rows in a learning curve.
var learningParts = []float64{.125, .25, .5, 1}

// leastLearning is the smallest number of training rows in a learning curve. Points with fewer rows
// are omitted.
const leastLearning = 5

// learning computes the learning curve.
func (p MyDataParams) learning(ctx context.Context, tuned *tune.Tuned) (Learning, error) {
	c := tuned.Config
	order := p.mixedSplits(tuned)
	l := Learning{Gain: math.NaN(), GainError: math.NaN()}
	var last, before []float64 // losses of the rows
	for _, part := range learningParts {
		c.Splits = nil
		total := 0
		for j, s := range tuned.Splits {
			n := int(math.Round(part * float64(len(s.Train))))
			c.Splits = append(c.Splits, cvgm.Split{Train: slices.Sorted(slices.Values(order[j][:n])), Val: s.Val})
			total += n
		}
		rows := float64(total) / float64(max(len(tuned.Splits), 1))
		if rows < leastLearning {
			continue
		}
		before = last
		var loss, se float64
		var err error
		if loss, se, last, err = lossesOf(ctx, c, tuned); err != nil {
			return l, err
		}
		l.Rows, l.Loss, l.Error = append(l.Rows, rows), append(l.Loss, loss), append(l.Error, se)
	}
	if last != nil && before != nil {
		l.Gain, l.GainError = meanDifference(before, last, c.Data.Weights)
	}
	return l, ctx.Err()
}

// lossesOf returns the CV loss of the tuned hyperparameters on the splits of c, its standard error,
// and the loss of each row. If the CV loss cannot be computed, the numbers are NaN and rows is nil.
// If only the standard error cannot be computed, se alone is NaN.
func lossesOf(ctx context.Context, c cvgm.Config, tuned *tune.Tuned) (loss, se float64, rows []float64, err error) {
	cv, err := cvgm.NewContext(ctx, c)
	if err != nil {
		return math.NaN(), math.NaN(), nil, nil
	}
	if loss, err = cv.EvalContext(ctx, nil, tuned.Winner.Hyper); err != nil {
		return math.NaN(), math.NaN(), nil, nil
	}
	if se, err = cv.StandardError(); err != nil {
		se = math.NaN()
	}
	rows = make([]float64, len(c.Data.Y))
	if err := cv.OutOfFold(rows); err != nil {
		return loss, se, nil, err
	}
	for i, prediction := range rows {
		label := c.Data.Y[i]
		if tuned.ClassModels != nil {
			label = 1 // predictions are log odds of the row's own class
		}
		rows[i], _ = c.Loss.Eval(prediction, label)
	}
	return loss, se, rows, nil
}

// meanDifference returns the weighted mean of a[i] − b[i] and its standard error, over the rows i
// in which neither a[i] nor b[i] is NaN. If there are fewer than two such rows, both results are
// NaN.
func meanDifference(a, b, weights []float64) (mean, se float64) {
	var differences, own []float64
	var total float64
	for i := range a {
		if d, w := a[i]-b[i], weightOf(weights, i); d == d && w > 0 {
			total += w
			mean += w / total * (d - mean)
			differences, own = append(differences, d), append(own, w)
		}
	}
	if len(own) < 2 {
		return math.NaN(), math.NaN()
	}
	return mean, assess.Rows{Weights: own}.StandardError(differences)
}

// mixedSplits returns the training rows of each split in a random order. The classes, and the rows
// of weight 0, are spread evenly over the order. For each n, the first n rows then have about the
// same share of each class as all rows, and of rows of weight 0.
func (p MyDataParams) mixedSplits(tuned *tune.Tuned) [][]int {
	d := tuned.Config.Data
	classes := tuned.ClassModels != nil || allSigns(d.Y)
	class := func(i int) float64 {
		if classes {
			return d.Y[i]
		}
		return 0
	}
	src := synth.NewStream(p.Seed, "my data: learning curve")
	var all [][]int
	for _, s := range tuned.Splits {
		strata := map[stratum][]int{}
		for _, at := range src.Perm(len(s.Train)) {
			i := s.Train[at]
			key := stratum{class(i), d.Weights != nil && d.Weights[i] == 0}
			strata[key] = append(strata[key], i)
		}
		place := map[int]float64{}
		for _, rows := range strata {
			for k, i := range rows {
				place[i] = (float64(k) + .5) / float64(len(rows))
			}
		}
		all = append(all, slices.SortedFunc(slices.Values(s.Train), func(a, b int) int { return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a, b)) }))
	}
	return all
}

// A stratum is a set of rows of the same class. Its rows either all have the weight 0, or all have
// a positive weight. Without classes, there are only two strata: the rows of weight 0 and the rows
// of positive weight.
type stratum struct {
	class      float64
	weightless bool
}

// foldCoefficients returns the coefficients of the fits to each split's training rows, as
// [split][model][feature]. They are in the units of Model.Coefficients. With several classes, a fit
// has a model for each class. If the fit of a split fails, the split is omitted.
func foldCoefficients(ctx context.Context, cv *cvgm.CV, tuned *tune.Tuned) ([][][]float64, error) {
	whole := modelsOf(tuned.Model, tuned.ClassModels)
	if m := whole[0]; m == nil || m.Kernel != nil || m.Predictor != nil || tuned.Choice == tune.ChoseConstant {
		return nil, nil
	}
	var all [][][]float64
	for _, s := range tuned.Splits {
		models, err := fitRows(ctx, cv, tuned, s.Train, tuned.Hyper)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil || len(models[0].Std) != len(whole[0].Std) {
			continue
		}
		var one [][]float64
		for k, m := range models {
			one = append(one, perDeviation(m, whole[k]))
		}
		all = append(all, one)
	}
	return all, nil
}

// modelsOf returns the model of each class or, without classes, the one model.
func modelsOf(one *cvgm.Model, classes []*cvgm.Model) []*cvgm.Model {
	if classes != nil {
		return classes
	}
	return []*cvgm.Model{one}
}

// fitRows fits the learner to some rows. It returns one model, or a model for each class.
func fitRows(ctx context.Context, cv *cvgm.CV, tuned *tune.Tuned, rows []int, hyper []float64) ([]*cvgm.Model, error) {
	if tuned.ClassModels != nil {
		return cv.FinalClasses(ctx, rows, hyper)
	}
	m, err := cv.FinalContext(ctx, rows, hyper)
	return []*cvgm.Model{m}, err
}

// perDeviation returns the coefficients of the model m, each for a change of one standard deviation
// of its feature. The standard deviations come from fullModel, which is fitted to all rows.
func perDeviation(m, fullModel *cvgm.Model) []float64 {
	c := slices.Clone(m.Theta[:len(m.Std)])
	for k := range c {
		c[k] = c[k] / m.Std[k] * fullModel.Std[k]
	}
	return c
}
