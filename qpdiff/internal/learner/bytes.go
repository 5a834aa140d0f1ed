package learner

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// Word is the number of bytes of a float64. An int has at most this number.
const Word = 8

// Sized is the part of a [learn.SizedLearner] that counts.
type Sized interface{ Bytes(s learn.Size) int64 }

// CheckBytes returns an error if l needs more than d.MaxBytes. If X is not a *mat.Dense, the need
// includes a copy of X. CheckBytes accepts an X that is missing or empty, because Check reports it.
func CheckBytes(l Sized, d learn.Data) error {
	x, ok := d.X.(*mat.Dense)
	if d.X == nil || ok && x == nil {
		return nil
	}
	if d.MaxBytes < 0 {
		return check.ArgErrorf("Data.MaxBytes", qpdiff.ErrDomain, "give a positive number, or zero for the default", "is %d", d.MaxBytes)
	}
	s := d.Size()
	need := l.Bytes(s)
	if v, views := l.(learn.ViewLearner); !ok && !(views && s.Sparse && v.Views(s)) {
		need = memory.Add(need, memory.Bytes(float64(s.Rows)*float64(s.Features)*Word))
	}
	return Exceeds(need, d.MaxBytes, s)
}

// Exceeds reports a need beyond most, the MaxBytes of data of that size.
func Exceeds(need, most int64, s learn.Size) error {
	if need <= memory.Bound(most) {
		return nil
	}
	return TooLarge(need, most, s)
}

// TooLarge is the error of Exceeds.
func TooLarge(need, most int64, s learn.Size) error {
	return check.ArgErrorf("Data", qpdiff.ErrTooLarge, "give fewer features or rows, or raise MaxBytes; linear.ElasticNet needs least for many features, and linear learners for many rows",
		"%s, for %d rows × %d features", memory.Needs(need, memory.Bound(most)), s.Rows, s.Features)
}

// A few dozen slices take allocated times the bytes of their entries, because the allocator rounds
// sizes up. The structs of a learner and a workspace take structs bytes.
const (
	allocated = 1 + 1./16
	structs   = 5 << 10
)

// Entries returns the number of bytes of a learner with n float64 values. n is a float64 because
// products of sizes could overflow an int.
func Entries(n float64) int64 { return memory.Bytes(allocated*Word*n + structs) }

// Room is the inverse of Entries for the MaxBytes of data.
func Room(most int64) float64 {
	return (float64(memory.Bound(most)) - structs) / (allocated * Word)
}

// Sizes returns the sizes of s as float64s.
func Sizes(s learn.Size) (rows, n, counting float64) {
	return float64(s.Rows), float64(s.Features), float64(s.Counting)
}

// Folded returns the number of rows of all folds.
func Folded(folds [][]int) (rows int) {
	for _, f := range folds {
		rows += len(f)
	}
	return rows
}
