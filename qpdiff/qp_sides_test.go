package qpdiff

import (
	"cmp"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// drawSides draws a feasible program with two-sided rows and bounds, at which the feasible point
// may lie.
func drawSides(rng *rand.Rand, n, m, q int) QP {
	qp := randomQP(rng, n, m, q)
	x := gaussians(rng, n)
	if rng.IntN(3) == 0 {
		for i := range x {
			x[i] = math.Round(x[i])
		}
		for i := range m {
			for j, v := range qp.G.RawRowView(i) {
				qp.G.Set(i, j, math.Round(v))
			}
		}
	}
	for i := range qp.B {
		qp.B[i] = dense.Dot(qp.A.RawRowView(i), x)
	}
	equal := 0
	around := func(v float64) (lo, hi float64) {
		side := func() float64 {
			switch rng.IntN(4) {
			case 0:
				return math.Inf(1)
			case 1:
				return 0
			}
			return rng.ExpFloat64() / 2
		}
		lo, hi = v-side(), v+side()
		if lo == hi {
			if equal++; equal+q > n/2 {
				hi++
			}
		}
		return lo, hi
	}
	if m > 0 {
		qp.L = make([]float64, m)
		for i := range m {
			qp.L[i], qp.H[i] = around(dense.Dot(qp.G.RawRowView(i), x))
		}
		switch rng.IntN(6) {
		case 0:
			qp.L = nil
		case 1:
			qp.H = nil
		}
	}
	if rng.IntN(4) > 0 {
		qp.ZMin, qp.ZMax = make([]float64, n), make([]float64, n)
		for j, v := range x {
			qp.ZMin[j], qp.ZMax[j] = around(v)
		}
		switch rng.IntN(4) {
		case 0:
			qp.ZMin = nil
		case 1:
			qp.ZMax = nil
		}
	}
	return qp
}

// A oneSidedQP is a program with only one-sided rows. It also lists the origin of each row.
type oneSidedQP struct {
	QP
	general   int // rows of G of the program with two sides
	rows      []oneSidedRow
	equations []oneSidedRow // of A; those of the program itself have row -1
}

// oneSidedRow has the index of a row or bound in Lambda. Its sign is -1 for a lower side and 0 for
// equal sides.
type oneSidedRow struct {
	at   int
	sign float64
}

// asOneSided converts q to one-sided rows. Equal sides become equations, and bounds become rows of
// the identity matrix.
func asOneSided(q *QP) *oneSidedQP {
	n := len(q.P)
	shape, err := q.shape()
	if err != nil {
		panic(err)
	}
	s := &oneSidedQP{QP: QP{Q: q.Q, P: q.P}, general: shape.general}
	var g, a []float64
	for r := range shape.m {
		lo, hi := q.sides(r, shape.general)
		row := make([]float64, n)
		if r < shape.general {
			copy(row, q.G.RawRowView(r))
		} else {
			row[r-shape.general] = 1
		}
		if lo == hi {
			a, s.B = append(a, row...), append(s.B, lo)
			s.equations = append(s.equations, oneSidedRow{r, 0})
			continue
		}
		if !math.IsInf(hi, 1) {
			g, s.H = append(g, row...), append(s.H, hi)
			s.rows = append(s.rows, oneSidedRow{r, 1})
		}
		if !math.IsInf(lo, -1) {
			for _, v := range row {
				g = append(g, -v)
			}
			s.H = append(s.H, -lo)
			s.rows = append(s.rows, oneSidedRow{r, -1})
		}
	}
	for r, b := range q.B {
		a, s.B = append(a, q.A.RawRowView(r)...), append(s.B, b)
		s.equations = append(s.equations, oneSidedRow{-1, 0})
	}
	if len(s.H) > 0 {
		s.G = mat.NewDense(len(s.H), n, g)
	}
	if len(s.B) > 0 {
		s.A = mat.NewDense(len(s.B), n, a)
	}
	return s
}

// twoSidedMultipliers returns the multipliers of the program with two sides.
func (s *oneSidedQP) twoSidedMultipliers(sol *Solution, m int) (lambda, nu []float64) {
	lambda = make([]float64, m)
	for i, r := range s.rows {
		lambda[r.at] += r.sign * sol.Lambda[i]
	}
	for i, r := range s.equations {
		if r.at >= 0 {
			lambda[r.at] += sol.Nu[i]
		} else {
			nu = append(nu, sol.Nu[i])
		}
	}
	return lambda, nu
}

// cotangents returns the one-sided program's cotangents for the other's.
func (s *oneSidedQP) cotangents(dlambda, dnu []float64) (l, v []float64) {
	for _, r := range s.rows {
		l = append(l, r.sign*dlambda[r.at])
	}
	for _, r := range s.equations {
		if r.at >= 0 {
			v = append(v, dlambda[r.at])
		} else {
			v, dnu = append(v, dnu[0]), dnu[1:]
		}
	}
	return l, v
}

// convertGradient converts a gradient of the one-sided program back. Equal sides share one
// gradient, in H or ZMax.
func (s *oneSidedQP) convertGradient(from, to *QPGrad) {
	to.Q.Add(to.Q, from.Q)
	to.P = slices.Clone(from.P)
	add := func(at int, row []float64, sign, right float64, rhs ...[]float64) {
		if at < s.general {
			for j, v := range row {
				to.G.Set(at, j, to.G.At(at, j)+sign*v)
			}
			rhs[0][at] += sign * right
		} else {
			rhs[1][at-s.general] += sign * right
		}
	}
	for i, r := range s.rows {
		if r.sign > 0 {
			add(r.at, from.G.RawRowView(i), 1, from.H[i], to.H, to.ZMax)
		} else {
			add(r.at, from.G.RawRowView(i), -1, from.H[i], to.L, to.ZMin)
		}
	}
	nu := 0
	for i, r := range s.equations {
		if r.at >= 0 {
			add(r.at, from.A.RawRowView(i), 1, from.B[i], to.H, to.ZMax)
			continue
		}
		to.A.SetRow(nu, from.A.RawRowView(i))
		to.B[nu] = from.B[i]
		nu++
	}
}

// sidesGrad returns a QPGrad of zeros with the shape of q, and with both sides and bounds.
func sidesGrad(q *QP) *QPGrad {
	n := len(q.P)
	g := &QPGrad{Q: mat.NewDense(n, n, nil), P: make([]float64, n), ZMin: make([]float64, n), ZMax: make([]float64, n)}
	if q.G != nil {
		m, _ := q.G.Dims()
		g.G, g.H, g.L = mat.NewDense(m, n, nil), make([]float64, m), make([]float64, m)
	}
	if q.A != nil {
		m, _ := q.A.Dims()
		g.A, g.B = mat.NewDense(m, n, nil), make([]float64, m)
	}
	return g
}

// A program with two-sided rows has the solution and derivatives of the program with one row for
// each side.
func TestQPSidesAgainstOneSidedRows(t *testing.T) {
	serial.Test(t)
	for seed := range uint64(3000) {
		checkSides(t, seed, 1+int(seed%9), int(seed%14), int(seed%3))
	}
}

func FuzzQPSides(f *testing.F) {
	for i := range uint64(8) {
		f.Add(i, int(i)+1, 2*int(i), int(i)%3)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n, m, q int) {
		checkSides(t, seed, 1+abs(n)%9, abs(m)%15, abs(q)%3)
	})
}

