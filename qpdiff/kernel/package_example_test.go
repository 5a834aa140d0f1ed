package kernel_test

import (
	"fmt"
	"math"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A kernel ridge regression is fitted to a sine, and its Model predicts without the data.
func Example() {
	d := learn.Data{X: mat.NewDense(20, 1, nil), Y: make([]float64, 20)}
	for i := range d.Y {
		d.Dense().Set(i, 0, float64(i)/3)
		d.Y[i] = math.Sin(float64(i) / 3)
	}
	l := kernel.Ridge{Intercept: true}
	if err := l.Load(d); err != nil {
		panic(err)
	}
	if err := l.Fit(make([]float64, 1), []float64{1e-3, 1}); err != nil {
		panic(err)
	}
	m, err := l.Model()
	at := make([]float64, 1)
	fmt.Println(err, m.Predict(at, mat.NewDense(1, 1, []float64{1.5})), math.Abs(at[0]-math.Sin(1.5)) < .02)
	// Output: <nil> <nil> true
}
