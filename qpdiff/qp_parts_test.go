package qpdiff

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The tests below check that each unconnected part of a program is solved as if it were the whole
// program.

func diagonal(v ...float64) *mat.Dense {
	m := mat.NewDense(len(v), len(v), nil)
	for i, x := range v {
		m.Set(i, i, x)
	}
	return m
}

// glueParts returns the program of several unconnected ones.
func glueParts(parts ...QP) QP {
	n, m, eq := 0, 0, 0
	for _, p := range parts {
		n, m, eq = n+len(p.P), m+len(p.H), eq+len(p.B)
	}
	out := QP{Q: mat.NewDense(n, n, nil)}
	if m > 0 {
		out.G = mat.NewDense(m, n, nil)
	}
	if eq > 0 {
		out.A = mat.NewDense(eq, n, nil)
	}
	for _, p := range parts {
		n, m, eq, k := len(out.P), len(out.H), len(out.B), len(p.P)
		put := func(to, from *mat.Dense, at int) {
			if from != nil && !from.IsEmpty() {
				rows, _ := from.Dims()
				to.Slice(at, at+rows, n, n+k).(*mat.Dense).Copy(from)
			}
		}
		put(out.Q, p.Q, n)
		put(out.G, p.G, m)
		put(out.A, p.A, eq)
		out.P, out.H, out.B = append(out.P, p.P...), append(out.H, p.H...), append(out.B, p.B...)
	}
	return out
}

// The variables of different parts may alternate.
func TestQPPartsAreFound(t *testing.T) {
	q := QP{Q: diagonal(0, 1, 0, 1, 0, 0), P: make([]float64, 6),
		G: mat.NewDense(3, 6, []float64{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0}), H: make([]float64, 3),
		A: mat.NewDense(1, 6, []float64{0, 0, 0, 0, 1, 1}), B: []float64{0}}
	var a activeSet
	for _, c := range []struct {
		variables, rows []int
		change          func()
	}{
		{[]int{0, 1, 2, 1, 0, 0}, []int{0, 0, 1, 0}, func() {}},
		{[]int{0, 1, 0, 1, 0, 0}, []int{0, 0, 1, 0}, func() { q.Q.Set(2, 5, 1); q.Q.Set(5, 2, 1) }},
		{[]int{0, 0, 0, 0, 0, 0}, []int{0, 0, 0, 0}, func() { q.A.Set(0, 3, 1) }},
	} {
		c.change()
		if err := a.load(&q); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.varPart, c.variables) || !slices.Equal(a.rowPart, c.rows) || len(a.parts) != slices.Max(c.variables)+1 {
			t.Errorf("parts of the variables %v, of the rows %v of %d, want %v, %v", a.varPart, a.rowPart, len(a.parts), c.variables, c.rows)
		}
	}
}

