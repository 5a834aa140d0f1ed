package learntest_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A VJP sets Grad.Generalised where it added an element of a generalised
// derivative, and only there.
func TestGradReportsGeneralisedDerivatives(t *testing.T) {
	one := learn.Data{X: mat.NewDense(1, 1, []float64{1}), Y: []float64{2}}
	two := learn.Data{X: mat.NewDense(2, 1, []float64{1, -2}), Y: []float64{1, -1}}
	even := learn.Data{X: mat.NewDense(2, 1, []float64{1, 1}), Y: []float64{1, -1}}
	pair := learn.Data{X: mat.NewDense(2, 1, []float64{1, -1}), Y: []float64{1, -1}}
	wide := learn.Data{X: mat.NewDense(2, 2, []float64{0, 2, 2, -2}), Y: []float64{-1, 1}}
	flat := learn.Data{X: mat.NewDense(2, 2, []float64{1, 0, -2, 0}), Y: []float64{1, -1}}
	line := learn.Data{X: mat.NewDense(3, 1, []float64{1, -1, -3}), Y: []float64{1, -1, -1}}
	threeOnes := learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, 1}), Y: []float64{0, 1, 11}} // θ = 1 at δ = 1, residuals −1, 0, 10
	hyper := &learn.Grad{Hyper: make([]float64, 5)}
	for _, c := range []struct {
		name   string
		l      learn.KinkedLearner
		data   learn.Data
		hyper  []float64
		wanted learn.Grad
		want   bool
	}{
		{"elastic net at its kink", new(linear.ElasticNet), one, []float64{2, 1}, *hyper, true},
		{"elastic net at its kink, X wanted", new(linear.ElasticNet), one, []float64{2, 1}, learn.Grad{X: mat.NewDense(1, 1, nil)}, true},
		{"elastic net at its kink, nothing wanted", new(linear.ElasticNet), one, []float64{2, 1}, learn.Grad{}, false},
		{"elastic net", new(linear.ElasticNet), one, []float64{1, 1}, *hyper, false},
		{"elastic net, kink in λ1 only", new(linear.ElasticNet), learn.Data{X: one.X, Y: []float64{0}}, []float64{0, 1}, *hyper, true},
		{"elastic net, kink in λ1 only, y wanted", new(linear.ElasticNet), learn.Data{X: one.X, Y: []float64{0}}, []float64{0, 1}, learn.Grad{Y: make([]float64, 1)}, false},
		{"sparse logistic at its kink", new(linear.SparseLogistic), two, []float64{.75, 1}, *hyper, true},
		{"sparse logistic at its kink, X wanted", new(linear.SparseLogistic), two, []float64{.75, 1}, learn.Grad{X: mat.NewDense(2, 1, nil)}, true},
		{"sparse logistic", new(linear.SparseLogistic), two, []float64{.5, 1}, *hyper, false},
		{"sparse logistic, kink in λ1 only", new(linear.SparseLogistic), even, []float64{0, 1}, *hyper, true},
		{"sparse logistic, kink in λ1 only, y wanted", new(linear.SparseLogistic), even, []float64{0, 1}, learn.Grad{Y: make([]float64, 2)}, false},
		{"SVM at its kink", new(margin.SVM), two, []float64{1.5, 1}, *hyper, true},
		{"SVM with a row on the elbow at its kink", new(margin.SVM), wide, []float64{0, .5}, *hyper, true},
		{"SVM", new(margin.SVM), two, []float64{.5, 1}, *hyper, false},
		{"SVM, kink in λ1 only", new(margin.SVM), flat, []float64{0, 4}, *hyper, true},
		{"SVM, kink in λ1 only, X wanted", new(margin.SVM), flat, []float64{0, 4}, learn.Grad{X: mat.NewDense(2, 2, nil)}, false},
		{"learned loss at its kink", new(margin.LearnedLoss), pair, []float64{0, 1, .5, 0, 1 / math.E}, learn.Grad{Y: make([]float64, 2)}, true},
		{"learned loss, kink in alpha1 only", new(margin.LearnedLoss), pair, []float64{0, 1, 0, 0, 1 / math.E}, *hyper, true},
		{"learned loss, kink in alpha1 only, y wanted", new(margin.LearnedLoss), pair, []float64{0, 1, 0, 0, 1 / math.E}, learn.Grad{Y: make([]float64, 2)}, false},
		{"learned loss", new(margin.LearnedLoss), pair, []float64{0, 1, 0, 0, 1}, *hyper, false},
		{"Huber at its kink", new(linear.Huber), threeOnes, []float64{0, 1}, *hyper, true},
		{"Huber at its kink, y wanted", new(linear.Huber), threeOnes, []float64{0, 1}, learn.Grad{Y: make([]float64, 3)}, true},
		{"Huber", new(linear.Huber), threeOnes, []float64{0, 2}, *hyper, false},
		{"kernel SVM with a row to spare", &kernel.SVM{Kernel: kernel.Polynomial{Degree: 1}}, line, []float64{5, 1, 0}, *hyper, true},
		{"kernel SVM", new(kernel.SVM), line, []float64{.1, 1}, *hyper, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.l.SetGeneralised(true)
			_, n := c.data.X.Dims()
			nt, nh := c.l.Dims(n)
			g := c.wanted
			if g.Hyper != nil {
				g.Hyper = make([]float64, nh)
			}
			theta := make([]float64, nt)
			numtest.OK(t, c.l.Load(c.data), c.l.Fit(theta, c.hyper))
			dtheta := make([]float64, nt)
			for j := range dtheta {
				dtheta[j] = 1
			}
			// A product that wants nothing leaves the fit as it is.
			c.l.SetGeneralised(false)
			again := make([]float64, nt)
			if err := errors.Join(c.l.VJP(nil, new(learn.Grad), dtheta), c.l.Fit(again, c.hyper)); err != nil || !floats.EqualApprox(again, theta, 1e-14) {
				t.Errorf("after a product that wants nothing θ = %v instead of %v, error %v", again, theta, err)
			}
			c.l.SetGeneralised(true)
			numtest.OK(t, c.l.VJP(nil, &g, dtheta))
			if g.Generalised != c.want {
				t.Errorf("Generalised is %v, want %v", g.Generalised, c.want)
			}
			c.l.SetGeneralised(false)
			g.Generalised = false
			if err := c.l.VJP(nil, &g, dtheta); errors.Is(err, qpdiff.ErrNotDifferentiable) != c.want || g.Generalised {
				t.Errorf("without it: error %v, Generalised %v", err, g.Generalised)
			}
			// What an earlier product has set stays.
			c.l.SetGeneralised(true)
			g.Generalised = true
			if err := c.l.VJP(nil, &g, dtheta); err != nil || !g.Generalised {
				t.Errorf("after a generalised one: error %v, Generalised %v", err, g.Generalised)
			}
		})
	}
}

