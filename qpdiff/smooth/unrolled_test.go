package smooth_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// descentResidual compares with the iteration written down once more.
func descentResidual(o smooth.Objective, steps int) func(d learn.Data, theta, hyper []float64) float64 {
	return func(d learn.Data, theta, hyper []float64) float64 {
		n := len(theta)
		x, old, g := make([]float64, n), make([]float64, n), make([]float64, n)
		eta, mu := hyper[len(hyper)-2], hyper[len(hyper)-1]
		for range steps {
			o.Gradient(g, x, d, hyper[:len(hyper)-2])
			for j := range x {
				x[j], old[j] = x[j]-eta*g[j]+mu*(x[j]-old[j]), x[j]
			}
		}
		worst := 0.0
		for j, v := range x {
			worst = max(worst, math.Abs(v-theta[j])/(math.Abs(v)+1e-3))
		}
		return worst
	}
}

func TestUnrolledContract(t *testing.T) {
	for _, c := range []struct {
		steps   int
		eta, mu float64
	}{{1, .1, 0}, {2, .1, .5}, {30, .2, 0}, {60, .1, .7}} {
		o := casetest.LinearModel(casetest.PseudoHuber)
		var cases []learntest.Case
		add := func(name string, seed uint64, rows, n int, lambda float64) {
			cases = append(cases, learntest.Case{Name: name, Data: casetest.RandomData(seed, rows, n, false), Hyper: []float64{lambda, c.eta, c.mu}, Residual: descentResidual(o, c.steps)})
		}
		add("28x5", 1, 28, 5, .1)
		add("5x8", 2, 5, 8, .2)
		add("6x1", 3, 6, 1, .5)
		casetest.Contract(t, func() learn.Learner { return &smooth.Unrolled{Objective: o, Steps: c.steps} }, cases...)
	}
}

// With more steps the iterative derivatives converge to the implicit ones, and
// momentum gets there sooner.
func TestUnrolledConvergesToImplicit(t *testing.T) {
	d := casetest.RandomData(2, 40, 4, false)
	o := casetest.LinearModel(casetest.Poisson)
	v := numtest.Normals(rand.New(rand.NewPCG(1, 2)), 4)
	run := func(l learn.Learner, hyper ...float64) []float64 {
		t.Helper()
		g := &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(40, 4, nil), Y: make([]float64, 40)}
		if err := errors.Join(l.Load(d), l.Fit(make([]float64, 4), hyper), l.VJP(nil, g, v)); err != nil {
			t.Fatal(err)
		}
		return append(append(g.Hyper[:1:1], g.X.RawMatrix().Data...), g.Y...)
	}
	want := run(&smooth.Learner{Objective: o}, .02)
	distance := func(steps int, eta, mu float64) float64 {
		return numtest.RelErr(run(&smooth.Unrolled{Objective: o, Steps: steps}, .02, eta, mu), want)
	}
	plain := []float64{distance(10, .2, 0), distance(100, .2, 0), distance(2000, .2, 0)}
	if !(plain[0] > .01 && plain[1] < plain[0]/2 && plain[2] < 1e-12) {
		t.Errorf("distances to the implicit derivative after 10, 100 and 2000 steps: %.3g", plain)
	}
	if heavy := distance(100, .2, .6); !(heavy < plain[1]/10) {
		t.Errorf("after 100 steps with momentum %.3g, without %.3g", heavy, plain[1])
	}
}

// Too large a learning rate overflows: an error that says so, and never NaN.
func TestUnrolledExplodes(t *testing.T) {
	d := casetest.RandomData(2, 40, 4, false)
	theta := make([]float64, 4)
	for steps, o := range map[int]smooth.Objective{3000: casetest.LinearModel(casetest.HalfSquare), 20: casetest.LinearModel(casetest.Poisson)} {
		l := smooth.Unrolled{Objective: o, Steps: steps}
		err := errors.Join(l.Load(d), l.Fit(theta, []float64{.02, 20, 0}))
		var arg *qpdiff.ArgError
		if !errors.As(err, &arg) || !errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(arg.Remedy, "learning rate") {
			t.Errorf("error %v", err)
		}
		if err := l.VJP(nil, &learn.Grad{}, theta); !errors.Is(err, qpdiff.ErrNotFitted) {
			t.Errorf("VJP: %v", err)
		}
	}
	// Iterates that stay finite with cotangents that do not: at its maximum a
	// concave objective holds still, and pushes everything else away.
	concave := casetest.LinearModel(func(p, y float64) (d1, d2, dy float64) { return -p, -1, 0 })
	l := smooth.Unrolled{Objective: concave, Steps: 3000}
	g := &learn.Grad{Hyper: make([]float64, 3), X: mat.NewDense(40, 4, nil), Y: make([]float64, 40)}
	if err := errors.Join(l.Load(d), l.Fit(theta, []float64{.02, 20, 0})); err != nil {
		t.Fatal(err)
	}
	if err := l.VJP(nil, g, []float64{1, 1, 1, 1}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("VJP: %v", err)
	}
	for _, s := range casetest.GradSlices(g) {
		for _, v := range s {
			if v != 0 {
				t.Fatal("a refused VJP wrote to the Grad")
			}
		}
	}
}

