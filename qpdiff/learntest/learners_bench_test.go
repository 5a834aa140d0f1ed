package learntest_test

import (
	"fmt"
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

// BenchmarkLearners times Load, cold and warm fits, and VJPs with and without the derivative in X.
func BenchmarkLearners(b *testing.B) {
	for _, c := range []struct {
		name  string
		l     learn.Learner
		hyper []float64
		sizes [][2]int // nil: small ones
	}{
		{"ElasticNet", new(linear.ElasticNet), []float64{1e-2, 1e-4}, nil},
		{"ElasticNet, small support", new(linear.ElasticNet), []float64{.2, .01}, [][2]int{{60, 600}, {400, 5000}}},
		{"ElasticNet, large support", new(linear.ElasticNet), []float64{.02, .5}, [][2]int{{60, 600}, {34, 7129}}},
		{"Huber", &linear.Huber{Intercept: true}, []float64{.01, .5}, nil},
		{"Huber, many features", &linear.Huber{Intercept: true}, []float64{.01, .5}, [][2]int{{1000, 60}, {60, 600}}},
		{"Logistic, many features", &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, []float64{.1}, [][2]int{{1000, 100}, {60, 600}}},
		{"SparseLogistic", &linear.SparseLogistic{Intercept: true}, []float64{.005, 1e-4}, nil},
		{"SparseLogistic, many features", &linear.SparseLogistic{Intercept: true}, []float64{.02, 1e-3}, [][2]int{{1000, 100}, {60, 600}}},
		{"SVM", new(margin.SVM), []float64{.01, .01}, nil},
		{"LearnedLoss", new(margin.LearnedLoss), []float64{.25, .25, .25, .25, .05}, nil},
		{"kernel.SVM", &casetest.Predictions{P: new(kernel.SVM)}, []float64{1, .5}, nil},
		{"kernel.SVM with intercept", &casetest.Predictions{P: &kernel.SVM{Intercept: true}}, []float64{100, .5}, nil},
		{"kernel.Ridge", &casetest.Predictions{P: &kernel.Ridge{Intercept: true}}, []float64{.01, .3}, nil},
		{"smooth", &smooth.Learner{Objective: casetest.LinearModel(casetest.PseudoHuber)}, []float64{.1}, nil},
	} {
		if c.sizes == nil {
			c.sizes = [][2]int{{28, 10}, {80, 3}, {300, 10}}
		}
		for _, size := range c.sizes {
			d := casetest.ClassData(1, size[0], size[1])
			theta := make([]float64, numtest.First(c.l.Dims(size[1])))
			w, g := new(qpdiff.Workspace), &learn.Grad{Hyper: make([]float64, len(c.hyper))}
			gx := &learn.Grad{Hyper: g.Hyper, X: mat.NewDense(size[0], size[1], nil)}
			moved := make([]float64, len(c.hyper))
			fit := func(i int) error {
				for k, h := range c.hyper {
					moved[k] = h * (1 + .01*float64(i%2))
				}
				return c.l.Fit(theta, moved)
			}
			numtest.OK(b, c.l.Load(d), fit(0))
			for _, run := range []struct {
				name string
				f    func(i int) error
			}{
				{"warm", fit}, {"VJP", func(int) error { return c.l.VJP(w, g, theta) }}, {"VJP with X", func(int) error { return c.l.VJP(w, gx, theta) }},
				{"cold", func(int) error { c.l.Reset(); return fit(0) }}, {"load", func(int) error { return c.l.Load(d) }},
			} {
				b.Run(fmt.Sprintf("%s/%dx%d/%s", c.name, size[0], size[1], run.name), func(b *testing.B) {
					b.ReportAllocs()
					for i := 0; b.Loop(); i++ {
						numtest.OK(b, run.f(i))
					}
				})
			}
		}
	}
}

// BenchmarkLeaveOneOut times the leave-one-out predictions for all rows, and a VJP of these
// predictions.
func BenchmarkLeaveOneOut(b *testing.B) {
	for _, rows := range []int{50, 400} {
		d, l := casetest.RandomData(1, rows, 5, false), &kernel.Ridge{Intercept: true}
		dst, hyper, w, g := make([]float64, rows), []float64{.01, .3}, new(qpdiff.Workspace), &learn.Grad{Hyper: make([]float64, 2)}
		numtest.OK(b, l.Load(d))
		for name, f := range map[string]func() error{"fit": func() error { return l.LeaveOneOut(dst, hyper) }, "VJP": func() error { return l.LeaveOneOutVJP(w, g, nil, dst) }} {
			b.Run(fmt.Sprintf("%d/%s", rows, name), func(b *testing.B) {
				numtest.OK(b, l.LeaveOneOut(dst, hyper))
				b.ReportAllocs()
				for b.Loop() {
					numtest.OK(b, f())
				}
			})
		}
	}
}
