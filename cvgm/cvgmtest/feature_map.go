// Package cvgmtest holds the contracts of package cvgm as tests that anyone can run on
// types of their own: [FeatureMap], [Preparer], [Loss] and [Searcher], and [CheckGradient] for any
// objective.
package cvgmtest

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"cvgm/cvgm"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TB is the part of testing.TB that the contracts use, so that other test frameworks
// can run them too.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// FeatureMap tests a feature map: fresh returns a new one, and params and x are a point
// at which the map is smooth within step. reference, unless nil, computes one example's
// features from the definition.
//
// It checks the shapes; the features against reference; the derivatives in the
// parameters and in the rows against difference quotients to 1e-7, that Backward adds
// them and that dx does not change the parameters'; the same bits for a new map and for
// matrices that are windows of larger ones; that Forward refuses arguments of another
// size with errors of kind qpdiff.ErrShape; and that Backward panics on them and before
// the first Forward.
func FeatureMap(t TB, fresh func() cvgm.FeatureMap, reference func(params, x []float64) []float64, params []float64, x *mat.Dense, step float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 13))
	f := fresh()
	in, out := f.Dims()
	rows, _ := x.Dims()
	if n := f.NumParams(); n != len(params) {
		t.Fatalf("NumParams says %d, want %d", n, len(params))
	}
	// A larger x before leaves nothing behind.
	if _, err := f.Forward(params, normals(rng, rows+3, in)); err != nil {
		t.Fatalf("%v", err)
	}
	phi, err := f.Forward(params, x)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if r, c := phi.Dims(); r != rows || c != out {
		t.Fatalf("Forward gives %d×%d features, want %d×%d", r, c, rows, out)
	}
	size := 1.0
	for i := range rows {
		if reference == nil {
			break
		}
		for j, want := range reference(params, x.RawRowView(i)) {
			size = max(size, math.Abs(want))
			if got := phi.At(i, j); !(math.Abs(got-want) <= 1e-13*size) {
				t.Fatalf("feature %d of example %d is %.17g, want %.17g", j, i, got, want)
			}
		}
	}

	// The derivative of ⟨d, φ⟩, added to 0 and to 1, against central differences
	// along coordinates and along a direction.
	d := normals(rng, rows, out)
	grad, once := make([]float64, len(params)), make([]float64, len(params))
	for i := range once {
		once[i] = 1
	}
	f.Backward(grad, nil, d)
	f.Backward(once, nil, d)
	for i, g := range grad {
		if a := once[i] - 1; math.Abs(a-g) > 1e-12*(1+math.Abs(g)) {
			t.Fatalf("Backward does not add: dparams[%d] becomes %v from 0 and %v from 1", i, g, once[i])
		}
	}
	var values float64 // of the values, which rounding in a difference quotient is measured by
	value := func(p []float64, x *mat.Dense) float64 {
		phi, err := f.Forward(p, x)
		if err != nil {
			t.Fatalf("%v", err)
		}
		s := 0.0
		for i := range rows {
			for j := range out {
				s += d.At(i, j) * phi.At(i, j)
			}
		}
		values = max(values, math.Abs(s))
		return s
	}
	moved := make([]float64, len(params))
	for k := range min(12, len(params)) + 1 {
		u := make([]float64, len(params))
		if k > 0 {
			u[rng.IntN(len(u))] = 1
		} else {
			for i := range u {
				u[i] = rng.NormFloat64()
			}
		}
		got, scale := 0.0, 0.0
		for i, v := range u {
			got += grad[i] * v
			scale += math.Abs(grad[i] * v)
		}
		at := func(h float64) float64 {
			for i := range moved {
				moved[i] = params[i] + h*u[i]
			}
			return value(moved, x)
		}
		want := (8*(at(step)-at(-step)) - (at(2*step) - at(-2*step))) / (12 * step)
		if !(math.Abs(got-want) <= 1e-7*(values+scale)) {
			t.Fatalf("Backward gives the derivative in the parameters along direction %d as %.12g, central differences of Forward as %.12g", k, got, want)
		}
	}

	// So is that of the rows, which changes nothing of the parameters'.
	dx, beside := mat.NewDense(rows, in, nil), make([]float64, len(params))
	for i := range beside {
		beside[i] = 1
	}
	if _, err := f.Forward(params, x); err != nil {
		t.Fatalf("%v", err)
	}
	f.Backward(beside, dx, d)
	if !slices.Equal(once, beside) {
		t.Fatalf("with dx Backward adds %v to the parameters, without %v", beside, once)
	}
	f.Backward(beside, dx, d)
	u := normals(rng, rows, in)
	along := func(h float64) float64 {
		var moved mat.Dense
		moved.Scale(h, u)
		moved.Add(&moved, x)
		return value(params, &moved)
	}
	got := floats.Dot(dx.RawMatrix().Data, u.RawMatrix().Data) / 2 // added twice
	want := (8*(along(step)-along(-step)) - (along(2*step) - along(-2*step))) / (12 * step)
	if !(math.Abs(got-want) <= 1e-7*(values+floats.Norm(dx.RawMatrix().Data, 2)*floats.Norm(u.RawMatrix().Data, 2))) {
		t.Fatalf("Backward gives the derivative along a move of the rows in dx as %.12g, central differences of Forward as %.12g", got, want)
	}

	// A new map has the same bits, and windows of larger matrices serve as well.
	g := fresh()
	wide := normals(rng, rows+2, in+3)
	window := wide.Slice(1, rows+1, 2, in+2).(*mat.Dense)
	window.Copy(x)
	again, err := g.Forward(params, window)
	if err != nil {
		t.Fatalf("%v", err)
	}
	wideD := normals(rng, rows+2, out+3)
	windowD := wideD.Slice(1, rows+1, 2, out+2).(*mat.Dense)
	windowD.Copy(d)
	two := make([]float64, len(params))
	for i := range two {
		two[i] = 1
	}
	g.Backward(two, nil, windowD)
	phi, err = f.Forward(params, x)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if !mat.Equal(phi, again) {
		t.Fatalf("a window of a larger x has other features")
	}
	if !slices.Equal(once, two) {
		t.Fatalf("a window of a larger dfeatures has the derivative %v, dfeatures itself %v", two, once)
	}

	if _, err := f.Forward(append(slices.Clone(params), 0), x); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("params too long: error %v", err)
	}
	if _, err := f.Forward(params, normals(rng, rows, in+1)); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("x too wide: error %v", err)
	}
	wantPanic(t, "Backward before Forward", func() { fresh().Backward(grad, nil, d) })
	wantPanic(t, "dparams", func() { f.Backward(append(grad, 0), nil, d) })
	wantPanic(t, "dx", func() { f.Backward(grad, normals(rng, rows, in+1), d) })
	wantPanic(t, "dfeatures", func() { f.Backward(grad, nil, normals(rng, rows+1, out)) })
}

func wantPanic(t TB, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if recover() == nil {
			t.Errorf("%s of another size: no panic", what)
		}
	}()
	f()
}

func normals(rng *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	for i := range m.RawMatrix().Data {
		m.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return m
}
