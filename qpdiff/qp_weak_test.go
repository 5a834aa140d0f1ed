package qpdiff

import (
	"errors"
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// complementarityProblems is how many programs each test of strict
// complementarity draws.
var complementarityProblems = flag.Int("complementarity", 1000, "programs drawn by each test of strict complementarity")

// constructedProgram is a program with a known solution.
type constructedProgram struct {
	qp        QP
	z, lambda []float64
	weakRows  []int   // slack and multiplier 0
	cond      float64 // of the KKT matrix of all active rows, in the 2-norm
	definite  bool
}

// constructProgram draws a program from its solution, with the given number of weakly active rows.
// Slacks and multipliers of all other rows are at least the margin, relative to their terms.
func constructProgram(rng *rand.Rand, weakRows int, margin float64) constructedProgram {
	for {
		n := 2 + rng.IntN(29)
		strict, eq := rng.IntN(n-weakRows+1), 0
		if strict > 1 && rng.IntN(3) == 0 {
			eq = 1
			strict--
		}
		idle := rng.IntN(n)
		c := constructedProgram{z: gaussians(rng, n)}
		if rng.IntN(8) == 0 {
			clear(c.z)
		}
		for j := range c.z {
			if rng.IntN(4) == 0 {
				c.z[j] = 0
			}
		}
		// Q = U diag Uᵀ, with eigenvalues that range over up to six decades.
		span := 6 * rng.Float64()
		var qr mat.QR
		qr.Factorize(mat.NewDense(n, n, gaussians(rng, n*n)))
		var u, q mat.Dense
		qr.QTo(&u)
		d := mat.NewDiagDense(n, nil)
		for j := range n {
			d.SetDiag(j, math.Pow(10, -span*rng.Float64()))
		}
		c.definite = rng.IntN(3) > 0
		if !c.definite { // semidefinite, as far as the active rows make up for it
			for j := range strict + eq {
				d.SetDiag(j, 0)
			}
		}
		q.Mul(&u, d)
		q.Mul(&q, u.T())
		for i := range n {
			for j := range i {
				q.Set(i, j, q.At(j, i))
			}
		}
		c.qp.Q = &q
		// The row's coefficient at the largest entry of z makes the product with z equal to the
		// bound 0 or 1.
		big := 0
		for j, z := range c.z {
			if math.Abs(z) > math.Abs(c.z[big]) {
				big = j
			}
		}
		row := func(bound float64) []float64 {
			g := gaussians(rng, n)
			if rng.IntN(3) == 0 {
				// A bound on one variable.
				j := rng.IntN(n)
				clear(g)
				g[j] = 1
				if rng.IntN(2) == 0 {
					g[j] = -1
				}
				if c.z[j] != 0 && bound != 0 {
					g[j] = bound / c.z[j]
				}
				if c.z[j] == 0 || bound != 0 {
					return g
				}
				g = gaussians(rng, n)
			}
			if c.z[big] != 0 {
				g[big] = 0
				g[big] = (bound - floats.Dot(g, c.z)) / c.z[big]
			}
			return g
		}
		m := strict + weakRows + idle
		if m > 0 {
			c.qp.G, c.qp.H = mat.NewDense(m, n, nil), make([]float64, m)
		}
		c.lambda = make([]float64, m)
		order := rng.Perm(m)
		var active, held []float64
		p := make([]float64, n)
		largest := 0.0
		for i := range n {
			p[i] = -floats.Dot(q.RawRowView(i), c.z)
			largest = max(largest, math.Abs(p[i]))
		}
		scale := max(largest, 1)
		for i, r := range order {
			bound := float64(rng.IntN(2))
			if floats.Norm(c.z, 2) == 0 {
				bound = 0
			}
			g := row(bound)
			c.qp.G.SetRow(r, g)
			norm := floats.Norm(g, 2)
			c.qp.H[r] = floats.Dot(g, c.z)
			if math.Abs(c.qp.H[r]-bound) < 1e-12 {
				c.qp.H[r] = bound
			}
			switch {
			case i < strict:
				c.lambda[r] = scale / norm * math.Pow(10, -rng.Float64()*3)
				active = append(active, g...)
				held = append(held, g...)
			case i < strict+weakRows:
				c.weakRows = append(c.weakRows, r)
				active = append(active, g...)
			default:
				c.qp.H[r] += math.Abs(rng.NormFloat64()) + .1
			}
		}
		slices.Sort(c.weakRows)
		if eq > 0 {
			g := row(0)
			c.qp.A, c.qp.B = mat.NewDense(1, n, g), []float64{floats.Dot(g, c.z)}
			nu := rng.NormFloat64() * scale
			floats.AddScaled(p, -nu, g)
			active = append(active, g...)
			held = append(held, g...)
		}
		for r, l := range c.lambda {
			if l > 0 {
				floats.AddScaled(p, -l, c.qp.G.RawRowView(r))
			}
		}
		c.qp.P = p
		c.cond = max(kktCondition(&q, active), kktCondition(&q, held))
		if margin > 0 && !c.reachMargin(rng, margin) {
			continue
		}
		if c.cond <= 1e6 {
			return c
		}
	}
}

// reachMargin moves one slack and one multiplier to the margin, and reports whether none is below
// it.
func (c *constructedProgram) reachMargin(rng *rand.Rand, margin float64) bool {
	z := floats.Norm(c.z, 2)
	near := func() float64 { return margin * (1 + 9*rng.Float64()*float64(rng.IntN(2))) }
	for r, l := range c.lambda {
		if l == 0 && rng.IntN(3) == 0 {
			g := c.qp.G.RawRowView(r)
			v := floats.Dot(g, c.z)
			size := floats.Norm(g, 2)*z + math.Abs(v)
			if size == 0 {
				continue
			}
			c.qp.H[r] = v + 1.01*near()*size
		}
	}
	// The largest term of the gradient after the multipliers are final.
	r := slices.IndexFunc(c.lambda, func(l float64) bool { return l > 0 })
	if r >= 0 && rng.IntN(2) == 0 {
		g := c.qp.G.RawRowView(r)
		floats.AddScaled(c.qp.P, c.lambda[r], g)
		c.lambda[r] = 0
		c.lambda[r] = 1.01 * near() * c.gradientScale() / floats.Norm(g, 2)
		floats.AddScaled(c.qp.P, -c.lambda[r], g)
	}
	scale := c.gradientScale()
	for r, l := range c.lambda {
		g := c.qp.G.RawRowView(r)
		slack := c.qp.H[r] - floats.Dot(g, c.z)
		if l > 0 && l*floats.Norm(g, 2) < margin*scale || l == 0 && (slack <= 0 || slack < margin*(math.Abs(c.qp.H[r])+floats.Norm(g, 2)*z)) {
			return false
		}
	}
	return true
}

// gradientScale returns the largest norm among p, Qz and the rows times their multipliers.
func (c *constructedProgram) gradientScale() float64 {
	n := len(c.z)
	qz := make([]float64, n)
	for i := range n {
		qz[i] = floats.Dot(c.qp.Q.RawRowView(i), c.z)
	}
	s := max(floats.Norm(c.qp.P, 2), floats.Norm(qz, 2))
	for r, l := range c.lambda {
		s = max(s, l*floats.Norm(c.qp.G.RawRowView(r), 2))
	}
	return s
}

// inOtherUnits returns the program in random units. For a semidefinite Q all variables have the
// same unit, because the proximal steps depend on it.
func (c *constructedProgram) inOtherUnits(rng *rand.Rand) QP {
	n := len(c.z)
	unit := func() float64 { return math.Pow(10, 12*rng.Float64()-6) }
	objective := unit()
	variable := make([]float64, n)
	all := unit()
	for j := range variable {
		variable[j] = all
		if c.definite && n%2 == 0 {
			variable[j] = unit()
		}
	}
	out := QP{Q: mat.DenseCopyOf(c.qp.Q), P: slices.Clone(c.qp.P)}
	for i := range n {
		out.P[i] *= objective * variable[i]
		for j := range n {
			out.Q.Set(i, j, out.Q.At(i, j)*objective*(variable[i]*variable[j]))
		}
	}
	rows := func(g *mat.Dense, h []float64) (*mat.Dense, []float64) {
		if g == nil {
			return nil, nil
		}
		g, h = mat.DenseCopyOf(g), slices.Clone(h)
		for r := range h {
			u := unit()
			h[r] *= u
			for j, v := range g.RawRowView(r) {
				g.Set(r, j, v*u*variable[j])
			}
		}
		return g, h
	}
	out.G, out.H = rows(c.qp.G, c.qp.H)
	out.A, out.B = rows(c.qp.A, c.qp.B)
	return out
}

func kktCondition(q *mat.Dense, rows []float64) float64 {
	n, _ := q.Dims()
	k := len(rows) / n
	kkt := mat.NewDense(n+k, n+k, nil)
	kkt.Slice(0, n, 0, n).(*mat.Dense).Copy(q)
	if k > 0 {
		c := mat.NewDense(k, n, rows)
		kkt.Slice(n, n+k, 0, n).(*mat.Dense).Copy(c)
		kkt.Slice(0, n, n, n+k).(*mat.Dense).Copy(c.T())
	}
	return mat.Cond(kkt, 2)
}

// No weakly active row counts as strictly active or as inactive.
func TestQPWeakRowsAreRefused(t *testing.T) {
	serial.Test(t)
	answered := 0
	for i := range numtest.Long(*complementarityProblems) {
		rng := rand.New(rand.NewPCG(21, uint64(i)))
		c := constructProgram(rng, 1+rng.IntN(2), 0)
		q := c.qp
		if i%2 == 1 {
			q = c.inOtherUnits(rng)
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Errorf("%d: n = %d, definite %v, condition %.1e: %v", i, len(c.z), c.definite, c.cond, err)
			continue
		}
		var e *NotDifferentiableError
		err := s.VJP(nil, &QPGrad{P: make([]float64, len(c.z))}, gaussians(rng, len(c.z)), nil, nil)
		if !errors.As(err, &e) || !slices.Equal(e.Weak.Rows, c.weakRows) {
			answered++
			if answered <= 5 {
				t.Errorf("%d: n = %d, condition %.1e, weakly active %v: %v", i, len(c.z), c.cond, c.weakRows, err)
			}
		}
	}
	t.Logf("%d of %d answered or named other rows", answered, numtest.Long(*complementarityProblems))
}

// A slack or multiplier of a millionth of its scale does not count as zero.
func TestQPStrictRowsAreAnswered(t *testing.T) {
	serial.Test(t)
	refusedCount := 0
	for i := range numtest.Long(*complementarityProblems) {
		rng := rand.New(rand.NewPCG(23, uint64(i)))
		c := constructProgram(rng, 0, 1e-6)
		q := c.qp
		if i%2 == 1 {
			q = c.inOtherUnits(rng)
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Errorf("%d: n = %d, definite %v, condition %.1e: %v", i, len(c.z), c.definite, c.cond, err)
			continue
		}
		if err := s.VJP(nil, newQPGrad(&q), gaussians(rng, len(c.z)), nil, nil); err != nil {
			refusedCount++
			if refusedCount <= 5 {
				t.Errorf("%d: n = %d, condition %.1e: %v", i, len(c.z), c.cond, err)
			}
		}
	}
	t.Logf("%d of %d refused", refusedCount, numtest.Long(*complementarityProblems))
}

// At a kink at a bound of 0, the slack is 0, and so are all of its terms.
func TestQPKinkAtZeroBound(t *testing.T) {
	q := &QP{Q: mat.NewDense(2, 2, []float64{1.25, -.5, -.5, 1}), P: []float64{-1, .4},
		G: mat.NewDense(1, 2, []float64{0, 1}), H: []float64{0}}
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Fatal(err)
	}
	g := &QPGrad{P: make([]float64, 2)}
	var e *NotDifferentiableError
	if err := s.VJP(nil, g, []float64{0, 1}, nil, nil); !errors.As(err, &e) || !slices.Equal(e.Weak.Rows, []int{0}) {
		t.Errorf("VJP gives %v, %v at the kink", g.P, err)
	}
	for _, c := range []struct{ p, z float64 }{{1, -1.25}, {-1, 0}} {
		dz := make([]float64, 2)
		if err := s.DirectionalDerivative(nil, dz, nil, nil, &QPGrad{P: []float64{0, c.p}}); err != nil || math.Abs(dz[1]-c.z) > 1e-14 {
			t.Errorf("along p₂ = %v: ż₂ = %v, %v, want %v", c.p, dz[1], err, c.z)
		}
	}
}

