package assess_test

import (
	"fmt"

	"cvgm/cvgm/tune/assess"
)

// Metrics of five predicted numbers.
func ExampleRegress() {
	var metrics assess.Regression
	metrics, err := assess.Regress(assess.Sample{Y: []float64{1, 2, 3, 4, 5}, Predictions: []float64{1, 2, 4, 4, 4}})
	fmt.Println(metrics, err)
	// Output: RMSE 0.6325, MAE 0.4, R² 0.8 <nil>
}

// Metrics of log odds: a stricter threshold calls fewer rows +1.
func ExampleClassify() {
	s := assess.Sample{Y: []float64{-1, -1, 1, -1, 1, 1}, Predictions: []float64{-3, -1, -.5, .2, 1, 4}}
	describe := func(c assess.Classes, p *assess.Probabilities, group assess.Bin) {
		fmt.Printf("accuracy %.2f, AUC %.2f, log loss %.2f; of %d rows %.0f %% are +1\n", c.Accuracy, c.AUC, p.LogLoss, group.Rows, 100*group.Observed)
	}
	for _, threshold := range []float64{0, .5} {
		metrics, err := assess.Classify(threshold, true, s)
		if err != nil {
			panic(err)
		}
		describe(metrics, metrics.Probabilities, metrics.Probabilities.Calibration[0])
	}
	// Output:
	// accuracy 0.67, AUC 0.89, log loss 0.41; of 6 rows 50 % are +1
	// accuracy 0.83, AUC 0.89, log loss 0.41; of 6 rows 50 % are +1
}
