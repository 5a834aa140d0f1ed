package qpdiff

import (
	"errors"
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

// qpUnits is a change of units z = D z′ with diagonal D, and of the units of the objective and the
// rows.
type qpUnits struct {
	objective             float64
	d, rows, equalityRows []float64
}

// apply returns the equivalent problem.
func (u *qpUnits) apply(q *QP) QP {
	out := QP{P: slices.Clone(q.P), H: slices.Clone(q.H), B: slices.Clone(q.B)}
	for j := range out.P {
		out.P[j] *= u.objective * u.d[j]
	}
	if q.Q != nil {
		out.Q = mat.DenseCopyOf(q.Q)
		out.Q.Apply(func(i, j int, v float64) float64 { return v * (u.objective * u.d[max(i, j)]) * u.d[min(i, j)] }, out.Q)
	}
	scale := func(m *mat.Dense, b, s []float64) *mat.Dense {
		if m == nil {
			return nil
		}
		m = mat.DenseCopyOf(m)
		m.Apply(func(i, j int, v float64) float64 { return v * s[i] * u.d[j] }, m)
		for i := range b {
			b[i] *= s[i]
		}
		return m
	}
	out.G, out.A = scale(q.G, out.H, u.rows), scale(q.A, out.B, u.equalityRows)
	return out
}

// distanceTo returns the largest difference between the solutions s and t, relative to the largest
// entry.
func (u *qpUnits) distanceTo(s, t *Solution) float64 {
	worst := 0.0
	part := func(x, y []float64, unit func(i int) float64) {
		diff, size := 0.0, 0.0
		for i, v := range x {
			size = max(size, math.Abs(v))
			if w := y[i]; w != 0 {
				v -= w * unit(i)
			}
			diff = max(diff, math.Abs(v))
		}
		worst = max(worst, ratio(diff, size))
	}
	part(s.Z, t.Z, func(i int) float64 { return u.d[i] })
	part(s.Lambda, t.Lambda, func(i int) float64 { return u.rows[i] / u.objective })
	part(s.Nu, t.Nu, func(i int) float64 { return u.equalityRows[i] / u.objective })
	return worst
}

// drawUnits draws units base^k with |k| ≤ maxPower. If coordinates is false, all variables have the
// same unit.
func drawUnits(rng *rand.Rand, q *QP, base float64, maxPower int, coordinates bool) qpUnits {
	draw := func() float64 { return math.Pow(base, float64(rng.IntN(2*maxPower+1)-maxPower)) }
	u := qpUnits{objective: 1}
	fill := func(n int, one bool) []float64 {
		x := make([]float64, n)
		v := draw()
		for i := range x {
			x[i] = v
			if !one {
				x[i] = draw()
			}
		}
		return x
	}
	u.objective = draw()
	u.d = fill(len(q.P), !coordinates)
	u.rows, u.equalityRows = fill(len(q.H), false), fill(len(q.B), false)
	return u
}

// unitKinds lists problems in which all decisions have a margin of ordinary size.
var unitKinds = []struct {
	name   string
	status Status
	draw   func(rng *rand.Rand, n int) QP
}{
	{"definite", Optimal, func(rng *rand.Rand, n int) QP { return randomQP(rng, n, 2*n, 0) }},
	{"equalities", Optimal, func(rng *rand.Rand, n int) QP { return randomQP(rng, n, n, n/2) }},
	{"no constraints", Optimal, func(rng *rand.Rand, n int) QP { return randomQP(rng, n, 0, 0) }},
	{"semidefinite", Optimal, func(rng *rand.Rand, n int) QP {
		q := boundedQP(rng, n)
		f := mat.NewDense(n, 1+n/2, gaussians(rng, n*(1+n/2)))
		q.Q = mat.NewDense(n, n, nil)
		q.Q.Mul(f, f.T())
		return q
	}},
	{"linear", Optimal, boundedQP},
	{"box", Optimal, func(rng *rand.Rand, n int) QP { // only p and bounds; Q has an entry for one variable
		q := QP{P: gaussians(rng, n), G: mat.NewDense(2*n, n, nil), H: make([]float64, 2*n), Q: mat.NewDense(n, n, nil)}
		for j := range n {
			q.G.Set(j, j, 1)
			q.G.Set(n+j, j, -1)
			q.H[j], q.H[n+j] = .5+rng.Float64(), .5+rng.Float64()
		}
		q.Q.Set(0, 0, .1)
		return q
	}},
	{"portfolio", Optimal, func(rng *rand.Rand, n int) QP {
		// Covariance of fewer returns than assets, which sum to one.
		f := mat.NewDense(n, n-1, gaussians(rng, n*(n-1)))
		q := QP{Q: mat.NewDense(n, n, nil), P: gaussians(rng, n), G: mat.NewDense(n, n, nil), H: make([]float64, n), A: mat.NewDense(1, n, nil), B: []float64{1}}
		q.Q.Mul(f, f.T())
		for i := range n {
			q.G.Set(i, i, -1)
			q.A.Set(0, i, 1)
		}
		return q
	}},
	{"cone", Optimal, func(rng *rand.Rand, n int) QP { // the minimiser is 0
		q := boundedQP(rng, n)
		clear(q.H)
		return q
	}},
	{"infeasible", Infeasible, func(rng *rand.Rand, n int) QP {
		q := randomQP(rng, n, 2*n, n/2)
		w := rng.Float64()
		for j := range n {
			q.G.Set(0, j, -q.G.At(1, j)-w*q.G.At(2%(2*n), j))
		}
		q.H[0] = -q.H[1] - w*q.H[2%(2*n)] - 1
		return q
	}},
	{"infeasible linear", Infeasible, func(rng *rand.Rand, n int) QP {
		q := boundedQP(rng, n)
		for j := range n {
			q.G.Set(0, j, -q.G.At(1, j))
		}
		q.H[0] = -q.H[1] - 1
		return q
	}},
	{"nonconvex", Nonconvex, func(rng *rand.Rand, n int) QP {
		q := randomQP(rng, n, n, 0)
		q.Q = spectralMatrix(rng, n, 1)
		i := rng.IntN(n)
		q.Q.Set(i, i, -0.1)
		return q
	}},
	{"barely nonconvex", Nonconvex, func(rng *rand.Rand, n int) QP {
		q := boundedQP(rng, n)
		f := mat.NewDense(n, n-1, gaussians(rng, n*(n-1)))
		q.Q = mat.NewDense(n, n, nil)
		q.Q.Mul(f, f.T())
		for i := range n {
			q.Q.Set(i, i, q.Q.At(i, i)*(1-1e-9))
		}
		return q
	}},
	{"unbounded", Unbounded, func(rng *rand.Rand, n int) QP {
		q := randomQP(rng, n, n, 0)
		f := mat.NewDense(n, max(1, n-1), gaussians(rng, n*max(1, n-1)))
		for i := range n {
			f.Set(i, 0, 0) // no column contains the last variable
			f.Set(n-1, min(i, max(1, n-1)-1), 0)
		}
		q.Q.Mul(f, f.T())
		for r := range n {
			q.G.Set(r, n-1, -math.Abs(q.G.At(r, n-1)))
		}
		q.P[n-1] = -1 - rng.Float64()
		return q
	}},
}

// boundedQP draws a linear program whose unique solution is a vertex of its first n rows, with
// multipliers near one.
func boundedQP(rng *rand.Rand, n int) QP {
	q := randomQP(rng, n, 3*n, 0)
	q.Q = nil
	x := mat.NewVecDense(n, gaussians(rng, n))
	mat.NewVecDense(3*n, q.H).MulVec(q.G, x)
	clear(q.P)
	for r := range q.H {
		if r >= n {
			q.H[r] += 0.5 + rng.Float64()
			continue
		}
		lambda := 0.5 + rng.Float64()
		for j := range n {
			q.P[j] -= lambda * q.G.At(r, j)
		}
	}
	return q
}

// Units change no status, certificate or active set, and change results only by rounding.
func TestQPUnits(t *testing.T) {
	for _, kind := range unitKinds {
		t.Run(kind.name, func(t *testing.T) {
			worst := 0.0
			for i := range 60 {
				rng := rand.New(rand.NewPCG(21, uint64(i)))
				n := 2 + rng.IntN(7)
				qp := kind.draw(rng, n)
				var s Solution
				if s.Solve(&qp); s.Status != kind.status {
					t.Fatalf("%d: status %v", i, s.Status)
				}
				for trial := range 6 {
					most := 6
					if trial%2 == 1 && kind.status == Unbounded {
						// If a linear term outweighs Q by 1e12, the solve may end at the iteration
						// limit before it finds the direction.
						most = 3
					}
					u := drawUnits(rng, &qp, 10, most, trial%2 == 1)
					other := u.apply(&qp)
					var r Solution
					err := r.Solve(&other)
					if r.Status != s.Status {
						t.Errorf("%d, %+v: status %v, not %v: %v", i, u, r.Status, s.Status, err)
						continue
					}
					if s.Status != Optimal {
						checkCertificate(t, &qp, &s, 1e-12)
						continue
					}
					for j, v := range s.Lambda {
						if (v > 0) != (r.Lambda[j] > 0) && kind.name != "cone" {
							t.Errorf("%d, %+v: row %d has the multipliers %v and %v", i, u, j, v, r.Lambda[j])
						}
					}
					if kind.name == "cone" { // many multipliers are as good
						clear(s.Lambda)
						clear(r.Lambda)
					}
					off := u.distanceTo(&s, &r)
					worst = max(worst, off)
					if r.Residual.Relative > 1e-13 {
						t.Errorf("%d, %+v: relative residual %g", i, u, r.Residual.Relative)
					}
				}
			}
			t.Logf("results differ by %.2g", worst)
			if worst > 1e-9 {
				t.Errorf("results differ by %g", worst)
			}
		})
	}
}

// Units that are powers of two change no bit, but the unit of the objective must be a power of
// four. The factor of Q holds the square root of this unit.
func TestQPUnitsExact(t *testing.T) {
	for _, kind := range unitKinds {
		for i := range 30 {
			rng := rand.New(rand.NewPCG(22, uint64(i)))
			qp := kind.draw(rng, 2+rng.IntN(7))
			u := drawUnits(rng, &qp, 2, 20, false)
			u.objective *= u.objective
			other := u.apply(&qp)
			var s, r Solution
			s.Solve(&qp)
			r.Solve(&other)
			if r.Status != s.Status || s.Iterations != r.Iterations || s.Refinements != r.Refinements || s.Residual.Relative != r.Residual.Relative {
				t.Errorf("%s %d: (%v, %d changes, %d refinements, residual %v), not (%v, %d, %d, %v)", kind.name, i,
					r.Status, r.Iterations, r.Refinements, r.Residual.Relative, s.Status, s.Iterations, s.Refinements, s.Residual.Relative)
			}
			if s.Status == Optimal && u.distanceTo(&s, &r) != 0 {
				t.Errorf("%s %d: bits differ", kind.name, i)
			}
		}
	}
}

// Programs with condition numbers up to 1e12 are solved, although the terms of the gap exceed the
// objective.
func TestQPIllConditioned(t *testing.T) {
	for _, decades := range []float64{9, 10, 11, 12} {
		worst := 0.0
		for i := range 50 {
			rng := rand.New(rand.NewPCG(23, uint64(i)))
			n := 2 + rng.IntN(9)
			qp := QP{Q: spectralMatrix(rng, n, decades), P: gaussians(rng, n)}
			var s Solution
			if err := s.Solve(&qp); err != nil {
				t.Errorf("condition 1e%v, %d: %v", decades, i, err)
			}
			worst = max(worst, s.Residual.Relative)
		}
		t.Logf("condition 1e%v: relative residuals up to %.2g", decades, worst)
	}
}

// spectralMatrix draws an n×n matrix whose eigenvalues range from 1 down to 10^−decades.
func spectralMatrix(rng *rand.Rand, n int, decades float64) *mat.Dense {
	var qr mat.QR
	qr.Factorize(mat.NewDense(n, n, gaussians(rng, n*n)))
	var o, od mat.Dense
	qr.QTo(&o)
	d := mat.NewDense(n, n, nil)
	for i := range n {
		d.Set(i, i, math.Pow(10, -decades*float64(i)/float64(max(1, n-1))))
	}
	od.Mul(&o, d)
	q := mat.NewDense(n, n, nil)
	q.Mul(&od, o.T())
	for i := range n {
		for j := range i {
			q.Set(i, j, q.At(j, i))
		}
	}
	return q
}

// The solution of a feasibility problem or of a cone has exact zeros, because no scale exists to
// compare with.
func TestQPNoScale(t *testing.T) {
	for i := range 200 {
		rng := rand.New(rand.NewPCG(24, uint64(i)))
		n := 1 + rng.IntN(6)
		qp := boundedQP(rng, n)
		clear(qp.P)
		var s Solution
		if err := s.Solve(&qp); err != nil {
			t.Errorf("feasibility %d: %v", i, err)
		} else if slices.Max(s.Lambda) != 0 {
			t.Errorf("feasibility %d: multipliers %v", i, s.Lambda)
		}
		qp = boundedQP(rng, n)
		clear(qp.H)
		if err := s.Solve(&qp); err != nil {
			t.Errorf("cone %d: %v", i, err)
		} else if mat.Norm(mat.NewVecDense(n, s.Z), 1) != 0 {
			t.Errorf("cone %d: z = %v", i, s.Z)
		}
	}
	var s Solution
	if err := s.Solve(&QP{P: []float64{0}}); err != nil || s.Residual != (KKTResidual{}) || s.Z[0] != 0 {
		t.Errorf("nothing to minimise: %v, z = %v, %+v", err, s.Z, s.Residual)
	}
}

// In units of any size, the answer is the same or an error.
func TestQPExtremeUnits(t *testing.T) {
	serial.Test(t)
	answered, refused := 0, 0
	for _, kind := range unitKinds {
		for i := range 150 {
			rng := rand.New(rand.NewPCG(25, uint64(i)))
			qp := kind.draw(rng, 2+rng.IntN(4))
			var s, r Solution
			s.Solve(&qp)
			u := drawUnits(rng, &qp, 4, []int{120, 260, 530}[rng.IntN(3)], false)
			other := u.apply(&qp)
			err := r.Solve(&other)
			for _, x := range [][]float64{r.Z, r.Lambda, r.Nu, r.Certificate.Z, r.Certificate.Lambda, r.Certificate.Nu, {r.Objective, r.Residual.Primal, r.Residual.Dual, r.Residual.Relative, r.Certificate.Residual}} {
				if !dense.AllFinite(x) {
					t.Errorf("%s %d, %+v: %v holds what is not finite: %v", kind.name, i, u, r.Status, x)
				}
			}
			switch {
			case !sameZeros(&qp, &other):
			case err == nil && s.Status == Optimal:
				answered++
				if kind.name == "cone" {
					clear(s.Lambda)
					clear(r.Lambda)
				}
				if off := u.distanceTo(&s, &r); !(off < 1e-9) {
					t.Errorf("%s %d, %+v: results differ by %g", kind.name, i, u, off)
				}
			case r.Status == s.Status:
				answered++
			case errors.Is(err, ErrNotFinite) || errors.Is(err, ErrDomain) || errors.Is(err, ErrIterationLimit):
				refused++
			default:
				t.Errorf("%s %d, %+v: %v is called %v: %v", kind.name, i, u, s.Status, r.Status, err)
			}
		}
	}
	t.Logf("%d answered, %d refused", answered, refused)
	if answered < refused/2 {
		t.Error("too few are answered")
	}
}

// Bounds that represent infinity change no digit that matters.
func TestQPHugeBounds(t *testing.T) {
	serial.Test(t)
	for _, huge := range []float64{1e12, 1e20, 1e30, 1e100, math.MaxFloat64} {
		for _, kind := range unitKinds[:6] {
			for i := range 20 {
				rng := rand.New(rand.NewPCG(26, uint64(i)))
				qp := kind.draw(rng, 2+rng.IntN(7))
				var s, r Solution
				s.Solve(&qp)
				for row := range qp.H {
					if s.Lambda[row] == 0 && rng.IntN(2) == 0 {
						qp.H[row] = huge
					}
				}
				if err := r.Solve(&qp); err != nil {
					t.Errorf("%s %d, bounds of %g: %v", kind.name, i, huge, err)
				} else if d := maxDiff(r.Z, s.Z); d > 1e-11 {
					t.Errorf("%s %d, bounds of %g: z is off by %g", kind.name, i, huge, d)
				}
			}
		}
	}
}

// Sizes at the ends of float64's range.
func TestQPOutOfRange(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{1})
	row := func(x ...float64) *mat.Dense { return mat.NewDense(1, len(x), x) }
	for _, c := range []struct {
		name string
		qp   QP
		err  error
		z    float64
	}{
		{"denormal row", QP{Q: one, P: []float64{-2}, G: row(5e-324), H: []float64{5e-324}}, ErrDomain, 0},
		{"denormal equality", QP{Q: one, P: []float64{-2}, A: row(5e-324), B: []float64{5e-324}}, ErrDomain, 0},
		{"huge row", QP{Q: one, P: []float64{-2}, G: row(1e308), H: []float64{1e308}}, ErrDomain, 0},
		{"small row", QP{Q: one, P: []float64{-2}, G: row(1e-260), H: []float64{1e-260}}, nil, 1},
		{"large row", QP{Q: one, P: []float64{-2}, G: row(1e260), H: []float64{1e260}}, nil, 1},
		{"multiplier overflows", QP{Q: one, P: []float64{-1e60}, G: row(1e-260), H: []float64{1e-260}}, ErrNotFinite, 0},
		{"multiplier underflows", QP{Q: one, P: []float64{-1e-60}, G: row(1e260), H: []float64{0}}, ErrNotFinite, 0},
		{"minimiser overflows", QP{Q: row(1e-200), P: []float64{-1e200}}, ErrNotFinite, 0},
		{"objective overflows", QP{Q: one, P: []float64{-1e200}}, ErrNotFinite, 0},
		{"minimiser underflows", QP{Q: row(1e-60), P: []float64{-1e-300}, G: row(1e200), H: []float64{1e-200}}, ErrNotFinite, 0},
		{"denormal objective", QP{Q: row(5e-324), P: []float64{-5e-324}}, ErrNotFinite, 0},
		{"small objective", QP{Q: row(1e-140), P: []float64{-2e-140}}, nil, 2},
		{"large objective", QP{Q: row(1e140), P: []float64{-2e140}}, nil, 2},
	} {
		var s Solution
		err := s.Solve(&c.qp)
		if c.err == nil {
			if err != nil || math.Abs(s.Z[0]-c.z) > 1e-15*c.z {
				t.Errorf("%s: %v, z = %v", c.name, err, s.Z)
			}
		} else if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, z = %v, λ = %v", c.name, err, s.Z, s.Lambda)
		} else if len(s.Z)+len(s.Lambda)+len(s.Nu) > 0 {
			t.Errorf("%s: numbers that are no solution", c.name)
		}
	}
}

