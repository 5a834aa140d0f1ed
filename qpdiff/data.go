package qpdiff

import (
	"cmp"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Data is a training set: X holds one example per row (N×n), Y the N labels.
// Learners keep a reference to the Data they are given and never write to it.
//
// [ElasticNet], [Huber], [KernelRidge], [Logistic], [SparseLogistic], [SVM], [LearnedLoss]
// and [KernelSVM] learn from some of the rows, or from weighted ones; [SmoothLearner] and
// [Unrolled] refuse Rows and Weights that are not nil. The N of the objectives is then the
// sum of what the rows count. A [Grad] keeps the shape of X and Y: rows that do not count
// have the derivative 0.
type Data struct {
	X *mat.Dense
	Y []float64
	// Rows are the rows of X and Y to learn from, in any order. A row that is named
	// twice counts twice. Nil: all.
	Rows []int
	// Weights has one entry for each row of X, at or above 0: a row of weight w
	// counts as w equal rows. Nil: one each.
	Weights []float64
}

// Grad collects the cotangents that a VJP adds to: the derivative of a scalar
// with respect to each input of a fit. A nil field is not wanted and costs
// nothing. The fields that are not nil must have the input's shape: Hyper one
// entry per hyperparameter, X N×n, Y N. They are added to, not overwritten, so
// that several products can be summed in one Grad.
type Grad struct {
	Hyper []float64
	X     *mat.Dense
	Y     []float64
	// Generalised is set by a VJP that added an element of a generalised
	// derivative, because the derivative wanted does not exist: see the field
	// Generalised of the learners. A VJP never clears it, and a JVP ignores it.
	Generalised bool
}

// wanted reports whether any cotangent is wanted.
func (g *Grad) wanted() bool { return g.Hyper != nil || g.X != nil || g.Y != nil }

// Check reports the first thing in d that no learner can use: no examples, no
// features, another number of labels or weights than of rows, NaN or Inf (also in rows
// that do not count), a weight below 0, a row number that X does not have, or no row
// that counts. The error is an [*ArgError] of kind ErrShape, ErrNotFinite or, for
// Rows and the values of Weights, ErrDomain.
func (d Data) Check() error {
	if d.X == nil || d.X.IsEmpty() {
		return &ArgError{Arg: "Data.X", Why: ErrShape, Problem: "is empty", Remedy: "give at least one example with one feature"}
	}
	r, _ := d.X.Dims()
	if len(d.Y) != r {
		return argErrorf("Data.Y", ErrShape, "give one label per row of X", "has %d labels for the %d rows of X", len(d.Y), r)
	}
	const remedy = "remove or impute the entry"
	return cmp.Or(checkFiniteRows("Data.X", remedy, d.X), checkFinite("Data.Y", remedy, d.Y), d.checkCounts(r))
}

// checkCounts reports the first thing in Rows and Weights that cannot be used.
func (d Data) checkCounts(rows int) error {
	if d.Weights != nil && len(d.Weights) != rows {
		return argErrorf("Data.Weights", ErrShape, "give one weight per row of X, or nil", "has %d entries for the %d rows of X", len(d.Weights), rows)
	}
	for i, w := range d.Weights {
		if !(w >= 0) || !finite(w) {
			return argErrorf("Data.Weights", ErrDomain, "give a finite weight at or above 0", "holds %v at index %d", w, i)
		}
	}
	for k, i := range d.Rows {
		if i < 0 || i >= rows {
			return argErrorf("Data.Rows", ErrDomain, "give row numbers of X", "holds %d at index %d where X has %d rows", i, k, rows)
		}
	}
	if d.plain() {
		return nil
	}
	total := 0.0
	if d.Rows == nil {
		total = floats.Sum(d.Weights)
	}
	for _, i := range d.Rows {
		total += countAt(d.Weights, i)
	}
	if !(total >= smallestNormal) || !finite(total) {
		return argErrorf("Data.Rows and Data.Weights", ErrDomain, "let some rows count, or scale the weights", "count %v rows in all", total)
	}
	return nil
}

// plain reports whether each row counts once.
func (d Data) plain() bool { return d.Rows == nil && d.Weights == nil }

// counts returns what each row of X counts, in dst if that is long enough, and nil
// where each counts once.
func (d Data) counts(dst []float64) []float64 {
	if d.plain() {
		return nil
	}
	dst = grow(dst, len(d.Y))
	if d.Rows == nil {
		copy(dst, d.Weights)
		return dst
	}
	clear(dst)
	for _, i := range d.Rows {
		dst[i] += countAt(d.Weights, i)
	}
	return dst
}

// countAt returns what row i counts by counts: one each where that is nil.
func countAt(counts []float64, i int) float64 {
	if counts == nil {
		return 1
	}
	return counts[i]
}

// checkPlain reports Rows or Weights that are not nil, for the named learner.
func (d Data) checkPlain(learner string) error {
	arg := "Data.Weights"
	if d.Rows != nil {
		arg = "Data.Rows"
	}
	if !d.plain() {
		return argErrorf(arg, ErrDomain, "select and repeat rows of X and Y instead", "is not nil, which %s cannot use", learner)
	}
	return nil
}

// checkAll is Check for the named learner, in which each row counts once.
func (d Data) checkAll(learner string) error { return cmp.Or(d.checkPlain(learner), d.Check()) }

// errNotLoaded is the error of a Fit before the first successful Load.
var errNotLoaded = &ArgError{Arg: "Data", Why: ErrNotFitted, Problem: "is missing", Remedy: "call Load before Fit"}

// checkHyper reports a wrong number of hyperparameters, or one that is not
// finite or below 0.
func checkHyper(hyper []float64, want int) error {
	if len(hyper) != want {
		return argErrorf("hyper", ErrShape, "give as many as Dims says", "has %d entries instead of %d", len(hyper), want)
	}
	if err := checkFinite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	for i, v := range hyper {
		if v < 0 {
			return argErrorf("hyper", ErrDomain, "give a hyperparameter at or above 0", "holds %v at index %d", v, i)
		}
	}
	return nil
}

// checkFinite reports the first entry of s that is not finite.
func checkFinite(arg, remedy string, s []float64) error {
	for i, v := range s {
		if !finite(v) {
			return argErrorf(arg, ErrNotFinite, remedy, "holds %v at index %d", v, i)
		}
	}
	return nil
}

// checkFiniteRows reports the first entry of x that is not finite; a nil x has none.
func checkFiniteRows(arg, remedy string, x *mat.Dense) error {
	if x == nil {
		return nil
	}
	for i := range x.RawMatrix().Rows {
		for j, v := range x.RawRowView(i) {
			if !finite(v) {
				return argErrorf(arg, ErrNotFinite, remedy, "holds %v at row %d, column %d", v, i, j)
			}
		}
	}
	return nil
}

// checkLength panics where the argument x has not n entries: like a wrong shape, that
// is a bug of the caller, not a property of the data.
func checkLength(arg string, x []float64, n int) {
	if len(x) != n {
		panic("qpdiff: " + arg + " has the wrong length")
	}
}

// checkVector is checkLength for an x that may be nil.
func checkVector(arg string, x []float64, n int) {
	if x != nil {
		checkLength(arg, x, n)
	}
}

// checkMatrix panics where m is not nil and not rows×cols.
func checkMatrix(arg string, m *mat.Dense, rows, cols int) {
	if m != nil {
		if r, c := m.Dims(); r != rows || c != cols {
			panic("qpdiff: " + arg + " has the wrong shape")
		}
	}
}

// checkColumns reports rows x to predict for that are nil or of another number of features than n.
func checkColumns(x *mat.Dense, n int) error {
	if x == nil {
		return argErrorf("x", ErrShape, "give the rows to predict for", "is nil")
	}
	if c := x.RawMatrix().Cols; c != n {
		return argErrorf("x", ErrShape, "give as many features as the model has", "has %d columns instead of %d", c, n)
	}
	return nil
}

// checkTangent reports the first entry of d that is not finite.
func checkTangent(d *Grad) error {
	const remedy = "give a finite tangent"
	return cmp.Or(checkFinite("d.Hyper", remedy, d.Hyper), checkFiniteRows("d.X", remedy, d.X), checkFinite("d.Y", remedy, d.Y))
}

// errOverflow is the error of a product beyond the range of float64.
var errOverflow = &ArgError{Arg: "Data", Why: ErrNotFinite, Problem: "gives a derivative that overflows", Remedy: "scale the data, the hyperparameters or the cotangent"}

// checkProduct reports an entry of g that is not finite. A VJP that can bound its
// entries does so instead, which saves a pass over the rows.
func checkProduct(g *Grad) error {
	if !allFinite(g.Hyper) || !allFinite(g.Y) || checkFiniteRows("", "", g.X) != nil {
		return errOverflow
	}
	return nil
}

// checkTangentOut reports an entry of a JVP that is not finite.
func checkTangentOut(dtheta []float64) error { return checkProduct(&Grad{Hyper: dtheta}) }
