package linear_test

import (
	"errors"
	"fmt"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// orthogonalData returns data with XᵀX/N = I and Xᵀy/N = (3, 3, 2).
func orthogonalData() learn.Data {
	return learn.Data{
		X: mat.NewDense(4, 3, []float64{
			1, 1, 1,
			1, -1, 1,
			1, 1, -1,
			1, -1, -1,
		}),
		Y: []float64{8, 2, 4, -2},
	}
}

// A row of weight 2 counts the same as a row that Rows lists twice.
func ExampleData() {
	x, y := mat.NewDense(3, 1, []float64{1, 1, 1}), []float64{1, 4, 9}
	for _, d := range []learn.Data{
		{X: x, Y: y, Weights: []float64{2, 1, 0}},
		{X: x, Y: y, Rows: []int{0, 0, 1}},
	} {
		var net linear.ElasticNet
		theta, g := make([]float64, 1), learn.Grad{Y: make([]float64, 3)}
		if err := errors.Join(net.Load(d), net.Fit(theta, []float64{0, 0}), net.VJP(nil, &g, []float64{1})); err != nil {
			panic(err)
		}
		fmt.Printf("%.4f %.4f\n", theta, g.Y)
	}
	// Output:
	// [2.0000] [0.6667 0.3333 0.0000]
	// [2.0000] [0.6667 0.3333 0.0000]
}

// The example differentiates the sum of the coefficients in both penalties and in the labels.
func ExampleElasticNet() {
	var net linear.ElasticNet
	if err := net.Load(orthogonalData()); err != nil {
		panic(err)
	}
	theta := make([]float64, 3)
	if err := net.Fit(theta, []float64{1, 1}); err != nil {
		panic(err)
	}
	fmt.Println("theta:", theta)

	g := learn.Grad{Hyper: make([]float64, 2), Y: make([]float64, 4)}
	if err := net.VJP(nil, &g, []float64{1, 1, 1}); err != nil {
		panic(err)
	}
	fmt.Println("with respect to λ1, λ2:", g.Hyper)
	fmt.Println("with respect to y:", g.Y)
	// Output:
	// theta: [1 1 0.5]
	// with respect to λ1, λ2: [-1.5 -1.25]
	// with respect to y: [0.375 0.125 0.125 -0.125]
}

// The first two features share their penalties, and the last feature has its own.
func ExampleElasticNet_groups() {
	net := linear.ElasticNet{Groups: []int{0, 0, 1}}
	theta := make([]float64, 3)
	g := learn.Grad{Hyper: make([]float64, 4)}
	if err := errors.Join(net.Load(orthogonalData()), net.Fit(theta, []float64{1, 3 /* λ2: */, 1, 0}), net.VJP(nil, &g, []float64{1, 1, 1})); err != nil {
		panic(err)
	}
	fmt.Println("theta:", theta)
	fmt.Println("with respect to λ1 and λ2 of each group:", g.Hyper)
	// Output:
	// theta: [1 1 0]
	// with respect to λ1 and λ2 of each group: [-1 0 -1 0]
}

// Each feature has its own penalties, and the first feature has none.
func ExamplePerFeature() {
	net := linear.ElasticNet{Groups: linear.PerFeature(3)}
	if err := net.Load(orthogonalData()); err != nil {
		panic(err)
	}
	theta := make([]float64, 3)
	if err := net.Fit(theta, []float64{0, 1, 3 /* λ2: */, 0, 1, 0}); err != nil {
		panic(err)
	}
	fmt.Println(theta)
	// Output: [3 1 0]
}

// At a kink, θ has no derivative in λ1, but a one-sided derivative in each direction.
func ExampleElasticNet_JVP() {
	var net linear.ElasticNet
	if err := net.Load(orthogonalData()); err != nil {
		panic(err)
	}
	theta := make([]float64, 3)
	if err := net.Fit(theta, []float64{2, 0}); err != nil {
		panic(err)
	}
	err := net.VJP(nil, &learn.Grad{Hyper: make([]float64, 2)}, theta)
	var kink *qpdiff.NotDifferentiableError
	fmt.Println("kink at:", errors.As(err, &kink), kink.Weak)

	dtheta := make([]float64, 3)
	for _, direction := range []float64{1, -1} {
		if err := net.JVP(nil, dtheta, &learn.Grad{Hyper: []float64{direction, 0}}); err != nil {
			panic(err)
		}
		fmt.Printf("λ1 %+g: %v\n", direction, dtheta)
	}
	// Output:
	// kink at: true coordinates [2]
	// λ1 +1: [-1 -1 0]
	// λ1 -1: [1 1 1]
}
