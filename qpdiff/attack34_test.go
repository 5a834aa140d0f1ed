package qpdiff

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Failing tests of the attack34 review: each shows one defect.

func attackWant(t *testing.T, name string, q *QP, z []float64) {
	t.Helper()
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Errorf("%s: %v, want z = %v", name, err, z)
		return
	}
	for j, v := range z {
		if math.Abs(s.Z[j]-v) > 1e-6*math.Max(1, math.Abs(v)) {
			t.Errorf("%s: z = %v, want %v (λ %v, %+v, units %v)", name, s.Z, z, s.Lambda, s.Residual, s.set.unit)
			return
		}
	}
}

func attackDiag(v ...float64) *mat.Dense {
	m := mat.NewDense(len(v), len(v), nil)
	for i, x := range v {
		m.Set(i, i, x)
	}
	return m
}

// 1: a bound is violated by 1 and passed over, because another part of the program is large.
func TestAttack34BoundPassedOver(t *testing.T) {
	attackWant(t, "two bounds, linear", &QP{P: []float64{-1, 1e8, 0}, G: mat.NewDense(4, 3, []float64{1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, -1}), H: []float64{1, 0, 0, -1e6}}, []float64{0, 0, 1e6})
	attackWant(t, "two bounds, one part", &QP{P: []float64{-1, 0, -131072}, G: mat.NewDense(4, 3, []float64{1, 0, 0, 1, 0, 0, 0, 0x1p-29, 0, 0, 0, 131072}), H: []float64{4, 0, 1, 0}, A: mat.NewDense(1, 3, []float64{0, -0x1p-29, 0}), B: []float64{-1}}, []float64{0, 0x1p29, 0})
	// strict: unique z and multipliers, the KKT matrix has the condition 2 in other units; rows of the working set are violated
	attackWant(t, "strict, primal", &QP{Q: attackDiag(3.552713678800501e-15, 0, 0, 0, 0, 0, 0, 0), P: []float64{0, -1, -1, -1.073741824e+09, -1, -1, -1, -256}, G: mat.NewDense(7, 8, []float64{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5.36870912e+08, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 5.36870912e+08, 0, 0, 0, 128, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}), H: []float64{0, 0, 0, 0, 0, 1, 0}}, []float64{0, 0, 0, 0, 0, 1, 0, 0})
}

// 2: infeasible by a wide margin in rows of one or two variables, yet optimal or unbounded.
func TestAttack34Infeasible(t *testing.T) {
	for name, q := range map[string]*QP{
		"z₀ ≤ 1, z₀ ≥ 2, linear":   {P: []float64{-1, 1e7}, G: mat.NewDense(3, 2, []float64{1, 0, -1, 0, 0, -1}), H: []float64{1, -2, -1e6}},
		"z₀ ≤ 1, z₀ ≥ 2, definite": {Q: attackDiag(1, 1), P: []float64{-2, 0}, G: mat.NewDense(2, 2, []float64{1, 0, -1, 0}), H: []float64{1, -2}, A: mat.NewDense(1, 2, []float64{0, 1}), B: []float64{1e12}},
		"−44 + 4 ≤ −41, definite":  {Q: attackDiag(9*0x1p38, 4*0x1p-40), P: []float64{0, 0}, G: mat.NewDense(1, 2, []float64{0x1p20, -0x1p-19}), H: []float64{-41}, A: mat.NewDense(2, 2, []float64{-0x1p19, 0, 0, 0x1p-20}), B: []float64{22, -2}},
		"z₀ = 0, z₀ ≤ −1, a ray":   {P: []float64{0, 1, 0}, G: mat.NewDense(1, 3, []float64{0x1p21, 0, 0}), H: []float64{-1}, A: mat.NewDense(2, 3, []float64{0x1p21, 0, 0, 0, 0, 0x1p-23}), B: []float64{0, 1}},
	} {
		var s Solution
		if err := s.Solve(q); !errors.Is(err, ErrInfeasible) {
			t.Errorf("%s: %v, z = %v, %+v", name, s.Status, s.Z, s.Residual)
		}
	}
}

