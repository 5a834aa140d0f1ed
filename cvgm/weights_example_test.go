package cvgm_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// With balanced weights, the CV loss is the mean of the losses of the classes, even if one class is
// rare.
func ExampleBalancedWeights() {
	y := []float64{1, 1, -1, 1, 1, -1, 1, 1}
	weights, err := cvgm.BalancedWeights(y)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", weights)
	cv, err := cvgm.New(cvgm.Config{
		Data:    learn.Data{X: mat.NewDense(8, 1, []float64{2, 1, -1, 3, -1, -2, 2, 1}), Y: y, Weights: weights},
		Splits:  []cvgm.Split{{Train: []int{0, 1, 2, 3}, Val: []int{4, 5, 6, 7}}},
		Learner: func() learn.Learner { return new(margin.SVM) },
		Loss:    cvgm.ZeroOne{},
	})
	if err != nil {
		panic(err)
	}
	// The loss is the mean of 1/3 for class 1 and 0 for class −1.
	loss, err := cv.Eval(nil, []float64{.1, .1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("error rate %.3f\n", loss)
	// Output:
	// [0.667 0.667 2.000 0.667 0.667 2.000 0.667 0.667]
	// error rate 0.167
}