func TestUnrolledStart(t *testing.T) {
	d := casetest.RandomData(2, 10, 2, false)
	l := smooth.Unrolled{Objective: casetest.LinearModel(casetest.HalfSquare), Steps: 1, Start: []float64{1, -2}}
	theta := make([]float64, 2)
	if err := errors.Join(l.Load(d), l.Fit(theta, []float64{.1, 0, .5})); err != nil {
		t.Fatal(err)
	}
	numtest.NearAll(t, "a step of length 0", theta, l.Start, 0, 0)
	for _, start := range [][]float64{{1}, {1, math.NaN()}} {
		l.Start = start
		if err := l.Load(d); err == nil {
			t.Errorf("start %v is accepted", start)
		}
	}
}

func FuzzUnrolled(f *testing.F) {
	f.Add(uint64(1), uint8(10), uint8(3), uint8(20), .1, .1, .5)
	f.Fuzz(func(t *testing.T, seed uint64, rows, n, steps uint8, lambda, eta, mu float64) {
		d := casetest.RandomData(seed, 1+int(rows%20), 1+int(n%5), false)
		l := smooth.Unrolled{Objective: casetest.LinearModel(casetest.Poisson), Steps: int(steps)}
		theta := make([]float64, 1+int(n%5))
		g := &learn.Grad{Hyper: make([]float64, 3), Y: make([]float64, len(d.Y))}
		v := append([]float64{1}, make([]float64, len(theta)-1)...)
		if errors.Join(l.Load(d), l.Fit(theta, []float64{lambda, eta, mu}), l.VJP(nil, g, v)) != nil {
			return
		}
		for _, v := range append(append(theta, g.Hyper...), g.Y...) {
			if !dense.Finite(v) {
				t.Fatalf("theta %v, gradient %v %v", theta, g.Hyper, g.Y)
			}
		}
	})
}

// On a quadratic objective the derivative in the start's distance is known: without
// ridge and with one step the iterate is linear in the learning rate.
func TestUnrolledOneStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		eta, mu := rapid.Float64Range(0, 10).Draw(t, "eta"), rapid.Float64Range(0, 1).Draw(t, "mu")
		x, y := rapid.Float64Range(-3, 3).Draw(t, "x"), rapid.Float64Range(-3, 3).Draw(t, "y")
		l := smooth.Unrolled{Objective: casetest.LinearModel(casetest.HalfSquare), Steps: 2}
		theta := make([]float64, 1)
		g := &learn.Grad{Hyper: make([]float64, 3)}
		if err := errors.Join(l.Load(learn.Data{X: mat.NewDense(1, 1, []float64{x}), Y: []float64{y}}), l.Fit(theta, []float64{0, eta, mu}), l.VJP(nil, g, []float64{1})); err != nil {
			t.Fatal(err)
		}
		// θ1 = ηxy, θ2 = θ1 − η(x²θ1 − xy) + μθ1.
		c, h := x*y, x*x
		want := eta*c*(2+mu) - eta*eta*h*c
		dEta, dMu := c*(2+mu)-2*eta*h*c, eta*c
		size := 1 + math.Abs(eta*eta*h*c) + math.Abs(eta*c)
		if math.Abs(theta[0]-want) > 1e-14*size || math.Abs(g.Hyper[1]-dEta) > 1e-13*size || math.Abs(g.Hyper[2]-dMu) > 1e-13*size {
			t.Fatalf("theta %v, derivatives %v; want %v, %v, %v", theta, g.Hyper, want, dEta, dMu)
		}
	})
}
