package qpdiff

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// learnerCase is a smooth point of a learner: the solution must be
// differentiable in a neighbourhood of about fdStep in every input.
type learnerCase struct {
	name  string
	data  Data
	hyper []float64

	// residual is the violation of the optimality conditions by theta, relative
	// to the size of their terms, from a formula that does not share code with
	// the learner. At most optTol, 1e-13 if zero.
	residual func(d Data, theta, hyper []float64) float64
	optTol   float64

	// fixedY is for learners that accept no labels but ±1: no differences with
	// respect to y are taken (the VJP is still asked for it).
	fixedY bool
	// fdStep is the step of the difference quotients, 1e-3 if zero: relative to
	// a hyperparameter, absolute along unit directions of X and y. At a
	// hyperparameter 0 the quotient is one-sided, with a hundredth of it.
	fdStep float64
}

// testLearner is the contract of every learner in this package. A new learner
// joins with a test of its own file that calls it with cases of all shapes that
// matter: more and fewer examples than features, one feature, both sides of
// any size at which the code takes another path.
//
//	func TestRidgeContract(t *testing.T) {
//		testLearner(t, func() Learner { return new(Ridge) }, learnerCase{
//			name: "28x10", data: randomData(1, 28, 10, false), hyper: []float64{.1},
//			residual: ridgeResidual,
//		})
//	}
//
// It checks: optimality; VJPs against difference quotients to 1e-7; that the
// JVP, where there is one, is the adjoint of the VJP; that VJPs add, that fits
// overwrite, and that neither writes to its inputs; refits after Reset and after
// another data set bit by bit; refusals of bad data, of bad hyperparameters and
// of a VJP without a fit; panics on destinations of the wrong length; that
// derivatives of one fit may run at the same time and leave the next fit alone; and
// that warm fits and products with a workspace allocate nothing.
func testLearner(t *testing.T, newLearner func() Learner, cases ...learnerCase) {
	t.Helper()
	if len(cases) < 2 {
		t.Fatal("the contract needs at least two cases, of different shapes")
	}
	for i, c := range cases {
		if c.optTol == 0 {
			c.optTol = 1e-13
		}
		if c.fdStep == 0 {
			c.fdStep = 1e-3
		}
		other := cases[(i+1)%len(cases)]
		t.Run(c.name, func(t *testing.T) {
			t.Run("optimality", func(t *testing.T) { contractOptimality(t, newLearner, c) })
			t.Run("derivative", func(t *testing.T) { contractDerivative(t, newLearner, c) })
			t.Run("adjoint", func(t *testing.T) { contractAdjoint(t, newLearner, c) })
			t.Run("buffers", func(t *testing.T) { contractBuffers(t, newLearner, c) })
			t.Run("refit", func(t *testing.T) { contractRefit(t, newLearner, c, other) })
			t.Run("refusals", func(t *testing.T) { contractRefusals(t, newLearner, c) })
			t.Run("const", func(t *testing.T) { contractConst(t, newLearner, c, other) })
			t.Run("counts", func(t *testing.T) { contractCounts(t, newLearner, c) })
			t.Run("allocations", func(t *testing.T) { contractAllocations(t, newLearner, c) })
		})
	}
}

// fitted returns a learner after its first fit, and θ.
func fitted(t *testing.T, newLearner func() Learner, c learnerCase) (Learner, []float64) {
	t.Helper()
	l := newLearner()
	theta := nanSlice(l.Dims(c.data.X.RawMatrix().Cols))
	if err := l.Load(c.data); err != nil {
		t.Fatalf("Load: %v", err)
	}
	if err := l.Fit(theta, c.hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	return l, theta
}

// nanSlice returns a destination for θ, poisoned.
func nanSlice(n, _ int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = math.NaN()
	}
	return s
}

// newGrad returns a Grad with every field wanted and set to v.
func newGrad(c learnerCase, v float64) *Grad {
	r, n := c.data.X.Dims()
	g := &Grad{Hyper: make([]float64, len(c.hyper)), X: mat.NewDense(r, n, nil), Y: make([]float64, r)}
	for _, s := range gradSlices(g) {
		for i := range s {
			s[i] = v
		}
	}
	return g
}

