package tune

import (
	"math"
	"slices"

	"cvgm/cvgm"

	"gonum.org/v1/gonum/mat"
)

// A contender is one of the models that the outer folds judge.
type contender int

const (
	ofTuning contender = iota
	ofDefault
	ofConstant
	ofRival
	contenders
)

// A repeat holds the predictions of one partition into outer folds.
type repeat struct {
	folds       []cvgm.Split
	predictions [contenders][]float64 // for each row; NaN if the row is in no outer fold, or if the fit failed
	// If there are several classes, classProbabilities holds the probabilities that the tuned model
	// predicts for each row. A row that is in no outer fold, or whose fit failed, has NaN. For
	// other targets, classProbabilities is nil.
	classProbabilities *mat.Dense
}

// foldPredictions holds the predictions for the validation rows of an outer fold. In
// classProbabilities, each example of the data has a row, as in a [repeat].
type foldPredictions struct {
	predictions        [contenders][]float64
	classProbabilities *mat.Dense
}

func newRepeat(folds []cvgm.Split, rows, classes int) *repeat {
	r := &repeat{folds: folds}
	if classes > 0 {
		r.classProbabilities = mat.NewDense(rows, classes, slices.Repeat([]float64{math.NaN()}, rows*classes))
	}
	for c := range r.predictions {
		r.predictions[c] = slices.Repeat([]float64{math.NaN()}, rows)
	}
	return r
}

// add writes the predictions for the validation rows of an outer fold to the repeat r.
func (r *repeat) add(fold cvgm.Split, made foldPredictions) {
	for c, predictions := range made.predictions {
		for at, p := range predictions {
			r.predictions[c][fold.Val[at]] = p
		}
	}
	if r.classProbabilities != nil {
		for _, i := range fold.Val {
			r.classProbabilities.SetRow(i, made.classProbabilities.RawRowView(i))
		}
	}
}
