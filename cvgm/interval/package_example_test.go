package interval_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/tune"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// The example predicts intervals that contain a new label with a probability of about .8.
func Example() {
	random := synth.NewStream(1, "example intervals")
	d := learn.Data{X: mat.NewDense(60, 1, nil), Y: make([]float64, 60)}
	for i := range d.Y {
		d.Dense().Set(i, 0, float64(i))
		d.Y[i] = float64(i)/10 + random.NormFloat64()
	}
	tuned, err := tune.Tuner{Intervals: true}.Tune(context.Background(), d)
	if err != nil {
		panic(err)
	}
	low, high, err := tuned.Intervals.Predict(mat.NewDense(2, 1, []float64{10, 50}), .8)
	fmt.Printf("%.2f to %.2f, %.2f to %.2f, %v\n", low[0], high[0], low[1], high[1], err)
	// Output: 0.15 to 2.00, 3.42 to 6.67, <nil>
}
