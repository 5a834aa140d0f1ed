package penalised_test

import (
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/mat"
)

// The example fits counts with a ridge penalty and differentiates the first weight in this penalty.
func Example() {
	l := penalised.GLM{Loss: penalised.Poisson, Penalties: []penalised.Penalty{penalised.Ridge(0, 2)}, Intercept: true}
	d := learn.Data{X: mat.NewDense(5, 2, []float64{0, 1, 1, 0, 1, 2, 2, 1, 3, 0}), Y: []float64{0, 2, 3, 4, 9}}
	theta, g := make([]float64, 3), learn.Grad{Hyper: make([]float64, 1)}
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{1}); err != nil {
		panic(err)
	}
	err := l.VJP(nil, &g, []float64{1, 0, 0})
	fmt.Printf("%.3f, moves by %.4f %v\n", theta, g.Hyper[0], err)
	// Output: [0.834 0.158 -0.331], moves by -0.0943 <nil>
}
