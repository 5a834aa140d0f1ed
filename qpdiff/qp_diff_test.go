package qpdiff

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// newQPGrad returns zeros of the shape of q.
func newQPGrad(q *QP) *QPGrad {
	n := len(q.P)
	g := &QPGrad{Q: mat.NewDense(n, n, nil), P: make([]float64, n)}
	if m := len(q.H); m > 0 {
		g.G, g.H = mat.NewDense(m, n, nil), make([]float64, m)
	}
	if m := len(q.B); m > 0 {
		g.A, g.B = mat.NewDense(m, n, nil), make([]float64, m)
	}
	return g
}

// fields are the entries of g, block by block.
func (g *QPGrad) fields() [inputCount][]float64 {
	raw := func(m *mat.Dense) []float64 {
		if m == nil {
			return nil
		}
		return m.RawMatrix().Data
	}
	return [inputCount][]float64{raw(g.Q), g.P, raw(g.G), g.H, raw(g.A), g.B, g.L, g.ZMin, g.ZMax}
}

// refusedInputs returns the inputs that an error of a derivative names.
func refusedInputs(t testing.TB, err error) map[string]*NotDifferentiableError {
	t.Helper()
	out := map[string]*NotDifferentiableError{}
	if err == nil {
		return out
	}
	list := []error{err}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		list = j.Unwrap()
	}
	for _, e := range list {
		var nd *NotDifferentiableError
		if !errors.As(e, &nd) || !errors.Is(e, ErrNotDifferentiable) {
			t.Fatalf("unexpected error %v", e)
		}
		for _, input := range nd.Inputs {
			out[string(input)] = nd
		}
	}
	return out
}

func TestQPGoldenVJP(t *testing.T) {
	serial.Test(t)
	worst, where := 0.0, ""
	for i, c := range loadQPGolden(t) {
		var s Solution
		q := c.problem()
		if err := s.Solve(q); err != nil {
			t.Fatal(err)
		}
		g := newQPGrad(q)
		missing := refusedInputs(t, s.VJP(nil, g, c.Cotangent, nil, nil))
		fields := g.fields()
		if c.Kind == "weak" {
			// Row 0 touches a vertex. Small changes of Q and p keep the solution at the vertex, but
			// small changes of the rows do not.
			for _, input := range []string{"G", "H", "A", "B"} {
				if e := missing[input]; e == nil || !cmp.Equal(e.Weak, Weak{Rows: []int{0}}) {
					t.Errorf("%d weak: %s refused with %v", i, input, e)
				}
			}
			d := &QPGrad{P: c.Cotangent}
			// The rounding of two solutions, over the step, is some 1e-10.
			if diff := differenceQuotients(t, q, d, 1e-5); len(missing) != 4 || math.Abs(innerProduct(g.P, d.P)-innerProduct(c.Cotangent, diff[:c.N])) > 1e-9 {
				t.Errorf("%d weak: refused %v, ∂p %v", i, missing, g.P)
			}
			continue
		}
		off := 0.0
		for input, name := range []string{"Q", "p", "G", "h", "A", "b"} {
			want, ok := c.VJP[name]
			e := missing[strings.ToUpper(name)]
			if !ok {
				continue
			}
			var flat []float64
			if input%2 == 0 && input < 5 {
				var rows [][]float64
				if err := json.Unmarshal(want, &rows); err != nil {
					t.Fatal(err)
				}
				flat = slices.Concat(rows...)
			} else if err := json.Unmarshal(want, &flat); err != nil {
				t.Fatal(err)
			}
			if len(flat) == 0 {
				continue
			}
			if e != nil {
				t.Errorf("%d %s: %v", i, c.Kind, e)
				continue
			}
			size := 0.0
			for _, v := range flat {
				size = max(size, math.Abs(v))
			}
			for j, v := range flat {
				off = max(off, math.Abs(fields[input][j]-v)/max(size, 1e-3))
			}
		}
		t.Logf("%2d %-8s n %2d m %2d q %d: VJP off %.1e, refused %v", i, c.Kind, c.N, c.M, len(c.B), off, len(missing))
		if off > worst {
			worst, where = off, fmt.Sprint(i, " ", c.Kind)
		}
		switch c.Kind {
		case "dup_ineq":
			if missing["G"] == nil || missing["H"] == nil || missing["Q"] != nil || missing["P"] != nil {
				t.Errorf("%d %s: refused %v", i, c.Kind, missing)
			}
		case "dup_eq":
			if missing["A"] == nil || missing["B"] == nil || missing["Q"] != nil || missing["P"] != nil {
				t.Errorf("%d %s: refused %v", i, c.Kind, missing)
			}
		default:
			if len(missing) > 0 {
				t.Errorf("%d %s: refused %v", i, c.Kind, missing)
			}
		}
	}
	t.Logf("worst %.1e at %s", worst, where)
	if worst > 1e-10 {
		t.Errorf("VJP off by %g at %s", worst, where)
	}
}

