package qpdiff_test

import (
	"fmt"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// Two classes on a line: one row is on the elbow, and moving it moves θ.
func ExampleSVM() {
	d := qpdiff.Data{
		X: mat.NewDense(4, 1, []float64{2, .5, -1, -3}),
		Y: []float64{1, 1, -1, -1},
	}
	var l qpdiff.SVM
	theta := make([]float64, 1)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{.01, .8}); err != nil {
		panic(err)
	}
	g := qpdiff.Grad{Hyper: make([]float64, 2), X: mat.NewDense(4, 1, nil)}
	if err := l.VJP(nil, &g, []float64{1}); err != nil {
		panic(err)
	}
	fmt.Printf("θ %.3f, dθ/dλ %.3f, dθ/dx %.3f\n", theta, g.Hyper, g.X.RawMatrix().Data)
	// Output: θ [0.500], dθ/dλ [0.000 0.000], dθ/dx [-0.250 0.000 0.000 0.000]
}
