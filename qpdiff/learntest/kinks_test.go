package learntest_test

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/mat"
)

// TestKinks runs the contract at kinks that are found by hand.
func TestKinks(t *testing.T) {
	data := func(n int, y []float64, x ...float64) learn.Data {
		return learn.Data{X: mat.NewDense(len(y), n, x), Y: y}
	}
	// Because XᵀX/N = I, soft thresholding of Xᵀy/N = (3, 3, 2) gives each coordinate of θ.
	orthogonal := func(y ...float64) learn.Data { return data(3, y, 1, 1, 1, 1, -1, 1, 1, 1, -1, 1, -1, -1) }
	classes := []float64{1, -1}
	line := data(1, classes, 1, -2)
	cross := data(2, classes, 1, 1, -1, 1)
	corner := data(2, []float64{1, -1, 1}, 1, 0, 0, -1, .25, .5)
	many := data(2, []float64{1, -1, 1, -1}, 1, 0, 0, -1, 1, 1, -1, -2)
	many.Weights = []float64{2, 2, 1, 1}
	type kinked struct {
		new               func() learn.KinkedLearner
		classes, oneSided bool
	}
	net, sparse := kinked{func() learn.KinkedLearner { return new(linear.ElasticNet) }, false, true}, kinked{func() learn.KinkedLearner { return new(linear.SparseLogistic) }, false, true}
	svm, loss := kinked{func() learn.KinkedLearner { return new(margin.SVM) }, true, true}, kinked{func() learn.KinkedLearner { return new(margin.LearnedLoss) }, true, true}
	huber := kinked{func() learn.KinkedLearner { return new(linear.Huber) }, false, false}
	b := kinked{func() learn.KinkedLearner { return &kernel.SVM{Intercept: true} }, true, false}
	values := func(k kernel.Kernel, intercept bool) kinked {
		return kinked{func() learn.KinkedLearner {
			return &casetest.Predictions{P: &kernel.SVM{Kernel: k, Intercept: intercept}}
		}, true, false}
	}
	rows, coords := func(i ...int) qpdiff.Weak { return qpdiff.Weak{Rows: i} }, func(j ...int) qpdiff.Weak { return qpdiff.Weak{Coords: j} }
	all := func(hyper ...qpdiff.Input) []qpdiff.Input { return append(hyper, "X", "y") }
	bySVM, byLoss := all("λ1", "λ2"), all("α1", "α2", "α3", "α4", "λ")
	e := math.Exp(-1)
	for _, c := range []struct {
		name   string
		kinked kinked
		data   learn.Data
		hyper  []float64
		weak   qpdiff.Weak
		inputs []qpdiff.Input
		side   int // 1 + the index of a hyperparameter, negative: downwards
	}{
		{"elastic net", net, orthogonal(8, 2, 4, -2), []float64{2, 1}, coords(2), all("λ1", "λ2"), 1},
		{"elastic net without a support", net, orthogonal(8, 2, 4, -2), []float64{3, 0}, coords(0, 1), all("λ1"), 1},
		{"elastic net, in λ1 only", net, orthogonal(0, 0, 0, 0), []float64{0, 1}, coords(0, 1, 2), []qpdiff.Input{"λ1"}, 0},
		{"sparse logistic", sparse, line, []float64{.75, 1}, coords(0), all("λ1"), 1},
		{"sparse logistic, in λ1 only", sparse, data(1, classes, 1, 1), []float64{0, 1}, coords(0), []qpdiff.Input{"λ1"}, 0},
		{"SVM, upper multiplier", svm, line, []float64{0, 3}, rows(1), bySVM, 2},
		{"SVM, multiplier", svm, line, []float64{0, 1}, rows(1), bySVM, -2},
		{"SVM, margin", svm, line, []float64{0, .5}, rows(0), bySVM, 2},
		{"SVM without a support", svm, line, []float64{1.5, 1}, coords(0), bySVM, 1},
		{"SVM, in λ1 only", svm, cross, []float64{0, 2}, coords(1), []qpdiff.Input{"λ1"}, 0},
		{"SVM, also in λ1 alone", svm, cross, []float64{0, 1}, rows(0, 1), bySVM, 0},
		{"SVM, cross without a support", svm, cross, []float64{1, .3}, coords(0), bySVM, 1},
		{"SVM, corner, multiplier", svm, corner, []float64{1. / 12, 1. / 3}, rows(0), bySVM, 1},
		{"SVM, corner, coordinate", svm, corner, []float64{5. / 12, 1}, coords(0), bySVM, 1},
		{"SVM, corner, other coordinate", svm, corner, []float64{.5, 1}, coords(1), bySVM, 1},
		{"SVM, many", svm, many, []float64{0, 1. / 3}, rows(0, 1), bySVM, 1},
		{"SVM, many with ℓ₁", svm, many, []float64{1. / 6, 1. / 6}, rows(0, 1), bySVM, 1},
		{"SVM, a row on the elbow", svm, data(2, []float64{-1, 1}, 0, 2, 2, -2), []float64{0, .5}, rows(1), bySVM, 0},
		{"learned loss, multiplier", loss, line, []float64{.5, 1, .5, 0, e/2 + e*e}, rows(0), byLoss, 2},
		{"learned loss, upper multiplier", loss, line, []float64{.5, 1, .5, 0, .25 + e/2 + e*e}, rows(0), byLoss, -2},
		{"learned loss, in α1 only", loss, line, []float64{0, 1, 0, 0, e/2 + e*e}, rows(0), []qpdiff.Input{"α1"}, 0},
		{"learned loss, weights", loss, learn.Data{X: line.X, Y: classes, Weights: []float64{2, 1}}, []float64{0, 1, 0, 0, (2*e + 2*e*e) / 3}, rows(0), []qpdiff.Input{"α1"}, 0},
		{"learned loss, curvature", loss, line, []float64{0, 1, .5, 0, e/2 + e*e}, rows(0), byLoss, 0},
		// At δ = 1 the solution is θ = 1, with the residuals −1, 0 and 10.
		{"Huber", huber, data(1, []float64{0, 1, 11}, 1, 1, 1), []float64{0, 1}, rows(0), all("λ2", "δ"), 2},
		// One row more has the margin 1 than is needed to determine the fit.
		{"kernel SVM", values(kernel.Polynomial{Degree: 1}, false), data(1, []float64{1, -1, -1}, 1, -1, -3), []float64{5, 1, 0}, rows(1), all("C", "kernel parameters"), 0},
		// The kernel between the two rows is 0, so that β = ±min(1, C).
		{"kernel SVM, β at C", values(nil, false), data(1, classes, 0, 100), []float64{1, 1}, rows(0, 1), all("C", "kernel parameters"), -1},
		{"kernel SVM, β at C, with intercept", values(nil, true), data(1, classes, 0, 100), []float64{1, 1}, rows(0, 1), all("C", "kernel parameters"), -1},
		{"kernel SVM, b", b, data(1, classes, 0, 100), []float64{1, 1}, rows(0, 1), all("C", "kernel parameters"), -1},
	} {
		var side []float64
		if c.side != 0 {
			side = make([]float64, len(c.hyper))
			side[max(c.side, -c.side)-1] = math.Copysign(1, float64(c.side))
		}
		learntest.Kinks(t, c.kinked.new, learntest.Kink{Case: learntest.Case{Name: c.name, Data: c.data, Hyper: c.hyper, ClassLabels: c.kinked.classes},
			Weak: c.weak, Inputs: c.inputs, OneSided: c.kinked.oneSided, Side: side})
		if len(c.inputs) == 1 {
			l := c.kinked.new()
			theta := make([]float64, numtest.First(l.Dims(c.data.Dense().RawMatrix().Cols)))
			down := &learn.Grad{Hyper: make([]float64, len(c.hyper))}
			down.Hyper[0] = -1
			numtest.OK(t, l.Load(c.data), l.Fit(theta, c.hyper))
			if err := l.(learn.ForwardLearner).JVP(nil, theta, down); !errors.Is(err, qpdiff.ErrDomain) {
				t.Errorf("%s: JVP out of the domain: %v", c.name, err)
			}
		}
	}
}
