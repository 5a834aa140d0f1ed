package margin_test

import (
	"errors"
	"fmt"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// θ changes only if the row on the elbow moves.
func ExampleSVM() {
	d := learn.Data{
		X: mat.NewDense(4, 1, []float64{2, .5, -1, -3}),
		Y: []float64{1, 1, -1, -1},
	}
	var l margin.SVM
	theta := make([]float64, 1)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{.01, .8}); err != nil {
		panic(err)
	}
	g := learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(4, 1, nil)}
	if err := l.VJP(nil, &g, []float64{1}); err != nil {
		panic(err)
	}
	fmt.Printf("θ %.3f, dθ/dλ %.3f, dθ/dx %.3f\n", theta, g.Hyper, g.X.RawMatrix().Data)
	// Output: θ [0.500], dθ/dλ [0.000 0.000], dθ/dx [-0.250 0.000 0.000 0.000]
}

// Rows 1 and 2 violate the margin, row 0 is on the elbow, and row 3 is beyond the margin.
func ExampleSVM_Multipliers() {
	d := learn.Data{
		X: mat.NewDense(4, 1, []float64{2, .5, -1, -3}),
		Y: []float64{1, 1, -1, -1},
	}
	var l margin.SVM
	if err := errors.Join(l.Load(d), l.Fit(make([]float64, 1), []float64{.01, .8})); err != nil {
		panic(err)
	}
	b, err := l.Multipliers(nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.4f\n", b)
	// Output: [0.0175 0.2500 0.2500 0.0000]
}

func ExampleSVM_SupportVectors() {
	d := learn.Data{
		X: mat.NewDense(4, 1, []float64{2, .5, -1, -3}),
		Y: []float64{1, 1, -1, -1},
	}
	var l margin.SVM
	if err := errors.Join(l.Load(d), l.Fit(make([]float64, 1), []float64{.01, .8})); err != nil {
		panic(err)
	}
	rows, err := l.SupportVectors(nil)
	if err != nil {
		panic(err)
	}
	elbow, err := l.Elbow(nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("support vectors", rows, "elbow", elbow)
	// Output: support vectors [0 1 2] elbow [0]
}

// Three rows on the elbow are tied. The derivative in X holds only for moves that keep their y·x
// equal.
func ExampleTiedLearner() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, -1}), Y: []float64{1, 1, -1}}
	var svm margin.SVM
	if err := errors.Join(svm.Load(d), svm.Fit(make([]float64, 1), []float64{0, .5})); err != nil {
		panic(err)
	}
	var l learn.TiedLearner = &svm
	w, g := new(qpdiff.Workspace), learn.Grad{X: mat.NewDense(3, 1, nil)}
	if err := l.VJP(w, &g, []float64{1}); err != nil {
		panic(err)
	}
	fmt.Printf("dX: %.4f\n", g.X.RawMatrix().Data)
	l.Ties(w, func(i, k int, sign float64, d []float64) bool {
		if d[0] != 0 {
			fmt.Printf("rows %d and %d: sign %+g, d = %.0f\n", i, k, sign, d)
		}
		return true
	})
	// Output:
	// dX: [-0.3333 -0.3333 0.3333]
	// rows 0 and 1: sign +1, d = [1]
	// rows 0 and 2: sign -1, d = [1]
}