func checkSides(t testing.TB, seed uint64, n, m, q int) {
	rng := rand.New(rand.NewPCG(seed, 91))
	qp := drawSides(rng, n, m, min(q, n))
	definite := rng.IntN(4) > 0
	if !definite {
		j := rng.IntN(n)
		for i := range n {
			qp.Q.Set(i, j, 0)
			qp.Q.Set(j, i, 0)
		}
	}
	one := asOneSided(&qp)
	var s, o Solution
	err, errOne := s.Solve(&qp), o.Solve(&one.QP)
	if definite && errors.Join(err, errOne) != nil || s.Status != o.Status {
		t.Fatalf("%d: %v, with one-sided rows %v", seed, err, errOne)
	}
	if err != nil {
		if off := certificateOff(&qp, &s); off > 1e-10 {
			t.Errorf("%d %v: the certificate is off by %g", seed, s.Status, off)
		}
		return
	}
	if kkt := kktResidual(&qp, &s); kkt > 1e-11 {
		t.Errorf("%d: KKT %g", seed, kkt)
	}
	if d := max(maxDiff([]float64{s.Objective}, []float64{o.Objective})); d > 1e-10 {
		t.Errorf("%d: objective off by %g", seed, d)
	}
	if d := maxDiff(s.Z, o.Z); d > 1e-8 {
		if definite {
			t.Errorf("%d: z off by %g", seed, d)
		}
		return
	}
	cot := gaussians(rng, n+len(s.Lambda)+len(s.Nu))
	dz, dl, dn := cot[:n], cot[n:n+len(s.Lambda)], cot[n+len(s.Lambda):]
	g, h := sidesGrad(&qp), newQPGrad(&one.QP)
	ol, on := one.cotangents(dl, dn)
	err, errOne = s.VJP(nil, g, dz, dl, dn), o.VJP(nil, h, dz, ol, on)
	if err != nil || errOne != nil {
		if (err == nil) != (errOne == nil) && !onlySides(t, err) {
			t.Errorf("%d: %v, but with one-sided rows %v", seed, err, errOne)
		}
		return
	}
	lambda, nu := one.twoSidedMultipliers(&o, len(s.Lambda))
	if d := max(maxDiff(s.Lambda, lambda), maxDiff(s.Nu, nu)); d > 1e-7 {
		t.Errorf("%d: multipliers off by %g", seed, d)
	}
	want := sidesGrad(&qp)
	one.convertGradient(h, want)
	for r := range s.Lambda { // equal sides: where the multiplier is
		lo, hi := qp.sides(r, one.general)
		if lo == hi && s.Lambda[r] < 0 {
			if r < one.general {
				want.L[r], want.H[r] = want.H[r], 0
			} else {
				want.ZMin[r-one.general], want.ZMax[r-one.general] = want.ZMax[r-one.general], 0
			}
		}
	}
	wf, gf := want.fields(), g.fields()
	for input := range wf {
		if d := maxDiff(gf[input], wf[input]); d > 1e-5 {
			t.Errorf("%d: ∂%v off by %g: %v, not %v", seed, QPInput(input), d, gf[input], wf[input])
		}
	}
}

