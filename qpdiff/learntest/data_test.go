package learntest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// A row that does not count may hold any finite features. It is no example of its class.
func TestRowsThatDoNotCount(t *testing.T) {
	without := casetest.RandomData(4, 9, 2, true)
	d := learn.Data{X: mat.NewDense(10, 2, nil), Y: append([]float64{-1}, without.Y...), Weights: slices.Repeat([]float64{1}, 10)}
	d.Dense().Slice(1, 10, 0, 2).(*mat.Dense).Copy(without.X)
	d.Dense().SetRow(0, []float64{1e200, -1e308})
	d.Weights[0] = 0
	for _, fresh := range []func() learn.ForwardLearner{
		func() learn.ForwardLearner { return new(linear.ElasticNet) }, func() learn.ForwardLearner { return new(linear.Logistic) },
		func() learn.ForwardLearner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, func() learn.ForwardLearner { return new(margin.SVM) },
		func() learn.ForwardLearner { return new(margin.LearnedLoss) }, func() learn.ForwardLearner { return &casetest.Predictions{P: new(kernel.SVM)} },
		func() learn.ForwardLearner { return &casetest.Predictions{P: &kernel.SVM{Intercept: true}} },
		func() learn.ForwardLearner { return new(linear.SparseLogistic) },
	} {
		l, want := fresh(), fresh()
		p, h := l.Dims(2)
		theta, reference, hyper := make([]float64, p), make([]float64, p), []float64{.1, .2, .3, .1, .4}[:h]
		if err := errors.Join(l.Load(d), want.Load(without), l.Fit(theta, hyper), want.Fit(reference, hyper)); err != nil {
			t.Errorf("%T: %v", l, err)
			continue
		}
		numtest.NearAll(t, fmt.Sprintf("%T: theta", l), theta, reference, 1e-12, 0)
		g, wantG := casetest.NewGrad(d, h), casetest.NewGrad(without, h)
		numtest.OK(t, l.VJP(nil, g, reference), want.VJP(nil, wantG, reference))
		numtest.NearAll(t, fmt.Sprintf("%T: hyper", l), g.Hyper, wantG.Hyper, 1e-12, 0)
		numtest.NearAll(t, fmt.Sprintf("%T: X", l), g.X.RawMatrix().Data, append(make([]float64, 2), wantG.X.RawMatrix().Data...), 1e-12, 0)
		numtest.NearAll(t, fmt.Sprintf("%T: y", l), g.Y, append([]float64{0}, wantG.Y...), 1e-12, 0)
		numtest.OK(t, l.JVP(nil, theta, g), want.JVP(nil, reference, wantG))
		numtest.NearAll(t, fmt.Sprintf("%T: JVP", l), theta, reference, 1e-12, 0)

		bad := d
		bad.X = mat.DenseCopyOf(d.X)
		bad.Dense().Set(0, 1, math.NaN())
		var e *qpdiff.ArgError
		if err := l.Load(bad); !errors.Is(err, qpdiff.ErrNotFinite) || !errors.As(err, &e) || e.Arg != "Data.X" {
			t.Errorf("%T, NaN: %v", l, err)
		}
	}
	one := d
	one.Y = append([]float64{-1}, slices.Repeat([]float64{1}, 9)...)
	for _, l := range []learn.Learner{new(margin.SVM), new(margin.LearnedLoss), new(kernel.SVM)} {
		if err := l.Load(one); !errors.Is(err, qpdiff.ErrIllPosed) || !strings.Contains(err.Error(), "label 1 ") {
			t.Errorf("%T, one class counts: %v", l, err)
		}
	}
}

