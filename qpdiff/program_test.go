package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// affineRow is aᵀx − b with b = α[at], or fixed where at < 0.
func affineRow(a []float64, b float64, at int) ParamFunc {
	return func(d *Partials, x, alpha []float64) float64 {
		copy(d.X, a)
		if at >= 0 {
			d.Alpha[at] = -1
			b = alpha[at]
		}
		return floats.Dot(a, x) - b
	}
}

// qpProgram is q as a ConvexProgram with α = (p, h, b, the upper triangle of Q).
func qpProgram(q *QP) (*ConvexProgram, []float64) {
	n, m, k := len(q.P), len(q.H), len(q.B)
	alpha := append(append(append([]float64(nil), q.P...), q.H...), q.B...)
	for i := range n {
		alpha = append(alpha, q.Q.RawRowView(i)[i:]...)
	}
	p := &ConvexProgram{Objective: func(d *Partials, x, alpha []float64) float64 {
		value, at := 0.0, n+m+k
		for i := range n {
			value += alpha[i] * x[i]
			d.X[i] += alpha[i]
			d.XAlpha.Set(i, i, 1)
			for j := i; j < n; j++ {
				v := alpha[at]
				d.XX.Set(i, j, v)
				d.XX.Set(j, i, v)
				d.X[i] += v * x[j]
				d.XAlpha.Set(i, at, x[j])
				if j > i {
					d.X[j] += v * x[i]
					d.XAlpha.Set(j, at, x[i])
					value += v * x[i] * x[j]
				} else {
					value += v * x[i] * x[i] / 2
				}
				at++
			}
		}
		return value
	}}
	for i, h := range q.H {
		p.Inequalities = append(p.Inequalities, affineRow(q.G.RawRowView(i), h, n+i))
	}
	for i, b := range q.B {
		p.Equalities = append(p.Equalities, affineRow(q.A.RawRowView(i), b, n+m+i))
	}
	return p, alpha
}

// The QP's derivatives against the general rule.
func TestProgramOfQP(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 21))
	for _, shape := range [][3]int{{2, 0, 0}, {4, 6, 0}, {5, 0, 2}, {6, 9, 2}} {
		n, m, k := shape[0], shape[1], shape[2]
		q, s := smoothQP(rng, n, m, k)
		p, alpha := qpProgram(q)
		got, err := p.Differentiate(s.Z, s.Lambda, s.Nu, alpha)
		if err != nil {
			t.Fatal(shape, err)
		}
		for out, have := range [3]*mat.Dense{got.X, got.Lambda, got.Nu} {
			for in, at := range map[QPInput]int{InputP: 0, InputH: n, InputB: n + m, InputQ: n + m + k} {
				want, err := s.Jacobian(QPOutput(out), in)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					continue
				}
				rows, cols := want.Dims()
				if in == InputQ { // α holds each pair of entries once
					var sum []float64
					for r := range rows {
						for i := range n {
							for j := i; j < n; j++ {
								v := want.At(r, i*n+j)
								if j > i {
									v += want.At(r, j*n+i)
								}
								sum = append(sum, v)
							}
						}
					}
					cols = n * (n + 1) / 2
					want = mat.NewDense(rows, cols, sum)
				}
				part := have.Slice(0, rows, at, at+cols)
				if !mat.EqualApprox(part, want, 1e-10) {
					t.Errorf("%v: ∂%v/∂%v: general rule\n%v, QP\n%v", shape, QPOutput(out), in, mat.Formatted(part), mat.Formatted(want))
				}
			}
		}
	}
}

