package qpdiff

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// A qpGolden is a problem with a solution, and a VJP of cotangentᵀz if one exists, from an
// independent implementation.
type qpGolden struct {
	Kind       string
	N, M       int
	Q          [][]float64
	P          []float64
	G          [][]float64
	H          []float64
	A          [][]float64
	B          []float64
	Z          []float64
	Lambda, Nu []float64
	Degenerate *string
	Objective  float64
	Cotangent  []float64
	VJP        map[string]json.RawMessage
}

func loadQPGolden(t testing.TB) []qpGolden {
	t.Helper()
	f, err := os.Open("testdata/d_qp.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []qpGolden }
	if err := json.NewDecoder(z).Decode(&file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) == 0 {
		t.Fatal("no golden cases")
	}
	return file.Cases
}

func denseOrNil(rows [][]float64) *mat.Dense {
	if len(rows) == 0 {
		return nil
	}
	return numtest.Matrix(rows)
}

func (c *qpGolden) problem() *QP {
	return &QP{Q: denseOrNil(c.Q), P: c.P, G: denseOrNil(c.G), H: c.H, A: denseOrNil(c.A), B: c.B}
}

// kktResidual measures the KKT conditions of q at the solution, independently of the solver's
// formulas.
func kktResidual(q *QP, s *Solution) float64 {
	return kktResidualIn(q, s, slices.Repeat([]float64{1}, len(q.P)))
}

// kktResidualIn measures the KKT conditions in the given units of z. Each condition is relative to
// its terms, so units of the objective and of the rows do not matter.
func kktResidualIn(q *QP, s *Solution, unit []float64) float64 {
	n := len(q.P)
	grad := slices.Clone(q.P)
	size, reach := 0.0, 0.0
	add := func(i int, v float64) {
		grad[i] += v
		size = max(size, math.Abs(v)*unit[i])
	}
	for i, z := range s.Z {
		reach = max(reach, math.Abs(z)/unit[i])
		size = max(size, math.Abs(q.P[i])*unit[i])
		for j := range n {
			if q.Q != nil {
				add(i, q.Q.At(i, j)*s.Z[j])
			}
		}
	}
	primal := 0.0
	var products, sizes []float64
	row := func(g []float64, sign, h, mult float64, equality bool) {
		v, big := sign*dense.Dot(g, s.Z)-h, 0.0
		for j, g := range g {
			add(j, sign*g*mult)
			big = max(big, math.Abs(g)*unit[j])
		}
		scale := math.Abs(h) + big*reach
		if !equality {
			products, sizes = append(products, mult*math.Abs(v)), append(sizes, mult*scale)
			v = max(v, 0)
		}
		primal = max(primal, ratio(math.Abs(v), scale))
	}
	shape, err := q.shape()
	if err != nil {
		return math.Inf(1)
	}
	for r, lam := range s.Lambda {
		g := make([]float64, n)
		if r < shape.general {
			copy(g, q.G.RawRowView(r))
		} else {
			g[r-shape.general] = 1
		}
		lo, hi := q.sides(r, shape.general)
		up, down := max(lam, 0), max(-lam, 0)
		switch {
		case lo == hi:
			row(g, 1, hi, lam, true)
			continue
		case math.IsInf(hi, 1) && up > 0, math.IsInf(lo, -1) && down > 0:
			return math.Inf(1)
		}
		if !math.IsInf(hi, 1) {
			row(g, 1, hi, up, false)
		}
		if !math.IsInf(lo, -1) {
			row(g, -1, -lo, down, false)
		}
	}
	for r, b := range q.B {
		row(q.A.RawRowView(r), 1, b, s.Nu[r], true)
	}
	dual, slackness := 0.0, 0.0
	for j, g := range grad {
		dual = max(dual, math.Abs(g)*unit[j])
	}
	for i, v := range products {
		slackness = max(slackness, ratio(v, max(size*reach, sizes[i])))
	}
	return max(primal, ratio(dual, size), slackness)
}

func maxDiff(x, y []float64) float64 {
	if len(x) != len(y) {
		return math.Inf(1)
	}
	d := 0.0
	for i := range x {
		d = max(d, math.Abs(x[i]-y[i])/max(1, math.Abs(y[i])))
	}
	return d
}

func TestQPGolden(t *testing.T) {
	for i, c := range loadQPGolden(t) {
		var s Solution
		q := c.problem()
		if err := s.Solve(q); err != nil {
			t.Errorf("%d %s: %v", i, c.Kind, err)
			continue
		}
		kkt := max(kktResidual(q, &s), s.Residual.Relative)
		dz := maxDiff(s.Z, c.Z)
		t.Logf("%2d %-8s n %2d m %2d q %d: KKT %.1e, z off %.1e, changes %d, proximal %d, refinements %d",
			i, c.Kind, c.N, c.M, len(c.B), kkt, dz, s.Iterations, s.Proximal, s.Refinements)
		if kkt > 1e-12 {
			t.Errorf("%d %s: relative KKT residual %g", i, c.Kind, kkt)
		}
		if dz > 1e-9 {
			t.Errorf("%d %s: z off by %g", i, c.Kind, dz)
		}
		if c.Degenerate == nil {
			if d := max(maxDiff(s.Lambda, c.Lambda), maxDiff(s.Nu, c.Nu)); d > 1e-9 {
				t.Errorf("%d %s: multipliers off by %g", i, c.Kind, d)
			}
		}
		if math.Abs(s.Objective-c.Objective) > 1e-11*max(1, math.Abs(c.Objective)) {
			t.Errorf("%d %s: objective %v, want %v", i, c.Kind, s.Objective, c.Objective)
		}
	}
}

// Problems small enough to solve by hand.
func TestQPByHand(t *testing.T) {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	inf := math.Inf(1)
	for _, c := range []struct {
		name          string
		qp            QP
		z, lambda, nu []float64
	}{
		{"unconstrained", QP{Q: eye, P: []float64{-1, 2}}, []float64{1, -2}, nil, nil},
		{"projection onto x+y=1", QP{Q: eye, P: []float64{0, 0}, A: mat.NewDense(1, 2, []float64{1, 1}), B: []float64{1}},
			[]float64{.5, .5}, nil, []float64{-.5}},
		{"active bound", QP{Q: eye, P: []float64{-3, 0}, G: eye, H: []float64{1, 1}}, []float64{1, 0}, []float64{2, 0}, nil},
		{"bound switched off", QP{Q: eye, P: []float64{-3, 0}, G: eye, H: []float64{inf, 1}}, []float64{3, 0}, []float64{0, 0}, nil},
		{"linear program", QP{P: []float64{-1, -2}, G: mat.NewDense(3, 2, []float64{1, 1, -1, 0, 0, -1}), H: []float64{1, 0, 0}},
			[]float64{0, 1}, []float64{2, 1, 0}, nil},
		{"semidefinite, equality decides", QP{Q: mat.NewDense(2, 2, []float64{1, 1, 1, 1}), P: []float64{0, 0}, A: mat.NewDense(1, 2, []float64{1, -1}), B: []float64{2}},
			[]float64{1, -1}, nil, []float64{0}},
		{"weakly active", QP{Q: eye, P: []float64{0, -1}, G: mat.NewDense(1, 2, []float64{1, 0}), H: []float64{0}}, []float64{0, 1}, []float64{0}, nil},
		{"rows of zeros", QP{Q: eye, P: []float64{1, 0}, G: mat.NewDense(2, 2, []float64{0, 0, -1, 0}), H: []float64{0, 0}, A: mat.NewDense(1, 2, nil), B: []float64{0}},
			[]float64{0, 0}, []float64{0, 1}, []float64{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Solution
			if err := s.Solve(&c.qp); err != nil {
				t.Fatal(err)
			}
			if d := max(maxDiff(s.Z, c.z), maxDiff(s.Lambda, c.lambda), maxDiff(s.Nu, c.nu)); d > 1e-14 {
				t.Errorf("got z %v λ %v ν %v, want %v %v %v", s.Z, s.Lambda, s.Nu, c.z, c.lambda, c.nu)
			}
			if s.Status != Optimal {
				t.Errorf("status %v", s.Status)
			}
		})
	}
}

// checkCertificate verifies a certificate with formulas of its own.
func checkCertificate(t *testing.T, q *QP, s *Solution, tol float64) {
	t.Helper()
	c := &s.Certificate
	n := len(q.P)
	switch s.Status {
	case Infeasible:
		comb, size := make([]float64, n), 0.0
		value := 0.0
		for r, v := range c.Lambda {
			if v < 0 || (math.IsInf(q.H[r], 1) && v != 0) {
				t.Errorf("λ[%d] = %v", r, v)
			}
			if v == 0 {
				continue
			}
			value += v * q.H[r]
			for j := range n {
				comb[j] += v * q.G.At(r, j)
				size = max(size, math.Abs(v*q.G.At(r, j)))
			}
		}
		for r, v := range c.Nu {
			value += v * q.B[r]
			for j := range n {
				comb[j] += v * q.A.At(r, j)
				size = max(size, math.Abs(v*q.A.At(r, j)))
			}
		}
		for _, v := range comb {
			if math.Abs(v) > tol*size {
				t.Errorf("Gᵀλ + Aᵀν holds %v, terms up to %v", v, size)
			}
		}
		if math.Abs(value+1) > 1e-6 {
			t.Errorf("hᵀλ + bᵀν = %v, want -1", value)
		}
	case Unbounded:
		z := mat.NewVecDense(n, c.Z)
		size := mat.Norm(z, math.Inf(1))
		var out mat.VecDense
		check := func(m *mat.Dense, bad func(v float64, r int) bool) {
			if m == nil {
				return
			}
			out.Reset()
			out.MulVec(m, z)
			for r, v := range out.RawVector().Data {
				if bad(v/(size*max(1e-300, mat.Norm(m, 2))), r) {
					t.Errorf("direction: row %d gives %v", r, v)
				}
			}
		}
		check(q.Q, func(v float64, r int) bool { return math.Abs(v) > tol })
		check(q.A, func(v float64, r int) bool { return math.Abs(v) > tol })
		check(q.G, func(v float64, r int) bool { return v > tol && !math.IsInf(q.H[r], 1) })
		if slope := mat.Dot(z, mat.NewVecDense(n, q.P)); math.Abs(slope+1) > 1e-9 {
			t.Errorf("pᵀz = %v, want -1", slope)
		}
	case Nonconvex:
		z := mat.NewVecDense(n, c.Z)
		if curv := mat.Inner(z, q.Q, z); curv >= 0 {
			t.Errorf("zᵀQz = %v", curv)
		}
	default:
		t.Errorf("status %v has no certificate", s.Status)
	}
}

func TestQPStatusByHand(t *testing.T) {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	row := func(x ...float64) *mat.Dense { return mat.NewDense(len(x)/2, 2, x) }
	for _, c := range []struct {
		name   string
		qp     QP
		status Status
		err    error
	}{
		{"x ≤ -1 and x ≥ 0", QP{Q: eye, P: []float64{0, 0}, G: row(1, 0, -1, 0), H: []float64{-1, 0}}, Infeasible, ErrInfeasible},
		{"equalities disagree", QP{Q: eye, P: []float64{0, 0}, A: row(1, 1, 2, 2), B: []float64{1, 3}}, Infeasible, ErrInfeasible},
		{"equality against bound", QP{Q: eye, P: []float64{0, 0}, G: row(1, 0), H: []float64{0}, A: row(1, 0), B: []float64{1}}, Infeasible, ErrInfeasible},
		{"0 ≤ -1", QP{Q: eye, P: []float64{0, 0}, G: row(0, 0), H: []float64{-1}}, Infeasible, ErrInfeasible},
		{"0 = 1", QP{Q: eye, P: []float64{0, 0}, A: row(0, 0), B: []float64{1}}, Infeasible, ErrInfeasible},
		{"infeasible linear program", QP{P: []float64{1, 1}, G: row(1, 1, -1, -1), H: []float64{0, -1}}, Infeasible, ErrInfeasible},
		{"infeasible along a direction of descent", QP{P: []float64{0, 4}, G: row(-2, -1, 2, 1), H: []float64{5, -5.01}}, Infeasible, ErrInfeasible},
		{"linear, no constraints", QP{P: []float64{1, 0}}, Unbounded, ErrUnbounded},
		{"linear, open cone", QP{P: []float64{-1, -1}, G: row(-1, 0, 0, -1), H: []float64{0, 0}}, Unbounded, ErrUnbounded},
		{"semidefinite", QP{Q: row(1, 0, 0, 0), P: []float64{3, 1}, G: row(0, 1), H: []float64{4}}, Unbounded, ErrUnbounded},
		{"semidefinite along an equality", QP{Q: row(1, 1, 1, 1), P: []float64{1, 0}, A: row(1, 1), B: []float64{7}}, Unbounded, ErrUnbounded},
		{"indefinite", QP{Q: row(1, 0, 0, -1e-3), P: []float64{0, 0}, G: row(0, 1, 0, -1), H: []float64{1, 1}}, Nonconvex, ErrNonconvex},
		{"indefinite, badly scaled", QP{Q: row(1e10, 0, 0, -1e-3), P: []float64{0, 0}}, Nonconvex, ErrNonconvex},
		{"indefinite after a zero", QP{Q: mat.NewDense(3, 3, []float64{0, 0, 0, 0, 1, 2, 0, 2, 1}), P: []float64{0, 0, 0}}, Nonconvex, ErrNonconvex},
		{"indefinite off the diagonal", QP{Q: row(0, 1, 1, 0), P: []float64{0, 0}}, Nonconvex, ErrNonconvex},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Solution
			err := s.Solve(&c.qp)
			if s.Status != c.status || !errors.Is(err, c.err) {
				t.Fatalf("status %v, error %v", s.Status, err)
			}
			if len(s.Z)+len(s.Lambda)+len(s.Nu) > 0 {
				t.Error("numbers that are no solution")
			}
			checkCertificate(t, &c.qp, &s, 1e-12)
		})
	}
}

func TestQPBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	eye := func() *mat.Dense { return mat.NewDense(2, 2, []float64{1, 0, 0, 1}) }
	with := func(i, j int, v float64) *mat.Dense { m := eye(); m.Set(i, j, v); return m }
	p := []float64{1, 1}
	for _, c := range []struct {
		name string
		qp   QP
		arg  string
		kind error
	}{
		{"no variable", QP{}, "QP.P", ErrShape},
		{"Q 2x2 for 3", QP{Q: eye(), P: []float64{1, 2, 3}}, "QP.Q", ErrShape},
		{"G with 2 columns", QP{P: []float64{1, 2, 3}, G: eye(), H: p}, "QP.G", ErrShape},
		{"H too short", QP{P: p, G: eye(), H: p[:1]}, "QP.H", ErrShape},
		{"H without G", QP{P: p, H: p}, "QP.H", ErrShape},
		{"B too short", QP{P: p, A: eye(), B: p[:1]}, "QP.B", ErrShape},
		{"NaN in Q", QP{Q: with(1, 0, nan), P: p}, "QP.Q", ErrNotFinite},
		{"NaN in the upper triangle of Q", QP{Q: with(0, 1, nan), P: p}, "QP.Q", ErrNotFinite},
		{"Inf in Q", QP{Q: with(1, 1, inf), P: p}, "QP.Q", ErrNotFinite},
		{"NaN in P", QP{Q: eye(), P: []float64{nan, 0}}, "QP.P", ErrNotFinite},
		{"Inf in G", QP{Q: eye(), P: p, G: with(0, 1, -inf), H: p}, "QP.G", ErrNotFinite},
		{"NaN in H", QP{Q: eye(), P: p, G: eye(), H: []float64{0, nan}}, "QP.H", ErrNotFinite},
		{"-Inf in H", QP{Q: eye(), P: p, G: eye(), H: []float64{0, -inf}}, "QP.H", ErrNotFinite},
		{"Inf in B", QP{Q: eye(), P: p, A: eye(), B: []float64{0, inf}}, "QP.B", ErrNotFinite},
		{"Q not symmetric", QP{Q: with(0, 1, .5), P: p}, "QP.Q", ErrDomain},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Solution
			err := s.Solve(&c.qp)
			var arg *ArgError
			if !errors.As(err, &arg) || !errors.Is(err, c.kind) || arg.Arg != c.arg {
				t.Fatalf("error %v", err)
			}
			if s.Status != Unsolved {
				t.Errorf("status %v", s.Status)
			}
			// The Solution is as good as new.
			if err := s.Solve(&QP{Q: eye(), P: p}); err != nil || s.Z[0] != -1 {
				t.Errorf("next solve: %v, z = %v", err, s.Z)
			}
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("SolveBatch with too few solutions did not panic")
		}
	}()
	_ = SolveBatch(make([]Solution, 1), make([]QP, 2))
}

