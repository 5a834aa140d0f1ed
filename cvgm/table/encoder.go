package table

import (
	"cmp"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/portable"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// An Encoder makes features from the rows of a [Table]:
//
//   - A numeric column has one feature, its number. If the number is missing, the feature is the
//     mean of the training rows that have a number.
//   - A categorical column with L levels has L−1 features, one for each level except the baseline.
//     The feature of the row's own level is 1, and the others are 0. The rare levels may form one
//     more level, named other. If the table has missing values in the column, missing is one more
//     level. The baseline has no feature, because with an intercept the features of all levels
//     would be collinear.
//   - A column with an [Effect] has the features that the effect makes.
//
// [Table.Data] returns an Encoder. It is a [cvgm.Preparer], which a CV fits to the training rows of
// each split. The fitted Encoder is a part of the [cvgm.Model] and of the [Pipeline]. For each row,
// an Encoder stores at most one feature for each column. The exceptions are a [SmoothEffect] and a
// [KernelEffect], which store all their features. If the learner reads stored features (see [cvgm.StoredPreparer]), the
// memory of a table depends on the number of columns, not on the number of levels.
//
// The means, and the scales of a [ScaledEffect], are learned from the training rows. The levels and
// their order come from the whole table, so every split has the same features. This does not leak
// information, because levels depend neither on the target nor on numbers. The range of a
// [SmoothEffect], and the scales and inducing rows of a [KernelEffect], also come from the whole
// table, and do not depend on the target.
//
// A level may be missing from the training rows. Unless it is the baseline, its feature is then 0
// in all these rows. With a penalty, the weight of the feature is then 0, so the level does not
// change the fit. Without a penalty, the rows do not determine the weight, and the learner returns
// an error. A validation row with this level gets the same prediction as a row with the
// baseline, except if a kernel compares rows.
//
// The baseline is the named level with the most rows in the whole table, or with the largest sum of
// weights. Of levels that have equally many, it is the first in sorted order. Penalties shrink the
// effects of the other levels towards the effect of the baseline, in every split alike. So the
// baseline is no convention: a rare level would draw all others to an effect of which few rows tell.
// Neither the order of the rows nor, unless there is such a tie, the names of the levels change it.
type Encoder struct {
	columns    []Column
	target     string
	classes    []string
	restClass  string  // see Table
	number     *Number // the format of the target
	ignoreCase bool    // see Table
	reader     *csvReader
	code       []portable.Column // of the columns, with the values that Fit learns; nil before Fit
}

// Dims returns the number of columns and of features.
func (e *Encoder) Dims() (in, out int) {
	for j := range e.columns {
		out += e.columns[j].Features()
	}
	return len(e.columns), out
}

// Names returns the names of the features. The feature of a numeric column age is "age". The
// features of a categorical column colour are "colour=red" for the level red, "colour is other" for
// the rare levels, and "colour is missing" for missing values, if they form a level. The features
// of a [SmoothEffect] of the column age are "age smooth 1", "age smooth 2", and so on. The features
// of a [KernelEffect] of the term place are "place kernel 1", "place kernel 2", and so on.
func (e *Encoder) Names() []string {
	var names []string
	for _, c := range e.columns {
		switch {
		case c.Effect.is(SmoothEffect):
			for k := range c.Features() {
				names = append(names, fmt.Sprintf("%s smooth %d", c.Name, k+1))
			}
			continue
		case c.Effect.is(KernelEffect):
			for k := range c.Features() {
				names = append(names, fmt.Sprintf("%s kernel %d", cmp.Or(c.Effect.Term, c.Name), k+1))
			}
			continue
		case c.Kind == Numeric:
			names = append(names, c.Name)
			continue
		}
		levels := c.Levels
		if !c.Effect.is(LevelsEffect) {
			levels = levels[1:]
		}
		for _, level := range levels {
			names = append(names, c.Name+"="+level)
		}
		if c.Other {
			names = append(names, c.Name+" is other")
		}
		if c.MissingLevel {
			names = append(names, c.Name+" is missing")
		}
	}
	return names
}

// Widest returns the name of the column with the most features, and the number of these features.
func (e *Encoder) Widest() (column string, features int) {
	for j := range e.columns {
		if w := e.columns[j].Features(); w > features {
			column, features = e.columns[j].Name, w
		}
	}
	return column, features
}

// Fit returns an encoder with the means and scales of the training rows. These rows hold the values
// of a table with the same columns. A column with MissingIsMean must have a value in at least one
// row of positive weight; otherwise the error is of kind ErrDomain. The cost is O(T·p) for T rows
// of p columns.
func (e *Encoder) Fit(train *mat.Dense, weights []float64) (cvgm.Prepared, error) {
	if train == nil {
		return nil, args.Bad("train", qpdiff.ErrEmpty, "give the values of a table", "is nil")
	}
	if _, p := train.Dims(); p != len(e.columns) {
		return nil, args.Bad("train", qpdiff.ErrShape, "give the columns of the table", "has %d columns instead of %d", p, len(e.columns))
	}
	fitted := *e
	fitted.code = e.reader.code(e.columns)
	for j, c := range e.columns {
		if !c.imputed() {
			continue
		}
		mean, ok := presentMean(train, j, weights)
		if !ok {
			return nil, args.Bad("Table", qpdiff.ErrDomain, "ignore the column, or use larger training sets",
				"has no value of column %q in the %d training rows, whose mean replaces missing values", c.Name, train.RawMatrix().Rows)
		}
		fitted.code[j].Mean = mean
	}
	if err := fitted.fitEffects(train, weights); err != nil {
		return nil, err
	}
	return &fitted, nil
}

// fitEffects sets the scales of the columns with a ScaledEffect. It uses the rows of train, and
// takes the mean of a column in place of a missing number. If a column with a PlainEffect or a
// SmoothEffect is constant in these rows, fitEffects returns an error.
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
				values[i] = e.code[j].Mean
			}
		}
		switch c.Effect.Kind {
		case PlainEffect, SmoothEffect:
			if low, high := span(values, weights); !(low < high) {
				return c.Effect.errConstant(low, rows)
			}
			continue
		case KernelEffect:
			continue
		}
		n := normalise.Normaliser{Centre: true, Scale: true, Weights: sample.Relative(weights, sample.Complement(nil, rows))}
		if err := n.Fit(values, 1); err != nil {
			return args.At(err, "column %q", c.Name)
		}
		e.code[j].Centre, e.code[j].Deviation = n.Mean[0], n.Std[0]
	}
	return nil
}

