package cvgm

import (
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Decider is a [Learner] whose prediction is not θᵀx but depends on the
// training data and the hyperparameters as well, as a kernel method's does. A
// CV and a Model take their predictions and derivatives from it.
type Decider interface {
	Learner
	// Decide writes the prediction for each row of x at the last successful Fit
	// to dst.
	Decide(dst []float64, x *mat.Dense) error
	// DecideVJP adds the derivative of Σ_t ddst_t·prediction(x_t), through the fit
	// and directly, to each field of g that is not nil, and the derivative with
	// respect to x to dx, unless that is nil.
	DecideVJP(g *qpdiff.Grad, dx, x *mat.Dense, ddst []float64) error
}
