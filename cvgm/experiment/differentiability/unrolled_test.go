package differentiability

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func TestUnrolledConvergesToTheImplicitDerivativeOrExplodes(t *testing.T) {
	p := DefaultUnrolled()
	p.Conditions = nil
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range append(r.ByRate, r.ByPenalty...) {
		e := run.Error()
		last := e[len(e)-1]
		switch {
		case run.Rate > 2:
			if run.Overflow == 0 && last < 1e6 {
				t.Errorf("rate %v: error %v", run.Rate, last)
			}
		case run.Rate < .05:
			// A thousand steps with a learning rate of .01 do not reach the minimum.
			if last < .3 || e[0] < .9 {
				t.Errorf("rate %v: error from %v to %v", run.Rate, e[0], last)
			}
		case run.Rate >= 1:
			if !(last < 1e-9) {
				t.Errorf("rate %v, λ2 = %v: error %v after %d steps", run.Rate, run.Penalty, last, run.Steps[len(e)-1])
			}
		}
	}
	// The implicit derivative agrees with a central difference of exact fits.
	train, test := unrolledData(t, p)
	const h = 1e-5
	at := func(penalty float64) float64 {
		loss, _, err := testGradient(t.Context(), train, test, &smooth.Learner{Objective: ridge}, []float64{penalty})
		if err != nil {
			t.Fatal(err)
		}
		return loss
	}
	casetest.Near(t, "d(test loss)/dλ2", r.ByRate[0].Exact, (at(p.Penalty+h)-at(p.Penalty-h))/(2*h), 1e-7)
	if floats.HasNaN(r.Curvature[:]) || r.Curvature[0] <= 0 {
		t.Errorf("curvatures %v", r.Curvature)
	}
}

// The recursion and the elimination of the rounding experiment give the library's derivatives, in
// float64 and in precise arithmetic.
func TestUnrolledInAnyArithmetic(t *testing.T) {
	serial.Test(t)
	p := DefaultUnrolled()
	train, test := unrolledData(t, p)
	d := descent{steps: 30, rate: .4, momentum: .5}
	_, want, err := testGradient(t.Context(), train, test, &unrolledDescent{Objective: ridge, Steps: d.steps}, []float64{p.Penalty, d.rate, d.momentum})
	_, implicit, errImplicit := testGradient(t.Context(), train, test, &smooth.Learner{Objective: ridge}, []float64{p.Penalty})
	if err := errors.Join(err, errImplicit); err != nil {
		t.Fatal(err)
	}
	for _, backwards := range []bool{false, true} { // with so few steps, the iterates can be recomputed
		d.backwards = backwards
		double, factor, err := newRidgeFit(floating[float64](), train, test, p.Penalty).unrolled(t.Context(), d)
		exact := newRidgeFit(precise(), train, test, p.Penalty)
		exactly, errExactly := exact.implicit(t.Context())
		precisely, preciseFactor, errPrecisely := exact.unrolled(t.Context(), d)
		if err := errors.Join(err, errExactly, errPrecisely); err != nil {
			t.Fatal(err)
		}
		casetest.Near(t, "float64", double, want, 1e-6)
		casetest.Near(t, "precise", precisely, want, 1e-12)
		casetest.Near(t, "factor", factor, preciseFactor, 1e-9)
		casetest.Near(t, "implicit", exactly, implicit, 1e-12)
	}
	// Without momentum, a step multiplies the distance from the minimum by I − η(H + λI), most
	// along the direction of smallest curvature.
	long, r := descent{steps: 200, rate: .1}, newRidgeFit(floating[float64](), train, test, p.Penalty)
	_, before, err := r.unrolled(t.Context(), long)
	long.steps++
	_, after, errAfter := r.unrolled(t.Context(), long)
	if err := errors.Join(err, errAfter); err != nil {
		t.Fatal(err)
	}
	var gram mat.SymDense
	gram.SymOuterK(1/float64(p.Train), train.X.T())
	var eigen mat.EigenSym
	eigen.Factorize(&gram, false)
	casetest.Near(t, "factor of a step", after/before, 1-long.rate*(eigen.Values(nil)[0]+p.Penalty), 1e-3)
}