// sameZeros reports whether scaledQP is q in other units, without underflow or overflow of an
// entry.
func sameZeros(q, scaledQP *QP) bool {
	entries := func(q *QP) []float64 {
		all := slices.Concat(q.P, q.H, q.B)
		for _, m := range []*mat.Dense{q.Q, q.G, q.A} {
			if m != nil {
				all = append(all, m.RawMatrix().Data...)
			}
		}
		return all
	}
	x, y := entries(q), entries(scaledQP)
	for i, v := range y {
		if v = math.Abs(v); (v == 0) != (x[i] == 0) || v != 0 && !(v >= dense.SmallestNormal && dense.Finite(v)) {
			return false
		}
	}
	return true
}

// If the gradient has the same signs throughout a box, the solution is a vertex, whatever the units
// are.
func TestQPVertexInVariablesFarApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 11))
	wrong, refused := 0, 0
	problems := numtest.Long(5000)
	for range problems {
		n := 2 + rng.IntN(5)
		v, want := make([]float64, n), make([]float64, n)
		q := QP{Q: mat.NewDense(n, n, nil), P: make([]float64, n), G: mat.NewDense(2*n, n, nil), H: make([]float64, 2*n)}
		decades := 10 * rng.Float64()
		for i := range n {
			v[i] = math.Pow(10, -1-decades*rng.Float64())
			want[i] = float64(1 - 2*rng.IntN(2))
			q.P[i] = -want[i]
			q.G.Set(2*i, i, 1)
			q.G.Set(2*i+1, i, -1)
			q.H[2*i], q.H[2*i+1] = 1, 1
		}
		for i := range n {
			for j := range n {
				q.Q.Set(i, j, v[i]*v[j]) // |Qz| < 1
			}
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			refused++
		} else if floats.Distance(s.Z, want, math.Inf(1)) > 1e-9 {
			if wrong++; wrong <= 3 {
				t.Errorf("v = %v: z = %v, want %v; %+v", v, s.Z, want, s.Residual)
			}
		}
	}
	t.Logf("%d of %d wrong, %d refused", wrong, problems, refused)
	if refused > 0 {
		t.Errorf("%d of %d refused", refused, problems)
	}
}

