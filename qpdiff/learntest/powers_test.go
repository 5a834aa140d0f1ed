package learntest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/mat"
)

// Changes of units by powers of two change results only by rounding, even if squares overflow.
func TestLearnersPowersOfTwo(t *testing.T) {
	none := func() func() { return func() {} }
	working := func() func() {
		gram, product := ways.SetGramFeatures(0), ways.SetProductFeatures(0)
		return func() { ways.SetGramFeatures(gram); ways.SetProductFeatures(product) }
	}
	many := func() func() {
		rows := ways.SetManyRows(0)
		return func() { ways.SetManyRows(rows) }
	}
	gradients := func() func() {
		most := ways.SetSparseFeatures(0)
		return func() { ways.SetSparseFeatures(most) }
	}
	elastic := func() learn.Learner { return new(linear.ElasticNet) }
	huber := func() learn.Learner { return &linear.Huber{Intercept: true} }
	logistic := func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	sparseLogistic := func() learn.Learner { return &linear.SparseLogistic{Intercept: true} }
	both, lasso := [][4]float64{{.01, .3, 1, 1}, {.01, .1, 2, 0}}, [][4]float64{{.01, .3, 1, 1}, {0, 0, 2, 0}}
	c, l1l2, delta := [][4]float64{{.1, 10, -2, 0}}, [][4]float64{{.01, .1, 1, 0}, {.01, .1, 2, 0}}, [][4]float64{{.01, .1, 2, 0}, {.1, 1.1, 0, 1}}
	for _, p := range []powerCase{
		{unitCase{"ElasticNet", elastic, false, -1, both}, 20, false, none},
		{unitCase{"ElasticNet, working sets", elastic, false, -1, both}, 20, false, working},
		{unitCase{"ElasticNet, many rows", elastic, false, -1, both}, 20, false, many},
		{unitCase{"ElasticNet, sparse", elastic, false, -1, both}, 20, true, none},
		{unitCase{"ElasticNet, gradients", elastic, false, -1, both}, 20, true, gradients},
		{unitCase{"ridge", elastic, false, -1, [][4]float64{{0, 0, 1, 1}, {.01, .1, 2, 0}}}, 20, false, working},
		{unitCase{"lasso", elastic, false, -1, lasso}, 20, false, none},
		{unitCase{"lasso, working sets", elastic, false, -1, lasso}, 20, false, working},
		{unitCase{"lasso, gradients", elastic, false, -1, lasso}, 20, true, gradients},
		{unitCase{"Huber", huber, false, -1, delta}, 20, false, none},
		{unitCase{"Huber, products", huber, false, -1, delta}, 20, false, working},
		{unitCase{"Logistic", logistic, true, -1, c}, 20, false, none},
		{unitCase{"Logistic, products", logistic, true, -1, c}, 20, false, working},
		{unitCase{"Logistic, sparse", logistic, true, -1, c}, 20, true, none},
		{unitCase{"Logistic, gradients", logistic, true, -1, c}, 20, true, gradients},
		{unitCase{"SparseLogistic", sparseLogistic, true, -1, l1l2}, 20, false, none},
		{unitCase{"SparseLogistic, working sets", sparseLogistic, true, -1, l1l2}, 20, false, working},
		{unitCase{"SparseLogistic, sparse", sparseLogistic, true, -1, l1l2}, 20, true, none},
		{unitCase{"SparseLogistic, gradients", sparseLogistic, true, -1, l1l2}, 20, true, gradients},
		{unitCase{"penalised.GLM", func() learn.Learner { return new(penalised.GLM) }, false, -1, [][4]float64{{.1, 10, 2, 0}}}, 20, false, none},
		{unitCase{"penalised.GLM, logistic", func() learn.Learner { return &penalised.GLM{Loss: penalised.Logistic} }, true, -1, [][4]float64{{.1, 10, 2, 0}}}, 20, false, none},
		{unitCase{"SVM", func() learn.Learner { return new(margin.SVM) }, true, -1, [][4]float64{{.01, .1, 1, 0}, {.01, 1, 2, 0}}}, 20, false, none},
		{unitCase{"LearnedLoss", func() learn.Learner { return new(margin.LearnedLoss) }, true, -1, [][4]float64{{.1, 1}, {.1, 1}, {.1, 1}, {.1, 1}, {.01, 1, 2, 0}}}, 20, false, none},
		{unitCase{"kernel.SVM", func() learn.Learner { return new(biased) }, true, 0, [][4]float64{{.1, 10}, {.1, 1.1, -2, 0}}}, 20, false, none},
		{unitCase{"kernel.Ridge", func() learn.Learner { return &kernel.Ridge{Intercept: true} }, false, 0, [][4]float64{{1e-3, 1}, {.1, 1.1, -2, 0}}}, 20, false, none},
	} {
		t.Run(p.name, func(t *testing.T) {
			defer p.way()()
			answered := 0
			for trial := range uint64(numtest.Long(10)) {
				answered += p.trial(t, rand.New(rand.NewPCG(trial, 43)))
			}
			if answered < numtest.Long(15) {
				t.Errorf("only %d answered", answered)
			}
		})
	}
}

