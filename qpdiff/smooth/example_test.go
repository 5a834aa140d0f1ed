package smooth_test

import (
	"fmt"
	"math"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// Poisson regression on one feature, Σ(exp(θx) − yθx) + λ/2·θ², which no
// learner of this package is: three products make it one.
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
			g.Hyper[0] += v[0] * theta[0] // ∇F answers to λ with θ
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

// ridge is 1/2·Σ(θx − y)² + λ/2·θ² on one feature, with all derivatives.
var ridge = smooth.Objective{
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

// One description of an objective serves both kinds of differentiation.
func ExampleObjective() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{0, 1, 2}), Y: []float64{1, 2, 6}}
	for _, l := range []learn.Learner{
		&smooth.Learner{Objective: ridge},
		&smooth.Unrolled{Objective: ridge, Steps: 50},
	} {
		_, nh := l.Dims(1)
		theta, g := make([]float64, 1), learn.Grad{Hyper: make([]float64, nh), Y: make([]float64, 3)}
		l.Load(d)
		l.Fit(theta, []float64{2, .1, .2}[:nh])
		l.VJP(nil, &g, []float64{1})
		fmt.Printf("θ %.4f, dθ/dλ %.4f, dθ/dy %.4f\n", theta, g.Hyper[0], g.Y)
	}
	// Output:
	// θ [2.0000], dθ/dλ -0.2857, dθ/dy [0.0000 0.1429 0.2857]
	// θ [2.0000], dθ/dλ -0.2857, dθ/dy [0.0000 0.1429 0.2857]
}

// The derivative in the learning rate and the momentum tells how to descend
// faster; near the minimum there is nothing left to gain.
func ExampleUnrolled() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{0, 1, 2}), Y: []float64{1, 2, 6}}
	for _, steps := range []int{3, 10, 100} {
		l := smooth.Unrolled{Objective: ridge, Steps: steps}
		theta, g := make([]float64, 1), learn.Grad{Hyper: make([]float64, 3)}
		l.Load(d)
		l.Fit(theta, []float64{2, .05, .1})
		l.VJP(nil, &g, []float64{1})
		fmt.Printf("%3d steps: θ %.4f, dθ/d(λ, η, μ) %.4f\n", steps, theta, g.Hyper)
	}
	// Output:
	//   3 steps: θ [1.5488], dθ/d(λ, η, μ) [-0.0875 18.7250 1.0500]
	//  10 steps: θ [1.9904], dθ/d(λ, η, μ) [-0.2732 1.5581 0.1423]
	// 100 steps: θ [2.0000], dθ/d(λ, η, μ) [-0.2857 0.0000 0.0000]
}