// The problem ½(z − a)² subject to z ≤ h has a kink if |z − h| or λ is below its rounding
// threshold.
func TestQPComplementarityTolerance(t *testing.T) {
	for _, c := range []struct {
		a, h    float64
		refused bool
	}{
		{1, 1 + 1e-13, true}, {1, 1 + 1e-12, false},
		{1, 1 - 1e-13, true}, {1, 1 - 1e-12, false},
		{1e9, 1e9 + 1e-4, true}, {1e9, 1e9 + .5, false}, {1e9, 1e9 - .5, false},
		{0, 1e-300, false}, {0, -1e-290, false}, {0, 0, true},
	} {
		q := &QP{Q: mat.NewDense(1, 1, []float64{1}), P: []float64{-c.a}, G: mat.NewDense(1, 1, []float64{1}), H: []float64{c.h}}
		var s Solution
		if err := s.Solve(q); err != nil {
			t.Fatal(err)
		}
		if err := s.VJP(nil, newQPGrad(q), []float64{1}, nil, nil); (err != nil) != c.refused {
			t.Errorf("a = %v, h = a%+.3g: %v", c.a, c.h-c.a, err)
		}
	}
}

// More rows touch the solution than there are variables.
func TestQPCrowdedVertex(t *testing.T) {
	q := &QP{Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{0, 0},
		G: mat.NewDense(4, 2, []float64{0, 1, 0, -1, 1, 0, 0, 1}), H: make([]float64, 4)}
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Fatal(err)
	}
	g := newQPGrad(q)
	var e *NotDifferentiableError
	if err := s.VJP(nil, g, []float64{1, 0}, nil, nil); !errors.As(err, &e) || !slices.Equal(e.Weak.Rows, []int{2}) {
		t.Errorf("%v", err)
	}
	for input, f := range g.fields() {
		if slices.ContainsFunc(f, func(v float64) bool { return v != 0 }) {
			t.Errorf("%v was written to", QPInput(input))
		}
	}
	// With Generalised, row 2 is inactive: z₁ follows −p₁, z₂ stays.
	s.Generalised = true
	g = &QPGrad{P: make([]float64, 2)}
	if err := s.VJP(nil, g, []float64{1, 1}, nil, nil); err != nil || math.Abs(g.P[0]+1)+math.Abs(g.P[1]) > 1e-15 {
		t.Errorf("generalised: %v, %v", g.P, err)
	}
}

