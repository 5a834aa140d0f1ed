package learn_test

import (
	"errors"
	"fmt"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// fitted loads and fits a learner, and returns its θ.
func fitted(l learn.Learner, d learn.Data, hyper ...float64) []float64 {
	_, n := d.X.Dims()
	params, _ := l.Dims(n)
	theta := make([]float64, params)
	if err := errors.Join(l.Load(d), l.Fit(theta, hyper)); err != nil {
		panic(err)
	}
	return theta
}

// An ArgError describes an argument, the problem with it and the remedy.
func ExampleArgError() {
	d := learn.Data{X: mat.NewDense(2, 1, []float64{1, math.NaN()}), Y: []float64{1, -1}}
	err := new(linear.ElasticNet).Load(d)
	var e *qpdiff.ArgError
	if errors.As(err, &e) {
		fmt.Println(e.Arg, "|", e.Problem, "|", e.Remedy)
	}
	fmt.Println(errors.Is(err, qpdiff.ErrNotFinite))
	// Output:
	// Data.X | holds NaN at row 1, column 0 | remove or impute the entry
	// true
}

// The example lists learners that need less than 1 GB. Load returns an error instead of exceeding
// MaxBytes.
func ExampleSizedLearner() {
	size := learn.Size{Rows: 100, Features: 50_000, Counting: 100}
	for _, l := range []learn.SizedLearner{new(linear.ElasticNet), new(margin.SVM)} {
		fmt.Printf("%T: %v\n", l, l.Bytes(size) < 1e9)
	}
	d := learn.Data{X: mat.NewDense(2, 3, nil), Y: []float64{1, -1}, MaxBytes: 1000}
	fmt.Println(errors.Is(new(margin.SVM).Load(d), qpdiff.ErrTooLarge))
	// Output:
	// *linear.ElasticNet: true
	// *margin.SVM: false
	// true
}

// oneHot is a sparse matrix whose rows store a one in the column of their category.
type oneHot struct {
	category []int
	levels   int
}

func (x oneHot) Dims() (r, c int) { return len(x.category), x.levels }
func (x oneHot) T() mat.Matrix    { return mat.Transpose{Matrix: x} }

func (x oneHot) At(i, j int) float64 {
	if x.category[i] == j {
		return 1
	}
	return 0
}

// DoRowNonZero makes oneHot a mat.RowNonZeroDoer, which suffices for a learner that reads stored
// entries.
func (x oneHot) DoRowNonZero(i int, visit func(i, j int, v float64)) { visit(i, x.category[i], 1) }

// The learner centres a sparse matrix of 100,000 features while it reads the stored entries.
func ExampleViewLearner() {
	x := oneHot{[]int{7, 7, 50_000, 99_999}, 100_000}
	d := learn.Data{X: x, Y: []float64{2, 2, -2, -2}, Centre: make([]float64, x.levels)}
	for _, j := range x.category {
		d.Centre[j] += 1. / 4
	}
	var l learn.ViewLearner = new(linear.ElasticNet)
	fmt.Println("read in place:", l.Views(d.Size()))
	theta := fitted(l, d, .01, .1)
	for j, v := range theta {
		if v != 0 {
			fmt.Printf("θ_%d = %.3f\n", j, v)
		}
	}
	cotangent := make([]float64, x.levels)
	cotangent[7] = 1
	g := &learn.Grad{Stored: make([]float64, d.Stored())}
	if err := l.VJP(nil, g, cotangent); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", g.Stored)
	// Output:
	// read in place: true
	// θ_7 = 2.111
	// θ_50000 = -1.005
	// θ_99999 = -1.005
	// [-0.032 -0.032 -0.555 -0.555]
}

// The residual of a fit, from the data.
func ExampleVerifiedLearner() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1, -1, .5}), Y: []float64{1, -1, -1}}
	for _, l := range []learn.VerifiedLearner{new(linear.ElasticNet), new(linear.Huber), new(margin.SVM)} {
		fitted(l, d, .1, .5)
		residual, err := l.Residual()
		fmt.Printf("%T: %v %v\n", l, residual < 1e-12, err)
	}
	// Output:
	// *linear.ElasticNet: true <nil>
	// *linear.Huber: true <nil>
	// *margin.SVM: true <nil>
}

// For each learner that has a JVP, the hyperparameters change in the same way.
func ExampleForwardLearner() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1, -1, .5}), Y: []float64{1, -1, -1}}
	for _, l := range []learn.ForwardLearner{new(linear.ElasticNet), new(margin.SVM)} {
		theta := fitted(l, d, .1, .5)
		dtheta := make([]float64, 1)
		if err := l.JVP(nil, dtheta, &learn.Grad{Hyper: []float64{1, 0}}); err != nil {
			panic(err)
		}
		fmt.Printf("%T: θ %.3f, dθ/dλ1 %.3f\n", l, theta[0], dtheta[0])
	}
	// Output:
	// *linear.ElasticNet: θ 0.320, dθ/dλ1 -0.800
	// *margin.SVM: θ 0.800, dθ/dλ1 -2.000
}

