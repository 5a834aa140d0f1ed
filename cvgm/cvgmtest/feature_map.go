// Package cvgmtest tests whether a type keeps a contract of package cvgm. The contracts are those
// interfaces that a user may implement: [FeatureMap], [Preparer], [Loss] and [Searcher].
// [CheckGradient] tests the gradient of any objective.
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

// TB contains the methods of testing.TB that this package uses. Other test frameworks can implement
// TB.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// FeatureMap tests a feature map at the parameters params and the rows of x. The function newMap
// returns a new map. The map must be smooth at all points whose distance from params and x is at
// most step. If the function reference is not nil, it computes the features of one example directly
// from the definition of the map.
//
// The test checks the shape of the features, and compares the features with the result of
// reference. It checks that the derivatives with respect to the parameters and to the rows agree
// with difference quotients up to a relative error of 1e-7. Backward must add the derivatives to
// its arguments. The derivative with respect to the parameters must be the same whether or not
// Backward also computes the other one. A new map must return the same bits as the first map, even
// if its matrices are parts of larger matrices. If arguments have the wrong size, Forward must
// return an error of kind qpdiff.ErrShape, and Backward must panic. Backward must also panic before
// the first Forward.
func FeatureMap(t TB, newMap func() cvgm.FeatureMap, reference func(params, x []float64) []float64, params []float64, x *mat.Dense, step float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 13))
	f := newMap()
	if n := f.NumParams(); n != len(params) {
		t.Fatalf("NumParams says %d, want %d", n, len(params))
	}
	p := &mapPoint{t: t, f: f, params: params, x: x, step: step}
	p.checkFeatures(rng, reference)
	rows, _ := x.Dims()
	_, out := f.Dims()
	p.d = normals(rng, rows, out)
	grad, once := p.addTwice()
	p.alongParams(rng, grad)
	p.alongRows(rng, once)
	p.checkWindows(rng, newMap(), once)
	p.checkRefusals(rng, newMap(), grad)
}

// A mapPoint is a feature map under test, with its parameters, its rows x, and a cotangent d of its
// features. A cotangent is a matrix of the shape of the features; the tests differentiate the sum
// ⟨d, φ⟩ for the features φ.
type mapPoint struct {
	t      TB
	f      cvgm.FeatureMap
	params []float64
	x, d   *mat.Dense
	step   float64
	values float64 // the largest |⟨d, φ⟩| so far; the rounding error of a difference quotient is proportional to it
}

// forward returns the features.
func (p *mapPoint) forward(params []float64, x *mat.Dense) *mat.Dense {
	p.t.Helper()
	phi, err := p.f.Forward(params, x)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return phi
}

// value returns ⟨d, φ⟩ for the cotangent d and the features φ.
func (p *mapPoint) value(params []float64, x *mat.Dense) float64 {
	p.t.Helper()
	phi := p.forward(params, x)
	rows, out := p.d.Dims()
	s := 0.0
	for i := range rows {
		for j := range out {
			s += p.d.At(i, j) * phi.At(i, j)
		}
	}
	p.values = max(p.values, math.Abs(s))
	return s
}

// slope returns the derivative of the function f at 0 by central differences.
func (p *mapPoint) slope(f func(h float64) float64) float64 {
	return (8*(f(p.step)-f(-p.step)) - (f(2*p.step) - f(-2*p.step))) / (12 * p.step)
}

// checkFeatures checks the shape of the features. If the function reference is not nil, it also
// checks the values of the features.
func (p *mapPoint) checkFeatures(rng *rand.Rand, reference func(params, x []float64) []float64) {
	p.t.Helper()
	in, out := p.f.Dims()
	rows, _ := p.x.Dims()
	// A call with a larger x must not affect later calls.
	p.forward(p.params, normals(rng, rows+3, in))
	phi := p.forward(p.params, p.x)
	if r, c := phi.Dims(); r != rows || c != out {
		p.t.Fatalf("Forward gives %d×%d features, want %d×%d", r, c, rows, out)
	}
	if reference == nil {
		return
	}
	size := 1.0
	for i := range rows {
		for j, want := range reference(p.params, p.x.RawRowView(i)) {
			size = max(size, math.Abs(want))
			if got := phi.At(i, j); !(math.Abs(got-want) <= 1e-13*size) {
				p.t.Fatalf("feature %d of example %d is %.17g, want %.17g", j, i, got, want)
			}
		}
	}
}

// addTwice checks that Backward adds the derivative of ⟨d, φ⟩ with respect to the parameters to its
// argument. It calls Backward twice: for grad, which starts at 0, and for shiftedGrad, which starts
// at 1.
func (p *mapPoint) addTwice() (grad, shiftedGrad []float64) {
	p.t.Helper()
	grad, shiftedGrad = make([]float64, len(p.params)), ones(len(p.params))
	p.f.Backward(grad, nil, p.d)
	p.f.Backward(shiftedGrad, nil, p.d)
	for i, g := range grad {
		if a := shiftedGrad[i] - 1; math.Abs(a-g) > 1e-12*(1+math.Abs(g)) {
			p.t.Fatalf("Backward does not add: dparams[%d] becomes %v from 0 and %v from 1", i, g, shiftedGrad[i])
		}
	}
	return grad, shiftedGrad
}

