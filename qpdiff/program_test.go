package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learntest/serial"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// affineRow returns the function aᵀx − b, with b = α[param] if param ≥ 0 and a fixed b otherwise.
func affineRow(a []float64, b float64, param int) ParamFunc {
	return func(d *Partials, x, alpha []float64) float64 {
		copy(d.X, a)
		if param >= 0 {
			d.Alpha[param] = -1
			b = alpha[param]
		}
		return floats.Dot(a, x) - b
	}
}

// qpProgram returns the QP q as a ConvexProgram with the parameters p, h, b and the upper triangle
// of Q.
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
			for input, at := range map[QPInput]int{InputP: 0, InputH: n, InputB: n + m, InputQ: n + m + k} {
				want, err := s.Jacobian(QPOutput(out), input)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					continue
				}
				rows, cols := want.Dims()
				if input == InputQ { // α holds each pair of entries once
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
					t.Errorf("%v: ∂%v/∂%v: general rule\n%v, QP\n%v", shape, QPOutput(out), input, mat.Formatted(part), mat.Formatted(want))
				}
			}
		}
	}
}

// discProgram minimises x₁ + x₂ subject to x₁² + x₂² ≤ α, which is no QP. Its solution is x =
// −√(α/2)·(1, 1), λ = 1/√(2α).
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
	// The solution of min ½(x − α)² subject to x ≤ 0 has a kink at α = 0.
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
	// If an equality is repeated, x has no derivative with respect to the right-hand side of one
	// copy, and ν is not unique.
	kink.Inequalities = nil
	kink.Equalities = []ParamFunc{affineRow([]float64{1}, 0, 1), affineRow([]float64{1}, 0, -1)}
	s, err := kink.Differentiate([]float64{0}, nil, []float64{0.5, 0.5}, []float64{1, 0})
	names := map[string]bool{}
	for input := range refusedInputs(t, err) {
		names[input] = true
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
		if _, err := p.Differentiate([]float64{-1, -1}, []float64{1}, nil, []float64{1}); !errors.As(err, &arg) || arg.Arg != name || arg.Why != ErrEmpty {
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
	serial.Test(t)
	rng := rand.New(rand.NewPCG(24, 25))
	for i := range numtest.Long(120) {
		weak, margin := i%2, 1e-6
		if weak == 1 {
			margin = 0
		}
		c := constructProgram(rng, weak, margin)
		q := c.qp
		if i%4 >= 2 {
			q = c.inOtherUnits(rng)
		}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(i, err)
		}
		p, alpha := qpProgram(&q)
		_, err := p.Differentiate(s.Z, s.Lambda, s.Nu, alpha)
		var nd *NotDifferentiableError
		if weak == 0 && err != nil || weak == 1 && !(errors.As(err, &nd) && cmp.Equal(nd.Weak.Rows, c.weakRows)) {
			t.Errorf("%d: condition %.1e, weakly active %v: %.300v", i, c.cond, c.weakRows, err)
		}
	}
}

// A slack may be 0 within the error of the point, to which the multiplier of an inactive row
// contributes.
func TestProgramMultiplierBesideSlack(t *testing.T) {
	q := QP{Q: mat.NewDense(3, 3, []float64{1, 0, 0, 0, 5, -4, 0, -4, 5}), P: []float64{0, 3, 0},
		G: mat.NewDense(4, 3, []float64{0, -3, 0, -2, 0, -2, -3, 3, -3, 2, -1, 0}), H: []float64{0, 3, 2, 0}}
	p, alpha := qpProgram(&q)
	for _, off := range []float64{6e-33, 6e-20} {
		var nd *NotDifferentiableError
		// The multipliers −off and off/2 balance each other in the gradient, although both should
		// be 0.
		if _, err := p.Differentiate([]float64{-off, 0, -3.3e-16}, []float64{1, 0, 0, off / 2}, nil, alpha); !errors.As(err, &nd) || !cmp.Equal(nd.Weak.Rows, []int{3}) {
			t.Errorf("off by %g: %v", off, err)
		}
	}
}

// A slack is zero according to the residual of the point and rounding, whatever Tol is.
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
