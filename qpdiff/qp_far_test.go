package qpdiff

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// The programs in this file have a singular Q and sides so far away that other solvers treat them
// as infinite.

const (
	nearSide = 1e14 // all far sides that drawFar draws are beyond it
	// farDigits bounds the results of farResidual. Each of up to six entries adds at most
	// convergedWant/farWant.
	farDigits = 6 * convergedWant / farWant
)

// drawFar draws a feasible program with sides that are near, far away or infinite.
func drawFar(rng *rand.Rand, twoSided bool) QP {
	n := 1 + rng.IntN(6)
	m, k := rng.IntN(8), 0
	if rng.IntN(3) == 0 {
		k = rng.IntN(n)
	}
	q, x := randomQP(rng, n, m, k), gaussians(rng, n)
	if rank := rng.IntN(n); rank == 0 {
		q.Q = nil
	} else {
		f := mat.NewDense(n, rank, gaussians(rng, n*rank))
		q.Q.Mul(f, f.T())
		for i := range n {
			for j := range i {
				q.Q.Set(i, j, q.Q.At(j, i))
			}
		}
	}
	for i := range q.B {
		q.B[i] = dense.Dot(q.A.RawRowView(i), x)
	}
	side := func() float64 {
		if rng.IntN(2) == 0 {
			return rng.ExpFloat64()
		}
		return []float64{1e15, 1e20, 1e25, math.Inf(1)}[rng.IntN(4)]
	}
	if twoSided {
		q.L = make([]float64, m)
		if rng.IntN(2) == 0 {
			q.ZMin, q.ZMax = make([]float64, n), make([]float64, n)
			for j, v := range x {
				q.ZMin[j], q.ZMax[j] = v-side(), v+side()
			}
		}
	}
	for i := range q.H {
		v := dense.Dot(q.G.RawRowView(i), x)
		q.H[i] = v + side()
		if twoSided {
			q.L[i] = v - side()
		}
	}
	return q
}

// withoutFar returns the program q with infinite sides in place of the far sides.
func withoutFar(q QP) QP {
	open := func(x []float64) []float64 {
		x = slices.Clone(x)
		for i, v := range x {
			if math.Abs(v) > nearSide {
				x[i] = v * math.Inf(1)
			}
		}
		return x
	}
	q.H, q.L, q.ZMin, q.ZMax = open(q.H), open(q.L), open(q.ZMin), open(q.ZMax)
	return q
}

// farResidual returns the larger of the relative gradient of the Lagrangian, without the terms of
// Qz, and the relative gap.
func farResidual(q *QP, s *Solution) float64 {
	n := len(q.P)
	grad, size := slices.Clone(q.P), dense.Largest(q.P)
	if q.Q != nil {
		for i := range grad {
			grad[i] += dense.Dot(q.Q.RawRowView(i), s.Z)
		}
	}
	add := func(j int, v float64) {
		grad[j] += v
		size = max(size, math.Abs(v))
	}
	general := len(s.Lambda)
	if q.bounded() {
		general -= n
	}
	for r, v := range s.Lambda {
		if r >= general {
			add(r-general, v)
			continue
		}
		for j, g := range q.G.RawRowView(r) {
			add(j, g*v)
		}
	}
	for r, v := range s.Nu {
		for j, g := range q.A.RawRowView(r) {
			add(j, g*v)
		}
	}
	return max(dense.Largest(grad)/size, s.Residual.Gap/max(math.Abs(s.Objective), 1))
}

// rescaledQP returns the program q in random units of the objective, the rows and the variables.
func rescaledQP(rng *rand.Rand, q *QP) QP {
	n, power := len(q.P), func(most int) float64 { return math.Ldexp(1, rng.IntN(2*most+1)-most) }
	by, unit := power(300), slices.Repeat([]float64{1}, n)
	switch rng.IntN(3) {
	case 0:
		unit = slices.Repeat([]float64{by}, n)
		by = 1 / by // Q stays in the range of float64
	case 1:
		by = 1
		for j := range unit {
			unit[j] = power(40)
		}
	}
	w := QP{P: slices.Clone(q.P), ZMin: slices.Clone(q.ZMin), ZMax: slices.Clone(q.ZMax)}
	for j, u := range unit {
		w.P[j] *= by * u
		if q.bounded() {
			w.ZMin[j] /= u
			w.ZMax[j] /= u
		}
	}
	if q.Q != nil {
		w.Q = mat.DenseCopyOf(q.Q)
		w.Q.Apply(func(i, j int, v float64) float64 { return by * unit[max(i, j)] * v * unit[min(i, j)] }, w.Q)
	}
	rows := func(m *mat.Dense, sides ...*[]float64) *mat.Dense {
		if m == nil {
			return nil
		}
		m = mat.DenseCopyOf(m)
		count, _ := m.Dims()
		scale := make([]float64, count)
		for r := range scale {
			scale[r] = power(20)
		}
		m.Apply(func(r, j int, v float64) float64 { return scale[r] * v * unit[j] }, m)
		for _, side := range sides {
			*side = slices.Clone(*side)
			for r := range *side {
				(*side)[r] *= scale[r]
			}
		}
		return m
	}
	w.L, w.H, w.B = q.L, q.H, q.B
	w.G, w.A = rows(q.G, &w.L, &w.H), rows(q.A, &w.B)
	return w
}

