package cvgm

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func normalMatrix(src *synth.Stream, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, src.NormFloat64())
		}
	}
	return m
}

func normalVector(src *synth.Stream, n int) []float64 {
	return normalMatrix(src, 1, n).RawRowView(0)
}

// testFeatureMap is the contract of every feature map: fresh returns a new one,
// reference computes one example's features from the definition, and params and
// x are a point where the map is smooth within h.
func testFeatureMap(t rapid.TB, fresh func() FeatureMap, reference func(params, x []float64) []float64, params []float64, x *mat.Dense, src *synth.Stream, h float64) {
	t.Helper()
	f := fresh()
	in, out := f.Dims()
	rows, _ := x.Dims()
	if n := f.NumParams(); n != len(params) {
		t.Fatalf("NumParams says %d, want %d", n, len(params))
	}
	// A larger x before leaves nothing behind.
	if _, err := f.Forward(params, normalMatrix(src, rows+3, in)); err != nil {
		t.Fatal(err)
	}
	phi, err := f.Forward(params, x)
	if err != nil {
		t.Fatal(err)
	}
	if r, c := phi.Dims(); r != rows || c != out {
		t.Fatalf("Forward gives %d×%d features, want %d×%d", r, c, rows, out)
	}
	size := 1.0
	for i := range rows {
		for j, want := range reference(params, x.RawRowView(i)) {
			size = max(size, math.Abs(want))
			if got := phi.At(i, j); !(math.Abs(got-want) <= 1e-13*size) {
				t.Fatalf("feature %d of example %d is %.17g, want %.17g", j, i, got, want)
			}
		}
	}

	// The derivative of ⟨d, φ⟩, twice added to 1, against central differences
	// along coordinates and along a direction.
	d := normalMatrix(src, rows, out)
	grad := make([]float64, len(params))
	for i := range grad {
		grad[i] = 1
	}
	f.Backward(grad, nil, d)
	once := slices.Clone(grad)
	f.Backward(grad, nil, d)
	for i, g := range grad {
		if a, b := once[i]-1, g-once[i]; math.Abs(a-b) > 1e-12*(1+math.Abs(a)) {
			t.Fatalf("Backward adds %v and then %v to parameter %d", a, b, i)
		}
	}
	value := func(p []float64) float64 {
		phi, err := f.Forward(p, x)
		if err != nil {
			t.Fatal(err)
		}
		s := 0.0
		for i := range rows {
			for j := range out {
				s += d.At(i, j) * phi.At(i, j)
			}
		}
		return s
	}
	moved := make([]float64, len(params))
	for k := range min(12, len(params)) + 1 {
		u := make([]float64, len(params))
		if k == 0 {
			copy(u, normalVector(src, len(u)))
		} else {
			u[src.IntN(len(u))] = 1
		}
		got, scale := 0.0, 1.0
		for i, v := range u {
			got += (once[i] - 1) * v
			scale += math.Abs(once[i] * v)
		}
		at := func(step float64) float64 {
			for i := range moved {
				moved[i] = params[i] + step*u[i]
			}
			return value(moved)
		}
		want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
		if !(math.Abs(got-want) <= 1e-7*scale) {
			t.Fatalf("derivative along direction %d is %.12g, central differences give %.12g", k, got, want)
		}
	}

	// So is that of the rows, which changes nothing of the parameters'.
	dx, beside := mat.NewDense(rows, in, nil), make([]float64, len(params))
	for i := range beside {
		beside[i] = 1
	}
	if _, err := f.Forward(params, x); err != nil {
		t.Fatal(err)
	}
	f.Backward(beside, dx, d)
	if diff := cmp.Diff(once, beside); diff != "" {
		t.Fatalf("with dx Backward adds other derivatives of the parameters: %s", diff)
	}
	f.Backward(beside, dx, d)
	u := normalMatrix(src, rows, in)
	along := func(step float64) float64 {
		var moved mat.Dense
		moved.Scale(step, u)
		moved.Add(&moved, x)
		phi, err := f.Forward(params, &moved)
		if err != nil {
			t.Fatal(err)
		}
		return floats.Dot(phi.RawMatrix().Data, d.RawMatrix().Data)
	}
	got := floats.Dot(dx.RawMatrix().Data, u.RawMatrix().Data) / 2 // added twice
	want := (8*(along(h)-along(-h)) - (along(2*h) - along(-2*h))) / (12 * h)
	if !(math.Abs(got-want) <= 1e-7*(1+floats.Norm(dx.RawMatrix().Data, 2)*floats.Norm(u.RawMatrix().Data, 2))) {
		t.Fatalf("derivative along a move of the rows is %.12g, central differences give %.12g", got, want)
	}

	// A new map has the same bits, and windows of larger matrices serve as well.
	g := fresh()
	wide := normalMatrix(src, rows+2, in+3)
	window := wide.Slice(1, rows+1, 2, in+2).(*mat.Dense)
	window.Copy(x)
	again, err := g.Forward(params, window)
	if err != nil {
		t.Fatal(err)
	}
	wideD := normalMatrix(src, rows+2, out+3)
	windowD := wideD.Slice(1, rows+1, 2, out+2).(*mat.Dense)
	windowD.Copy(d)
	two := make([]float64, len(params))
	for i := range two {
		two[i] = 1
	}
	g.Backward(two, nil, windowD)
	phi, err = f.Forward(params, x)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(phi, again) {
		t.Fatal("a window of a larger x has other features")
	}
	if diff := cmp.Diff(once, two); diff != "" {
		t.Fatalf("a window of a larger dfeatures has another derivative: %s", diff)
	}

	// Nothing is allocated once the sizes are known.
	if a := testing.AllocsPerRun(5, func() {
		f.Forward(params, x)
		f.Backward(grad, nil, d)
	}); a != 0 {
		t.Errorf("Forward and Backward allocate %v times", a)
	}

	if _, err := f.Forward(params[1:], x); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("params too short: error %v", err)
	}
	if _, err := f.Forward(params, normalMatrix(src, rows, in+1)); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("x too wide: error %v", err)
	}
	wantPanic(t, "Backward before Forward", func() { fresh().Backward(grad, nil, d) })
	wantPanic(t, "dparams", func() { f.Backward(grad[1:], nil, d) })
	wantPanic(t, "dx", func() { f.Backward(grad, normalMatrix(src, rows, in+1), d) })
	wantPanic(t, "dfeatures", func() { f.Backward(grad, nil, normalMatrix(src, rows+1, out)) })
}

