package margin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/linear"

	"pgregory.net/rapid"
)

func learnedLossResidual(d learn.Data, theta, hyper []float64) float64 {
	return marginResidual(d, theta, hyper[0], [3]float64(hyper[1:4]), 0, hyper[4])
}

func TestLearnedLossContract(t *testing.T) {
	var cases []learntest.Case
	add := func(name string, seed uint64, rows, n int, hyper ...float64) {
		cases = append(cases, learntest.Case{Name: name, Data: casetest.ClassData(seed, rows, n), Hyper: hyper,
			Residual: learnedLossResidual, ClassLabels: true, Step: 1e-4})
	}
	add("28x10", 1, 28, 10, .25, .25, .25, .25, .05)
	add("40x3 elbow", 2, 40, 3, .9, .02, .03, .05, .01)
	add("10x20", 3, 10, 20, .3, .1, .3, .3, .3)
	add("40x2 no hinge", 4, 40, 2, 0, .3, .4, .3, .1)
	add("6x1", 5, 6, 1, .5, .2, .2, .1, .4)
	add("30x4 exponential", 6, 30, 4, 0, 1, 0, 0, .01)
	add("30x4 truncated quadratic", 7, 30, 4, 0, 0, 1, 0, .01)
	add("30x4 logistic", 8, 30, 4, 0, 0, 0, 1, .01)
	add("30x4 hinge", 9, 30, 4, 1, 0, 0, 0, .3)
	add("80x70", 10, 80, 70, .4, .2, .2, .2, .05)
	casetest.Contract(t, func() learn.Learner { return new(LearnedLoss) }, cases...)
}

func TestLearnedLossGolden(t *testing.T) {
	var golden struct {
		Cases []struct {
			Alpha, Y, Theta []float64
			Lam             float64
			X               [][]float64
			ThetaDAlpha     [][]float64 `json:"dtheta_dalpha"`
			Elbow           []int
			BelowMargin     []int `json:"below_margin"`
		}
	}
	numtest.ReadGolden(t, "f_learned_loss.json", &golden)
	if len(golden.Cases) != 6 {
		t.Fatalf("%d cases", len(golden.Cases))
	}
	for i, c := range golden.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var l LearnedLoss
			theta := numtest.NaNs(len(c.Theta), 0)
			numtest.OK(t, l.Load(learn.Data{X: numtest.Matrix(c.X), Y: c.Y}), l.Fit(theta, append(slices.Clone(c.Alpha), c.Lam)))
			numtest.NearAll(t, "theta", theta, c.Theta, 1e-12, 0)
			if !slices.Equal(l.p.elbow, c.Elbow) {
				t.Errorf("elbow %v, want %v", l.p.elbow, c.Elbow)
			}
			var below []int
			for i, s := range l.p.side {
				if s < 0 {
					below = append(below, i)
				}
			}
			if !slices.Equal(below, c.BelowMargin) {
				t.Errorf("below the margin %v, want %v", below, c.BelowMargin)
			}
			for k := range 4 {
				d := &learn.Grad{Hyper: make([]float64, 5)}
				d.Hyper[k] = 1
				got, want := numtest.NaNs(len(theta), 0), make([]float64, len(theta))
				for j := range want {
					want[j] = c.ThetaDAlpha[j][k]
				}
				numtest.OK(t, l.JVP(nil, got, d))
				numtest.NearAll(t, fmt.Sprint("derivative in alpha ", k), got, want, 1e-10, 1e-2)
			}
		})
	}
}

