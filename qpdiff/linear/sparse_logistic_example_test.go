package linear_test

import (
	"errors"
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// The example selects two of three features, and differentiates the weight of the hours of study in
// λ1 and λ2.
func ExampleSparseLogistic() {
	d := learn.Data{
		X: mat.NewDense(8, 3, []float64{
			.5, 7, 1,
			1, 8, 4,
			2, 5, 2,
			2.5, 8, 4,
			3, 6, 1,
			3.5, 5, 3,
			4, 8, 3,
			1.5, 6, 2,
		}),
		Y: []float64{-1, -1, -1, 1, 1, -1, 1, 1},
	}
	l := linear.SparseLogistic{Intercept: true}
	theta, g := make([]float64, 4), learn.Grad{Hyper: make([]float64, 2)}
	if err := errors.Join(l.Load(d), l.Fit(theta, []float64{.1, .1}), l.VJP(nil, &g, []float64{1, 0, 0, 0})); err != nil {
		panic(err)
	}
	fmt.Printf("weights %.3f, intercept %.3f\n", theta[:3], theta[3])
	fmt.Printf("d weight of study/d λ1 %.3f, /d λ2 %.3f\n", g.Hyper[0], g.Hyper[1])
	// Output:
	// weights [0.383 0.225 0.000], intercept -2.348
	// d weight of study/d λ1 -2.857, /d λ2 -1.045
}

// The first feature is not penalised. The other two features share their penalties.
func ExampleSparseLogistic_groups() {
	l := linear.SparseLogistic{Groups: []int{0, 1, 1}}
	params, hypers := l.Dims(3)
	fmt.Println(params, hypers)
	theta := make([]float64, params)
	d := learn.Data{
		X: mat.NewDense(4, 3, []float64{1, 1, 0, 1, -1, 1, 1, 2, 1, 1, 0, -1}),
		Y: []float64{1, -1, 1, 1},
	}
	if err := errors.Join(l.Load(d), l.Fit(theta, []float64{0, .3 /* λ2: */, 0, .1})); err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", theta)
	// Output:
	// 3 4
	// [1.0016 0.2259 0.0000]
}
