package learntest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/qpdiff/smooth"

	"gonum.org/v1/gonum/mat"
)

// A method called on a copy panics, because the copy shares its storage with the original.
func TestCopiesPanic(t *testing.T) {
	refused := func(what string, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			if r := recover(); !strings.Contains(fmt.Sprint(r), "was copied") {
				t.Errorf("%s: %v", what, r)
			}
		}()
		f()
	}
	d := casetest.RandomData(3, 12, 2, true)
	theta, g := make([]float64, 2), &learn.Grad{X: mat.NewDense(12, 2, nil)}
	var net, net2 linear.ElasticNet
	var svm, svm2 margin.SVM
	var loss, loss2 margin.LearnedLoss
	var logistic, logistic2 linear.Logistic
	var kernel, kernel2 kernel.SVM
	steady := smooth.Learner{Objective: casetest.LinearModel(casetest.HalfSquare)}
	var steady2 smooth.Learner
	for _, l := range []struct {
		original, copied learn.Learner
		copy             func()
		hyper            []float64
	}{
		{&net, &net2, func() { net2 = net }, []float64{.1, .1}},
		{&svm, &svm2, func() { svm2 = svm }, []float64{.1, .1}},
		{&loss, &loss2, func() { loss2 = loss }, []float64{1, 1, 0, 0, 1}},
		{&logistic, &logistic2, func() { logistic2 = logistic }, []float64{1}},
		{&kernel, &kernel2, func() { kernel2 = kernel }, []float64{1, 1}},
		{&steady, &steady2, func() { steady2 = steady }, []float64{1}},
	} {
		name := fmt.Sprintf("%T", l.original)
		l.copy() // before its first use it may be copied
		theta := theta[:0]
		if n, _ := l.original.Dims(2); n > 0 {
			theta = theta[:2]
		}
		for _, k := range []learn.Learner{l.original, l.copied, l.original} {
			if err := errors.Join(k.Load(d), k.Fit(theta, l.hyper), k.VJP(nil, g, theta)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		l.copy()
		refused(name+": Load", func() { l.copied.Load(d) })
		refused(name+": Fit", func() { l.copied.Fit(theta, l.hyper) })
		refused(name+": Reset", func() { l.copied.Reset() })
		refused(name+": VJP", func() { l.copied.VJP(nil, g, theta) })
		if j, ok := l.copied.(learn.ForwardLearner); ok {
			refused(name+": JVP", func() { j.JVP(nil, theta, g) })
		}
		if err := l.original.VJP(nil, g, theta); err != nil {
			t.Errorf("%s: the original: %v", name, err)
		}
	}
	refused("Multipliers", func() { svm2.Multipliers(nil) })
	refused("Elbow", func() { svm2.Elbow(nil) })
	refused("SupportVectors", func() { kernel2.SupportVectors(nil) })
	refused("Predict", func() { kernel2.Predict(nil, make([]float64, 12), d.Dense()) })
	refused("SolveHessian", func() { logistic2.SolveHessian(nil, theta, theta) })

	var s qpdiff.Solution
	var w qpdiff.Workspace
	q := &qpdiff.QP{Q: mat.NewDense(1, 1, []float64{1}), P: []float64{-1}}
	copied := s
	numtest.OK(t, copied.Solve(q), s.Solve(q), s.VJP(&w, &qpdiff.QPGrad{}, []float64{1}, nil, nil))
	copied = s
	other := w
	refused("Solution.Solve", func() { copied.Solve(q) })
	refused("Solution.VJP", func() { copied.VJP(nil, &qpdiff.QPGrad{}, []float64{1}, nil, nil) })
	refused("Workspace", func() { s.VJP(&other, &qpdiff.QPGrad{}, []float64{1}, nil, nil) })
}
