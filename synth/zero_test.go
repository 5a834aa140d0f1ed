package synth_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// The zero value of a generator has the seed 0, except that a zero Stream differs from all other
// streams.
func TestZeroValuesOfGenerators(t *testing.T) {
	for name, c := range map[string]struct{ zero, seeded func() []float64 }{
		"NumPy.Float64":     {func() []float64 { return drawValues(2000, new(synth.NumPy).Float64) }, func() []float64 { return drawValues(2000, synth.NewNumPy(0).Float64) }},
		"NumPy.NormFloat64": {func() []float64 { return drawValues(2000, new(synth.NumPy).NormFloat64) }, func() []float64 { return drawValues(2000, synth.NewNumPy(0).NormFloat64) }},
		"NumPy.Perm":        {func() []float64 { return floats(new(synth.NumPy).Perm(50)) }, func() []float64 { return floats(synth.NewNumPy(0).Perm(50)) }},
		"Python.Float64":    {func() []float64 { return drawValues(2000, new(synth.Python).Float64) }, func() []float64 { return drawValues(2000, synth.NewPython(0).Float64) }},
		"Torch.Linear": {func() []float64 { w := make([]float64, 700); new(synth.Torch).Linear(w, w[:7]); return w },
			func() []float64 { w := make([]float64, 700); synth.NewTorch(0).Linear(w, w[:7]); return w }},
	} {
		zero, seeded := c.zero(), c.seeded()
		for i, v := range zero {
			if v != seeded[i] {
				t.Errorf("%s: draw %d is %v, with the seed 0 %v", name, i, v, seeded[i])
				break
			}
		}
	}
	var s, again synth.Stream
	other := synth.NewStream(0, "")
	if k := kolmogorov(drawValues(100_000, s.Float64), func(x float64) float64 { return x }); k > 1.95 {
		t.Errorf("the zero Stream: Kolmogorov statistic %.2f", k)
	}
	drawValues(100_000, again.Float64)
	copied := s
	for range 100 {
		if a, b, c := s.NormFloat64(), again.NormFloat64(), copied.NormFloat64(); a != b || a != c {
			t.Fatalf("two zero Streams draw %v and %v, and a copy %v", a, b, c)
		}
		if s.Float64() == other.Float64() {
			t.Error("the zero Stream is that of the seed 0")
		}
		again.Float64()
		copied.Float64()
	}
}

func floats(v []int) []float64 {
	f := make([]float64, len(v))
	for i, x := range v {
		f[i] = float64(x)
	}
	return f
}

// A normal draw of a Stream is the first v/u with v² ≤ −4u²·ln u. Leva's bounds only avoid
// logarithms.
func TestStreamNormalsAreRatiosOfUniforms(t *testing.T) {
	for seed := range uint64(4) {
		s := synth.NewStream(seed, "leva")
		plain := *s
		for i := range 200_000 {
			var want float64
			for {
				u := 1 - plain.Float64()
				v := float64(1.7156 * (plain.Float64() - .5))
				if v*v <= -4*u*u*math.Log(u) {
					want = v / u
					break
				}
			}
			if got := s.NormFloat64(); got != want {
				t.Fatalf("seed %d, draw %d is %v, want %v", seed, i, got, want)
			}
		}
	}
}

// IntN is uniform even if 2⁶⁴ is not a multiple of n. For n = 3·2⁶¹, a biased method would be
// visible.
func TestStreamIntNHasNoBias(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("no int is large enough to show the bias")
	}
	const n = math.MaxInt/4*3 + 3 // 3·2⁶¹
	s := synth.NewStream(2, "lemire")
	counts := make([]int, 3)
	for range 30_000 {
		counts[s.IntN(n)%3]++
	}
	if c := chiSquare(counts); math.Abs(c) > 6 {
		t.Errorf("counts %v: chi-square %.1f", counts, c)
	}
}

