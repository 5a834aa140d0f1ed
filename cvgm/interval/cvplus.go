package interval

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Fold holds a model that was trained on the rows outside one fold, and the errors of this model
// on the rows of the fold.
type Fold struct {
	Model  *cvgm.Model
	Spread Spread // of the model's errors
	// Scores holds |label − prediction|/spread for each row of the fold. Weights holds the weights
	// of these rows.
	Scores, Weights []float64
}

// A CVPlus uses the models of cross-validation to predict an interval for each label. [New] makes a
// CVPlus. It is safe for concurrent use. The first use checks the fields, which must not change
// afterwards.
type CVPlus struct {
	// In each fold the Scores are in ascending order. The Weights of all folds together sum to 1.
	Folds []Fold
	// Units is the number of independent rows in all folds together. The rows of a group count as
	// one row.
	Units int

	// The field checkedFolds holds the Folds with the sums of their weights. It is nil before the first
	// check.
	checkedFolds atomic.Pointer[[]portable.Fold]
}

// sumError bounds |Σw − 1|, the distance of the sum of all weights w from 1.
const sumError = 1e-9

// New returns a CVPlus that uses the models of two or more folds. The argument units is the number
// of independent rows or groups in all folds; see [CVPlus.Units]. Scores may be in any order, and
// weights may have any unit. If New cannot use a part of a fold, its error names the part. The
// error is of kind qpdiff.ErrEmpty, qpdiff.ErrShape, qpdiff.ErrDomain or qpdiff.ErrNotFinite.
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

// Check returns an error if a CVPlus is not valid. The error names the first part that cannot be
// used. The kinds of the error are the same as for [New].
func (p *CVPlus) Check() error {
	if p == nil {
		return args.Bad("CVPlus", qpdiff.ErrEmpty, "make one with interval.New, or set Tuner.Intervals", "is nil")
	}
	if err := args.TooFew("CVPlus.Folds", len(p.Folds), 2, "make them with New"); err != nil {
		return err
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

// check returns an error for the first unusable part of fold k.
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
			return args.Bad(arg("Scores"), qpdiff.ErrDomain, "make the intervals with New, whose scores are absolute values", "holds %v at index %d", s, i)
		}
		if !(f.Weights[i] > 0) {
			return args.Bad(arg("Weights"), qpdiff.ErrDomain, "leave such rows out", "holds %v at index %d", f.Weights[i], i)
		}
	}
	return f.Spread.check(arg("Spread"))
}

// Highest returns the highest level that an interval from n units can have, n/(n+1). For 9 units it
// is .9.
func (p *CVPlus) Highest() float64 { return float64(p.Units) / float64(p.Units+1) }

// Predict returns the two ends of the interval for each row of x. The columns of x must be the
// columns of the data to which the models were fitted. Intervals of level .9 contain about nine of
// ten labels.
//
// The intervals are as in Barber et al. (2021). For the row, let p_k be the prediction of the model
// of fold k, and s_k the spread at this prediction. Each score r of fold k gives one sum p_k +
// s_k·r. The weight of this sum is the weight of the score. The sums of all folds have the total
// weight W. For n units, the upper end is the smallest sum v with this property: the sums that are
// at most v have at least the weight W·level·(n+1)/n. The lower end is defined in the same way,
// downwards, with the differences p_k − s_k·r. The interval lies around the predictions of the
// models of the folds. The prediction of a model of all rows need not be at its centre.
//
// If level is below .5, at least 1, or above Highest, the error is of kind qpdiff.ErrDomain.
// Predict also returns the errors of Check and of [cvgm.Model.Predict]. For K models and a total of
// n scores, each row costs K predictions and O(K²·log²n) operations.
func (p *CVPlus) Predict(x mat.Matrix, level float64) (low, high []float64, err error) {
	if _, _, err := p.foldsFor(level); err != nil {
		return nil, nil, err
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
	return p.Around(predictions, level)
}

// Around does the work of [CVPlus.Predict] for given predictions. The number predictions[k][i] is
// the prediction of fold k's model for row i. If the number of folds or the number of rows is
// wrong, the error is of kind qpdiff.ErrShape.
func (p *CVPlus) Around(predictions [][]float64, level float64) (low, high []float64, err error) {
	folds, share, err := p.foldsFor(level)
	if err != nil {
		return nil, nil, err
	}
	if len(predictions) != len(folds) {
		return nil, nil, args.Bad("predictions", qpdiff.ErrShape, "give the predictions of each fold's model", "has %d entries for %d folds", len(predictions), len(folds))
	}
	rows := len(predictions[0])
	for k := range predictions {
		if n := len(predictions[k]); n != rows {
			return nil, nil, args.Bad("predictions", qpdiff.ErrShape, "predict the same rows by each model", "has %d rows for fold %d and %d for fold 0", n, k, rows)
		}
	}
	low, high = make([]float64, rows), make([]float64, rows)
	row := make([]float64, len(folds))
	for i := range rows {
		for k := range folds {
			row[k] = predictions[k][i]
		}
		low[i], high[i] = portable.EndsAround(folds, row, share)
		if !args.Finite(low[i]) || !args.Finite(high[i]) {
			return nil, nil, args.Bad("x", qpdiff.ErrNotFinite, "scale the labels", "gives the interval [%v, %v] for row %d", low[i], high[i], i)
		}
	}
	return low, high, nil
}

// foldsFor returns the folds for an interval of the given level, and the share of the folds' total
// weight that the interval uses. It checks the folds on the first call.
func (p *CVPlus) foldsFor(level float64) (folds []portable.Fold, share float64, err error) {
	if p == nil || p.checkedFolds.Load() == nil {
		if err := p.Check(); err != nil {
			return nil, 0, err
		}
		folds := make([]portable.Fold, len(p.Folds))
		for k, f := range p.Folds {
			folds[k] = portable.NewFold(f.Spread.At, f.Spread.Size, f.Scores, f.Weights)
		}
		p.checkedFolds.Store(&folds)
	}
	if !(level >= portable.LeastLevel && level < 1) {
		return nil, 0, args.Bad("level", qpdiff.ErrDomain, "use .5 to below 1, such as .9", "is %v", level)
	}
	if share = portable.LevelShare(level, float64(p.Units)); share > 1 {
		return nil, 0, args.Bad("level", qpdiff.ErrDomain, "use a lower level, or more rows or groups", "is %v, above %.3g, the highest level of intervals from %d independent rows or groups", level, p.Highest(), p.Units)
	}
	return *p.checkedFolds.Load(), share, nil
}