// A powerCase is a unitCase for changes by powers of two, with the way to test.
type powerCase struct {
	unitCase
	most   int
	sparse bool
	way    func() (restore func())
}

// trial compares changes of units, and counts them.
func (p powerCase) trial(t *testing.T, rng *rand.Rand) (answered int) {
	t.Helper()
	rows, n := 8+rng.IntN(12), 1+rng.IntN(p.most)
	d := casetest.RandomData(rng.Uint64(), rows, n, p.classes)
	if p.classes {
		d.Y[0], d.Y[1] = 1, -1
	}
	if p.sparse {
		d.X = numtest.DrawStored(rng, rows, n)
	}
	hyper := make([]float64, len(p.hyper))
	for k, h := range p.hyper {
		if h[0] > 0 {
			hyper[k] = h[0] * math.Pow(h[1]/h[0], rng.Float64())
		}
	}
	want, err := p.fitInUnits(d, hyper, 0, 0, 0)
	if err != nil {
		return 0 // such as equal columns without a penalty
	}
	for _, u := range [][3]int{ // powers of features, labels and cotangents
		{300, 0, 0}, {-300, 0, 0}, {0, 300, 0}, {0, -300, 0}, {300, 300, 0}, {-300, -300, 0}, {300, -300, 0}, {-300, 300, 0},
		{0, 0, 900}, {0, 0, -900}, {100, 0, -300}, {-100, 0, 300}, {-100, 100, -100}, {60, -30, 60},
	} {
		if p.classes && u[1] != 0 {
			continue
		}
		got, err := p.fitInUnits(d, hyper, u[0], u[1], u[2])
		if err != nil {
			t.Fatalf("%d × %d, powers %v: %v", rows, n, u, err)
		}
		for k := range got {
			if !numtest.Near(got[k], want[k]) {
				t.Fatalf("%d × %d, powers %v: part %d is %v, want %v", rows, n, u, k, got[k], want[k])
			}
		}
		answered++
	}
	return answered
}

// fitInUnits returns θ and its derivatives, converted back from the units 2^a of features, 2^b of
// labels and 2^c of cotangents.
func (p powerCase) fitInUnits(d learn.Data, hyper []float64, a, b, c int) (values [4][]float64, err error) {
	scaled := func(v []float64, power int) []float64 {
		s := make([]float64, len(v))
		for i := range v {
			s[i] = math.Ldexp(v[i], power)
		}
		return s
	}
	rows, n := d.X.Dims()
	g, e := &learn.Grad{Hyper: make([]float64, len(hyper)), Y: make([]float64, rows)}, learn.Data{Y: scaled(d.Y, b)}
	if s, ok := d.X.(*numtest.Stored); ok {
		x := &numtest.Stored{Rows: rows, Columns: n, Index: s.Index, Value: make([][]float64, rows)}
		for i, v := range s.Value {
			x.Value[i] = scaled(v, a)
		}
		e.X, g.Stored = x, make([]float64, learn.Data{X: x}.Stored())
	} else {
		e.X, g.X = mat.NewDense(rows, n, scaled(d.Dense().RawMatrix().Data, a)), mat.NewDense(rows, n, nil)
	}
	power := func(k int) int { return a*int(p.hyper[k][2]) + b*int(p.hyper[k][3]) }
	h := make([]float64, len(hyper))
	for k := range h {
		h[k] = math.Ldexp(hyper[k], power(k))
	}
	l := p.new()
	theta := make([]float64, numtest.First(l.Dims(n)))
	if err := errors.Join(l.Load(e), l.Fit(theta, h)); err != nil {
		return values, fmt.Errorf("fit: %w", err)
	}
	if err := residualError(l); err != nil {
		return values, err
	}
	v := make([]float64, len(theta))
	slope := func(i int) int { // the power of θ_i
		if p.slope == 0 || i == n { // of an intercept
			return b
		}
		return b - a
	}
	for i := range v {
		v[i] = math.Ldexp(1+.3*math.Sin(float64(i)), c-slope(i))
	}
	if err := l.VJP(nil, g, v); err != nil {
		return values, fmt.Errorf("VJP: %w", err)
	}
	for i := range theta {
		theta[i] = math.Ldexp(theta[i], -slope(i))
	}
	for k := range g.Hyper {
		g.Hyper[k] = math.Ldexp(g.Hyper[k], power(k)-c)
	}
	x := g.Stored
	if g.X != nil {
		x = g.X.RawMatrix().Data
	}
	return [4][]float64{theta, scaled(x, a-c), g.Hyper, scaled(g.Y, b-c)}, nil
}
