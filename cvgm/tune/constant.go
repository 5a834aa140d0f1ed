package tune

import (
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// constantLoss returns the CV loss of constant predictions. For each split, the constant is the
// best constant for the training rows.
func (w *tuning) constantLoss(splits []cvgm.Split) (float64, error) {
	var total float64
	missed := false // a label
	for _, s := range splits {
		constant := w.constantOn(s.Train)
		weights := sample.Relative(w.c.Data.Weights, s.Val)
		var loss float64
		for at, i := range s.Val {
			c := w.baselineAt(constant, i)
			loss += weights.At(at) * w.loss(c, i)
			missed = missed || c != w.c.Data.Y[i]
		}
		total += loss / weights.Total(len(s.Val))
	}
	total /= float64(len(splits))
	switch w.c.Loss.(type) {
	// Other losses can be 0 at a prediction that differs from the label.
	case cvgm.SquaredError, cvgm.AbsoluteError, cvgm.HuberLoss:
		missed = missed && total < smallestLoss
	default:
		missed = false
	}
	if missed || !args.Finite(total) {
		return math.NaN(), args.Bad("Data.Y", qpdiff.ErrNotFinite, "scale the labels", "has the CV loss %v for a constant prediction", total)
	}
	return total, nil
}

// smallestLoss is the smallest normal float64. Smaller losses have fewer digits.
const smallestLoss = 0x1p-1022

// A baseline is the best constant prediction. Usually it is one number. For a joint model of
// several classes, it holds the log odds of each class.
type baseline []float64

// baselineAt returns the prediction of b for row i.
func (w *tuning) baselineAt(b baseline, i int) float64 {
	if w.isJoint() {
		return b[int(w.c.Data.Y[i])]
	}
	return b[0]
}

// loss is the validation loss of a prediction for row i.
func (w *tuning) loss(prediction float64, i int) float64 {
	label := w.c.Data.Y[i]
	if w.isJoint() {
		label = 1
	}
	loss, _ := w.c.Loss.Eval(prediction, label)
	return loss
}

// constantOn returns the result of constantOf for the labels of the given rows.
func (w *tuning) constantOn(rows []int) baseline {
	rows = sample.Positive(rows, w.c.Data.Weights)
	return w.constantOf(sample.Pick(w.c.Data.Y, rows), sample.Relative(w.c.Data.Weights, rows))
}

// constantOf returns the constant prediction with the lowest mean loss on the labels, if the loss
// is convex. For other losses it returns the best of three predictions: the smallest label, the
// largest label, and a point between these labels that bisection finds. For a joint model of
// several classes it returns the log odds of the classes' shares, for any loss.
func (w *tuning) constantOf(labels []float64, weights sample.Weights) baseline {
	if w.isJoint() {
		return classOdds(labels, weights, w.outputs)
	}
	switch w.c.Loss.(type) {
	case cvgm.SquaredError:
		return baseline{runningMean(labels, weights)}
	case cvgm.AbsoluteError:
		return baseline{median(labels, weights)}
	}
	if w.classes() { // with two labels instead of N labels, the bisection is much cheaper than a fit
		labels, weights = classWeights(labels, weights, w.classLabels())
	}
	slope := func(p float64) float64 { return slopeAt(w.c.Loss, p, labels, weights) }
	low, high := slices.Min(labels), slices.Max(labels)
	candidates := []float64{low, high}
	// If all labels are equal, some losses have their minimum at a prediction beyond the common
	// label.
	if size := max(math.Abs(low), math.Abs(high)); low == high {
		low, high = low-size, high+size
	}
	const doublings, halvings = 4, 60
	for range doublings {
		middle, half := (low+high)/2, (high-low)/2
		if slope(low) > 0 || slope(high) < 0 {
			low, high = middle-2*half, middle+2*half
		}
	}
	for range halvings {
		if middle := low + (high-low)/2; slope(middle) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	best, lowest := low+(high-low)/2, math.Inf(1)
	for _, p := range append([]float64{best}, candidates...) {
		var loss float64
		for i, y := range labels {
			l, _ := w.c.Loss.Eval(p, y)
			loss += weights.At(i) * l
		}
		if loss < lowest {
			best, lowest = p, loss
		}
	}
	return baseline{best}
}

// classShares returns the total weight of each class, divided by the total weight of all labels.
func classShares(labels []float64, weights sample.Weights, classes int) []float64 {
	shares := make([]float64, classes)
	for i, y := range labels {
		shares[int(y)] += weights.At(i)
	}
	floats.Scale(1/floats.Sum(shares), shares)
	return shares
}

// classOdds returns the log odds of each class. It computes the share of all other classes as a
// sum, because 1 minus the share of the class would be inexact.
func classOdds(labels []float64, weights sample.Weights, classes int) baseline {
	shares := classShares(labels, weights, classes)
	odds := make(baseline, classes)
	for c, share := range shares {
		odds[c] = math.Log(share / (floats.Sum(shares[:c]) + floats.Sum(shares[c+1:])))
	}
	return odds
}

// runningMean returns the mean of y. It updates the mean after each label, because the sum of y may
// overflow.
func runningMean(y []float64, weights sample.Weights) (mean float64) {
	var total float64
	for i, y := range y {
		if v := weights.At(i); v > 0 {
			total += v
			mean += v / total * (y - mean)
		}
	}
	return mean
}

// slopeAt returns the derivative of the weighted total loss at the prediction p.
func slopeAt(loss cvgm.Loss, p float64, labels []float64, weights sample.Weights) (total float64) {
	kinks, _ := loss.(cvgm.KinkedLoss)
	for i, y := range labels {
		_, s := loss.Eval(p, y)
		if s != s && kinks != nil {
			_, s = kinks.Kink(p, y)
		}
		if s == s {
			total += weights.At(i) * s
		}
	}
	return total
}

// classWeights returns those candidates that occur in y, and the total weight of each in y.
func classWeights(y []float64, weights sample.Weights, candidates []float64) (labels []float64, totals sample.Weights) {
	for _, label := range candidates {
		var total float64
		for i, v := range y {
			if v == label {
				total += weights.At(i)
			}
		}
		if total > 0 {
			labels, totals = append(labels, label), append(totals, total)
		}
	}
	return labels, totals
}
