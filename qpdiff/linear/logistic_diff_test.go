package linear

import (
	"errors"
	"math"
	"sync"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Derivatives use the weights at θ, although a fit ends with the weights before its last step.
func TestLogisticWeightsAtSolution(t *testing.T) {
	d := casetest.RandomData(3, 40, 3, true)
	var l Logistic
	theta := make([]float64, 3)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{2}))
	for j := range l.lastStep {
		l.lastStep[j] = logisticLastStep * float64(j+1) / 10
		l.cand[j] = l.theta[j] - l.lastStep[j]
	}
	l.evaluate(l.cand)
	l.pointStale = true
	var want Logistic
	numtest.OK(t, want.Load(d))
	want.c = 2
	want.evaluate(l.theta)
	got := new(logisticDerivative).weights(&l.logisticFit)
	if e, f := numtest.RelErr(got.s, want.s), numtest.RelErr(got.w, want.w); !(e <= 8*dense.Eps && f <= 8*dense.Eps) {
		t.Errorf("s is off by %.3g, w by %.3g", e, f)
	}
}

// If the Hessian is singular only after the fit, VJP, JVP and SolveHessian return ErrIllPosed.
func TestLogisticSingularLate(t *testing.T) {
	d := casetest.RandomData(1, 12, 2, true)
	for i := range 12 {
		d.Dense().Set(i, 1, d.X.At(i, 0))
	}
	var l Logistic
	theta := make([]float64, 2)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1}))
	l.c, l.pointStale = 1e300, true
	copy(l.lastStep, []float64{1e-3, 1e-3})
	g := learn.Grad{X: mat.NewDense(12, 2, nil)}
	var w qpdiff.Workspace
	p, again := make([]float64, 12), make([]float64, 12)
	if err := l.Probabilities(nil, p); err != nil {
		t.Errorf("probabilities need no factor: %v", err)
	}
	for range 3 {
		for _, err := range []error{l.VJP(&w, &g, theta), l.JVP(&w, theta, &g), l.SolveHessian(&w, theta, theta)} {
			var arg *qpdiff.ArgError
			if !errors.Is(err, qpdiff.ErrIllPosed) || !errors.As(err, &arg) {
				t.Fatalf("error %v", err)
			}
		}
		if err := l.Probabilities(&w, again); err != nil || !numtest.SameBits(p, again) {
			t.Fatalf("the last step was taken twice, error %v", err)
		}
	}
}

// Derivatives return an error only if they overflow.
func TestLogisticOverflow(t *testing.T) {
	d := casetest.RandomData(1, 10, 2, true)
	var l Logistic
	theta := make([]float64, 2)
	numtest.OK(t, l.Load(d), l.Fit(theta, []float64{1e-3}))
	big := []float64{math.MaxFloat64, math.MaxFloat64}
	for what, g := range map[string]*learn.Grad{"C": {Hyper: []float64{0}}, "y": {Y: make([]float64, 10)}} {
		if err := l.VJP(nil, g, big); !errors.Is(err, qpdiff.ErrNotFinite) {
			t.Errorf("%s: error %v, product %v", what, err, g)
		}
	}
	// Here, the derivative in C can overflow, and the derivative in X cannot.
	flat := learn.Data{X: mat.NewDense(10, 2, nil), Y: make([]float64, 10)}
	for i := range flat.Y {
		flat.Dense().SetRow(i, []float64{.4, .4})
		flat.Y[i] = 1
	}
	numtest.OK(t, l.Load(flat), l.Fit(theta, []float64{1e-3}))
	if g := (learn.Grad{Hyper: []float64{0}, X: mat.NewDense(10, 2, nil)}); !errors.Is(l.VJP(nil, &g, []float64{big[0] / 2, big[1] / 2}), qpdiff.ErrNotFinite) {
		t.Errorf("product %v", g.Hyper)
	}
	// Without Hyper and Y, only the derivative in X can overflow.
	wide := learn.Data{X: mat.NewDense(2, 2, []float64{1, 2, 3, -1}), Y: []float64{1e10, -1e10}}
	for _, v := range []float64{1, 1e290, 1e300} {
		g := learn.Grad{X: mat.NewDense(2, 2, nil)}
		numtest.OK(t, l.Load(wide), l.Fit(theta, []float64{1e-5}))
		err := l.VJP(nil, &g, []float64{v, -v})
		if (err == nil) != dense.Finite(mat.Sum(g.X)) || (v == 1e300) != errors.Is(err, qpdiff.ErrNotFinite) {
			t.Errorf("cotangent %g: error %v, product %v", v, err, mat.Formatted(g.X))
		}
	}
	if err := l.JVP(nil, theta, &learn.Grad{Hyper: []float64{math.MaxFloat64}, Y: big}); err == nil && !(dense.Finite(theta[0]) && dense.Finite(theta[1])) {
		t.Errorf("JVP %v", theta)
	}
}

