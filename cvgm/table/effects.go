package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/inducing"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/spline"
	"cvgm/qpdiff"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// WithEffects returns a table with only the columns of the effects, in the order of the effects.
// Each column gets its effect. Models of the new table ignore all other columns. The error is of
// kind ErrDomain if a name, kind or setting does not fit the table. It is also of kind ErrDomain if
// a column is constant and its effect is not a ScaledEffect or a LevelsEffect. If the features of a
// KernelEffect need more than CSV.MaxBytes, the error is of kind ErrTooLarge.
//
// For a KernelEffect, WithEffects chooses inducing rows from the rows of the table, one after
// another. In these rows, the mean of a column replaces a missing number. The remainder of a row is
// the part of its kernel that the earlier inducing rows do not explain. The next inducing row is
// the row with the largest remainder. WithEffects takes no further row if the remainder of every
// row is at most 1e-10. The choice depends neither on the target nor on the order and the weights
// of the rows. The cost is O(Nr²) for N rows and r inducing rows.
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
	for j := 0; j < len(part.Columns); j = kernelEnd(part.Columns, j) {
		if part.Columns[j].Effect.is(KernelEffect) {
			if err := part.induce(j, kernelEnd(part.Columns, j)); err != nil {
				return nil, err
			}
		}
	}
	return &part, nil
}

// kernelEnd returns the index after the last column that shares the KernelEffect of column j. It
// returns j + 1 if column j has another effect.
func kernelEnd(columns []Column, j int) int {
	first, end := columns[j].Effect, j+1
	for first.is(KernelEffect) && end < len(columns) && columns[end].Effect.is(KernelEffect) && columns[end].Effect.Term == first.Term {
		end++
	}
	return end
}

// induce sets the inducing rows of the KernelEffect that the columns with the indices first, …, end
// − 1 share.
func (t *Table) induce(first, end int) error {
	d, lead := end-first, t.Columns[first].Effect
	columns, means, deviations := make([][]float64, d), make([]float64, d), make([]float64, d)
	length := lead.Length
	if length == 0 {
		length = math.Sqrt(float64(d))
	}
	for j := range d {
		e := t.Columns[first+j].Effect
		columns[j] = mat.Col(nil, first+j, t.x)
		if means[j], deviations[j] = inducing.Deviation(columns[j]); deviations[j] == 0 {
			return args.Bad("Effect.Column", qpdiff.ErrDomain, "subtract it in the file, or leave the column out",
				"is %q, whose values differ from %v by no more than rounding errors of their mean", e.Column, means[j])
		}
		for i, v := range columns[j] {
			if v != v {
				columns[j][i] = means[j]
			}
		}
		if e.Bases != lead.Bases || e.Length != lead.Length {
			return args.Bad("Effect.Length", qpdiff.ErrDomain, "use the same Length and Bases for all columns of a term", "is %v with Bases %d for column %q, and %v with Bases %d for column %q",
				e.Length, e.Bases, e.Column, lead.Length, lead.Bases, lead.Column)
		}
	}
	rows, bound := len(columns[0]), memory.Bound(t.reader.maxBytes)
	room := int(min(float64(bound)/(8*float64(rows)), MostKernelBases))
	points := inducing.Choose(columns, means, deviations, length, min(lead.Bases, room+1))
	r := len(points) / d
	if r > room {
		return args.Bad("Effect.Bases", qpdiff.ErrTooLarge, "set fewer, or raise CSV.MaxBytes", "%s for %d features of each of %d rows", memory.Needs(memory.Bytes(8*float64(rows)*float64(r)), bound), r, rows)
	}
	for j := range d {
		e := t.Columns[first+j].Effect
		e.Bases, e.Length, e.kernel = r, length, &kernelPart{deviation: deviations[j]}
		for i := range r {
			e.kernel.points = append(e.kernel.points, points[i*d+j])
		}
	}
	return joinKernel(t.Columns[first:end])
}

// joinKernels sets the joint features of columns that have a KernelEffect. For r features, the cost
// is O(r³), and the memory is 4r² bytes. So joinKernels first compares the number of all features
// with the model's.
func (e *Encoder) joinKernels(m *cvgm.Model) error {
	_, features := e.Dims() // without joint features
	for j := 0; j < len(e.columns); j = kernelEnd(e.columns, j) {
		if c := &e.columns[j]; c.Effect.is(KernelEffect) {
			features += c.Effect.Bases
		}
	}
	if err := checkFeatures(features, m); err != nil {
		return err
	}
	for j := 0; j < len(e.columns); j = kernelEnd(e.columns, j) {
		if !e.columns[j].Effect.is(KernelEffect) {
			continue
		}
		end := kernelEnd(e.columns, j)
		if err := joinKernel(e.columns[j:end]); err != nil {
			return err
		}
		for k := j; k < end; k++ {
			e.columns[k].Effect.kernel.join(&e.code[k])
		}
	}
	return nil
}