// onlySides reports whether an error of a derivative refuses sides alone.
func onlySides(t testing.TB, err error) bool {
	for input := range refusedInputs(t, err) {
		if !slices.Contains([]string{"L", "H", "ZMin", "ZMax"}, input) {
			return false
		}
	}
	return err != nil
}

func TestQPSidesByHand(t *testing.T) {
	inf := math.Inf(1)
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	row := mat.NewDense(1, 2, []float64{1, 1})
	for _, c := range []struct {
		name      string
		q         QP
		z, lambda []float64
	}{
		// ½‖z − (3, -3)‖² within the box.
		{"box", QP{Q: eye, P: []float64{-3, 3}, ZMin: []float64{-1, -2}, ZMax: []float64{1, 2}}, []float64{1, -2}, []float64{2, -1}},
		{"lower bounds alone", QP{Q: eye, P: []float64{-3, 3}, ZMin: []float64{0, 0}}, []float64{3, 0}, []float64{0, -3}},
		{"upper bounds alone", QP{Q: eye, P: []float64{-3, 3}, ZMax: []float64{0, inf}}, []float64{0, -3}, []float64{3, 0}},
		{"all infinite", QP{Q: eye, P: []float64{-3, 3}, G: row, L: []float64{-inf}, H: []float64{inf}, ZMin: []float64{-inf, -inf}, ZMax: []float64{inf, inf}}, []float64{3, -3}, []float64{0, 0, 0}},
		{"lower side", QP{Q: eye, P: []float64{0, 0}, G: row, L: []float64{2}, H: []float64{3}}, []float64{1, 1}, []float64{-1}},
		{"lower side without upper ones", QP{Q: eye, P: []float64{0, 0}, G: row, L: []float64{2}}, []float64{1, 1}, []float64{-1}},
		{"upper side", QP{Q: eye, P: []float64{-2, -2}, G: row, L: []float64{-3}, H: []float64{2}}, []float64{1, 1}, []float64{1}},
		{"between", QP{Q: eye, P: []float64{-1, -1}, G: row, L: []float64{-3}, H: []float64{3}}, []float64{1, 1}, []float64{0}},
		{"equal sides, pulled down", QP{Q: eye, P: []float64{0, 0}, G: row, L: []float64{2}, H: []float64{2}}, []float64{1, 1}, []float64{-1}},
		{"equal sides, pulled up", QP{Q: eye, P: []float64{-2, -2}, G: row, L: []float64{2}, H: []float64{2}}, []float64{1, 1}, []float64{1}},
		{"equal sides twice", QP{Q: eye, P: []float64{0, 0}, G: mat.NewDense(2, 2, []float64{1, 1, 1, 1}), L: []float64{2, 2}, H: []float64{2, 2}}, []float64{1, 1}, []float64{-1, 0}},
		{"a fixed variable", QP{Q: eye, P: []float64{-3, 3}, ZMin: []float64{1, -inf}, ZMax: []float64{1, inf}}, []float64{1, -3}, []float64{2, 0}},
		{"one variable, a linear program", QP{P: []float64{1}, ZMin: []float64{-2}, ZMax: []float64{5}}, []float64{-2}, []float64{-1}},
		{"a row and a bound", QP{Q: eye, P: []float64{0, 0}, G: row, L: []float64{2}, ZMax: []float64{.5, inf}}, []float64{.5, 1.5}, []float64{-1.5, 1, 0}},
		{"a row of zeros", QP{Q: eye, P: []float64{-1, 0}, G: mat.NewDense(1, 2, nil), L: []float64{-1}, H: []float64{0}}, []float64{1, 0}, []float64{0}},
	} {
		var s Solution
		if err := s.Solve(&c.q); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if maxDiff(s.Z, c.z) > 1e-14 || maxDiff(s.Lambda, c.lambda) > 1e-14 {
			t.Errorf("%s: z %v, λ %v; by hand %v, %v", c.name, s.Z, s.Lambda, c.z, c.lambda)
		}
	}
}

