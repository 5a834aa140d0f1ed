package qpdiff

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A qpCase draws count problems with n variables, m inequalities and q equalities.
type qpCase struct {
	name           string
	count, n, m, q int
}

// qpCases have the sizes at which differentiable QP layers are compared. Case a is the elastic net
// of the paper's first experiment.
var qpCases = []qpCase{
	{"a_128x(20,20,0)", 128, 20, 20, 0},
	{"b_128x(10,10,5)", 128, 10, 10, 5},
	{"c_64x(50,50,0)", 64, 50, 50, 0},
	{"d_1x(100,100,20)", 1, 100, 100, 20},
	{"e_1x(500,500,0)", 1, 500, 500, 0},
}

func (c qpCase) problems() []QP {
	rng := rand.New(rand.NewPCG(1, uint64(c.n)))
	qps := make([]QP, c.count)
	if c.name[0] == 'a' {
		x, y := regression(rng, 30, 10, 8, 100)
		for k := range qps {
			rows := rng.Perm(30)[:28]
			xs, ys := mat.NewDense(28, 10, nil), make([]float64, 28)
			for i, r := range rows {
				xs.SetRow(i, x.RawRowView(r))
				ys[i] = y[r]
			}
			qps[k] = elasticNetQP(xs, ys, 1e-2, 1e-4)
		}
		return qps
	}
	for k := range qps {
		qps[k] = randomQP(rng, c.n, c.m, c.q)
	}
	return qps
}

// regression draws a linear model with standardised features. Labels are divided by 100, which is
// about their size.
func regression(rng *rand.Rand, rows, n, informative int, noise float64) (*mat.Dense, []float64) {
	x := mat.NewDense(rows, n, gaussians(rng, rows*n))
	coef := make([]float64, n)
	for j := range informative {
		coef[j] = 100 * rng.Float64()
	}
	y := make([]float64, rows)
	for i := range y {
		for j, v := range x.RawRowView(i) {
			y[i] += v * coef[j]
		}
		y[i] = (y[i] + noise*rng.NormFloat64()) / 100
	}
	return x, y
}

// elasticNetQP returns min 1/(2N)‖Xθ − y‖² + λ1‖θ‖₁ + λ2/2 ‖θ‖² as the paper's QP (Example 3.2) in
// v = (θ₊, θ₋) ≥ 0 with θ = θ₊ − θ₋.
func elasticNetQP(x *mat.Dense, y []float64, lambda1, lambda2 float64) QP {
	rows, n := x.Dims()
	q := mat.NewDense(2*n, 2*n, nil)
	p, g := make([]float64, 2*n), mat.NewDense(2*n, 2*n, nil)
	for i := range n {
		for j := range n {
			s := 0.0
			for k := range rows {
				s += x.At(k, i) * x.At(k, j)
			}
			s /= float64(rows)
			d := 0.0
			if i == j {
				d = lambda2
			}
			q.Set(i, j, s+d)
			q.Set(n+i, n+j, s+d)
			q.Set(i, n+j, -s)
			q.Set(n+i, j, -s)
		}
		s := 0.0
		for k := range rows {
			s += x.At(k, i) * y[k]
		}
		s /= float64(rows)
		p[i], p[n+i] = lambda1-s, lambda1+s
		g.Set(i, i, -1)
		g.Set(n+i, n+i, -1)
	}
	return QP{Q: q, P: p, G: g, H: make([]float64, 2*n)}
}

