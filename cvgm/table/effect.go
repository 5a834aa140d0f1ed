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
	// SmoothEffect has, for a numeric column, features whose linear combinations are the functions
	// Σ_k β_kB_k(x) of the number x with Σβ = 0, so that no combination is a constant. The B_k are
	// Effect.Bases cubic B-splines with equally spaced knots over [Low, High], continued on
	// their tangents outside. The features have no unit.
	SmoothEffect
	// LevelsEffect has, for a categorical column, one feature for each level, the first one
	// included. It suits a penalty of all of them: see [Encoder].
	LevelsEffect
	// ScaledEffect has, for a numeric column, the number mapped to mean 0 and standard deviation 1
	// on the training rows. A column that is constant on them is centred only.
	ScaledEffect
)

func (k EffectKind) String() string { return nameOf(effectNames[:], k) }

var effectNames = [...]string{"plain", "smooth", "levels", "scaled"}

// DefaultBases is the number of B-splines of a SmoothEffect by default, and MostBases the largest.
const DefaultBases, MostBases = 10, 100

// An Effect makes the features of a column for a term of a model. Package terms makes the Effects
// of its terms, and the penalties that go with them.
type Effect struct {
	Column string
	Kind   EffectKind
	// Term is the name of the term, which several columns may share.
	Term string
	// Bases is the number of B-splines of a SmoothEffect, from 4 on. Zero: DefaultBases.
	Bases int
	// Low and High, Low < High, bound the knots of a SmoothEffect, in the unit of the column. Both
	// zero: the least and the largest number of the table. As with the levels of a category these
	// come from the whole table, so that all splits have the same features; they depend on no
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

// span returns the least and the largest number that is present and has a weight above 0; +Inf and
// −Inf if there is none.
func span(values []float64, weights sample.Weights) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i, v := range values {
		if v == v && weights.At(i) > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
