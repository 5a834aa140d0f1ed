package qpdiff_test

import (
	"fmt"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// The example projects (2, 0) onto z₀ + z₁ = 1 with z₁ ≥ 0, and differentiates z₀ in the right-hand
// sides.
func Example() {
	q := qpdiff.QP{
		Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{-2, 0},
		G: mat.NewDense(1, 2, []float64{0, -1}), H: []float64{0},
		A: mat.NewDense(1, 2, []float64{1, 1}), B: []float64{1},
	}
	var s qpdiff.Solution
	if err := s.Solve(&q); err != nil {
		panic(err)
	}
	g := qpdiff.QPGrad{H: make([]float64, 1), B: make([]float64, 1)}
	err := s.VJP(nil, &g, []float64{1, 0}, nil, nil)
	fmt.Printf("%v: z = %.3f, ∂z₀/∂h %.3f, ∂z₀/∂b %.3f %v\n", s.Status, s.Z, g.H, g.B, err)
	// Output: optimal: z = [1.000 0.000], ∂z₀/∂h [1.000], ∂z₀/∂b [1.000] <nil>
}