// drawQP draws a feasible problem of a kind that is likely to break solvers.
func drawQP(rng *rand.Rand, n, m, q int) (QP, string) {
	qp := randomQP(rng, n, m, q)
	kind := ""
	round := func(x *mat.Dense) {
		if x != nil {
			x.Apply(func(_, _ int, v float64) float64 { return math.Round(v) }, x)
		}
	}
	x := gaussians(rng, n)
	if rng.IntN(3) == 0 {
		kind += "integers "
		round(qp.G)
		round(qp.A)
		for i := range x {
			x[i] = math.Round(x[i])
		}
	}
	if m > 1 && rng.IntN(3) == 0 {
		kind += "repeated rows "
		qp.G.SetRow(0, qp.G.RawRowView(m-1))
	}
	if m > 2 && rng.IntN(4) == 0 {
		kind += "opposite rows "
		for j := range n {
			qp.G.Set(1, j, -qp.G.At(m-1, j))
		}
	}
	if q > 1 && rng.IntN(3) == 0 {
		kind += "dependent equalities "
		for j := range n {
			qp.A.Set(0, j, 2*qp.A.At(q-1, j))
		}
	}
	for i := range qp.H {
		qp.H[i] = 0
		for j := range n {
			qp.H[i] += qp.G.At(i, j) * x[j]
		}
		switch rng.IntN(3) {
		case 0:
			qp.H[i] += rng.Float64()
		case 1:
			qp.H[i] += math.Exp(-20 * rng.Float64())
		}
	}
	for i := range qp.B {
		qp.B[i] = 0
		for j := range n {
			qp.B[i] += qp.A.At(i, j) * x[j]
		}
	}
	switch rng.IntN(4) {
	case 0:
		kind += "low rank "
		rank := rng.IntN(n + 1)
		if rank == 0 {
			qp.Q = nil
		} else {
			f := mat.NewDense(n, rank, gaussians(rng, n*rank))
			qp.Q.Mul(f, f.T())
			for i := range n {
				for j := range i {
					qp.Q.Set(i, j, qp.Q.At(j, i))
				}
			}
		}
		// With p = −Qx − Gᵀλ − Aᵀν, the objective is bounded from below.
		lambda, nu := make([]float64, m), gaussians(rng, q)
		for i := range lambda {
			if rng.IntN(2) == 0 {
				lambda[i] = rng.Float64()
			}
		}
		p := make([]float64, n)
		v := mat.NewVecDense(n, gaussians(rng, n))
		var out mat.VecDense
		sub := func(m mat.Matrix, x mat.Vector) {
			out.Reset()
			out.MulVec(m, x)
			for i := range p {
				p[i] -= out.AtVec(i)
			}
		}
		if qp.Q != nil {
			sub(qp.Q, v)
		}
		if m > 0 {
			sub(qp.G.T(), mat.NewVecDense(m, lambda))
		}
		if q > 0 {
			sub(qp.A.T(), mat.NewVecDense(q, nu))
		}
		qp.P = p
	case 1:
		kind += "badly scaled "
		s := math.Exp(10 * rng.NormFloat64())
		if s > 1e8 || s < 1e-8 {
			s = 1
		}
		for i := range qp.H {
			f := math.Exp2(float64(rng.IntN(40) - 20))
			qp.H[i] *= f
			for j := range n {
				qp.G.Set(i, j, qp.G.At(i, j)*f)
			}
		}
		qp.Q.Scale(s, qp.Q)
	}
	return qp, kind
}

