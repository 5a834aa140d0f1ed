package learner

import (
	"cmp"
	"fmt"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
)

// ErrNoData is the error of a Fit if no Load has succeeded yet.
var ErrNoData = &qpdiff.ArgError{Arg: "Data", Why: qpdiff.ErrNotFitted, Problem: "is missing", Remedy: "call Load before Fit"}

// CheckHyper returns an error if hyper does not have n entries, or if an entry is not finite or is
// negative.
func CheckHyper(hyper []float64, n int) error {
	if len(hyper) != n {
		return check.ArgErrorf("hyper", qpdiff.ErrShape, "give as many as Dims says", "has %d entries instead of %d", len(hyper), n)
	}
	for i, v := range hyper {
		if !(v >= 0 && v <= math.MaxFloat64) {
			return cmp.Or[error](check.Finite("hyper", "give a finite hyperparameter", hyper),
				check.ArgErrorf("hyper", qpdiff.ErrDomain, "give a hyperparameter at or above 0", "holds %v at index %d", v, i))
		}
	}
	return nil
}

// CheckTangent returns an error for the first entry of the tangent d that is not finite.
func CheckTangent(d *learn.Grad) error {
	const remedy = "give a finite tangent"
	return cmp.Or(check.Finite("d.Hyper", remedy, d.Hyper), check.FiniteRows("d.X", remedy, d.X), check.Finite("d.Stored", remedy, d.Stored), check.Finite("d.Y", remedy, d.Y))
}

// errOverflow is the error for a product that lies beyond the range of float64.
var errOverflow = &qpdiff.ArgError{Arg: "Data", Why: qpdiff.ErrNotFinite, Problem: "gives a derivative that overflows", Remedy: "scale the data, the hyperparameters or the cotangent"}

// CheckProduct returns an error if an entry of the gradient g is not finite. Some VJPs can bound
// the entries without a pass over the rows. They need not call CheckProduct.
func CheckProduct(g *learn.Grad) error {
	if !dense.AllFinite(g.Hyper) || !dense.AllFinite(g.Y) || !dense.AllFinite(g.Stored) || check.FiniteRows("", "", g.X) != nil {
		return errOverflow
	}
	return nil
}

// CheckTangentOut returns an error if an entry of dtheta, the result of a JVP, is not finite.
func CheckTangentOut(dtheta []float64) error { return CheckProduct(&learn.Grad{Hyper: dtheta}) }

// CheckPlain returns an error if d.Rows or d.Weights is not nil. The error contains the name of the
// given learner.
func CheckPlain(d learn.Data, learner string) error {
	arg := "Data.Weights"
	if d.Rows != nil {
		arg = "Data.Rows"
	}
	if !plain(d) {
		return check.ArgErrorf(arg, qpdiff.ErrDomain, "select and repeat rows of X and Y instead", "is not nil, which %s cannot use", learner)
	}
	return nil
}

// CheckAll does the work of Check for a learner that does not support Rows and Weights. The
// parameter learner is the name of this learner in the error.
func CheckAll(d learn.Data, learner string) error { return cmp.Or(CheckPlain(d, learner), d.Check()) }

// Counts returns the weight of each row of X, or nil if all weights are 1. The result uses the
// storage of dst if dst is long enough.
func Counts(d learn.Data, dst []float64) []float64 {
	if plain(d) {
		return nil
	}
	dst = dense.Grow(dst, len(d.Y))
	if d.Rows == nil {
		copy(dst, d.Weights)
		return dst
	}
	clear(dst)
	for _, i := range d.Rows {
		dst[i] += dense.CountAt(d.Weights, i)
	}
	return dst
}

// Counting returns the weight of each row of X, the list of rows with a weight above 0, and the sum
// of the weights. The parameters dst and rows are storage for the weights and the list; Counting
// uses them if they are long enough.
func Counting(d learn.Data, dst []float64, rows []int) (counts []float64, counting []int, total float64) {
	counts = Counts(d, dst)
	rows = dense.Grow(rows, len(d.Y))[:0]
	for i := range d.Y {
		if count := dense.CountAt(counts, i); count > 0 {
			rows = append(rows, i)
			total += count
		}
	}
	return counts, rows, total
}

// plain reports whether each row of d counts once.
func plain(d learn.Data) bool { return d.Rows == nil && d.Weights == nil }

// Wants reports whether some field of g is not nil.
func Wants(g *learn.Grad) bool { return g.Hyper != nil || WantsRows(g) || g.Y != nil }

// WantsRows reports whether a field of g for the derivative with respect to X is not nil.
func WantsRows(g *learn.Grad) bool { return g.X != nil || g.Stored != nil }

// ErrNoFit is the error of a VJP or JVP without a fit: the last Fit failed, or there was no Fit
// since the last Load or Reset.
var ErrNoFit = fmt.Errorf("qpdiff: %w: call Load and Fit first", qpdiff.ErrNotFitted)

// DecisionTol bounds the rounding error of a classifier's decision values at its training rows. The
// bound is absolute, because decision values are compared with the margin 1. The estimate that is
// compared with DecisionTol includes a safety factor. If the rounding of kernel values, or of the
// terms of a margin, exceeds the bound, no other solver could make the error smaller.
const DecisionTol = 1e-3
