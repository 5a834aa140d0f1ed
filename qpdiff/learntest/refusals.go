package learntest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

func refusals(t *testing.T, newLearner func() learn.Learner, c Case) {
	_, n := c.Data.X.Dims()
	if _, nh := newLearner().Dims(n); nh != len(c.Hyper) {
		t.Fatalf("Dims says %d hyperparameters, the case has %d", nh, len(c.Hyper))
	}
	refusesUnfitted(t, newLearner(), c)
	refusesData(t, newLearner, c)
	l, theta := fittedLearner(t, newLearner, c)
	refusesHyper(t, l, c, theta)
	numtest.OK(t, l.Fit(theta, c.Hyper))
	refusesVectors(t, l, c, theta)
	forgets(t, l, c, theta)
	numtest.OK(t, l.Fit(theta, c.Hyper))
	panics(t, l, c, theta)
}

func wantError(t *testing.T, what string, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: error %v, want one of kind %q", what, err, kind)
	}
}

func wantArg(t *testing.T, what string, err, kind error) {
	t.Helper()
	wantError(t, what, err, kind)
	var arg *qpdiff.ArgError
	if !errors.As(err, &arg) || arg.Arg == "" || arg.Problem == "" || arg.Remedy == "" {
		t.Errorf("%s: %v is not a qpdiff.ArgError that names argument, problem and remedy", what, err)
	}
}

func wantPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s of the wrong length: no panic", what)
		}
	}()
	f()
}

