package qpdiff

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
)

// A row of zeros has no effect on other derivatives, and its own derivatives are 0 or do not exist.
func TestQPDerivativesAtRowsOfZeros(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(62, 1))
	for trial := range 60 {
		n := 2 + rng.IntN(4)
		base := randomQP(rng, n, n, n/2)
		var plain Solution
		if err := plain.Solve(&base); err != nil {
			t.Fatal(err)
		}
		c := make([]float64, n)
		c[rng.IntN(n)] = 1
		want := newQPGrad(&base)
		if err := plain.VJP(nil, want, c, nil, nil); err != nil {
			continue // weakly active
		}
		for kind := range 3 { // 0 ≤ 1e-300, 0 ≤ 0, 0 = 0
			q := base
			grow := func(m *mat.Dense) *mat.Dense {
				if m == nil {
					return mat.NewDense(1, n, nil)
				}
				var out mat.Dense
				out.Stack(m, mat.NewDense(1, n, nil))
				return &out
			}
			out, rows, rhs, equality := OutputLambda, InputG, InputH, kind == 2
			if equality {
				q.A, q.B = grow(q.A), append(slices.Clone(q.B), 0)
				out, rows, rhs = OutputNu, InputA, InputB
			} else {
				q.G, q.H = grow(q.G), append(slices.Clone(q.H), []float64{1e-300, 0}[kind])
			}
			refused := kind > 0
			var s Solution
			if err := s.Solve(&q); err != nil {
				t.Fatal(err)
			}
			check := func(what string, err error, refused bool) {
				var e *NotDifferentiableError
				if refused && !errors.As(err, &e) || !refused && err != nil {
					t.Errorf("%d, kind %d, %s: error %v", trial, kind, what, err)
				}
			}
			// The rest of the data.
			g := newQPGrad(&q)
			rest := &QPGrad{Q: g.Q, P: g.P, G: g.G, H: g.H, A: g.A, B: g.B}
			if equality {
				rest.A, rest.B = nil, nil
			} else if refused {
				rest.G, rest.H = nil, nil
			}
			check("VJP of the rest", s.VJP(nil, rest, c, nil, nil), false)
			for i, v := range g.P {
				if math.Abs(v-want.P[i]) > 1e-9 {
					t.Errorf("%d, kind %d: ∂z/∂p = %v, %v without the row", trial, kind, g.P, want.P)
				}
			}
			dz, dl := make([]float64, n), make([]float64, len(q.H))
			p := &QPGrad{P: c}
			check("JVP along p", s.JVP(nil, dz, nil, nil, p), false)
			check("DirectionalDerivative along p", s.DirectionalDerivative(nil, dz, nil, nil, p), false)
			_, err := s.Jacobian(OutputZ, InputQ)
			check("∂z/∂Q", err, false)
			// The row.
			for _, input := range []QPInput{rows, rhs} {
				_, err := s.Jacobian(OutputZ, input)
				check("∂z/∂"+input.String(), err, refused)
			}
			last := len(q.H) - 1
			if equality {
				last = len(q.B) - 1
			}
			along := newQPGrad(&q)
			matrix, vector := along.G, along.H
			if equality {
				matrix, vector = along.A, along.B
			}
			vector[last] = -1
			only := &QPGrad{H: along.H, B: along.B}
			check("JVP along its bound", s.JVP(nil, dz, nil, nil, only), refused)
			check("DirectionalDerivative along its bound", s.DirectionalDerivative(nil, dz, nil, nil, only), refused)
			matrix.Set(last, 0, 1)
			only = &QPGrad{G: along.G, A: along.A}
			check("JVP along it", s.JVP(nil, dz, nil, nil, only), refused)
			check("DirectionalDerivative along it", s.DirectionalDerivative(nil, dz, nil, nil, only), refused)
			// Its multiplier.
			cot := make([]float64, last+1)
			cot[last] = 1
			if equality {
				check("VJP of ν", s.VJP(nil, &QPGrad{P: make([]float64, n)}, nil, nil, cot), refused)
				check("JVP of ν", s.JVP(nil, nil, nil, cot, p), refused)
			} else {
				check("VJP of λ", s.VJP(nil, &QPGrad{P: make([]float64, n)}, nil, cot, nil), refused)
				check("JVP of λ", s.JVP(nil, nil, dl, nil, p), refused)
			}
			_, err = s.Jacobian(out, InputP)
			check("∂"+out.String()+"/∂p", err, refused)
		}
	}
}

// z has no derivative with respect to g for the constraint gᵀz = 0 with g = 0 or a repeated g,
// although the range condition holds. For p = (−1, −ε), the minimiser moves from (0, ε) to 0 if g
// changes by (0, ε).
func TestQPRowsThatPart(t *testing.T) {
	for i, a := range []*mat.Dense{mat.NewDense(2, 2, []float64{1, 0, 1, 0}), mat.NewDense(2, 2, []float64{1, 0, 0, 0})} {
		q := QP{Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{-1, 0}, A: a, B: []float64{0, 0}}
		var s Solution
		if err := s.Solve(&q); err != nil || s.Z[0] != 0 || s.Z[1] != 0 {
			t.Fatalf("z = %v, error %v", s.Z, err)
		}
		for row := range 2 {
			d := &QPGrad{P: []float64{0, -1}, A: mat.NewDense(2, 2, nil)}
			d.A.Set(row, 1, 1)
			dz := make([]float64, 2)
			var e *NotDifferentiableError
			// If the other row is zero, a change of the row (1, 0) turns the set of feasible
			// points.
			ok := i == 1 && row == 0
			if err := s.JVP(nil, dz, nil, nil, d); errors.As(err, &e) == ok {
				t.Errorf("%d, row %d: ż = %v, error %v", i, row, dz, err)
			}
		}
		if _, err := s.Jacobian(OutputZ, InputA); !errors.As(err, new(*NotDifferentiableError)) {
			t.Errorf("%d: ∂z/∂A: error %v", i, err)
		}
		// If both rows change by the same amount, they stay dependent, and z turns with both.
		d := &QPGrad{A: mat.NewDense(2, 2, []float64{0, 1, 0, 1})}
		dz := make([]float64, 2)
		if err := s.JVP(nil, dz, nil, nil, d); i == 0 && (err != nil || math.Abs(dz[0]) > 1e-9 || math.Abs(dz[1]+1) > 1e-9) {
			t.Errorf("%d: ż = %v, error %v", i, dz, err)
		}
	}
}

