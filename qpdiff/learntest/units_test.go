package learntest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// If the hyperparameters change accordingly, a change of units changes results only by rounding.
// Polynomial kernels with a constant and penalised intercepts have no corresponding
// hyperparameters.
func TestLearnersUnits(t *testing.T) {
	for _, c := range []unitCase{
		{"ElasticNet", func() learn.Learner { return new(linear.ElasticNet) }, false, -1, [][4]float64{{0, .3, 1, 1}, {0, .1, 2, 0}}},
		{"ElasticNet, working sets", func() learn.Learner { return casetest.WorkingSets{ForwardLearner: new(linear.ElasticNet)} }, false, -1, [][4]float64{{0, .3, 1, 1}, {0, .1, 2, 0}}},
		{"least squares", func() learn.Learner { return new(linear.ElasticNet) }, false, -1, [][4]float64{{0, 0, 1, 1}, {0, 0, 2, 0}}},
		{"Huber", func() learn.Learner { return new(linear.Huber) }, false, -1, [][4]float64{{0, .1, 2, 0}, {.1, 1.1, 0, 1}}},
		{"Huber, products", func() learn.Learner { return casetest.WorkingSets{ForwardLearner: new(linear.Huber)} }, false, -1, [][4]float64{{0, .1, 2, 0}, {.1, 1.1, 0, 1}}},
		{"Logistic, products", func() learn.Learner { return casetest.WorkingSets{ForwardLearner: new(linear.Logistic)} }, true, -1, [][4]float64{{.1, 100, -2, 0}}},
		{"Logistic", func() learn.Learner { return new(linear.Logistic) }, true, -1, [][4]float64{{.1, 100, -2, 0}}},
		{"SparseLogistic", func() learn.Learner { return new(linear.SparseLogistic) }, true, -1, [][4]float64{{0, .2, 1, 0}, {0, .1, 2, 0}}},
		{"SparseLogistic, working sets", func() learn.Learner { return casetest.WorkingSets{ForwardLearner: new(linear.SparseLogistic)} }, true, -1, [][4]float64{{0, .2, 1, 0}, {0, .1, 2, 0}}},
		{"lasso logistic", func() learn.Learner { return new(linear.SparseLogistic) }, true, -1, [][4]float64{{.01, .2, 1, 0}, {0, 0, 2, 0}}},
		{"penalised.GLM", func() learn.Learner { return new(penalised.GLM) }, false, -1, [][4]float64{{.1, 10, 2, 0}}},
		{"penalised.GLM, logistic", func() learn.Learner { return &penalised.GLM{Loss: penalised.Logistic} }, true, -1, [][4]float64{{.1, 10, 2, 0}}},
		{"SVM", func() learn.Learner { return new(margin.SVM) }, true, -1, [][4]float64{{0, .1, 1, 0}, {.01, 1, 2, 0}}},
		{"LearnedLoss", func() learn.Learner { return new(margin.LearnedLoss) }, true, -1, [][4]float64{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {.01, 1, 2, 0}}},
		{"kernel.SVM", func() learn.Learner { return new(biased) }, true, 0, [][4]float64{{.1, 10}, {.1, 1.1, -2, 0}}},
		{"kernel.Ridge", func() learn.Learner { return &kernel.Ridge{Intercept: true} }, false, 0, [][4]float64{{1e-6, 1}, {.1, 1.1, -2, 0}}},
		{"kernel.Ridge, linear", func() learn.Learner { return &kernel.Ridge{Kernel: kernel.Polynomial{Degree: 1}, Intercept: true} }, false, 0, [][4]float64{{1e-3, 1, 2, 0}, {1, 1}, {.5, .5, 2, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(21, 1))
			answered := 0
			for trial := range 60 {
				answered += c.compareUnits(t, rng, trial)
			}
			if answered < 60 {
				t.Errorf("only %d answered", answered)
			}
		})
	}
}

// A unitCase has a learner and the effect of units on this learner.
type unitCase struct {
	name    string
	new     func() learn.Learner
	classes bool
	slope   float64      // the power of a in θ: −1 for weights, 0 for decision values
	hyper   [][4]float64 // for each hyperparameter: its range, and its powers of a and b
}

