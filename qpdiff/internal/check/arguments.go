package check

import (
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Finite returns an error for the first entry of the slice s that is not finite.
func Finite(arg, remedy string, s []float64) error {
	if dense.AllFinite(s) {
		return nil
	}
	for i, v := range s {
		if !dense.Finite(v) {
			return ArgErrorf(arg, ErrNotFinite, remedy, "holds %v at index %d", v, i)
		}
	}
	return nil
}

// FiniteRows returns an error for the first entry of the matrix x that is not finite. A nil x has
// no entries.
func FiniteRows(arg, remedy string, x *mat.Dense) error {
	if x == nil {
		return nil
	}
	for i := range x.RawMatrix().Rows {
		if dense.AllFinite(x.RawRowView(i)) {
			continue
		}
		for j, v := range x.RawRowView(i) {
			if !dense.Finite(v) {
				return ArgErrorf(arg, ErrNotFinite, remedy, "holds %v at row %d, column %d", v, i, j)
			}
		}
	}
	return nil
}

// Columns returns an error for the first defect of the slice s. This slice is a field of a Data
// whose X has n columns. A nil s has no defect. Any other s must have a finite entry for each
// column. If the parameter positive is true, the entries must be above 0.
func Columns(arg string, s []float64, n int, positive bool) error {
	if s != nil && len(s) != n {
		return ArgErrorf(arg, ErrShape, "give one entry for each column of X, or nil", "has %d entries for the %d columns of X", len(s), n)
	}
	for j, v := range s {
		if positive && !(v > 0) {
			return ArgErrorf(arg, ErrDomain, "give positive scales", "holds %v at index %d", v, j)
		}
	}
	return Finite(arg, "give finite numbers", s)
}

// Length panics unless the argument x has n entries. A wrong length is a bug of the caller and not
// a property of the data, so Length does not return an error.
func Length(arg string, x []float64, n int) {
	if len(x) != n {
		panic("qpdiff: " + arg + " has the wrong length")
	}
}

// Vector is Length for an x that may be nil.
func Vector(arg string, x []float64, n int) {
	if x != nil {
		Length(arg, x, n)
	}
}

// Matrix panics if m is neither nil nor rows×cols.
func Matrix(arg string, m *mat.Dense, rows, cols int) {
	if m != nil {
		if r, c := m.Dims(); r != rows || c != cols {
			panic("qpdiff: " + arg + " has the wrong shape")
		}
	}
}

// Counts returns an error for the first defect of rowList and weights, which are the fields Rows
// and Weights of a Data. The parameter rows is the number of rows of its X.
func Counts(rowList []int, weights []float64, rows int) error {
	if weights != nil && len(weights) != rows {
		return ArgErrorf("Data.Weights", ErrShape, "give one weight per row of X, or nil", "has %d entries for the %d rows of X", len(weights), rows)
	}
	for i, w := range weights {
		if !(w >= 0) || !dense.Finite(w) {
			return ArgErrorf("Data.Weights", ErrDomain, "give a finite weight at or above 0", "holds %v at index %d", w, i)
		}
	}
	for k, i := range rowList {
		if i < 0 || i >= rows {
			return ArgErrorf("Data.Rows", ErrDomain, "give row numbers of X", "holds %d at index %d where X has %d rows", i, k, rows)
		}
	}
	if rowList == nil && weights == nil {
		return nil
	}
	total := 0.0
	if rowList == nil {
		total = floats.Sum(weights)
	}
	for _, i := range rowList {
		total += dense.CountAt(weights, i)
	}
	if !(total >= dense.SmallestNormal) || !dense.Finite(total) {
		return ArgErrorf("Data.Rows and Data.Weights", ErrDomain, "let some rows count, or scale the weights", "count %v rows in all", total)
	}
	return nil
}
