package learner

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/memory"

	"gonum.org/v1/gonum/mat"
)

// Word is the number of bytes of a float64. An int has at most Word bytes.
const Word = 8

// Sized is the method of a [learn.SizedLearner] that counts bytes.
type Sized interface{ Bytes(s learn.Size) int64 }

// CheckBytes returns an error if the learner l needs more than d.MaxBytes bytes. If X is not a
// *mat.Dense, the bytes include a dense copy of X. If X is missing or empty, CheckBytes returns
// nil, because Check returns an error for it.
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

// Exceeds returns an error if a learner needs more bytes than maxBytes allows. The parameter
// neededBytes is the number of bytes that it needs for data of the sizes s, and maxBytes is the
// MaxBytes of the data.
func Exceeds(neededBytes, maxBytes int64, s learn.Size) error {
	if neededBytes <= memory.Bound(maxBytes) {
		return nil
	}
	return TooLarge(neededBytes, maxBytes, s)
}

// TooLarge returns the error for data that exceed the bound. Exceeds returns the same error.
func TooLarge(need, maxBytes int64, s learn.Size) error {
	return check.ArgErrorf("Data", qpdiff.ErrTooLarge, "give fewer features or rows, or raise MaxBytes; linear.ElasticNet needs least for many features, and linear learners for many rows",
		"%s, for %d rows × %d features", memory.Needs(need, memory.Bound(maxBytes)), s.Rows, s.Features)
}

// The constant allocated is the number of bytes that a few dozen slices take, divided by the bytes
// of their entries. It is above 1 because the allocator rounds sizes up. The constant structs is
// the number of bytes of the structs of a learner and of a workspace.
const (
	allocated = 1 + 1./16
	structs   = 5 << 10
)

// Entries returns the number of bytes of a learner that holds n float64 values. The parameter n is
// a float64 because products of sizes could overflow an int.
func Entries(n float64) int64 { return memory.Bytes(allocated*Word*n + structs) }

// Room is the inverse of Entries: it returns the number of float64 values that a learner may hold.
// The parameter maxBytes is the MaxBytes of the data.
func Room(maxBytes int64) float64 {
	return (float64(memory.Bound(maxBytes)) - structs) / (allocated * Word)
}

// Sizes returns s.Rows, s.Features and s.Counting as float64s.
func Sizes(s learn.Size) (rows, n, counting float64) {
	return float64(s.Rows), float64(s.Features), float64(s.Counting)
}

// Folded returns the number of rows in all folds together. A row counts once for each fold that
// contains it.
func Folded(folds [][]int) (rows int) {
	for _, f := range folds {
		rows += len(f)
	}
	return rows
}