// smoothQP draws a problem whose solution satisfies strict complementarity by a margin.
func smoothQP(rng *rand.Rand, n, m, q int) (*QP, *Solution) {
	for {
		qp := randomQP(rng, n, m, q)
		s := new(Solution)
		if s.Solve(&qp) != nil {
			continue
		}
		ok := true
		for r, lam := range s.Lambda {
			slack := qp.H[r] - mat.Dot(qp.G.RowView(r), mat.NewVecDense(n, s.Z))
			ok = ok && (lam > 0.05 || slack > 0.05)
		}
		if ok {
			return &qp, s
		}
	}
}

// randomDirection is standard normal in every entry, symmetric in Q.
func randomDirection(rng *rand.Rand, q *QP) *QPGrad {
	d := newQPGrad(q)
	for _, f := range d.fields() {
		for i := range f {
			f[i] = rng.NormFloat64()
		}
	}
	n := len(q.P)
	for i := range n {
		for j := range i {
			d.Q.Set(i, j, d.Q.At(j, i))
		}
	}
	return d
}

// shiftedQP is q + t·d.
func shiftedQP(q *QP, d *QPGrad, t float64) *QP {
	m := func(x, y *mat.Dense) *mat.Dense {
		if x == nil || y == nil {
			return x
		}
		var z mat.Dense
		z.Scale(t, y)
		z.Add(&z, x)
		return &z
	}
	v := func(x, y []float64) []float64 {
		out := slices.Clone(x)
		for i := range y {
			out[i] += t * y[i]
		}
		return out
	}
	return &QP{Q: m(q.Q, d.Q), P: v(q.P, d.P), G: m(q.G, d.G), H: v(q.H, d.H), A: m(q.A, d.A), B: v(q.B, d.B)}
}

func stackSolution(s *Solution) []float64 { return slices.Concat(s.Z, s.Lambda, s.Nu) }

// differenceQuotients returns the derivative of (z, λ, ν) along d, by a five-point formula.
func differenceQuotients(t testing.TB, q *QP, d *QPGrad, h float64) []float64 {
	t.Helper()
	at := func(x float64) []float64 {
		var s Solution
		if err := s.Solve(shiftedQP(q, d, x*h)); err != nil {
			t.Fatal(err)
		}
		return stackSolution(&s)
	}
	a, b, c, e := at(-2), at(-1), at(1), at(2)
	for i := range a {
		a[i] = (a[i] - 8*b[i] + 8*c[i] - e[i]) / (12 * h)
	}
	return a
}

func innerProduct(a, b []float64) float64 {
	s := 0.0
	for i, v := range a {
		s += v * b[i]
	}
	return s
}