// Variables and rows keep correct digits although their numbers are negligible compared with
// others. Earlier versions failed on each program.
func TestQPFarApart(t *testing.T) {
	for _, c := range []struct {
		name      string
		q         QP
		status    Status
		z, lambda []float64 // if the status is Optimal; nil: not compared
	}{
		{"two bounds", QP{P: []float64{-1, 1e8, 0}, G: mat.NewDense(4, 3, []float64{1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, -1}), H: []float64{1, 0, 0, -1e6}}, Optimal, []float64{0, 0, 1e6}, nil},
		{"two bounds and an equality", QP{P: []float64{-1, 0, -131072}, G: mat.NewDense(4, 3, []float64{1, 0, 0, 1, 0, 0, 0, 0x1p-29, 0, 0, 0, 131072}), H: []float64{4, 0, 1, 0}, A: mat.NewDense(1, 3, []float64{0, -0x1p-29, 0}), B: []float64{-1}}, Optimal, []float64{0, 0x1p29, 0}, nil},
		{"rows of four parts", QP{Q: diagonal(3.552713678800501e-15, 0, 0, 0, 0, 0, 0, 0), P: []float64{0, -1, -1, -1.073741824e+09, -1, -1, -1, -256}, G: mat.NewDense(7, 8, []float64{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5.36870912e+08, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 5.36870912e+08, 0, 0, 0, 128, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}), H: []float64{0, 0, 0, 0, 0, 1, 0}}, Optimal, []float64{0, 0, 0, 0, 0, 1, 0, 0}, nil},
		{"gradient", QP{Q: diagonal(5.960464477539063e-08, 0, 0, 0, 0, 0), P: []float64{0, -4.294967296e+09, 0, -1, -1, 10}, G: mat.NewDense(5, 6, []float64{0, 4.294967296e+09, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, -5, 0, 0, 0, 0, 0, -5, 0, 0, 0, 0, 1, 1}), H: []float64{0, 0, -9, -5, 0}, A: mat.NewDense(1, 6, []float64{0, 0, 1, 0, 0, 0}), B: []float64{0}}, Optimal, []float64{0, 0, 0, 0, -4, 1}, nil},
		{"weights from 1e-6 to 1e8", QP{Q: diagonal(1e-6, 0, 0, 0), P: []float64{0, -1, -2e8, -1}, G: mat.NewDense(4, 4, []float64{0, 0, 1e8, 0, 0, 1, 1e8, 0, 0, 1, 1e8, 0, 0, 0, 0, 1}), H: []float64{0, 0, 4, 1}}, Optimal, []float64{0, 0, 0, 1}, nil},
		{"weights of bounds", QP{Q: diagonal(1.2789769243681803e-13, 0, 0), P: []float64{0, -1.37438953472e+12, -1}, G: mat.NewDense(2, 3, []float64{0, 2.74877906944e+11, 0, 0, 0, 1}), H: []float64{0, 1}}, Optimal, []float64{0, 0, 1}, nil},
		{"multipliers by an entry of 2⁻¹⁵", QP{Q: mat.NewDense(5, 5, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 2, 4, 0, 0, 0, 0, 0, 0}), P: []float64{-2.000030517578125, -3, -10.000091552734375, 6.99993896484375, 6},
			G: mat.NewDense(5, 5, []float64{0, 2, 5, -5, -3, 0, -5, 0, 0, 1, 3.0517578125e-05, 2, 5.000091552734375, -4.99993896484375, -3, 1, 0, 0, 0, 0, 0, -1, 0, 3, 0}), H: []float64{4, -9.99609375, 4, 0, -2}}, Optimal, nil, []float64{1, 0, 1, 2, 1}},
		{"z₁ ≤ 1, z₁ ≥ 2, linear", QP{P: []float64{-1, 1e7}, G: mat.NewDense(3, 2, []float64{1, 0, -1, 0, 0, -1}), H: []float64{1, -2, -1e6}}, Infeasible, nil, nil},
		{"z₁ ≤ 1, z₁ ≥ 2, definite", QP{Q: diagonal(1, 1), P: []float64{-2, 0}, G: mat.NewDense(2, 2, []float64{1, 0, -1, 0}), H: []float64{1, -2}, A: mat.NewDense(1, 2, []float64{0, 1}), B: []float64{1e12}}, Infeasible, nil, nil},
		{"−44 + 4 ≤ −41, definite", QP{Q: diagonal(9*0x1p38, 4*0x1p-40), P: []float64{0, 0}, G: mat.NewDense(1, 2, []float64{0x1p20, -0x1p-19}), H: []float64{-41}, A: mat.NewDense(2, 2, []float64{-0x1p19, 0, 0, 0x1p-20}), B: []float64{22, -2}}, Infeasible, nil, nil},
		{"z₁ = 0, z₁ ≤ −1, a ray", QP{P: []float64{0, 1, 0}, G: mat.NewDense(1, 3, []float64{0x1p21, 0, 0}), H: []float64{-1}, A: mat.NewDense(2, 3, []float64{0x1p21, 0, 0, 0, 0, 0x1p-23}), B: []float64{0, 1}}, Infeasible, nil, nil},
		{"a ray (0, −2, 1, 1)", QP{Q: diagonal(900, 0, 0, 0), P: []float64{3, 0, -2, -4}, G: mat.NewDense(5, 4, []float64{-1, 0, 0, 0, 0, -18, -33, -3, 0, -6, 3, -15, 2, 0, 0, 0, 0, -4, -1, -7}), H: []float64{1, -117, -15, 0, -10}, A: mat.NewDense(1, 4, []float64{18, 2, -1, 5}), B: []float64{-13}}, Unbounded, nil, nil},
		{"a ray (2, 1, −1, 0)", QP{Q: mat.NewDense(4, 4, []float64{276, -474, 78, 0, -474, 834, -114, 0, 78, -114, 42, 0, 0, 0, 0, 900}), P: []float64{-2, 1, 4, -1}, G: mat.NewDense(6, 4, []float64{-3, 0, 0, 0, -10, 25, 5, 0, 0, 0, 3, 4, -10, 25, 5, 0, 0, -3, 0, 0, 0, 0, 0, 1}), H: []float64{9, 75, 16, 76, -4, 3}, A: mat.NewDense(3, 4, []float64{-2, 5, 1, -6, -6, 6, -6, 24, -4, 4, -4, 0}), B: []float64{-3, 90, 12}}, Unbounded, nil, nil},
	} {
		var s Solution
		if err := s.Solve(&c.q); s.Status != c.status {
			t.Errorf("%s: %v, %v, want %v; z = %v, %+v", c.name, s.Status, err, c.status, s.Z, s.Residual)
			continue
		}
		near := func(x, want []float64) bool {
			for j, v := range want {
				if math.Abs(x[j]-v) > 1e-6*max(1, math.Abs(v)) {
					return false
				}
			}
			return true
		}
		if !near(s.Z, c.z) || !near(s.Lambda, c.lambda) {
			t.Errorf("%s: z = %v, λ = %v, want %v, %v; %+v", c.name, s.Z, s.Lambda, c.z, c.lambda, s.Residual)
		}
	}
}

