package cvgm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// perceptron computes the output of the network by definition. The result margin is the smallest
// absolute input of a rectifier.
func perceptron(widths []int, params, x []float64) (h []float64, margin float64) {
	h, margin = x, math.Inf(1)
	for l := 1; l < len(widths); l++ {
		in, out := widths[l-1], widths[l]
		z := make([]float64, out)
		for o := range z {
			for j, v := range h {
				z[o] += params[o*in+j] * v
			}
			z[o] += params[in*out+o]
			if l < len(widths)-1 {
				margin = min(margin, math.Abs(z[o]))
				z[o] = max(z[o], 0)
			}
		}
		h, params = z, params[(in+1)*out:]
	}
	return h, margin
}

func TestPerceptron(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// The sizes are below and above wideLayer.
		widths := rapid.SliceOfN(rapid.IntRange(1, 14), 2, 5).Draw(t, "widths")
		src := synth.NewStream(rapid.Uint64().Draw(t, "seed"), "perceptron")
		fresh := func() FeatureMap { return &Perceptron{Widths: widths} }
		params := make([]float64, fresh().NumParams())
		(&Perceptron{Widths: widths}).Init(params, src)
		// The difference quotients of these rows cross no kink.
		var rows []float64
		for range 1 + src.IntN(6) {
			for range 100 {
				x := normalVector(src, widths[0])
				if _, margin := perceptron(widths, params, x); margin > 1e-2 {
					rows = append(rows, x...)
					break
				}
			}
		}
		if len(rows) == 0 {
			t.Skip("every row is at a kink")
		}
		reference := func(params, x []float64) []float64 {
			h, _ := perceptron(widths, params, x)
			return h
		}
		testFeatureMap(t, fresh, reference, params, mat.NewDense(len(rows)/widths[0], widths[0], rows), 1e-5)
	})
}

// A Perceptron returns the same results and kinks with several goroutines as with one.
func TestPerceptronSharedByGoroutines(t *testing.T) {
	src := synth.NewStream(3, "shared")
	for _, c := range []struct {
		rows   int
		widths []int
	}{{101, []int{2, 64, 64, 2}}, {400, []int{9, 40, 7, 33, 3}}} {
		one, three := &Perceptron{Widths: c.widths, Workers: 1}, &Perceptron{Widths: c.widths, Workers: 3}
		params := make([]float64, one.NumParams())
		one.Init(params, src)
		clear(params[:c.widths[0]])         // the first unit is at its kink
		params[c.widths[0]*c.widths[1]] = 0 // for all rows
		x, d := normalMatrix(src, c.rows, c.widths[0]), normalMatrix(src, c.rows, c.widths[len(c.widths)-1])
		var got [2][]float64
		for k, p := range []*Perceptron{one, three} {
			h, err := p.Forward(params, x)
			if err != nil {
				t.Fatal(err)
			}
			if p.parts != 1+2*k {
				t.Fatalf("%v: %d parts of %d", c.widths, p.parts, 1+2*k)
			}
			dparams, dx := normalVector(synth.NewStream(4, "shared"), len(params)), mat.NewDense(c.rows, c.widths[0], nil)
			out := slices.Clone(h.RawMatrix().Data)
			p.Backward(dparams, dx, d)
			if !p.Generalised() {
				t.Errorf("%v: no kink", c.widths)
			}
			got[k] = slices.Concat(out, dparams, dx.RawMatrix().Data)
		}
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%v: results depend on the number of goroutines", c.widths)
		}
	}
}

func TestPerceptronSizesOfThePaper(t *testing.T) {
	for _, c := range []struct {
		widths []int
		want   int
	}{{[]int{2, 64, 2}, 322}, {[]int{2, 64, 64, 2}, 4482}} {
		p := Perceptron{Widths: c.widths}
		if n := p.NumParams(); n != c.want {
			t.Errorf("%v has %d parameters, want %d", c.widths, n, c.want)
		}
	}
}

// The derivative of the rectifier at z = 0 is 0, so only the output's constant has a derivative
// here.
func TestPerceptronAtTheKink(t *testing.T) {
	p := Perceptron{Widths: []int{1, 1, 1}}
	casetest.Must(p.Forward([]float64{1, 0, 5, 2}, mat.NewDense(1, 1, nil)))(t)
	grad := make([]float64, 4)
	p.Backward(grad, nil, mat.NewDense(1, 1, []float64{3}))
	if want := [4]float64{0, 0, 0, 3}; [4]float64(grad) != want {
		t.Errorf("gradient %v, want %v", grad, want)
	}
}

func TestPerceptronInit(t *testing.T) {
	p := Perceptron{Widths: []int{4, 300, 16}}
	params := make([]float64, p.NumParams())
	p.Init(params, synth.NewStream(1, "weights"))
	for l, s := range [][]float64{params[:1500], params[1500:]} {
		bound := []float64{1. / 2, 1 / math.Sqrt(300)}[l]
		top, mean := 0.0, 0.0
		for _, v := range s {
			top = max(top, math.Abs(v))
			mean += v / float64(len(s))
		}
		if top > bound || top < .99*bound || math.Abs(mean) > 4*bound/math.Sqrt(3*float64(len(s))) {
			t.Errorf("layer %d: largest modulus %v of at most %v, mean %v", l, top, bound, mean)
		}
	}
	wantPanic(t, "params", func() { p.Init(params[1:], synth.NewStream(1, "weights")) })
}