// JVP equals difference quotients, VJP is its adjoint, and the Jacobians agree with both.
func TestQPDerivatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	for _, shape := range [][3]int{{1, 0, 0}, {1, 1, 0}, {3, 4, 1}, {6, 0, 2}, {10, 10, 5}, {8, 20, 0}, {30, 40, 3}} {
		n, m, k := shape[0], shape[1], shape[2]
		q, s := smoothQP(rng, n, m, k)
		d := randomDirection(rng, q)
		dz, dl, dn := make([]float64, n), make([]float64, m), make([]float64, k)
		if err := s.JVP(nil, dz, dl, dn, d); err != nil {
			t.Fatal(shape, err)
		}
		got, want := slices.Concat(dz, dl, dn), differenceQuotients(t, q, d, 1e-4)
		size := 1.0
		for _, v := range want {
			size = max(size, math.Abs(v))
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-7*size {
				t.Errorf("%v: JVP entry %d is %v, differences say %v", shape, i, got[i], want[i])
			}
		}
		cot := gaussians(rng, n+m+k)
		g := newQPGrad(q)
		if err := s.VJP(nil, g, cot[:n], cot[n:n+m], cot[n+m:]); err != nil {
			t.Fatal(shape, err)
		}
		left, right := innerProduct(cot, got), 0.0
		gf, df := g.fields(), d.fields()
		for input := range gf {
			right += innerProduct(gf[input], df[input])
		}
		if math.Abs(left-right) > 1e-11*max(1, math.Abs(left)) {
			t.Errorf("%v: ⟨v, Ju⟩ = %v, ⟨Jᵀv, u⟩ = %v", shape, left, right)
		}
		// A second time adds.
		if err := s.VJP(nil, &QPGrad{P: g.P}, cot[:n], cot[n:n+m], cot[n+m:]); err != nil {
			t.Fatal(err)
		}
		for out, w := range [3][]float64{dz, dl, dn} {
			sum := make([]float64, len(w))
			for input, f := range df {
				j, err := s.Jacobian(QPOutput(out), QPInput(input))
				if err != nil {
					t.Fatal(err)
				}
				if j == nil {
					continue
				}
				for i := range sum {
					sum[i] += innerProduct(j.RawRowView(i), f)
				}
			}
			for i := range sum {
				if math.Abs(sum[i]-w[i]) > 1e-10*size {
					t.Errorf("%v: Jacobian of %v gives %v, JVP %v", shape, QPOutput(out), sum[i], w[i])
				}
			}
		}
	}
}

// The derivatives of a unique solution are right even if Q is only semidefinite.
func TestQPDerivativesSemidefinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	for range 30 {
		n, m := 6, 10
		q, s := smoothQP(rng, n, m, 1)
		f := mat.NewDense(n, 3, gaussians(rng, n*3))
		q.Q.Mul(f, f.T())
		for i := range n {
			for j := range i {
				q.Q.Set(i, j, q.Q.At(j, i))
			}
		}
		if s.Solve(q) != nil {
			continue
		}
		cot := gaussians(rng, n+m+1)
		g := newQPGrad(q)
		if err := s.VJP(nil, g, cot[:n], cot[n:n+m], cot[n+m:]); err != nil {
			continue // not unique, or weak
		}
		// A direction that keeps Q as it is: semidefinite.
		d := randomDirection(rng, q)
		d.Q = nil
		want := differenceQuotients(t, q, d, 1e-5)
		right := 0.0
		gf, df := g.fields(), d.fields()
		for input := range gf {
			if df[input] != nil {
				right += innerProduct(gf[input], df[input])
			}
		}
		if left := innerProduct(cot, want); math.Abs(left-right) > 1e-6*max(1, math.Abs(left)) {
			t.Errorf("VJP gives %v, differences %v", right, left)
		}
	}
}