// The rows that an error names are those of the data, also behind rows that do not count.
func TestKinksNameRowsOfTheData(t *testing.T) {
	for _, c := range []struct {
		name  string
		l     learn.KinkedLearner
		data  learn.Data
		hyper []float64
	}{
		{"Huber", new(linear.Huber), learn.Data{X: mat.NewDense(3, 1, []float64{1, 1, 1}), Y: []float64{0, 1, 11}}, []float64{0, 1}},
		{"SVM", new(margin.SVM), learn.Data{X: mat.NewDense(2, 2, []float64{0, 2, 2, -2}), Y: []float64{-1, 1}}, []float64{0, .5}},
		{"learned loss", new(margin.LearnedLoss), learn.Data{X: mat.NewDense(2, 1, []float64{1, -1}), Y: []float64{1, -1}}, []float64{0, 1, .5, 0, 1 / math.E}},
		{"kernel SVM", &kernel.SVM{Kernel: kernel.Polynomial{Degree: 1}}, learn.Data{X: mat.NewDense(3, 1, []float64{1, -1, -3}), Y: []float64{1, -1, -1}}, []float64{5, 1, 0}},
	} {
		rows, n := c.data.X.Dims()
		weak := func(d learn.Data) []int {
			nt, _ := c.l.Dims(n)
			var err error
			if err = errors.Join(c.l.Load(d), c.l.Fit(make([]float64, nt), c.hyper)); err == nil {
				if p, is := c.l.(learn.Predictor); is {
					err = p.PredictVJP(nil, casetest.NewGrad(d, len(c.hyper)), nil, d.Dense(), d.Y)
				} else {
					err = c.l.VJP(nil, casetest.NewGrad(d, len(c.hyper)), slices.Repeat([]float64{1}, nt))
				}
			}
			var kink *qpdiff.NotDifferentiableError
			if !errors.As(err, &kink) {
				t.Fatalf("%s: error %v, want a kink", c.name, err)
			}
			return kink.Weak.Rows
		}
		want := weak(c.data)
		behind := learn.Data{X: mat.NewDense(rows+2, n, nil), Y: append([]float64{1, -1}, c.data.Y...), Weights: append([]float64{0, 0}, slices.Repeat([]float64{1}, rows)...)}
		behind.Dense().Slice(2, rows+2, 0, n).(*mat.Dense).Copy(c.data.X)
		got := weak(behind)
		for i := range got {
			got[i] -= 2
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, behind two others less two %v", c.name, want, got)
		}
	}
}