// Generators return an error for invalid options, and a zero BayesRule panics with an explanation.
func TestSynthRefusals(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	src := new(synth.Stream)
	regression := func(o synth.Regression) error { _, _, err := synth.MakeRegression(src, o); return err }
	rings := func(n int, o synth.Rings) error { _, err := synth.MakeRings(src, n, o); return err }
	xor := func(n int, o synth.XOR) error { _, err := synth.MakeXOR(src, src, n, o); return err }
	bayes := func(_ *synth.BayesRule, err error) error { return err }
	for name, err := range map[string]error{
		"negative samples":     regression(synth.Regression{Samples: -1}),
		"huge samples":         regression(synth.Regression{Samples: math.MaxInt}),
		"huge product":         regression(synth.Regression{Samples: 1 << 20, Features: 1 << 20}),
		"negative features":    regression(synth.Regression{Features: -3}),
		"negative informative": regression(synth.Regression{Informative: -3}),
		"NaN noise":            regression(synth.Regression{Noise: nan}),
		"negative noise":       regression(synth.Regression{Noise: -1}),
		"infinite bias":        regression(synth.Regression{Bias: inf}),
		"NaN bias":             regression(synth.Regression{Bias: nan}),
		"negative rank":        regression(synth.Regression{EffectiveRank: -1}),
		"NaN tail":             regression(synth.Regression{TailStrength: nan}),
		"tail above 1":         regression(synth.Regression{EffectiveRank: 2, TailStrength: 1.5}),
		"no rings":             rings(0, synth.Rings{}),
		"negative rings":       rings(math.MinInt, synth.Rings{}),
		"huge rings":           rings(math.MaxInt32, synth.Rings{}),
		"NaN deviation":        rings(3, synth.Rings{SD: nan}),
		"infinite radius":      rings(3, synth.Rings{Radii: [2]float64{1, inf}}),
		"NaN radius":           rings(3, synth.Rings{Radii: [2]float64{nan, 1}}),
		"negative radius":      rings(3, synth.Rings{Radii: [2]float64{-1, 1}}),
		"equal radii":          rings(3, synth.Rings{Radii: [2]float64{1, 1}}),
		"rule of NaN":          bayes(synth.Rings{SD: nan}.Bayes()),
		"no squares":           xor(0, synth.XOR{}),
		"huge squares":         xor(math.MaxInt32, synth.XOR{}),
		"NaN overlap":          xor(3, synth.XOR{Overlap: nan}),
		"overlap above 1":      xor(3, synth.XOR{Overlap: 1.5}),
		"NaN scale":            xor(3, synth.XOR{Scale: nan}),
		"infinite scale":       xor(3, synth.XOR{Scale: inf}),
		"rule of infinity":     bayes(synth.XOR{Scale: inf}.Bayes()),
	} {
		var arg *synth.ArgError
		if !errors.As(err, &arg) || arg.Remedy == "" {
			t.Errorf("%s: error %v", name, err)
		}
	}
	rule, err := synth.Rings{}.Bayes()
	if err != nil {
		t.Fatal(err)
	}
	square, err := synth.XOR{}.Bayes()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range [][]float64{{nan, 1}, {1, nan}} {
		for _, r := range []*synth.BayesRule{rule, square} {
			if s, l := r.Score(x), r.Label(x); !math.IsNaN(s) || !math.IsNaN(l) {
				t.Errorf("%v scores %v with the label %v", x, s, l)
			}
		}
	}
	one := synth.Data{X: mat.NewDense(1, 2, nil), Y: []float64{1}}
	for name, call := range map[string]func(){
		"Score of no rule": func() { new(synth.BayesRule).Score([]float64{1, 2}) },
		"Label of no rule": func() { new(synth.BayesRule).Label([]float64{1, 2}) },
		"three numbers":    func() { rule.Score([]float64{1, 2, 3}) },
		"no data":          func() { rule.SampleAccuracy(synth.Data{}) },
		"two labels":       func() { rule.SampleAccuracy(synth.Data{X: one.X, Y: []float64{1, 1}}) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || !strings.HasPrefix(s, "synth: ") {
					t.Errorf("%s: no panic that begins with \"synth: \"", name)
				}
			}()
			call()
		}()
	}
}