// compareUnits compares results under three changes of units and returns the number of changes with
// a result.
func (c unitCase) compareUnits(t *testing.T, rng *rand.Rand, trial int) (answered int) {
	t.Helper()
	rows, n := 8+rng.IntN(12), 1+rng.IntN(5)
	d := casetest.RandomData(rng.Uint64(), rows, n, c.classes)
	if c.classes {
		d.Y[0], d.Y[1] = 1, -1
	}
	if trial%4 == 0 { // dependent features
		for i := range rows {
			d.Dense().Set(i, n-1, 2*d.X.At(i, 0))
		}
	}
	hyper := make([]float64, len(c.hyper))
	for k, h := range c.hyper {
		switch low, high := h[0], h[1]; {
		case low > 0:
			hyper[k] = low * math.Pow(high/low, rng.Float64())
		case k > 0 || trial%5 > 0:
			hyper[k] = high * rng.Float64()
		}
	}
	want, fit, vjp := c.fitInUnits(d, hyper, 1, 1)
	for range 3 {
		a, b := math.Pow(10, 12*rng.Float64()-6), math.Pow(10, 12*rng.Float64()-6)
		if c.classes {
			b = 1
		}
		got, fit2, vjp2 := c.fitInUnits(d, hyper, a, b)
		if casetest.KindOf(fit) != casetest.KindOf(fit2) || casetest.KindOf(vjp) != casetest.KindOf(vjp2) {
			t.Fatalf("trial %d, a = %g, b = %g: %v and %v; %v and %v", trial, a, b, fit, fit2, vjp, vjp2)
		}
		if fit != nil || vjp != nil {
			continue
		}
		answered++
		for k := range got {
			if !numtest.Near(got[k], want[k]) {
				t.Fatalf("trial %d, a = %g, b = %g: %v, want %v", trial, a, b, got, want)
			}
		}
	}
	return answered
}

// fitInUnits returns θ and its derivatives after a change of units, converted to the original
// units.
func (c unitCase) fitInUnits(d learn.Data, hyper []float64, a, b float64) (values [3][]float64, fit, vjp error) {
	d = casetest.CloneData(d)
	rows, n := d.X.Dims()
	d.Dense().Scale(a, d.X)
	floats.Scale(b, d.Y)
	h, l := make([]float64, len(hyper)), c.new()
	theta, g := make([]float64, numtest.First(l.Dims(n))), &learn.Grad{Hyper: make([]float64, len(h)), X: mat.NewDense(rows, n, nil)}
	for k, of := range c.hyper {
		h[k] = hyper[k] * math.Pow(a, of[2]) * math.Pow(b, of[3])
	}
	if fit = errors.Join(l.Load(d), l.Fit(theta, h)); fit != nil {
		return
	}
	if fit = residualError(l); fit != nil {
		return
	}
	unit := math.Pow(a, -c.slope) / b // vᵀθ has no unit
	v := numtest.Ones(len(theta))
	floats.Scale(unit, v)
	vjp = l.VJP(nil, g, v)
	floats.Scale(unit, theta)
	g.X.Scale(a, g.X)
	for k, of := range c.hyper {
		g.Hyper[k] *= math.Pow(a, of[2]) * math.Pow(b, of[3])
	}
	return [3][]float64{theta, g.X.RawMatrix().Data, g.Hyper}, nil, vjp
}

// verifiedTol bounds the residual of a successful fit. Conjugate gradients stop at 1e-12, and other
// fits reach some 1e-14.
const verifiedTol = 1e-11

// residualError returns an error if the last fit of l has no residual or one above verifiedTol.
func residualError(l learn.Learner) error {
	if r, err := l.(learn.VerifiedLearner).Residual(); err != nil || !(r <= verifiedTol) {
		return fmt.Errorf("residual %g, error %w", r, err)
	}
	return nil
}

// The type biased is a kernel.SVM whose θ is its intercept.
type biased struct{ kernel.SVM }

func (l *biased) Dims(n int) (theta, hyper int) {
	l.Intercept = true
	return l.SVM.Dims(n)
}

