package linear_test

import (
	"errors"
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// At a small δ, the derivative of the slope in the label of an outlier is 0.
func ExampleHuber() {
	d := learn.Data{
		X: mat.NewDense(6, 1, []float64{0, 1, 2, 3, 4, 5}),
		Y: []float64{1, 2.9, 5.1, 7, 30, 11},
	}
	l := linear.Huber{Intercept: true}
	theta := make([]float64, 2)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	for _, delta := range []float64{100, .5} {
		g := learn.Grad{Hyper: make([]float64, 2), Y: make([]float64, 6)}
		if err := errors.Join(l.Fit(theta, []float64{.001, delta}), l.VJP(nil, &g, []float64{1, 0})); err != nil {
			panic(err)
		}
		fmt.Printf("δ = %v: slope %.3f, intercept %.3f\n", delta, theta[0], theta[1])
		fmt.Printf("\tslope with respect to λ2, δ %.3f, to the labels %.3f\n", g.Hyper, g.Y)
	}
	// Output:
	// δ = 100: slope 3.804, intercept -0.011
	// 	slope with respect to λ2, δ [-1.304 0.000], to the labels [-0.143 -0.086 -0.029 0.029 0.086 0.143]
	// δ = 0.5: slope 2.067, intercept 0.953
	// 	slope with respect to λ2, δ [-0.838 0.122], to the labels [-0.149 -0.081 -0.014 0.054 0.000 0.189]
}