func TestQPSidesErrors(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	eye, p, two := mat.NewDense(2, 2, []float64{1, 0, 0, 1}), []float64{0, 0}, []float64{1, 1}
	for _, c := range []struct {
		name string
		q    QP
		arg  string
		kind error
	}{
		{"L too short", QP{Q: eye, P: p, G: eye, H: two, L: p[:1]}, "QP.L", ErrShape},
		{"L without G", QP{Q: eye, P: p, L: p}, "QP.L", ErrShape},
		{"H too short", QP{Q: eye, P: p, G: eye, H: two[:1], L: p}, "QP.H", ErrShape},
		{"ZMin too long", QP{Q: eye, P: p, ZMin: []float64{0, 0, 0}}, "QP.ZMin", ErrShape},
		{"ZMax too short", QP{Q: eye, P: p, ZMax: two[:1]}, "QP.ZMax", ErrShape},
		{"NaN in L", QP{Q: eye, P: p, G: eye, H: two, L: []float64{0, nan}}, "QP.L", ErrNotFinite},
		{"NaN in H", QP{Q: eye, P: p, G: eye, H: []float64{nan, 0}, L: p}, "QP.H", ErrNotFinite},
		{"+Inf in L", QP{Q: eye, P: p, G: eye, H: []float64{inf, inf}, L: []float64{inf, 0}}, "QP.L", ErrNotFinite},
		{"-Inf in H", QP{Q: eye, P: p, G: eye, H: []float64{1, -inf}, L: []float64{0, -inf}}, "QP.H", ErrNotFinite},
		{"NaN in ZMin", QP{Q: eye, P: p, ZMin: []float64{0, nan}}, "QP.ZMin", ErrNotFinite},
		{"NaN in ZMax", QP{Q: eye, P: p, ZMin: p, ZMax: []float64{nan, 1}}, "QP.ZMax", ErrNotFinite},
		{"-Inf in ZMax", QP{Q: eye, P: p, ZMax: []float64{-inf, 1}}, "QP.ZMax", ErrNotFinite},
		{"L above H", QP{Q: eye, P: p, G: eye, H: two, L: []float64{0, 2}}, "QP.L", ErrDomain},
		{"ZMin above ZMax", QP{Q: eye, P: p, ZMin: []float64{0, 1}, ZMax: []float64{0, math.Nextafter(1, 0)}}, "QP.ZMin", ErrDomain},
		{"ZMin above ZMax, tiny", QP{Q: eye, P: p, ZMin: []float64{0, 2e-300}, ZMax: []float64{0, 1e-300}}, "QP.ZMin", ErrDomain},
		{"a bound that underflows", QP{Q: eye, P: p, ZMin: []float64{0, 5e-324}}, "QP.ZMin", ErrNotFinite},
	} {
		var s Solution
		err := s.Solve(&c.q)
		var arg *ArgError
		if !errors.As(err, &arg) || arg.Arg != c.arg || !errors.Is(err, c.kind) || s.Status != Unsolved {
			t.Errorf("%s: %v, status %v", c.name, err, s.Status)
		}
		if err != nil && !strings.Contains(err.Error(), "at index") && c.kind != ErrShape {
			t.Errorf("%s does not tell the row: %v", c.name, err)
		}
	}
}

// Programs without a solution: the certificates hold for both sides.
func TestQPSidesCertificates(t *testing.T) {
	serial.Test(t)
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 5))
		n := 1 + rng.IntN(6)
		q := drawSides(rng, n, 1+rng.IntN(8), rng.IntN(2))
		if rng.IntN(2) == 0 {
			q.Q = nil
		} else if q.G != nil { // a row of G again, beyond one of its sides
			i := rng.IntN(len(slices.Concat(q.H, q.L)) / max(1, min(len(q.H), 1)+min(len(q.L), 1)))
			lo, hi := q.sides(i, 1<<30)
			row := slices.Clone(q.G.RawRowView(i))
			if math.IsInf(lo, -1) {
				lo = hi
			}
			if math.IsInf(lo, 0) {
				continue
			}
			f := math.Exp(rng.NormFloat64())
			for j := range row {
				row[j] *= f
			}
			m, _ := q.G.Dims()
			q.G = mat.DenseCopyOf(q.G.Grow(1, 0))
			q.G.SetRow(m, row)
			if q.H != nil {
				q.H = append(slices.Clone(q.H), f*lo-1)
			}
			if q.L != nil {
				q.L = append(slices.Clone(q.L), math.Inf(-1))
				if q.H == nil {
					q.L[m] = f*lo + 1
				}
			}
		}
		var s, o Solution
		one := asOneSided(&q)
		err, errOne := s.Solve(&q), o.Solve(&one.QP)
		if s.Status != o.Status || (err == nil) != (errOne == nil) {
			t.Errorf("%d: %v, with one-sided rows %v", seed, err, errOne)
			continue
		}
		if off := certificateOff(&q, &s); off > 1e-10 {
			t.Errorf("%d %v: the certificate is off by %g", seed, s.Status, off)
		}
	}
}

