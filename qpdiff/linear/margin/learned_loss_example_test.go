package margin_test

import (
	"errors"
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// The example differentiates θ in the weights of an equal mixture of four losses.
func ExampleLearnedLoss() {
	d := learn.Data{
		X: mat.NewDense(5, 1, []float64{2, .5, -.5, -1, -3}),
		Y: []float64{1, 1, 1, -1, -1},
	}
	var l margin.LearnedLoss
	theta := make([]float64, 1)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{.25, .25, .25, .25, .1}); err != nil {
		panic(err)
	}
	g := learn.Grad{Hyper: make([]float64, 5)}
	if err := l.VJP(nil, &g, []float64{1}); err != nil {
		panic(err)
	}
	fmt.Printf("θ %.4f, dθ/dα %.3f, dθ/dλ %.3f\n", theta[0], g.Hyper[:4], g.Hyper[4])
	// Output: θ 0.7870, dθ/dα [0.416 0.311 -0.150 0.078], dθ/dλ -1.637
}

// Row 0 is on the elbow because the kink of the hinge loss keeps its margin at 1.
func ExampleLearnedLoss_Elbow() {
	d := learn.Data{
		X: mat.NewDense(4, 1, []float64{2, .5, -1, -3}),
		Y: []float64{1, 1, -1, -1},
	}
	var l margin.LearnedLoss
	theta := make([]float64, 1)
	if err := errors.Join(l.Load(d), l.Fit(theta, []float64{1, 0, 0, .1, .9})); err != nil {
		panic(err)
	}
	elbow, err := l.Elbow(nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("θ %.3f, elbow %v\n", theta[0], elbow)
	// Output: θ 0.500, elbow [0]
}
