package differentiability

import (
	"context"
	"cvgm/cvgm/experiment"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/floats"
)

// UnrolledParams are the parameters of the comparison of implicit with iterative differentiation
// (Section 2.2 of the paper). The learner is ridge regression on the training rows of the paper's
// first experiment. Its test loss is the loss on the test rows. The derivative of the test loss in
// the penalty is computed in two ways. Implicit differentiation uses the optimality condition of
// the fit. Iterative differentiation goes through the steps of the gradient descent that computes
// the fit.
type UnrolledParams struct {
	experiment.PublishedRegression
	UnrolledSteps []int     `help:"ascending numbers of steps of the gradient descent differentiated through" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[1,30]"`
	Penalty       float64   `help:"λ2 at which learning rates are compared" range:"[0,∞)" small:"[1e-3,1]" setting:"λ2 = %v"`
	Rates         []float64 `help:"learning rates times the largest curvature; descent converges below 2" range:"(0,∞)" small:"[.01,2.5]"`
	Momentum      float64   `help:"momentum of one more run, at the learning rate 1" range:"[0,1)" small:"[.1,.9]" setting:"momentum %v"`
	Penalties     []float64 `help:"values of λ2 compared at the learning rate 1" range:"[0,∞)" small:"[1e-3,1]"`
	Conditions    []float64 `help:"condition numbers at which the rounding of the derivative is measured, through all steps" range:"[1,1e30]" small:"[1,1e6]"`
}

// DefaultUnrolled returns the default parameters.
func DefaultUnrolled() UnrolledParams {
	return UnrolledParams{
		PublishedRegression: experiment.PaperData,
		UnrolledSteps:       []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000},
		Penalty:             .01, Rates: []float64{.01, .1, 1, 1.9, 2.1}, Momentum: .5,
		Penalties: []float64{.001, .01, .1, 1}, Conditions: []float64{1e2, 1e4, 1e8, 1e12},
	}
}

func (UnrolledParams) Defaults() any { return DefaultUnrolled() }

// ridge is the objective 1/(2N)·‖Xθ − y‖² + ½λ‖θ‖².
var ridge = smooth.Objective{
	NumHyper: 1,
	Gradient: func(g, theta []float64, d learn.Data, hyper []float64) {
		floats.ScaleTo(g, hyper[0], theta)
		for i, y := range d.Y {
			x := d.Dense().RawRowView(i)
			floats.AddScaled(g, (floats.Dot(x, theta)-y)/float64(len(d.Y)), x)
		}
	},
	HVP: func(hv, v, theta []float64, d learn.Data, hyper []float64) {
		floats.ScaleTo(hv, hyper[0], v)
		for i := range d.Y {
			x := d.Dense().RawRowView(i)
			floats.AddScaled(hv, floats.Dot(x, v)/float64(len(d.Y)), x)
		}
	},
	MixedVJP: func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64) {
		if g.Hyper != nil {
			g.Hyper[0] += floats.Dot(v, theta)
		}
	},
}

// testGradient fits the learner to the training rows. It returns the test loss of the fit, and the
// derivative of the test loss in the first hyperparameter.
func testGradient(ctx context.Context, train, test learn.Data, l learn.Learner, hyper []float64) (loss, derivative float64, err error) {
	_, n := train.X.Dims()
	theta, dtheta := make([]float64, n), make([]float64, n)
	if err := experiment.Fit(ctx, l, train, theta, hyper); err != nil {
		return 0, 0, err
	}
	for i, y := range test.Y {
		x := test.Dense().RawRowView(i)
		residual := floats.Dot(x, theta) - y
		loss += residual * residual / float64(len(test.Y))
		floats.AddScaled(dtheta, 2*residual/float64(len(test.Y)), x)
	}
	g := learn.Grad{Hyper: make([]float64, len(hyper))}
	if err := l.VJP(nil, &g, dtheta); err != nil {
		return 0, 0, err
	}
	return loss, g.Hyper[0], nil
}