// certificateOff returns the error of the certificate of s, relative to the terms of the proof.
func certificateOff(q *QP, s *Solution) float64 {
	n, c := len(q.P), &s.Certificate
	shape, _ := q.shape()
	coefficients := func(r int) []float64 {
		switch {
		case r < shape.general:
			return q.G.RawRowView(r)
		case r < shape.m:
			e := make([]float64, n)
			e[r-shape.general] = 1
			return e
		}
		return q.A.RawRowView(r - shape.m)
	}
	sides := func(r int) (lo, hi float64) {
		if r < shape.m {
			return q.sides(r, shape.general)
		}
		return q.B[r-shape.m], q.B[r-shape.m]
	}
	worst := 0.0
	switch s.Status {
	case Infeasible:
		sum, terms, beta, size := make([]float64, n), 0.0, 1.0, 1.0
		for r, v := range slices.Concat(c.Lambda, c.Nu) {
			if v == 0 {
				continue
			}
			lo, hi := sides(r)
			for j, g := range coefficients(r) {
				sum[j] += v * g
				terms = max(terms, math.Abs(v*g))
			}
			if v < 0 {
				hi = lo
			}
			beta += v * hi
			size = max(size, math.Abs(v*hi))
		}
		worst = max(ratio(dense.Largest(sum), terms), math.Abs(beta)/size)
	case Unbounded:
		size := dense.Largest(c.Z)
		for r := range shape.rows {
			g := coefficients(r)
			v, lo, hi := dense.Dot(g, c.Z)/(dense.Largest(g)*size), 0.0, 0.0
			lo, hi = sides(r)
			if !math.IsInf(hi, 1) {
				worst = max(worst, v)
			}
			if !math.IsInf(lo, -1) {
				worst = max(worst, -v)
			}
		}
		worst = max(worst, math.Abs(dense.Dot(q.P, c.Z)+1))
	}
	return worst
}

// A warm start changes no answer, whatever change the sides of the rows undergo.
func TestQPSidesWarm(t *testing.T) {
	serial.Test(t)
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 17))
		n := 1 + rng.IntN(7)
		q := drawSides(rng, n, rng.IntN(10), rng.IntN(2))
		if rng.IntN(3) == 0 { // semidefinite
			for j := range n {
				q.Q.Set(0, j, 0)
				q.Q.Set(j, 0, 0)
			}
			q.P[0] = 0
		}
		var warm Solution
		for step := range 6 {
			var cold Solution
			err, errCold := warm.Solve(&q), cold.Solve(&q)
			if warm.Status != cold.Status || err == nil && maxDiff([]float64{warm.Objective}, []float64{cold.Objective}) > 1e-8 {
				t.Fatalf("%d, step %d: warm %v %v, cold %v %v", seed, step, err, warm.Objective, errCold, cold.Objective)
			}
			if err == nil {
				if kkt := kktResidual(&q, &warm); kkt > 1e-9 {
					t.Fatalf("%d, step %d: KKT %g", seed, step, kkt)
				}
			}
			q.P = slices.Clone(q.P)
			q.P[rng.IntN(n)] *= rng.NormFloat64()
			q.L, q.H, q.ZMin, q.ZMax = slices.Clone(q.L), slices.Clone(q.H), slices.Clone(q.ZMin), slices.Clone(q.ZMax)
			for _, sides := range [2][2][]float64{{q.L, q.H}, {q.ZMin, q.ZMax}} {
				lo, hi := sides[0], sides[1]
				if len(lo) == 0 || len(hi) == 0 {
					continue
				}
				i := rng.IntN(len(lo))
				switch rng.IntN(5) {
				case 0:
					lo[i] = math.Inf(-1)
				case 1:
					hi[i] = math.Inf(1)
				case 2:
					lo[i], hi[i] = max(lo[i], -9), min(hi[i], 9)
				case 3:
					if warm.Status == Optimal && len(lo) == n { // fix a variable where it is
						lo[i], hi[i] = warm.Z[i], warm.Z[i]
					}
				case 4:
					lo[i], hi[i] = lo[i]-rng.ExpFloat64(), hi[i]+rng.ExpFloat64()
				}
			}
		}
	}
}

