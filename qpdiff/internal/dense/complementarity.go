package dense

import "math"

// ComplementarityTol is the safety factor of [Negligible]: the error of a
// solved KKT system is a small multiple of eps·κ, which grows slowly with the
// dimension, and estimates of κ can be low by a small factor. Two orders of
// magnitude leave room for both, and keep slacks and multipliers of 1e-6 of
// their scale apart from zero up to κ = 1e6.
const ComplementarityTol = 256

// Negligible reports whether a slack or a multiplier cannot be told from zero,
// which is where strict complementarity fails. It is the one rule for all
// solvers of the package. scale is the size of the terms that value was
// computed from: for the slack h − gᵀz it is |h| + ‖g‖‖z‖; for a multiplier λ,
// with value = λ‖g‖, it is the size of the terms of the gradient that the
// multiplier balances. Both use the norms of one scaling of the variables, so
// that units cancel. cond ≥ 1 estimates the condition of the KKT system in that
// scaling: the computed z and λ carry an error of eps·cond of their scale.
func Negligible(value, scale, cond float64) bool {
	return value <= LargestNegligible(scale, cond)
}

// LargestNegligible returns the largest value that is [Negligible].
func LargestNegligible(scale, cond float64) float64 { return ComplementarityTol * Eps * cond * scale }

// HiddenTol is the part of its scale that rounding may hide of a quantity before no
// derivative is given that takes it for zero, generalised or not: a kink so far away
// is another problem's.
const HiddenTol = 1e-6

// Unsolvable reports whether a linear system of condition cond cannot be told
// from a singular one: if an entry as large as the solution itself would be
// [Negligible]. One pivot cannot tell, since the rounding of a pivot grows with
// the square of the dependency that it stands for, and the product of a few
// small pivots counts.
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
