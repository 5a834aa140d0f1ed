package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// A warm start changes no result, even if the previous problem had other units.
func TestQPWarmStartFromOtherUnits(t *testing.T) {
	serial.Test(t)
	const n, m = 4, 2
	for trial := range 600 {
		rng := rand.New(rand.NewPCG(1, uint64(trial)))
		q := QP{Q: mat.NewDense(n, n, nil), P: make([]float64, n), G: mat.NewDense(m, n, gaussians(rng, m*n)), H: []float64{0, 1}}
		f := mat.NewDense(n-1, n-1, gaussians(rng, (n-1)*(n-1)))
		block := q.Q.Slice(0, n-1, 0, n-1).(*mat.Dense)
		block.Mul(f.T(), f)
		for j := range n - 1 {
			block.Set(j, j, block.At(j, j)+1)
		}
		q.G.Set(0, n-1, 1)
		z, lambda := gaussians(rng, n), 1+rng.Float64()
		for j, v := range z {
			q.H[0] += q.G.At(0, j) * v
			q.H[1] += q.G.At(1, j) * v
			q.P[j] -= q.G.At(0, j) * lambda
			for k, w := range z {
				q.P[j] -= q.Q.At(j, k) * w
			}
		}
		times := func(v []float64) []float64 {
			out, by := slices.Clone(v), math.Pow(10, 28*rng.Float64()-14)
			for i := range out {
				out[i] *= by
			}
			return out
		}
		before := q
		switch trial % 4 {
		case 0:
			before.P = times(q.P)
		case 1:
			before.H = times(q.H)
		case 2:
			before.P, before.H = times(q.P), times(q.H)
		case 3:
			before.G = mat.NewDense(m, n, nil)
			for j := range n {
				unit := math.Pow(10, 24*rng.Float64()-12)
				for i := range m {
					before.G.Set(i, j, rng.NormFloat64()*unit)
				}
			}
		}
		var s Solution
		_ = s.Solve(&before)
		if err := s.Solve(&q); err != nil {
			t.Errorf("trial %d: %v", trial, err)
			continue
		}
		for j, v := range s.Z {
			if math.Abs(v-z[j]) > 1e-11 {
				t.Errorf("trial %d: z = %v instead of %v", trial, s.Z, z)
				break
			}
		}
	}
}

// A solve whose proximal term underflows has no effect on the next solve.
func TestQPWarmStartFromExtremes(t *testing.T) {
	serial.Test(t)
	const n, m, e = 8, 8, 3
	for trial := range numtest.Long(1000) {
		rng := rand.New(rand.NewPCG(2, uint64(trial)))
		wild := func(k int) []float64 {
			v := gaussians(rng, k)
			for i := range v {
				v[i] *= math.Pow(10, 300*rng.Float64()-150)
			}
			return v
		}
		draw := func(vector func(k int) []float64) *QP {
			return &QP{P: vector(n), G: mat.NewDense(m, n, vector(m*n)), H: vector(m), A: mat.NewDense(e, n, vector(e*n)), B: vector(e)}
		}
		var warm, cold Solution
		_ = warm.Solve(draw(wild))
		q := draw(func(k int) []float64 { return gaussians(rng, k) })
		_, _ = warm.Solve(q), cold.Solve(q)
		if warm.Status != cold.Status {
			t.Errorf("%d: %v after another problem, else %v", trial, warm.Status, cold.Status)
		}
	}
}

// After a solve whose proximal term overflows, the next solve starts without a factor.
func TestQPWithoutProximalFactor(t *testing.T) {
	const bound, p = 1e-155, 1e165
	q := QP{Q: square(1<<21, 1<<10, 1<<10, 2), P: []float64{p, p}, A: mat.NewDense(3, 2, []float64{0, 4, 4e-3, 4, 64, 0}), B: []float64{4 * bound, 4 * bound * (1 + 1e-3), 64 * bound * (1 + 3e-9)}}
	var s Solution
	if err := s.Solve(&q); !errors.Is(err, ErrIterationLimit) {
		t.Fatal(err)
	}
	q.B[2] = 64 * bound
	var fresh Solution
	want := fresh.Solve(&q)
	if err := s.Solve(&q); (err == nil) != (want == nil) || !slices.Equal(s.Z, fresh.Z) || !slices.Equal(s.Nu, fresh.Nu) {
		t.Errorf("z = %v, ν = %v, %v; a new Solution has %v, %v, %v", s.Z, s.Nu, err, fresh.Z, fresh.Nu, want)
	}
}

// A warm solve of a definite program is as accurate as a cold solve, even if the last solution was
// far away.
func TestQPWarmDigits(t *testing.T) {
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

// A solution is exactly at a bound that is tiny in the units of the last program.
func TestQPWarmSmallBound(t *testing.T) {
	g := mat.NewDense(1, 3, []float64{0, 1, 0})
	var s Solution
	for _, q := range []QP{
		{Q: diagonal(1, 1e-100, 0), P: []float64{1, -2e-100, 0}, G: g, H: []float64{1}},
		{Q: diagonal(1, 1, 0), P: []float64{1, -2e-270, 0}, G: g, H: []float64{1e-270}},
	} {
		if err := s.Solve(&q); err != nil || s.Z[1] != q.H[0] {
			t.Errorf("z = %v, want %v: %v", s.Z, q.H, err)
		}
	}
}

// A warm start is right after the bound at the last solution is switched off and on again.
func TestQPWarmStartSwitchesRowsOff(t *testing.T) {
	for trial := range 300 {
		rng := rand.New(rand.NewPCG(3, uint64(trial)))
		q := randomQP(rng, 1+rng.IntN(6), 1+rng.IntN(12), rng.IntN(2))
		var warm, cold Solution
		if err := warm.Solve(&q); err != nil {
			t.Fatal(err)
		}
		on, z := q.H, slices.Clone(warm.Z)
		q.H = slices.Clone(on)
		for i, v := range warm.Lambda {
			if v > 0 && rng.IntN(2) == 0 {
				q.H[i] = math.Inf(1)
			}
		}
		if err := errors.Join(warm.Solve(&q), cold.Solve(&q)); err != nil {
			t.Fatalf("%d: %v", trial, err)
		}
		if d := maxDiff(warm.Z, cold.Z); d > 1e-9 {
			t.Errorf("%d: warm start off by %g", trial, d)
		}
		q.H = on
		if err := warm.Solve(&q); err != nil || maxDiff(warm.Z, z) > 1e-9 {
			t.Errorf("%d: %v, %v with the bounds on again, not %v", trial, err, warm.Z, z)
		}
	}
}
