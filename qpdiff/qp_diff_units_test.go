package qpdiff

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// cotangents returns the cotangents of the equivalent problem's solution.
func (u *qpUnits) cotangents(dz, dlambda, dnu []float64) (z, lambda, nu []float64) {
	z, lambda, nu = slices.Clone(dz), slices.Clone(dlambda), slices.Clone(dnu)
	for j := range z {
		z[j] *= u.d[j]
	}
	for r := range lambda {
		lambda[r] *= u.rows[r] / u.objective
	}
	for r := range nu {
		nu[r] *= u.equalityRows[r] / u.objective
	}
	return z, lambda, nu
}

// convertGradient converts a gradient in the data of the equivalent problem to the units of the
// problem.
func (u *qpUnits) convertGradient(g *QPGrad) {
	g.Q.Apply(func(i, j int, v float64) float64 { return v * u.objective * u.d[max(i, j)] * u.d[min(i, j)] }, g.Q)
	for j := range g.P {
		g.P[j] *= u.objective * u.d[j]
	}
	rows := func(m *mat.Dense, b, s []float64) {
		if m == nil {
			return
		}
		m.Apply(func(i, j int, v float64) float64 { return v * s[i] * u.d[j] }, m)
		for i := range b {
			b[i] *= s[i]
		}
	}
	rows(g.G, g.H, u.rows)
	rows(g.A, g.B, u.equalityRows)
}

// Units change derivatives only by rounding, and powers of two as units change no bit.
func TestQPDerivativeUnits(t *testing.T) {
	for _, kind := range unitKinds {
		if kind.status != Optimal {
			continue
		}
		t.Run(kind.name, func(t *testing.T) {
			worst, answered := 0.0, 0
			for i := range 60 {
				rng := rand.New(rand.NewPCG(27, uint64(i)))
				q := kind.draw(rng, 2+rng.IntN(7))
				var s Solution
				if err := s.Solve(&q); err != nil {
					t.Fatal(err)
				}
				dz, dlambda, dnu := gaussians(rng, len(q.P)), gaussians(rng, len(q.H)), gaussians(rng, len(q.B))
				// Usually only one output has a cotangent. This cotangent then determines the only size.
				switch rng.IntN(3) {
				case 0:
					clear(dlambda)
					clear(dnu)
				case 1:
					clear(dz)
				}
				g := newQPGrad(&q)
				want := refusedInputs(t, s.VJP(nil, g, dz, dlambda, dnu))
				if want["Q"] == nil {
					answered++
				}
				for trial := range 6 {
					exact := trial%2 == 0
					u := drawUnits(rng, &q, 10, 6, trial%4 == 1)
					if exact {
						u = drawUnits(rng, &q, 2, 20, false)
						u.objective *= u.objective
					}
					other := u.apply(&q)
					var r Solution
					if err := r.Solve(&other); err != nil {
						t.Fatal(err)
					}
					z, lambda, nu := u.cotangents(dz, dlambda, dnu)
					h := newQPGrad(&other)
					have := refusedInputs(t, r.VJP(nil, h, z, lambda, nu))
					if !slices.Equal(slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want))) {
						t.Errorf("%d, %+v: refused are %v, not %v", i, u, have, want)
						continue
					}
					u.convertGradient(h)
					for input, x := range g.fields() { // refused blocks are zero
						size, off := 1.0, 0.0
						for j, v := range x {
							size = max(size, math.Abs(v))
							off = max(off, math.Abs(v-h.fields()[input][j]))
						}
						worst = max(worst, off/size)
						if exact && off > 0 {
							t.Errorf("%d, %+v: powers of two change ∂%v by %g", i, u, QPInput(input), off/size)
						}
					}
				}
			}
			t.Logf("%d answered, derivatives differ by %.2g", answered, worst)
			if worst > 1e-10 || answered < 20 {
				t.Errorf("%d of 60 answered, derivatives differ by %g", answered, worst)
			}
		})
	}
}