// The solution of min ½x² subject to αx ≤ 0 is 0 for all α, but any λ ≥ 0 is a multiplier at α = 0.
func TestProgramVanishingConstraint(t *testing.T) {
	p := ConvexProgram{
		Objective: func(d *Partials, x, _ []float64) float64 {
			d.X[0] = x[0]
			d.XX.Set(0, 0, 1)
			return x[0] * x[0] / 2
		},
		Inequalities: []ParamFunc{func(d *Partials, x, alpha []float64) float64 {
			d.X[0], d.Alpha[0] = alpha[0], x[0]
			d.XAlpha.Set(0, 0, 1)
			return alpha[0] * x[0]
		}},
	}
	for _, lambda := range []float64{0, 1} {
		if s, err := p.Differentiate([]float64{0}, []float64{lambda}, nil, []float64{0}); !errors.As(err, new(*NotDifferentiableError)) || s != nil && s.X != nil && s.X.At(0, 0) != 0 {
			t.Errorf("λ = %v: %v, error %v", lambda, s, err)
		}
	}
}

// One-sided derivatives at a weakly active row exist if they do not involve a row of zeros.
func TestQPDirectionsBesideARowOfZeros(t *testing.T) {
	q := QP{Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{0, -1}, G: mat.NewDense(2, 2, []float64{1, 0, 0, 0}), H: []float64{0, 0}}
	var s Solution
	if err := s.Solve(&q); err != nil {
		t.Fatal(err)
	}
	dz := make([]float64, 2)
	for _, p := range []float64{-1, 1} {
		if err := s.DirectionalDerivative(nil, dz, nil, nil, &QPGrad{P: []float64{p, 0}}); err != nil || dz[0] != min(-p, 0) || dz[1] != 0 {
			t.Errorf("ż = %v along ±p₁, error %v", dz, err)
		}
	}
	refused := func(what string, err error) {
		if !errors.As(err, new(*NotDifferentiableError)) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	refused("bound", s.DirectionalDerivative(nil, dz, nil, nil, &QPGrad{H: []float64{0, -1}}))
	refused("row", s.DirectionalDerivative(nil, dz, nil, nil, &QPGrad{G: mat.NewDense(2, 2, []float64{0, 0, 1, 0})}))
	refused("multiplier", s.DirectionalDerivative(nil, dz, make([]float64, 2), nil, &QPGrad{P: []float64{1, 0}}))
}

// No derivative exists if a change of a row selects one of several solutions. With (1 + ε)z₁ + z₂ =
// 2 the solution is (0, 2), far from all others.
func TestQPRowThatPicksASolution(t *testing.T) {
	q := QP{Q: mat.NewDense(2, 2, []float64{1, 1, 1, 1}), P: []float64{-2, -2}, A: mat.NewDense(1, 2, []float64{1, 1}), B: []float64{2}}
	var s Solution
	if err := s.Solve(&q); err != nil {
		t.Fatal(err)
	}
	dnu := []float64{0}
	if err := s.JVP(nil, nil, nil, dnu, &QPGrad{A: mat.NewDense(1, 2, []float64{1, 0})}); !errors.As(err, new(*NotDifferentiableError)) {
		t.Errorf("JVP: ν̇ = %v, error %v", dnu, err)
	}
	if g, err := s.Jacobian(OutputNu, InputA); !errors.As(err, new(*NotDifferentiableError)) {
		t.Errorf("∂ν/∂A = %v, error %v", g, err)
	}
	if err := s.JVP(nil, nil, nil, dnu, &QPGrad{B: []float64{1}}); err != nil || math.Abs(dnu[0]+1) > 1e-9 {
		t.Errorf("along b: ν̇ = %v, error %v", dnu, err)
	}
}

// At a vertex in the origin, z does not depend on the rows of the cone.
func TestQPRowsOfACone(t *testing.T) {
	q := QP{P: []float64{1, 1}, G: mat.NewDense(3, 2, []float64{-1, 0, 0, -1, -1, -1}), H: make([]float64, 3)}
	var s Solution
	if err := s.Solve(&q); err != nil {
		t.Fatal(err)
	}
	if g, err := s.Jacobian(OutputZ, InputG); err != nil || mat.Norm(g, 1) > 1e-12 {
		t.Errorf("∂z/∂G = %v, error %v", g, err)
	}
	if err := s.JVP(nil, []float64{0, 0}, nil, nil, &QPGrad{G: mat.NewDense(3, 2, []float64{0, 1, 1, 0, 0, 0})}); err != nil {
		t.Error(err)
	}
	if _, err := s.Jacobian(OutputZ, InputH); !errors.As(err, new(*NotDifferentiableError)) {
		t.Errorf("∂z/∂h: error %v", err)
	}
}
