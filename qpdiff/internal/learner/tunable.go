package learner

import (
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// These constants, times a reference value, are the bounds of λ1 and λ2. At the reference value the
// penalty dominates the loss. The reference of λ1 is the smallest λ1 at which θ is 0. The reference
// of λ2 is the trace of XᵀX/N, an upper bound of the largest eigenvalue of XᵀX/N. If a penalty
// falls from its lower bound to 0, the predictions change by a small fraction: about leastLambda1
// for λ1, and about leastLambda2 for λ2.
const (
	leastLambda1 = 1e-5
	// leastWide replaces leastLambda1 in two cases: for sparse data, and for data with many features
	// and fewer examples than features. With a smaller λ1, θ would fit all examples, and computing θ
	// would take long. The grids of other libraries also end at this value.
	leastWide      = 1e-3
	leastLambda2   = 1e-8
	mostLambda2    = 10
	defaultLambda1 = .03 // times the reference of λ1
	defaultLambda2 = .03 // times the mean variance of a feature
)

// Lambda1 describes the ℓ₁ penalty of a learner on data with the moments m. The parameter lambdaMax
// is the smallest λ1 at which θ is 0.
func Lambda1(m learn.Moments, lambdaMax float64) learn.Hyperparameter {
	least := leastLambda1
	if m.Sparse || m.Features > m.Examples && ways.Many(m.Features) {
		least = leastWide
	}
	return learn.Hyperparameter{Name: "λ1", Lower: least * lambdaMax, Default: defaultLambda1 * lambdaMax, Upper: lambdaMax, Zero: true}
}

// Lambda2 describes the squared ℓ₂ penalty of a linear learner. If allowZero is true, the learner
// also accepts λ2 = 0.
func Lambda2(m learn.Moments, allowZero bool) learn.Hyperparameter {
	return learn.Hyperparameter{Name: "λ2", Lower: leastLambda2 * m.Trace, Default: defaultLambda2 * m.Variance, Upper: mostLambda2 * m.Trace, Zero: allowZero}
}