// The minimiser min(a, 0) of ½(x − a)² subject to x ≤ 0 has no derivative at a = 0, although the
// paper's range condition holds.
func TestQPKink(t *testing.T) {
	one := mat.NewDense(1, 1, []float64{1})
	q := &QP{Q: one, P: []float64{0}, G: one, H: []float64{0}} // p = −a
	var s Solution
	if err := s.Solve(q); err != nil {
		t.Fatal(err)
	}
	// The paper's condition compares the rank of ∇_z g with the rank of the matrix (∇_z g, ∇_a g),
	// where z = (x, λ).
	rank := func(cols int, x ...float64) int {
		var svd mat.SVD
		svd.Factorize(mat.NewDense(2, cols, x), mat.SVDNone)
		return svd.Rank(1e-12)
	}
	if rank(2, 1, 1, s.Lambda[0], s.Z[0]) != rank(3, 1, 1, -1, s.Lambda[0], s.Z[0], 0) {
		t.Error("the paper's condition does not hold here")
	}
	g := newQPGrad(q)
	missing := refusedInputs(t, s.VJP(nil, g, []float64{1}, nil, nil))
	if len(missing) != 4 || !cmp.Equal(missing["P"].Weak, Weak{Rows: []int{0}}) {
		t.Errorf("refused %v", missing)
	}
	for input, f := range g.fields() {
		for _, v := range f {
			if v != 0 {
				t.Errorf("%v was written to", QPInput(input))
			}
		}
	}
	dz := make([]float64, 1)
	if err := s.JVP(nil, dz, nil, nil, &QPGrad{P: []float64{1}}); !errors.Is(err, ErrNotDifferentiable) {
		t.Errorf("JVP: %v", err)
	}
	// If a rises, x stays at 0 and λ rises. If a falls, x falls with a, and λ stays at 0.
	dl := make([]float64, 1)
	for _, c := range []struct{ a, x, lambda float64 }{{1, 0, 1}, {-1, -1, 0}} {
		if err := s.DirectionalDerivative(nil, dz, dl, nil, &QPGrad{P: []float64{-c.a}}); err != nil {
			t.Fatal(err)
		}
		if math.Abs(dz[0]-c.x)+math.Abs(dl[0]-c.lambda) > 1e-12 {
			t.Errorf("direction %v: ẋ = %v, λ̇ = %v", c.a, dz[0], dl[0])
		}
	}
	// The element of the generalised Jacobian is the derivative for the inactive row, where x = a.
	s.Generalised = true
	p := []float64{0}
	if err := s.VJP(nil, &QPGrad{P: p}, []float64{1}, nil, nil); err != nil || p[0] != -1 {
		t.Errorf("generalised: %v, %v", p, err)
	}
	s.Generalised = false
	if err := s.VJP(nil, &QPGrad{P: p}, []float64{1}, nil, nil); !errors.Is(err, ErrNotDifferentiable) {
		t.Errorf("after Generalised: %v", err)
	}
}

// At weakly active rows the directional derivative is the one-sided limit.
func TestQPDirectionalDerivative(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	tested := 0
	for range 200 {
		n := 2 + rng.IntN(5)
		q, s := smoothQP(rng, n, 1+rng.IntN(6), rng.IntN(2))
		// Let one or two inactive rows touch the solution.
		weak := 0
		for r := range q.H {
			if s.Lambda[r] == 0 && weak < 2 {
				q.H[r] = mat.Dot(q.G.RowView(r), mat.NewVecDense(n, s.Z))
				weak++
			}
		}
		if weak == 0 || s.Solve(q) != nil {
			continue
		}
		d := randomDirection(rng, q)
		out := make([]float64, len(stackSolution(s)))
		m := len(q.H)
		if err := s.DirectionalDerivative(nil, out[:n], out[n:n+m], out[n+m:], d); err != nil {
			continue // more active rows than variables
		}
		tested++
		const h = 1e-7
		var ahead Solution
		if err := ahead.Solve(shiftedQP(q, d, h)); err != nil {
			continue
		}
		a, b := stackSolution(&ahead), stackSolution(s)
		size := 1.0
		for _, v := range out {
			size = max(size, math.Abs(v))
		}
		for i := range out {
			if v := (a[i] - b[i]) / h; math.Abs(v-out[i]) > 1e-4*size*size {
				t.Errorf("n %d m %d: entry %d is %v, one-sided difference %v", n, m, i, out[i], v)
			}
		}
	}
	if tested < 20 {
		t.Errorf("only %d cases", tested)
	}
}