var qpRandom = flag.Int("qp.random", 20_000, "number of random feasible problems to solve; 1000000 takes minutes")

// Solve solves every feasible problem to a KKT residual of 1e-9. The full run is
//
//	go test ./qpdiff -run TestQPRandomFeasible -qp.random 1000000
func TestQPRandomFeasible(t *testing.T) {
	const chunk = 1000
	worst := make([]float64, (*qpRandom+chunk-1)/chunk)
	err := ForEach(0, len(worst), func(c int) error {
		rng := rand.New(rand.NewPCG(7, uint64(c)))
		var s Solution
		for i := range chunk {
			n := 1 + rng.IntN(8)
			qp, kind := drawQP(rng, n, rng.IntN(12), rng.IntN(n))
			if err := s.Solve(&qp); err != nil {
				return fmt.Errorf("chunk %d, problem %d (n %d, m %d, q %d, %s): %w", c, i, n, len(qp.H), len(qp.B), kind, err)
			}
			if kkt := max(kktResidual(&qp, &s), s.Residual.Relative); !(kkt <= 1e-9) {
				return fmt.Errorf("chunk %d, problem %d (n %d, m %d, q %d, %s): KKT %g", c, i, n, len(qp.H), len(qp.B), kind, kkt)
			} else {
				worst[c] = max(worst[c], kkt)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d problems, worst relative KKT residual %.2g", len(worst)*chunk, slices.Max(worst))
}

// A problem is infeasible, unbounded or solved, and there is a proof of this status.
func TestQPStatusRandom(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(3, 4))
	count := map[Status]int{}
	var s Solution
	for i := range 5000 {
		n := 1 + rng.IntN(5)
		qp := randomQP(rng, n, rng.IntN(10), rng.IntN(3))
		for k := range qp.H {
			qp.H[k] = rng.NormFloat64()
		}
		for k := range qp.B {
			qp.B[k] = rng.NormFloat64()
		}
		if rng.IntN(2) == 0 {
			f := mat.NewDense(n, 1, gaussians(rng, n))
			qp.Q.Mul(f, f.T())
		}
		err := s.Solve(&qp)
		count[s.Status]++
		switch s.Status {
		case Optimal:
			if kkt := kktResidual(&qp, &s); err != nil || kkt > 1e-9 {
				t.Errorf("%d: KKT %g, error %v", i, kkt, err)
			}
		case Infeasible, Unbounded:
			if err == nil {
				t.Errorf("%d: %v without error", i, s.Status)
			}
			checkCertificate(t, &qp, &s, 1e-10)
		default:
			t.Errorf("%d: n %d m %d q %d: %v", i, n, len(qp.H), len(qp.B), err)
		}
	}
	t.Log(count)
	for _, want := range []Status{Optimal, Infeasible, Unbounded} {
		if count[want] < 50 {
			t.Errorf("only %d problems were %v", count[want], want)
		}
	}
}

// Weak duality holds between the solution and any feasible point, for any drawn problem.
func TestQPMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(1, 12).Draw(t, "n")
		qp := randomQP(rng, n, rapid.IntRange(0, 20).Draw(t, "m"), rapid.IntRange(0, n-1).Draw(t, "q"))
		var s Solution
		if err := s.Solve(&qp); err != nil {
			t.Fatal(err)
		}
		objective := func(z []float64) float64 {
			v := mat.NewVecDense(n, z)
			return mat.Inner(v, qp.Q, v)/2 + mat.Dot(v, mat.NewVecDense(n, qp.P))
		}
		if v := objective(s.Z); math.Abs(v-s.Objective) > 1e-12*max(1, math.Abs(v)) {
			t.Fatalf("Objective %v, computed %v", s.Objective, v)
		}
		// If h rises to h + δ, the optimum falls by at most λᵀδ.
		if len(qp.H) == 0 {
			return
		}
		relaxed := qp
		relaxed.H = append([]float64(nil), qp.H...)
		bound := s.Objective
		for i := range relaxed.H {
			d := rng.Float64()
			relaxed.H[i] += d
			bound -= s.Lambda[i] * d
		}
		var r Solution
		if err := r.Solve(&relaxed); err != nil {
			t.Fatal(err)
		}
		tol := 1e-10 * max(1, math.Abs(bound))
		if r.Objective > s.Objective+tol || r.Objective < bound-tol {
			t.Fatalf("relaxed optimum %v outside [%v, %v]", r.Objective, bound, s.Objective)
		}
	})
}

