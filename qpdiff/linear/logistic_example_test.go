package linear_test

import (
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// The example predicts passed examinations from hours of study, and differentiates the slope in C.
func ExampleLogistic() {
	d := learn.Data{
		X: mat.NewDense(6, 1, []float64{.5, 1, 2, 2.5, 3, 4}),
		Y: []float64{-1, -1, -1, 1, -1, 1},
	}
	l := linear.Logistic{Intercept: linear.UnpenalisedIntercept}
	theta := make([]float64, 2)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{10}); err != nil {
		panic(err)
	}
	g := learn.Grad{Hyper: make([]float64, 1)}
	if err := l.VJP(nil, &g, []float64{1, 0}); err != nil {
		panic(err)
	}
	fmt.Printf("slope %.3f, intercept %.3f, d slope/dC %.4f\n", theta[0], theta[1], g.Hyper[0])
	// Output: slope 1.594, intercept -4.620, d slope/dC 0.0246
}

func ExampleIntercept() {
	n := 3
	for _, kind := range []linear.Intercept{linear.NoIntercept, linear.UnpenalisedIntercept, linear.PenalisedIntercept} {
		l := linear.Logistic{Intercept: kind}
		theta, hyper := l.Dims(n)
		fmt.Println(theta, hyper)
	}
	// Output:
	// 3 1
	// 4 1
	// 4 1
}

// In leave-one-out, each fit starts at the solution of the fit to all examples.
func ExampleLogistic_LoadSubset() {
	d := learn.Data{
		X: mat.NewDense(6, 1, []float64{.5, 1, 2, 2.5, 3, 4}),
		Y: []float64{-1, -1, -1, 1, -1, 1},
	}
	full := linear.Logistic{Intercept: linear.UnpenalisedIntercept}
	part := full
	theta, hyper := make([]float64, 2), []float64{10}
	if err := full.Load(d); err != nil {
		panic(err)
	}
	if err := full.Fit(theta, hyper); err != nil {
		panic(err)
	}
	fmt.Printf("all: slope %.4f\n", theta[0])
	for i := range d.Y {
		if err := part.LoadSubset(&full, []int{i}); err != nil {
			panic(err)
		}
		if err := part.Fit(theta, hyper); err != nil {
			panic(err)
		}
		fmt.Printf("without %d: slope %.4f\n", i, theta[0])
	}
	// Output:
	// all: slope 1.5939
	// without 0: slope 1.5105
	// without 1: slope 1.4489
	// without 2: slope 1.3812
	// without 3: slope 2.5458
	// without 4: slope 2.5662
	// without 5: slope 1.0426
}
