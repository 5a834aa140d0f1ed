package qpdiff

import (
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// degenerateQP draws a program with dependent rows from small integers or normal numbers.
func degenerateQP(rng *rand.Rand) QP {
	n, m, e := 2+rng.IntN(5), 1+rng.IntN(8), rng.IntN(4)
	number := rng.NormFloat64
	if rng.IntN(2) == 0 {
		number = func() float64 { return float64(rng.IntN(7) - 3) }
	}
	vector := func(k int) []float64 {
		v := make([]float64, k)
		for i := range v {
			v[i] = number()
		}
		return v
	}
	q := QP{P: vector(n)}
	if kind := rng.IntN(3); kind < 2 {
		f := mat.NewDense(n, n, vector(n*n))
		if kind == 0 {
			f = mat.NewDense(n, 1+rng.IntN(n-1), nil)
			f.Apply(func(int, int, float64) float64 { return number() }, f)
		}
		q.Q = mat.NewDense(n, n, nil)
		q.Q.Mul(f, f.T())
		for i := range n {
			q.Q.Set(i, i, q.Q.At(i, i)+float64(kind))
		}
	}
	x, rows, rhs := vector(n), mat.NewDense(m+e, n, vector((m+e)*n)), make([]float64, m+e)
	for r := range rhs {
		row := rows.RawRowView(r)
		if rhs[r] = floats.Dot(row, x); r < m {
			rhs[r] += []float64{0, 1, rng.Float64(), 3}[rng.IntN(4)]
		}
		if r > 0 && rng.IntN(2) == 0 {
			clear(row)
			rhs[r] = []float64{0, 0, 0, 1, -1, 1e-3, -1e-3}[rng.IntN(7)]
			for range 1 + rng.IntN(3) {
				k, c := rng.IntN(r), number()
				floats.AddScaled(row, c, rows.RawRowView(k))
				rhs[r] += c * rhs[k]
			}
		}
	}
	q.G, q.H = rows.Slice(0, m, 0, n).(*mat.Dense), rhs[:m:m]
	if e > 0 {
		q.A, q.B = rows.Slice(m, m+e, 0, n).(*mat.Dense), rhs[m:]
	}
	return q
}

// A row with one huge entry gives the status and objective of a bound in its place.
func TestQPHugeEntry(t *testing.T) {
	serial.Test(t)
	problems, other, off := numtest.Long(4000), 0, 0
	for i := range problems {
		rng := rand.New(rand.NewPCG(37, uint64(i)))
		q := degenerateQP(rng)
		m, n := q.G.Dims()
		r, j := rng.IntN(m), rng.IntN(n)
		huge := math.Pow(10, 17+13*rng.Float64())
		q.G.Set(r, j, math.Copysign(huge, rng.NormFloat64()))
		bound := q
		bound.G = mat.DenseCopyOf(q.G)
		clear(bound.G.RawRowView(r))
		bound.G.Set(r, j, q.G.At(r, j))
		var s, b Solution
		_, _ = s.Solve(&q), b.Solve(&bound)
		if s.Status != b.Status || s.Status == Optimal && math.Abs(s.Objective-b.Objective) > 1e-7*(1+math.Abs(b.Objective)) {
			other++
		}
		if s.Status == Optimal && kktResidual(&q, &s) > 1e-8 || certificateOff(&q, &s) > 1e-8 {
			off++
		}
	}
	t.Logf("%d of %d have another answer than with a bound, %d are no answer in the program's units", other, problems, off)
	if other > problems/100 || off > problems/1000 {
		t.Errorf("%d of %d have another answer than with a bound, %d are no answer in the program's units", other, problems, off)
	}
}

// If tiny entries replace zeros, the solver returns an error or a solution of the conditions.
func TestQPNoiseForZeros(t *testing.T) {
	serial.Test(t)
	problems, optimal := numtest.Long(20000), 0
	for i := range problems {
		rng := rand.New(rand.NewPCG(38, uint64(i)))
		q := degenerateQP(rng)
		noise := func(x []float64) {
			for k, v := range x {
				if v == 0 {
					x[k] = 4e-17 * float64(rng.IntN(3)-1)
				}
			}
		}
		noise(q.P)
		noise(q.H)
		for r := range q.H {
			noise(q.G.RawRowView(r))
		}
		for r := range q.B {
			noise(q.A.RawRowView(r))
		}
		var s Solution
		if s.Solve(&q) != nil {
			continue
		}
		optimal++
		if kkt := kktResidual(&q, &s); kkt > 1e-8 && s.Residual.Relative > convergedTol {
			t.Errorf("%d: KKT %g, %+v", i, kkt, s.Residual)
		}
	}
	if optimal < problems/4 {
		t.Errorf("%d of %d are optimal", optimal, problems)
	}
}

// A row is lone if all its entries but one are negligible in units on which the other rows agree.
func TestQPLoneRows(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(q *QP, g func(r, j, bits int))
		want   bool
	}{
		{"negligible", func(_ *QP, g func(r, j, bits int)) { g(0, 0, tinyEntry+3) }, true},
		{"not negligible", func(_ *QP, g func(r, j, bits int)) { g(0, 0, tinyEntry-4) }, false},
		{"other units", func(_ *QP, g func(r, j, bits int)) {
			g(0, 0, tinyEntry+3+200)
			for r := 1; r < 4; r++ {
				g(r, 0, 200)
			}
		}, false}, // P has the old ones
		{"other units of P as well", func(q *QP, g func(r, j, bits int)) {
			g(0, 0, tinyEntry+3+200)
			for r := 1; r < 4; r++ {
				g(r, 0, 200)
			}
			q.P[0] = math.Ldexp(q.P[0], 200)
		}, true},
		{"rows that nearly agree", func(_ *QP, g func(r, j, bits int)) { g(0, 0, tinyEntry+10); g(2, 1, -10) }, true},
		{"rows that disagree", func(_ *QP, g func(r, j, bits int)) { g(0, 0, tinyEntry+40); g(2, 1, -50) }, false},
		{"three rows to one", func(q *QP, g func(r, j, bits int)) {
			q.P[0] = 0
			for r := range 3 {
				g(r, 0, tinyEntry+10)
			}
		}, false},
	} {
		q := QP{P: []float64{1, -1, .5}, G: mat.NewDense(4, 3, []float64{1, -.5, .7, .9, 1, -1, -.6, .8, 1, 1, 1, .5}), H: []float64{1, 1, 1, 1}}
		c.change(&q, func(r, j, bits int) { q.G.Set(r, j, math.Ldexp(q.G.At(r, j), bits)) })
		var s Solution
		_ = s.Solve(&q) // whatever it finds
		if got := s.set.loneRows[0]; got != c.want {
			t.Errorf("%s: lone is %v", c.name, got)
		}
	}
}
