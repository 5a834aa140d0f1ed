package assess_test

import (
	"fmt"

	"cvgm/cvgm/tune/assess"
)

// The example computes the metrics of out-of-fold predictions, and an interval of their squared
// error.
func Example() {
	s := assess.Sample{Y: []float64{1, 3, 2, 5, 4, 7, 6, 8}, Predictions: []float64{1.5, 2, 2.5, 5, 4.5, 6, 6.5, 7}}
	metrics, err := assess.Regress(s)
	losses := make([]float64, len(s.Y))
	for i, y := range s.Y {
		losses[i] = (s.Predictions[i] - y) * (s.Predictions[i] - y)
	}
	rows := assess.Rows{Folds: [][]int{{0, 0, 1, 1, 2, 2, 3, 3}}}
	fmt.Println(metrics, err)
	fmt.Println("squared error", rows.Risk([][]float64{losses}))
	// Output:
	// RMSE 0.7071, MAE 0.625, R² 0.905 <nil>
	// squared error 0.5 [0.1383, 1.086]
}
