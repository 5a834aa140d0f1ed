package margin_test

import (
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// The example lists the support vectors of an SVM, and differentiates the first coefficient in λ1
// and λ2.
func Example() {
	d := learn.Data{X: mat.NewDense(4, 2, []float64{1, 1, 2, 0, -1, -.5, -3, 1}), Y: []float64{1, 1, -1, -1}}
	var l margin.SVM
	theta := make([]float64, 2)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{.05, .3}); err != nil {
		panic(err)
	}
	support, _ := l.SupportVectors(nil)
	g := learn.Grad{Hyper: make([]float64, 2)}
	err := l.VJP(nil, &g, []float64{1, 0})
	fmt.Printf("%.3f, rows %v, derivative of the first %.3f %v\n", theta, support, g.Hyper, err)
	// Output: [0.708 0.292], rows [0 2], derivative of the first [0.000 -0.694] <nil>
}