// At a vertex, no derivative depends on Q, and z does not depend on p.
func TestQPDerivativeAtVertex(t *testing.T) {
	serial.Test(t)
	for _, objective := range []float64{1, 1e6, 1e-6, 0x1p20, 0x1p-20, 1e12, 1e-12} {
		for i := range 100 {
			rng := rand.New(rand.NewPCG(28, uint64(i)))
			q := QP{Q: square(9, 9, 9, 9), P: []float64{-1, 1}, G: square(-1, 0, 0, -1), H: []float64{0, 0}, A: mat.NewDense(1, 2, []float64{1, 1}), B: []float64{1}}
			if i > 0 {
				n := 2 + rng.IntN(7)
				q = boundedQP(rng, n)
				if i%2 == 0 { // semidefinite
					f := mat.NewDense(n, (n+1)/2, gaussians(rng, n*((n+1)/2)))
					q.Q = mat.NewDense(n, n, nil)
					q.Q.Mul(f, f.T())
					// p, for the same vertex and multipliers.
					var x mat.VecDense
					if x.SolveVec(q.G.Slice(0, n, 0, n), mat.NewVecDense(n, slices.Clone(q.H[:n]))) != nil {
						continue
					}
					p := mat.NewVecDense(n, q.P)
					x.MulVec(q.Q, &x)
					p.SubVec(p, &x)
				}
			}
			u := drawUnits(rng, &q, 10, 0, false)
			u.objective = objective
			other := u.apply(&q)
			var s Solution
			if err := s.Solve(&other); err != nil {
				t.Fatal(err)
			}
			g := newQPGrad(&other)
			if err := s.VJP(nil, g, gaussians(rng, len(q.P)), nil, nil); err != nil {
				t.Errorf("%d, objective times %g: %v", i, objective, err)
				continue
			}
			u.convertGradient(g)
			for j, v := range g.P {
				if !(math.Abs(v) <= 1e-14) {
					t.Errorf("%d, objective times %g: ∂P[%d] = %g, want 0", i, objective, j, v)
				}
			}
		}
	}
}

// The derivatives at the vertex of min pz, z ≤ 0 are exact even if the proximal term was chosen for
// a far larger p.
func TestQPDerivativeBesideLargeProximalTerm(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{1})
	for i := range 200 {
		rng := rand.New(rand.NewPCG(29, uint64(i)))
		var s Solution
		for _, p := range []float64{-400 * math.Exp(3*rng.NormFloat64()), -4} {
			if err := s.Solve(&QP{Q: mat.NewDense(1, 1, nil), P: []float64{p}, G: one, H: []float64{0}}); err != nil {
				t.Fatal(err)
			}
		}
		w := gaussians(rng, 2)
		g := &QPGrad{P: make([]float64, 1), H: make([]float64, 1)}
		if err := s.VJP(nil, g, w[:1], w[1:], nil); err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(g.P[0]+w[1]) <= 4*dense.Eps*math.Abs(w[1])) || !(math.Abs(g.H[0]-w[0]) <= noiseTol*dense.Largest(w)*2) {
			t.Errorf("%d: ∂p %v, ∂h %v, want %v, %v", i, g.P[0], g.H[0], -w[1], w[0])
		}
	}
}

// Corrections of a singular program continue until the gradient of each variable is small relative
// to its own terms. By hand, dz₁ = dh/g and dz₀ = −(dp₀ + q₀₁·dz₁)/q₀₀.
func TestQPDerivativeOfEachVariable(t *testing.T) {
	const q00, q01, q11, g = 2.276116922575584, 0.023698625499823097, 0.00024674692455840455, 0.2643828626354572
	q := &QP{Q: square(q00, q01, q01, q11), P: []float64{-4.007212874331609, -0.5816641146332211},
		G: mat.NewDense(1, 2, []float64{0, g}), H: []float64{0.06776692354937727}}
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Fatal(err)
	}
	const dp, dh = -0.7425820528288336, -0.4778673927887678
	dz := make([]float64, 2)
	if err := s.JVP(nil, dz, nil, nil, &QPGrad{P: []float64{dp, -2.79}, H: []float64{dh}}); err != nil {
		t.Fatal(err)
	}
	z1 := dh / g
	for i, want := range []float64{-(dp + q01*z1) / q00, z1} {
		if !(math.Abs(dz[i]-want) <= noiseTol*math.Abs(want)) {
			t.Errorf("dz[%d] = %v, want %v", i, dz[i], want)
		}
	}
}

// VJP is right to 1e-4 for a flat Q, although the corrections stop before the cotangent is reached.
func TestQPDerivativeWhereQIsFlat(t *testing.T) {
	const low, rest = 1e-10, 3e-12
	for _, objective := range []float64{1, 1e6, 1e-6} {
		flat := rotatedMatrix(low)
		q := QP{Q: mat.NewDense(3, 3, nil), P: []float64{-1, -1, 1}, G: mat.NewDense(1, 3, []float64{0, 0, -1}), H: []float64{0}}
		q.Q.Slice(0, 2, 0, 2).(*mat.Dense).Copy(flat)
		q.Q.Scale(objective, q.Q)
		for j := range q.P {
			q.P[j] *= objective
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		g := newQPGrad(&q)
		if err := s.VJP(nil, g, []float64{1 + rest, 1 - rest, 0}, nil, nil); err != nil {
			t.Fatal(err)
		}
		for j, want := range []float64{-1 - rest/low, -1 + rest/low} {
			if v := g.P[j] * objective; math.Abs(v-want) > 1e-4 {
				t.Errorf("objective times %g: ∂P[%d] = %v, want %v", objective, j, v, want)
			}
		}
	}
}