func gradSlices(g *Grad) [][]float64 {
	s := [][]float64{g.Hyper}
	if g.X != nil {
		s = append(s, g.X.RawMatrix().Data)
	}
	return append(s, g.Y)
}

func cloneData(d Data) Data {
	return Data{X: mat.DenseCopyOf(d.X), Y: slices.Clone(d.Y)}
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y)
	})
}

// long is the number of random problems of a test that takes n of them, a fifth of
// that with -short, as under the race detector and emulation.
func long(n int) int {
	if testing.Short() {
		return n / 5
	}
	return n
}

func normals(rng *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = rng.NormFloat64()
	}
	return s
}

// direction draws from the unit sphere.
func direction(rng *rand.Rand, n int) []float64 {
	s := normals(rng, n)
	length := math.Sqrt(dot(s, s))
	for i := range s {
		s[i] /= length
	}
	return s
}

func contractOptimality(t *testing.T, newLearner func() Learner, c learnerCase) {
	_, theta := fitted(t, newLearner, c)
	if r := c.residual(c.data, theta, c.hyper); !(r <= c.optTol) {
		t.Errorf("optimality residual %.3g, want at most %.3g", r, c.optTol)
	}
	// The residual must be able to fail.
	theta[0] += 1e-3 * (1 + math.Abs(theta[0]))
	if r := c.residual(c.data, theta, c.hyper); r <= c.optTol {
		t.Errorf("the residual %.3g does not see a wrong solution", r)
	}
}

func contractDerivative(t *testing.T, newLearner func() Learner, c learnerCase) {
	const tol = 1e-7
	rng := rand.New(rand.NewPCG(7, 11))
	l, theta := fitted(t, newLearner, c)
	v := normals(rng, len(theta))
	g := newGrad(c, 0)
	if err := l.VJP(nil, g, v); err != nil {
		t.Fatalf("VJP: %v", err)
	}

	var noise float64 // the rounding of vᵀθ in a difference quotient
	for i, a := range theta {
		noise += 4 * eps * math.Abs(a*v[i]) / c.fdStep
	}

	// value is vᵀθ with one input moved from x by h along u, for a learner that
	// is warm and one that is not.
	probe := newLearner()
	moved := cloneData(c.data)
	hyper := slices.Clone(c.hyper)
	out := make([]float64, len(theta))
	value := func(x, u []float64, h float64, load bool) float64 {
		old := slices.Clone(x)
		defer copy(x, old)
		axpy(h, u, x)
		if load {
			if err := probe.Load(moved); err != nil {
				t.Fatalf("Load: %v", err)
			}
		}
		if err := probe.Fit(out, hyper); err != nil {
			t.Fatalf("Fit: %v", err)
		}
		return dot(v, out)
	}
	check := func(what string, x, u, grad []float64, load, forward bool) {
		t.Helper()
		if err := probe.Load(moved); err != nil {
			t.Fatalf("Load: %v", err)
		}
		f := func(h float64) float64 { return value(x, u, h, load) }
		got, size := 0.0, 0.0
		for i, w := range u {
			got += grad[i] * w
			size += math.Abs(grad[i] * w)
		}
		difference := centralDifference
		if forward {
			difference = forwardDifference
		}
		want := difference(f, c.fdStep)
		if !(math.Abs(got-want) <= tol*max(size, math.Abs(want))+noise) {
			t.Errorf("%s: derivative %.12g, difference quotient %.12g", what, got, want)
		}
	}

	for j, h := range c.hyper {
		u := make([]float64, len(c.hyper))
		u[j] = h
		if h == 0 {
			u[j] = 1e-2
		}
		check(fmt.Sprintf("hyper[%d]", j), hyper, u, g.Hyper, false, h == 0)
	}
	x := moved.X.RawMatrix().Data
	for i := range 4 {
		check(fmt.Sprintf("X along direction %d", i), x, direction(rng, len(x)), g.X.RawMatrix().Data, true, false)
		u := make([]float64, len(x))
		k := rng.IntN(len(x))
		u[k] = 1
		check(fmt.Sprintf("X entry %d", k), x, u, g.X.RawMatrix().Data, true, false)
		if !c.fixedY {
			check(fmt.Sprintf("y along direction %d", i), moved.Y, direction(rng, len(moved.Y)), g.Y, true, false)
		}
	}
}

