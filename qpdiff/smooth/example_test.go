package smooth_test

import (
	"fmt"
	"math"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// Three products with derivatives turn Poisson regression on one feature into a learner. The
// objective is Σ(exp(θx) − yθx) + λ/2·θ².
func ExampleLearner() {
	poisson := smooth.Objective{
		NumHyper: 1,
		Gradient: func(g, theta []float64, d learn.Data, hyper []float64) {
			g[0] = hyper[0] * theta[0]
			for i, x := range d.Dense().RawMatrix().Data {
				g[0] += (math.Exp(theta[0]*x) - d.Y[i]) * x
			}
		},
		HVP: func(hv, v, theta []float64, d learn.Data, hyper []float64) {
			hv[0] = hyper[0] * v[0]
			for _, x := range d.Dense().RawMatrix().Data {
				hv[0] += math.Exp(theta[0]*x) * x * x * v[0]
			}
		},
		MixedVJP: func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64) {
			g.Hyper[0] += v[0] * theta[0] // ∂∇F/∂λ = θ
		},
	}
	l := smooth.Learner{Objective: poisson}
	theta, g := make([]float64, 1), learn.Grad{Hyper: make([]float64, 1)}
	l.Load(learn.Data{X: mat.NewDense(3, 1, []float64{0, 1, 2}), Y: []float64{1, 2, 6}})
	l.Fit(theta, []float64{.5})
	l.VJP(nil, &g, []float64{1})
	fmt.Printf("θ %.4f, dθ/dλ %.4f\n", theta, g.Hyper)
	// Output: θ [0.8615], dθ/dλ [-0.0341]
}

// ridgeObjective is 1/2·Σ(θx − y)² + λ/2·θ² on one feature, with all derivatives.
var ridgeObjective = smooth.Objective{
	NumHyper: 1,
	Gradient: func(g, theta []float64, d learn.Data, hyper []float64) {
		g[0] = hyper[0] * theta[0]
		for i, x := range d.Dense().RawMatrix().Data {
			g[0] += (theta[0]*x - d.Y[i]) * x
		}
	},
	HVP: func(hv, v, theta []float64, d learn.Data, hyper []float64) {
		hv[0] = hyper[0] * v[0]
		for _, x := range d.Dense().RawMatrix().Data {
			hv[0] += x * x * v[0]
		}
	},
	MixedVJP: func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64) {
		if g.Hyper != nil {
			g.Hyper[0] += v[0] * theta[0]
		}
		for i, x := range d.Dense().RawMatrix().Data {
			if g.X != nil {
				g.X.RawRowView(i)[0] += v[0] * (2*theta[0]*x - d.Y[i])
			}
			if g.Y != nil {
				g.Y[i] -= v[0] * x
			}
		}
	},
}

// The three products of an Objective give the derivatives in λ and in the labels.
func ExampleObjective() {
	l := smooth.Learner{Objective: ridgeObjective}
	theta, g := make([]float64, 1), learn.Grad{Hyper: make([]float64, 1), Y: make([]float64, 3)}
	l.Load(learn.Data{X: mat.NewDense(3, 1, []float64{0, 1, 2}), Y: []float64{1, 2, 6}})
	l.Fit(theta, []float64{2})
	l.VJP(nil, &g, []float64{1})
	fmt.Printf("θ %.4f, dθ/dλ %.4f, dθ/dy %.4f\n", theta, g.Hyper, g.Y)
	// Output: θ [2.0000], dθ/dλ [-0.2857], dθ/dy [0.0000 0.1429 0.2857]
}
