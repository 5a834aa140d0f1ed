package qpdiff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// In any units, the portfolio with the least variance holds only the riskless asset, although all
// terms of the gradient are 0.
func TestQPRiskless(t *testing.T) {
	serial.Test(t)
	for trial := range 400 {
		rng := rand.New(rand.NewPCG(uint64(trial), 61))
		n := []int{2, 3, 5, 10, 30}[rng.IntN(5)]
		f := mat.NewDense(2*n, n, gaussians(rng, 2*n*n))
		f.SetCol(0, make([]float64, 2*n))
		q := QP{Q: mat.NewDense(n, n, nil), P: make([]float64, n), A: mat.NewDense(1, n, nil), B: []float64{1}}
		q.Q.Mul(f.T(), f)
		if n == 2 {
			q.Q.Set(1, 1, float64(1+rng.IntN(20)))
		}
		if trial%2 == 0 {
			q.G, q.H = mat.NewDense(n, n, nil), make([]float64, n)
		}
		for j := range n {
			q.A.Set(0, j, 1)
			if q.G != nil {
				q.G.Set(j, j, -1)
			}
		}
		want := make([]float64, n)
		want[0] = 1
		solve := func(q *QP, name string) []float64 {
			var s Solution
			if err := s.Solve(q); err != nil {
				t.Fatalf("%d, %s: %v", trial, name, err)
			}
			if s.Nu[0] != 0 || !slices.Equal(s.Lambda, make([]float64, len(s.Lambda))) || !slices.Equal(s.Z[1:], want[1:]) {
				t.Fatalf("%d, %s: z = %v, λ = %v, ν = %v", trial, name, s.Z, s.Lambda, s.Nu)
			}
			return slices.Clone(s.Z)
		}
		z := solve(&q, "as drawn")
		if tol := map[bool]float64{true: refinedTol, false: convergedTol}[n == 2]; math.Abs(z[0]-1) > tol {
			t.Errorf("%d: z₁ = 1 %+.3g", trial, z[0]-1)
		}
		u := qpUnits{objective: math.Ldexp(1, 2*rng.IntN(21)-20), d: slices.Repeat([]float64{1}, n), equalityRows: []float64{math.Ldexp(1, rng.IntN(41)-20)}}
		for range q.H {
			u.rows = append(u.rows, math.Ldexp(1, rng.IntN(41)-20))
		}
		scaled := u.apply(&q)
		if got := solve(&scaled, "powers of two"); !slices.Equal(got, z) {
			t.Errorf("%d: z = %v in other units, %v as drawn", trial, got, z)
		}
		u = drawUnits(rng, &q, 1e6, 1, false)
		scaled = u.apply(&q)
		if got := solve(&scaled, "1e±6"); math.Abs(got[0]*u.d[0]-1) > convergedTol+16*dense.Eps {
			t.Errorf("%d: z₁ = 1 %+.3g in units of 1e±6", trial, got[0]*u.d[0]-1)
		}
		u = drawUnits(rng, &q, 1e3, 1, true)
		scaled = u.apply(&q)
		if got := solve(&scaled, "units of each variable"); math.Abs(got[0]*u.d[0]-1) > convergedTol+16*dense.Eps {
			t.Errorf("%d: z₁ = 1 %+.3g in units of each variable", trial, got[0]*u.d[0]-1)
		}
	}
}
