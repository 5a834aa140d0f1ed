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

// Fits and products of one learner, from scratch and from the last solution at other
// penalties, of the sizes of BenchmarkLogistic. Steps are those of the last fit.
func BenchmarkSparseLogistic(b *testing.B) {
	for _, size := range [][2]int{{57, 2}, {200, 10}, {2000, 100}} {
		d := casetest.RandomData(1, size[0], size[1], true)
		l := SparseLogistic{Intercept: true}
		theta := make([]float64, size[1]+1)
		g, w := learn.Grad{Hyper: make([]float64, 2), X: mat.NewDense(size[0], size[1], nil)}, qpdiff.Workspace{}
		fit := func(l1 float64) {
			numtest.OK(b, l.Fit(theta, []float64{l1, 1e-4}))
		}
		numtest.OK(b, l.Load(d))
		name := fmt.Sprintf("%dx%d/", size[0], size[1])
		b.Run(name+"cold fit", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Reset()
				fit(.005)
			}
			b.ReportMetric(float64(l.iter), "newton")
			b.ReportMetric(float64(len(l.qp.act)), "support")
		})
		b.Run(name+"warm fit", func(b *testing.B) {
			b.ReportAllocs()
			l1 := .005
			for b.Loop() {
				l1 = .0105 - l1 // .005, .0055, .005, …
				fit(l1)
			}
			b.ReportMetric(float64(l.iter), "newton")
		})
		b.Run(name+"VJP", func(b *testing.B) {
			b.ReportAllocs()
			fit(.005)
			for b.Loop() {
				numtest.OK(b, l.VJP(&w, &g, theta))
			}
		})
	}
}
