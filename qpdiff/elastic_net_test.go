package qpdiff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The learner, the paper's QP (Example 3.2) and the general rule give the same θ and derivatives of
// an elastic net.
func TestElasticNetAsQP(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 23))
	for _, hyper := range [][]float64{{0.05, 0.1}, {0.3, 1e-2}, {1e-3, 1}, {0.5, 1e-4}} {
		x, y := qpdiff.Regression(rng, 28, 6, 4, 100)
		var net linear.ElasticNet
		if err := net.Load(learn.Data{X: x, Y: y}); err != nil {
			t.Fatal(err)
		}
		n := 6
		theta := make([]float64, n)
		if err := net.Fit(theta, hyper); err != nil {
			t.Fatal(err)
		}
		q := qpdiff.ElasticNetQP(x, y, hyper[0], hyper[1])
		var s qpdiff.Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			if math.Abs(s.Z[j]-s.Z[n+j]-theta[j]) > 1e-12 {
				t.Errorf("%v: θ[%d] = %v as QP, %v", hyper, j, s.Z[j]-s.Z[n+j], theta[j])
			}
		}
		// The chain rule from (Q, p) to λ1, λ2 and y.
		cot := numtest.Normals(rng, n)
		g := qpdiff.NewQPGrad(&q)
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
		want := learn.Grad{Hyper: make([]float64, 2), Y: make([]float64, 28)}
		if err := net.VJP(nil, &want, cot); err != nil {
			t.Fatal(err)
		}
		if d := max(qpdiff.MaxDiff([]float64{l1, l2}, want.Hyper), qpdiff.MaxDiff(dy, want.Y)); d > 1e-10 {
			t.Errorf("%v: derivatives as QP (%v, %v), learner %v, off by %g", hyper, l1, l2, want.Hyper, d)
		}
		// The general rule, α = (λ1, λ2).
		p := &qpdiff.ConvexProgram{Objective: func(d *qpdiff.Partials, v, alpha []float64) float64 {
			q := qpdiff.ElasticNetQP(x, y, alpha[0], alpha[1])
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
			p.Inequalities = append(p.Inequalities, qpdiff.AffineRow(q.G.RawRowView(j), 0, -1))
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
