package cvgm_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// Each step of the search draws two new splits, so it makes two fits.
func ExampleStochastic() {
	d, _, err := synth.MakeRegression(synth.NewStream(2, "example data"), synth.Regression{Samples: 60, Features: 20, Informative: 5, Noise: 100})
	if err != nil {
		panic(err)
	}
	s, err := cvgm.NewStochastic(
		cvgm.Config{Data: learn.Data{X: d.X, Y: d.Y}, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
			Learner: func() learn.Learner { return &linear.ElasticNet{Groups: linear.PerFeature(20)} }},
		func() cvgm.Source { return synth.NewStream(1, "fresh splits") },
		func(src cvgm.Source) ([]cvgm.Split, error) { return cvgm.RandomSplits(src, 60, 2, .5) })
	if err != nil {
		panic(err)
	}
	start, lower := make([]float64, s.Dims()), make([]float64, s.Dims())
	for i := range start {
		start[i], lower[i] = .1, 1e-3
	}
	problem := s.Problem()
	problem.Lower = lower
	steps := search.LogSpace{Searcher: search.Adam{StepSize: .1, MaxEvals: 150}}.Search(problem, start)
	at, err := search.Average(steps, 50)
	if err != nil {
		panic(err)
	}
	model, err := s.CV().Final(at.X)
	fmt.Println(at.Evaluations, len(model.Theta), at.Random, err)
	// Output: 150 20 true <nil>
}