// An inactive row does not couple variables, even if one of its entries is small.
func TestQPRowsOfEntriesFarApart(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(26, 13))
	wrong, refused := 0, 0
	problems := numtest.Long(5000)
	for range problems {
		n := 2 + rng.IntN(4)
		q := QP{P: gaussians(rng, n), G: mat.NewDense(n-1, n, nil), H: make([]float64, n-1), A: mat.NewDense(1, n, nil), B: []float64{.5 - rng.Float64()}}
		decades := 14 * rng.Float64()
		for r := range n - 1 {
			for j := range n {
				q.G.Set(r, j, rng.NormFloat64()*math.Pow(10, -decades*(.8+.2*rng.Float64())))
			}
			q.P[r] = math.Abs(q.P[r]) + .1
			q.G.Set(r, r, -1-rng.Float64())
			q.H[r] = 1 + rng.Float64()
		}
		q.A.Set(0, n-1, 1+rng.Float64()) // holds the last variable alone
		for k := range rng.IntN(n) {
			s := math.Pow(10, 6*rng.Float64())
			for j := range n {
				q.G.Set(k, j, s*q.G.At(k, j))
			}
			q.H[k] *= s
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			if !errors.Is(err, ErrUnbounded) && !errors.Is(err, ErrInfeasible) {
				refused++
			}
			continue
		}
		for j := range n {
			sum, size := q.P[j]+q.A.At(0, j)*s.Nu[0], max(q.P[j], math.Abs(q.A.At(0, j)*s.Nu[0]))
			for r, l := range s.Lambda {
				sum += q.G.At(r, j) * l
				size = max(size, math.Abs(q.G.At(r, j)*l))
			}
			if math.Abs(sum) > 1e-9*size {
				if wrong++; wrong <= 3 {
					t.Errorf("the gradient of variable %d is %.3g among terms of %.3g: z = %v, λ = %v, %+v", j, sum, size, s.Z, s.Lambda, s.Residual)
				}
				break
			}
		}
	}
	t.Logf("%d of %d wrong, %d refused", wrong, problems, refused)
	if refused > 0 {
		t.Errorf("%d of %d refused", refused, problems)
	}
}

