// Package sample holds the operations on rows of data: selection, complements, weights.
package sample

import (
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// Resize returns a slice of n entries. If s has enough capacity, the slice uses the storage of s.
func Resize[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}

// Gather copies the listed rows of src to dst, row-major without gaps.
func Gather(dst []float64, src *mat.Dense, rows []int) {
	s := src.RawMatrix()
	for i, row := range rows {
		copy(dst[i*s.Cols:(i+1)*s.Cols], s.Data[row*s.Stride:])
	}
}

// VisitRow calls the function fn for the entries of row i of x: all entries of a *mat.Dense, and
// only the stored entries of a sparse matrix.
func VisitRow(x mat.Matrix, i int, fn func(j int, v float64)) {
	if x, ok := x.(*mat.Dense); ok {
		for j, v := range x.RawRowView(i) {
			fn(j, v)
		}
		return
	}
	x.(mat.RowNonZeroDoer).DoRowNonZero(i, func(_, j int, v float64) { fn(j, v) })
}

// Complement returns the numbers from 0 to n−1 that are not in rows. It is never nil.
func Complement(rows []int, n int) []int {
	in := make([]bool, n)
	for _, r := range rows {
		in[r] = true
	}
	out := make([]int, 0, n-len(rows))
	for i, held := range in {
		if !held {
			out = append(out, i)
		}
	}
	return out
}

// ScatterAdd adds scale·src to the listed rows of dst.
func ScatterAdd(dst *mat.Dense, src []float64, rows []int, scale float64) {
	d := dst.RawMatrix()
	for i, row := range rows {
		to := d.Data[row*d.Stride : row*d.Stride+d.Cols]
		for j, v := range src[i*d.Cols : (i+1)*d.Cols] {
			to[j] += scale * v
		}
	}
}

// Pick returns the listed entries of s, or nil if s is nil.
func Pick[T any](s []T, rows []int) []T {
	if s == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, row := range rows {
		out[i] = s[row]
	}
	return out
}

// Weights are the weights of some rows times a power of two. After this scaling, the largest weight
// is between 1 and 2. The unit of the weights does not affect a mean, and large weights cannot make
// a mean overflow. Nil: all weights are 1. The results then have the same bits as with explicit
// weights of 1.
type Weights []float64

// Relative returns the weights of the listed rows. At least one of them must be positive.
func Relative(weights []float64, rows []int) Weights {
	if weights == nil {
		return nil
	}
	largest := 0.0
	for _, i := range rows {
		largest = max(largest, weights[i])
	}
	_, e := math.Frexp(largest)
	w := make(Weights, len(rows))
	for at, i := range rows {
		w[at] = math.Ldexp(weights[i], 1-e)
	}
	return w
}

// At returns the weight of row i.
func (w Weights) At(i int) float64 {
	if w == nil {
		return 1
	}
	return w[i]
}

// Total returns the sum of the weights of all n rows.
func (w Weights) Total(n int) float64 {
	if w == nil {
		return float64(n)
	}
	return Sum(0, w)
}

// Mean returns the weighted mean of v.
func (w Weights) Mean(v []float64) float64 {
	var s float64
	for i, x := range v {
		s += w.At(i) * x
	}
	return s / w.Total(len(v))
}

// Positive returns the rows whose weight is above 0.
func Positive(rows []int, weights []float64) []int {
	if weights == nil {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return !(weights[i] > 0) })
}

// Sum returns s plus the sum of v.
func Sum(s float64, v []float64) float64 {
	for _, x := range v {
		s += x
	}
	return s
}

// MeanOf returns the mean of v.
func MeanOf(v []float64) float64 { return Sum(0, v) / float64(len(v)) }

// Prepare writes the features of the listed rows of x to dst, row-major. If a feature is not
// finite, it returns an error.
func Prepare(dst []float64, p interface {
	Dims() (in, out int)
	Apply(dst, row []float64) error
}, x *mat.Dense, rows []int) error {
	_, m := p.Dims()
	for i, row := range rows {
		out := dst[i*m : (i+1)*m : (i+1)*m]
		if err := p.Apply(out, x.RawRowView(row)); err != nil {
			return args.At(err, "prepare row %d of Data.X", row)
		}
		for j, v := range out {
			if !args.Finite(v) {
				return errPrepared(v, row, j)
			}
		}
	}
	return nil
}

// errPrepared is the error of a feature that is not finite.
func errPrepared(v float64, row, feature int) error {
	return args.Bad("Config.Prepare", qpdiff.ErrNotFinite, "use a Preparer that replaces missing values, or remove the row",
		"makes %v of row %d as feature %d", v, row, feature)
}
