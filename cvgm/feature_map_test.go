package cvgm

import (
	"errors"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

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

// FeatureMapContract is cvgmtest.FeatureMap. It is a variable because cvgmtest imports this
// package.
var FeatureMapContract func(t rapid.TB, fresh func() FeatureMap, reference func(params, x []float64) []float64, params []float64, x *mat.Dense, step float64)

// testFeatureMap is the contract of every feature map; see cvgmtest.FeatureMap.
func testFeatureMap(t rapid.TB, fresh func() FeatureMap, reference func(params, x []float64) []float64, params []float64, x *mat.Dense, step float64) {
	t.Helper()
	FeatureMapContract(t, fresh, reference, params, x, step)
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
			normalVector(src, in*out), normalMatrix(src, 1+src.IntN(7), in), 1e-2)
	})
	if _, err := new(LinearMap).Forward(nil, mat.NewDense(1, 1, nil)); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("no dimensions: error %v", err)
	}
}

func ringsData(t *testing.T, n int) learn.Data {
	t.Helper()
	d := casetest.Must(synth.MakeRings(synth.NewStream(3, "rings"), n, synth.Rings{}))(t)
	return learn.Data{X: d.X, Y: d.Y}
}

// Splits give the same loss and gradient whether they omit rows of a shared learner or copy their
// own rows.
func TestLeavingOutAgreesWithCopying(t *testing.T) {
	d := ringsData(t, 60)
	splits := casetest.Must(RandomSplits(synth.NewStream(4, "splits"), 60, 20, .9))(t)
	for name, change := range map[string]func(*Config){
		"C":         func(c *Config) {},
		"LinearMap": func(c *Config) { c.Features = &LinearMap{In: 2, Out: 3} },
		"fixed C":   func(c *Config) { c.Features, c.Hyper = &LinearMap{In: 2, Out: 2}, []float64{10} },
	} {
		t.Run(name, func(t *testing.T) {
			c := Config{Data: d, Splits: splits, Loss: LogisticLoss{},
				Learner: func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }}
			change(&c)
			fast := casetest.Must(New(c))(t)
			if fast.fullLearner == nil {
				t.Fatal("the splits copy their rows")
			}
			type copyingLearner struct{ learn.Learner } // hides LoadSubset
			leaveOuter := c.Learner
			c.Learner = func() learn.Learner { return copyingLearner{leaveOuter()} }
			slow := casetest.Must(New(c))(t)
			src := synth.NewStream(5, name)
			for range 3 {
				alpha := normalVector(src, fast.Dims())
				if c.Hyper == nil {
					alpha[0] = math.Exp(alpha[0])
				}
				gf, gs := make([]float64, len(alpha)), make([]float64, len(alpha))
				lf := casetest.Must(fast.Eval(gf, alpha))(t)
				ls := casetest.Must(slow.Eval(gs, alpha))(t)
				for i, v := range append(gf, lf) {
					if want := append(gs, ls)[i]; !(math.Abs(v-want) <= 1e-12*(1+math.Abs(want))) {
						t.Errorf("entry %d is %.17g leaving rows out, %.17g copying the others", i, v, want)
					}
				}
			}
		})
	}
}
