package learn

import (
	"cmp"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"

	"gonum.org/v1/gonum/mat"
)

// Data is a training set: X holds one example per row (N×n), Y the N labels.
// Learners keep a reference to the Data they are given and never write to it.
//
// [linear.ElasticNet], [linear.Huber], [kernel.Ridge], [linear.Logistic], [linear.SparseLogistic], [margin.SVM], [margin.LearnedLoss]
// and [kernel.SVM] learn from some of the rows, or from weighted ones; [smooth.Learner]
// refuses Rows and Weights that are not nil. The N of the objectives is then the
// sum of the rows' weights. A [Grad] keeps the shape of X and Y: rows that do not count
// have the derivative 0.
type Data struct {
	// A *mat.Dense is read in place; Load copies a matrix of another kind.
	X mat.Matrix
	Y []float64
	// Rows are the rows of X and Y to learn from, in any order. A row that is named
	// twice counts twice. Nil: all.
	Rows []int
	// Weights has one entry for each row of X, at or above 0: a row of weight w
	// counts as w equal rows. Nil: one each.
	Weights []float64
	// MaxBytes bounds the memory that a learner holds for the data, X itself not included: a
	// Load that needs more, and a Fit whose working set grows beyond, is an error of kind
	// [qpdiff.ErrTooLarge] before the allocation. No result depends on it. Zero: a quarter
	// of the least of GOMEMLIMIT, the address space and, on Linux, RLIMIT_AS, RLIMIT_DATA, the
	// limits of the control groups (versions 1 and 2) and the physical memory, as they are at the first need.
	// The heap may grow to twice of what is held before the garbage collector runs.
	MaxBytes int64
}

// Size returns the sizes of d, whose X is not nil.
func (d Data) Size() Size {
	rows, n := d.X.Dims()
	s := Size{Rows: rows, Features: n, Counting: rows, Weighted: d.Rows != nil || d.Weights != nil}
	if d.Rows != nil {
		s.Counting = min(rows, len(d.Rows))
	}
	return s
}

// A Size holds the sizes that the memory of a learner depends on.
type Size struct {
	Rows, Features int  // of X
	Counting       int  // rows that count, at most
	Weighted       bool // Data has Rows or Weights
	// Predicted rows are given to [Predictor.Predict] at a time, with a workspace.
	Predicted int
	// LeaveOneOut: so are the fits of a [LeaveOneOutLearner], in place of Fit.
	LeaveOneOut bool
}

// Dense returns X: itself if it is a *mat.Dense, else a copy. It is nil without X.
func (d Data) Dense() *mat.Dense {
	if x, ok := d.X.(*mat.Dense); ok || d.X == nil {
		return x
	}
	if r, c := d.X.Dims(); r == 0 || c == 0 {
		return new(mat.Dense)
	}
	return mat.DenseCopyOf(d.X)
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

// Check reports the first thing in d that no learner can use: no examples, no
// features, another number of labels or weights than of rows, NaN or Inf (also in rows
// that do not count), a weight below 0, a row number that X does not have, or no row
// that counts. The error is an [*qpdiff.ArgError] of kind ErrShape, ErrNotFinite or, for
// Rows and the values of Weights, ErrDomain.
func (d Data) Check() error {
	x := d.Dense()
	if x == nil || x.IsEmpty() {
		return &qpdiff.ArgError{Arg: "Data.X", Why: check.ErrEmpty, Problem: "is empty", Remedy: "give at least one example with one feature"}
	}
	r, _ := x.Dims()
	if len(d.Y) != r {
		return check.ArgErrorf("Data.Y", qpdiff.ErrShape, "give one label per row of X", "has %d labels for the %d rows of X", len(d.Y), r)
	}
	const remedy = "remove or impute the entry"
	return cmp.Or(check.FiniteRows("Data.X", remedy, x), check.Finite("Data.Y", remedy, d.Y), check.Counts(d.Rows, d.Weights, r))
}
