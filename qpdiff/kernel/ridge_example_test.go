package kernel_test

import (
	"errors"
	"fmt"
	"math"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// sine has nine points of a sine wave.
func sine() learn.Data {
	d := learn.Data{X: mat.NewDense(9, 1, nil), Y: make([]float64, 9)}
	for i := range d.Y {
		d.Dense().Set(i, 0, float64(i)/2)
		d.Y[i] = math.Sin(float64(i) / 2)
	}
	return d
}

// The prediction at a new point, and its derivative with respect to λ, the width of the
// kernel and the point.
func ExampleRidge() {
	l := kernel.Ridge{Kernel: kernel.RBF{}, Intercept: true}
	b := make([]float64, 1)
	x, f := mat.NewDense(1, 1, []float64{1.2}), make([]float64, 1)
	if err := errors.Join(l.Load(sine()), l.Fit(b, []float64{.01, .5}), l.Predict(nil, f, x)); err != nil {
		panic(err)
	}
	g, dx := learn.Grad{Hyper: make([]float64, 2)}, mat.NewDense(1, 1, nil)
	if err := l.PredictVJP(nil, &g, dx, x, []float64{1}); err != nil {
		panic(err)
	}
	fmt.Printf("f %.4f, sin %.4f, df/d(λ, γ) %.4f, df/dx %.4f\n", f[0], math.Sin(1.2), g.Hyper, dx.At(0, 0))
	// Output: f 0.9003, sin 0.9320, df/d(λ, γ) [-3.5686 0.0649], df/dx 0.3994
}

// Predictions of each row by the other rows, and the derivative of their squared error.
func ExampleRidge_LeaveOneOut() {
	d := sine()
	var l learn.LeaveOneOutLearner = &kernel.Ridge{Intercept: true}
	if err := l.Load(d); err != nil {
		panic(err)
	}
	predictions, slopes := make([]float64, 9), make([]float64, 9)
	for _, lambda := range []float64{.1, .01, .001} {
		hyper := []float64{lambda, .5}
		if err := l.LeaveOneOut(predictions, hyper); err != nil {
			panic(err)
		}
		loss := 0.0
		for i, y := range d.Y {
			r := predictions[i] - y
			loss += r * r / 9
			slopes[i] = 2 * r / 9
		}
		g := learn.Grad{Hyper: make([]float64, 2)}
		if err := l.LeaveOneOutVJP(nil, &g, nil, slopes); err != nil {
			panic(err)
		}
		fmt.Printf("λ = %v: loss %.4f, gradient %.4f\n", lambda, loss, g.Hyper)
	}
	// Output:
	// λ = 0.1: loss 0.1034, gradient [0.7309 -0.0004]
	// λ = 0.01: loss 0.0226, gradient [1.3899 0.0176]
	// λ = 0.001: loss 0.0069, gradient [2.6581 0.0219]
}

// A model without the training rows that it does not need.
func ExampleModel() {
	d := learn.Data{X: mat.NewDense(5, 1, []float64{1.5, .2, -.2, -2, -1}), Y: []float64{1, 1, -1, -1, -1}}
	var l kernel.Machine = &kernel.SVM{Intercept: true}
	if err := errors.Join(l.Load(d), l.Fit(make([]float64, 1), []float64{2, .2})); err != nil {
		panic(err)
	}
	m, err := l.Model()
	if err != nil {
		panic(err)
	}
	f := make([]float64, 2)
	if err := m.Predict(f, mat.NewDense(2, 1, []float64{1, -2})); err != nil {
		panic(err)
	}
	fmt.Printf("%d of %d rows, predictions %.4f\n", len(m.Coef), len(d.Y), f)
	// Output: 4 of 5 rows, predictions [0.7430 -1.0454]
}