// If active rows are dependent, their multipliers are not unique, and derivatives exist only in
// some blocks.
func TestQPDependentRows(t *testing.T) {
	eye := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	twice := mat.NewDense(2, 2, []float64{1, 0, 1, 0})
	opposite := mat.NewDense(2, 2, []float64{1, 0, -1, 0})
	for _, c := range []struct {
		name    string
		q       QP
		refused []string
		weak    bool
	}{
		{"bound twice", QP{Q: eye, P: []float64{-3, 0}, G: twice, H: []float64{1, 1}}, []string{"G", "H"}, false},
		// The rows x ≤ 1 and x ≥ 1 have the multiplier zero, but any λ₁ = λ₂ ≥ 0 is valid.
		{"implied equality", QP{Q: eye, P: []float64{-1, 0}, G: opposite, H: []float64{1, -1}}, []string{"G", "H"}, false},
		{"bound twice, not needed", QP{Q: eye, P: []float64{-1, 0}, G: twice, H: []float64{1, 1}}, []string{"Q", "P", "G", "H"}, true},
		{"equality twice", QP{Q: eye, P: []float64{-3, 0}, A: twice, B: []float64{1, 1}}, []string{"A", "B"}, false},
		{"bound twice, other equality", QP{Q: eye, P: []float64{-3, 0}, G: twice, H: []float64{1, 1}, A: mat.NewDense(1, 2, []float64{0, 1}), B: []float64{2}}, []string{"G", "H"}, false},
		{"bound and equality", QP{Q: eye, P: []float64{-3, 0}, G: mat.NewDense(1, 2, []float64{1, 0}), H: []float64{1}, A: mat.NewDense(1, 2, []float64{1, 0}), B: []float64{1}}, []string{"G", "H", "A", "B"}, false},
		{"row of zeros", QP{Q: eye, P: []float64{-3, 0}, A: mat.NewDense(1, 2, nil), B: []float64{0}}, []string{"A", "B"}, false},
		{"flat objective", QP{Q: mat.NewDense(2, 2, []float64{1, 0, 0, 0}), P: []float64{-3, 0}, G: eye, H: []float64{1, 1}}, []string{"Q", "P", "G"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Solution
			if err := s.Solve(&c.q); err != nil {
				t.Fatal(err)
			}
			g := newQPGrad(&c.q)
			cot := []float64{1, 2}
			if c.name == "flat objective" {
				cot[1] = 0 // the second variable is not unique
			}
			missing := refusedInputs(t, s.VJP(nil, g, cot, nil, nil))
			var names []string
			for _, name := range []string{"Q", "P", "G", "H", "A", "B"} {
				if e := missing[name]; e != nil {
					names = append(names, name)
					if c.weak && e.Weak.Empty() || !c.weak && e.Residual < 1e-3 {
						t.Errorf("%v", e)
					}
				}
			}
			if !cmp.Equal(names, c.refused) {
				t.Errorf("refused %v, want %v (z %v λ %v)", names, c.refused, s.Z, s.Lambda)
			}
			// The remaining derivatives agree with difference quotients of the problem in p.
			if missing["P"] == nil {
				d := newQPGrad(&c.q)
				*d = QPGrad{P: []float64{0.3, -0.7}}
				diff := differenceQuotients(t, &c.q, d, 1e-3)
				if want := innerProduct(cot, diff[:2]); math.Abs(innerProduct(g.P, d.P)-want) > 1e-9 {
					t.Errorf("∂p·d = %v, differences %v", innerProduct(g.P, d.P), want)
				}
			}
			// If multipliers are not unique, a cotangent of these multipliers lies outside the range.
			if len(s.Lambda) == 2 && !c.weak && c.name != "flat objective" {
				if err := s.VJP(nil, &QPGrad{P: make([]float64, 2)}, nil, []float64{1, 0}, nil); !errors.Is(err, ErrNotDifferentiable) {
					t.Errorf("cotangent of λ: %v", err)
				}
				if err := s.JVP(nil, nil, make([]float64, 2), nil, &QPGrad{P: []float64{1, 0}}); !errors.Is(err, ErrNotDifferentiable) {
					t.Errorf("JVP of λ: %v", err)
				}
			}
		})
	}
}