// The elastic net of the paper (Example 3.2): the specialised learner, the QP in
// 2n variables, and the general rule give the same θ and the same derivatives.
func TestElasticNetAsQP(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 23))
	for _, hyper := range [][]float64{{0.05, 0.1}, {0.3, 1e-2}, {1e-3, 1}, {0.5, 1e-4}} {
		x, y := regression(rng, 28, 6, 4, 100)
		var net ElasticNet
		if err := net.Load(Data{X: x, Y: y}); err != nil {
			t.Fatal(err)
		}
		n := 6
		theta := make([]float64, n)
		if err := net.Fit(theta, hyper); err != nil {
			t.Fatal(err)
		}
		q := elasticNetQP(x, y, hyper[0], hyper[1])
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			if math.Abs(s.Z[j]-s.Z[n+j]-theta[j]) > 1e-12 {
				t.Errorf("%v: θ[%d] = %v as QP, %v", hyper, j, s.Z[j]-s.Z[n+j], theta[j])
			}
		}
		// The chain rule from (Q, p) to λ1, λ2 and y.
		cot := gaussians(rng, n)
		g := newQPGrad(&q)
		double := make([]float64, 2*n)
		for j, v := range cot {
			double[j], double[n+j] = v, -v
		}
		if err := s.VJP(nil, g, double, nil, nil); err != nil {
			t.Fatal(err)
		}
		l1, l2 := floats.Sum(g.P), 0.0
		for j := range 2 * n {
			l2 += g.Q.At(j, j)
		}
		dy := make([]float64, 28)
		for i := range dy {
			for j := range n {
				dy[i] += x.At(i, j) * (g.P[n+j] - g.P[j]) / 28
			}
		}
		want := Grad{Hyper: make([]float64, 2), Y: make([]float64, 28)}
		if err := net.VJP(nil, &want, cot); err != nil {
			t.Fatal(err)
		}
		if d := max(maxDiff([]float64{l1, l2}, want.Hyper), maxDiff(dy, want.Y)); d > 1e-10 {
			t.Errorf("%v: derivatives as QP (%v, %v), learner %v, off by %g", hyper, l1, l2, want.Hyper, d)
		}
		// The general rule, α = (λ1, λ2).
		p := &ConvexProgram{Objective: func(d *Partials, v, alpha []float64) float64 {
			q := elasticNetQP(x, y, alpha[0], alpha[1])
			d.XX.Copy(q.Q)
			mat.NewVecDense(2*n, d.X).MulVec(q.Q, mat.NewVecDense(2*n, v))
			value := floats.Dot(d.X, v)/2 + floats.Dot(q.P, v)
			floats.Add(d.X, q.P)
			for j := range 2 * n {
				d.XAlpha.Set(j, 0, 1)
				d.XAlpha.Set(j, 1, v[j])
			}
			return value
		}}
		for j := range 2 * n {
			p.Inequalities = append(p.Inequalities, affineRow(q.G.RawRowView(j), 0, -1))
		}
		sens, err := p.Differentiate(s.Z, s.Lambda, nil, hyper)
		if err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			sum := 0.0
			for j, v := range double {
				sum += v * sens.X.At(j, k)
			}
			if math.Abs(sum-want.Hyper[k]) > 1e-9*max(1, math.Abs(want.Hyper[k])) {
				t.Errorf("%v: general rule gives %v for λ%d, learner %v", hyper, sum, k+1, want.Hyper[k])
			}
		}
	}
}

// A program that is no QP: minimise x₁ + x₂ subject to x₁² + x₂² ≤ α, solved by
// x = −√(α/2)·(1, 1), λ = 1/√(2α).
func discProgram() *ConvexProgram {
	return &ConvexProgram{
		Objective: func(d *Partials, x, alpha []float64) float64 {
			d.X[0], d.X[1] = 1, 1
			return x[0] + x[1]
		},
		Inequalities: []ParamFunc{func(d *Partials, x, alpha []float64) float64 {
			for i, v := range x {
				d.X[i] = 2 * v
				d.XX.Set(i, i, 2)
			}
			d.Alpha[0] = -1
			return x[0]*x[0] + x[1]*x[1] - alpha[0]
		}},
	}
}