// A multiplier is exact even if it is small compared with the terms of another variable.
func TestQPSmallMultiplier(t *testing.T) {
	q := &QP{P: []float64{154562.86670546708, -.17408484208056074},
		G: mat.NewDense(1, 2, []float64{-28.913234901201193, 0}), H: []float64{-6.0783794978152695e-05},
		A: mat.NewDense(1, 2, []float64{-5.484953018591251e-06, 136069.00193931896}), B: []float64{.00011792104377107368}}
	var s Solution
	err := s.Solve(q)
	if want := -q.P[1] / q.A.At(0, 1); err != nil || math.Abs(s.Nu[0]-want) > 1e-12*want {
		t.Errorf("ν = %v, want %v; %+v, error %v", s.Nu, want, s.Residual, err)
	}
}

// By duality, a computed point is optimal although the entries of Q differ by many decades. The gap
// is at most the gradient times the width of the box, plus the products of slacks and multipliers.
func TestQPOptimalInVariablesFarApart(t *testing.T) {
	serial.Test(t)
	const width = 3 // of the box, at most
	for _, decades := range []float64{0, 3, 6, 8} {
		for _, more := range []string{"box alone", "equality", "rows"} {
			rng := rand.New(rand.NewPCG(26, 12))
			wrong, refused, worst := 0, 0, 0.0
			for range numtest.Long(1000) {
				n := 2 + rng.IntN(5)
				rank := 1 + rng.IntN(n-1)
				m := 2 * n
				if more == "rows" {
					m += n
				}
				f := mat.NewDense(rank, n, gaussians(rng, rank*n))
				q := QP{Q: mat.NewDense(n, n, nil), P: gaussians(rng, n), G: mat.NewDense(m, n, nil), H: make([]float64, m)}
				q.A, q.B = mat.NewDense(1, n, nil), make([]float64, 1)
				if more == "equality" {
					q.A.SetRow(0, gaussians(rng, n))
				}
				for i := range n {
					column := mat.Col(nil, i, f)
					floats.Scale(math.Pow(10, -decades*rng.Float64()), column)
					f.SetCol(i, column)
					q.G.Set(2*i, i, 1)
					q.G.Set(2*i+1, i, -1)
					q.H[2*i], q.H[2*i+1] = 1+rng.Float64(), rng.Float64()
				}
				for r := 2 * n; r < m; r++ {
					q.G.SetRow(r, gaussians(rng, n))
					q.H[r] = rng.Float64()
				}
				q.Q.Mul(f.T(), f)
				var s Solution
				if s.Solve(&q) != nil {
					refused++
					continue
				}
				g, slack := mat.NewVecDense(n, nil), mat.NewVecDense(m, nil)
				g.MulVec(q.Q, mat.NewVecDense(n, s.Z))
				lacks := 0.0
				for i := range n {
					lacks += width * math.Abs(g.AtVec(i)+q.P[i]+mat.Dot(q.G.ColView(i), mat.NewVecDense(m, s.Lambda))+q.A.At(0, i)*s.Nu[0])
				}
				slack.MulVec(q.G, mat.NewVecDense(n, s.Z))
				for r, v := range s.Lambda {
					lacks += v * math.Abs(q.H[r]-slack.AtVec(r))
				}
				worst = max(worst, lacks)
				if lacks > 1e-9 {
					wrong++
				}
			}
			if wrong+refused > 0 {
				t.Errorf("%g decades, %s: %d wrong by up to %g, %d refused", decades, more, wrong, worst, refused)
			}
		}
	}
}