// Derivatives from stored iterates have negligible rounding errors. Derivatives from iterates
// recomputed backwards have no correct digit after convergence.
func TestUnrolledPrecision(t *testing.T) {
	serial.Test(t)
	p := DefaultUnrolled()
	p.UnrolledSteps = []int{300}
	train, test := unrolledData(t, p)
	m, err := p.precision(t.Context(), train, test, 1e6)
	if err != nil || m.Double > 1e-13 || m.Single < 1e-9 || m.Single > 1e-3 || m.Backwards < .5 || m.Implicit > 1e-8 || m.Implicit == 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

func unrolledData(t testing.TB, p UnrolledParams) (train, test learn.Data) {
	src, err := p.Source(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	train, test, _, err = p.Examples(src)
	if err != nil {
		t.Fatal(err)
	}
	return train, test
}

func TestUnrolledRefusesBadSteps(t *testing.T) {
	p := DefaultUnrolled()
	for _, steps := range [][]int{nil, {0, 1}, {3, 2}, {2, 2}} {
		p.UnrolledSteps = steps
		if _, err := p.Run(context.Background(), experiment.Hooks{}); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("steps %v: error %v", steps, err)
		}
	}
}

// All computations of a ridge regression return the error of a cancelled context.
func TestUnrolledEndsWithItsContext(t *testing.T) {
	p := DefaultUnrolled()
	train, test := unrolledData(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	l := &unrolledDescent{Objective: ridge, Steps: 3}
	_, n := train.X.Dims()
	theta, hyper := make([]float64, n), []float64{p.Penalty, .4, 0}
	if err := experiment.Fit(ctx, l, train, theta, hyper); err != nil {
		t.Fatal(err)
	}
	cancel()
	r := newRidgeFit(precise(), train, test, p.Penalty)
	_, _, errSteps := r.unrolled(ctx, descent{steps: 1, rate: .1})
	_, errImplicit := r.implicit(ctx)
	_, errSolve := r.solve(ctx, r.x)
	for _, err := range []error{errSteps, errImplicit, errSolve, l.VJP(nil, &learn.Grad{}, theta), l.Fit(theta, hyper)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

// BenchmarkDifferentiation compares the kinds of differentiation of a ridge regression. The
// allocations show how many numbers each kind stores.
func BenchmarkDifferentiation(b *testing.B) {
	p := DefaultUnrolled()
	train, _ := unrolledData(b, p)
	b.Run("implicit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := testGradient(b.Context(), train, train, &smooth.Learner{Objective: ridge}, []float64{p.Penalty}); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("iterative/steps=%d", steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := testGradient(b.Context(), train, train, &unrolledDescent{Objective: ridge, Steps: steps}, []float64{p.Penalty, .4, 0}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The derivatives of the iterates converge to the implicit derivatives. A learning rate that is too
// large is an error.
func TestUnrolledDescentConvergesToTheMinimum(t *testing.T) {
	train, _ := unrolledData(t, DefaultUnrolled())
	rows, n := train.X.Dims()
	gradients := func(l learn.Learner, hyper ...float64) []float64 {
		t.Helper()
		g := &learn.Grad{Hyper: make([]float64, len(hyper)), X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
		v := make([]float64, n)
		for j := range v {
			v[j] = math.Sin(float64(j + 1))
		}
		if err := errors.Join(l.Load(train), l.Fit(make([]float64, n), hyper), l.VJP(nil, g, v)); err != nil {
			t.Fatal(err)
		}
		return slices.Concat(g.Hyper[:1], g.X.RawMatrix().Data, g.Y)
	}
	want := gradients(&smooth.Learner{Objective: ridge}, .1)
	last := math.Inf(1)
	for _, steps := range []int{10, 100, 3000} {
		off := floats.Distance(gradients(&unrolledDescent{Objective: ridge, Steps: steps}, .1, .1, .5), want, 2)
		if !(off < last/2) {
			t.Errorf("after %d steps off by %g, before by %g", steps, off, last)
		}
		last = off
	}
	if last > 1e-9*floats.Norm(want, 2) {
		t.Errorf("off by %g of %g in the end", last, floats.Norm(want, 2))
	}
	l := &unrolledDescent{Objective: ridge, Steps: 3000}
	err := errors.Join(l.Load(train), l.Fit(make([]float64, n), []float64{.1, 1e3, 0}))
	if !errors.Is(err, qpdiff.ErrNotFinite) || !errors.Is(l.VJP(nil, &learn.Grad{}, make([]float64, n)), qpdiff.ErrNotFitted) {
		t.Errorf("learning rate 1000: %v", err)
	}
}