// centralDifference is the derivative of f at 0 from five points, with an
// error of order h⁴.
func centralDifference(f func(float64) float64, h float64) float64 {
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

// forwardDifference is the derivative of f at 0 from the right, of order h⁴.
func forwardDifference(f func(float64) float64, h float64) float64 {
	return (-25*f(0) + 48*f(h) - 36*f(2*h) + 16*f(3*h) - 3*f(4*h)) / (12 * h)
}

func contractAdjoint(t *testing.T, newLearner func() Learner, c learnerCase) {
	rng := rand.New(rand.NewPCG(3, 5))
	l, theta := fitted(t, newLearner, c)
	j, ok := l.(ForwardLearner)
	if !ok {
		return
	}
	for range 5 {
		v := normals(rng, len(theta))
		u := newGrad(c, 0)
		for _, s := range gradSlices(u) {
			copy(s, normals(rng, len(s)))
		}
		if rng.IntN(2) == 0 {
			u.X = nil
		}
		g := newGrad(c, 0)
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatalf("VJP: %v", err)
		}
		ju := nanSlice(len(theta), 0)
		if err := j.JVP(nil, ju, u); err != nil {
			t.Fatalf("JVP: %v", err)
		}
		if u.X == nil {
			g.X = nil
		}
		var lhs, rhs, size float64
		for i, a := range ju {
			lhs += v[i] * a
			size += math.Abs(v[i] * a)
		}
		us := gradSlices(u)
		for i, s := range gradSlices(g) {
			for k, a := range s {
				rhs += a * us[i][k]
				size += math.Abs(a * us[i][k])
			}
		}
		if !(math.Abs(lhs-rhs) <= 1e-12*size) {
			t.Errorf("⟨v,Ju⟩ = %.16g, ⟨Jᵀv,u⟩ = %.16g", lhs, rhs)
		}
	}
}