// 3: the gradient of one part is judged beside the terms of another.
func TestAttack34Dual(t *testing.T) {
	attackWant(t, "strict, dual", &QP{Q: attackDiag(5.960464477539063e-08, 0, 0, 0, 0, 0), P: []float64{0, -4.294967296e+09, 0, -1, -1, 10}, G: mat.NewDense(5, 6, []float64{0, 4.294967296e+09, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, -5, 0, 0, 0, 0, 0, -5, 0, 0, 0, 0, 1, 1}), H: []float64{0, 0, -9, -5, 0}, A: mat.NewDense(1, 6, []float64{0, 0, 1, 0, 0, 0}), B: []float64{0}}, []float64{0, 0, 0, 0, -4, 1})
}

// 4: strict programs that are not solved: ownUnits mixes two rules.
func TestAttack34NotSolved(t *testing.T) {
	attackWant(t, "1e-6 to 1e8", &QP{Q: attackDiag(1e-6, 0, 0, 0), P: []float64{0, -1, -2e8, -1}, G: mat.NewDense(4, 4, []float64{0, 0, 1e8, 0, 0, 1, 1e8, 0, 0, 1, 1e8, 0, 0, 0, 0, 1}), H: []float64{0, 0, 4, 1}}, []float64{0, 0, 0, 1})
	attackWant(t, "three bounds", &QP{Q: attackDiag(1.2789769243681803e-13, 0, 0), P: []float64{0, -1.37438953472e+12, -1}, G: mat.NewDense(2, 3, []float64{0, 2.74877906944e+11, 0, 0, 0, 1}), H: []float64{0, 1}}, []float64{0, 0, 1})
}

// 5: after unbounded programs a Solution no longer solves what a new one solves.
func TestAttack34WarmAfterUnbounded(t *testing.T) {
	g := mat.NewDense(8, 6, []float64{0, 0, 0, 0, 0, 1, 5, 0, -1, -3, -4, -4, -2, -3, 0, 0, -3, -3, 5, 1, 2, 2, -2, -1, 1, 1, 0, -1, 2, 0, 0, 3, -2, 5, -3, 2, 0, 4, -1, -5, 3, -4, 4, 0, 4, 5, -1, 1})
	h := []float64{-4, 18, 45, -23, -9, -40, 7, -35}
	h10 := []float64{-40, 180, 450, -230, -90, -400, 70, -350}
	last := &QP{P: []float64{-28, -19, -16, 4, 7, 38}, G: g, H: h}
	var s, cold Solution
	s.Solve(&QP{P: []float64{-2, -3, -5, -3, 1, 4}, G: g, H: h})
	s.Solve(&QP{P: []float64{-20, 50, -30, 40, -40, -30}, G: g, H: h10})
	for range 3 {
		err := s.Solve(last)
		if cold.Solve(last) == nil && err != nil {
			t.Errorf("warm: %v, shift %g; cold: optimal, shift %g", err, s.set.shift, cold.set.shift)
		}
	}
}

// 6: the same program again is factorised again, and its working set forgotten in part.
func TestAttack34FactorisedAgain(t *testing.T) {
	q := &QP{Q: attackDiag(1, 0, 0), P: []float64{0, -1, -1e8}, G: mat.NewDense(2, 3, []float64{0, 1, 0, 0, 0, 1}), H: []float64{1, 1}}
	var s Solution
	s.Solve(q)
	f := s.set.factors
	if s.Solve(q); s.set.factors != f {
		t.Errorf("factorised again, %d changes of the working set", s.Iterations)
	}
}

// 7: a warm solve of a definite program loses digits that a cold one has.
func TestAttack34WarmDigits(t *testing.T) {
	const e = .7e-12
	q := &QP{Q: mat.NewDense(2, 2, []float64{1, .03 * e, .03 * e, e}), P: []float64{-1, -e * 1e10}}
	var s, cold Solution
	s.Solve(q)
	q.P = []float64{-1, 0}
	s.Solve(q)
	cold.Solve(q)
	if d := math.Abs(s.Z[1] - cold.Z[1]); d > 1e-9 {
		t.Errorf("z = %v warm, %v cold; %d refinements", s.Z, cold.Z, s.Refinements)
	}
}