// refusesUnfitted checks that two calls return ErrNotFitted: a Fit before a Load, and a VJP before
// a Load or Fit.
func refusesUnfitted(t *testing.T, l learn.Learner, c Case) {
	nt, _ := l.Dims(c.Data.Dense().RawMatrix().Cols)
	theta, v := make([]float64, nt), make([]float64, nt)
	wantError(t, "Fit before Load", l.Fit(theta, c.Hyper), qpdiff.ErrNotFitted)
	wantError(t, "VJP before Load", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
	numtest.OK(t, l.Load(c.Data))
	wantError(t, "VJP before Fit", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
	if j, ok := l.(learn.ForwardLearner); ok {
		wantError(t, "JVP before Fit", j.JVP(nil, theta, &learn.Grad{}), qpdiff.ErrNotFitted)
	}
}

// refusesData checks that Load returns an error for bad data, and that the learner has no fit after
// this error.
func refusesData(t *testing.T, newLearner func() learn.Learner, c Case) {
	rows, n := c.Data.X.Dims()
	nt, _ := newLearner().Dims(n)
	theta, v := make([]float64, nt), make([]float64, nt)
	broken := func(f func(d *learn.Data)) learn.Data {
		d := cloneData(c.Data)
		f(&d)
		return d
	}
	for _, b := range []struct {
		what string
		d    learn.Data
		kind error
	}{
		{"no X", broken(func(d *learn.Data) { d.X = nil }), qpdiff.ErrShape},
		{"empty X", broken(func(d *learn.Data) { d.X = new(mat.Dense) }), qpdiff.ErrShape},
		{"short Y", broken(func(d *learn.Data) { d.Y = d.Y[1:] }), qpdiff.ErrShape},
		{"long Y", broken(func(d *learn.Data) { d.Y = append(d.Y, 1) }), qpdiff.ErrShape},
		{"NaN in X", broken(func(d *learn.Data) { d.Dense().Set(rows-1, n-1, math.NaN()) }), qpdiff.ErrNotFinite},
		{"Inf in X", broken(func(d *learn.Data) { d.Dense().Set(0, n-1, math.Inf(-1)) }), qpdiff.ErrNotFinite},
		{"NaN in Y", broken(func(d *learn.Data) { d.Y[0] = math.NaN() }), qpdiff.ErrNotFinite},
		{"Inf in Y", broken(func(d *learn.Data) { d.Y[rows-1] = math.Inf(1) }), qpdiff.ErrNotFinite},
	} {
		l, _ := fittedLearner(t, newLearner, c)
		wantArg(t, b.what, l.Load(b.d), b.kind)
		wantError(t, b.what+", then VJP", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
		wantError(t, b.what+", then Fit", l.Fit(theta, c.Hyper), qpdiff.ErrNotFitted)
	}
}

// refusesHyper checks that Fit returns an error for bad hyperparameters. A failed Fit must leave
// the learner without a fit. If the old fit remained, a VJP would be a derivative at the old
// hyperparameters, without an error.
func refusesHyper(t *testing.T, l learn.Learner, c Case, theta []float64) {
	nh, v := len(c.Hyper), make([]float64, len(theta))
	bad := func(what string, hyper []float64, kind error) {
		t.Helper()
		numtest.OK(t, l.Fit(theta, c.Hyper))
		kept := slices.Clone(theta)
		wantArg(t, what, l.Fit(theta, hyper), kind)
		wantError(t, what+", then VJP", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
		if !numtest.SameBits(kept, theta) {
			t.Errorf("%s: a refused Fit wrote to theta", what)
		}
	}
	bad("one hyperparameter too many", append(slices.Clone(c.Hyper), 1), qpdiff.ErrShape)
	if nh > 0 {
		bad("one hyperparameter too few", c.Hyper[1:], qpdiff.ErrShape)
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			h := slices.Clone(c.Hyper)
			h[nh-1] = x
			bad(fmt.Sprintf("hyperparameter %v", x), h, qpdiff.ErrNotFinite)
		}
		h := slices.Clone(c.Hyper)
		h[0] = -1
		if l.Fit(theta, h) != nil {
			bad("negative hyperparameter", h, qpdiff.ErrDomain)
		} else if r := c.Residual(c.Data, theta, h); !(r <= c.Tol) {
			t.Errorf("negative hyperparameter: neither refused with an error of kind ErrDomain nor solved for, optimality residual %.3g", r)
		}
	}
}

// refusesVectors checks that derivatives return an error for cotangents and tangents that are not
// finite.
func refusesVectors(t *testing.T, l learn.Learner, c Case, theta []float64) {
	nt, v := len(theta), make([]float64, len(theta))
	g := newGrad(c, 0)
	if nt > 0 {
		nanv := slices.Clone(v)
		nanv[nt-1] = math.NaN()
		wantArg(t, "NaN cotangent", l.VJP(nil, g, nanv), qpdiff.ErrNotFinite)
	}
	for _, s := range gradSlices(g) {
		if slices.ContainsFunc(s, func(a float64) bool { return a != 0 }) {
			t.Error("a refused VJP wrote to the Grad")
		}
	}
	if j, ok := l.(learn.ForwardLearner); ok {
		for i := range gradSlices(g) {
			u := newGrad(c, 0)
			if s := gradSlices(u)[i]; len(s) > 0 {
				s[len(s)-1] = math.Inf(1)
				wantArg(t, "infinite tangent", j.JVP(nil, slices.Clone(theta), u), qpdiff.ErrNotFinite)
			}
		}
	}
}

// forgets checks that the learner has no fit after Reset and after Load.
func forgets(t *testing.T, l learn.Learner, c Case, theta []float64) {
	v := make([]float64, len(theta))
	l.Reset()
	wantError(t, "VJP after Reset", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
	numtest.OK(t, l.Fit(theta, c.Hyper), l.Load(c.Data))
	wantError(t, "VJP after Load", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
}

// panics checks that destinations of the wrong length cause a panic.
func panics(t *testing.T, l learn.Learner, c Case, theta []float64) {
	rows, n := c.Data.X.Dims()
	nt, nh, v := len(theta), len(c.Hyper), make([]float64, len(theta))
	for _, k := range []int{max(nt-1, 0), nt + 1} {
		if k == nt {
			continue
		}
		wantPanic(t, "theta", func() { l.Fit(make([]float64, k), c.Hyper) })
		numtest.OK(t, l.Fit(theta, c.Hyper))
		wantPanic(t, "dtheta", func() { l.VJP(nil, &learn.Grad{}, make([]float64, k)) })
	}
	wantPanic(t, "Grad.Hyper", func() { l.VJP(nil, &learn.Grad{Hyper: make([]float64, nh+1)}, v) })
	wantPanic(t, "Grad.X rows", func() { l.VJP(nil, &learn.Grad{X: mat.NewDense(rows+1, n, nil)}, v) })
	wantPanic(t, "Grad.X columns", func() { l.VJP(nil, &learn.Grad{X: mat.NewDense(rows, n+1, nil)}, v) })
	wantPanic(t, "Grad.Y", func() { l.VJP(nil, &learn.Grad{Y: make([]float64, rows+1)}, v) })
	if j, ok := l.(learn.ForwardLearner); ok {
		wantPanic(t, "JVP's dtheta", func() { j.JVP(nil, make([]float64, nt+1), &learn.Grad{}) })
		wantPanic(t, "JVP's Y", func() { j.JVP(nil, theta, &learn.Grad{Y: make([]float64, rows+1)}) })
	}
}