// joinKernel sets the basis of a KernelEffect from the parts of its columns.
func joinKernel(columns []Column) error {
	lead := columns[0].Effect
	var points, deviations []float64
	for _, c := range columns {
		e := c.Effect
		if e.Length != lead.Length || e.Bases != lead.Bases {
			return args.Bad("points", qpdiff.ErrShape, "keep the parts of a pipeline together", "of columns %q and %q, %d with the length %v and %d with %v, are not of one kernel", lead.Column, c.Name, lead.Bases, lead.Length, e.Bases, e.Length)
		}
		deviations = append(deviations, e.kernel.deviation)
	}
	for i := range lead.Bases {
		for _, c := range columns {
			points = append(points, c.Effect.kernel.points[i])
		}
	}
	basis := portable.NewGaussianBasis(lead.Length, deviations, points)
	lead.kernel.basis = basis
	for rest, n := basis.Lower, lead.Bases; n > 0; n-- {
		if !(rest[0]*rest[0] > inducing.Tol/2) { // equal points have remainders of rounding errors
			return args.Bad("points", qpdiff.ErrIllPosed, "give distinct ones", "of the kernel %q are not distinct to working precision", lead.Term)
		}
		rest = rest[n:]
	}
	return nil
}

// withDefaults sets the defaults of an effect from the values of column c. It returns an error if a
// setting does not fit the column.
func (e *Effect) withDefaults(c *Column, values []float64) error {
	e.kernel = nil // of the table from which the effect is copied
	low, high := span(values, nil)
	smooth, kernel := e.Kind == SmoothEffect, e.Kind == KernelEffect
	if (smooth && e.Low == 0 && e.High == 0 || kernel) && low > high {
		return args.Bad("Effect.Column", qpdiff.ErrDomain, "leave the column out", "is %q, which has no values", e.Column)
	}
	if smooth {
		e.Bases = cmp.Or(e.Bases, DefaultBases)
		if e.Low == 0 && e.High == 0 {
			e.Low, e.High = low, high
		}
	}
	if kernel {
		e.Bases = cmp.Or(e.Bases, DefaultKernelBases)
	}
	if err := e.check(c); err != nil {
		return err
	}
	if (smooth || kernel || e.Kind == PlainEffect && c.Kind == Numeric) && !(low < high) {
		return e.errConstant(low, len(values))
	}
	return nil
}

// check returns an error if a setting does not fit column c.
func (e *Effect) check(c *Column) error {
	smooth, kernel := e.Kind == SmoothEffect, e.Kind == KernelEffect
	return args.First(
		args.BadIf(e.Kind < PlainEffect || e.Kind > KernelEffect, "Effect.Kind", qpdiff.ErrDomain, "use one of the constants", "is %d", int(e.Kind)),
		args.BadIf((smooth || kernel || e.Kind == ScaledEffect) && c.Kind != Numeric, "Effect.Column", qpdiff.ErrDomain, "use a LevelsEffect, or name the column in CSV.Numeric", "is %q, a categorical column, which has no %v effect", c.Name, e.Kind),
		args.BadIf(e.Kind == LevelsEffect && c.Kind == Numeric, "Effect.Column", qpdiff.ErrDomain, "name it in CSV.Categorical", "is %q, a numeric column, which has no levels", c.Name),
		args.BadIf(smooth && (e.Bases < spline.Least || e.Bases > MostBases), "Effect.Bases", qpdiff.ErrDomain, fmt.Sprintf("use %d to %d, or zero for the default", spline.Least, MostBases), "is %d for column %q", e.Bases, c.Name),
		args.BadIf(kernel && (e.Bases < 1 || e.Bases > MostKernelBases), "Effect.Bases", qpdiff.ErrDomain, fmt.Sprintf("use 1 to %d, or zero for the default", MostKernelBases), "is %d for column %q", e.Bases, c.Name),
		args.BadIf(kernel && !(e.Length >= 0 && args.Finite(e.Length)), "Effect.Length", qpdiff.ErrDomain, "use a positive number, or zero for the default", "is %v for column %q", e.Length, c.Name),
		args.BadIf(!kernel && e.Length != 0, "Effect.Length", qpdiff.ErrDomain, "leave it zero", "is set for the %v effect of column %q", e.Kind, c.Name),
		args.BadIf(!smooth && (!kernel && e.Bases != 0 || e.Low != 0 || e.High != 0), "Effect.Bases", qpdiff.ErrDomain, "leave Bases, Low and High zero", "or its range is set for the %v effect of column %q", e.Kind, c.Name),
		args.BadIf(smooth && e.Low == e.High, "Effect.Column", qpdiff.ErrDomain, "leave the column out", "is %q, which is constant: all its values are %v", c.Name, e.Low),
		args.BadIf(smooth && !(e.Low < e.High && args.Finite(e.Low) && args.Finite(e.High)), "Effect.Low", qpdiff.ErrDomain, "use finite numbers with Low < High", "is %v with High %v for column %q", e.Low, e.High, c.Name),
	)
}
