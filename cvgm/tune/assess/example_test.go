package assess_test

import (
	"fmt"

	"cvgm/cvgm/tune/assess"

	"gonum.org/v1/gonum/mat"
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

// Metrics of the probabilities of three classes.
func ExampleClassifyMulti() {
	var s assess.ClassSample
	s.Y = []float64{0, 1, 2, 2}
	s.Decisions = mat.NewDense(4, 3, []float64{
		.8, .1, .1,
		.2, .7, .1,
		.1, .2, .7,
		.5, .1, .4,
	})
	describe := func(m assess.Multiclass, p *assess.ClassProbabilities) {
		fmt.Printf("accuracy %.2f, majority %.2f, log loss %.2f, of the third class %v\n", m.Accuracy, m.Majority, p.LogLoss, m.Confusion[2])
	}
	metrics, err := assess.ClassifyMulti(true, s)
	if err != nil {
		panic(err)
	}
	describe(metrics, metrics.Probabilities)
	// Output: accuracy 0.75, majority 0.50, log loss 0.46, of the third class [1 0 1]
}

// Compare estimates how much lower the risk of one model is than the risk of another model on the
// same rows.
func ExampleRows_Compare() {
	model := [][]float64{{1, 2, 1, 3, 2, 1, 2, 2, 1, 2}}
	other := [][]float64{{4, 6, 3, 7, 5, 4, 6, 5, 4, 6}}
	constant := [][]float64{{9, 8, 7, 9, 8, 9, 9, 8, 8, 9}}
	rows := assess.Rows{Folds: [][]int{{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}}}
	risk := rows.Risk(model)
	fmt.Printf("risk %.1f, at least %.1f\n", risk.Mean, risk.Low)
	describe := func(c assess.Comparison) { fmt.Println(c, c.Better()) }
	if c, ok := rows.Compare("the other model", model, other, constant, 1); ok {
		describe(c)
	}
	// Output:
	// risk 1.7, at least 1.1
	// better than the other model: gain 39 % [33, 46] of a constant's risk true
}