// Derivatives do not change the working set from which the next solve starts.
func TestQPDerivativesLeaveTheSolverAlone(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(25, 26))
	for range 50 {
		c := constructProgram(rng, 1+rng.IntN(2), 0)
		var s, plain Solution
		if s.Solve(&c.qp) != nil || plain.Solve(&c.qp) != nil {
			t.Fatal("not solved")
		}
		n := len(c.z)
		w := slices.Clone(s.set.w)
		triangleOf := func() []float64 { return slices.Concat(s.set.t, s.set.tinv, s.set.q1, s.set.lam) }
		before := triangleOf()
		s.Generalised = true
		g := newQPGrad(&c.qp)
		if err := s.VJP(nil, g, gaussians(rng, n), nil, nil); err != nil {
			t.Fatal(err)
		}
		d := randomDirection(rng, &c.qp)
		one, other := make([]float64, n), make([]float64, n)
		if err, err2 := s.DirectionalDerivative(nil, one, nil, nil, d), plain.DirectionalDerivative(nil, other, nil, nil, d); (err == nil) != (err2 == nil) || !slices.Equal(one, other) {
			t.Errorf("one-sided derivatives %v (%v) and %v (%v)", one, err, other, err2)
		}
		if !slices.Equal(s.set.w, w) || !slices.Equal(triangleOf(), before) {
			t.Error("the working set has changed")
		}
		if s.Solve(&c.qp) != nil || plain.Solve(&c.qp) != nil || s.Iterations != plain.Iterations || !slices.Equal(stackSolution(&s), stackSolution(&plain)) {
			t.Errorf("the next solve makes %d changes instead of %d", s.Iterations, plain.Iterations)
		}
	}
}

