package cvgm_test

import (
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// A kernel machine predicts by its own method instead of a product with θ. The search chooses C and
// the width of the kernel.
func ExampleConfig_predictor() {
	src := synth.NewStream(2, "example rings")
	d := learn.Data{X: mat.NewDense(60, 2, nil), Y: make([]float64, 60)}
	for i := range d.Y {
		d.Y[i] = float64(2*(i%2) - 1)
		r, angle := 2+d.Y[i]/2+.3*src.NormFloat64(), 2*math.Pi*src.Float64()
		d.Dense().SetRow(i, []float64{r * math.Cos(angle), r * math.Sin(angle)})
	}
	splits, err := cvgm.RandomSplits(src, 60, 16, .8)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.LogisticLoss{},
		Learner: func() learn.Learner { return &kernel.SVM{Intercept: true} }})
	if err != nil {
		panic(err)
	}
	searcher := search.ProjectedGradient{StepSize: 1, MaxEvals: 30}
	problem := search.Problem{Objective: cv.Eval, Lower: []float64{.01, .01}}
	for s, err := range searcher.Search(problem, []float64{1, 1}) {
		if err != nil {
			panic(err)
		}
		if s.Evaluations%29 == 1 {
			fmt.Printf("evaluation %d: C %.2f, γ %.2f, loss %.4f\n", s.Evaluations, s.X[0], s.X[1], s.Loss)
		}
	}
	// Output:
	// evaluation 1: C 1.00, γ 1.00, loss 0.3899
	// evaluation 30: C 2.04, γ 0.26, loss 0.3243
}
