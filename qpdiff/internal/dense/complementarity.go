package dense

import "math"

// ComplementarityTol is the safety factor of [Negligible]. For a KKT system with the condition
// number κ, the error of the solution is a small multiple of eps·κ. This multiple grows slowly with
// the dimension, and estimates of κ can be too low by a small factor. A safety factor of two orders
// of magnitude covers both. With this factor, a slack or multiplier of 1e-6 of its scale still
// counts as nonzero for κ up to 1e6.
const ComplementarityTol = 256

// Negligible reports whether a slack or a multiplier is zero within its rounding error. Strict
// complementarity fails at a row if both its slack and its multiplier are zero in this sense. All
// solvers use this rule.
//
// Let the row be gᵀz ≤ h. For its slack, the parameter value is h − gᵀz, and the parameter scale is
// |h| + ‖g‖‖z‖. For its multiplier λ, the parameter value is λ‖g‖, and the parameter scale is the
// size of those terms of the gradient that λ·g balances. All norms use the same scaling of the
// variables, so that units cancel. The parameter cond ≥ 1 is an estimate of the condition number of
// the KKT system in this scaling. The slack or multiplier has an error of about eps·cond·scale.
func Negligible(value, scale, cond float64) bool {
	return value <= LargestNegligible(scale, cond)
}

// LargestNegligible returns the largest value that is [Negligible].
func LargestNegligible(scale, cond float64) float64 { return ComplementarityTol * Eps * cond * scale }

// HiddenTol is the largest accepted rounding error of a slack or multiplier, relative to its scale.
// A slack or multiplier below its rounding error counts as zero. If the rounding error is larger
// than HiddenTol, solvers return no derivative, not even a generalised derivative. With this much
// rounding, the nearest kink may be far away, and the derivative at the kink may belong to a very
// different problem.
const HiddenTol = 1e-6

// Unsolvable reports whether a linear system with the condition number cond is singular within
// rounding. If it is, rounding can move an entry of the solution by as much as the size of the
// whole solution. The entry is then [Negligible].
//
// The size of a single pivot cannot decide whether the system is singular. The rounding error of a
// pivot grows with the square of the dependency that the pivot measures. A system can also be
// singular because several pivots are a little small.
func Unsolvable(cond float64) bool { return Negligible(1, 1, cond) || !Finite(cond) }

// MaxStep returns the largest t for which x + t·rate is between lo and hi.
func MaxStep(x, rate, lo, hi float64) float64 {
	switch {
	case rate < 0:
		return (lo - x) / rate
	case rate > 0:
		return (hi - x) / rate
	}
	return math.Inf(1)
}