// movedBy returns q moved by x times the direction d.
func movedBy(q *QP, d *QPGrad, x float64) *QP {
	out := shiftedQP(q, d, x)
	move := func(from, by []float64) []float64 {
		to := slices.Clone(from)
		for i := range to {
			to[i] += x * by[i]
		}
		return to
	}
	out.L, out.ZMin, out.ZMax = move(q.L, d.L), move(q.ZMin, d.ZMin), move(q.ZMax, d.ZMax)
	return out
}

// sidesDirection draws a direction of all data of q, along which equal sides stay equal.
func sidesDirection(rng *rand.Rand, q *QP) *QPGrad {
	d := randomDirection(rng, q)
	shape, err := q.shape()
	if err != nil {
		panic(err)
	}
	d.L, d.H, d.ZMin, d.ZMax = gaussians(rng, shape.general), gaussians(rng, shape.general), gaussians(rng, shape.n), gaussians(rng, shape.n)
	for r := range shape.m {
		if lo, hi := q.sides(r, shape.general); lo != hi {
			continue
		} else if r < shape.general {
			d.L[r] = d.H[r]
		} else {
			d.ZMin[r-shape.general] = d.ZMax[r-shape.general]
		}
	}
	return d
}

// JVP equals difference quotients in all data of two-sided programs, and VJP and Jacobian agree
// with it.
func TestQPSidesDerivatives(t *testing.T) {
	serial.Test(t)
	checked := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 23))
		n := 1 + rng.IntN(6)
		q := drawSides(rng, n, rng.IntN(8), rng.IntN(2))
		if q.H == nil && q.L != nil { // shiftedQP moves H
			q.H = slices.Repeat([]float64{math.Inf(1)}, len(q.L))
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(seed, err)
		}
		d := sidesDirection(rng, &q)
		m, k := len(s.Lambda), len(s.Nu)
		got := make([]float64, n+m+k)
		if err := s.JVP(nil, got[:n], got[n:n+m], got[n+m:], d); err != nil {
			if len(refusedInputs(t, err)) == 0 {
				t.Errorf("%d: %v", seed, err)
			}
			continue
		}
		cot, g := gaussians(rng, n+m+k), sidesGrad(&q)
		if err := s.VJP(nil, g, cot[:n], cot[n:n+m], cot[n+m:]); err != nil {
			continue // sides apart
		}
		left, right, size := innerProduct(cot, got), 0.0, 1.0
		df := d.fields()
		for input, f := range g.fields() {
			for i, v := range f {
				right += v * df[input][i]
				size = max(size, math.Abs(v*df[input][i]))
			}
		}
		if math.Abs(left-right) > 1e-8*size {
			t.Errorf("%d: ⟨v, Ju⟩ = %v, ⟨Jᵀv, u⟩ = %v", seed, left, right)
		}
		sum := make([]float64, m)
		for input, f := range df {
			if j, err := s.Jacobian(OutputLambda, QPInput(input)); err != nil {
				t.Errorf("%d: %v", seed, err)
			} else if j != nil {
				for i := range sum {
					sum[i] += innerProduct(j.RawRowView(i), f)
				}
			}
		}
		for i := range sum {
			if math.Abs(sum[i]-got[n+i]) > 1e-8*max(1, dense.Largest(got)) {
				t.Errorf("%d: Jacobians give λ%d %v, JVP %v", seed, i, sum[i], got[n+i])
			}
		}
		const h = 1e-6
		var up, down Solution
		if err := errors.Join(up.Solve(movedBy(&q, d, h)), down.Solve(movedBy(&q, d, -h))); err != nil {
			continue // sides that nearly met crossed
		}
		if !slices.Equal(signs(up.Lambda), signs(s.Lambda)) || !slices.Equal(signs(down.Lambda), signs(s.Lambda)) {
			continue // a kink within the step
		}
		checked++
		for i, v := range stackSolution(&up) {
			if want := (v - stackSolution(&down)[i]) / (2 * h); math.Abs(got[i]-want) > 1e-5*max(1, dense.Largest(got)) {
				t.Errorf("%d: JVP entry %d is %v, differences say %v", seed, i, got[i], want)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d programs were compared with differences", checked)
	}
}

func signs(x []float64) (s []int) {
	for _, v := range x {
		s = append(s, cmp.Compare(v, 0))
	}
	return s
}

