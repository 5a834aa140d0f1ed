package table

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
)

// EffectKind is the kind of an [Effect].
type EffectKind int

const (
	// PlainEffect has the features that a column has without an Effect.
	PlainEffect EffectKind = iota
	// SmoothEffect makes features of a numeric column. Their linear combinations are the functions
	// Σ_k β_kB_k(x) of the number x with Σβ = 0, so no combination is a constant. The B_k are
	// Effect.Bases cubic B-splines with equally spaced knots over [Low, High]; outside, they
	// continue along their tangents. The features have no unit.
	SmoothEffect
	// LevelsEffect makes one feature for each level of a categorical column, also for the first
	// one. It suits a penalty of all levels: see [Encoder].
	LevelsEffect
	// ScaledEffect maps the number of a numeric column to mean 0 and standard deviation 1 on the
	// training rows. A column that is constant on them has the feature 0.
	ScaledEffect
)

func (k EffectKind) String() string { return nameOf(effectNames[:], k) }

var effectNames = [...]string{"plain", "smooth", "levels", "scaled"}

// DefaultBases is the default number of B-splines of a SmoothEffect, and MostBases the largest
// number.
const DefaultBases, MostBases = 10, 100

// An Effect makes the features of a column for a term of a model. Package terms makes the Effects
// of its terms, and their penalties.
type Effect struct {
	Column string
	Kind   EffectKind
	// Term is the name of the term, which several columns may share.
	Term string
	// Bases is the number of B-splines of a SmoothEffect, at least 4. Zero: DefaultBases.
	Bases int
	// Low and High, Low < High, bound the knots of a SmoothEffect, in the unit of the column. Both
	// zero: the smallest and the largest number of the table. Like the levels of a category, these
	// come from the whole table, so that all splits have the same features. They depend on no
	// target.
	Low, High float64
}

// is reports whether the effect, nil included, is of a kind.
func (e *Effect) is(kind EffectKind) bool { return e != nil && e.Kind == kind }

// equal reports whether both are nil or the same.
func (e *Effect) equal(f *Effect) bool {
	if e == nil || f == nil {
		return e == f
	}
	return *e == *f
}

// errConstant is the error of a column whose effect without a penalty is not unique.
func (e *Effect) errConstant(v float64, rows int) error {
	return args.Bad("Effect.Column", qpdiff.ErrDomain, "leave the column out, or draw other folds",
		"is %q, which is constant on %d rows: all its values are %v", e.Column, rows, v)
}

// span returns the smallest and the largest number that is present and has a positive weight, or
// +Inf and −Inf if there is none.
func span(values []float64, weights sample.Weights) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i, v := range values {
		if v == v && weights.At(i) > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