// contractBuffers: theta is overwritten, a VJP adds, fields that are not wanted
// do not change the others, and nothing writes to an input.
func contractBuffers(t *testing.T, newLearner func() Learner, c learnerCase) {
	before, hyperBefore := cloneData(c.data), slices.Clone(c.hyper)
	l, theta := fitted(t, newLearner, c)
	if i := slices.IndexFunc(theta, func(v float64) bool { return !finite(v) }); i >= 0 {
		t.Fatalf("theta[%d] = %v: not written", i, theta[i])
	}
	v := normals(rand.New(rand.NewPCG(1, 2)), len(theta))
	vBefore := slices.Clone(v)
	zero, one := newGrad(c, 0), newGrad(c, 1)
	for _, g := range []*Grad{zero, one} {
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatalf("VJP: %v", err)
		}
	}
	var zeros, ones []float64
	for i, s := range gradSlices(zero) {
		zeros = append(zeros, s...)
		ones = append(ones, gradSlices(one)[i]...)
	}
	for i, a := range zeros {
		if !finite(a) {
			t.Fatalf("entry %d of the VJP is %v", i, a)
		}
		if d := ones[i] - 1 - a; !(math.Abs(d) <= 8*eps*(1+math.Abs(a))) {
			t.Errorf("entry %d: VJP into 1 gives 1 + %v, into 0 %v", i, ones[i]-1, a)
		}
	}
	// One block at a time.
	for i, g := range []*Grad{{Hyper: make([]float64, len(c.hyper))}, {X: newGrad(c, 0).X}, {Y: make([]float64, len(c.data.Y))}, {}} {
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatalf("VJP: %v", err)
		}
		for k, s := range [][]float64{g.Hyper, nil, g.Y} {
			if s != nil && !sameBits(s, gradSlices(zero)[k]) {
				t.Errorf("block %d alone differs from the same block among all", i)
			}
		}
		if g.X != nil && !sameBits(g.X.RawMatrix().Data, zero.X.RawMatrix().Data) {
			t.Error("X alone differs from X among all")
		}
	}
	// X as a window of a larger matrix, on both sides.
	r, n := c.data.X.Dims()
	wide := mat.NewDense(r+2, n+3, nanSlice((r+2)*(n+3), 0))
	window := wide.Slice(1, r+1, 2, n+2).(*mat.Dense)
	window.Copy(c.data.X)
	m := newLearner()
	if err := m.Load(Data{X: window, Y: c.data.Y}); err != nil {
		t.Fatalf("Load: %v", err)
	}
	theta2 := nanSlice(len(theta), 0)
	if err := m.Fit(theta2, c.hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if !sameBits(theta, theta2) {
		t.Error("a window of a larger X gives another theta")
	}
	gwide := mat.NewDense(r+2, n+3, nil)
	if err := m.VJP(nil, &Grad{X: gwide.Slice(1, r+1, 2, n+2).(*mat.Dense)}, v); err != nil {
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

	if !mat.Equal(before.X, c.data.X) || !sameBits(before.Y, c.data.Y) || !sameBits(hyperBefore, c.hyper) || !sameBits(vBefore, v) {
		t.Error("an input was written to")
	}
}

func contractRefit(t *testing.T, newLearner func() Learner, c, other learnerCase) {
	fresh, want := fitted(t, newLearner, c)
	v := normals(rand.New(rand.NewPCG(1, 2)), len(want))
	wantGrad := newGrad(c, 0)
	if err := fresh.VJP(nil, wantGrad, v); err != nil {
		t.Fatalf("VJP: %v", err)
	}
	l, _ := fitted(t, newLearner, other)
	theta := nanSlice(len(want), 0)
	refit := func(when string) {
		t.Helper()
		if err := l.Fit(theta, c.hyper); err != nil {
			t.Fatalf("%s: Fit: %v", when, err)
		}
		if !sameBits(theta, want) {
			t.Errorf("%s: theta differs from a new learner's:\n%s", when, cmp.Diff(want, theta))
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
	load := func(d Data) {
		t.Helper()
		if err := l.Load(d); err != nil {
			t.Fatalf("Load: %v", err)
		}
	}
	load(c.data)
	l.Reset()
	refit("after another shape and Reset")

	scaled := slices.Clone(c.hyper)
	for i := range scaled {
		scaled[i] *= 1.5
	}
	if err := l.Fit(theta, scaled); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	l.Reset()
	refit("after other hyperparameters and Reset")

	swapped := cloneData(c.data)
	swapped.X.Scale(1.5, swapped.X)
	load(swapped)
	if err := l.Fit(theta, c.hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	load(c.data)
	l.Reset()
	refit("after other data of the same shape and Reset")

	// Warm, the same problem has the same solution up to rounding.
	if err := l.Fit(theta, scaled); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if err := l.Fit(theta, c.hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if r := c.residual(c.data, theta, c.hyper); !(r <= c.optTol) {
		t.Errorf("warm: optimality residual %.3g, want at most %.3g", r, c.optTol)
	}
}

func contractRefusals(t *testing.T, newLearner func() Learner, c learnerCase) {
	rows, n := c.data.X.Dims()
	nt, nh := newLearner().Dims(n)
	if nh != len(c.hyper) {
		t.Fatalf("Dims says %d hyperparameters, the case has %d", nh, len(c.hyper))
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
		var arg *ArgError
		if !errors.As(err, &arg) || arg.Arg == "" || arg.Problem == "" || arg.Remedy == "" {
			t.Errorf("%s: %v is no ArgError that names argument, problem and remedy", what, err)
		}
	}

	// Before anything.
	l := newLearner()
	wantError("Fit before Load", l.Fit(theta, c.hyper), ErrNotFitted)
	wantError("VJP before Load", l.VJP(nil, &Grad{}, v), ErrNotFitted)
	if err := l.Load(c.data); err != nil {
		t.Fatal(err)
	}
	wantError("VJP before Fit", l.VJP(nil, &Grad{}, v), ErrNotFitted)

	if j, ok := l.(ForwardLearner); ok {
		wantError("JVP before Fit", j.JVP(nil, theta, &Grad{}), ErrNotFitted)
	}

	// Data.
	broken := func(f func(d *Data)) Data {
		d := cloneData(c.data)
		f(&d)
		return d
	}
	for _, b := range []struct {
		what string
		d    Data
		kind error
	}{
		{"no X", broken(func(d *Data) { d.X = nil }), ErrShape},
		{"empty X", broken(func(d *Data) { d.X = new(mat.Dense) }), ErrShape},
		{"short Y", broken(func(d *Data) { d.Y = d.Y[1:] }), ErrShape},
		{"long Y", broken(func(d *Data) { d.Y = append(d.Y, 1) }), ErrShape},
		{"NaN in X", broken(func(d *Data) { d.X.Set(rows-1, n-1, math.NaN()) }), ErrNotFinite},
		{"Inf in X", broken(func(d *Data) { d.X.Set(0, n-1, math.Inf(-1)) }), ErrNotFinite},
		{"NaN in Y", broken(func(d *Data) { d.Y[0] = math.NaN() }), ErrNotFinite},
		{"Inf in Y", broken(func(d *Data) { d.Y[rows-1] = math.Inf(1) }), ErrNotFinite},
	} {
		l, _ := fitted(t, newLearner, c)
		wantArg(b.what, l.Load(b.d), b.kind)
		wantError(b.what+", then VJP", l.VJP(nil, &Grad{}, v), ErrNotFitted)
		wantError(b.what+", then Fit", l.Fit(theta, c.hyper), ErrNotFitted)
	}

	// Hyperparameters. A failed Fit leaves no fit: a VJP at hyperparameters other
	// than those asked for would be silently wrong.
	l, _ = fitted(t, newLearner, c)
	bad := func(what string, hyper []float64, kind error) {
		t.Helper()
		if err := l.Fit(theta, c.hyper); err != nil {
			t.Fatalf("Fit: %v", err)
		}
		kept := slices.Clone(theta)
		wantArg(what, l.Fit(theta, hyper), kind)
		wantError(what+", then VJP", l.VJP(nil, &Grad{}, v), ErrNotFitted)
		if !sameBits(kept, theta) {
			t.Errorf("%s: a refused Fit wrote to theta", what)
		}
	}
	bad("one hyperparameter too many", append(slices.Clone(c.hyper), 1), ErrShape)
	if nh > 0 {
		bad("one hyperparameter too few", c.hyper[1:], ErrShape)
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			h := slices.Clone(c.hyper)
			h[nh-1] = x
			bad(fmt.Sprintf("hyperparameter %v", x), h, ErrNotFinite)
		}
		h := slices.Clone(c.hyper)
		h[0] = -1
		bad("negative hyperparameter", h, ErrDomain)
	}
	if err := l.Fit(theta, c.hyper); err != nil {
		t.Fatalf("Fit after refusals: %v", err)
	}
	nanv := slices.Clone(v)
	nanv[nt-1] = math.NaN()
	g := newGrad(c, 0)
	wantArg("NaN cotangent", l.VJP(nil, g, nanv), ErrNotFinite)
	for _, s := range gradSlices(g) {
		if slices.ContainsFunc(s, func(a float64) bool { return a != 0 }) {
			t.Error("a refused VJP wrote to the Grad")
		}
	}
	if j, ok := l.(ForwardLearner); ok {
		for i := range gradSlices(g) {
			u := newGrad(c, 0)
			if s := gradSlices(u)[i]; len(s) > 0 {
				s[len(s)-1] = math.Inf(1)
				wantArg("infinite tangent", j.JVP(nil, slices.Clone(theta), u), ErrNotFinite)
			}
		}
	}
	l.Reset()
	wantError("VJP after Reset", l.VJP(nil, &Grad{}, v), ErrNotFitted)
	if err := l.Fit(theta, c.hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}
	if err := l.Load(c.data); err != nil {
		t.Fatal(err)
	}
	wantError("VJP after Load", l.VJP(nil, &Grad{}, v), ErrNotFitted)
	if err := l.Fit(theta, c.hyper); err != nil {
		t.Fatalf("Fit: %v", err)
	}

	// The caller's bugs.
	wantPanic := func(what string, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "qpdiff: ") {
				t.Errorf("%s: no panic that begins with \"qpdiff: \"", what)
			}
		}()
		f()
	}
	for _, k := range []int{nt - 1, nt + 1} {
		wantPanic("theta", func() { l.Fit(make([]float64, k), c.hyper) })
		if err := l.Fit(theta, c.hyper); err != nil {
			t.Fatalf("Fit: %v", err)
		}
		wantPanic("dtheta", func() { l.VJP(nil, &Grad{}, make([]float64, k)) })
	}
	wantPanic("Grad.Hyper", func() { l.VJP(nil, &Grad{Hyper: make([]float64, nh+1)}, v) })
	wantPanic("Grad.X rows", func() { l.VJP(nil, &Grad{X: mat.NewDense(rows+1, n, nil)}, v) })
	wantPanic("Grad.X columns", func() { l.VJP(nil, &Grad{X: mat.NewDense(rows, n+1, nil)}, v) })
	wantPanic("Grad.Y", func() { l.VJP(nil, &Grad{Y: make([]float64, rows+1)}, v) })
	if j, ok := l.(ForwardLearner); ok {
		wantPanic("JVP's dtheta", func() { j.JVP(nil, make([]float64, nt+1), &Grad{}) })
		wantPanic("JVP's Y", func() { j.JVP(nil, theta, &Grad{Y: make([]float64, rows+1)}) })
	}
}

// contractConst: derivatives of one fit have the same bits whether they run alone or at
// the same time, and whatever their workspace has served before; and a fit that
// follows has the bits of one without derivatives in between.
func contractConst(t *testing.T, newLearner func() Learner, c, other learnerCase) {
	l, theta := fitted(t, newLearner, c)
	rng := rand.New(rand.NewPCG(4, 7))
	v, u := normals(rng, len(theta)), newGrad(c, .5)
	derive := func(w *Workspace) (values []float64, err error) {
		g := newGrad(c, 0)
		if err := l.VJP(w, g, v); err != nil {
			return nil, err
		}
		for _, s := range gradSlices(g) {
			values = append(values, s...)
		}
		if j, ok := l.(ForwardLearner); ok {
			forward := make([]float64, len(theta))
			if err := j.JVP(w, forward, u); err != nil {
				return nil, err
			}
			values = append(values, forward...)
		}
		return values, nil
	}
	want, err := derive(nil)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, thetaElsewhere := fitted(t, newLearner, other)
	var wait sync.WaitGroup
	for range 4 {
		w := new(Workspace)
		if err := elsewhere.VJP(w, newGrad(other, 0), make([]float64, len(thetaElsewhere))); err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			for range 3 {
				if got, err := derive(w); err != nil || !sameBits(got, want) {
					t.Errorf("derivatives at the same time differ from one alone: %v", err)
				}
			}
		})
	}
	wait.Wait()

	next := slices.Clone(c.hyper)
	for i := range next {
		next[i] *= 1.01
	}
	fresh, alone := fitted(t, newLearner, c)
	if err := errors.Join(l.Fit(theta, next), fresh.Fit(alone, next)); err != nil {
		t.Fatal(err)
	}
	if !sameBits(theta, alone) {
		t.Error("derivatives changed the fit that follows")
	}
}

