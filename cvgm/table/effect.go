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
	// PlainEffect makes the features that a column has without an Effect.
	PlainEffect EffectKind = iota
	// SmoothEffect makes features of a numeric column. The linear combinations of the features are
	// the functions Σ_k β_kB_k(x) of the number x with Σ_k β_k = 0, so no combination is a
	// constant. The functions B_k are Effect.Bases cubic B-splines with equally spaced knots over
	// [Low, High]. Outside [Low, High], the splines continue along their tangents. The features
	// have no unit.
	SmoothEffect
	// LevelsEffect makes one feature for each level of a categorical column, including the first
	// level. It requires a penalty on all levels, because the features are otherwise collinear; see
	// [Encoder].
	LevelsEffect
	// ScaledEffect maps the number of a numeric column to mean 0 and standard deviation 1 on the
	// training rows. If a column is constant on the training rows, its feature is 0.
	ScaledEffect
)

func (k EffectKind) String() string { return nameOf(effectNames[:], k) }

var effectNames = [...]string{"plain", "smooth", "levels", "scaled"}

// DefaultBases is the default number of B-splines of a SmoothEffect, and MostBases is the largest
// number.
const DefaultBases, MostBases = 10, 100

// An Effect determines the features that a column has in a term of a model. Package terms makes the
// Effects of its terms, and their penalties.
type Effect struct {
	Column string
	Kind   EffectKind
	// Term is the name of the term. Several columns may share a term.
	Term string
	// Bases is the number of B-splines of a SmoothEffect, at least 4. Zero: DefaultBases.
	Bases int
	// Low and High are the ends of the range of knots of a SmoothEffect, in the unit of the column,
	// with Low < High. If both are zero, they become the smallest and the largest number of the
	// column in the whole table, so that all splits have the same features. These two numbers do
	// not depend on the target.
	Low, High float64
}

// is(kind) reports whether the effect is not nil and has this kind.
func (e *Effect) is(kind EffectKind) bool { return e != nil && e.Kind == kind }

// equals reports whether e and f are both nil or have equal fields.
func (e *Effect) equals(f *Effect) bool {
	if e == nil || f == nil {
		return e == f
	}
	return *e == *f
}

// errConstant returns the error for a constant column. Without a penalty, the data do not determine
// the weight of such a column.
func (e *Effect) errConstant(v float64, rows int) error {
	return args.Bad("Effect.Column", qpdiff.ErrDomain, "leave the column out, or draw other folds",
		"is %q, which is constant on %d rows: all its values are %v", e.Column, rows, v)
}

// span returns the smallest and the largest of the values. It ignores NaN and values without a
// positive weight. If no value is left, it returns +Inf and −Inf.
func span(values []float64, weights sample.Weights) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i, v := range values {
		if v == v && weights.At(i) > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