// The status, solution and derivatives of a program of parts follow from each part, relative to the
// part's size.
func TestQPPartsInAnyUnits(t *testing.T) {
	serial.Test(t)
	worst, derivative, derivatives := 0.0, 0.0, 0
	count := map[Status]int{}
	for i := range numtest.Long(3000) {
		rng := rand.New(rand.NewPCG(34, uint64(i)))
		var parts []QP
		var alone []*Solution
		var units []qpUnits
		want := Optimal
		for len(parts) < 2 || len(parts) < 4 && rng.IntN(2) == 0 {
			kind := unitKinds[rng.IntN(len(unitKinds))]
			if kind.status == Nonconvex || kind.status != Optimal && rng.IntN(3) > 0 {
				continue
			}
			q := kind.draw(rng, 2+rng.IntN(4))
			u := drawUnits(rng, &q, 2, 40, false)
			q = u.apply(&q)
			s := new(Solution)
			s.Solve(&q)
			parts, alone, units = append(parts, q), append(alone, s), append(units, u)
			if s.Status != Optimal && want != Infeasible {
				want = s.Status
			}
		}
		q := glueParts(parts...)
		var s Solution
		err := s.Solve(&q)
		count[s.Status]++
		if s.Status != want {
			t.Errorf("%d: %v (%v), want %v", i, s.Status, err, want)
		}
		if s.Status != Optimal {
			continue
		}
		n := 0
		dz, whole := make([]float64, len(s.Z)), newQPGrad(&q)
		var grads []*QPGrad
		for k, part := range alone {
			worst = max(worst, numtest.RelErr(s.Z[n:n+len(part.Z)], part.Z))
			d := dz[n : n+len(part.Z)]
			for j := range d {
				d[j] = units[k].d[j] * rng.NormFloat64()
			}
			g := newQPGrad(&parts[k])
			if part.VJP(nil, g, d, nil, nil) == nil {
				grads = append(grads, g)
			}
			n += len(part.Z)
		}
		if err := s.VJP(nil, whole, dz, nil, nil); err != nil || len(grads) < len(parts) {
			continue
		}
		derivatives++
		compare := func(whole []float64, field func(g *QPGrad) []float64) {
			for _, g := range grads {
				x := field(g)
				if dense.Largest(x) > 0 { // a vertex does not move with P, except for rounding
					derivative = max(derivative, numtest.RelErr(whole[:len(x)], x))
				}
				whole = whole[len(x):]
			}
		}
		compare(whole.P, func(g *QPGrad) []float64 { return g.P })
		compare(whole.H, func(g *QPGrad) []float64 { return g.H })
		compare(whole.B, func(g *QPGrad) []float64 { return g.B })
	}
	t.Logf("%v, results differ by %.2g; %d derivatives by %.2g", count, worst, derivatives, derivative)
	if worst > 1e-9 || derivative > 1e-9 || 2*derivatives < count[Optimal] {
		t.Errorf("results differ by %g, %d derivatives of %d by %g", worst, derivatives, count[Optimal], derivative)
	}
}

// The derivative of a program along a direction consists of its parts' derivatives. A vertex does
// not move with the linear term.
func TestQPDirectionsOfPartsInAnyUnits(t *testing.T) {
	serial.Test(t)
	u, v := 0x1p40, 0x1p80
	vertex := QP{P: []float64{-.18 * u * v, .72 * u * v}, G: square(.6*v, 0, -1.1*v, -1.2*v), H: []float64{-.4, -.2}}
	q := glueParts(vertex, QP{Q: square(u, -.2*u, -.2*u, 1.04*u), P: []float64{u, 0}, G: mat.NewDense(1, 2, []float64{.7, -2.5}), H: []float64{-1}})
	var s Solution
	if err := s.Solve(&q); err != nil {
		t.Fatal(err)
	}
	dz := make([]float64, 4)
	if err := s.JVP(nil, dz, nil, nil, &QPGrad{P: []float64{3 * u * v, 0, 0, 0}, H: []float64{0, 1, 0}}); err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(dz[0]*v) < 1e-12 && math.Abs(dz[1]*v+1/1.2) < 1e-12) {
		t.Errorf("dz = %v, want 0, %v", dz, -1/1.2/v)
	}
	worst, answered, n := 0.0, 0, numtest.Long(1500)
	for i := range n {
		rng := rand.New(rand.NewPCG(37, uint64(i)))
		var parts, directions []QP
		var want [][]float64 // in the units of the glued program
		for len(parts) < 2 || len(parts) < 4 && rng.IntN(2) == 0 {
			kind := unitKinds[rng.IntN(len(unitKinds))]
			if kind.status != Optimal || kind.name == "cone" {
				continue
			}
			q := kind.draw(rng, 2+rng.IntN(4))
			u := drawUnits(rng, &q, 2, 80, false)
			parts = append(parts, u.apply(&q))
			d, dz := randomDirection(rng, &q), make([]float64, len(q.P))
			var alone Solution
			if err := cmp.Or(alone.Solve(&q), alone.JVP(nil, dz, nil, nil, d)); err != nil {
				t.Fatal(err)
			}
			floats.Div(dz, u.d)
			directions = append(directions, u.apply((*QP)(d)))
			want = append(want, dz)
		}
		q, d := glueParts(parts...), QPGrad(glueParts(directions...))
		var s Solution
		dz := make([]float64, len(q.P))
		if err := cmp.Or(s.Solve(&q), s.JVP(nil, dz, nil, nil, &d)); err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		answered++
		for _, part := range want {
			worst = max(worst, numtest.RelErr(dz[:len(part)], part))
			dz = dz[len(part):]
		}
	}
	t.Logf("%d derivatives differ by %.2g", answered, worst)
	if worst > 1e-9 {
		t.Errorf("derivatives differ by %g", worst)
	}
}

