package smooth

import (
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// Objective is your own learning objective F(θ), given only by products with its derivatives. F
// must be twice continuously differentiable and strongly convex in θ. A fit can be differentiated
// with respect to an input only if ∇F is differentiable with respect to this input. The functions
// must not write to their arguments, and must not keep references to them.
type Objective struct {
	// NumTheta returns the number of parameters for data with n features. If NumTheta is nil, there
	// are n parameters.
	NumTheta func(n int) int
	// NumHyper is the number of hyperparameters.
	NumHyper int
	// Check returns an error if the hyperparameters hyper are outside the domain of F. It is called
	// with NumHyper finite values. If Check is nil, all hyperparameters must be at least 0.
	Check func(hyper []float64) error
	// Gradient writes ∇F(θ) to g.
	Gradient func(g, theta []float64, d learn.Data, hyper []float64)
	// HVP writes ∇²F(θ)·v to hv.
	HVP func(hv, v, theta []float64, d learn.Data, hyper []float64)
	// MixedVJP adds derivatives of vᵀ∇F(θ) to the fields of g that are not nil. To each field it adds
	// the derivative with respect to the field's input: the hyperparameters, X or y. The vectors θ and
	// v stay fixed.
	MixedVJP func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64)
}

func (o *Objective) dims(n int) (theta, hyper int) {
	if o.NumTheta != nil {
		n = o.NumTheta(n)
	}
	return n, o.NumHyper
}

func (o *Objective) checkHyper(hyper []float64) error {
	if o.Check == nil || len(hyper) != o.NumHyper {
		return learner.CheckHyper(hyper, o.NumHyper)
	}
	if err := check.Finite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	return o.Check(hyper)
}
