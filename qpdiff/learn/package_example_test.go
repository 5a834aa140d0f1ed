package learn_test

import (
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// The example fits data and differentiates θ in the hyperparameters and the labels.
func Example() {
	d := learn.Data{X: mat.NewDense(3, 1, []float64{1, 2, 3}), Y: []float64{2, 3, 5}}
	var l learn.Learner = &linear.ElasticNet{}
	theta := make([]float64, 1)
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(theta, []float64{.1, .2}); err != nil {
		panic(err)
	}
	g := learn.Grad{Hyper: make([]float64, 2), Y: make([]float64, 3)}
	err := l.VJP(nil, &g, []float64{1})
	fmt.Printf("%.3f %.3f %.3f %v\n", theta, g.Hyper, g.Y, err)
	// Output: [1.555] [-0.205 -0.319] [0.068 0.137 0.205] <nil>
}
