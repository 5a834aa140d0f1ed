package learntest_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
)

// weighted lists the learners that take weights, with hyperparameters. The objectives of
// some are means over the rows; those of the others weigh a sum by C, the first
// hyperparameter.
var weighted = []struct {
	name  string
	fresh func() learn.ForwardLearner
	hyper []float64
	sum   bool
}{
	{"elastic net", func() learn.ForwardLearner { return new(linear.ElasticNet) }, []float64{.05, .1}, false},
	{"logistic", func() learn.ForwardLearner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, []float64{1.5}, true},
	{"SVM", func() learn.ForwardLearner { return new(margin.SVM) }, []float64{.03, .2}, false},
	{"learned loss", func() learn.ForwardLearner { return new(margin.LearnedLoss) }, []float64{.3, .2, .1, .4, .3}, false},
	{"kernel SVM", func() learn.ForwardLearner { return &casetest.Predictions{P: new(kernel.SVM)} }, []float64{.8, .4}, true},
	{"kernel SVM, intercept", func() learn.ForwardLearner { return &casetest.Predictions{P: &kernel.SVM{Intercept: true}} }, []float64{.8, .4}, true},
}

// fitWeighted returns θ, the fields of a VJP and a JVP of a new learner.
func fitWeighted(t *testing.T, fresh func() learn.ForwardLearner, d learn.Data, hyper []float64) (theta []float64, g *learn.Grad, dtheta []float64) {
	t.Helper()
	l := fresh()
	_, n := d.X.Dims()
	p, h := l.Dims(n)
	theta, dtheta, g = make([]float64, p), make([]float64, p), casetest.NewGrad(d, h)
	v := make([]float64, p)
	for i := range v {
		v[i] = math.Sin(float64(3*i + 1))
	}
	along := casetest.NewGrad(d, h)
	for i := range along.Y {
		along.Y[i] = math.Cos(float64(i))
		along.X.Set(i, 0, math.Sin(float64(i)))
	}
	numtest.OK(t, l.Load(d), l.Fit(theta, hyper), l.VJP(nil, g, v), l.JVP(nil, dtheta, along))
	return theta, g, dtheta
}

// Weights of 1 give the bits of no weights.
func TestWeightsOfOne(t *testing.T) {
	for _, c := range weighted {
		d := casetest.RandomData(3, 21, 3, true)
		theta, g, dtheta := fitWeighted(t, c.fresh, d, c.hyper)
		d.Weights = slices.Repeat([]float64{1}, 21)
		theta1, g1, dtheta1 := fitWeighted(t, c.fresh, d, c.hyper)
		if !numtest.SameBits(theta, theta1) || !numtest.SameBits(dtheta, dtheta1) || !numtest.SameBits(slices.Concat(casetest.GradSlices(g)...), slices.Concat(casetest.GradSlices(g1)...)) {
			t.Errorf("%s: theta %v without weights, %v with weights of 1", c.name, theta, theta1)
		}
	}
}

// The unit of the weights does not matter where the objective is a mean, and goes into C
// where it is not.
func TestWeightsUnits(t *testing.T) {
	for _, c := range weighted {
		d := casetest.RandomData(3, 21, 3, true)
		d.Weights = make([]float64, 21)
		for i := range d.Weights {
			d.Weights[i] = math.Exp(math.Sin(float64(i))) * float64(min(i%6, 1))
		}
		theta, g, dtheta := fitWeighted(t, c.fresh, d, c.hyper)
		for _, unit := range []float64{1e-6, 1. / 3, 1e6} {
			scaled, hyper := d, slices.Clone(c.hyper)
			scaled.Weights = slices.Clone(d.Weights)
			for i := range scaled.Weights {
				scaled.Weights[i] *= unit
			}
			if c.sum {
				hyper[0] /= unit
			}
			theta1, g1, dtheta1 := fitWeighted(t, c.fresh, scaled, hyper)
			if c.sum {
				g1.Hyper[0] /= unit
			}
			what := fmt.Sprintf("%s, unit %g: ", c.name, unit)
			numtest.NearAll(t, what+"theta", theta1, theta, 1e-11, 0)
			numtest.NearAll(t, what+"JVP", dtheta1, dtheta, 1e-10, 0)
			for k, s := range casetest.GradSlices(g1) {
				numtest.NearAll(t, fmt.Sprint(what, "block ", k), s, casetest.GradSlices(g)[k], 1e-10, 0)
			}
		}
	}
}

// Copies of a row share its cotangents by what they count.
func TestWeightsOfEqualRows(t *testing.T) {
	for _, c := range weighted {
		d := casetest.RandomData(3, 20, 3, true)
		d.Dense().SetRow(7, d.Dense().RawRowView(2))
		d.Y[7] = d.Y[2]
		d.Weights = slices.Repeat([]float64{1}, 20)
		d.Weights[2], d.Weights[7] = 3, .5
		l := c.fresh()
		p, h := l.Dims(3)
		theta, g := make([]float64, p), casetest.NewGrad(d, h)
		v := slices.Repeat([]float64{1}, p)
		numtest.OK(t, l.Load(d), l.Fit(theta, c.hyper), l.VJP(nil, g, v))
		one := d
		one.Weights = slices.Clone(d.Weights)
		one.Weights[2], one.Weights[7] = 3.5, 0
		want, wantG := make([]float64, p), casetest.NewGrad(d, h)
		alone := c.fresh()
		numtest.OK(t, alone.Load(one), alone.Fit(want, c.hyper), alone.VJP(nil, wantG, v))
		numtest.NearAll(t, c.name+": theta", theta, want, 1e-11, 0)
		for _, share := range []struct {
			row  int
			part float64
		}{{2, 3 / 3.5}, {7, .5 / 3.5}} {
			for j, v := range wantG.X.RawRowView(2) {
				if got := g.X.At(share.row, j); math.Abs(got-share.part*v) > 1e-10*(1+math.Abs(v)) {
					t.Errorf("%s: cotangent %v of feature %d of row %d, want %v of %v", c.name, got, j, share.row, share.part, v)
				}
			}
			if got := g.Y[share.row]; math.Abs(got-share.part*wantG.Y[2]) > 1e-10*(1+math.Abs(wantG.Y[2])) {
				t.Errorf("%s: cotangent %v of label %d, want %v of %v", c.name, got, share.row, share.part, wantG.Y[2])
			}
		}
	}
}