func gaussians(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// randomQP draws a feasible problem from normal numbers: Q = LLᵀ/n + 0.01 I, h = Gx + s with s ~
// U(0,1), and b = Ax.
func randomQP(rng *rand.Rand, n, m, q int) QP {
	l := mat.NewDense(n, n, gaussians(rng, n*n))
	quad := mat.NewDense(n, n, nil)
	quad.Mul(l, l.T())
	quad.Scale(1/float64(n), quad)
	for i := range n {
		quad.Set(i, i, quad.At(i, i)+0.01)
		for j := range i {
			quad.Set(i, j, quad.At(j, i))
		}
	}
	qp := QP{Q: quad, P: gaussians(rng, n)}
	x := mat.NewVecDense(n, gaussians(rng, n))
	if m > 0 {
		qp.G = mat.NewDense(m, n, gaussians(rng, m*n))
		qp.H = make([]float64, m)
		mat.NewVecDense(m, qp.H).MulVec(qp.G, x)
		for i := range qp.H {
			qp.H[i] += rng.Float64()
		}
	}
	if q > 0 {
		qp.A = mat.NewDense(q, n, gaussians(rng, q*n))
		qp.B = make([]float64, q)
		mat.NewVecDense(q, qp.B).MulVec(qp.A, x)
	}
	return qp
}

// solveAll returns a solution of each problem, its storage allocated.
func solveAll(b *testing.B, qps []QP) []Solution {
	sols := make([]Solution, len(qps))
	if err := SolveBatch(sols, qps); err != nil {
		b.Fatal(err)
	}
	return sols
}

// perProblem reports the time per problem in µs.
func perProblem(b *testing.B, count int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*count), "µs/problem")
}

// BenchmarkQPSolve solves each problem from scratch on one thread.
func BenchmarkQPSolve(b *testing.B) {
	for _, c := range qpCases {
		b.Run(c.name, func(b *testing.B) {
			qps := c.problems()
			sols := solveAll(b, qps)
			b.ReportAllocs()
			for b.Loop() {
				for i := range qps {
					sols[i].Reset()
					if err := sols[i].Solve(&qps[i]); err != nil {
						b.Fatal(err)
					}
				}
			}
			perProblem(b, len(qps))
		})
	}
}

// BenchmarkQPWarm changes p by 1 % and back, and solves after each change.
func BenchmarkQPWarm(b *testing.B) {
	for _, c := range qpCases {
		b.Run(c.name, func(b *testing.B) {
			qps := c.problems()
			rng := rand.New(rand.NewPCG(2, 2))
			turns := [2][]QP{qps, make([]QP, len(qps))}
			for i, q := range qps {
				p := append([]float64(nil), q.P...)
				for j := range p {
					p[j] *= 1 + 0.01*rng.NormFloat64()
				}
				q.P = p
				turns[1][i] = q
			}
			sols := solveAll(b, qps)
			turn := 0
			b.ReportAllocs()
			for b.Loop() {
				turn = 1 - turn
				for i := range qps {
					if err := sols[i].Solve(&turns[turn][i]); err != nil {
						b.Fatal(err)
					}
				}
			}
			perProblem(b, len(qps))
		})
	}
}

// BenchmarkQPBatch solves case c with SolveBatch from cold starts. The gain of a second core needs
// separate runs with -cpu 1 and -cpu 2, because a run with -cpu 1,2 always has two cores.
func BenchmarkQPBatch(b *testing.B) {
	c := qpCases[2]
	qps := c.problems()
	sols := solveAll(b, qps)
	for b.Loop() {
		for i := range sols {
			sols[i].Reset()
		}
		if err := SolveBatch(sols, qps); err != nil {
			b.Fatal(err)
		}
	}
	perProblem(b, len(qps))
}

// BenchmarkQPBackward differentiates solutions in all data on one thread, without the time of the
// solves.
func BenchmarkQPBackward(b *testing.B) {
	for _, c := range qpCases {
		b.Run(c.name, func(b *testing.B) {
			qps := c.problems()
			rng := rand.New(rand.NewPCG(4, 4))
			sols, grads, dz := solveAll(b, qps), make([]*QPGrad, len(qps)), make([][]float64, len(qps))
			for i := range qps {
				grads[i], dz[i] = newQPGrad(&qps[i]), gaussians(rng, c.n)
			}
			ws := make([]Workspace, len(sols))
			b.ReportAllocs()
			for b.Loop() {
				for i := range sols {
					ws[i].qp.state = 0 // prepare anew, as after a solve
					if err := sols[i].VJP(&ws[i], grads[i], dz[i], nil, nil); err != nil {
						b.Fatal(err)
					}
				}
			}
			perProblem(b, len(qps))
		})
	}
}
