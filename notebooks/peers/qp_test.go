package main

import (
	"math"
	"strings"
	"testing"
)

// The program is min ½‖z‖² + pᵀz with z₁ ≤ 1 and z₁ + z₂ = 0. Without an active bound, the
// derivative in p is minus the projection of the cotangent on (1, −1)/√2.
func TestProgramsAreSolvedAndDifferentiated(t *testing.T) {
	const text = `[{"Q": [[1, 0], [0, 1]], "P": [1, 0], "G": [[1, 0]], "H": [1], "A": [[1, 1]], "B": [0], "CotangentOfZ": [1, 0]},
		{"Q": [[1, 0], [0, 1]], "P": [-4, 0], "G": [[1, 0]], "H": [1], "A": [[1, 1]], "B": [0], "CotangentOfZ": [1, 0]}]`
	const rounding = 1e-14
	a, err := differentiateAll(strings.NewReader(text), 1000)
	if err != nil {
		t.Fatal(err)
	}
	want := answers{Z: [][]float64{{-.5, .5}, {1, -1}}, GradP: [][]float64{{-.5, .5}, {0, 0}}}
	for i := range want.Z {
		for j := range want.Z[i] {
			if !(math.Abs(a.Z[i][j]-want.Z[i][j]) <= rounding) || !(math.Abs(a.GradP[i][j]-want.GradP[i][j]) <= rounding) {
				t.Errorf("program %d: minimiser %v, derivative %v; want %v, %v", i, a.Z[i], a.GradP[i], want.Z[i], want.GradP[i])
			}
		}
	}
	if !(0 < a.SolveSeconds) || !(0 < a.Seconds) {
		t.Errorf("%v s for a solution, %v s with derivative", a.SolveSeconds, a.Seconds)
	}
	for _, wrong := range []string{`[]`, `[{`, `[{"Q": [[-1]], "P": [0]}]`} {
		if _, err := differentiateAll(strings.NewReader(wrong), 1); err == nil {
			t.Errorf("no error for %s", wrong)
		}
	}
}