// contractCounts: a learner either refuses Rows and Weights by name, or a row of weight
// w, or one that is named w times, counts as w equal rows.
func contractCounts(t *testing.T, newLearner func() Learner, c learnerCase) {
	rows, n := c.data.X.Dims()
	weighted, named := c.data, c.data
	weighted.Weights = make([]float64, rows)
	var x, y []float64 // the rows as often as they count
	for i := range rows {
		count := 1 + (i+i/4)%3
		if i%7 == 6 {
			count = 0
		}
		weighted.Weights[i] = float64(count)
		for range count {
			named.Rows = append(named.Rows, i)
			x, y = append(x, c.data.X.RawRowView(i)...), append(y, c.data.Y[i])
		}
	}
	switch newLearner().(type) {
	case *ElasticNet:
	default:
		for arg, d := range map[string]Data{"Data.Weights": weighted, "Data.Rows": named} {
			var e *ArgError
			if err := newLearner().Load(d); !errors.As(err, &e) || e.Arg != arg || !errors.Is(err, ErrDomain) {
				t.Errorf("%s is not nil: error %v", arg, err)
			}
		}
		return
	}
	at := func(d Data) learnerCase {
		c := c
		c.data = d
		return c
	}
	long := at(Data{X: mat.NewDense(len(y), n, x), Y: y})
	l, want := fitted(t, newLearner, long)
	v := normals(rand.New(rand.NewPCG(2, 9)), len(want))
	g := newGrad(long, 0)
	if err := l.VJP(nil, g, v); err != nil {
		t.Fatal(err)
	}
	sums := newGrad(c, 0)
	copy(sums.Hyper, g.Hyper)
	for k, i := range named.Rows {
		axpy(1, g.X.RawRowView(k), sums.X.RawRowView(i))
		sums.Y[i] += g.Y[k]
	}
	var thetas [][]float64
	for name, d := range map[string]Data{"Weights": weighted, "Rows": named} {
		l, theta := fitted(t, newLearner, at(d))
		nearAll(t, name+": theta", theta, want, 1e-9, 0)
		g := newGrad(c, 0)
		if err := l.VJP(nil, g, v); err != nil {
			t.Fatal(err)
		}
		size := largest(slices.Concat(gradSlices(sums)...))
		for i, s := range gradSlices(g) {
			nearAll(t, fmt.Sprint(name, ": VJP, block ", i), s, gradSlices(sums)[i], 1e-9, size)
		}
		if j, ok := l.(ForwardLearner); ok {
			u, along := newGrad(c, 0), newGrad(long, 0)
			rng := rand.New(rand.NewPCG(2, 10))
			for _, s := range gradSlices(u) {
				copy(s, normals(rng, len(s)))
			}
			copy(along.Hyper, u.Hyper)
			for k, i := range named.Rows {
				along.X.SetRow(k, u.X.RawRowView(i))
				along.Y[k] = u.Y[i]
			}
			got, want := make([]float64, len(theta)), make([]float64, len(theta))
			longer, _ := fitted(t, newLearner, long)
			if err := errors.Join(j.JVP(nil, got, u), longer.(ForwardLearner).JVP(nil, want, along)); err != nil {
				t.Fatal(err)
			}
			nearAll(t, name+": JVP", got, want, 1e-9, 0)
		}
		thetas = append(thetas, theta)
	}
	if !sameBits(thetas[0], thetas[1]) {
		t.Error("the same counts by Rows and by Weights give other bits")
	}
}