// An omitted row has the derivative zero, even if its terms would overflow.
func TestLogisticLeavesOutWhatOverflows(t *testing.T) {
	for _, n := range []int{2, 3} {
		d := casetest.RandomData(5, 12, n, true)
		for _, big := range []struct{ y, x float64 }{{1e308, 1}, {-1, 1e308}} {
			d.Y[4] = big.y
			for j := range n {
				d.Dense().Set(4, j, big.x)
			}
			var full, part Logistic
			theta, tangent := make([]float64, n), make([]float64, n)
			hyper := []float64{100}
			numtest.OK(t, full.Load(d), part.LoadSubset(&full, []int{4}), part.Fit(theta, hyper))
			move := learn.Grad{X: mat.NewDense(12, n, nil), Y: make([]float64, 12)}
			for j := range n {
				move.X.Set(4, j, 3)
			}
			move.Y[4] = 2
			if err := part.JVP(nil, tangent, &move); err != nil || !numtest.SameBits(tangent, make([]float64, n)) {
				t.Errorf("n = %d, %+v: JVP %v, error %v", n, big, tangent, err)
			}
			g := learn.Grad{X: mat.NewDense(12, n, nil), Y: make([]float64, 12)}
			for j := range theta {
				theta[j] = 1e3
			}
			if err := part.VJP(nil, &g, theta); err != nil || g.Y[4] != 0 || dense.Largest(g.X.RawRowView(4)) != 0 {
				t.Errorf("n = %d, %+v: VJP %v and %v, error %v", n, big, g.X.RawRowView(4), g.Y[4], err)
			}
		}
	}
}

// Concurrent calls of VJP, Probabilities and SolveHessian return the bits of sequential calls.
func TestLogisticConcurrent(t *testing.T) {
	stale := 0
	for seed := range uint64(16) {
		d := casetest.RandomData(seed%8, 40, 3, true)
		var l Logistic
		var subject learn.Learner = &l
		if seed >= 8 {
			subject = casetest.WorkingSets{ForwardLearner: &l}
		}
		theta := make([]float64, 3)
		numtest.OK(t, subject.Load(d), subject.Fit(theta, []float64{2}))
		if l.pointStale {
			stale++
		}
		g, p, u := learn.Grad{X: mat.NewDense(40, 3, nil)}, make([]float64, 40), make([]float64, 3)
		numtest.OK(t, l.VJP(nil, &g, theta), l.Probabilities(nil, p), l.SolveHessian(nil, u, theta))
		check := func(what string, err error, got, want []float64) {
			if err != nil || !numtest.SameBits(got, want) {
				t.Errorf("%s at the same time as others: off by %g, error %v", what, numtest.RelErr(got, want), err)
			}
		}
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() {
				var w qpdiff.Workspace
				for range 3 {
					got := learn.Grad{X: mat.NewDense(40, 3, nil)}
					err := l.VJP(&w, &got, theta)
					check("VJP", err, got.X.RawMatrix().Data, g.X.RawMatrix().Data)
				}
			})
			wait.Go(func() {
				var w qpdiff.Workspace
				for range 3 {
					got := make([]float64, 40)
					err := l.Probabilities(&w, got)
					check("Probabilities", err, got, p)
				}
			})
			wait.Go(func() {
				var w qpdiff.Workspace
				for range 3 {
					got := make([]float64, 3)
					err := l.SolveHessian(&w, got, theta)
					check("SolveHessian", err, got, u)
				}
			})
		}
		wait.Wait()
	}
	if stale == 0 || stale >= 8 {
		t.Errorf("the last step counts in %d of 8 fits by the Hessian's entries", stale)
	}
}

// With a workspace, fits and derivatives allocate no memory.
func TestLogisticAllocations(t *testing.T) {
	for seed := range uint64(8) {
		for _, n := range []int{2, 5} {
			d := casetest.RandomData(seed, 40, n, true)
			var (
				l Logistic
				w qpdiff.Workspace
			)
			theta, p := make([]float64, n), make([]float64, 40)
			u := learn.Grad{Hyper: []float64{1}, X: mat.NewDense(40, n, nil), Y: make([]float64, 40)}
			numtest.OK(t, l.Load(d))
			c := 1.
			step := func() {
				c = 3 - c
				err := l.Fit(theta, []float64{c})
				if err == nil {
					err = l.Probabilities(&w, p)
				}
				if err == nil {
					err = l.SolveHessian(&w, theta, theta)
				}
				if err == nil {
					err = l.JVP(&w, theta, &u)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				step()
			}
			if a := testing.AllocsPerRun(10, step); a != 0 {
				t.Errorf("n = %d: %v allocations", n, a)
			}
		}
	}
}
