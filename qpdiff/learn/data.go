package learn

import (
	"cmp"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/mat"
)

// Data is a training set. X holds one example per row (N×n), and Y holds the N labels. Learners
// keep a reference to their Data and never write to it.
//
// Most learners can learn from a part of the rows, or from weighted rows: [linear.ElasticNet],
// [linear.Huber], [kernel.Ridge], [linear.Logistic], [linear.SparseLogistic], [margin.SVM],
// [margin.LearnedLoss] and [kernel.SVM]. [smooth.Learner] refuses Rows and Weights that are not
// nil. With Rows or Weights, the N in the objectives is the sum of the weights of these rows. A
// [Grad] still has the shapes of X and Y: the derivative in a row that does not count is 0.
type Data struct {
	// A *mat.Dense is read in place. Load copies other matrices. [linear.ElasticNet],
	// [linear.Logistic] and [linear.SparseLogistic] do not copy a sparse X, but read its stored
	// entries: see [ViewLearner] and [Data.Sparse].
	X mat.Matrix
	Y []float64
	// Rows lists the rows of X and Y to learn from, in any order. A row that is listed twice counts
	// twice. Nil: all rows.
	Rows []int
	// Weights has one entry for each row of X. Each must be at least 0. A row of weight w counts
	// like w copies of it. Nil: each row has the weight 1.
	Weights []float64
	// Centre and Scale, for a [ViewLearner] only, have one entry for each feature. The learner's
	// features are (x − Centre)/Scale. For a sparse X, the learner sums over the rows before it
	// subtracts Centre. The sums lose digits if Centre is far larger than the feature's deviation.
	// Derivatives in X hold Centre and Scale fixed. Nil: 0 and 1.
	Centre, Scale []float64
	// Gram is the [Gram] of X. Several learners can share it, each with a part of the rows of X. If
	// [linear.ElasticNet] leaves out fewer rows than it uses, it then sums over the rows that it
	// leaves out instead of the rows that it uses. Results differ only by rounding. X must be a
	// *mat.Dense. Nil: no Gram.
	Gram *Gram
	// MaxBytes bounds the memory that a learner holds for the data, without X itself. If a Load
	// needs more, or if the working set of a Fit grows beyond the bound, the call allocates nothing
	// and returns an error of kind [qpdiff.ErrTooLarge]. Results do not depend on MaxBytes.
	//
	// Zero means a quarter of the smallest limit of the process. The limits are read when the
	// default is first needed. They are GOMEMLIMIT, the address space and, on Linux, RLIMIT_AS,
	// RLIMIT_DATA, the limits of the control groups (versions 1 and 2) and the physical memory. The
	// heap may grow to twice the held memory before the garbage collector runs.
	MaxBytes int64
}

// Size returns the sizes of d, whose X is not nil.
func (d Data) Size() Size {
	rows, n := d.X.Dims()
	s := Size{Rows: rows, Features: n, Counting: rows, Weighted: d.Rows != nil || d.Weights != nil}
	if s.Sparse = d.Sparse(); s.Sparse {
		s.Stored = d.Stored()
	}
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
	Sparse         bool // see [Data.Sparse]
	Stored         int  // entries of a sparse X
	// Predicted rows are given to [Predictor.Predict] at a time, with a workspace.
	Predicted int
	// LeaveOneOut: so are the fits of a [LeaveOneOutLearner], in place of Fit.
	LeaveOneOut bool
	// Folds are given to a [FoldLearner], in place of Fit.
	Folds [][]int
}

// Sparse reports whether X is sparse. A sparse X is not a *mat.Dense, but a [mat.RowNonZeroDoer],
// which visits the entries that it stores. It must visit each entry at most once.
func (d Data) Sparse() bool {
	_, visits := d.X.(mat.RowNonZeroDoer)
	return visits
}

// Stored returns the number of entries that a sparse X visits, including zeros.
func (d Data) Stored() (entries int) {
	rows, _ := d.X.Dims()
	for i := range rows {
		d.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, _ int, _ float64) { entries++ })
	}
	return entries
}

// Dense returns X if it is a *mat.Dense, and otherwise a dense copy. To copy, it visits the stored
// entries of a sparse X, and reads all entries of another matrix. If X is nil, Dense returns nil.
func (d Data) Dense() *mat.Dense {
	if x, ok := d.X.(*mat.Dense); ok || d.X == nil {
		return x
	}
	rows, n := d.X.Dims()
	if rows == 0 || n == 0 {
		return new(mat.Dense)
	}
	stored, sparse := d.X.(mat.RowNonZeroDoer)
	if !sparse {
		return mat.DenseCopyOf(d.X)
	}
	x := mat.NewDense(rows, n, nil)
	for i := range rows {
		stored.DoRowNonZero(i, x.Set)
	}
	return x
}