// Leave-one-out with any SubsetLearner.
func ExampleSubsetLearner() {
	d := learn.Data{X: mat.NewDense(4, 1, []float64{1, -1, .5, -2}), Y: []float64{1, -1, -1, -1}}
	full := new(linear.Logistic)
	fitted(full, d, 1)
	var part learn.SubsetLearner = new(linear.Logistic)
	theta := make([]float64, 1)
	for i := range d.Y {
		if err := errors.Join(part.LoadSubset(full, []int{i}), part.Fit(theta, []float64{1})); err != nil {
			panic(err)
		}
		fmt.Printf("without example %d: %.3f\n", i, theta[0])
	}
	// Output:
	// without example 0: 0.565
	// without example 1: 0.565
	// without example 2: 0.880
	// without example 3: 0.483
}

// At a kink, VJP returns an error, or an element of the generalised derivative if the learner
// allows this.
func ExampleKinkedLearner() {
	d := learn.Data{X: mat.NewDense(1, 1, []float64{1}), Y: []float64{2}}
	var l learn.KinkedLearner = new(linear.ElasticNet)
	fitted(l, d, 2, 1) // λ1 = |xᵀy|/N
	g := &learn.Grad{Y: make([]float64, 1)}
	fmt.Println(errors.Is(l.VJP(nil, g, []float64{1}), qpdiff.ErrNotDifferentiable))
	l.SetGeneralised(true)
	if err := l.VJP(nil, g, []float64{1}); err != nil {
		panic(err)
	}
	fmt.Println(g.Y, g.Generalised)
	// Output:
	// true
	// [0] true
}

// The prediction of a kernel method depends on the training data, here on the label of the first
// example.
func ExamplePredictor() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{0, 1, 3}), Y: []float64{1, -1, 1}}
	var l learn.Predictor = new(kernel.SVM)
	fitted(l, d, 10, .5)
	x, prediction := mat.NewDense(1, 1, []float64{.4}), make([]float64, 1)
	var w qpdiff.Workspace
	g := &learn.Grad{Y: make([]float64, 3)}
	if err := errors.Join(l.Predict(&w, prediction, x), l.PredictVJP(&w, g, nil, x, []float64{1})); err != nil {
		panic(err)
	}
	fmt.Printf("%.3f, changes by %.3f for each unit of the label\n", prediction[0], g.Y[0])
	// Output: 0.180, changes by -0.655 for each unit of the label
}

// An elastic net describes its hyperparameters for data of the given moments and creates a new
// learner.
func ExampleTunable() {
	var l learn.Tunable = &linear.ElasticNet{Generalised: true}
	for _, h := range l.Hyperparameters(learn.Moments{Trace: 5, Variance: 1, Correlation: 2}) {
		fmt.Printf("%s from %.2g to %.2g, default %.2g\n", h.Name, h.Lower, h.Upper, h.Default)
	}
	fmt.Println(l.Convention().Loss == learn.SquaredError, l.New().(*linear.ElasticNet).Generalised)
	// Output:
	// λ1 from 2e-05 to 2, default 0.06
	// λ2 from 5e-08 to 50, default 0.03
	// true true
}

// Two learners on overlapping parts of the rows share a Gram, so each learner sums only over the
// rows that it omits.
func ExampleGram() {
	const rows = 8000
	x, y := mat.NewDense(rows, 2, nil), make([]float64, rows)
	for i := range rows {
		t := float64(i) / rows
		x.SetRow(i, []float64{math.Sin(9 * t), math.Cos(7 * t)})
		y[i] = 2*x.At(i, 0) - x.At(i, 1)
	}
	shared := learn.NewGram(x, nil)
	for first := 0; first <= rows/4; first += rows / 4 {
		part := make([]int, rows*3/4)
		for i := range part {
			part[i] = first + i
		}
		theta := fitted(new(linear.ElasticNet), learn.Data{X: x, Y: y, Rows: part, Gram: shared}, .1, 0)
		fmt.Printf("%.4f\n", theta)
	}
	other := learn.Data{X: mat.NewDense(1, 1, []float64{1}), Y: []float64{1}, Gram: shared}
	fmt.Println(new(linear.ElasticNet).Load(other))
	// Output:
	// [1.3291 -0.3187]
	// [0.8938 0.0000]
	// linear.ElasticNet: Data.Gram is that of another matrix (outside its domain): give NewGram(X, weights) of the same X, or nil
}

// Four fits together, as a cross-validation makes them, and their derivatives.
func ExampleBatchLearner() {
	batch := make([]learn.BatchItem, 4)
	for i := range batch {
		d := learn.Data{X: mat.NewDense(3, 1, []float64{1, -1, .5}), Y: []float64{1, -1, float64(i)}}
		net := new(linear.ElasticNet)
		batch[i] = learn.BatchItem{Learner: net, Theta: make([]float64, 1), Grad: &learn.Grad{Hyper: make([]float64, 2)}, DTheta: []float64{1}, Err: net.Load(d)}
	}
	var l learn.BatchLearner = new(linear.ElasticNet)
	var w qpdiff.Workspace
	l.FitBatch(&w, batch, []float64{.1, .5})
	l.VJPBatch(&w, batch)
	for _, b := range batch {
		fmt.Printf("θ %.3f, dθ/dλ %.3f, %v\n", b.Theta, b.Grad.Hyper, b.Err)
	}
	// Output:
	// θ [0.453], dθ/dλ [-0.800 -0.363], <nil>
	// θ [0.587], dθ/dλ [-0.800 -0.469], <nil>
	// θ [0.720], dθ/dλ [-0.800 -0.576], <nil>
	// θ [0.853], dθ/dλ [-0.800 -0.683], <nil>
}