// A part whose products underflow has the solution of the same part in larger units, up to lost
// digits.
func TestQPSmallParts(t *testing.T) {
	optimal := 0
	for i := range numtest.Long(3000) {
		rng := rand.New(rand.NewPCG(36, uint64(i)))
		kind := unitKinds[rng.IntN(len(unitKinds))]
		if kind.status != Optimal {
			continue
		}
		part := kind.draw(rng, 2+rng.IntN(4))
		var alone, s Solution
		alone.Solve(&part)
		if alone.Status != Optimal {
			continue
		}
		by := math.Ldexp(1, -300-rng.IntN(700))
		if len(part.H)+len(part.B) == 0 {
			by = math.Ldexp(1, -300-rng.IntN(774))
		}
		for _, x := range [][]float64{part.P, part.H, part.B} {
			floats.Scale(by, x)
		}
		q := glueParts(QP{Q: diagonal(2), P: []float64{4}}, part)
		if err := s.Solve(&q); err != nil {
			t.Errorf("%d, %s × %.3g: %v", i, kind.name, by, err)
			continue
		}
		optimal++
		// Each entry of z is rounded, and so is each product in the sums of the equations.
		lost := math.SmallestNonzeroFloat64 * 100
		for j, z := range alone.Z {
			if got := s.Z[j+1]; math.Abs(got-z*by) > 1e-7*dense.Largest(alone.Z)*by+lost {
				t.Errorf("%d, %s × %.3g: z = %v, want %v", i, kind.name, by, s.Z[1:], alone.Z)
				break
			}
		}
	}
	if optimal < numtest.Long(1000) {
		t.Errorf("%d programs solved", optimal)
	}
}

// After programs without a solution, a Solution solves every program that a new Solution solves.
func TestQPWarmAfterUnbounded(t *testing.T) {
	g := mat.NewDense(8, 6, []float64{0, 0, 0, 0, 0, 1, 5, 0, -1, -3, -4, -4, -2, -3, 0, 0, -3, -3, 5, 1, 2, 2, -2, -1, 1, 1, 0, -1, 2, 0, 0, 3, -2, 5, -3, 2, 0, 4, -1, -5, 3, -4, 4, 0, 4, 5, -1, 1})
	h := []float64{-4, 18, 45, -23, -9, -40, 7, -35}
	h10 := []float64{-40, 180, 450, -230, -90, -400, 70, -350}
	last := &QP{P: []float64{-28, -19, -16, 4, 7, 38}, G: g, H: h}
	var s Solution
	s.Solve(&QP{P: []float64{-2, -3, -5, -3, 1, 4}, G: g, H: h})
	s.Solve(&QP{P: []float64{-20, 50, -30, 40, -40, -30}, G: g, H: h10})
	for range 3 {
		if err := s.Solve(last); err != nil {
			t.Error(err)
		}
	}
}

// A second solve of the same program does not factorise it again, however different the units of
// its parts are.
func TestQPPartsKeepTheirFactor(t *testing.T) {
	q := &QP{Q: diagonal(1, 0, 0), P: []float64{0, -1, -1e8}, G: mat.NewDense(2, 3, []float64{0, 1, 0, 0, 0, 1}), H: []float64{1, 1}}
	var s Solution
	s.Solve(q)
	f := s.set.factors
	if s.Solve(q); s.set.factors != f {
		t.Errorf("factorised again, %d changes of the working set", s.Iterations)
	}
}