func TestQPWarmStart(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		n := 2 + rng.IntN(20)
		qp, kind := drawQP(rng, n, rng.IntN(30), rng.IntN(n))
		var warm, cold Solution
		if err := warm.Solve(&qp); err != nil {
			t.Fatal(kind, err)
		}
		// The same problem again is solved at once.
		if err := warm.Solve(&qp); err != nil {
			t.Fatal(kind, err)
		}
		next := qp
		switch rng.IntN(3) {
		case 0:
			next.P = append([]float64(nil), qp.P...)
			if qp.Q != nil && kind == "" {
				next.P[0] += 0.1
			}
		case 1:
			next.H = append([]float64(nil), qp.H...)
			for i := range next.H {
				next.H[i] += rng.Float64()
			}
		case 2:
			if qp.G != nil {
				next.G = mat.DenseCopyOf(qp.G)
				next.G.Scale(2, next.G)
				next.H = append([]float64(nil), qp.H...)
				for i := range next.H {
					next.H[i] *= 2
				}
			}
		}
		errWarm, errCold := warm.Solve(&next), cold.Solve(&next)
		if errWarm != nil || errCold != nil {
			t.Fatal(kind, errWarm, errCold)
		}
		if d := math.Abs(warm.Objective - cold.Objective); d > 1e-9*max(1, math.Abs(cold.Objective)) {
			t.Errorf("%s: objectives %v warm, %v cold", kind, warm.Objective, cold.Objective)
		}
		if kkt := kktResidual(&next, &warm); kkt > 1e-9 {
			t.Errorf("%s: warm KKT %g", kind, kkt)
		}
		warm.Reset()
		if err := warm.Solve(&next); err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(warm.Z, cold.Z) || !cmp.Equal(warm.Lambda, cold.Lambda) || !cmp.Equal(warm.Nu, cold.Nu) {
			t.Errorf("%s: after Reset the bits differ from a new Solution's", kind)
		}
	}
}

