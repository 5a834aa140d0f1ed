package kernel_test

import (
	"errors"
	"fmt"
	"math"
	"slices"

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

// The example differentiates a prediction in λ, in the width of the kernel and in its point.
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

// The leave-one-out predictions, and the derivative of their squared error.
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

// The example computes the loss of several random splits and its derivative with one factorisation.
func ExampleRidge_Folds() {
	d := sine()
	var l learn.FoldLearner = &kernel.Ridge{Intercept: true}
	if err := l.Load(d); err != nil {
		panic(err)
	}
	folds := [][]int{{0, 4, 7}, {1, 4, 8}, {2, 3, 6}, {5, 7, 8}, {0, 2, 5}, {1, 3, 6}}
	predictions, slopes := make([]float64, 18), make([]float64, 18)
	for _, lambda := range []float64{.1, .01, .001} {
		if err := l.Folds(predictions, []float64{lambda, .5}, folds); err != nil {
			panic(err)
		}
		loss := 0.0
		for t, i := range slices.Concat(folds...) {
			r := predictions[t] - d.Y[i]
			loss += r * r / 18
			slopes[t] = 2 * r / 18
		}
		g := learn.Grad{Hyper: make([]float64, 2)}
		if err := l.FoldsVJP(nil, &g, nil, slopes); err != nil {
			panic(err)
		}
		fmt.Printf("λ = %v: loss %.4f, gradient %.4f\n", lambda, loss, g.Hyper)
	}
	// Output:
	// λ = 0.1: loss 0.1402, gradient [0.7073 0.0316]
	// λ = 0.01: loss 0.0554, gradient [1.6593 0.0744]
	// λ = 0.001: loss 0.0302, gradient [5.7867 0.0888]
}

// The example makes a model without the training rows that it does not need.
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

// The label depends only on the first feature, so a larger width along the second feature reduces
// the leave-one-out error.
func ExampleARD() {
	d := learn.Data{X: mat.NewDense(12, 2, nil), Y: make([]float64, 12)}
	for i := range d.Y {
		a, b := float64(i)/2, math.Mod(float64(5*i), 7)/2
		d.Dense().SetRow(i, []float64{a, b})
		d.Y[i] = math.Sin(a)
	}
	l := kernel.Ridge{Kernel: kernel.ARD{Shape: kernel.Matern52}, Intercept: true}
	if err := l.Load(d); err != nil {
		panic(err)
	}
	predictions, slopes := make([]float64, 12), make([]float64, 12)
	for _, hyper := range [][]float64{{.001, .3, .3}, {.001, .3, .01}, {.001, .3, 0}} {
		if err := l.LeaveOneOut(predictions, hyper); err != nil {
			panic(err)
		}
		loss := 0.0
		for i, y := range d.Y {
			r := predictions[i] - y
			loss += r * r / 12
			slopes[i] = 2 * r / 12
		}
		g := learn.Grad{Hyper: make([]float64, 3)}
		if err := l.LeaveOneOutVJP(nil, &g, nil, slopes); err != nil {
			panic(err)
		}
		fmt.Printf("γ %v: mean squared error %.4f, slopes in γ %.3f\n", hyper[1:], loss, g.Hyper[1:])
	}
	// Output:
	// γ [0.3 0.3]: mean squared error 0.0886, slopes in γ [-0.019 0.221]
	// γ [0.3 0.01]: mean squared error 0.0068, slopes in γ [-0.010 0.213]
	// γ [0.3 0]: mean squared error 0.0047, slopes in γ [-0.003 0.188]
}

// Kernel values of the shapes at two distances: at one width, and far away.
func ExampleShape() {
	for _, s := range []kernel.Shape{kernel.Gaussian, kernel.Matern52, kernel.Matern32} {
		k := kernel.ARD{Shape: s}
		near := k.Eval([]float64{.5}, []float64{0}, []float64{1})
		far := k.Eval([]float64{.5}, []float64{0}, []float64{4})
		fmt.Printf("%v: %.3f, %.5f\n", s, near, far)
	}
	// Output:
	// Gaussian: 0.607, 0.00034
	// Matern52: 0.524, 0.00478
	// Matern32: 0.483, 0.00777
}
