package table

import (
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/sample"
	"cvgm/cvgm/internal/spline"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
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

// features returns the number of features of a numeric column with the effect, nil included.
func (e *Effect) features() int {
	if e.is(SmoothEffect) {
		return e.Bases - 1
	}
	return 1
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

// WithEffects returns the table of the columns of the effects alone, in their order, each with its
// effect. Other columns are no part of a model of that table. Errors are of kind ErrDomain for names,
// kinds and settings that do not fit the table, and for a column that is constant, unless its effect is
// a ScaledEffect or a LevelsEffect.
func (t *Table) WithEffects(effects ...Effect) (*Table, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if len(effects) == 0 {
		return nil, args.Bad("effects", qpdiff.ErrEmpty, "give at least one", "are none")
	}
	part := *t
	rows, all := t.Dims()
	part.Columns, part.x = nil, mat.NewDense(rows, len(effects), nil)
	seen := make([]bool, all)
	column := make([]float64, rows)
	for k, e := range effects {
		j := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == e.Column })
		if j < 0 {
			var names []string
			for _, c := range t.Columns {
				names = append(names, c.Name)
			}
			return nil, args.Bad("Effect.Column", qpdiff.ErrDomain, fmt.Sprintf("use one of %q", firstOf(names)), "is %q, which is no column of features", e.Column)
		}
		if seen[j] {
			return nil, args.Bad("Effect.Column", qpdiff.ErrDomain, "name a column in one effect", "is %q twice", e.Column)
		}
		seen[j] = true
		c := t.Columns[j]
		mat.Col(column, j, t.x)
		if err := e.complete(&c, column); err != nil {
			return nil, err
		}
		c.Effect = &e
		part.Columns = append(part.Columns, c)
		part.x.SetCol(k, column)
	}
	return &part, nil
}

// complete sets the defaults for the values of column c, and reports settings that do not fit it.
func (e *Effect) complete(c *Column, values []float64) error {
	if e.Kind == SmoothEffect {
		if e.Bases == 0 {
			e.Bases = DefaultBases
		}
		if e.Low == 0 && e.High == 0 {
			if e.Low, e.High = span(values, nil); e.Low > e.High {
				return args.Bad("Effect.Column", qpdiff.ErrDomain, "leave the column out", "is %q, which has no values", e.Column)
			}
		}
	}
	if err := e.check(c); err != nil {
		return err
	}
	if e.Kind == SmoothEffect || e.Kind == PlainEffect && c.Kind == Numeric {
		if low, high := span(values, nil); !(low < high) {
			return e.errConstant(low, len(values))
		}
	}
	return nil
}

// check reports settings that do not fit column c.
func (e *Effect) check(c *Column) error {
	smooth := e.Kind == SmoothEffect
	return args.First(
		args.BadIf(e.Kind < PlainEffect || e.Kind > ScaledEffect, "Effect.Kind", qpdiff.ErrDomain, "use one of the constants", "is %d", int(e.Kind)),
		args.BadIf((smooth || e.Kind == ScaledEffect) && c.Kind != Numeric, "Effect.Column", qpdiff.ErrDomain, "use a LevelsEffect, or name the column in CSV.Numeric", "is %q, a categorical column, which has no %v effect", c.Name, e.Kind),
		args.BadIf(e.Kind == LevelsEffect && c.Kind == Numeric, "Effect.Column", qpdiff.ErrDomain, "name it in CSV.Categorical", "is %q, a numeric column, which has no levels", c.Name),
		args.BadIf(smooth && (e.Bases < spline.Least || e.Bases > MostBases), "Effect.Bases", qpdiff.ErrDomain, fmt.Sprintf("use %d to %d, or zero for the default", spline.Least, MostBases), "is %d for column %q", e.Bases, c.Name),
		args.BadIf(!smooth && (e.Bases != 0 || e.Low != 0 || e.High != 0), "Effect.Bases", qpdiff.ErrDomain, "leave Bases, Low and High zero", "or its range is set for the %v effect of column %q", e.Kind, c.Name),
		args.BadIf(smooth && e.Low == e.High, "Effect.Column", qpdiff.ErrDomain, "leave the column out", "is %q, which is constant: all its values are %v", c.Name, e.Low),
		args.BadIf(smooth && !(e.Low < e.High && args.Finite(e.Low) && args.Finite(e.High)), "Effect.Low", qpdiff.ErrDomain, "use finite numbers with Low < High", "is %v with High %v for column %q", e.Low, e.High, c.Name),
	)
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

// A scale maps a number of a ScaledEffect.
type scale struct{ centre, deviation float64 }

// fitEffects sets the scales of the columns by the rows of train, with means in place of missing
// numbers, and reports a column of a PlainEffect or SmoothEffect that is constant on them.
func (e *Encoder) fitEffects(train *mat.Dense, weights sample.Weights) error {
	rows, _ := train.Dims()
	for j := range e.columns {
		c := &e.columns[j]
		if c.Kind != Numeric || c.Effect == nil {
			continue
		}
		values := mat.Col(nil, j, train)
		for i, v := range values {
			if v != v {
				values[i] = e.means[j]
			}
		}
		if c.Effect.Kind != ScaledEffect {
			if low, high := span(values, weights); !(low < high) {
				return c.Effect.errConstant(low, rows)
			}
			continue
		}
		n := normalise.Normaliser{Centre: true, Scale: true, Weights: sample.Relative(weights, sample.Complement(nil, rows))}
		if err := n.Fit(values, 1); err != nil {
			return args.At(err, "column %q", c.Name)
		}
		e.scales[j] = scale{n.Mean[0], n.Std[0]}
	}
	return nil
}

// setSmooth calls set for the features, from number first on, of x.
func (e *Effect) setSmooth(set func(feature int, v float64), first int, x float64) {
	var work, values [MostBases]float64
	dst := values[:e.Bases-1]
	spline.Centred(dst, work[:e.Bases], e.Low, e.High, x)
	for k, v := range dst {
		set(first+k, v)
	}
}