// The minimiser of ½(z − a)² with l ≤ z ≤ h is z = max(l, min(a, h)).
func TestQPSidesKinks(t *testing.T) {
	for _, native := range []bool{true, false} {
		program := func(a, l, h float64) QP {
			q := QP{Q: mat.NewDense(1, 1, []float64{1}), P: []float64{-a}}
			if native {
				q.ZMin, q.ZMax = []float64{l}, []float64{h}
			} else {
				q.G, q.L, q.H = mat.NewDense(1, 1, []float64{2}), []float64{2 * l}, []float64{2 * h}
			}
			return q
		}
		low, high, by := "ZMin", "ZMax", 1.0
		if !native {
			low, high, by = "L", "H", 2
		}
		direction := func(a, l, h float64) *QPGrad {
			d := &QPGrad{P: []float64{-a}}
			if native {
				d.ZMin, d.ZMax = []float64{l}, []float64{h}
			} else {
				d.L, d.H = []float64{2 * l}, []float64{2 * h}
			}
			return d
		}
		for _, c := range []struct {
			name    string
			a, l, h float64
			refused []string
			// dz/d(a, l, h), and one-sided derivatives along directions.
			jac [3]float64
			dir map[[3]float64]float64
		}{
			{"inside", 0, -1, 1, nil, [3]float64{1, 0, 0}, map[[3]float64]float64{{1, 5, 7}: 1}},
			{"on the upper side", 2, -1, 1, nil, [3]float64{0, 0, 1}, map[[3]float64]float64{{1, 5, 7}: 7}},
			{"on the lower side", -2, -1, 1, nil, [3]float64{0, 1, 0}, map[[3]float64]float64{{1, 5, 7}: 5}},
			{"weakly on the upper side", 1, -1, 1, []string{"P", low, high}, [3]float64{}, map[[3]float64]float64{{1, 0, 0}: 0, {-1, 0, 0}: -1, {0, 0, 1}: 0, {0, 0, -1}: -1, {0, 3, 0}: 0}},
			{"weakly on the lower side", -1, -1, 1, []string{"P", low, high}, [3]float64{}, map[[3]float64]float64{{1, 0, 0}: 1, {-1, 0, 0}: 0, {0, 1, 0}: 1, {0, -1, 0}: 0, {0, 0, 3}: 0}},
			{"equal, pulled up", 2, 1, 1, nil, [3]float64{0, 0, 1}, map[[3]float64]float64{{1, 3, 3}: 3, {1, 2, 3}: 3}},
			{"equal, pulled down", 0, 1, 1, nil, [3]float64{0, 1, 0}, map[[3]float64]float64{{1, 3, 3}: 3, {1, 2, 3}: 2}},
			{"equal, not pulled", 1, 1, 1, []string{low, high}, [3]float64{}, map[[3]float64]float64{{7, 2, 2}: 2, {1, -2, 3}: 1, {7, -2, 3}: 3, {-7, -2, 3}: -2}},
			{"nearly equal, pulled up", 2, 1, math.Nextafter(1, 2), nil, [3]float64{0, 0, 1}, map[[3]float64]float64{{1, 2, 3}: 3}},
		} {
			q := program(c.a, c.l, c.h)
			var s Solution
			if err := s.Solve(&q); err != nil {
				t.Fatal(c.name, err)
			}
			g := sidesGrad(&q)
			g.Q, g.G = nil, nil
			missing := refusedInputs(t, s.VJP(nil, g, []float64{1}, nil, nil))
			if names := slices.Sorted(maps.Keys(missing)); !slices.Equal(names, slices.Sorted(slices.Values(withSides(c.refused, native)))) {
				t.Errorf("%s: refused %v, not %v", c.name, names, c.refused)
			}
			for input, e := range missing {
				if !slices.Equal(e.Weak.Rows, []int{0}) {
					t.Errorf("%s: ∂%s refused with %v", c.name, input, e)
				}
			}
			if len(c.refused) == 0 {
				lo, hi := g.ZMin[0], g.ZMax[0]
				if !native {
					lo, hi = by*g.L[0], by*g.H[0]
				}
				if got := [3]float64{-g.P[0], lo, hi}; got != c.jac {
					t.Errorf("%s: ∂(a, l, h) %v, not %v", c.name, got, c.jac)
				}
			}
			for v, want := range c.dir {
				dz := []float64{math.NaN()}
				if err := s.DirectionalDerivative(nil, dz, nil, nil, direction(v[0], v[1], v[2])); err != nil || math.Abs(dz[0]-want) > 1e-12 {
					t.Errorf("%s: along %v %v, %v, not %v", c.name, v, dz, err, want)
				}
				err := s.JVP(nil, dz, nil, nil, direction(v[0], v[1], v[2]))
				if kink := len(c.refused) > 0 && !(c.l == c.h && v[1] == v[2]); (err != nil) != kink || err == nil && dz[0] != want {
					t.Errorf("%s: JVP along %v %v, %v", c.name, v, dz, err)
				}
			}
			// An element of the generalised Jacobian exists all the same.
			s.Generalised = true
			if err := s.VJP(nil, g, []float64{1}, nil, nil); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// withSides adds the fields ZMin and ZMax to the names if P is among them and the program has rows
// instead of bounds.
func withSides(names []string, native bool) []string {
	if slices.Contains(names, "P") && !native {
		return append([]string{"ZMin", "ZMax"}, names...)
	}
	return names
}

// No one-sided derivative exists if rounding hides which of two near sides is active.
func TestQPSidesNearEachOther(t *testing.T) {
	q := QP{Q: mat.NewDense(1, 1, []float64{1}), P: []float64{-1}, ZMin: []float64{1}, ZMax: []float64{math.Nextafter(1, 2)}}
	var s Solution
	if err := s.Solve(&q); err != nil {
		t.Fatal(err)
	}
	d := &QPGrad{P: []float64{1}}
	for _, err := range []error{s.JVP(nil, make([]float64, 1), nil, nil, d), s.DirectionalDerivative(nil, make([]float64, 1), nil, nil, d)} {
		if e := refusedInputs(t, err)["P"]; e == nil || !slices.Equal(e.Weak.Rows, []int{0}) || !strings.Contains(e.Remedy, "sides") {
			t.Errorf("%v", err)
		}
	}
}

// The result of Solve depends neither on units nor on which side of a row is called the lower side.
func TestQPSidesUnits(t *testing.T) {
	serial.Test(t)
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 41))
		n := 1 + rng.IntN(6)
		q := drawSides(rng, n, rng.IntN(8), 0)
		power := func() float64 { return math.Ldexp(1, rng.IntN(80)-40) }
		f, unit := power(), make([]float64, n) // z = unit·z'
		for j := range unit {
			unit[j] = power()
		}
		w := QP{Q: mat.NewDense(n, n, nil), P: make([]float64, n)}
		for i := range n {
			w.P[i] = f * q.P[i] * unit[i]
			for j := range n {
				w.Q.Set(i, j, f*q.Q.At(i, j)*unit[i]*unit[j])
			}
		}
		shape, err := q.shape()
		if err != nil {
			t.Fatal(err)
		}
		by := make([]float64, shape.m)
		if g := shape.general; g > 0 {
			w.G, w.L, w.H = mat.NewDense(g, n, nil), make([]float64, g), make([]float64, g)
		}
		if shape.m > shape.general {
			w.ZMin, w.ZMax = make([]float64, n), make([]float64, n)
		}
		for r := range by {
			lo, hi := q.sides(r, shape.general)
			if j := r - shape.general; j >= 0 {
				by[r] = 1 / unit[j]
				w.ZMin[j], w.ZMax[j] = lo*by[r], hi*by[r]
				continue
			}
			by[r] = power()
			for j := range n {
				w.G.Set(r, j, q.G.At(r, j)*by[r]*unit[j])
			}
			w.L[r], w.H[r] = lo*by[r], hi*by[r]
			if rng.IntN(2) == 0 {
				by[r] = -by[r]
				for j := range n {
					w.G.Set(r, j, -w.G.At(r, j))
				}
				w.L[r], w.H[r] = -w.H[r], -w.L[r]
			}
		}
		var s, o Solution
		if err := errors.Join(s.Solve(&q), o.Solve(&w)); err != nil {
			t.Fatalf("%d: %v", seed, err)
		}
		for j, u := range unit {
			o.Z[j] *= u
		}
		if d := maxDiff(o.Z, s.Z); d > 1e-9 {
			t.Errorf("%d: z off by %g", seed, d)
		}
		errS, errO := s.VJP(nil, &QPGrad{P: make([]float64, n)}, unit, nil, nil), o.VJP(nil, &QPGrad{P: make([]float64, n)}, unit, nil, nil)
		if (errS == nil) != (errO == nil) {
			t.Errorf("%d: %v, in other units %v", seed, errS, errO)
		}
		if s.VJP(nil, &QPGrad{P: make([]float64, n)}, nil, gaussians(rng, shape.m), nil) != nil {
			continue // the multipliers are not unique, or weak
		}
		for r, v := range by {
			o.Lambda[r] *= v / f
		}
		if d := maxDiff(o.Lambda, s.Lambda); d > 1e-8 {
			t.Errorf("%d: λ off by %g", seed, d)
		}
	}
}