// A warm start checks a dependent equality again even if only b changes.
func TestQPWarmStartNoticesInconsistency(t *testing.T) {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	qp := QP{Q: eye, P: []float64{0, 0}, A: mat.NewDense(2, 2, []float64{1, 1, 2, 2}), B: []float64{1, 2}}
	var s Solution
	for i, b := range []float64{2, 3, 2} {
		qp.B[1] = b
		if err := s.Solve(&qp); (err == nil) != (b == 2) {
			t.Errorf("solve %d with b = %v: %v", i, b, err)
		}
	}
}

func TestSolveBatch(t *testing.T) {
	qps := qpCases[1].problems()
	bad := QP{Q: qps[0].Q, P: qps[0].P, G: mat.NewDense(2, 10, nil), H: []float64{0, -1}}
	bad.G.Set(0, 0, 1)
	qps[17], qps[40] = bad, bad
	var first []Solution
	for _, procs := range []int{1, 2, 5} {
		sols := make([]Solution, len(qps))
		err := withMaxProcs(procs, func() error { return SolveBatch(sols, qps) })
		if !errors.Is(err, ErrInfeasible) || !strings.HasPrefix(err.Error(), "qpdiff: batch item 17: no z meets") {
			t.Errorf("error %v", err)
		}
		for i := range sols {
			if want := Optimal; i != 17 && i != 40 && sols[i].Status != want {
				t.Errorf("item %d: %v", i, sols[i].Status)
			}
			if first != nil && (!cmp.Equal(sols[i].Z, first[i].Z) || !cmp.Equal(sols[i].Lambda, first[i].Lambda)) {
				t.Errorf("item %d differs with %d processors", i, procs)
			}
		}
		if first == nil {
			first = sols
		}
	}
}

func TestQPAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, psd := range []bool{false, true} {
		a, b := randomQP(rng, 10, 15, 3), randomQP(rng, 10, 15, 3)
		if psd {
			for i := range 10 {
				for j := range 10 {
					if i == 9 || j == 9 {
						a.Q.Set(i, j, 0)
						b.Q.Set(i, j, 0)
					}
				}
			}
			a.P[9], b.P[9] = 0, 0
		}
		var s Solution
		solve := func() {
			for _, q := range []*QP{&a, &b} {
				if err := s.Solve(q); err != nil {
					t.Fatal(err)
				}
			}
		}
		solve()
		if n := testing.AllocsPerRun(20, solve); n != 0 {
			t.Errorf("semidefinite %v: %v allocations per pair of solves", psd, n)
		}
	}
}

// FuzzQP checks that Solve never panics and that its result agrees with its status.
func FuzzQP(f *testing.F) {
	f.Add(uint64(1), 3, 4, 1, uint8(0), 1.0)
	f.Add(uint64(2), 1, 0, 0, uint8(1), math.NaN())
	f.Add(uint64(3), 5, 9, 2, uint8(2), 1e150)
	f.Add(uint64(4), 4, 6, 4, uint8(3), 1e-150)
	f.Add(uint64(5), 6, 2, 0, uint8(4), math.Inf(1))
	f.Add(uint64(6), 2, 30, 2, uint8(5), math.Inf(-1))
	f.Add(uint64(0), -2, -53, -66, uint8(10), 1e150)    // a row whose entries differ so much that its own terms do not measure its size
	f.Add(uint64(0), 4, 6, 77, uint8(4), 1e-150)        // an entry that was taken for the size of its column
	f.Add(uint64(17), -63, -197, -56, uint8(45), 9e150) // the last proximal step had taken the multipliers away
	f.Add(uint64(78), 27, -137, -53, uint8(140), 1e150) // a row that violates one side while it is active on the other
	f.Add(uint64(70), 29, 73, 93, uint8(100), 4.8e151)
	f.Add(uint64(7), 5, 9, 2, uint8(136), 1e150)
	f.Add(uint64(8), 5, 9, 2, uint8(145), 1e-150)
	f.Fuzz(func(t *testing.T, seed uint64, n, m, q int, where uint8, value float64) {
		n, m, q = 1+abs(n)%8, abs(m)%12, abs(q)%4
		rng := rand.New(rand.NewPCG(seed, 1))
		var qp QP
		kind := "two-sided"
		if where < 128 {
			qp, kind = drawQP(rng, n, m, q)
		} else {
			qp = drawSides(rng, n, m, min(q, n))
		}
		at := func(x []float64) {
			if len(x) > 0 {
				x[rng.IntN(len(x))] = value
			}
		}
		raw := func(m *mat.Dense) []float64 {
			if m == nil {
				return nil
			}
			return m.RawMatrix().Data
		}
		switch where % 128 % 11 {
		case 0:
			at(raw(qp.Q))
		case 1:
			at(qp.P)
		case 2:
			at(raw(qp.G))
		case 3:
			at(qp.H)
		case 4:
			at(raw(qp.A))
		case 5:
			at(qp.B)
		case 6:
			for _, x := range [][]float64{raw(qp.Q), qp.P} {
				for i := range x {
					x[i] *= value
				}
			}
		case 7:
			for _, x := range [][]float64{raw(qp.G), qp.L, qp.H, raw(qp.A), qp.B} {
				for i := range x {
					x[i] *= value
				}
			}
		case 8:
			at(qp.L)
		case 9:
			at(qp.ZMin)
		case 10:
			at(qp.ZMax)
		}
		var s Solution
		err := s.Solve(&qp)
		if (err == nil) != (s.Status == Optimal) {
			t.Fatalf("%s: status %v with error %v", kind, s.Status, err)
		}
		for _, x := range [][]float64{s.Z, s.Lambda, s.Nu, {s.Objective, s.Residual.Primal, s.Residual.Dual, s.Residual.Gap, s.Residual.Relative}, s.Certificate.Z, s.Certificate.Lambda, s.Certificate.Nu} {
			for _, v := range x {
				if math.IsNaN(v) {
					t.Fatalf("%s: NaN with status %v, error %v", kind, s.Status, err)
				}
			}
		}
		if err == nil {
			if kkt := kktResidualIn(&qp, &s, s.set.unit); !(kkt <= 1e-8) {
				t.Fatalf("%s: KKT %g", kind, kkt)
			}
		}
	})
}

func abs(x int) int {
	if x < 0 {
		return -(x + 1)
	}
	return x
}

func withMaxProcs(procs int, f func() error) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	return f()
}
