package learntest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// buffers: theta is overwritten, a VJP adds, fields that are not wanted
// do not change the others, and nothing writes to an input.
func buffers(t *testing.T, newLearner func() learn.Learner, c Case) {
	before, hyperBefore := cloneData(c.Data), slices.Clone(c.Hyper)
	l, theta := fitted(t, newLearner, c)
	if i := slices.IndexFunc(theta, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }); i >= 0 {
		t.Fatalf("theta[%d] = %v: not written", i, theta[i])
	}
	v := normals(rand.New(rand.NewPCG(1, 2)), len(theta))
	vBefore := slices.Clone(v)
	zero, one := newGrad(c, 0), newGrad(c, 1)
	one.Generalised = true // by an earlier product
	for _, g := range []*learn.Grad{zero, one} {
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatalf("VJP: %v", err)
		}
	}
	if zero.Generalised || !one.Generalised {
		t.Errorf("VJP at a smooth point makes Generalised %v from false and %v from true, want it left alone", zero.Generalised, one.Generalised)
	}
	var zeros, ones []float64
	for i, s := range gradSlices(zero) {
		zeros = append(zeros, s...)
		ones = append(ones, gradSlices(one)[i]...)
	}
	for i, a := range zeros {
		if math.IsNaN(a) || math.IsInf(a, 0) {
			t.Fatalf("entry %d of the VJP is %v", i, a)
		}
		if d := ones[i] - 1 - a; !(math.Abs(d) <= 8*0x1p-52*(1+math.Abs(a))) {
			t.Errorf("VJP does not add: entry %d of (Hyper, X, Y) becomes %v from 0 and %v from 1", i, a, ones[i])
		}
	}
	// One block at a time.
	for i, g := range []*learn.Grad{{Hyper: make([]float64, len(c.Hyper))}, {X: newGrad(c, 0).X}, {Y: make([]float64, len(c.Data.Y))}, {}} {
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatalf("VJP: %v", err)
		}
		for k, s := range [][]float64{g.Hyper, nil, g.Y} {
			if s != nil && !sameBits(s, gradSlices(zero)[k]) {
				t.Errorf("VJP: %s alone is %v, with the other fields wanted %v", [...]string{"Hyper", "X", "Y"}[i], s, gradSlices(zero)[k])
			}
		}
		if g.X != nil && !sameBits(g.X.RawMatrix().Data, zero.X.RawMatrix().Data) {
			t.Error("VJP: X alone differs from X with the other fields wanted")
		}
	}
	// X as a window of a larger matrix, on both sides.
	r, n := c.Data.X.Dims()
	wide := mat.NewDense(r+2, n+3, nanSlice((r+2)*(n+3), 0))
	window := wide.Slice(1, r+1, 2, n+2).(*mat.Dense)
	window.Copy(c.Data.X)
	m := newLearner()
	if err := m.Load(learn.Data{X: window, Y: c.Data.Y}); err != nil {
		t.Fatalf("Load: %v", err)
	}
	theta2 := nanSlice(len(theta), 0)
	if err := m.Fit(theta2, c.Hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if !sameBits(theta, theta2) {
		t.Error("a window of a larger X gives another theta")
	}
	gwide := mat.NewDense(r+2, n+3, nil)
	if err := m.VJP(nil, &learn.Grad{X: gwide.Slice(1, r+1, 2, n+2).(*mat.Dense)}, v); err != nil {
		t.Fatalf("VJP: %v", err)
	}
	for i := range r + 2 {
		for k := range n + 3 {
			want := 0.0
			if i >= 1 && i < r+1 && k >= 2 && k < n+2 {
				want = zero.X.At(i-1, k-2)
			}
			if gwide.At(i, k) != want {
				t.Fatalf("VJP into a window: entry %d,%d is %v, want %v", i, k, gwide.At(i, k), want)
			}
		}
	}

	if !mat.Equal(before.X, c.Data.X) || !sameBits(before.Y, c.Data.Y) || !sameBits(hyperBefore, c.Hyper) || !sameBits(vBefore, v) {
		t.Error("an input was written to")
	}
}

