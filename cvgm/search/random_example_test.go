package search_test

import (
	"fmt"

	"cvgm/cvgm/search"
	"cvgm/synth"
)

// The mean of the last steps is near 1, the minimum of the expected objective. Restart marks an
// objective as random.
func ExampleAverage() {
	var src *synth.Stream
	problem := search.Problem{
		Restart: func() { src = synth.NewStream(1, "draws") },
		Objective: func(grad, x []float64) (float64, error) {
			at := 1 + .5*src.NormFloat64() // (x − at)²/2, whose mean is lowest at 1
			if grad != nil {
				grad[0] = x[0] - at
			}
			return (x[0] - at) * (x[0] - at) / 2, nil
		},
	}
	steps := search.HeavyBall{StepSize: .05, Momentum: .5, MaxEvals: 2000}.Search(problem, []float64{4})
	mean, err := search.Average(steps, 1500)
	fmt.Printf("%.1f %v\n", mean.X, err)
	_, err = search.Best(search.QuasiNewton{}.Search(problem, []float64{4}))
	fmt.Println(err != nil)
	// Output:
	// [1.0] <nil>
	// true
}

// Without the penalty the minimum is at (1, 0).
func ExampleProblem_Plus() {
	for _, weight := range []float64{0, 4, 400} {
		best, err := search.Best(search.QuasiNewton{}.Search(corner.Plus(weight, search.SquaredDistance([]float64{3, 0}, 1)), []float64{4, 4}))
		fmt.Printf("weight %v: %.2f %v\n", weight, best.X, err)
	}
	// Output:
	// weight 0: [1.00 0.00] <nil>
	// weight 4: [2.00 0.00] <nil>
	// weight 400: [2.98 0.00] <nil>
}

func ExampleSquaredLogDistance() {
	r := search.SquaredLogDistance([]float64{.1, .1})
	grad := make([]float64, 2)
	value, err := r(grad, []float64{.1, 1})
	fmt.Printf("%.3f %.3f %v\n", value, grad, err)
	// Output: 1.325 [0.000 1.151] <nil>
}