func wantPanic(t rapid.TB, what string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "cvgm: ") {
			t.Errorf("%s: no panic that begins with \"cvgm: \"", what)
		}
	}()
	f()
}

func TestLinearMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, out := rapid.IntRange(1, 9).Draw(t, "in"), rapid.IntRange(1, 9).Draw(t, "out")
		src := synth.NewStream(rapid.Uint64().Draw(t, "seed"), "linear map")
		reference := func(params, x []float64) []float64 {
			f := make([]float64, out)
			for i, v := range params {
				f[i/in] += v * x[i%in]
			}
			return f
		}
		testFeatureMap(t, func() FeatureMap { return &LinearMap{In: in, Out: out} }, reference,
			normalVector(src, in*out), normalMatrix(src, 1+src.IntN(7), in), src, 1e-2)
	})
	if _, err := new(LinearMap).Forward(nil, mat.NewDense(1, 1, nil)); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("no dimensions: error %v", err)
	}
}

func ringsData(t *testing.T, n int) qpdiff.Data {
	t.Helper()
	d, err := synth.MakeRings(synth.NewStream(3, "rings"), n, synth.Rings{})
	if err != nil {
		t.Fatal(err)
	}
	return qpdiff.Data{X: d.X, Y: d.Y}
}

// The gradient of a cross-validation loss reaches the parameters of a network
// through the training and the validation rows.
func TestLearnedKernelGradient(t *testing.T) {
	d := ringsData(t, 40)
	splits, err := RandomSplits(synth.NewStream(3, "splits"), 40, 12, .9)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]FeatureMap{
		"perceptron": &Perceptron{Widths: []int{2, 9, 2}},
		"linear":     &LinearMap{In: 2, Out: 3},
	} {
		t.Run(name, func(t *testing.T) {
			cv, err := New(Config{Data: d, Splits: splits, Loss: LogisticLoss{}, Features: f, Hyper: []float64{10},
				Learner: func() qpdiff.Learner { return &qpdiff.Logistic{Intercept: qpdiff.UnpenalisedIntercept} }})
			if err != nil {
				t.Fatal(err)
			}
			alpha := make([]float64, cv.Dims())
			for i := range alpha {
				alpha[i] = rand.New(rand.NewPCG(7, uint64(i))).NormFloat64()
			}
			checkGradient(t, cv.Eval, alpha, 1e-5, 1e-7)
		})
	}
}

// Splits that leave rows out of the fit to all examples give the loss and the
// gradient of splits that copy their rows, with and without a feature map.
func TestLeavingOutAgreesWithCopying(t *testing.T) {
	d := ringsData(t, 60)
	splits, err := RandomSplits(synth.NewStream(4, "splits"), 60, 20, .9)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"C":         func(c *Config) {},
		"LinearMap": func(c *Config) { c.Features = &LinearMap{In: 2, Out: 3} },
		"fixed C":   func(c *Config) { c.Features, c.Hyper = &LinearMap{In: 2, Out: 2}, []float64{10} },
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Data: d, Splits: splits, Loss: LogisticLoss{},
				Learner: func() qpdiff.Learner { return &qpdiff.Logistic{Intercept: qpdiff.UnpenalisedIntercept} }}
			change(&c)
			fast, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			if fast.full == nil {
				t.Fatal("the splits copy their rows")
			}
			type copying struct{ qpdiff.Learner } // hides LoadSubset
			leaveOuter := c.Learner
			c.Learner = func() qpdiff.Learner { return copying{leaveOuter()} }
			slow, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			src := synth.NewStream(5, name)
			for range 3 {
				alpha := normalVector(src, fast.Dims())
				if c.Hyper == nil {
					alpha[0] = math.Exp(alpha[0])
				}
				gf, gs := make([]float64, len(alpha)), make([]float64, len(alpha))
				lf, err := fast.Eval(gf, alpha)
				if err != nil {
					t.Fatal(err)
				}
				ls, err := slow.Eval(gs, alpha)
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range append(gf, lf) {
					if want := append(gs, ls)[i]; !(math.Abs(v-want) <= 1e-12*(1+math.Abs(want))) {
						t.Errorf("entry %d is %.17g leaving rows out, %.17g copying the others", i, v, want)
					}
				}
			}
		})
	}
}
