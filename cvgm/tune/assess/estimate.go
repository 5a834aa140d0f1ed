package assess

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Estimate is a mean with its interval.
type Estimate struct{ Mean, Low, High float64 }

func (e Estimate) String() string { return fmt.Sprintf("%.4g [%.4g, %.4g]", e.Mean, e.Low, e.High) }

// Confidence is the share of intervals that contain the estimated quantity.
const Confidence = .95

// A rule corrects the standard error that is computed from the scatter of the losses over the rows.
// The scatter does not contain two parts of the variance:
//   - The models depend on the other rows, on which they were chosen and trained.
//   - The models depend on the choice of folds. Repeats lower this part; see foldChoice.
//
// The package's documentation compares rules.
type rule struct {
	factor float64 // of the variance over the rows; it excludes the part for the choice of folds
	// The variance over the rows is averaged with the variance over the folds. In this average, its
	// weight is rowWeight, which counts as degrees of freedom.
	rowWeight float64
}

var (
	ofRisk       = rule{1.6, 5}
	ofDifference = rule{1.7, 0}
)

// foldChoice is the variance that the choice of folds causes in one repeat, divided by the variance
// over the rows.
const foldChoice = .2

// Rows describes the rows to which losses belong: their weights, their dependence, and the folds of
// each repeat of cross-validation. The losses are from models that were not trained on these rows.
type Rows struct {
	Weights []float64 // finite and at least 0; nil: 1 each
	// Units holds a number for each row. Rows with the same number form a unit, and depend on each
	// other. For example, the rows of a group form a unit. If the rows are in the order of time,
	// the rows of a fold form a unit. Nil: all rows are independent.
	Units []int
	// Folds[repeat][row] is the number of the fold that contains the row in the repeat. Folds are
	// numbered from 0. Losses have the same two indices.
	Folds [][]int
}

// Risk returns the mean of the losses with its 95 % interval. If no loss is negative, Risk computes
// a symmetric interval for the square root of the mean, and squares the ends. This interval has no
// negative numbers. Otherwise the interval is symmetric around the mean. If a loss is +Inf, the
// estimate is +Inf. If one unit of rows has more than about 80 % of the weight, the interval is
// infinite.
func (r Rows) Risk(losses [][]float64) Estimate {
	mean, se, freedom := r.mean(losses, ofRisk)
	reach := se * quantile(freedom, (1+Confidence)/2)
	negative := slices.ContainsFunc(losses, func(l []float64) bool { return slices.Min(l) < 0 })
	switch {
	case !args.Finite(mean):
		return Estimate{mean, mean, mean}
	case negative:
		return Estimate{mean, mean - reach, mean + reach}
	case !(mean > 0):
		return Estimate{mean, mean, mean + reach}
	}
	share := reach / mean / 2 // of the root
	low, high := max(0, 1-share), 1+share
	return Estimate{mean, mean * low * low, mean * high * high}
}

// mean returns three numbers: the mean loss over rows and repeats, the standard error of the mean,
// and the degrees of freedom of the standard error. It computes two standard errors and returns the
// larger one.
//
// The first standard error is from the scatter of the losses over the rows. Let l_i be the mean
// loss of row i over the repeats, w_i the weight of the row, and Σw the total weight. For each of
// the n units u, let s_u be the sum of w_i/Σw over the rows i of u, and let e_u be the sum of
// (w_i/Σw)(l_i − mean). The first standard error is √((n−1)/n·Σ(e_u/(1−s_u))²) times √(rule.factor
// + foldChoice/repeats); see [sample.MeanError].
//
// The second standard error is from the scatter of the losses over the folds. It is larger if the
// models of different folds differ more than their rows explain. For each fold of each repeat, let
// f be the sum of (w_i/Σw)(l_i − mean) over the rows i of the fold. Here l_i is the loss of row i
// in this repeat. With k folds, the variance over the folds is k/(k−1)·Σf²/repeats, with a sum over
// the folds of all repeats. This variance has few degrees of freedom. It is therefore averaged with
// the square of the first standard error. In this average, the weight of the variance over the
// folds is its number of degrees of freedom, and the weight of the square is rule.rowWeight. The
// second standard error is the root of the average.
func (r Rows) mean(losses [][]float64, of rule) (mean, se, freedom float64) {
	d := make([]float64, len(losses[0]))
	for _, l := range losses {
		for i, v := range l {
			d[i] += v / float64(len(losses)) // terms that cannot overflow
		}
	}
	mean, se, freedom = r.rows(d)
	if !args.Finite(mean) {
		return mean, se, freedom
	}
	se *= math.Sqrt(of.factor + foldChoice/float64(len(losses)))
	shares := r.shares(len(d))
	var byFold []float64
	folds := 0
	for k, l := range losses {
		of := r.Folds[k]
		sums := Rows{Weights: r.Weights, Units: of}.unitSums(func(i int) float64 { return shares[i] * (l[i] - mean) }, len(l))
		byFold, folds = append(byFold, sums...), max(folds, len(sums))
	}
	if k := float64(folds); folds > 1 {
		// Norms neither overflow nor underflow. Squares of small losses would underflow.
		between := math.Sqrt(k/(k-1)/float64(len(losses))) * floats.Norm(byFold, 2)
		own := float64(len(byFold) - 1)
		if both := math.Hypot(math.Sqrt(own)*between, math.Sqrt(of.rowWeight)*se) / math.Sqrt(own+of.rowWeight); both > se {
			se, freedom = both, min(freedom, own+of.rowWeight)
		}
	}
	return mean, se, freedom
}

// StandardError returns the standard error of the mean of the losses. The slice losses has one
// entry for each row. The standard error is computed only from the scatter of the losses over the
// rows.
func (r Rows) StandardError(losses []float64) float64 {
	_, se, _ := r.rows(losses)
	return se
}

// rows returns three numbers: the weighted mean of d, the standard error of this mean, and the
// degrees of freedom of the standard error. The standard error is computed over the units.
func (r Rows) rows(d []float64) (mean, se, freedom float64) {
	shares := r.shares(len(d))
	for i, v := range d {
		if shares[i] > 0 { // losses may be infinite
			mean += shares[i] * v
		}
	}
	if !args.Finite(mean) {
		return mean, 0, 1
	}
	units := r.unitSums(func(i int) float64 { return shares[i] }, len(d))
	deviations := r.unitSums(func(i int) float64 { return shares[i] * (d[i] - mean) }, len(d))
	se, freedom = sample.MeanError(deviations, units)
	return mean, se, freedom
}

// unitSums returns the sum of value over the rows of each unit. The units are in the order of their
// first rows. Rows of weight 0 are left out.
func (r Rows) unitSums(value func(i int) float64, rows int) (sums []float64) {
	place := map[int]int{}
	for i := range rows {
		if r.Weights != nil && !(r.Weights[i] > 0) {
			continue
		}
		unit := i
		if r.Units != nil {
			unit = r.Units[i]
		}
		k, seen := place[unit]
		if !seen {
			k = len(sums)
			place[unit], sums = k, append(sums, 0)
		}
		sums[k] += value(i)
	}
	return sums
}

// shares returns the weight of each row, divided by the total weight.
func (r Rows) shares(rows int) []float64 {
	if r.Weights == nil {
		return slices.Repeat([]float64{1 / float64(rows)}, rows)
	}
	shares := sample.Relative(r.Weights, sample.Complement(nil, rows))
	floats.Scale(1/floats.Sum(shares), shares)
	return shares
}

func quantile(freedom, p float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(p)
}
