package kernel_test

import (
	"errors"
	"fmt"
	"math"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// The example fits exclusive or and differentiates a decision value in C, the kernel's width and a
// row.
func ExampleSVM() {
	d := learn.Data{
		X: mat.NewDense(4, 2, []float64{1, 1, -1, -1, 1, -1, -1, 1}),
		Y: []float64{1, 1, -1, -1},
	}
	l := kernel.SVM{Kernel: kernel.RBF{}, Intercept: true}
	b := make([]float64, 1)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(b, []float64{10, .5}); err != nil {
		panic(err)
	}
	x := mat.NewDense(1, 2, []float64{.5, .8})
	f := make([]float64, 1)
	if err := l.Predict(nil, f, x); err != nil {
		panic(err)
	}
	g := learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(4, 2, nil)}
	if err := l.PredictVJP(nil, &g, nil, x, []float64{1}); err != nil {
		panic(err)
	}
	fmt.Printf("f %.4f, df/d(C, γ) %.4f, df/dx₁ %.4f\n", f[0], g.Hyper, g.X.RawRowView(0))
	// Output: f 0.5837, df/d(C, γ) [0.0000 0.2518], df/dx₁ [-0.7665 -0.4724]
}

// PredictJVP returns the change of a decision value for simultaneous changes of C, the kernel's
// width, a training row and the predicted point.
func ExampleSVM_PredictJVP() {
	data := learn.Data{
		X: mat.NewDense(4, 2, []float64{1, 1, -1, -1, 1, -1, -1, 1}),
		Y: []float64{1, 1, -1, -1},
	}
	l := kernel.SVM{Intercept: true}
	if err := errors.Join(l.Load(data), l.Fit(make([]float64, 1), []float64{10, .5})); err != nil {
		panic(err)
	}
	x, dx := mat.NewDense(1, 2, []float64{.5, .8}), mat.NewDense(1, 2, []float64{.1, 0})
	d := learn.Grad{Hyper: []float64{1, .2}, X: mat.NewDense(4, 2, []float64{0, -.1, 0, 0, 0, 0, 0, 0})}
	df := make([]float64, 1)
	if err := l.PredictJVP(nil, df, x, dx, &d); err != nil {
		panic(err)
	}
	fmt.Printf("df %.4f\n", df)
	// Output: df [0.1947]
}

// The example prints the dual variables of a fit. Rows 1 and 2 violate the margin, and row 3 is
// beyond the margin.
func ExampleSVM_Multipliers() {
	d := learn.Data{
		X: mat.NewDense(5, 1, []float64{1.5, .2, -.2, -2, -1}),
		Y: []float64{1, 1, -1, -1, -1},
	}
	l := kernel.SVM{Intercept: true}
	b := make([]float64, 1)
	if err := errors.Join(l.Load(d), l.Fit(b, []float64{2, .2})); err != nil {
		panic(err)
	}
	alpha, err := l.Multipliers(nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("α %.4f, b %.4f\n", alpha, b)
	// Output: α [1.0059 2.0000 2.0000 0.0000 1.0059], b [-0.0221]
}

func ExampleSVM_SupportVectors() {
	d := learn.Data{
		X: mat.NewDense(5, 1, []float64{1.5, .2, -.2, -2, -1}),
		Y: []float64{1, 1, -1, -1, -1},
	}
	l := kernel.SVM{Intercept: true}
	if err := errors.Join(l.Load(d), l.Fit(make([]float64, 1), []float64{2, .2})); err != nil {
		panic(err)
	}
	rows, err := l.SupportVectors(nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(rows)
	// Output: [0 1 2 4]
}

// laplacian is a user-defined Laplacian kernel on the line, with the logarithm of its scale as
// parameter.
type laplacian struct{}

func (laplacian) NumParams(n int) int          { return 1 }
func (laplacian) Check(params []float64) error { return nil }
func (laplacian) Eval(params, x, z []float64) float64 {
	return math.Exp(-math.Exp(params[0]) * math.Abs(x[0]-z[0]))
}

func (k laplacian) Grad(dparams, dx, dz []float64, s, value float64, params, x, z []float64) {
	s *= -math.Exp(params[0]) * value
	if dparams != nil {
		dparams[0] += s * math.Abs(x[0]-z[0])
	}
	side := 0.0 // of the kink at x = z
	if x[0] != z[0] {
		side = math.Copysign(s, s*(x[0]-z[0]))
	}
	if dx != nil {
		dx[0] += side
	}
	if dz != nil {
		dz[0] -= side
	}
}

func ExampleKernel() {
	l := kernel.SVM{Kernel: laplacian{}}
	if err := l.Load(learn.Data{X: mat.NewDense(3, 1, []float64{0, 1, 3}), Y: []float64{-1, 1, 1}}); err != nil {
		panic(err)
	}
	if err := l.Fit(nil, []float64{2, 0}); err != nil {
		panic(err)
	}
	f := make([]float64, 2)
	if err := l.Predict(nil, f, mat.NewDense(2, 1, []float64{0.2, 2})); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", f)
	// Output: [-0.584 0.648]
}

// The example evaluates the cubic polynomial kernel and its derivatives in the scale and the
// constant.
func ExamplePolynomial() {
	k := kernel.Polynomial{Degree: 3}
	params := []float64{.5, 1}
	x, z := []float64{1, 2}, []float64{3, -1}
	d := make([]float64, 2)
	value := k.Eval(params, x, z)
	k.Grad(d, nil, nil, 1, value, params, x, z)
	fmt.Println(value, d)
	// Output: 3.375 [6.75 6.75]
}

func ExampleRBF() {
	d := make([]float64, 1)
	x, z := []float64{1, 2}, []float64{1, 1}
	value := kernel.RBF{}.Eval([]float64{.5}, x, z)
	kernel.RBF{}.Grad(d, nil, nil, 1, value, []float64{.5}, x, z)
	fmt.Printf("%.4f %.4f\n", value, d)
	// Output: 0.6065 [-0.6065]
}