// presentMean returns the weighted mean of the entries of column j that are not NaN. The result ok
// is false if none of these entries has a positive weight. The mean lies between the smallest and
// the largest of these entries, even if sums overflow.
func presentMean(x *mat.Dense, j int, weights []float64) (mean float64, ok bool) {
	each := func(visit func(v, w float64)) {
		for i := range x.RawMatrix().Rows {
			w := sample.Weights(weights).At(i)
			if v := x.At(i, j); v == v && w > 0 {
				visit(v, w)
			}
		}
	}
	low, high := math.Inf(1), math.Inf(-1)
	var top, total, s float64
	each(func(v, w float64) { low, high, top = min(low, v), max(high, v), max(top, w) })
	if top == 0 {
		return 0, false
	}
	each(func(v, w float64) {
		total += w / top
		s += w / top * v
	})
	if mean = s / total; !args.Finite(s) {
		mean = 0
		each(func(v, w float64) { mean += w / top / total * v })
	}
	return min(max(mean, low), high), true
}

// Apply writes the features of a row of values to dst. The error names a column with a missing
// value or an unknown level that the rules of the column do not allow.
func (e *Encoder) Apply(dst, row []float64) error {
	clear(dst)
	return e.ApplyStored(row, func(feature int, v float64) { dst[feature] = v })
}

// Plain implements [cvgm.PlainPreparer]. x holds values of the table's columns.
func (e *Encoder) Plain(self any, x *mat.Dense) bool {
	if self != any(e) {
		return false
	}
	for _, c := range e.columns {
		if c.Kind != Numeric || c.Effect != nil && c.Effect.Kind != PlainEffect {
			return false
		}
	}
	rows, _ := x.Dims()
	for i := range rows {
		if !args.AllFinite(x.RawRowView(i)) {
			return false
		}
	}
	return true
}

// Fixed implements [cvgm.FixedPreparer]. Only the features of a [ScaledEffect], and the mean that
// replaces a missing number, depend on the training rows.
func (e *Encoder) Fixed(self any, x *mat.Dense) (scaled []bool, fixed bool) {
	if self != any(e) {
		return nil, false
	}
	rows, _ := x.Dims()
	for j := range e.columns {
		c := &e.columns[j]
		for range c.Features() {
			scaled = append(scaled, c.Effect.is(ScaledEffect))
		}
		for i := 0; c.imputed() && i < rows; i++ {
			if v := x.At(i, j); v != v {
				return nil, false
			}
		}
	}
	return scaled, true
}

// MostStored returns the largest number of stored features in a row. A categorical column has at
// most one of them. A numeric column has all its features, for example all features of a
// [SmoothEffect].
func (e *Encoder) MostStored() (most int) {
	for j := range e.columns {
		if c := &e.columns[j]; c.Kind == Numeric {
			most += c.Features()
		} else {
			most++
		}
	}
	return most
}

// ApplyStored is Apply for the features that may be nonzero: it passes the index and the value of
// each to a function. All features of a numeric column may be nonzero. In a categorical column,
// only the feature of the row's level is nonzero, if the level has a feature. The cost is O(p) for
// p columns, O(1) for each further feature of a [SmoothEffect], and O(r(d + r)) for the r features
// of a [KernelEffect] of d columns.
func (e *Encoder) ApplyStored(row []float64, set func(feature int, v float64)) error {
	if e.code == nil {
		return fmt.Errorf("cvgm: encoder: %w: call Fit first", qpdiff.ErrNotFitted)
	}
	if j, fault := portable.Features(e.code, row, set); fault != portable.None {
		return e.columns[j].errFeature(fault, row[j])
	}
	return nil
}

// errFeature returns the error for a value v that has no features.
func (c *Column) errFeature(fault portable.Fault, v float64) error {
	switch fault {
	case portable.Missing:
		return c.errMissing()
	case portable.NotFinite:
		return args.Bad("column", qpdiff.ErrNotFinite, "give finite numbers", "%q holds %v", c.Name, v)
	case portable.NoLevel:
		return c.errUnknown()
	}
	return args.Bad("column", qpdiff.ErrDomain, "give values of a table of the same columns", "%q with %d levels holds %v", c.Name, len(c.Levels), v)
}

// Sources returns, for each column of the table, the column of the file from which it is made. All
// parts of a date are made from the same column of the file.
func (e *Encoder) Sources() []string {
	sources := make([]string, len(e.columns))
	for j := range e.columns {
		sources[j] = e.columns[j].source()
	}
	return sources
}
