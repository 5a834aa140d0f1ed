package portable

import (
	"math"
	"sort"
)

// A Fold holds the errors of the model of one fold, on the rows to which this model was not fitted.
type Fold struct {
	At, Size []float64 // Size[i] is the spread of the errors at the prediction At[i], and At ascends; empty: the spread is 1
	Scores   []float64 // the errors divided by the spread, ascending
	Below    []float64 // Below[i] is the weight of Scores[:i+1]; the weights of all folds sum to 1
}

// SpreadAt returns the spread of the errors at a prediction. The spread is spreads[i] at
// predictions[i], linear between these predictions, and constant outside them.
func SpreadAt(predictions, spreads []float64, prediction float64) float64 {
	n := len(predictions)
	i := sort.SearchFloat64s(predictions, prediction)
	switch {
	case n == 0:
		return 1
	case i == 0:
		return spreads[0]
	case i == n:
		return spreads[n-1]
	}
	share := (prediction - predictions[i-1]) / (predictions[i] - predictions[i-1])
	return spreads[i-1] + float64(share*(spreads[i]-spreads[i-1]))
}

// LeastLevel is the lowest level of an interval.
const LeastLevel = .5

// Two sums of weights are treated as equal if they differ by less than unitShare/n, where 1/n is
// the weight of an independent row. Sums of a million weights have smaller rounding errors.
const unitShare = 1e-3

// LevelShare returns the share of the weight that must lie at or below the upper end of an
// interval. It is the level, corrected for n independent rows. The share is above 1 if n is too
// small for the level.
func LevelShare(level, n float64) float64 { return (float64(level*(n+1)) - unitShare) / n }

// EndsAround returns the lower and the upper end of the prediction interval of a row. The
// predictions for the row come from the models of the folds, and the share comes from LevelShare.
func EndsAround(folds []Fold, predictions []float64, share float64) (low, high float64) {
	e := ends{folds, make([]float64, len(folds)), make([]float64, len(folds))}
	for k, p := range predictions {
		e.middle[k], e.size[k] = p, SpreadAt(folds[k].At, folds[k].Size, p)
	}
	high = e.quantile(share)
	for k := range e.middle {
		e.middle[k] = -e.middle[k]
	}
	return -e.quantile(share), high
}

// ends is a distribution for one row. It has one value, middle + size·score, for each score of each
// fold. The upper end of the interval is a quantile of these values.
type ends struct {
	folds        []Fold
	middle, size []float64 // of each fold
}

// value returns the end for score i of fold k.
func (e *ends) value(k, i int) float64 {
	return e.middle[k] + float64(e.size[k]*e.folds[k].Scores[i])
}

// weight returns the total weight of the ends up to v.
func (e *ends) weight(v float64) (sum float64) {
	for k := range e.folds {
		if i := sort.Search(len(e.folds[k].Scores), func(i int) bool { return e.value(k, i) > v }); i > 0 {
			sum += e.folds[k].Below[i-1]
		}
	}
	return sum
}

// quantile returns the smallest value v such that the values up to v have at least the given share
// of the weight. If rounding leaves no such value, it returns the largest value.
func (e *ends) quantile(share float64) float64 {
	best, largest := math.Inf(1), math.Inf(-1)
	for k := range e.folds {
		n := len(e.folds[k].Scores)
		if n == 0 {
			continue
		}
		largest = max(largest, e.value(k, n-1))
		if i := sort.Search(n, func(i int) bool { return e.weight(e.value(k, i)) >= share }); i < n {
			best = min(best, e.value(k, i))
		}
	}
	return min(best, largest)
}