// 8: small integers and 2⁻¹⁵ in one row: multipliers to four digits only.
func TestAttack34Multipliers(t *testing.T) {
	q := &QP{Q: mat.NewDense(5, 5, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 2, 4, 0, 0, 0, 0, 0, 0}), P: []float64{-2.000030517578125, -3, -10.000091552734375, 6.99993896484375, 6},
		G: mat.NewDense(5, 5, []float64{0, 2, 5, -5, -3, 0, -5, 0, 0, 1, 3.0517578125e-05, 2, 5.000091552734375, -4.99993896484375, -3, 1, 0, 0, 0, 0, 0, -1, 0, 3, 0}), H: []float64{4, -9.99609375, 4, 0, -2}}
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Fatal(err)
	}
	for r, want := range []float64{1, 0, 1, 2, 1} {
		if math.Abs(s.Lambda[r]-want) > 1e-6 {
			t.Errorf("λ[%d] = %v, want %v (%+v, units %v)", r, s.Lambda[r], want, s.Residual, s.set.unit)
		}
	}
}

// 9: programs of small integers that are unbounded along d (Qd = 0, Gd ≤ 0, Ad = 0,
// pᵀd < 0, and a feasible point exists) are optimal, with multipliers of 1e17.
func TestAttack34Unbounded(t *testing.T) {
	for i, c := range []struct {
		q QP
		d []float64
	}{
		{QP{Q: attackDiag(900, 0, 0, 0), P: []float64{3, 0, -2, -4}, G: mat.NewDense(5, 4, []float64{-1, 0, 0, 0, 0, -18, -33, -3, 0, -6, 3, -15, 2, 0, 0, 0, 0, -4, -1, -7}), H: []float64{1, -117, -15, 0, -10}, A: mat.NewDense(1, 4, []float64{18, 2, -1, 5}), B: []float64{-13}}, []float64{0, -2, 1, 1}},
		{QP{Q: mat.NewDense(4, 4, []float64{276, -474, 78, 0, -474, 834, -114, 0, 78, -114, 42, 0, 0, 0, 0, 900}), P: []float64{-2, 1, 4, -1}, G: mat.NewDense(6, 4, []float64{-3, 0, 0, 0, -10, 25, 5, 0, 0, 0, 3, 4, -10, 25, 5, 0, 0, -3, 0, 0, 0, 0, 0, 1}), H: []float64{9, 75, 16, 76, -4, 3}, A: mat.NewDense(3, 4, []float64{-2, 5, 1, -6, -6, 6, -6, 24, -4, 4, -4, 0}), B: []float64{-3, 90, 12}}, []float64{2, 1, -1, 0}},
	} {
		dot := func(m *mat.Dense, r int) (sum float64) {
			for j, v := range c.d {
				sum += m.At(r, j) * v
			}
			return sum
		}
		slope := 0.0
		for j, v := range c.d {
			slope += c.q.P[j] * v
			if dot(c.q.Q, j) != 0 {
				t.Fatal("Qd")
			}
		}
		for r := range c.q.H {
			if dot(c.q.G, r) > 0 {
				t.Fatal("Gd")
			}
		}
		for r := range c.q.B {
			if dot(c.q.A, r) != 0 {
				t.Fatal("Ad")
			}
		}
		feasibility := c.q
		feasibility.Q, feasibility.P = nil, make([]float64, 4)
		var f, s Solution
		if err := f.Solve(&feasibility); err != nil || slope >= 0 {
			t.Fatal(err, slope)
		}
		if err := s.Solve(&c.q); !errors.Is(err, ErrUnbounded) {
			g := newQPGrad(&c.q)
			t.Errorf("%d: %v, z = %v, λ = %v, ν = %v, %+v; VJP: %v", i, s.Status, s.Z, s.Lambda, s.Nu, s.Residual, s.VJP(nil, g, []float64{1, 1, 1, 1}, nil, nil))
		}
	}
}