// No rectifier hides a NaN, and features that overflow are errors.
func TestMapsRefuseFeaturesThatAreNotFinite(t *testing.T) {
	for name, c := range map[string]struct {
		f      FeatureMap
		params []float64
	}{
		"perceptron, NaN":      {&Perceptron{Widths: []int{1, 2, 1}}, []float64{math.NaN(), 1, 0, 0, 1, 1, 0}},
		"perceptron, overflow": {&Perceptron{Widths: []int{1, 2, 1}}, []float64{1e200, 1, 0, 0, 1e200, 1, 0}},
		"linear, NaN":          {&LinearMap{In: 1, Out: 2}, []float64{1, math.NaN()}},
		"linear, overflow":     {&LinearMap{In: 1, Out: 1}, []float64{1e308}},
	} {
		if phi, err := c.f.Forward(c.params, mat.NewDense(1, 1, []float64{10})); !errors.Is(err, qpdiff.ErrNotFinite) || phi != nil {
			t.Errorf("%s: features %v, error %v", name, phi, err)
		}
	}
}

// A Perceptron reports a unit's kink only if the cotangent of the unit's output is not 0.
func TestPerceptronReportsItsKinks(t *testing.T) {
	for _, c := range []struct {
		name   string
		params []float64 // W = (w0, w1), b = (b0, b1), then the output's weights and constant
		x      []float64
		want   bool
	}{
		{"smooth", []float64{1, -1, 1, 1, 2, 3, 0}, []float64{2, 3}, false},
		{"second unit of the second example", []float64{1, -1, 1, 3, 2, 3, 0}, []float64{2, 3}, true},
		{"no weight reaches it", []float64{1, -1, 1, 3, 2, 0, 0}, []float64{2, 3}, false},
		{"all parameters 0", make([]float64, 7), []float64{2, 3}, false},
		{"first example", []float64{1, -1, -2, 1, 2, 3, 0}, []float64{2, 3}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Perceptron{Widths: []int{1, 2, 1}}
			casetest.Must(p.Forward(c.params, mat.NewDense(2, 1, c.x)))(t)
			p.Backward(make([]float64, 7), nil, mat.NewDense(2, 1, []float64{1, 1}))
			if p.Generalised() != c.want {
				t.Errorf("Generalised is %v, want %v", p.Generalised(), c.want)
			}
		})
	}
}

func TestPerceptronRefusesBadWidths(t *testing.T) {
	for _, w := range [][]int{nil, {2}, {2, 0, 2}, {-1, 2}} {
		p := Perceptron{Widths: w}
		p.Dims()
		p.NumParams()
		if _, err := p.Forward(nil, mat.NewDense(1, 2, nil)); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%v: error %v", w, err)
		}
	}
}

func BenchmarkPerceptron(b *testing.B) {
	for _, c := range []struct {
		rows   int
		widths []int
	}{{60, []int{2, 64, 2}}, {100, []int{2, 64, 64, 2}}} {
		src := synth.NewStream(1, "benchmark")
		p := Perceptron{Widths: c.widths}
		params, grad := make([]float64, p.NumParams()), make([]float64, p.NumParams())
		p.Init(params, src)
		x, d := normalMatrix(src, c.rows, 2), normalMatrix(src, c.rows, 2)
		forward := func() {
			if _, err := p.Forward(params, x); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprint(c.widths, "forward"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				forward()
			}
		})
		b.Run(fmt.Sprint(c.widths, "both"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				forward()
				p.Backward(grad, nil, d)
			}
		})
	}
}

// BenchmarkLearnedKernelStep times the steps of a descent in the paper's second and third
// experiments.
func BenchmarkLearnedKernelStep(b *testing.B) {
	src := synth.NewStream(1, "benchmark")
	rings, err := synth.MakeRings(src, 60, synth.Rings{})
	if err != nil {
		b.Fatal(err)
	}
	xor, err := synth.MakeXOR(src, src, 100, synth.XOR{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		d      synth.Data
		widths []int
		c      float64
	}{
		{"rings", rings, []int{2, 64, 2}, 10},
		{"XOR", xor, []int{2, 64, 64, 2}, 50},
	} {
		splits, err := RandomSplits(src, len(c.d.Y), 256, .95)
		if err != nil {
			b.Fatal(err)
		}
		net := &Perceptron{Widths: c.widths}
		shared := func(workers int) *CV {
			cv, err := New(Config{Data: learn.Data{X: c.d.X, Y: c.d.Y}, Splits: splits, Loss: LogisticLoss{}, Features: net, Hyper: []float64{c.c}, Workers: workers,
				Learner: func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }})
			if err != nil {
				b.Fatal(err)
			}
			return cv
		}
		cv := shared(1)
		start := make([]float64, cv.Dims())
		net.Init(start, src)
		b.Run(c.name+"/value", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cv.Eval(nil, start); err != nil {
					b.Fatal(err)
				}
			}
		})
		step := func(b *testing.B, cv *CV) {
			b.ReportAllocs()
			x, grad := make([]float64, len(start)), make([]float64, len(start))
			steps := 0
			for b.Loop() {
				if steps%100 == 0 {
					copy(x, start)
				}
				steps++
				if _, err := cv.Eval(grad, x); err != nil {
					b.Fatal(err)
				}
				floats.AddScaled(x, -.1, grad)
			}
		}
		b.Run(c.name+"/step", func(b *testing.B) { step(b, cv) })
		b.Run(c.name+"/shared by two", func(b *testing.B) { step(b, shared(2)) })
	}
}