// Rows of two blocks of features make two problems, however different their weights.
func TestLogisticWeightsOfManyDecades(t *testing.T) {
	const rows = 24
	d, hyper := casetest.RandomData(6, rows, 4, true), []float64{1.5}
	second := d
	d.Weights = make([]float64, rows)
	for i := range rows {
		block := i % 2
		d.Dense().Set(i, 2-2*block, 0)
		d.Dense().Set(i, 3-2*block, 0)
		if block == 1 {
			second.Rows = append(second.Rows, i)
		}
	}
	for _, weight := range []float64{1e-60, 1e-12, 1e12, 1e60} {
		for i := range rows {
			d.Weights[i] = []float64{weight, 1}[i%2]
		}
		l, want := new(linear.Logistic), new(linear.Logistic)
		theta, reference := make([]float64, 4), make([]float64, 4)
		if err := errors.Join(l.Load(d), want.Load(second), l.Fit(theta, hyper), want.Fit(reference, hyper)); err != nil {
			t.Errorf("weight %g: %v", weight, err)
			continue
		}
		numtest.NearAll(t, "theta", theta[2:], reference[2:], 1e-12, 0)
		g, wantG := casetest.NewGrad(d, 1), casetest.NewGrad(d, 1)
		numtest.OK(t, l.VJP(nil, g, []float64{0, 0, 1, -2}), want.VJP(nil, wantG, []float64{0, 0, 1, -2}))
		numtest.NearAll(t, "C", g.Hyper, wantG.Hyper, 1e-12, 0)
		for i := 1; i < rows; i += 2 {
			numtest.NearAll(t, "X and y", append(g.X.RawRowView(i)[2:], g.Y[i]), append(wantG.X.RawRowView(i)[2:], wantG.Y[i]), 1e-12, .1)
		}
	}
}

// Weights that change from Load to Load leave nothing of those before.
func TestWarmStartsFromOtherWeights(t *testing.T) {
	d := casetest.RandomData(8, 16, 3, true)
	d.Dense().SetRow(5, d.Dense().RawRowView(2))
	d.Y[5] = d.Y[2]
	for _, fresh := range []func() learn.Learner{
		func() learn.Learner { return new(linear.ElasticNet) }, func() learn.Learner { return new(linear.Logistic) }, func() learn.Learner { return new(margin.SVM) },
		func() learn.Learner { return new(margin.LearnedLoss) }, func() learn.Learner { return &casetest.Predictions{P: new(kernel.SVM)} },
		func() learn.Learner { return &casetest.Predictions{P: &kernel.SVM{Intercept: true}} },
		func() learn.Learner { return new(linear.SparseLogistic) },
	} {
		warm := fresh()
		rng := rand.New(rand.NewPCG(8, 1))
		for round := range 40 {
			d := d
			if round%3 != 1 {
				d.Weights = make([]float64, 16)
				for i := range d.Weights {
					d.Weights[i] = max(0, math.Round(math.Exp(3*rng.NormFloat64())-.2))
				}
				d.Weights[0], d.Weights[1] = 1, 1
			}
			if round%3 != 0 {
				d.Rows = append(rng.Perm(16)[:10], 0, 1, 1)
			}
			_, h := warm.Dims(3)
			hyper := []float64{.02 + .1*rng.Float64(), .3, .2, .1, .4}[:h]
			cold := fresh()
			p, _ := warm.Dims(3)
			theta, want := make([]float64, p), make([]float64, p)
			v := []float64{1, -2, .5, .3, -.7}[:p]
			errWarm, errCold := errors.Join(warm.Load(d), warm.Fit(theta, hyper)), errors.Join(cold.Load(d), cold.Fit(want, hyper))
			if (errWarm == nil) != (errCold == nil) {
				t.Errorf("%T, round %d: warm %v, cold %v", warm, round, errWarm, errCold)
			}
			if errWarm != nil || errCold != nil {
				continue
			}
			numtest.NearAll(t, fmt.Sprintf("%T, round %d: theta", warm, round), theta, want, 1e-9, 0)
			g, wantG := casetest.NewGrad(d, h), casetest.NewGrad(d, h)
			errWarm, errCold = warm.VJP(nil, g, v), cold.VJP(nil, wantG, v)
			if (errWarm == nil) != (errCold == nil) {
				t.Errorf("%T, round %d: warm %v, cold %v", warm, round, errWarm, errCold)
			}
			numtest.NearAll(t, fmt.Sprintf("%T, round %d: X", warm, round), g.X.RawMatrix().Data, wantG.X.RawMatrix().Data, 1e-9, 1)
		}
	}
}
