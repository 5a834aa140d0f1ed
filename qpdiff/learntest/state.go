package learntest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// buffers checks four properties. Fit overwrites theta. VJP adds to the fields of its Grad. If some
// fields of the Grad are nil, the results in the other fields do not change. No call writes to an
// input.
func buffers(t *testing.T, newLearner func() learn.Learner, c Case) {
	before, hyperBefore := cloneData(c.Data), slices.Clone(c.Hyper)
	l, theta := fittedLearner(t, newLearner, c)
	if i := slices.IndexFunc(theta, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }); i >= 0 {
		t.Fatalf("theta[%d] = %v: not written", i, theta[i])
	}
	v := numtest.Normals(rand.New(rand.NewPCG(1, 2)), len(theta))
	vBefore := slices.Clone(v)
	zero, one := newGrad(c, 0), newGrad(c, 1)
	one.Generalised = true // by an earlier product
	for _, g := range []*learn.Grad{zero, one} {
		numtest.OK(t, l.VJP(nil, g, v))
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
	blocksAlone(t, l, c, v, zero)
	windows(t, newLearner, c, v, theta, zero)

	if !mat.Equal(before.X, c.Data.X) || !numtest.SameBits(before.Y, c.Data.Y) || !numtest.SameBits(hyperBefore, c.Hyper) || !numtest.SameBits(vBefore, v) {
		t.Error("an input was written to")
	}
}

// blocksAlone checks VJPs that add to a single field of a Grad. The Grad fullGrad holds the result
// of a VJP that added to all fields. The result in the single field must have the same bits as this
// field of fullGrad.
func blocksAlone(t *testing.T, l learn.Learner, c Case, v []float64, fullGrad *learn.Grad) {
	for i, g := range []*learn.Grad{{Hyper: make([]float64, len(c.Hyper))}, {X: newGrad(c, 0).X}, {Y: make([]float64, len(c.Data.Y))}, {}} {
		numtest.OK(t, l.VJP(nil, g, v))
		for k, s := range [][]float64{g.Hyper, nil, g.Y} {
			if s != nil && !numtest.SameBits(s, gradSlices(fullGrad)[k]) {
				t.Errorf("VJP: %s alone is %v, with the other fields wanted %v", [...]string{"Hyper", "X", "Y"}[i], s, gradSlices(fullGrad)[k])
			}
		}
		if g.X != nil && !numtest.SameBits(g.X.RawMatrix().Data, fullGrad.X.RawMatrix().Data) {
			t.Error("VJP: X alone differs from X with the other fields wanted")
		}
	}
}

// windows repeats a Fit and a VJP. X, and the field X of the Grad, are now windows of larger
// matrices. It checks that theta and the result of the VJP do not change.
func windows(t *testing.T, newLearner func() learn.Learner, c Case, v, theta []float64, vjp *learn.Grad) {
	r, n := c.Data.X.Dims()
	wide := mat.NewDense(r+2, n+3, numtest.NaNs((r+2)*(n+3), 0))
	window := wide.Slice(1, r+1, 2, n+2).(*mat.Dense)
	window.Copy(c.Data.X)
	m := newLearner()
	numtest.OK(t, m.Load(learn.Data{X: window, Y: c.Data.Y}))
	theta2 := numtest.NaNs(len(theta), 0)
	numtest.OK(t, m.Fit(theta2, c.Hyper))
	if !numtest.SameBits(theta, theta2) {
		t.Error("a window of a larger X gives another theta")
	}
	gwide := mat.NewDense(r+2, n+3, nil)
	numtest.OK(t, m.VJP(nil, &learn.Grad{X: gwide.Slice(1, r+1, 2, n+2).(*mat.Dense)}, v))
	for i := range r + 2 {
		for k := range n + 3 {
			want := 0.0
			if i >= 1 && i < r+1 && k >= 2 && k < n+2 {
				want = vjp.X.At(i-1, k-2)
			}
			if gwide.At(i, k) != want {
				t.Fatalf("VJP into a window: entry %d,%d is %v, want %v", i, k, gwide.At(i, k), want)
			}
		}
	}
}

func refit(t *testing.T, newLearner func() learn.Learner, c, other Case) {
	fresh, want := fittedLearner(t, newLearner, c)
	v := numtest.Normals(rand.New(rand.NewPCG(1, 2)), len(want))
	wantGrad := newGrad(c, 0)
	numtest.OK(t, fresh.VJP(nil, wantGrad, v))
	l, _ := fittedLearner(t, newLearner, other)
	theta := numtest.NaNs(len(want), 0)
	again := func(when string) {
		t.Helper()
		if err := l.Fit(theta, c.Hyper); err != nil {
			t.Fatalf("%s: Fit: %v", when, err)
		}
		if !numtest.SameBits(theta, want) {
			t.Errorf("%s: theta is %v, a new learner's %v", when, theta, want)
		}
		g := newGrad(c, 0)
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatalf("%s: VJP: %v", when, err)
		}
		for i, s := range gradSlices(g) {
			if !numtest.SameBits(s, gradSlices(wantGrad)[i]) {
				t.Errorf("%s: block %d of the VJP differs from a new learner's", when, i)
			}
		}
	}
	load := func(d learn.Data) {
		t.Helper()
		numtest.OK(t, l.Load(d))
	}
	load(c.Data)
	l.Reset()
	again("after another shape and Reset")

	scaled := slices.Clone(c.Hyper)
	for i := range scaled {
		scaled[i] *= 1.5
	}
	numtest.OK(t, l.Fit(theta, scaled))
	l.Reset()
	again("after other hyperparameters and Reset")

	swapped := cloneData(c.Data)
	swapped.Dense().Scale(1.5, swapped.X)
	load(swapped)
	numtest.OK(t, l.Fit(theta, c.Hyper))
	load(c.Data)
	l.Reset()
	again("after other data of the same shape and Reset")

	// A warm fit of the same problem must give the same solution up to rounding.
	numtest.OK(t, l.Fit(theta, scaled), l.Fit(theta, c.Hyper))
	if r := c.Residual(c.Data, theta, c.Hyper); !(r <= c.Tol) {
		t.Errorf("warm: optimality residual %.3g, want at most %.3g", r, c.Tol)
	}
}