func TestVJPBatch(t *testing.T) {
	qps := qpCases[1].problems()[:40]
	shared := qps[0]
	for i := range qps {
		qps[i].Q, qps[i].P = shared.Q, shared.P // all items share them
	}
	rng := rand.New(rand.NewPCG(1, 5))
	dz := make([][]float64, len(qps))
	for i := range dz {
		dz[i] = gaussians(rng, 10)
	}
	sols := make([]Solution, len(qps))
	if err := SolveBatch(sols, qps); err != nil {
		t.Fatal(err)
	}
	want := newQPGrad(&shared)
	hs := make([][]float64, len(qps))
	for i := range sols {
		hs[i] = make([]float64, 10)
		if err := sols[i].VJP(nil, &QPGrad{Q: want.Q, P: want.P, H: hs[i]}, dz[i], nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, procs := range []int{1, 2, 5} {
		g := newQPGrad(&shared)
		grads := make([]QPGrad, len(qps))
		for i := range grads {
			grads[i] = QPGrad{Q: g.Q, P: g.P, H: make([]float64, 10)}
		}
		if err := withMaxProcs(procs, func() error { return VJPBatch(nil, grads, sols, dz, nil, nil) }); err != nil {
			t.Fatal(err)
		}
		if !mat.Equal(g.Q, want.Q) || !cmp.Equal(g.P, want.P) {
			t.Errorf("%d processors: shared sums differ from the sequential ones", procs)
		}
		for i := range grads {
			if !cmp.Equal(grads[i].H, hs[i]) {
				t.Errorf("%d processors: item %d differs", procs, i)
			}
		}
	}
	sols[7].Reset()
	grads := make([]QPGrad, len(qps))
	for i := range grads {
		grads[i].H = make([]float64, 10)
	}
	err := VJPBatch(nil, grads, sols, dz, nil, nil)
	if !errors.Is(err, ErrNotFitted) || !strings.HasPrefix(err.Error(), "qpdiff: batch item 7: ") {
		t.Errorf("error %v", err)
	}
	if !cmp.Equal(grads[8].H, hs[8]) {
		t.Error("item 8 suffered from item 7")
	}
}

// VJPBatch is right if fields of its gradients share or overlap storage in any way.
func TestVJPBatchSharesStorage(t *testing.T) {
	const n, m, items = 4, 6, 12
	rng := rand.New(rand.NewPCG(37, 1))
	qps, sols, dz := make([]QP, items), make([]Solution, items), make([][]float64, items)
	for i := range qps {
		qps[i] = drawSides(rng, n, m, 1)
		qps[i].L, qps[i].H = make([]float64, m), make([]float64, m)
		for r := range m {
			qps[i].L[r], qps[i].H[r] = -.1-rng.Float64(), .1+rng.Float64()
		}
		qps[i].ZMin, qps[i].ZMax = slices.Repeat([]float64{-.3}, n), slices.Repeat([]float64{.3}, n)
		qps[i].A, qps[i].B = mat.NewDense(1, n, gaussians(rng, n)), []float64{0}
		qps[i].L, qps[i].ZMin = qps[i%2].L, qps[0].ZMin // shared data
		dz[i] = gaussians(rng, n)
	}
	dz[3] = dz[2]
	if err := SolveBatch(sols, qps); err != nil {
		t.Fatal(err)
	}
	for name, share := range map[string]func(at func(from, to int) []float64, i int) QPGrad{
		"L": func(at func(from, to int) []float64, i int) QPGrad {
			return QPGrad{L: at(0, m), P: at((i+3)*m, (i+3)*m+n), G: mat.NewDense(m, n, at(200+i*m*n, 200+(i+1)*m*n))}
		},
		"L and H": func(at func(from, to int) []float64, _ int) QPGrad {
			return QPGrad{L: at(0, m), H: at(0, m), ZMin: at(m, m+n), ZMax: at(m, m+n)}
		},
		"L of one, H of another": func(at func(from, to int) []float64, i int) QPGrad {
			if i%2 == 0 {
				return QPGrad{L: at(0, m), ZMin: at(m, m+n)}
			}
			return QPGrad{H: at(0, m), ZMax: at(m, m+n)}
		},
		"P, ZMin and ZMax": func(at func(from, to int) []float64, _ int) QPGrad {
			return QPGrad{P: at(0, n), ZMin: at(0, n), ZMax: at(0, n), B: at(n, n+1)}
		},
		"two matrices on the same numbers": func(at func(from, to int) []float64, _ int) QPGrad {
			return QPGrad{Q: mat.NewDense(n, n, at(0, n*n)), G: mat.NewDense(m, n, at(n*n, n*n+m*n))}
		},
		"overlaps": func(at func(from, to int) []float64, i int) QPGrad {
			return QPGrad{L: at(i, i+m), H: at(2*i+1, 2*i+1+m), A: mat.NewDense(1, n, at(3*i, 3*i+n))}
		},
		"columns of one matrix": func(at func(from, to int) []float64, i int) QPGrad {
			wide := mat.NewDense(m, items*n, at(0, m*items*n))
			return QPGrad{G: wide.Slice(0, m, i*n, (i+1)*n).(*mat.Dense)}
		},
		"everything": func(at func(from, to int) []float64, _ int) QPGrad {
			return QPGrad{Q: mat.NewDense(n, n, at(0, n*n)), P: at(0, n), G: mat.NewDense(m, n, at(0, m*n)), H: at(0, m), A: mat.NewDense(1, n, at(0, n)), B: at(0, 1), L: at(0, m), ZMin: at(0, n), ZMax: at(0, n)}
		},
	} {
		want := make([]float64, 1000)
		for i := range sols {
			g := share(func(from, to int) []float64 { return want[from:to] }, i)
			if err := sols[i].VJP(nil, &g, dz[i], nil, nil); err != nil {
				t.Fatal(err)
			}
		}
		for _, procs := range []int{1, 2, 5} {
			got, grads := make([]float64, len(want)), make([]QPGrad, items)
			for i := range grads {
				grads[i] = share(func(from, to int) []float64 { return got[from:to] }, i)
			}
			if err := withMaxProcs(procs, func() error { return VJPBatch(nil, grads, sols, dz, nil, nil) }); err != nil {
				t.Fatal(err)
			}
			if d := maxDiff(got, want); d > 1e-13 {
				t.Errorf("%s, %d processors: sums off by %g", name, procs, d)
			}
		}
	}
}

func TestQPDerivativeMisuse(t *testing.T) {
	q := qpCases[1].problems()[0]
	var s Solution
	if err := s.VJP(nil, newQPGrad(&q), nil, nil, nil); !errors.Is(err, ErrNotFitted) {
		t.Errorf("before a solve: %v", err)
	}
	if err := s.Solve(&q); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]func(){
		"dz":   func() { _ = s.VJP(nil, &QPGrad{}, make([]float64, 3), nil, nil) },
		"G":    func() { _ = s.VJP(nil, &QPGrad{G: mat.NewDense(1, 1, nil)}, nil, nil, nil) },
		"dnu":  func() { _ = s.JVP(nil, nil, nil, make([]float64, 1), &QPGrad{}) },
		"H":    func() { _ = s.DirectionalDerivative(nil, nil, nil, nil, &QPGrad{H: make([]float64, 1)}) },
		"len":  func() { _ = VJPBatch(nil, make([]QPGrad, 2), make([]Solution, 1), nil, nil, nil) },
		"cots": func() { _ = VJPBatch(nil, make([]QPGrad, 1), []Solution{s}, make([][]float64, 2), nil, nil) },
	} {
		func() {
			defer func() {
				if p, ok := recover().(string); !ok || !strings.HasPrefix(p, "qpdiff: ") {
					t.Errorf("%s: panic %v", name, p)
				}
			}()
			f()
			t.Errorf("%s: no panic", name)
		}()
	}
}

func TestQPDerivativesAllocateNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	q, s := smoothQP(rng, 10, 10, 3)
	// An eleventh variable that only a bound holds makes Q singular.
	flat := &QP{Q: mat.NewDense(11, 11, nil), P: append(slices.Clone(q.P), 1), G: mat.NewDense(11, 11, nil), H: append(slices.Clone(q.H), 2), A: mat.NewDense(3, 11, nil), B: q.B}
	flat.Q.Slice(0, 10, 0, 10).(*mat.Dense).Copy(q.Q)
	flat.G.Slice(0, 10, 0, 10).(*mat.Dense).Copy(q.G)
	flat.A.Slice(0, 3, 0, 10).(*mat.Dense).Copy(q.A)
	flat.G.Set(10, 10, -1)
	var singular Solution
	var w Workspace
	for _, c := range []struct {
		q *QP
		s *Solution
	}{{q, s}, {flat, &singular}} {
		n, m := len(c.q.P), len(c.q.H)
		g, cot, dz := newQPGrad(c.q), gaussians(rng, n+m+3), make([]float64, n)
		run := func() {
			if err := c.s.Solve(c.q); err != nil {
				t.Fatal(err)
			}
			if err := c.s.VJP(&w, g, cot[:n], cot[n:n+m], cot[n+m:]); err != nil {
				t.Fatal(err)
			}
			if err := c.s.JVP(&w, dz, nil, nil, g); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if got := testing.AllocsPerRun(20, run); got != 0 {
			t.Errorf("n = %d: %v allocations", n, got)
		}
	}
}

// The adjoint identity holds, without NaN, for problems of all kinds whose derivatives exist.
func TestQPAdjointProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		adjointIdentity(t, rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 9).Draw(t, "n"), rapid.IntRange(0, 14).Draw(t, "m"), rapid.IntRange(0, 4).Draw(t, "q"))
	})
}

