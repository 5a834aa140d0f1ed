package dense

import "math"

// ComplementarityTol is the safety factor of [Negligible]. The error of a solved KKT system is a
// small multiple of eps·κ, which grows slowly with the dimension. Estimates of κ can be low by a
// small factor. Two orders of magnitude cover both. Up to κ = 1e6 they keep slacks and multipliers
// of 1e-6 of their scale distinct from zero.
const ComplementarityTol = 256

// Negligible reports whether a slack or a multiplier is zero within its rounding error. Strict
// complementarity then fails. All solvers of the package use this one rule.
//
// scale is the size of the terms from which value was computed. For the slack h − gᵀz it is |h| +
// ‖g‖‖z‖. For a multiplier λ, with value = λ‖g‖, it is the size of the gradient's terms that the
// multiplier balances. Both use the norms of one scaling of the variables, so that units cancel.
// cond ≥ 1 estimates the condition of the KKT system in that scaling. The errors of the computed z
// and λ are eps·cond of their scale.
func Negligible(value, scale, cond float64) bool {
	return value <= LargestNegligible(scale, cond)
}

// LargestNegligible returns the largest value that is [Negligible].
func LargestNegligible(scale, cond float64) float64 { return ComplementarityTol * Eps * cond * scale }

// HiddenTol is the largest rounding error, relative to its scale, of a quantity that may still
// count as zero. If the error is larger, no derivative is returned, generalised or not, because a
// kink that far away belongs to another problem.
const HiddenTol = 1e-6

// Unsolvable reports whether a linear system of condition cond is singular within rounding: an
// entry as large as the solution itself would be [Negligible]. One pivot does not suffice for this
// decision. The rounding of a pivot grows with the square of the dependency that it measures, and
// the product of a few small pivots matters.
func Unsolvable(cond float64) bool { return Negligible(1, 1, cond) || !Finite(cond) }

// MaxStep returns how far x can move at the given rate until it reaches a bound.
func MaxStep(x, rate, lo, hi float64) float64 {
	switch {
	case rate < 0:
		return (lo - x) / rate
	case rate > 0:
		return (hi - x) / rate
	}
	return math.Inf(1)
}
