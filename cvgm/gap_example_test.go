package cvgm_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// The risk is measured on a hundred held-out examples.
func ExampleGapMonitor() {
	src := synth.NewStream(2, "example data")
	d, _, err := synth.MakeRegression(src, synth.Regression{Samples: 130, Features: 20, Informative: 5, Noise: 100})
	if err != nil {
		panic(err)
	}
	part := func(from, to int) learn.Data {
		return learn.Data{X: mat.DenseCopyOf(d.X.Slice(from, to, 0, 20)), Y: d.Y[from:to]}
	}
	splits, err := cvgm.RandomSplits(src, 30, 32, .9)
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: part(0, 30), Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() learn.Learner { return &linear.ElasticNet{Groups: linear.PerFeature(20)} }})
	if err != nil {
		panic(err)
	}
	start, lower := make([]float64, cv.Dims()), make([]float64, cv.Dims())
	for i := range start {
		start[i], lower[i] = 10, .01
	}
	monitor := cvgm.GapMonitor{HeldOut: cv.RiskAt(cvgm.SquaredError{}, part(30, 130)), Patience: 30}
	steps := search.AdaptiveGradient{MaxEvals: 200}.Search(search.Problem{Objective: cv.Eval, Lower: lower}, start)
	var first, last, best cvgm.GapStep
	for s, err := range monitor.Watch(steps) {
		if err != nil {
			panic(err)
		}
		if s.Evaluations == 1 {
			first = s
		}
		if s.Best {
			best = s
		}
		last = s
	}
	fmt.Printf("gap %.0f at the start, %.0f at the best evaluation %d, %.0f at the last\n", first.Gap(), best.Gap(), best.Evaluations, last.Gap())
	// Output: gap -2925 at the start, -1233 at the best evaluation 25, 1349 at the last
}

func ExampleNestedSearch() {
	// Two searches on halves of the data estimate the risk at each step of the search on all data.
	shifted := func(c float64) search.Problem {
		return search.Problem{Objective: func(grad, x []float64) (float64, error) {
			grad[0] = 2 * (x[0] - c)
			return (x[0] - c) * (x[0] - c), nil
		}}
	}
	searcher := search.ProjectedGradient{StepSize: .25, MaxEvals: 5}
	half := func(c, other float64) cvgm.NestedSearch {
		return cvgm.NestedSearch{
			Steps: searcher.Search(shifted(c), []float64{0}),
			Risk:  func(s search.Step) (float64, error) { return (s.X[0] - other) * (s.X[0] - other), nil },
		}
	}
	monitor := cvgm.GapMonitor{Nested: []cvgm.NestedSearch{half(1, 3), half(3, 1)}}
	best, err := monitor.Best(searcher.Search(shifted(2), []float64{0}))
	fmt.Println(best.Evaluations, best.X, best.Loss, best.HeldOut, err)
	// Output: 2 [1] 1 3.25 <nil>
}

func ExampleGapStep() {
	s := cvgm.GapStep{Step: search.Step{Loss: 1.5}, HeldOut: 2}
	fmt.Println(s.Gap())
	// Output: 0.5
}