// Grad collects the cotangents that a VJP adds: the derivative of a scalar in each input of a fit.
// A VJP skips a nil field, at no cost. Each other field must have the shape of its input: one entry
// per hyperparameter in Hyper, N×n in X and N in Y. A VJP adds to the fields and does not overwrite
// them, so one Grad can sum several products.
type Grad struct {
	Hyper []float64
	X     *mat.Dense
	Y     []float64
	// Stored is used in place of X if the X of the data is sparse. It has one entry for each entry
	// that X stores, row by row, in the order in which [mat.RowNonZeroDoer] visits them.
	Stored []float64
	// Generalised is set by a VJP that added an element of a generalised derivative because the
	// derivative does not exist: see the field Generalised of the learners. A VJP never clears it,
	// and a JVP ignores it.
	Generalised bool
}

// Check reports the first property of d that no learner can use. The error is an
// [*qpdiff.ArgError] of one of these kinds:
//
//   - ErrShape: no examples, no features, another number of labels or weights than of rows, or
//     another number of entries of Centre or Scale than of columns.
//   - ErrNotFinite: NaN or Inf in X, Y, Centre or Scale, also in rows that do not count.
//   - ErrDomain: a weight that is not finite or below 0, a number in Rows that is not a row of
//     X, no row that counts, a Scale that is not positive, a Gram of another matrix, or a sparse
//     X that does not visit each of its entries once.
func (d Data) Check() error {
	if d.Sparse() {
		return d.checkSparse()
	}
	x := d.Dense()
	if x == nil || x.IsEmpty() {
		return errEmpty
	}
	r, _ := x.Dims()
	if len(d.Y) != r {
		return errLabels(len(d.Y), r)
	}
	return cmp.Or(check.FiniteRows("Data.X", remedyEntry, x), check.Finite("Data.Y", remedyEntry, d.Y), check.Counts(d.Rows, d.Weights, r), d.checkView())
}

// checkView reports unusable entries of Centre, Scale and Gram.
func (d Data) checkView() error {
	_, n := d.X.Dims()
	if g := d.Gram; g != nil {
		const remedy = "give NewGram(X, weights) of the same X, or nil"
		if d.X != g.x {
			return check.ArgErrorf("Data.Gram", qpdiff.ErrDomain, remedy, "is that of another matrix")
		}
		if rows, _ := d.X.Dims(); g.weights != nil && len(g.weights) != rows {
			return check.ArgErrorf("Data.Gram", qpdiff.ErrShape, remedy, "has %d weights for the %d rows of X", len(g.weights), rows)
		}
	}
	return cmp.Or(check.Columns("Data.Centre", d.Centre, n, false), check.Columns("Data.Scale", d.Scale, n, true))
}

// Seen returns the learner's feature for an entry x of column j: x centred and scaled.
func (d Data) Seen(j int, x float64) float64 {
	if d.Centre != nil {
		x -= d.Centre[j]
	}
	if d.Scale != nil {
		x /= d.Scale[j]
	}
	return x
}

const remedyEntry = "remove or impute the entry"

var errEmpty = &qpdiff.ArgError{Arg: "Data.X", Why: check.ErrEmpty, Problem: "is empty", Remedy: "give at least one example with one feature"}

// errLabels returns the error for a number of labels that differs from the number of rows.
func errLabels(labels, rows int) error {
	return check.ArgErrorf("Data.Y", qpdiff.ErrShape, "give one label per row of X", "has %d labels for the %d rows of X", labels, rows)
}

// checkSparse is Check for a sparse X.
func (d Data) checkSparse() error {
	r, n := d.X.Dims()
	if r < 1 || n < 1 {
		return errEmpty
	}
	if len(d.Y) != r {
		return errLabels(len(d.Y), r)
	}
	seen := make([]int, n) // the last row in which each column was visited, from 1 on
	var err error
	for i := range r {
		d.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(row, j int, v float64) {
			switch {
			case err != nil:
			case row != i || j < 0 || j >= n || seen[j] == i+1:
				err = check.ArgErrorf("Data.X", qpdiff.ErrDomain, "let DoRowNonZero visit each stored entry of the row once", "visits row %d, column %d in row %d of %d×%d, or that twice", row, j, i, r, n)
			case !dense.Finite(v):
				err = check.ArgErrorf("Data.X", qpdiff.ErrNotFinite, remedyEntry, "holds %v at row %d, column %d", v, i, j)
			default:
				seen[j] = i + 1
			}
		})
		if err != nil {
			return err
		}
	}
	return cmp.Or(check.Finite("Data.Y", remedyEntry, d.Y), check.Counts(d.Rows, d.Weights, r), d.checkView())
}

// VisitStored calls visit for each entry x_ij that a sparse X stores, in the order of Grad.Stored.
// at is the index of the entry in Grad.Stored.
func (d Data) VisitStored(visit func(at, i, j int, x float64)) {
	rows, _ := d.X.Dims()
	at := 0
	for i := range rows {
		d.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, j int, x float64) {
			visit(at, i, j, x)
			at++
		})
	}
}