func contractAllocations(t *testing.T, newLearner func() Learner, c learnerCase) {
	l, theta := fitted(t, newLearner, c)
	v := normals(rand.New(rand.NewPCG(1, 2)), len(theta))
	g, w := newGrad(c, 0), new(Workspace)
	other := slices.Clone(c.hyper)
	for i := range other {
		other[i] *= 1.01
	}
	step := func(h []float64) {
		if err := l.Fit(theta, h); err != nil {
			t.Fatalf("Fit: %v", err)
		}
		if err := l.VJP(w, g, v); err != nil {
			t.Fatalf("VJP: %v", err)
		}
	}
	if a := testing.AllocsPerRun(10, func() { step(c.hyper); step(other) }); a != 0 {
		t.Errorf("warm Fit and VJP: %v allocations", a)
	}
	if a := testing.AllocsPerRun(10, func() { l.Reset(); step(c.hyper) }); a != 0 {
		t.Errorf("Fit after Reset and VJP: %v allocations", a)
	}
	if a := testing.AllocsPerRun(10, func() {
		if err := l.Load(c.data); err != nil {
			t.Fatal(err)
		}
	}); a != 0 {
		t.Errorf("Load of the same shape: %v allocations", a)
	}
}

// randomData draws standard normal features and labels that are linear in a
// third of them plus noise; with classes their signs.
func randomData(seed uint64, rows, n int, classes bool) Data {
	rng := rand.New(rand.NewPCG(seed, 99))
	d := Data{X: mat.NewDense(rows, n, normals(rng, rows*n)), Y: make([]float64, rows)}
	coef := normals(rng, n)
	for i := range d.Y {
		row := d.X.RawRowView(i)
		d.Y[i] = dot(coef[:(n+2)/3], row) + rng.NormFloat64()/2
		if classes {
			d.Y[i] = math.Copysign(1, d.Y[i])
		}
	}
	return d
}

// refuses reports whether err refuses the derivative with respect to inputs, and
// because of weak.
func refuses(err error, weak Weak, inputs ...Input) bool {
	var e *NotDifferentiableError
	return errors.As(err, &e) && errors.Is(err, ErrNotDifferentiable) && slices.Equal(e.Inputs, inputs) &&
		slices.Equal(e.Weak.Rows, weak.Rows) && slices.Equal(e.Weak.Coords, weak.Coords)
}