// The solution ignores far sides if a minimiser exists without them. Otherwise a far side limits z,
// or the status is Unbounded.
func TestQPFarSides(t *testing.T) {
	serial.Test(t)
	count := map[string]int{}
	var warm Solution
	for seed := range uint64(numtest.Long(5000)) {
		rng := rand.New(rand.NewPCG(seed, 77))
		q := drawFar(rng, seed%2 == 0)
		near := withoutFar(q)
		var s, o, u Solution
		_, _ = s.Solve(&q), o.Solve(&near)
		units := rescaledQP(rng, &q)
		if u.Solve(&units); u.Status != s.Status {
			t.Errorf("%d: %v, in other units %v", seed, s.Status, u.Status)
		}
		warm.Solve(&near)
		if warm.Solve(&q); warm.Status != s.Status {
			t.Errorf("%d: %v, from a warm start %v", seed, s.Status, warm.Status)
		}
		count[o.Status.String()+", with far sides "+s.Status.String()]++
		switch {
		case s.Status == Optimal:
			if off := farResidual(&q, &s); off > farDigits {
				t.Errorf("%d: optimal at %g, but off by %g in units of P or the objective: λ = %g, %+v", seed, s.Z, off, s.Lambda, s.Residual)
			}
			if o.Status == Optimal && math.Abs(s.Objective-o.Objective) > 1e-8*max(1, math.Abs(o.Objective)) {
				t.Errorf("%d: objective %v, without far sides %v", seed, s.Objective, o.Objective)
			}
		case s.Status != Unbounded || o.Status != Unbounded:
			t.Errorf("%d: %v, without far sides %v", seed, s.Status, o.Status)
		default:
			if off := certificateOff(&near, &s); off > 1e-10 {
				t.Errorf("%d: the certificate is off by %g", seed, off)
			}
		}
	}
	t.Log(count)
	for _, want := range []string{"optimal, with far sides optimal", "unbounded, with far sides optimal", "unbounded, with far sides unbounded"} {
		if count[want] < numtest.Long(300) {
			t.Errorf("%d programs without far sides are %s: %v", count[want], want, count)
		}
	}
}

// Bounds that represent infinity do not affect a solution whose size a row determines.
func TestQPFarBoundsBesideSmallZ(t *testing.T) {
	for _, unit := range []float64{1, 0x1p-300, 0x1p300} {
		for _, far := range []float64{1e7, 1e10, 1e15, 1e20, 1e25} {
			for seed := range uint64(numtest.Long(200)) {
				rng := rand.New(rand.NewPCG(seed, 78))
				n := 2 + rng.IntN(4)
				p, side, bound := gaussians(rng, n), unit*(1+rng.Float64()), slices.Repeat([]float64{far * unit}, n)
				low, row := slices.Repeat([]float64{-far * unit}, n), mat.NewDense(1, n, p)
				for name, q := range map[string]QP{
					"one-sided": {G: mat.NewDense(2, n, append(slices.Clone(p), gaussians(rng, n)...)), H: []float64{-side, far * unit}},
					"two-sided": {G: row, L: []float64{side}, H: []float64{far * unit}, ZMax: bound},
					"equality":  {A: row, B: []float64{side}, ZMin: low, ZMax: bound},
				} {
					want := side
					if q.P = slices.Clone(p); name == "one-sided" { // pᵀz ≤ −side, and −p is the linear term
						for j := range q.P {
							q.P[j] = -p[j]
						}
					}
					var s Solution
					if err := s.Solve(&q); err != nil || math.Abs(s.Objective-want) > 1e-9*unit || math.Abs(dense.Dot(q.P, s.Z)-want) > 1e-9*unit {
						t.Errorf("%s %d, far bound %g, unit %g: %v, objective %g, want %g; z = %g, λ = %v", name, seed, far, unit, err, s.Objective, want, s.Z, s.Lambda)
					}
				}
			}
		}
	}
}