func refit(t *testing.T, newLearner func() learn.Learner, c, other Case) {
	fresh, want := fitted(t, newLearner, c)
	v := normals(rand.New(rand.NewPCG(1, 2)), len(want))
	wantGrad := newGrad(c, 0)
	if err := fresh.VJP(nil, wantGrad, v); err != nil {
		t.Fatalf("VJP: %v", err)
	}
	l, _ := fitted(t, newLearner, other)
	theta := nanSlice(len(want), 0)
	again := func(when string) {
		t.Helper()
		if err := l.Fit(theta, c.Hyper); err != nil {
			t.Fatalf("%s: Fit: %v", when, err)
		}
		if !sameBits(theta, want) {
			t.Errorf("%s: theta is %v, a new learner's %v", when, theta, want)
		}
		g := newGrad(c, 0)
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatalf("%s: VJP: %v", when, err)
		}
		for i, s := range gradSlices(g) {
			if !sameBits(s, gradSlices(wantGrad)[i]) {
				t.Errorf("%s: block %d of the VJP differs from a new learner's", when, i)
			}
		}
	}
	load := func(d learn.Data) {
		t.Helper()
		if err := l.Load(d); err != nil {
			t.Fatalf("Load: %v", err)
		}
	}
	load(c.Data)
	l.Reset()
	again("after another shape and Reset")

	scaled := slices.Clone(c.Hyper)
	for i := range scaled {
		scaled[i] *= 1.5
	}
	if err := l.Fit(theta, scaled); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	l.Reset()
	again("after other hyperparameters and Reset")

	swapped := cloneData(c.Data)
	swapped.X.Scale(1.5, swapped.X)
	load(swapped)
	if err := l.Fit(theta, c.Hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	load(c.Data)
	l.Reset()
	again("after other data of the same shape and Reset")

	// Warm, the same problem has the same solution up to rounding.
	if err := l.Fit(theta, scaled); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if err := l.Fit(theta, c.Hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if r := c.Residual(c.Data, theta, c.Hyper); !(r <= c.Tol) {
		t.Errorf("warm: optimality residual %.3g, want at most %.3g", r, c.Tol)
	}
}

func refusals(t *testing.T, newLearner func() learn.Learner, c Case) {
	rows, n := c.Data.X.Dims()
	nt, nh := newLearner().Dims(n)
	if nh != len(c.Hyper) {
		t.Fatalf("Dims says %d hyperparameters, the case has %d", nh, len(c.Hyper))
	}
	theta, v := make([]float64, nt), make([]float64, nt)
	wantError := func(what string, err, kind error) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("%s: error %v, want one of kind %q", what, err, kind)
		}
	}
	wantArg := func(what string, err, kind error) {
		t.Helper()
		wantError(what, err, kind)
		var arg *qpdiff.ArgError
		if !errors.As(err, &arg) || arg.Arg == "" || arg.Problem == "" || arg.Remedy == "" {
			t.Errorf("%s: %v is no qpdiff.ArgError that names argument, problem and remedy", what, err)
		}
	}

	// Before anything.
	l := newLearner()
	wantError("Fit before Load", l.Fit(theta, c.Hyper), qpdiff.ErrNotFitted)
	wantError("VJP before Load", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
	if err := l.Load(c.Data); err != nil {
		t.Fatal(err)
	}
	wantError("VJP before Fit", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)

	if j, ok := l.(learn.ForwardLearner); ok {
		wantError("JVP before Fit", j.JVP(nil, theta, &learn.Grad{}), qpdiff.ErrNotFitted)
	}

	// learn.Data.
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
		{"NaN in X", broken(func(d *learn.Data) { d.X.Set(rows-1, n-1, math.NaN()) }), qpdiff.ErrNotFinite},
		{"Inf in X", broken(func(d *learn.Data) { d.X.Set(0, n-1, math.Inf(-1)) }), qpdiff.ErrNotFinite},
		{"NaN in Y", broken(func(d *learn.Data) { d.Y[0] = math.NaN() }), qpdiff.ErrNotFinite},
		{"Inf in Y", broken(func(d *learn.Data) { d.Y[rows-1] = math.Inf(1) }), qpdiff.ErrNotFinite},
	} {
		l, _ := fitted(t, newLearner, c)
		wantArg(b.what, l.Load(b.d), b.kind)
		wantError(b.what+", then VJP", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
		wantError(b.what+", then Fit", l.Fit(theta, c.Hyper), qpdiff.ErrNotFitted)
	}

	// Hyperparameters. A failed Fit leaves no fit: a VJP at hyperparameters other
	// than those asked for would be silently wrong.
	l, _ = fitted(t, newLearner, c)
	bad := func(what string, hyper []float64, kind error) {
		t.Helper()
		if err := l.Fit(theta, c.Hyper); err != nil {
			t.Fatalf("Fit: %v", err)
		}
		kept := slices.Clone(theta)
		wantArg(what, l.Fit(theta, hyper), kind)
		wantError(what+", then VJP", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
		if !sameBits(kept, theta) {
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
	if err := l.Fit(theta, c.Hyper); err != nil {
		t.Fatalf("Fit after refusals: %v", err)
	}
	g := newGrad(c, 0)
	if nt > 0 {
		nanv := slices.Clone(v)
		nanv[nt-1] = math.NaN()
		wantArg("NaN cotangent", l.VJP(nil, g, nanv), qpdiff.ErrNotFinite)
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
				wantArg("infinite tangent", j.JVP(nil, slices.Clone(theta), u), qpdiff.ErrNotFinite)
			}
		}
	}
	l.Reset()
	wantError("VJP after Reset", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
	if err := l.Fit(theta, c.Hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if err := l.Load(c.Data); err != nil {
		t.Fatal(err)
	}
	wantError("VJP after Load", l.VJP(nil, &learn.Grad{}, v), qpdiff.ErrNotFitted)
	if err := l.Fit(theta, c.Hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}

	// The caller's bugs.
	wantPanic := func(what string, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if recover() == nil {
				t.Errorf("%s of the wrong length: no panic", what)
			}
		}()
		f()
	}
	for _, k := range []int{max(nt-1, 0), nt + 1} {
		if k == nt {
			continue
		}
		wantPanic("theta", func() { l.Fit(make([]float64, k), c.Hyper) })
		if err := l.Fit(theta, c.Hyper); err != nil {
			t.Fatalf("Fit: %v", err)
		}
		wantPanic("dtheta", func() { l.VJP(nil, &learn.Grad{}, make([]float64, k)) })
	}
	wantPanic("Grad.Hyper", func() { l.VJP(nil, &learn.Grad{Hyper: make([]float64, nh+1)}, v) })
	wantPanic("Grad.X rows", func() { l.VJP(nil, &learn.Grad{X: mat.NewDense(rows+1, n, nil)}, v) })
	wantPanic("Grad.X columns", func() { l.VJP(nil, &learn.Grad{X: mat.NewDense(rows, n+1, nil)}, v) })
	wantPanic("Grad.Y", func() { l.VJP(nil, &learn.Grad{Y: make([]float64, rows+1)}, v) })
	if j, ok := l.(learn.ForwardLearner); ok {
		wantPanic("JVP's dtheta", func() { j.JVP(nil, make([]float64, nt+1), &learn.Grad{}) })
		wantPanic("JVP's Y", func() { j.JVP(nil, theta, &learn.Grad{Y: make([]float64, rows+1)}) })
	}
}
