package penalised

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// normal returns the FoldNormal of a problem, which scales some or all features.
func (p foldProblem) normal(seed uint64) learn.FoldNormal {
	rows, n := p.d.X.Dims()
	c := learn.FoldNormal{Intercept: seed%4 > 1, Scaled: make([]bool, n)}
	for j := range n {
		c.Scaled[j] = j != int(seed%3)
	}
	for _, val := range p.folds {
		for j, scaled := range c.Scaled {
			var total, sum, squares float64
			for i := range rows {
				if slices.Contains(val, i) {
					continue
				}
				w, v := 1.0, p.d.X.At(i, j)
				if p.d.Weights != nil {
					w = p.d.Weights[i]
				}
				total += w
				sum += w * v
				squares += w * v * v
			}
			c.Deviations = append(c.Deviations, 1)
			if scaled {
				c.Deviations[len(c.Deviations)-1] = math.Sqrt(squares/total - sum/total*sum/total)
			}
		}
	}
	return c
}

// value returns Σ ddst·dst of normalised folds.
func (p foldProblem) value(t *testing.T, l *GLM, seed uint64) float64 {
	t.Helper()
	dst := make([]float64, len(p.ddst))
	l.NormaliseFolds(p.normal(seed))
	numtest.OK(t, l.Load(p.d), l.Folds(dst, p.hyper, p.folds))
	return dense.Dot(dst, p.ddst)
}

// The derivatives of normalised folds are equal to difference quotients of their predictions.
func TestNormalisedFoldsDerivatives(t *testing.T) {
	const step, tol = 1e-5, 1e-6 // the differences have errors of order step² and of rounding/step
	for seed := range uint64(60) {
		p := drawFolds(seed)
		rows, n := p.d.X.Dims()
		g, dx := casetest.NewGrad(p.d, 2), mat.NewDense(rows, n, nil)
		size := 1 + math.Abs(p.value(t, p.l, seed))
		numtest.OK(t, p.l.FoldsVJP(nil, g, dx, p.ddst))
		dx.Add(dx, g.X) // each row as training row and as predicted row
		check := func(name string, at *float64, got float64) {
			t.Helper()
			before, h := *at, step*(1+math.Abs(*at))
			*at = before + h
			up := p.value(t, p.l, seed)
			*at = before - h
			down := p.value(t, p.l, seed)
			*at = before
			if want := (up - down) / (2 * h); !(math.Abs(got-want) <= tol*(size+math.Abs(want))) {
				t.Errorf("problem %d: derivative in %s is %v, want %v", seed, name, got, want)
			}
		}
		for j := range p.hyper {
			check("hyper", &p.hyper[j], g.Hyper[j])
		}
		for i := range rows {
			check("y", &p.d.Y[i], g.Y[i])
			check("X", &p.d.Dense().RawRowView(i)[int(seed)%n], dx.At(i, int(seed)%n))
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

// A learner for normalised folds returns an error for Fit and for invalid folds or deviations.
func TestNormalisedFoldsRefusals(t *testing.T) {
	d := learn.Data{X: mat.NewDense(4, 1, []float64{1, 2, 3, 5}), Y: make([]float64, 4)}
	l := &GLM{}
	ones := learn.FoldNormal{Scaled: []bool{false}, Deviations: []float64{1, 1}}
	l.NormaliseFolds(ones)
	numtest.OK(t, l.Load(d))
	dst := make([]float64, 4)
	numtest.OK(t, l.Folds(dst, []float64{1}, [][]int{{0, 1}, {2, 3}}))
	if err := l.Fit(dst[:1], []float64{1}); !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
	for _, c := range []struct {
		folds [][]int
		kind  error
	}{{[][]int{{0}, {1, 2, 3}}, nil}, {[][]int{{}, {0, 1, 2, 3}}, qpdiff.ErrDomain}, {[][]int{{0, 1, 2, 3}}, qpdiff.ErrShape}} {
		if err := l.Folds(dst, []float64{1}, c.folds); !errors.Is(err, c.kind) {
			t.Errorf("%v: %v", c.folds, err)
		}
	}
	l.NormaliseFolds(learn.FoldNormal{Scaled: []bool{false}, Deviations: []float64{1}})
	if err := l.Folds(dst, []float64{1}, [][]int{{0, 1, 2, 3}}); !errors.Is(err, qpdiff.ErrDomain) {
		t.Error(err)
	}
	l.NormaliseFolds(learn.FoldNormal{})
	numtest.OK(t, l.Load(d), l.Fit(dst[:1], []float64{1}))
}

// If an unpenalised feature is constant outside a fold, Folds returns an error of kind ErrIllPosed,
// as Fit does. Rounding of the feature's mean must not act as a feature. With a penalty, the
// predictions are the predictions of Fit.
func TestFoldsWithoutARareLevel(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 44))
		rows, n := 12+rng.IntN(20), 1+rng.IntN(4)
		p := foldProblem{l: &GLM{Intercept: true}, d: casetest.RandomData(seed, rows, n, false), folds: [][]int{rng.Perm(rows)[:5]}, ddst: make([]float64, 5)}
		for i := range rows {
			p.d.Dense().Set(i, 0, 0)
		}
		for _, i := range p.folds[0][:3] {
			p.d.Dense().Set(i, 0, 1)
		}
		p.l.Penalties, p.hyper = []Penalty{Ridge(0, n), Ridge(0, 1)}, []float64{.3, .1}
		got := make([]float64, 5)
		want, _, _ := p.foldwiseFits(t)
		numtest.OK(t, p.l.Load(p.d), p.l.Folds(got, p.hyper, p.folds))
		numtest.NearAll(t, "predictions", got, want, 1e-10, 0)
		if err := p.l.Folds(got, make([]float64, 2), p.folds); !errors.Is(err, qpdiff.ErrIllPosed) {
			t.Errorf("problem %d: error %v, predictions %v", seed, err, got)
		}
	}
}