// The element of the generalised Jacobian is the derivative without the weakly active rows.
func TestQPGeneralised(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(27, 28))
	for i := range 200 {
		c := constructProgram(rng, 1+rng.IntN(2), 0)
		s := Solution{Generalised: true}
		if err := s.Solve(&c.qp); err != nil {
			t.Fatal(err)
		}
		n := len(c.z)
		cot := gaussians(rng, n)
		got, want := newQPGrad(&c.qp), newQPGrad(&c.qp)
		if err := s.VJP(nil, got, cot, nil, nil); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		off := c.qp
		off.H = slices.Clone(off.H)
		for _, r := range c.weakRows {
			off.H[r] = math.Inf(1)
		}
		var strict Solution
		if err := strict.Solve(&off); err != nil {
			t.Fatal(err)
		}
		if err := strict.VJP(nil, want, cot, nil, nil); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		gf, wf := got.fields(), want.fields()
		for input := range gf {
			// z and v carry errors of the condition times eps each.
			size := floats.Norm(wf[input], 2)
			if off := floats.Distance(gf[input], wf[input], 2); off > 1e-10*c.cond*(1+size) {
				t.Errorf("%d: condition %.1e, %v off by %.1e of %.1e", i, c.cond, QPInput(input), off, size)
			}
		}
	}
}