func TestProgramDisc(t *testing.T) {
	const alpha = 3.0
	v := -math.Sqrt(alpha / 2)
	s, err := discProgram().Differentiate([]float64{v, v}, []float64{1 / math.Sqrt(2*alpha)}, nil, []float64{alpha})
	if err != nil {
		t.Fatal(err)
	}
	dx, dl := v/(2*alpha), -0.5/(alpha*math.Sqrt(2*alpha))
	if math.Abs(s.X.At(0, 0)-dx)+math.Abs(s.X.At(1, 0)-dx)+math.Abs(s.Lambda.At(0, 0)-dl) > 1e-14 || s.Nu != nil {
		t.Errorf("got %v %v, want %v %v", s.X, s.Lambda, dx, dl)
	}
}

func TestProgramRefuses(t *testing.T) {
	// Minimise ½(x − α)² subject to x ≤ 0: a kink at 0.
	kink := &ConvexProgram{
		Objective: func(d *Partials, x, alpha []float64) float64 {
			d.X[0] = x[0] - alpha[0]
			d.XX.Set(0, 0, 1)
			d.XAlpha.Set(0, 0, -1)
			return d.X[0] * d.X[0] / 2
		},
		Inequalities: []ParamFunc{affineRow([]float64{1}, 0, -1)},
	}
	var nd *NotDifferentiableError
	if _, err := kink.Differentiate([]float64{0}, []float64{0}, nil, []float64{0}); !errors.As(err, &nd) || !cmp.Equal(nd.Weak.Rows, []int{0}) {
		t.Errorf("kink: %v", err)
	}
	// On either side of it all is well.
	for _, c := range []struct{ alpha, x, lambda, dx float64 }{{1, 0, 1, 0}, {-1, -1, 0, 1}} {
		s, err := kink.Differentiate([]float64{c.x}, []float64{c.lambda}, nil, []float64{c.alpha})
		if err != nil || math.Abs(s.X.At(0, 0)-c.dx) > 1e-15 {
			t.Errorf("α = %v: %v, %v", c.alpha, s, err)
		}
	}
	// The same equality twice: x follows α[0] in the objective, not α[1] in one
	// of the two rows, and ν is not unique.
	kink.Inequalities = nil
	kink.Equalities = []ParamFunc{affineRow([]float64{1}, 0, 1), affineRow([]float64{1}, 0, -1)}
	s, err := kink.Differentiate([]float64{0}, nil, []float64{0.5, 0.5}, []float64{1, 0})
	names := map[string]bool{}
	for in := range refused(t, err) {
		names[in] = true
	}
	if !cmp.Equal(names, map[string]bool{"alpha": true, "alpha[1]": true}) || s.Nu != nil || math.Abs(s.X.At(0, 0)) > 1e-15 {
		t.Errorf("dependent equalities: %v, %v", s, err)
	}
	disc := discProgram()
	for name, f := range map[string]func() error{
		"not feasible": func() error {
			_, err := disc.Differentiate([]float64{-2, -2}, []float64{1}, nil, []float64{1})
			return err
		},
		"not stationary": func() error {
			_, err := disc.Differentiate([]float64{-1, 0}, []float64{1}, nil, []float64{1})
			return err
		},
		"not complementary": func() error {
			_, err := disc.Differentiate([]float64{0, 0}, []float64{1}, nil, []float64{1})
			return err
		},
		"negative multiplier": func() error {
			_, err := disc.Differentiate([]float64{-1, 0}, []float64{-1}, nil, []float64{1})
			return err
		},
	} {
		if err := f(); !errors.Is(err, ErrDomain) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := disc.Differentiate([]float64{0, 0}, nil, nil, []float64{1}); !errors.Is(err, ErrShape) {
		t.Errorf("no multiplier: %v", err)
	}
	for name, p := range map[string]ConvexProgram{
		"Objective":       {Inequalities: disc.Inequalities},
		"Inequalities[0]": {Objective: disc.Objective, Inequalities: []ParamFunc{nil}},
	} {
		var arg *ArgError
		if _, err := p.Differentiate([]float64{-1, -1}, []float64{1}, nil, []float64{1}); !errors.As(err, &arg) || arg.Arg != name || arg.Why != ErrShape {
			t.Errorf("%s is nil: %v", name, err)
		}
	}
	if _, err := disc.Differentiate([]float64{-1, -1}, []float64{1.7e308}, nil, []float64{2}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("a multiplier whose products overflow: %v", err)
	}
	if _, err := disc.Differentiate([]float64{math.NaN(), 0}, []float64{1}, nil, []float64{1}); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
}

// The rule of strict complementarity is the QP's, in any units.
func TestProgramComplementarity(t *testing.T) {
	rng := rand.New(rand.NewPCG(24, 25))
	for i := range long(120) {
		weak, margin := i%2, 1e-6
		if weak == 1 {
			margin = 0
		}
		c := construct(rng, weak, margin)
		q := c.qp
		if i%4 >= 2 {
			q = c.scaled(rng)
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(i, err)
		}
		p, alpha := qpProgram(&q)
		_, err := p.Differentiate(s.Z, s.Lambda, s.Nu, alpha)
		var nd *NotDifferentiableError
		if weak == 0 && err != nil || weak == 1 && !(errors.As(err, &nd) && cmp.Equal(nd.Weak.Rows, c.weak)) {
			t.Errorf("%d: condition %.1e, weakly active %v: %.300v", i, c.cond, c.weak, err)
		}
	}
}

// A multiplier of a row that does not count as active is part of the error of the
// point: it may hide that the slack is 0.
func TestProgramMultiplierBesideSlack(t *testing.T) {
	q := QP{Q: mat.NewDense(3, 3, []float64{1, 0, 0, 0, 5, -4, 0, -4, 5}), P: []float64{0, 3, 0},
		G: mat.NewDense(4, 3, []float64{0, -3, 0, -2, 0, -2, -3, 3, -3, 2, -1, 0}), H: []float64{0, 3, 2, 0}}
	p, alpha := qpProgram(&q)
	for _, off := range []float64{6e-33, 6e-20} {
		var nd *NotDifferentiableError
		// −off and off/2 balance each other in the gradient, where both should be 0.
		if _, err := p.Differentiate([]float64{-off, 0, -3.3e-16}, []float64{1, 0, 0, off / 2}, nil, alpha); !errors.As(err, &nd) || !cmp.Equal(nd.Weak.Rows, []int{3}) {
			t.Errorf("off by %g: %v", off, err)
		}
	}
}

// A slack is told from zero by the accuracy of the point: its own residual and
// rounding, not Tol.
func TestProgramTolerance(t *testing.T) {
	bound := &ConvexProgram{
		Objective: func(d *Partials, x, alpha []float64) float64 {
			d.X[0] = x[0] - alpha[0]
			d.XX.Set(0, 0, 1)
			d.XAlpha.Set(0, 0, -1)
			return d.X[0] * d.X[0] / 2
		},
		Inequalities: []ParamFunc{affineRow([]float64{1}, 0, 1)},
	}
	for _, c := range []struct {
		x, lambda, a, h float64
		tol             float64
		want            error
	}{
		{1, 0, 1, 1 + 1e-12, 0, nil},
		{1, 0, 1, 1 + 1e-14, 0, ErrNotDifferentiable},
		{1, 0, 1 + 1e-9, 1 + 1e-8, 0, nil},                   // x off by 1e-9, slack ten times that
		{1, 0, 1 + 1e-9, 1 + 5e-10, 0, ErrNotDifferentiable}, // x off by more than the slack
		{1, 0, 1 + 5e-9, 1 + 1e-5, 0, nil},
		{1, 0, 1 + 1e-7, 1 + 1e-5, 0, ErrDomain}, // no solution to 1e-8
		{1, 0, 1 + 1e-7, 1 + 1e-5, 1e-6, nil},
		{1e6, 0, 1e6, 1e6 + 1e-6, 0, nil},
		{1e-6, 0, 1e-6, 1e-6 + 1e-18, 0, nil},
		{1e-6, 0, 1e-6, 1e-6 + 1e-20, 0, ErrNotDifferentiable},
	} {
		_, err := (&ConvexProgram{Objective: bound.Objective, Inequalities: bound.Inequalities, Tol: c.tol}).Differentiate([]float64{c.x}, []float64{c.lambda}, nil, []float64{c.a, c.h})
		if !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
