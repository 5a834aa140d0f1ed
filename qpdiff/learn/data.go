package learn

import (
	"cmp"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/mat"
)

// Data is a training set. Each row of X (N×n) is one example, and Y holds the N labels. Learners
// keep a reference to their Data and never write to it.
//
// Most learners can learn from a part of the rows, or from weighted rows: [linear.ElasticNet],
// [linear.Huber], [kernel.Ridge], [linear.Logistic], [linear.SparseLogistic], [margin.SVM],
// [margin.LearnedLoss] and [kernel.SVM]. [smooth.Learner] refuses Rows and Weights that are not
// nil. With Rows or Weights, the N in a learner's objective is the sum of the weights of the
// selected rows. The fields of a [Grad] still have the shapes of X and Y. A VJP adds 0 to the
// entries of rows that are not selected or have the weight 0.
type Data struct {
	// X holds the features. Load reads a *mat.Dense in place, and copies any other matrix. There is
	// one exception: [linear.ElasticNet], [linear.Logistic] and [linear.SparseLogistic] read the
	// stored entries of a sparse X in place; see [ViewLearner] and [Data.Sparse].
	X mat.Matrix
	Y []float64
	// Rows lists the rows of X and Y that belong to the training set, in any order. A row that is
	// listed twice counts twice. If Rows is nil, the training set has all rows.
	Rows []int
	// Weights has one entry for each row of X. Each weight must be at least 0. A row of weight w has
	// the same effect as w equal rows. If Weights is nil, each row has the weight 1.
	Weights []float64
	// Centre and Scale have one entry for each feature; only a [ViewLearner] accepts them. In place of
	// each feature x, the learner uses (x − Centre)/Scale. For a sparse X, the learner sums over the
	// rows before it subtracts Centre. These sums lose digits if the Centre of a feature is far larger
	// than the feature's standard deviation. Derivatives with respect to X treat Centre and Scale as
	// constants. A nil Centre means 0, and a nil Scale means 1.
	Centre, Scale []float64
	// Gram is the [Gram] of X. Several learners can share a Gram, and each of them may use a different
	// part of the rows of X. If [linear.ElasticNet] leaves out fewer rows of X than it uses, it sums
	// over the rows that it leaves out, and subtracts this sum from the Gram. Otherwise it does not
	// use the Gram. Results with and without a Gram differ only by rounding. With a Gram, X must be a
	// *mat.Dense. Gram may be nil.
	Gram *Gram
	// MaxBytes is the largest number of bytes that a learner may hold for the data, without X itself.
	// If a Load or the working set of a Fit would need more, the call returns an error of kind
	// [qpdiff.ErrTooLarge] before it allocates the memory. Results do not depend on MaxBytes.
	//
	// If MaxBytes is zero, the bound is a quarter of the smallest memory limit of the process. The
	// bound is no larger, because the heap may grow to twice the held memory before the garbage
	// collector runs. The limits are GOMEMLIMIT and the address space. On Linux they also include
	// RLIMIT_AS, RLIMIT_DATA, the limits of the control groups (versions 1 and 2) and the physical
	// memory. The limits are read when this default is first needed.
	MaxBytes int64
}

// Size returns the sizes of d. X must not be nil.
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

// A Size holds the sizes that determine the memory of a learner: sizes of the data and of the
// calls.
type Size struct {
	Rows, Features int  // of X
	Counting       int  // upper bound for the number of rows with a weight above 0
	Weighted       bool // Data has Rows or Weights
	Sparse         bool // see [Data.Sparse]
	Stored         int  // entries of a sparse X
	// Predicted is the largest number of rows that one call of [Predictor.Predict] with a workspace
	// predicts.
	Predicted int
	// LeaveOneOut is true if the caller uses the method LeaveOneOut of a [LeaveOneOutLearner] in place
	// of Fit.
	LeaveOneOut bool
	// Folds holds the folds if the caller uses the method Folds of a [FoldLearner] in place of Fit.
	Folds [][]int
}

// Sparse reports whether X is sparse. X is sparse if it implements [mat.RowNonZeroDoer]; a
// *mat.Dense does not implement it. The method DoRowNonZero of X visits the stored entries of a
// row, and must visit each entry at most once.
func (d Data) Sparse() bool {
	_, visits := d.X.(mat.RowNonZeroDoer)
	return visits
}

// Stored returns the number of entries that a sparse X stores. Stored zeros count too.
func (d Data) Stored() (entries int) {
	rows, _ := d.X.Dims()
	for i := range rows {
		d.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, _ int, _ float64) { entries++ })
	}
	return entries
}

