package search_test

import (
	"fmt"

	"cvgm/cvgm/search"
)

// The example minimises (x₀ − 1)² + (x₁ + 2)² over x ≥ 0.
func Example() {
	problem := search.Problem{Lower: []float64{0, 0}, Objective: func(grad, x []float64) (float64, error) {
		a, b := x[0]-1, x[1]+2
		if grad != nil {
			grad[0], grad[1] = 2*a, 2*b
		}
		return a*a + b*b, nil
	}}
	best, err := search.Best(search.QuasiNewton{}.Search(problem, []float64{3, 3}))
	fmt.Printf("%.3f, value %.3f after %d evaluations %v\n", best.X, best.Loss, best.Evaluations, err)
	// Output: [1.000 0.000], value 4.000 after 3 evaluations <nil>
}
