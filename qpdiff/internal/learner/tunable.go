package learner

import (
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// The bounds of a penalty are multiples of the value at which the penalty dominates the loss. For
// λ1 this value is the smallest λ1 at which θ is 0. For λ2 it is the trace of XᵀX/N, which is at
// least the largest eigenvalue. Beyond a bound, predictions change by a share of about the size of
// these constants.
const (
	leastLambda1 = 1e-5
	// leastWide replaces leastLambda1 for sparse data, and if there are many features that also
	// outnumber the examples. For a smaller λ1, θ fits all examples and takes long to compute. The
	// grids of other libraries end at this value, too.
	leastWide      = 1e-3
	leastLambda2   = 1e-8
	mostLambda2    = 10
	defaultLambda1 = .03 // of the same value
	defaultLambda2 = .03 // of the mean variance of a feature
)

// Lambda1 describes the ℓ₁ penalty of a learner on data of moments m. most is the smallest λ1 at
// which θ is 0.
func Lambda1(m learn.Moments, most float64) learn.Hyperparameter {
	least := leastLambda1
	if m.Sparse || m.Features > m.Examples && ways.Many(m.Features) {
		least = leastWide
	}
	return learn.Hyperparameter{Name: "λ1", Lower: least * most, Default: defaultLambda1 * most, Upper: most, Zero: true}
}

// Lambda2 describes the squared ℓ₂ penalty of a linear learner, which may be 0 if zero is set.
func Lambda2(m learn.Moments, zero bool) learn.Hyperparameter {
	return learn.Hyperparameter{Name: "λ2", Lower: leastLambda2 * m.Trace, Default: defaultLambda2 * m.Variance, Upper: mostLambda2 * m.Trace, Zero: zero}
}