// Dense returns X if X is a *mat.Dense, and otherwise a dense copy of X. To copy a sparse X, it
// visits the stored entries. To copy any other matrix, it reads all entries. If X is nil, Dense
// returns nil. If X is sparse, [Data.CheckStored] must return nil.
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

// Grad holds the derivatives of a scalar with respect to the inputs of a fit: one field for each
// input. If a field is nil, a VJP does not compute its derivative. Any other field must have the
// shape of its input: one entry per hyperparameter in Hyper, N×n in X and N in Y. A VJP adds to the
// fields and does not overwrite them. One Grad can therefore hold the sum of several VJPs.
type Grad struct {
	Hyper []float64
	// HyperSize has as many entries as Hyper. A VJP of margin.SVM, margin.LearnedLoss or
	// linear.ElasticNet adds a sum of terms to each entry of Hyper, and adds the absolute values of
	// these terms to the same entry of HyperSize. Only some learners with kinks do so. If an entry of
	// Hyper is much smaller than the same entry of HyperSize, the derivative is 0 within rounding.
	HyperSize []float64
	X         *mat.Dense
	Y         []float64
	// Stored is used in place of the field X if the X of the data is sparse. It has one entry for each
	// entry that the sparse X stores. The entries are row by row, in the order in which
	// [mat.RowNonZeroDoer] visits them.
	Stored []float64
	// A VJP sets Generalised to true if the derivative does not exist and the VJP has added an element
	// of a generalised derivative instead. Only a learner whose own field Generalised is true adds
	// one. A VJP never sets Grad.Generalised to false, and a JVP ignores it.
	Generalised bool
}

// Check returns an error if no learner can use d, and the error describes the first defect that
// Check finds. The error is an [*qpdiff.ArgError] of one of these kinds:
//
//   - ErrShape: there are no examples or no features; Y or Weights has the wrong number of entries
//     for the rows of X; Centre or Scale has the wrong number of entries for the columns of X.
//   - ErrNotFinite: X, Y, Centre or Scale contains NaN or Inf, even in a row that does not count.
//   - ErrDomain: a weight is negative or not finite; Rows lists a row that X does not have; every
//     selected row has the weight 0; a Scale is not positive; Gram belongs to another matrix; a
//     sparse X does not visit each of its entries exactly once.
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

// checkView returns an error if Centre, Scale or Gram cannot be used.
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

// Seen returns (x − Centre_j)/Scale_j, where x is an entry of column j. Learners use this value in
// place of x.
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

// errLabels returns the error for data in which the number of labels differs from the number of
// rows of X.
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
	var err error
	visits := d.visitChecked(func(i, j int, v float64) {
		if err == nil && !dense.Finite(v) {
			err = check.ArgErrorf("Data.X", qpdiff.ErrNotFinite, remedyEntry, "holds %v at row %d, column %d", v, i, j)
		}
	})
	if visits != nil || err != nil {
		return cmp.Or(visits, err)
	}
	return cmp.Or(check.Finite("Data.Y", remedyEntry, d.Y), check.Counts(d.Rows, d.Weights, r), d.checkView())
}

// CheckStored returns an error if X is sparse and does not visit each of its entries exactly once.
// The kind of the error is ErrDomain. CheckStored does not check the values of the entries. Only
// after this check may [Data.Dense] copy a sparse X.
func (d Data) CheckStored() error {
	if !d.Sparse() {
		return nil
	}
	return d.visitChecked(func(_, _ int, _ float64) {})
}

// visitChecked calls the function visit for each entry of a sparse X, until X visits an entry that
// X must not visit. Then visitChecked returns an error.
func (d Data) visitChecked(visit func(i, j int, v float64)) (err error) {
	r, n := d.X.Dims()
	seen := make([]int, n) // for each column, 1 + the last row in which the column was visited; 0 if it was never visited
	for i := 0; i < r && err == nil; i++ {
		d.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(row, j int, v float64) {
			switch {
			case err != nil:
			case row != i || j < 0 || j >= n || seen[j] == i+1:
				err = check.ArgErrorf("Data.X", qpdiff.ErrDomain, "let DoRowNonZero visit each stored entry of the row once", "visits row %d, column %d in row %d of %d×%d, or that twice", row, j, i, r, n)
			default:
				seen[j] = i + 1
				visit(i, j, v)
			}
		})
	}
	return err
}

// VisitStored calls the function visit for each entry x_ij that a sparse X stores, in the order of
// Grad.Stored. The argument index is the entry's index in Grad.Stored.
func (d Data) VisitStored(visit func(index, i, j int, x float64)) {
	rows, _ := d.X.Dims()
	index := 0
	for i := range rows {
		d.X.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, j int, x float64) {
			visit(index, i, j, x)
			index++
		})
	}
}
