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
// nil. With Rows or Weights, the N in a learner's objective is the sum of the weights of the
// selected rows. A [Grad] still has the shapes of X and Y. Its entries are 0 in rows that are not
// selected or have the weight 0.
type Data struct {
	// X holds the features. Load reads a *mat.Dense in place, and copies any other matrix. As an
	// exception, [linear.ElasticNet], [linear.Logistic] and [linear.SparseLogistic] read the stored
	// entries of a sparse X in place: see [ViewLearner] and [Data.Sparse].
	X mat.Matrix
	Y []float64
	// Rows lists the rows of X and Y from which to learn, in any order. A row that is listed twice
	// counts twice. Nil: all rows.
	Rows []int
	// Weights has one entry for each row of X. Each weight must be at least 0. A row of weight w
	// has the same effect as w equal rows. Nil: each row has the weight 1.
	Weights []float64
	// Centre and Scale have one entry for each feature; only a [ViewLearner] accepts them. The
	// features that the learner uses are (x − Centre)/Scale. For a sparse X, the learner sums over
	// the rows before it subtracts Centre. The sums lose digits if Centre is far larger than the
	// standard deviation of the feature. Derivatives in X treat Centre and Scale as constants. A
	// nil Centre means 0, and a nil Scale means 1.
	Centre, Scale []float64
	// Gram is the [Gram] of X. Several learners can share a Gram, and each may use a different part
	// of the rows of X. [linear.ElasticNet] uses the Gram if it leaves out fewer rows than it uses:
	// it then sums over the rows that it leaves out, and subtracts this sum from the Gram. Results
	// with and without a Gram differ only by rounding. X must be a *mat.Dense. Nil: no Gram.
	Gram *Gram
	// MaxBytes bounds the memory that a learner holds for the data, without X itself. If a Load
	// would exceed the bound, or if the working set of a Fit would, the call returns an error of
	// kind [qpdiff.ErrTooLarge] before it allocates the memory. Results do not depend on MaxBytes.
	//
	// Zero means a quarter of the smallest memory limit of the process, because the heap may grow
	// to twice the held memory before the garbage collector runs. The limits are GOMEMLIMIT and the
	// address space. On Linux they also include RLIMIT_AS, RLIMIT_DATA, the limits of the control
	// groups (versions 1 and 2) and the physical memory. The limits are read when the default is
	// first needed.
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

// A Size holds the sizes of data and of calls that determine the memory of a learner.
type Size struct {
	Rows, Features int  // of X
	Counting       int  // upper bound of the number of rows with a weight above 0
	Weighted       bool // Data has Rows or Weights
	Sparse         bool // see [Data.Sparse]
	Stored         int  // entries of a sparse X
	// Predicted is the largest number of rows in one call of [Predictor.Predict] with a workspace.
	Predicted int
	// LeaveOneOut is true if LeaveOneOut of a [LeaveOneOutLearner] is called instead of Fit.
	LeaveOneOut bool
	// Folds holds the folds of the call if Folds of a [FoldLearner] is called instead of Fit.
	Folds [][]int
}

// Sparse reports whether X is sparse. X is sparse if it implements [mat.RowNonZeroDoer], which a
// *mat.Dense does not. Its method DoRowNonZero visits the stored entries of a row, and must visit
// each entry at most once.
func (d Data) Sparse() bool {
	_, visits := d.X.(mat.RowNonZeroDoer)
	return visits
}

// Stored returns the number of stored entries of a sparse X. Stored zeros count too.
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

// Grad holds the derivatives of a scalar in the inputs of a fit, one field for each input. If a
// field is nil, a VJP does not compute this derivative. Any other field must have the shape of its
// input: one entry per hyperparameter in Hyper, N×n in X and N in Y. A VJP adds to the fields and
// does not overwrite them, so one Grad can hold the sum of several VJPs.
type Grad struct {
	Hyper []float64
	// HyperSize holds sizes with which the entries of Hyper can be compared. It is for learners
	// with kinks, and other learners do not change it. A VJP of margin.SVM, margin.LearnedLoss or
	// linear.ElasticNet adds a sum of terms to each entry of Hyper. It adds the moduli of the same
	// terms to the same entry of HyperSize. If an entry of Hyper is much smaller than its entry of
	// HyperSize, the derivative is 0 within rounding.
	HyperSize []float64
	X         *mat.Dense
	Y         []float64
	// Stored is used in place of X if the X of the data is sparse. It has one entry for each entry
	// that X stores, row by row, in the order in which [mat.RowNonZeroDoer] visits them.
	Stored []float64
	// Generalised is set by a VJP that added an element of a generalised derivative, because the
	// derivative does not exist. The field Generalised of a learner selects this behaviour. A VJP
	// never clears Grad.Generalised, and a JVP ignores it.
	Generalised bool
}

// Check returns an error if no learner can use d, and describes the first defect that it finds. The
// error is an [*qpdiff.ArgError] of one of these kinds:
//
//   - ErrShape: there are no examples or no features; Y or Weights has the wrong number of entries
//     for the rows of X; Centre or Scale has the wrong number of entries for the columns of X.
//   - ErrNotFinite: NaN or Inf in X, Y, Centre or Scale, also in rows that do not count.
//   - ErrDomain: a weight is negative or not finite; Rows has a number that is not a row of X; all
//     selected rows have the weight 0; a Scale is not positive; Gram belongs to another matrix; a
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

// Seen returns (x − Centre_j)/Scale_j, the feature that the learner uses in place of an entry x of
// column j.
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

// errLabels returns the error for a number of labels that differs from the number of rows in X.
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
	seen := make([]int, n) // for each column, 1 + the last row in which it was visited; 0 if none
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
// index is the entry's index in Grad.Stored.
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