// Cotangents, directions and products beyond float64 are errors, not NaN.
func TestQPDerivativesNotFinite(t *testing.T) {
	q := &QP{Q: mat.NewDense(1, 1, []float64{1e-200}), P: []float64{-1e-50}, G: mat.NewDense(1, 1, []float64{1}), H: []float64{2e150}}
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Fatal(err)
	}
	for _, cot := range []float64{math.NaN(), math.Inf(1), 1e150, 1} {
		g := newQPGrad(q)
		if err := s.VJP(nil, g, []float64{cot}, nil, nil); !errors.Is(err, ErrNotFinite) {
			t.Errorf("cotangent %v: %v", cot, err)
		}
		if g.Q.At(0, 0) != 0 || g.P[0] != 0 {
			t.Errorf("cotangent %v: written to", cot)
		}
		dz := []float64{7}
		for name, f := range map[string]func(*Workspace, []float64, []float64, []float64, *QPGrad) error{"JVP": s.JVP, "DirectionalDerivative": s.DirectionalDerivative} {
			if err := f(nil, dz, nil, nil, &QPGrad{P: []float64{cot * 1e200}}); !errors.Is(err, ErrNotFinite) || dz[0] != 7 {
				t.Errorf("%s along %v: %v, %v", name, cot, dz, err)
			}
		}
	}
	if err := s.VJP(nil, &QPGrad{P: make([]float64, 1)}, []float64{1e-60}, nil, nil); err != nil {
		t.Errorf("a small cotangent: %v", err)
	}
}

