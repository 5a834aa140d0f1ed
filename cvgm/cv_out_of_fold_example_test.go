package cvgm_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// A CV loss with its standard error, and the predictions that it judges.
func ExampleCV_StandardError() {
	cv := elasticNet(lineData())
	loss, err := cv.Eval(nil, []float64{.1, .01})
	if err != nil {
		panic(err)
	}
	deviation, err := cv.StandardError()
	if err != nil {
		panic(err)
	}
	fmt.Printf("CV loss %.2f ± %.2f\n", loss, deviation)
	// Output: CV loss 1.36 ± 0.27
}

func ExampleCV_OutOfFold() {
	data := lineData()
	splits, err := cvgm.KFold(synth.NewStream(1, "example splits"), len(data.Y), 5)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: data, Splits: splits, Learner: func() learn.Learner { return new(linear.ElasticNet) }, Loss: cvgm.SquaredError{}, Centring: cvgm.MeanCentring})
	if err != nil {
		panic(err)
	}
	loss, err := cv.Eval(nil, []float64{.1, .01})
	if err != nil {
		panic(err)
	}
	predictions := make([]float64, len(data.Y))
	if err := cv.OutOfFold(predictions); err != nil {
		panic(err)
	}
	mean := 0.0
	for i, p := range predictions {
		mean += (p - data.Y[i]) * (p - data.Y[i]) / float64(len(predictions))
	}
	fmt.Printf("CV loss %.4f, mean squared error of the predictions %.4f\n", loss, mean)
	// Output: CV loss 1.1142, mean squared error of the predictions 1.1142
}
