package linear_test

import (
	"fmt"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// An outlier moves the least-squares line farther than the line of the Huber loss.
func Example() {
	x := mat.NewDense(5, 1, []float64{-2, -1, 0, 1, 2})
	d := learn.Data{X: x, Y: []float64{-2, -1, 0, 1, 20}}
	theta := make([]float64, 1)
	for _, l := range []learn.Learner{&linear.ElasticNet{}, &linear.Huber{}} {
		if err := l.Load(d); err != nil {
			panic(err)
		}
		err := l.Fit(theta, []float64{0, 1})
		fmt.Printf("%T %.2f %v\n", l, theta, err)
	}
	// Output:
	// *linear.ElasticNet [3.07] <nil>
	// *linear.Huber [1.33] <nil>
}