// An entry changes the scales unless it is negligible both in its row and in its column.
func TestScalesWithoutTinyEntries(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 31))
		n, k := 5, 4
		if seed%2 == 0 {
			n, k = 3, 2
		}
		h := make([]float64, n*n)
		for i := range n {
			h[i*n+i] = float64(rng.IntN(2)) * rng.ExpFloat64()
		}
		c := gaussians(rng, k*n)
		scales := func(tiny ...float64) []float64 {
			c := slices.Clone(c)
			for i, v := range tiny {
				c[i*(n+1)] = v
			}
			return slices.Clone(geometricScale(make([]float64, 3*(n+k)), n, k, h, c))
		}
		for _, c := range []struct {
			tiny, gone []float64
			same       bool
		}{
			{[]float64{math.Ldexp(1, -1000)}, []float64{0}, true},
			{[]float64{math.Ldexp(1, -130)}, []float64{0}, true},
			{[]float64{math.Ldexp(1, -40)}, []float64{0}, false},
		} {
			off := 0.0
			with, without := scales(c.tiny...), scales(c.gone...)
			for j := range n { // rows may grow by the factor by which variables shrink
				for i := n; i < n+k; i++ {
					off = max(off, math.Abs(math.Log2(with[i]*with[j]/(without[i]*without[j]))))
				}
			}
			if (off < 2) != c.same { // the sweeps stop within fractions of a power of two

				t.Errorf("%d: entries %g move the scales by 2^%.3g", seed, c.tiny, off)
			}
		}
	}
}
