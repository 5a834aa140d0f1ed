package kernel

import (
	"fmt"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
)

// BenchmarkKernelRidge times a fit at a new λ and at a new width of the kernel, a VJP
// of predictions in the hyperparameters, and a leave-one-out fit with its VJP.
func BenchmarkKernelRidge(b *testing.B) {
	for _, rows := range []int{50, 400} {
		d := casetest.RandomData(1, rows, 5, false)
		l := Ridge{Intercept: true}
		theta, v, dst := make([]float64, 1), numtest.Ones(rows), make([]float64, rows)
		numtest.OK(b, l.Load(d))
		hyper := []float64{.01, .3}
		var w qpdiff.Workspace
		g := &learn.Grad{Hyper: make([]float64, 2)}
		run := func(name string, f func() error) {
			b.Run(fmt.Sprintf("%d/%s", rows, name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					numtest.OK(b, f())
				}
			})
		}
		run("lambda", func() error { hyper[0] *= 1 + 1e-6; return l.Fit(theta, hyper) })
		run("width", func() error { hyper[1] *= 1 + 1e-6; return l.Fit(theta, hyper) })
		run("vjp", func() error { return l.PredictVJP(&w, g, nil, d.Dense(), v) })
		run("leave-one-out", func() error { hyper[0] *= 1 + 1e-6; return l.LeaveOneOut(dst, hyper) })
		run("leave-one-out vjp", func() error { return l.LeaveOneOutVJP(&w, g, nil, v) })
	}
}