// A slack or multiplier is zero if it is within complementarityTol rounding errors of its terms.
func TestLearnersComplementarityTolerance(t *testing.T) {
	data := func(n int, y []float64, x ...float64) learn.Data {
		return learn.Data{X: mat.NewDense(len(y), n, x), Y: y}
	}
	for _, c := range []struct {
		name string
		// offError is the change of off, in units of eps, that moves the slack or multiplier by the
		// rounding error of its terms.
		offError float64
		problem  func(off float64) (learn.Learner, learn.Data, []float64)
	}{
		// θ = max(0, 1 − λ1)
		{"elastic net: slack", 2, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(linear.ElasticNet), data(1, []float64{1}, 1), []float64{1 + off, 0}
		}},
		{"elastic net: parameter", 1, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(linear.ElasticNet), data(1, []float64{1}, 1), []float64{1 - off, 0}
		}},
		// θ = max(0, 2·log(1/λ1 − 1)): for |x| = ½, the slope s is 2λ1 at the margin θ/2.
		{"sparse logistic: slack", 2, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(linear.SparseLogistic), data(1, []float64{1, -1}, .5, -.5), []float64{.25 + off/4, 0}
		}},
		{"sparse logistic: parameter", 2, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(linear.SparseLogistic), data(1, []float64{1, -1}, .5, -.5), []float64{.25 - off/4, 0}
		}},
		// The residual 0 − θ is −δ with the terms |y| + |θ| + δ. The terms of θ are Σ|y| + |θ| over
		// Q and δ, divided by 2/3.
		{"Huber: residual", 2 * (1 + 1 + 14./3*1.5), func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(linear.Huber), data(1, []float64{0, 1 + off, 11}, 1, 1, 1), []float64{0, 1}
		}},
		// Both rows have the margin θ = min(1, (1 − λ1)/λ2).
		{"SVM: margin", 4, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(margin.SVM), data(1, []float64{1, -1}, 1, -1), []float64{0, 1 + off}
		}},
		{"SVM: upper multiplier", 3, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(margin.SVM), data(1, []float64{1, -1}, 1, -1), []float64{0, 1 - off}
		}},
		{"SVM: slack", 2, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(margin.SVM), data(1, []float64{1, -1}, 1, -1), []float64{1 + off, 1}
		}},
		{"SVM: parameter", 2, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(margin.SVM), data(1, []float64{1, -1}, 1, -1), []float64{1 - off, 1}
		}},
		// The first row is on the elbow, and its multiplier is λ2 − 1/4.
		{"SVM: multiplier", 1.25, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(margin.SVM), data(1, []float64{1, -1}, 1, -.5), []float64{0, .25 + off}
		}},
		// The kernel between the two rows is 0, so that β = ±min(1, C).
		{"kernel SVM: margin", 3 * math.Sqrt2, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(kernel.SVM), data(1, []float64{1, -1}, 0, 100), []float64{1 - off, 1}
		}},
		{"kernel SVM: upper multiplier", 3 * math.Sqrt2, func(off float64) (learn.Learner, learn.Data, []float64) {
			return new(kernel.SVM), data(1, []float64{1, -1}, 0, 100), []float64{1 + off, 1}
		}},
		// For K = [1 1∓off 0; 1∓off 2 0; 0 0 1], the first row gives the second row the margin 1.
		{"kernel SVM: upper margin", 5.4, func(off float64) (learn.Learner, learn.Data, []float64) {
			return &kernel.SVM{Kernel: kernel.Polynomial{Degree: 1}}, data(3, []float64{1, 1, -1}, 1, 0, 0, 1+off, 1, 0, 0, 0, 1), []float64{10, 1, 0}
		}},
		{"kernel SVM: multiplier", 12, func(off float64) (learn.Learner, learn.Data, []float64) {
			return &kernel.SVM{Kernel: kernel.Polynomial{Degree: 1}}, data(3, []float64{1, 1, -1}, 1, 0, 0, 1-off, 1, 0, 0, 0, 1), []float64{10, 1, 0}
		}},
	} {
		for _, times := range []float64{1. / 3, 3} {
			l, d, hyper := c.problem(times * 256 * dense.Eps * c.offError)
			_, n := d.X.Dims()
			nt, nh := l.Dims(n)
			if err := errors.Join(l.Load(d), l.Fit(make([]float64, nt), hyper)); err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			g := &learn.Grad{Hyper: make([]float64, nh)}
			var err error
			if k, ok := l.(*kernel.SVM); ok {
				err = k.PredictVJP(nil, g, nil, d.Dense(), make([]float64, len(d.Y)))
			} else {
				err = l.VJP(nil, g, make([]float64, nt))
			}
			if errors.Is(err, qpdiff.ErrNotDifferentiable) != (times < 1) {
				t.Errorf("%s at %.2g times the tolerance: %v", c.name, times, err)
			}
		}
	}
}
