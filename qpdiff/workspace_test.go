package qpdiff_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// A workspace that was used with other learners and solutions gives the bits of a new workspace.
func TestOneWorkspaceServesAll(t *testing.T) {
	serial.Test(t)
	ridge := casetest.LinearModel(casetest.HalfSquare)
	subjects := []workspaceUser{&learnerUser{l: new(linear.ElasticNet)}, &learnerUser{l: new(perFeatureNet)}, &learnerUser{l: new(linear.Logistic)},
		&learnerUser{l: &linear.Logistic{Intercept: linear.UnpenalisedIntercept}}, &learnerUser{l: &linear.SparseLogistic{Intercept: true}}, &learnerUser{l: new(margin.SVM)}, &learnerUser{l: new(margin.SVM)}, &learnerUser{l: new(margin.LearnedLoss)},
		&learnerUser{l: new(kernel.SVM)}, &learnerUser{l: &kernel.SVM{Kernel: kernel.Polynomial{Degree: 1}, Intercept: true}},
		&learnerUser{l: &smooth.Learner{Objective: ridge}}, new(solutionUser), new(solutionUser)}
	rng := rand.New(rand.NewPCG(8, 8))
	w := new(qpdiff.Workspace)
	derivatives := map[workspaceUser]int{}
	for step := range numtest.Long(5000) {
		u := subjects[rng.IntN(len(subjects))]
		if !u.change(rng) {
			continue
		}
		seed := rng.Uint64()
		got, want := u.derive(w, seed), u.derive(new(qpdiff.Workspace), seed)
		if got != want {
			t.Fatalf("step %d, %v:\n%s\nwith a new workspace\n%s", step, u, got, want)
		}
		derivatives[u]++
	}
	for _, u := range subjects {
		if derivatives[u] < numtest.Long(100) {
			t.Errorf("%v: only %d states with derivatives", u, derivatives[u])
		}
	}
}

// A workspaceUser changes its state and prints derivatives.
type workspaceUser interface {
	change(rng *rand.Rand) bool
	derive(w *qpdiff.Workspace, seed uint64) string
}

type learnerUser struct {
	l      learn.Learner
	d      learn.Data
	fitted bool
}

func (u *learnerUser) String() string { return fmt.Sprintf("%T", u.l) }

func (u *learnerUser) change(rng *rand.Rand) bool {
	op := rng.IntN(10)
	if u.d.X == nil || op == 0 {
		rows, n := 3+rng.IntN(8), 1+rng.IntN(4)
		u.d = casetest.RandomData(rng.Uint64(), rows, n, true)
		if rng.IntN(2) == 0 { // rows that coincide, and weakly active ones
			for i := range rows * n {
				u.d.Dense().Set(i/n, i%n, float64(rng.IntN(5)-2))
			}
		}
		if u.fitted = false; u.l.Load(u.d) != nil {
			u.d = learn.Data{}
			return false
		}
	}
	_, n := u.d.X.Dims()
	params, hypers := u.l.Dims(n)
	if k, ok := u.l.(learn.KinkedLearner); ok {
		k.SetGeneralised(rng.IntN(2) == 0)
	}
	if op == 1 {
		u.fitted = false
		u.l.Reset()
	}
	if op <= 4 || !u.fitted {
		hyper := make([]float64, hypers)
		for i := range hyper {
			hyper[i] = []float64{0, .1, .25, .5, 1, .01 + rng.Float64()}[rng.IntN(6)]
		}
		if rng.IntN(8) == 0 {
			hyper[0] = -1
		}
		u.fitted = u.l.Fit(make([]float64, params), hyper) == nil
	}
	return u.fitted || op == 2
}

