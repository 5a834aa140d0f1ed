package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"

	"gonum.org/v1/gonum/mat"
)

// Parts of a program that nothing connects: each is solved as if it were alone.

func diagonal(v ...float64) *mat.Dense {
	m := mat.NewDense(len(v), len(v), nil)
	for i, x := range v {
		m.Set(i, i, x)
	}
	return m
}

func wantZ(t *testing.T, name string, q *QP, z ...float64) {
	t.Helper()
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Errorf("%s: %v, want z = %v", name, err, z)
		return
	}
	for j, v := range z {
		if math.Abs(s.Z[j]-v) > 1e-6*math.Max(1, math.Abs(v)) {
			t.Errorf("%s: z = %v, want %v (λ %v, %+v)", name, s.Z, z, s.Lambda, s.Residual)
			return
		}
	}
}

// glue is the program of several that have nothing to do with each other.
func glue(parts ...QP) QP {
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
		if !slices.Equal(a.part, c.variables) || !slices.Equal(a.rowPart, c.rows) || len(a.parts) != slices.Max(c.variables)+1 {
			t.Errorf("parts of the variables %v, of the rows %v of %d, want %v, %v", a.part, a.rowPart, len(a.parts), c.variables, c.rows)
		}
	}
}

// A bound is violated by all of its size however large the other parts are.
func TestQPPartsBounds(t *testing.T) {
	wantZ(t, "two bounds", &QP{P: []float64{-1, 1e8, 0}, G: mat.NewDense(4, 3, []float64{1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, -1}), H: []float64{1, 0, 0, -1e6}}, 0, 0, 1e6)
	wantZ(t, "two bounds and an equality", &QP{P: []float64{-1, 0, -131072}, G: mat.NewDense(4, 3, []float64{1, 0, 0, 1, 0, 0, 0, 0x1p-29, 0, 0, 0, 131072}), H: []float64{4, 0, 1, 0}, A: mat.NewDense(1, 3, []float64{0, -0x1p-29, 0}), B: []float64{-1}}, 0, 0x1p29, 0)
	wantZ(t, "eight variables", &QP{Q: diagonal(3.552713678800501e-15, 0, 0, 0, 0, 0, 0, 0), P: []float64{0, -1, -1, -1.073741824e+09, -1, -1, -1, -256}, G: mat.NewDense(7, 8, []float64{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 5.36870912e+08, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 5.36870912e+08, 0, 0, 0, 128, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}), H: []float64{0, 0, 0, 0, 0, 1, 0}}, 0, 0, 0, 0, 0, 1, 0, 0)
}

func TestQPPartsInfeasible(t *testing.T) {
	for name, q := range map[string]*QP{
		"z₁ ≤ 1, z₁ ≥ 2, linear":   {P: []float64{-1, 1e7}, G: mat.NewDense(3, 2, []float64{1, 0, -1, 0, 0, -1}), H: []float64{1, -2, -1e6}},
		"z₁ ≤ 1, z₁ ≥ 2, definite": {Q: diagonal(1, 1), P: []float64{-2, 0}, G: mat.NewDense(2, 2, []float64{1, 0, -1, 0}), H: []float64{1, -2}, A: mat.NewDense(1, 2, []float64{0, 1}), B: []float64{1e12}},
		"z₁ = 0, z₁ ≤ −1, a ray":   {P: []float64{0, 1, 0}, G: mat.NewDense(1, 3, []float64{0x1p21, 0, 0}), H: []float64{-1}, A: mat.NewDense(2, 3, []float64{0x1p21, 0, 0, 0, 0, 0x1p-23}), B: []float64{0, 1}},
	} {
		var s Solution
		if err := s.Solve(q); !errors.Is(err, ErrInfeasible) {
			t.Errorf("%s: %v, z = %v, %+v", name, s.Status, s.Z, s.Residual)
		}
	}
}

// The gradient of one part is small beside its own terms.
func TestQPPartsGradient(t *testing.T) {
	wantZ(t, "gradient", &QP{Q: diagonal(5.960464477539063e-08, 0, 0, 0, 0, 0), P: []float64{0, -4.294967296e+09, 0, -1, -1, 10}, G: mat.NewDense(5, 6, []float64{0, 4.294967296e+09, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, -5, 0, 0, 0, 0, 0, -5, 0, 0, 0, 0, 1, 1}), H: []float64{0, 0, -9, -5, 0}, A: mat.NewDense(1, 6, []float64{0, 0, 1, 0, 0, 0}), B: []float64{0}}, 0, 0, 0, 0, -4, 1)
}

// Each part has a proximal term of its own.
func TestQPPartsWeights(t *testing.T) {
	wantZ(t, "1e-6 to 1e8", &QP{Q: diagonal(1e-6, 0, 0, 0), P: []float64{0, -1, -2e8, -1}, G: mat.NewDense(4, 4, []float64{0, 0, 1e8, 0, 0, 1, 1e8, 0, 0, 1, 1e8, 0, 0, 0, 0, 1}), H: []float64{0, 0, 4, 1}}, 0, 0, 0, 1)
	wantZ(t, "three bounds", &QP{Q: diagonal(1.2789769243681803e-13, 0, 0), P: []float64{0, -1.37438953472e+12, -1}, G: mat.NewDense(2, 3, []float64{0, 2.74877906944e+11, 0, 0, 0, 1}), H: []float64{0, 1}}, 0, 0, 1)
}

// Programs glued of parts, each in units of its own: the status is that of the parts, and
// what is solved is solved to the size of each part.
func TestQPPartsInAnyUnits(t *testing.T) {
	worst := 0.0
	count := map[Status]int{}
	for i := range numtest.Long(3000) {
		rng := rand.New(rand.NewPCG(34, uint64(i)))
		var parts []QP
		var alone []*Solution
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
			parts, alone = append(parts, q), append(alone, s)
			if s.Status != Optimal && want != Infeasible {
				want = s.Status
			}
		}
		q := glue(parts...)
		var s Solution
		err := s.Solve(&q)
		count[s.Status]++
		if s.Status != want {
			t.Errorf("%d: %v (%v), want %v", i, s.Status, err, want)
		}
		if s.Status != Optimal {
			continue
		}
		z := s.Z
		for _, part := range alone {
			n := len(part.Z)
			worst = max(worst, numtest.RelErr(z[:n], part.Z))
			z = z[n:]
		}
	}
	t.Logf("%v, results differ by %.2g", count, worst)
	if worst > 1e-9 {
		t.Errorf("results differ by %g", worst)
	}
}

// A Solution that met programs without a solution solves what a new one solves.
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

// The same program again is not factorised again, however far apart its parts are.
func TestQPPartsKeepTheirFactor(t *testing.T) {
	q := &QP{Q: diagonal(1, 0, 0), P: []float64{0, -1, -1e8}, G: mat.NewDense(2, 3, []float64{0, 1, 0, 0, 0, 1}), H: []float64{1, 1}}
	var s Solution
	s.Solve(q)
	f := s.set.factors
	if s.Solve(q); s.set.factors != f {
		t.Errorf("factorised again, %d changes of the working set", s.Iterations)
	}
}
