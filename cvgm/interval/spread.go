package interval

import (
	"cmp"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// A Spread is the mean absolute error of a model as a function of its prediction. The field At
// holds predictions in ascending order, and the field Size holds the spread at each of these
// predictions. Between the predictions in At, the spread is linear. Below the first and above the
// last of them, it is constant. If At is empty, the spread is 1.
type Spread struct{ At, Size []float64 }

const (
	// Each value of the spread is fitted to the rows with the nearest predictions. localShare is
	// their share of all rows.
	localShare = .5
	// knotCount is the largest number of values of a spread.
	knotCount = 9
	// If there are fewer than leastRows rows, the spread is the mean error of all rows.
	leastRows = 20
	// A value of a spread is at least leastShare times the mean error.
	leastShare = .1
)

// FitSpread fits a spread to labels and their out-of-fold predictions. If weights is nil, each row
// has the weight 1.
//
// FitSpread first fits a trend to the absolute errors. The logarithm of the trend is a quadratic
// function of the prediction. FitSpread then corrects the trend at quantiles of the predictions.
// For the correction at a quantile, it fits a line to the errors at the nearest predictions, with
// more weight for nearer predictions (Cleveland 1979). The correction is the value of this line at
// the quantile.
//
// If there are few rows, or if all predictions are equal, the spread is the mean error. If all
// errors are 0, the spread is 1. For n rows, the time is proportional to n log n. FitSpread panics
// if its three slices differ in length.
func FitSpread(predictions, labels, weights []float64) Spread {
	n := len(predictions)
	if len(labels) != n || weights != nil && len(weights) != n {
		panic("cvgm: interval: the slices have several lengths")
	}
	order, e := make([]int, n), errorsAt{slices.Clone(predictions), make([]float64, n), make([]float64, n)}
	floats.ArgsortStable(e.at, order)
	var mean, total float64
	for at, i := range order {
		e.size[at], e.weight[at] = math.Abs(labels[i]-predictions[i]), 1
		if weights != nil {
			e.weight[at] = weights[i]
		}
		if w := e.weight[at]; w > 0 {
			total += w
			mean += w / total * (e.size[at] - mean)
		}
	}
	floats.Scale(float64(n)/total, e.weight)
	if !(mean > 0) || !args.Finite(mean) {
		return Spread{}
	}
	if n < leastRows || e.at[0] == e.at[n-1] {
		return Spread{[]float64{e.at[n/2]}, []float64{mean}}
	}
	trend := fitTrend(e, mean)
	for i, at := range e.at {
		e.size[i] /= trend.sizeAt(at)
	}
	var s Spread
	for k := range knotCount {
		at := e.at[k*(n-1)/(knotCount-1)]
		if k == 0 || at > s.At[len(s.At)-1] {
			s.At, s.Size = append(s.At, at), append(s.Size, max(leastShare*mean, trend.sizeAt(at)*e.localTrend(at)))
		}
	}
	return s
}

// localTrend fits a line to the errors at the predictions that are nearest to x0. It returns the
// value of this line at x0. Errors are in units of the trend.
func (e errorsAt) localTrend(x0 float64) float64 {
	n := len(e.at)
	count := int(math.Ceil(localShare * float64(n)))
	first := 0
	for first+count < n && e.at[first+count]-x0 < x0-e.at[first] {
		first++
	}
	reach := max(x0-e.at[first], e.at[first+count-1]-x0)
	var total, middle, size float64
	weights := make([]float64, count)
	for k := range weights {
		i, distance := first+k, 0.
		if reach > 0 {
			distance = math.Abs(e.at[i]-x0) / reach
		}
		c := 1 - distance*distance*distance
		if weights[k] = e.weight[i] * c * c * c; weights[k] > 0 {
			total += weights[k]
			middle += weights[k] / total * (e.at[i] - x0 - middle)
			size += weights[k] / total * (e.size[i] - size)
		}
	}
	if !(total > 0) {
		return 1
	}
	var squares, products float64
	unit := cmp.Or(reach, 1)
	for k, w := range weights {
		d := (e.at[first+k] - x0 - middle) / unit
		squares += w / total * d * d
		products += w / total * d * (e.size[first+k] - size)
	}
	if squares > 0 {
		size -= products / squares * (middle / unit)
	}
	return (total*size + priorErrors) / (total + priorErrors)
}

// check returns an error if a field of the spread is not valid. The error names the first such
// field.
func (s Spread) check(arg string) error {
	if err := args.First(
		args.BadIf(len(s.Size) != len(s.At), arg, qpdiff.ErrShape, "give one size per prediction", "has %d sizes at %d predictions", len(s.Size), len(s.At)),
		args.CheckFinite(arg+".At", s.At, "use FitSpread"),
		args.CheckFinite(arg+".Size", s.Size, "use FitSpread"),
	); err != nil {
		return err
	}
	for i, at := range s.At {
		if i > 0 && at <= s.At[i-1] {
			return args.Bad(arg+".At", qpdiff.ErrDomain, "give ascending predictions", "holds %v after %v", at, s.At[i-1])
		}
		if !(s.Size[i] > 0) {
			return args.Bad(arg+".Size", qpdiff.ErrDomain, "give positive sizes", "holds %v at index %d", s.Size[i], i)
		}
	}
	return nil
}

// Of returns the spread at a prediction.
func (s Spread) Of(prediction float64) float64 {
	return portable.SpreadAt(s.At, s.Size, prediction)
}
