package dense

import "math"

// ComplementarityTol is the safety factor of [Negligible]. The error of a solved KKT system is a
// small multiple of eps·κ, which grows slowly with the dimension. Estimates of κ can be low by a
// small factor. A safety factor of two orders of magnitude allows for both. With it, slacks and
// multipliers of 1e-6 of their scale are still distinct from zero up to κ = 1e6.
const ComplementarityTol = 256

// Negligible reports whether value, a slack or a multiplier, is zero within its rounding error. If
// it is, strict complementarity fails. All solvers use this rule.
//
// scale is the size of the terms from which value was computed. For the slack h − gᵀz it is |h| +
// ‖g‖‖z‖. For a multiplier λ, value is λ‖g‖ and scale is the size of the gradient's terms that the
// multiplier balances. All norms use one scaling of the variables, so that units cancel. cond ≥ 1
// is an estimate of the condition of the KKT system in this scaling. The errors of the computed z
// and λ are about eps·cond times their scale.
func Negligible(value, scale, cond float64) bool {
	return value <= LargestNegligible(scale, cond)
}

// LargestNegligible returns the largest value that is [Negligible].
func LargestNegligible(scale, cond float64) float64 { return ComplementarityTol * Eps * cond * scale }

// HiddenTol is the largest rounding error, relative to the scale, at which a quantity may count as
// zero. If the error is larger, no derivative is returned, not even a generalised one, because a
// kink at this distance belongs to another problem.
const HiddenTol = 1e-6

// Unsolvable reports whether a linear system of condition cond is singular within rounding: whether
// even an entry as large as the solution would be [Negligible]. A single small pivot does not show
// this. The rounding error of a pivot grows with the square of the dependency that the pivot
// measures, and the product of a few small pivots matters.
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