// One loss alone is a learner that has a closed form or another solver.
func TestLearnedLossAlone(t *testing.T) {
	d := casetest.ClassData(3, 25, 4)
	fit := func(l learn.Learner, hyper ...float64) []float64 {
		t.Helper()
		theta := make([]float64, 4)
		numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
		return theta
	}
	numtest.NearAll(t, "hinge", fit(new(LearnedLoss), 1, 0, 0, 0, .1), fit(new(SVM), 0, .1), 0, 0)
	// log(1+exp(−2m)) is the logistic loss of 2θ; ½λ‖θ‖² = ½(λ/4)‖2θ‖².
	twice := fit(new(linear.Logistic), 1/(.1/4*25))
	for j := range twice {
		twice[j] /= 2
	}
	numtest.NearAll(t, "logistic", fit(new(LearnedLoss), 0, 0, 0, 1, .1), twice, 1e-13, 0)
	// Far inside the margin the truncated quadratic is least squares: λ large.
	want := fit(new(linear.ElasticNet), 0, 50)
	numtest.NearAll(t, "quadratic", fit(new(LearnedLoss), 0, 0, .5, 0, 50), want, 1e-13, 0)
}

func TestLearnedLossOptimalOnPaths(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := casetest.DrawClasses(t)
		var l LearnedLoss
		_, n := d.X.Dims()
		theta, cold := make([]float64, n), make([]float64, n)
		numtest.OK(t, l.Load(d))
		hyper := make([]float64, 5)
		for range 4 {
			for k := range 4 {
				hyper[k] = max(0, rapid.Float64Range(-.5, 1).Draw(t, "alpha"))
			}
			hyper[4] = math.Pow(10, rapid.Float64Range(-3, 1).Draw(t, "lambda"))
			numtest.OK(t, l.Fit(theta, hyper))
			if rapid.Bool().Draw(t, "move") {
				d.Dense().Set(0, 0, float64(rapid.IntRange(-200, 200).Draw(t, "x00"))/64)
			}
			l2 := new(LearnedLoss)
			numtest.OK(t, l2.Load(d), l2.Fit(cold, hyper), l.Load(d), l.Fit(theta, hyper))
			for j := range theta {
				if math.Abs(theta[j]-cold[j]) > 1e-9*(1+math.Abs(cold[j])) {
					t.Fatalf("warm %v, cold %v", theta, cold)
				}
			}
			// The subgradient of least norm is 0: its negative multipliers are
			// the solver's.
			l.p.gradient(&l.p.marginProblem, l.p.grad, l.p.theta, l.p.m)
			g := slices.Clone(l.p.grad)
			if !l.p.curved {
				dense.Axpy(l.p.l2, l.p.theta, g)
			}
			for e, i := range l.p.elbow {
				b := min(max(l.p.mult[e], 0), l.p.hinge*l.p.Copies[i])
				dense.Axpy(-b, l.p.z[i*n:(i+1)*n], g)
			}
			for j, v := range g {
				if math.Abs(v) > 1e-11*(1+l.p.gradSize(j)) {
					t.Fatalf("gradient %v at %v", g, hyper)
				}
			}
		}
	})
}

func FuzzLearnedLoss(f *testing.F) {
	f.Add(uint64(1), uint8(10), uint8(3), .1, .3, .3, .3, .1, 1.)
	f.Add(uint64(2), uint8(3), uint8(9), 0., 1., 0., 0., 1e-6, 30.)
	f.Fuzz(func(t *testing.T, seed uint64, rows, n uint8, a1, a2, a3, a4, lambda, scale float64) {
		d := casetest.ClassData(seed, 2+int(rows%30), 1+int(n%8))
		d.Dense().Scale(scale, d.X)
		l := LearnedLoss{Generalised: true}
		theta := make([]float64, 1+int(n%8))
		if errors.Join(l.Load(d), l.Fit(theta, []float64{a1, a2, a3, a4, lambda})) != nil {
			return
		}
		g := &learn.Grad{Hyper: make([]float64, 5)}
		v := slices.Repeat([]float64{1}, len(theta))
		if l.VJP(nil, g, v) != nil {
			return
		}
		for _, v := range append(theta, g.Hyper...) {
			if v != v {
				t.Fatalf("theta %v, gradient %v", theta, g.Hyper)
			}
		}
	})
}