// alongParams compares the derivative with respect to the parameters to central differences. The
// differences are along each coordinate, and along a random direction.
func (p *mapPoint) alongParams(rng *rand.Rand, grad []float64) {
	p.t.Helper()
	moved := make([]float64, len(p.params))
	for k := range min(12, len(p.params)) + 1 {
		u := make([]float64, len(p.params))
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
		want := p.slope(func(h float64) float64 { return p.value(floats.AddScaledTo(moved, p.params, h, u), p.x) })
		if !(math.Abs(got-want) <= 1e-7*(p.values+scale)) {
			p.t.Fatalf("Backward gives the derivative in the parameters along direction %d as %.12g, central differences of Forward as %.12g", k, got, want)
		}
	}
}

// alongRows compares the derivative with respect to the rows to a central difference. It also
// checks that Backward still adds the same derivative with respect to the parameters. The argument
// shiftedGrad is a result of addTwice.
func (p *mapPoint) alongRows(rng *rand.Rand, shiftedGrad []float64) {
	p.t.Helper()
	rows, _ := p.x.Dims()
	in, _ := p.f.Dims()
	dx, beside := mat.NewDense(rows, in, nil), ones(len(p.params))
	p.forward(p.params, p.x)
	p.f.Backward(beside, dx, p.d)
	if !slices.Equal(shiftedGrad, beside) {
		p.t.Fatalf("with dx Backward adds %v to the parameters, without %v", beside, shiftedGrad)
	}
	p.f.Backward(beside, dx, p.d)
	u := normals(rng, rows, in)
	got := floats.Dot(dx.RawMatrix().Data, u.RawMatrix().Data) / 2 // added twice
	want := p.slope(func(h float64) float64 {
		var moved mat.Dense
		moved.Scale(h, u)
		moved.Add(&moved, p.x)
		return p.value(p.params, &moved)
	})
	if !(math.Abs(got-want) <= 1e-7*(p.values+floats.Norm(dx.RawMatrix().Data, 2)*floats.Norm(u.RawMatrix().Data, 2))) {
		p.t.Fatalf("Backward gives the derivative along a move of the rows in dx as %.12g, central differences of Forward as %.12g", got, want)
	}
}

// checkWindows checks that a new map g returns the same bits as the first map, even if the matrices
// of g are parts of larger matrices.
func (p *mapPoint) checkWindows(rng *rand.Rand, g cvgm.FeatureMap, once []float64) {
	p.t.Helper()
	rows, _ := p.x.Dims()
	in, out := p.f.Dims()
	wide := normals(rng, rows+2, in+3)
	window := wide.Slice(1, rows+1, 2, in+2).(*mat.Dense)
	window.Copy(p.x)
	again, err := g.Forward(p.params, window)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	wideD := normals(rng, rows+2, out+3)
	windowD := wideD.Slice(1, rows+1, 2, out+2).(*mat.Dense)
	windowD.Copy(p.d)
	two := ones(len(p.params))
	g.Backward(two, nil, windowD)
	if !mat.Equal(p.forward(p.params, p.x), again) {
		p.t.Fatalf("a window of a larger x has other features")
	}
	if !slices.Equal(once, two) {
		p.t.Fatalf("a window of a larger dfeatures has the derivative %v, dfeatures itself %v", two, once)
	}
}

// checkRefusals checks the errors and the panics of the map under test and of a new map g.
func (p *mapPoint) checkRefusals(rng *rand.Rand, g cvgm.FeatureMap, grad []float64) {
	p.t.Helper()
	rows, _ := p.x.Dims()
	in, out := p.f.Dims()
	if _, err := p.f.Forward(append(slices.Clone(p.params), 0), p.x); !errors.Is(err, qpdiff.ErrShape) {
		p.t.Errorf("params too long: error %v", err)
	}
	if _, err := p.f.Forward(p.params, normals(rng, rows, in+1)); !errors.Is(err, qpdiff.ErrShape) {
		p.t.Errorf("x too wide: error %v", err)
	}
	wantPanic(p.t, "Backward before Forward", func() { g.Backward(grad, nil, p.d) })
	wantPanic(p.t, "dparams", func() { p.f.Backward(append(grad, 0), nil, p.d) })
	wantPanic(p.t, "dx", func() { p.f.Backward(grad, normals(rng, rows, in+1), p.d) })
	wantPanic(p.t, "dfeatures", func() { p.f.Backward(grad, nil, normals(rng, rows+1, out)) })
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

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

func normals(rng *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	for i := range m.RawMatrix().Data {
		m.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return m
}