func (u *learnerUser) derive(w *qpdiff.Workspace, seed uint64) (s string) {
	rng := rand.New(rand.NewPCG(seed, 3))
	rows, n := u.d.X.Dims()
	params, hypers := u.l.Dims(n)
	grad := func(scale float64) *learn.Grad {
		g := &learn.Grad{Hyper: make([]float64, hypers), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		for _, p := range casetest.GradSlices(g) {
			for i := range p {
				p[i] = scale * rng.NormFloat64()
			}
		}
		return g
	}
	v, x := numtest.Normals(rng, params), mat.NewDense(5, n, numtest.Normals(rng, 5*n))
	for range 6 {
		g, dst, long := grad(0), make([]float64, 5), make([]float64, rows)
		switch op := rng.IntN(4); {
		case op == 0:
			s += fmt.Sprintln("VJP", u.l.VJP(w, g, v), g.Generalised, casetest.GradSlices(g))
			if tied, ok := u.l.(learn.TiedLearner); ok {
				tied.Ties(w, func(i, k int, sign float64, d []float64) bool {
					s += fmt.Sprintln("tied", i, k, sign, d)
					return true
				})
			}
		case op == 1:
			if j, ok := u.l.(learn.ForwardLearner); ok {
				t, dtheta := grad(1), make([]float64, params)
				if rng.IntN(2) == 0 {
					t.X, t.Y = nil, nil
				}
				s += fmt.Sprintln("JVP", j.JVP(w, dtheta, t), dtheta)
			}
		default:
			switch l := u.l.(type) {
			case *linear.Logistic:
				h := make([]float64, params)
				s += fmt.Sprintln(l.Probabilities(w, long), long, l.SolveHessian(w, h, v), h)
			case *kernel.SVM:
				s += fmt.Sprintln("Predict", l.Predict(w, dst, x), dst)
				dx := mat.NewDense(5, n, nil)
				s += fmt.Sprintln("VJP", l.PredictVJP(w, g, dx, x, numtest.Normals(rng, 5)), casetest.GradSlices(g), dx.RawMatrix().Data)
				s += fmt.Sprintln("JVP", l.PredictJVP(w, dst, x, nil, grad(1)), dst)
			}
		}
	}
	return s
}

type solutionUser struct {
	s       qpdiff.Solution
	n, m, q int
}

func (u *solutionUser) String() string { return "Solution" }

func (u *solutionUser) change(rng *rand.Rand) bool {
	u.s.Generalised = rng.IntN(2) == 0
	if rng.IntN(3) > 0 && u.s.Status == qpdiff.Optimal {
		return true
	}
	if rng.IntN(4) == 0 {
		u.s = qpdiff.Solution{}
	}
	u.n, u.m, u.q = 1+rng.IntN(4), 1+rng.IntN(4), 1
	integers := func(r, c int) *mat.Dense {
		x := mat.NewDense(r, c, nil)
		for i := range r * c {
			x.Set(i/c, i%c, float64(rng.IntN(3)-1))
		}
		return x
	}
	root := integers(u.n, u.n)
	p := qpdiff.QP{Q: mat.NewDense(u.n, u.n, nil), P: integers(1, u.n).RawRowView(0), G: integers(u.m, u.n), A: integers(1, u.n), B: []float64{float64(rng.IntN(2))}}
	p.Q.Mul(root, root.T())
	for i := range u.n {
		p.Q.Set(i, i, p.Q.At(i, i)+float64(rng.IntN(2)))
	}
	for range u.m {
		p.H = append(p.H, float64(rng.IntN(3)))
	}
	return u.s.Solve(&p) == nil
}

func (u *solutionUser) derive(w *qpdiff.Workspace, seed uint64) (s string) {
	rng := rand.New(rand.NewPCG(seed, 3))
	z, lambda, nu := make([]float64, u.n), make([]float64, u.m), make([]float64, u.q)
	t := &qpdiff.QPGrad{P: numtest.Normals(rng, u.n), H: numtest.Normals(rng, u.m), G: mat.NewDense(u.m, u.n, numtest.Normals(rng, u.m*u.n))}
	for range 4 {
		switch rng.IntN(3) {
		case 0:
			g := &qpdiff.QPGrad{Q: mat.NewDense(u.n, u.n, nil), P: make([]float64, u.n), G: mat.NewDense(u.m, u.n, nil), H: make([]float64, u.m), B: make([]float64, u.q)}
			err := u.s.VJP(w, g, numtest.Normals(rng, u.n), numtest.Normals(rng, u.m), numtest.Normals(rng, u.q))
			s += fmt.Sprintln("VJP", err, g.Q.RawMatrix().Data, g.P, g.G.RawMatrix().Data, g.H, g.B)
		case 1:
			s += fmt.Sprintln("JVP", u.s.JVP(w, z, lambda, nu, t), z, lambda, nu)
		case 2:
			s += fmt.Sprintln("one-sided", u.s.DirectionalDerivative(w, z, lambda, nu, t), math.Float64bits(z[0]), z, lambda, nu)
		}
	}
	return s
}