func FuzzQPDerivatives(f *testing.F) {
	for i := range uint64(8) {
		f.Add(i, int(i)+1, 2*int(i), int(i)%3)
	}
	f.Fuzz(func(t *testing.T, seed uint64, n, m, q int) {
		adjointIdentity(t, seed, 1+abs(n)%9, abs(m)%15, abs(q)%5)
	})
}

func adjointIdentity(t interface {
	Fatalf(string, ...any)
	Fatal(...any)
}, seed uint64, n, m, k int) {
	rng := rand.New(rand.NewPCG(seed, 77))
	q, kind := drawQP(rng, n, m, min(k, n))
	var s Solution
	if err := s.Solve(&q); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	k = len(q.B)
	cot := gaussians(rng, n+m+k)
	d, g := randomDirection(rng, &q), newQPGrad(&q)
	out := make([]float64, n+m+k)
	errV := s.VJP(nil, g, cot[:n], cot[n:n+m], cot[n+m:])
	errJ := s.JVP(nil, out[:n], out[n:n+m], out[n+m:], d)
	for _, err := range []error{errV, errJ} {
		if err != nil && !errors.Is(err, ErrNotDifferentiable) {
			t.Fatal(err)
		}
	}
	gf, df := g.fields(), d.fields()
	right, size := 0.0, 1.0
	for input := range gf {
		for i, v := range gf[input] {
			if math.IsNaN(v) {
				t.Fatalf("%s: NaN in ∂%v", kind, QPInput(input))
			}
			right += v * df[input][i]
			size += math.Abs(v * df[input][i])
		}
	}
	if errV != nil || errJ != nil {
		return
	}
	left := innerProduct(cot, out)
	for i, v := range out {
		size += math.Abs(v * cot[i])
	}
	if math.Abs(left-right) > 1e-7*size {
		t.Fatalf("%s: ⟨v, Ju⟩ = %v, ⟨Jᵀv, u⟩ = %v", kind, left, right)
	}
}

