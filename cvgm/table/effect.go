package table

import (
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
)

// EffectKind is the kind of an [Effect].
type EffectKind int

const (
	// PlainEffect makes the features that a column has without an Effect.
	PlainEffect EffectKind = iota
	// SmoothEffect makes features of a numeric column. For a number x, the linear combinations of
	// the features are the functions Σ_k β_kB_k(x) whose coefficients satisfy Σ_k β_k = 0. So no
	// combination is a constant. The functions B_k are Effect.Bases cubic B-splines with equally
	// spaced knots over [Low, High]. Outside [Low, High], the splines continue along their
	// tangents. The features have no unit.
	SmoothEffect
	// LevelsEffect makes one feature for each level of a categorical column, including the
	// baseline. It requires a penalty on all levels, because the features are otherwise collinear; see
	// [Encoder].
	LevelsEffect
	// ScaledEffect scales the values of a numeric column to mean 0 and standard deviation 1 on the
	// training rows. If a column is constant on the training rows, its feature is 0.
	ScaledEffect
	// KernelEffect makes joint features of several numeric columns: the columns of successive
	// KernelEffects with the same Term. The linear combinations of the features are the functions
	// that a Gaussian kernel spans at its inducing rows, which are rows of the table. The kernel of
	// x and z is exp(−½Σ_j((x_j − z_j)/(ℓs_j))²), where s_j is the standard deviation of column j
	// over the whole table, and ℓ is Effect.Length. The features are an orthonormal basis for this
	// kernel, so that the penalty of a function is the sum of the squared weights; see
	// terms.Kernel. The features have no unit. All features belong to the first of the columns.
	KernelEffect
)

func (k EffectKind) String() string { return nameOf(effectNames[:], k) }

var effectNames = [...]string{"plain", "smooth", "levels", "scaled", "kernel"}

// DefaultBases is the default number of B-splines of a SmoothEffect, and MostBases is the largest
// number.
const DefaultBases, MostBases = 10, 100

// DefaultKernelBases is the default of Effect.Bases for a KernelEffect, and MostKernelBases is its
// largest value. For this effect, Effect.Bases bounds the number of inducing rows.
//
// For example, let a table have 1000 rows of independent normal columns. With the default length
// scale, about 20 inducing rows then represent all rows of one column, 120 represent all rows of
// two columns, and 420 all rows of three.
const DefaultKernelBases, MostKernelBases = 200, 1000

// An Effect determines the features that a column has in a term of a model. Package terms makes the
// Effects of its terms, and their penalties.
type Effect struct {
	Column string
	Kind   EffectKind
	// Term is the name of the term. Several columns may share a term.
	Term string
	// Bases is the number of B-splines of a SmoothEffect, at least 4. Zero: DefaultBases. For a
	// KernelEffect, it is the largest number of inducing rows. Zero: DefaultKernelBases.
	// [Table.WithEffects] sets it to the number of inducing rows.
	Bases int
	// Low and High are the ends of the range of knots of a SmoothEffect, in the unit of the column,
	// with Low < High. If both are zero, they become the smallest and the largest number of the
	// column in the whole table, so that all splits have the same features. These two numbers do
	// not depend on the target.
	Low, High float64
	// Length is the length scale ℓ of a KernelEffect, in standard deviations of the columns. Zero:
	// √d for d columns. Two independent rows then have a kernel of about 1/e, because their root
	// mean square distance is √(2d) standard deviations.
	Length float64

	kernel *kernelPart // of a KernelEffect in a table that WithEffects returned
}

// kernelPart is the part of a column in the kernel of a KernelEffect.
type kernelPart struct {
	deviation float64                 // of the column in the whole table
	points    []float64               // the numbers of the column in the inducing rows
	basis     *portable.GaussianBasis // of all columns of the kernel, for the first of them; nil for the others
}

// is(kind) reports whether the effect is not nil and has this kind.
func (e *Effect) is(kind EffectKind) bool { return e != nil && e.Kind == kind }

// equals reports whether e and f are both nil or have equal fields.
func (e *Effect) equals(f *Effect) bool {
	if e == nil || f == nil {
		return e == f
	}
	a, b := *e, *f
	a.kernel, b.kernel = nil, nil
	return a == b && e.kernel.equals(f.kernel)
}

// join sets the joint features of the column.
func (k *kernelPart) join(p *portable.Column) {
	if p.Joined = k.basis == nil; !p.Joined {
		p.Joint = k.basis
	}
}

func (k *kernelPart) equals(l *kernelPart) bool {
	if k == nil || l == nil {
		return k == l
	}
	return k.deviation == l.deviation && (k.basis == nil) == (l.basis == nil) && slices.Equal(k.points, l.points)
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
