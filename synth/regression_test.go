package synth_test

import (
	"cmp"
	"errors"
	"math"
	"testing"

	"cvgm/synth"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestPublishedRegression reproduces the data of the published Table 1. NumPy with the seed 0 draws
// two other data sets first.
func TestPublishedRegression(t *testing.T) {
	table := synth.Regression{Samples: 1000, Features: 10, Informative: 8, Noise: 100}
	for _, c := range []struct {
		file   string
		before int // number of data sets drawn before
	}{{"regression_first_call.json.gz", 0}, {"regression_third_call.json.gz", 2}} {
		var golden struct {
			X            [][]float64
			Y, Coef      []float64
			Permutations [][]int
		}
		readJSON(t, c.file, &golden)
		src := synth.NewNumPy(0)
		for range c.before {
			other := table
			other.Informative = 5
			if _, _, err := synth.MakeRegression(src, other); err != nil {
				t.Fatal(err)
			}
		}
		d, coef, err := synth.MakeRegression(src, table)
		if err != nil {
			t.Fatal(err)
		}
		scaleAll(d.Y, .01)
		scaleAll(coef, .01)
		wantRows(t, "X", d.X, golden.X, 1e-14)
		wantClose(t, "y", d.Y[:len(golden.Y)], golden.Y, 1e-14)
		wantClose(t, "coef", coef, golden.Coef, 1e-14)
		for i, p := range golden.Permutations {
			if diff := gocmp.Diff(p, src.Perm(30)); diff != "" {
				t.Fatalf("%s, split %d: %s", c.file, i, diff)
			}
		}
	}
}

func scaleAll(x []float64, by float64) {
	for i := range x {
		x[i] *= by
	}
}

// TestScikitLearnRegression compares the data, and the number of random draws, with scikit-learn's.
func TestScikitLearnRegression(t *testing.T) {
	var golden []struct {
		Options struct {
			Samples       int `json:"n_samples"`
			Features      int `json:"n_features"`
			Informative   int `json:"n_informative"`
			EffectiveRank int `json:"effective_rank"`
			Bias, Noise   float64
			TailStrength  float64 `json:"tail_strength"`
			Shuffle       *bool
		}
		X       [][]float64
		Y, Coef []float64
		Next    float64
	}
	readJSON(t, "sklearn.json", &golden)
	if len(golden) == 0 {
		t.Fatal("no reference")
	}
	for _, g := range golden {
		o := g.Options
		src := synth.NewNumPy(42)
		d, coef, err := synth.MakeRegression(src, synth.Regression{
			Samples: o.Samples, Features: o.Features, Informative: o.Informative,
			Bias: o.Bias, Noise: o.Noise,
			EffectiveRank: o.EffectiveRank, TailStrength: o.TailStrength,
			NoShuffle: o.Shuffle != nil && !*o.Shuffle,
		})
		if err != nil {
			t.Fatal(err)
		}
		wantRows(t, "X", d.X, g.X, 1e-14)
		wantClose(t, "y", d.Y, g.Y, 1e-13)
		wantClose(t, "coef", coef, g.Coef, 1e-14)
		if got := src.Float64(); got != g.Next {
			t.Errorf("%+v: next draw %v, want %v", o, got, g.Next)
		}
	}
}

func TestRegressionErrors(t *testing.T) {
	for arg, o := range map[string]synth.Regression{
		"Regression.Samples":       {Samples: -1},
		"Regression.Features":      {Features: -3},
		"Regression.Informative":   {Informative: -1},
		"Regression.Bias":          {Bias: math.Inf(1)},
		"Regression.Noise":         {Noise: math.NaN()},
		"Regression.EffectiveRank": {EffectiveRank: -1},
		"Regression.TailStrength":  {EffectiveRank: 2, TailStrength: 1.5},
	} {
		wantArgError(t, arg, func() error {
			_, _, err := synth.MakeRegression(synth.NewNumPy(0), o)
			return err
		})
	}
	wantArgError(t, "Regression.Samples", func() error {
		_, _, err := synth.MakeRegression(synth.NewNumPy(0), synth.Regression{Samples: 1 << 20, Features: 1 << 20})
		return err
	})
}

// wantArgError fails the test unless the function make returns an ArgError for the argument.
func wantArgError(t testing.TB, arg string, make func() error) {
	t.Helper()
	err := make()
	var argErr *synth.ArgError
	if !errors.As(err, &argErr) {
		t.Fatalf("%s: error %v, want an ArgError", arg, err)
	}
	if argErr.Arg != arg || argErr.Problem == "" || argErr.Remedy == "" {
		t.Errorf("got %+v, want Arg %s and a problem and remedy", argErr, arg)
	}
}

// FuzzRegression expects an ArgError, or finite data and coefficients of the right shape.
func FuzzRegression(f *testing.F) {
	f.Add(uint64(0), 20, 5, 3, 0., 1., 0, 0., false)
	f.Add(uint64(1), 5, 20, 30, 1e300, 1e300, 3, .5, true)
	f.Add(uint64(2), 1, 1, 1, -1., 0., 1<<30, 1., false)
	f.Fuzz(func(t *testing.T, seed uint64, n, p, informative int, bias, noise float64, rank int, tail float64, ordered bool) {
		o := synth.Regression{
			Samples: n % 100, Features: p % 100, Informative: informative, Bias: bias, Noise: noise,
			EffectiveRank: rank, TailStrength: tail, NoShuffle: ordered,
		}
		d, coef, err := synth.MakeRegression(synth.NewStream(seed, "fuzz"), o)
		checkFuzzed(t, d, err)
		if err != nil {
			return
		}
		n, p, informative = cmp.Or(o.Samples, 100), cmp.Or(o.Features, 100), cmp.Or(informative, 10)
		if r, c := d.X.Dims(); r != n || c != p || len(d.Y) != n || len(coef) != p {
			t.Fatalf("X %d×%d, %d responses, %d coefficients for %+v", r, c, len(d.Y), len(coef), o)
		}
		var nonzero int
		for i, w := range coef {
			if w != 0 {
				nonzero++
				if ordered && i >= informative {
					t.Fatalf("coefficient %d is %v", i, w)
				}
			}
		}
		if nonzero > min(p, informative) {
			t.Fatalf("%d coefficients for %+v", nonzero, o)
		}
	})
}
