package learntest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// waysTol bounds the relative difference between two ways. Their systems have condition numbers up
// to 1e3, and conjugate gradients stop at 1e-12.
const waysTol = 1e-8

// All ways of a learner give the same results up to rounding on both sides of each threshold.
func TestWaysAgree(t *testing.T) {
	const never = math.MaxInt32
	net := func() learn.ForwardLearner { return new(linear.ElasticNet) }
	sparseLogistic := func() learn.ForwardLearner { return &linear.SparseLogistic{Intercept: true} }
	logistic := func() learn.ForwardLearner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	huber := func() learn.ForwardLearner { return &linear.Huber{Intercept: true} }
	usual := [][2]int{{60, 5}, {40, 40}, {90, 35}, {30, 120}, {40, 210}}
	for _, c := range []struct {
		name    string
		set     func(int) int
		fresh   func() learn.ForwardLearner
		hyper   []float64
		classes bool
		sparse  bool
		sizes   [][2]int
	}{
		{"ElasticNet, Gram or working sets", ways.SetGramFeatures, net, []float64{.05, .1}, false, false, usual},
		{"SparseLogistic, all features or working sets", ways.SetGramFeatures, sparseLogistic, []float64{.03, .1}, true, false, usual},
		{"ElasticNet, copies or rows in place", ways.SetManyRows, net, []float64{.05, .1}, false, false, [][2]int{{60, 5}, {200, 40}, {4100, 3}}},
		{"Logistic, entries or products", ways.SetProductFeatures, logistic, []float64{1}, true, false, usual},
		{"Huber, systems of features or of rows", ways.SetProductFeatures, huber, []float64{.1, .5}, false, false, usual[3:]},
		{"ElasticNet, factor or gradients", ways.SetSparseFeatures, net, []float64{.01, .1}, false, true, usual},
		{"SparseLogistic, factor or gradients", ways.SetSparseFeatures, sparseLogistic, []float64{.01, .1}, true, true, usual},
		{"Logistic, factor or gradients", ways.SetSparseFeatures, logistic, []float64{1}, true, true, usual},
	} {
		t.Run(c.name, func(t *testing.T) {
			differs := false
			for _, size := range c.sizes {
				rng := rand.New(rand.NewPCG(uint64(size[0]), uint64(size[1])))
				d := casetest.RandomData(rng.Uint64(), size[0], size[1], c.classes)
				if c.classes {
					d.Y[0], d.Y[1] = 1, -1
				}
				d.Weights = make([]float64, size[0])
				for i := range d.Weights { // without weights, two of the ways compute the same sums
					d.Weights[i] = 1 + rng.Float64()
				}
				if c.sparse {
					d.X = numtest.DrawStored(rng, size[0], size[1])
				}
				by := func(most int) [][]float64 {
					defer c.set(c.set(most))
					return fitResults(t, c.fresh(), d, c.hyper)
				}
				want, got := by(never), by(0)
				for k := range want {
					numtest.NearAll(t, fmt.Sprintf("%v, part %d", size, k), got[k], want[k], waysTol, 1e-3)
					differs = differs || !numtest.SameBits(got[k], want[k])
				}
			}
			if !differs {
				t.Error("the same bits by both ways: the override has no effect")
			}
		})
	}
}

// fitResults returns θ, the fields of a VJP, and a JVP.
func fitResults(t *testing.T, l learn.ForwardLearner, d learn.Data, hyper []float64) [][]float64 {
	t.Helper()
	_, n := d.X.Dims()
	params, _ := l.Dims(n)
	g, x := newGrad(d, len(hyper))
	along, _ := newGrad(d, len(hyper))
	copy(along.Hyper, hyper)
	theta, dtheta, v := make([]float64, params), make([]float64, params), make([]float64, params)
	for i := range v {
		v[i] = math.Sin(float64(3*i + 1))
	}
	for i := range along.Y {
		along.Y[i] = math.Cos(float64(i))
	}
	numtest.OK(t, l.Load(d), l.Fit(theta, hyper), l.VJP(nil, g, v), l.JVP(nil, dtheta, along))
	if err := residualError(l); err != nil {
		t.Error(err)
	}
	return [][]float64{theta, g.Hyper, x, g.Y, dtheta}
}

// newGrad returns a Grad of zeros for h hyperparameters, and its entries of X or Stored as a slice
// x.
func newGrad(d learn.Data, h int) (g *learn.Grad, x []float64) {
	if d.Sparse() {
		g = &learn.Grad{Hyper: make([]float64, h), Y: make([]float64, len(d.Y)), Stored: make([]float64, d.Stored())}
		return g, g.Stored
	}
	g = casetest.NewGrad(d, h)
	return g, g.X.RawMatrix().Data
}
