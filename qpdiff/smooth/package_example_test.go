package smooth_test

import (
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// The example differentiates the minimiser of ½(θ − y)² + ½λθ² in λ.
func Example() {
	l := smooth.Learner{Objective: smooth.Objective{
		NumHyper: 1,
		Gradient: func(g, theta []float64, d learn.Data, hyper []float64) { g[0] = theta[0] - d.Y[0] + hyper[0]*theta[0] },
		HVP:      func(hv, v, theta []float64, d learn.Data, hyper []float64) { hv[0] = (1 + hyper[0]) * v[0] },
		MixedVJP: func(g *learn.Grad, v, theta []float64, d learn.Data, hyper []float64) { g.Hyper[0] += v[0] * theta[0] },
	}}
	theta, g := make([]float64, 1), learn.Grad{Hyper: make([]float64, 1)}
	if err := l.Load(learn.Data{X: mat.NewDense(1, 1, []float64{1}), Y: []float64{3}}); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{.5}); err != nil {
		panic(err)
	}
	err := l.VJP(nil, &g, []float64{1})
	fmt.Printf("θ %.3f, dθ/dλ %.3f %v\n", theta, g.Hyper, err)
	// Output: θ [2.000], dθ/dλ [-1.333] <nil>
}
