package search_test

import (
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// corner is a problem over x ≥ 0 whose minimum is at (1, 0), on a bound.
var corner = search.Problem{Objective: bowl, Lower: []float64{0, 0}, Upper: []float64{5, 5}}

func ExampleProblem() {
	for step, err := range (search.ProjectedGradient{StepSize: .5}).Search(corner, []float64{4, 4}) {
		fmt.Println(step.X, step.Loss, err)
	}
	// Output:
	// [4 4] 45 <nil>
	// [1 0] 4 <nil>
}

func ExampleSearcher() {
	for _, s := range []search.Searcher{search.AdaptiveGradient{}, search.QuasiNewton{}} {
		evaluations := 0
		var last search.Step
		for step, err := range s.Search(corner, []float64{4, 4}) {
			if err != nil {
				panic(err)
			}
			evaluations, last = step.Evaluations, step
		}
		fmt.Printf("%T: %.4f after %d evaluations\n", s, last.X, evaluations)
	}
	// Output:
	// search.AdaptiveGradient: [1.0000 0.0000] after 23 evaluations
	// search.QuasiNewton: [1.0000 0.0000] after 3 evaluations
}

func ExampleStep() {
	for step, err := range (search.QuasiNewton{}).Search(corner, []float64{4, 4}) {
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

func lowest(s search.Searcher) {
	best, err := search.Best(s.Search(corner, []float64{4, 4}))
	fmt.Printf("%.3f %.3f %v\n", best.X, best.Loss, err)
}

func ExampleHeavyBall() {
	lowest(search.HeavyBall{StepSize: .1, Momentum: .5})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleNesterov() {
	lowest(search.Nesterov{StepSize: .25})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleAdam() {
	lowest(search.Adam{StepSize: .1})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleAdaptiveGradient() {
	lowest(search.AdaptiveGradient{})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleQuasiNewton() {
	lowest(search.QuasiNewton{})
	// Output: [1.000 0.000] 4.000 <nil>
}

// The Hessian of (x₀ − 1)² + (x₁ + 2)² is constant. With a first radius of 1, which is the distance
// between the bounds, the first step reaches the minimum.
func ExampleNewton() {
	problem := corner
	problem.Hessian = func(h *mat.SymDense) error {
		h.Zero()
		h.SetSym(0, 0, 2)
		h.SetSym(1, 1, 2)
		return nil
	}
	best, err := search.Best(search.Newton{}.Search(problem, []float64{4, 4}))
	fmt.Printf("%.3f %.3f after %d evaluations, %v\n", best.X, best.Loss, best.Evaluations, err)
	// Output: [1.000 0.000] 4.000 after 2 evaluations, <nil>
}

func ExampleBayesian() {
	lowest(search.Bayesian{Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, MaxEvals: 30})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleCMAES() {
	lowest(search.CMAES{Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, Sigma: 1, MaxEvals: 200})
	// Output: [0.978 0.000] 4.000 <nil>
}

func ExampleMultiStart() {
	lowest(search.MultiStart{Searcher: search.QuasiNewton{}, Starts: 5,
		Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, Draw: search.LogUniform(-1, 0)})
	// Output: [1.000 0.000] 4.000 <nil>
}

func ExampleLogSpace() {
	// The objective depends on the orders of magnitude of x. Its minimum is at (.01, 100).
	objective := func(grad, x []float64) (float64, error) {
		return 1 + math.Pow(math.Log10(x[0])+2, 2) + math.Pow(math.Log10(x[1])-2, 2), nil
	}
	problem := search.Problem{Objective: objective, Lower: []float64{1e-4, 1e-4}, Upper: []float64{1e4, 1e4}}
	best, err := search.Best(search.LogSpace{Searcher: search.CMAES{Source: func() cvgm.Source { return synth.NewStream(1, "example search") }}}.Search(problem, []float64{1, 1}))
	fmt.Printf("%.2f, loss %.2f %v\n", best.X, best.Loss, err)
	// Output: [0.01 100.00], loss 1.00 <nil>
}

// bowl is (x₀ − 1)² + (x₁ + 2)².
func bowl(grad, x []float64) (float64, error) {
	if grad != nil {
		grad[0], grad[1] = 2*(x[0]-1), 2*(x[1]+2)
	}
	return math.Pow(x[0]-1, 2) + math.Pow(x[1]+2, 2), nil
}

func ExampleObjective() {
	var f search.Objective = bowl
	fmt.Println(f(nil, []float64{1, 0}))
	// Output: 4 <nil>
}

func ExampleProjectedGradient() {
	problem := search.Problem{Objective: bowl, Lower: []float64{0, 0}}
	for step, err := range (search.ProjectedGradient{StepSize: .5}).Search(problem, []float64{4, 4}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(step.X, step.Loss, step.Converged)
	}
	// Output:
	// [4 4] 45 false
	// [1 0] 4 true
}

func ExampleGridSearch() {
	grid := search.GridSearch{Values: [][]float64{{0, 1}, {-2, 2}}}
	best, err := search.Best(grid.Search(search.Problem{Objective: bowl}, make([]float64, 2)))
	fmt.Println(best.X, best.Loss, best.Evaluations, err)
	// Output: [1 -2] 0 3 <nil>
}

func ExampleRandomSearch() {
	searcher := search.RandomSearch{Source: func() cvgm.Source { return synth.NewStream(1, "example search") }, Draw: search.LogUniform(-1, 1), MaxEvals: 1000}
	best, err := search.Best(searcher.Search(search.Problem{Objective: bowl}, make([]float64, 2)))
	fmt.Printf("%.1f %v\n", best.X, err)
	// Output: [1.1 0.1] <nil>
}

func ExampleError() {
	broken := func(_, x []float64) (float64, error) { return 0, fmt.Errorf("no disk") }
	_, err := search.Best(search.GridSearch{Values: [][]float64{{7}}}.Search(search.Problem{Objective: broken}, make([]float64, 1)))
	fmt.Println(err)
	// Output: search evaluation 1 at [7]: no disk
}

func ExampleSource() {
	var src cvgm.Source = synth.NewNumPy(0) // or synth.NewStream(seed, purpose)
	fmt.Println(src.Perm(5))
	// Output: [2 0 1 3 4]
}
