package tune

import (
	"math"
	"slices"

	"cvgm/cvgm"
)

// A contender is what the outer folds judge.
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
	predictions [contenders][]float64 // of each row; NaN: of no fold, or the fit failed
}

func newRepeat(folds []cvgm.Split, rows int) *repeat {
	r := &repeat{folds: folds}
	for c := range r.predictions {
		r.predictions[c] = slices.Repeat([]float64{math.NaN()}, rows)
	}
	return r
}

// add takes the predictions for the validation rows of a fold.
func (r *repeat) add(fold cvgm.Split, made [contenders][]float64) {
	for c, predictions := range made {
		for at, p := range predictions {
			r.predictions[c][fold.Val[at]] = p
		}
	}
}
