package interval

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Fold is a model that was trained without the rows of a fold, with its errors on these rows.
type Fold struct {
	Model  *cvgm.Model
	Spread Spread // of the model's errors
	// Scores holds |label − prediction|/spread of each row of the fold, and Weights how each counts.
	Scores, Weights []float64
}

// A CVPlus predicts intervals by the models of cross-validation. [New] makes one. It is safe for
// concurrent use.
type CVPlus struct {
	// Folds have their Scores in ascending order. The Weights of all of them have the sum 1.
	Folds []Fold
	// Units is the number of independent rows of all folds: the rows of a group count as one.
	Units int
}

const (
	leastLevel = .5
	// unitShare is the part of a unit's weight up to which two sums of weights are equal. Sums of
	// a million weights have errors below it.
	unitShare = 1e-3
	// sumError bounds the distance of the sum of all weights from 1.
	sumError = 1e-9
)

// New returns the intervals by the models of two or more folds, with this number of independent units
// in all. Scores may come in any order and weights in any unit. An error names what cannot be used, and is of kind
// qpdiff.ErrEmpty, qpdiff.ErrShape, qpdiff.ErrDomain or qpdiff.ErrNotFinite.
func New(folds []Fold, units int) (*CVPlus, error) {
	p := &CVPlus{Folds: slices.Clone(folds), Units: units}
	var largest, total float64
	for _, f := range folds {
		for _, w := range f.Weights {
			largest = max(largest, w)
		}
	}
	for _, f := range folds {
		for _, w := range f.Weights {
			total += w / largest // terms that cannot overflow
		}
	}
	for k, f := range folds {
		if len(f.Weights) != len(f.Scores) {
			break // Check names it
		}
		order, scores, weights := make([]int, len(f.Scores)), slices.Clone(f.Scores), make([]float64, len(f.Scores))
		floats.ArgsortStable(scores, order)
		for at, i := range order {
			weights[at] = f.Weights[i] / largest / total
		}
		p.Folds[k].Scores, p.Folds[k].Weights = scores, weights
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return p, nil
}

// Check reports the first part that cannot be used, with the errors of New.
func (p *CVPlus) Check() error {
	if p == nil {
		return args.Bad("CVPlus", qpdiff.ErrEmpty, "make one with interval.New, or set Tuner.Intervals", "is nil")
	}
	if len(p.Folds) < 2 {
		return args.Bad("CVPlus.Folds", qpdiff.ErrShape, "give two or more", "are %d", len(p.Folds))
	}
	var total float64
	rows := 0
	for k, f := range p.Folds {
		if err := f.check(k); err != nil {
			return err
		}
		for _, w := range f.Weights {
			total += w
		}
		rows += len(f.Scores)
	}
	return args.First(
		args.BadIf(p.Units < 1 || p.Units > rows, "CVPlus.Units", qpdiff.ErrDomain, "give the number of independent rows", "is %d for %d rows", p.Units, rows),
		args.BadIf(!(math.Abs(total-1) <= sumError), "CVPlus.Folds", qpdiff.ErrDomain, "make them with New", "have weights of the sum %v instead of 1", total),
	)
}

// check reports the first part of fold k that cannot be used.
func (f *Fold) check(k int) error {
	arg := func(field string) string { return fmt.Sprintf("Folds[%d].%s", k, field) }
	if err := args.First(
		args.BadIf(f.Model == nil, arg("Model"), qpdiff.ErrEmpty, "fit one with CV.FinalOn", "is nil"),
		args.BadIf(len(f.Weights) != len(f.Scores), arg("Weights"), qpdiff.ErrShape, "give one per score", "has %d entries for %d scores", len(f.Weights), len(f.Scores)),
		args.CheckFinite(arg("Scores"), f.Scores, "leave such rows out"),
		args.CheckFinite(arg("Weights"), f.Weights, "leave such rows out"),
	); err != nil {
		return err
	}
	for i, s := range f.Scores {
		if s < 0 || i > 0 && s < f.Scores[i-1] {
			return args.Bad(arg("Scores"), qpdiff.ErrDomain, "give absolute values, and make the intervals with New", "holds %v at index %d", s, i)
		}
		if !(f.Weights[i] > 0) {
			return args.Bad(arg("Weights"), qpdiff.ErrDomain, "leave such rows out", "holds %v at index %d", f.Weights[i], i)
		}
	}
	return f.Spread.check(arg("Spread"))
}

// Highest returns the highest level that the rows allow: n/(n+1) of n units, such as .9 of 9.
func (p *CVPlus) Highest() float64 { return float64(p.Units) / float64(p.Units+1) }

// Predict returns the ends of the interval of each row of x, which has the columns of the data
// that the models were fitted to. A level of .9 is for intervals that hold nine labels of ten. With the prediction p_k and the spread s_k
// of fold k's model at the row, the upper end is the smallest value at or below which lies the share level·(n+1)/n
// of the weight of all p_k + s_k·score, where score has the fold's
// scores, and the lower end likewise from above with p_k − s_k·score (Barber et al. 2021). The ends lie around the
// predictions of the folds' models, and need not have the prediction of a model of all rows at their centre.
//
// A level below .5, from 1 on or above Highest is an error of kind qpdiff.ErrDomain; other errors come from
// Check and [cvgm.Model.Predict]. Each row costs a prediction by each of K models, and
// O(K²·log²n) for n scores.
func (p *CVPlus) Predict(x mat.Matrix, level float64) (low, high []float64, err error) {
	if err := p.Check(); err != nil {
		return nil, nil, err
	}
	if !(level >= leastLevel && level < 1) {
		return nil, nil, args.Bad("level", qpdiff.ErrDomain, "use .5 to below 1, such as .9", "is %v", level)
	}
	n := float64(p.Units)
	share := (level*(n+1) - unitShare) / n
	if share > 1 {
		return nil, nil, args.Bad("level", qpdiff.ErrDomain, "use a lower level, or more rows or groups", "is %v, and the intervals of %d independent rows or groups have a level of %.3g at most", level, p.Units, p.Highest())
	}
	if dense, ok := x.(*mat.Dense); x == nil || ok && (dense == nil || dense.IsEmpty()) {
		return nil, nil, args.Bad("x", qpdiff.ErrEmpty, "give at least one row", "is empty")
	}
	rows, _ := x.Dims()
	predictions := make([][]float64, len(p.Folds))
	for k, f := range p.Folds {
		predictions[k] = make([]float64, rows)
		if err := f.Model.Predict(predictions[k], x); err != nil {
			return nil, nil, err
		}
	}
	e := newEnds(p.Folds)
	low, high = make([]float64, rows), make([]float64, rows)
	for i := range rows {
		for k, f := range p.Folds {
			e.middle[k], e.size[k] = predictions[k][i], f.Spread.Of(predictions[k][i])
		}
		high[i] = e.quantile(share)
		for k := range e.middle {
			e.middle[k] = -e.middle[k]
		}
		low[i] = -e.quantile(share)
		if !args.Finite(low[i]) || !args.Finite(high[i]) {
			return nil, nil, args.Bad("x", qpdiff.ErrNotFinite, "scale the labels", "gives the interval [%v, %v] for row %d", low[i], high[i], i)
		}
	}
	return low, high, nil
}

// ends has the distribution of the upper ends middle + size·score of one row, over all folds.
type ends struct {
	folds        []Fold
	below        [][]float64 // the weight of the scores up to each one
	middle, size []float64   // of each fold
}

func newEnds(folds []Fold) *ends {
	e := &ends{folds, nil, make([]float64, len(folds)), make([]float64, len(folds))}
	for _, f := range folds {
		var sum float64
		below := make([]float64, len(f.Weights))
		for i, w := range f.Weights {
			sum += w
			below[i] = sum
		}
		e.below = append(e.below, below)
	}
	return e
}

// value is the end by score i of fold k. The product is rounded: a fused sum in one place and not in another would
// compare as another value.
func (e *ends) value(k, i int) float64 {
	return e.middle[k] + float64(e.size[k]*e.folds[k].Scores[i])
}

// weight returns the weight of the ends up to v.
func (e *ends) weight(v float64) (sum float64) {
	for k, f := range e.folds {
		if i := sort.Search(len(f.Scores), func(i int) bool { return e.value(k, i) > v }); i > 0 {
			sum += e.below[k][i-1]
		}
	}
	return sum
}

// quantile returns the smallest end up to which lies so much of the weight; the largest end if rounding leaves
// none.
func (e *ends) quantile(share float64) float64 {
	best, largest := math.Inf(1), math.Inf(-1)
	for k, f := range e.folds {
		n := len(f.Scores)
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
