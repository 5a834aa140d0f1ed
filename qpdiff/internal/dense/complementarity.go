package dense

import "math"

// ComplementarityTol is the safety factor of [Negligible]: the error of a
// solved KKT system is a small multiple of eps·κ, which grows slowly with the
// dimension, and estimates of κ can be low by a small factor. Two orders of
// magnitude leave room for both, and keep slacks and multipliers of 1e-6 of
// their scale apart from zero up to κ = 1e6.
const ComplementarityTol = 256

// Negligible reports whether a slack or a multiplier is zero within its rounding error, so that
// strict complementarity fails. It is the one rule for all solvers of the package.
//
// scale is the size of the terms from which value was computed. For the slack h − gᵀz it is |h|
// + ‖g‖‖z‖. For a multiplier λ, with value = λ‖g‖, it is the size of the terms of the gradient
// that the multiplier balances. Both use the norms of one scaling of the variables, so that
// units cancel. cond ≥ 1 estimates the condition of the KKT system in that scaling: the
// computed z and λ have an error of eps·cond of their scale.
func Negligible(value, scale, cond float64) bool {
	return value <= LargestNegligible(scale, cond)
}

// LargestNegligible returns the largest value that is [Negligible].
func LargestNegligible(scale, cond float64) float64 { return ComplementarityTol * Eps * cond * scale }

// HiddenTol is the largest rounding error of a quantity, relative to its scale, with which it
// may still count as zero. Beyond it no derivative is given, generalised or not, because a kink
// so far away belongs to another problem.
const HiddenTol = 1e-6

// Unsolvable reports whether a linear system of condition cond is singular within rounding: an
// entry as large as the solution itself would be [Negligible]. One pivot is not enough to
// decide: the rounding of a pivot grows with the square of the dependency that it measures, and
// the product of a few small pivots counts.
func Unsolvable(cond float64) bool { return Negligible(1, 1, cond) || !Finite(cond) }

// MaxStep returns how far x gets at the given rate before it is at a bound.
func MaxStep(x, rate, lo, hi float64) float64 {
	switch {
	case rate < 0:
		return (lo - x) / rate
	case rate > 0:
		return (hi - x) / rate
	}
	return math.Inf(1)
}
