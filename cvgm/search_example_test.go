package cvgm_test

import (
	"fmt"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// corner is the bowl (x₀ − 1)² + (x₁ + 2)² over x ≥ 0, whose lowest point is
// (1, 0).
var corner = cvgm.Problem{Objective: bowl, Lower: []float64{0, 0}, Upper: []float64{5, 5}}

func ExampleProblem() {
	for step, err := range (cvgm.ProjectedGradient{StepSize: .5}).Search(corner, []float64{4, 4}) {
		fmt.Println(step.X, step.Loss, err)
	}
	// Output:
	// [4 4] 45 <nil>
	// [1 0] 4 <nil>
}

func ExampleSearcher() {
	for _, s := range []cvgm.Searcher{cvgm.AdaptiveGradient{}, cvgm.QuasiNewton{}} {
		evaluations := 0
		var last cvgm.Step
		for step, err := range s.Search(corner, []float64{4, 4}) {
			if err != nil {
				panic(err)
			}
			evaluations, last = step.Evaluations, step
		}
		fmt.Printf("%T: %.4f after %d evaluations\n", s, last.X, evaluations)
	}
	// Output:
	// cvgm.AdaptiveGradient: [1.0000 0.0000] after 23 evaluations
	// cvgm.QuasiNewton: [1.0000 0.0000] after 3 evaluations
}

func ExampleStep() {
	for step, err := range (cvgm.QuasiNewton{}).Search(corner, []float64{4, 4}) {
		if err != nil {
			panic(err)
		}
		if step.Loss < 4.5 { // any test of the caller's ends a search
			fmt.Printf("%d evaluations, loss %.2f\n", step.Evaluations, step.Loss)
			break
		}
	}
	// Output: 3 evaluations, loss 4.00
}

func lowest(s cvgm.Searcher) {
	best, err := cvgm.Best(s.Search(corner, []float64{4, 4}))
	fmt.Printf("%.3f %.3f %v\n", best.X, best.Loss, err)
}

func ExampleHeavyBall() {
	lowest(cvgm.HeavyBall{StepSize: .1, Momentum: .5})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleNesterov() {
	lowest(cvgm.Nesterov{StepSize: .25})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleAdam() {
	lowest(cvgm.Adam{StepSize: .1})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleAdaptiveGradient() {
	lowest(cvgm.AdaptiveGradient{})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleQuasiNewton() {
	lowest(cvgm.QuasiNewton{})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleBayesian() {
	lowest(cvgm.Bayesian{Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, MaxEvals: 30})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleCMAES() {
	lowest(cvgm.CMAES{Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, Sigma: 1, MaxEvals: 200})
	// Output: [0.978 0.000] 4.000 <nil>
}

func ExampleMultiStart() {
	lowest(cvgm.MultiStart{Searcher: cvgm.QuasiNewton{}, Starts: 5,
		Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, Draw: cvgm.LogUniform(-1, 0)})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleLogSpace() {
	penalties := cvgm.Problem{Objective: elasticNet(line()).Eval, Lower: []float64{1e-4, 1e-4}, Upper: []float64{10, 10}}
	search := cvgm.LogSpace{Searcher: cvgm.Bayesian{Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, MaxEvals: 40}}
	best, err := cvgm.Best(search.Search(penalties, []float64{.01, .01}))
	fmt.Printf("λ = %.2f, CV loss %.2f %v\n", best.X, best.Loss, err)
	// Output: λ = [0.10 0.00], CV loss 1.34 <nil>
}

// A hundred examples stand for the population, as far as the monitor goes.
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
	steps := cvgm.AdaptiveGradient{MaxEvals: 200}.Search(cvgm.Problem{Objective: cv.Eval, Lower: lower}, start)
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
	// Two searches on halves of the data judge each step of the one on all.
	shifted := func(c float64) cvgm.Problem {
		return cvgm.Problem{Objective: func(grad, x []float64) (float64, error) {
			grad[0] = 2 * (x[0] - c)
			return (x[0] - c) * (x[0] - c), nil
		}}
	}
	search := cvgm.ProjectedGradient{StepSize: .25, MaxEvals: 5}
	half := func(c, other float64) cvgm.NestedSearch {
		return cvgm.NestedSearch{
			Steps: search.Search(shifted(c), []float64{0}),
			Risk:  func(s cvgm.Step) (float64, error) { return (s.X[0] - other) * (s.X[0] - other), nil },
		}
	}
	monitor := cvgm.GapMonitor{Nested: []cvgm.NestedSearch{half(1, 3), half(3, 1)}}
	best, err := monitor.Best(search.Search(shifted(2), []float64{0}))
	fmt.Println(best.Evaluations, best.X, best.Loss, best.HeldOut, err)
	// Output: 2 [1] 1 3.25 <nil>
}

func ExampleGapStep() {
	s := cvgm.GapStep{Step: cvgm.Step{Loss: 1.5}, HeldOut: 2}
	fmt.Println(s.Gap())
	// Output: 0.5
}
