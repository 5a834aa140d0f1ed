package linear

import (
	"fmt"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// BenchmarkLogistic times cold fits, warm fits after a fit at another C, and VJPs.
func BenchmarkLogistic(b *testing.B) {
	for _, size := range [][2]int{{57, 2}, {200, 10}, {2000, 100}} {
		l := Logistic{Intercept: UnpenalisedIntercept}
		theta := make([]float64, size[1]+1)
		g, w := learn.Grad{X: mat.NewDense(size[0], size[1], nil)}, qpdiff.Workspace{}
		numtest.OK(b, l.Load(casetest.RandomData(1, size[0], size[1], true)))
		hyper := []float64{10}
		for _, run := range []struct {
			name string
			f    func() error
		}{
			{"cold fit", func() error { l.Reset(); return l.Fit(theta, hyper) }},
			{"warm fit", func() error { hyper[0] = 21 - hyper[0]; return l.Fit(theta, hyper) }},
			{"VJP", func() error { return l.VJP(&w, &g, theta) }},
		} {
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], run.name), func(b *testing.B) {
				hyper[0] = 10
				numtest.OK(b, l.Fit(theta, hyper))
				b.ReportAllocs()
				for b.Loop() {
					numtest.OK(b, run.f())
				}
				b.ReportMetric(float64(l.iter), "newton")
			})
		}
	}
}
