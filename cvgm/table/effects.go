package table

import (
	"fmt"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/spline"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// WithEffects returns a table with only the columns of the effects, in the order of the effects.
// Each column gets its effect. Models of the new table ignore all other columns. The error is of
// kind ErrDomain if a name, kind or setting does not fit the table. It is also of kind ErrDomain if
// a column is constant and its effect is not a ScaledEffect or a LevelsEffect.
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
			return nil, args.Bad("Effect.Column", qpdiff.ErrDomain, fmt.Sprintf("use one of %q", firstOf(names)), "is %q, which is not a column of features", e.Column)
		}
		if seen[j] {
			return nil, args.Bad("Effect.Column", qpdiff.ErrDomain, "name a column in one effect", "is %q twice", e.Column)
		}
		seen[j] = true
		c := t.Columns[j]
		mat.Col(column, j, t.x)
		if err := e.withDefaults(&c, column); err != nil {
			return nil, err
		}
		c.Effect = &e
		part.Columns = append(part.Columns, c)
		part.x.SetCol(k, column)
	}
	return &part, nil
}

// withDefaults sets the defaults of an effect from the values of column c. It returns an error if a
// setting does not fit the column.
func (e *Effect) withDefaults(c *Column, values []float64) error {
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

// check returns an error if a setting does not fit column c.
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