// No one-sided derivative exists if only a weakly active row makes z unique.
func TestQPDirectionalDerivativeNeedsUniqueZ(t *testing.T) {
	q := &QP{Q: mat.NewDense(2, 2, []float64{0, 0, 0, 1}), P: []float64{0, -1}, G: mat.NewDense(1, 2, []float64{1, 0}), H: []float64{0}}
	var s Solution
	if err := s.Solve(q); err != nil || s.Z[0] != 0 {
		t.Fatal(s.Z, err)
	}
	if err := s.DirectionalDerivative(nil, make([]float64, 2), nil, nil, &QPGrad{H: []float64{1}}); !errors.Is(err, ErrNotDifferentiable) {
		t.Errorf("z₁ is any number up to h: %v", err)
	}
}

// The named tolerances, from both sides.
func TestQPDerivativeTolerances(t *testing.T) {
	// rangeTol: a cotangent may have a small part along z₁ − z₂, which the first matrix does not
	// determine. No part along z₂ is small for the second matrix, because no other variable has its
	// unit.
	for _, c := range []struct {
		q       *mat.Dense
		dz      []float64
		refused bool
	}{
		{square(1, 1, 1, 1), []float64{1, 1 + 1.5e-8}, false}, {square(1, 1, 1, 1), []float64{1, 1 + 3e-8}, true},
		{square(1, 0, 0, 0), []float64{1, 0}, false}, {square(1, 0, 0, 0), []float64{1, 1e-30}, true},
	} {
		var s Solution
		if err := s.Solve(&QP{Q: c.q, P: []float64{-1, -c.q.At(0, 1)}}); err != nil {
			t.Fatal(err)
		}
		err := s.VJP(nil, &QPGrad{H: []float64{}}, c.dz, nil, nil) // of no row
		if (err != nil) != c.refused {
			t.Errorf("rangeTol: %v: %v", c.dz, err)
		}
	}
	// singularTol: the smaller eigenvalue of a matrix with a unit diagonal.
	for _, c := range []struct {
		ratio float64
		null  int
	}{{3e-12, 1}, {3e-11, 0}} {
		off := 1 - 2*c.ratio
		if k := newKKTMatrix(2, 0, []float64{1, off, off, 1}, nil); k.nullity != c.null {
			t.Errorf("singularTol: %v: %d null vectors", c.ratio, k.nullity)
		}
	}
	// weakCond: if the condition number exceeds 2e7, VJP returns an error that names it, even with
	// Generalised.
	for _, c := range []struct {
		delta, slack float64
		named        bool
	}{{2e-7, 1e-8, false}, {5e-9, 1e-6, true}} {
		q := &QP{Q: mat.NewDense(2, 2, []float64{1, 1 - c.delta, 1 - c.delta, 1}), P: []float64{-c.delta, c.delta}, // z = (1, −1)
			G: mat.NewDense(1, 2, []float64{1, 0}), H: []float64{1 + c.slack}}
		var s Solution
		if err := s.Solve(q); err != nil {
			t.Fatal(err)
		}
		g := &QPGrad{P: make([]float64, 2)}
		err := s.VJP(nil, g, []float64{1, 0}, nil, nil)
		if !errors.Is(err, ErrNotDifferentiable) || strings.Contains(err.Error(), "condition") != c.named {
			t.Errorf("weakCond: δ = %v: %v", c.delta, err)
		}
		s.Generalised = true
		if err := s.VJP(nil, g, []float64{1, 0}, nil, nil); (err != nil) != c.named {
			t.Errorf("weakCond: δ = %v: generalised: %v", c.delta, err)
		}
	}
}