// Derivatives do not write to a solution, so goroutines with separate workspaces may share one.
func TestQPDerivativesAreConst(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, kind := range []string{"regular", "weakly active", "singular"} {
		q, s := smoothQP(rng, 8, 10, 2)
		switch kind {
		case "weakly active": // a row through the solution
			for i := range q.H {
				if s.Lambda[i] == 0 {
					q.H[i] = dense.Dot(q.G.RawRowView(i), s.Z)
					break
				}
			}
		case "singular": // a row twice
			for i := range q.H {
				if s.Lambda[i] > 0 {
					q.G.SetRow((i+1)%len(q.H), q.G.RawRowView(i))
					q.H[(i+1)%len(q.H)] = q.H[i]
					break
				}
			}
		}
		shared, alone := Solution{Generalised: true}, Solution{Generalised: true}
		if err := errors.Join(shared.Solve(q), alone.Solve(q)); err != nil {
			t.Fatal(kind, err)
		}
		cot := gaussians(rng, 8)
		along := newQPGrad(q)
		copy(along.P, gaussians(rng, 8))
		var group sync.WaitGroup
		var results [4][]float64
		for i := range results {
			group.Go(func() {
				var w Workspace
				g, dz := newQPGrad(q), make([]float64, 8)
				for range 3 {
					clear(g.P)
					_ = shared.VJP(&w, &QPGrad{P: g.P}, cot, nil, nil)
					_ = shared.JVP(&w, dz, nil, nil, along)
					_ = shared.DirectionalDerivative(&w, dz, nil, nil, along)
					_, _ = shared.Jacobian(OutputZ, InputP)
				}
				results[i] = append(g.P, dz...)
			})
		}
		group.Wait()
		for _, r := range results {
			if !numtest.SameBits(r, results[0]) {
				t.Errorf("%s: %v, then %v", kind, results[0], r)
			}
		}
		q.P[0] += .1
		if err := errors.Join(shared.Solve(q), alone.Solve(q)); err != nil {
			t.Fatal(kind, err)
		}
		if !numtest.SameBits(shared.Z, alone.Z) || shared.Iterations != alone.Iterations {
			t.Errorf("%s: the next solve gives %v after %d changes, without derivatives %v after %d", kind, shared.Z, shared.Iterations, alone.Z, alone.Iterations)
		}
	}
}
