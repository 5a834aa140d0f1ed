package linear

import (
	"fmt"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
)

// BenchmarkHuber times a fit at hyperparameters that move a little each time, from the last
// zones (warm) or none (cold), and a VJP in all inputs.
func BenchmarkHuber(b *testing.B) {
	for _, size := range [][2]int{{28, 10}, {400, 100}} {
		d := outliers(casetest.RandomData(1, size[0], size[1], false))
		l := Huber{Intercept: true}
		theta, hyper := make([]float64, size[1]+1), []float64{.01, .5}
		numtest.OK(b, l.Load(d))
		var w qpdiff.Workspace
		g := casetest.LearnerGradOf(d, hyper)
		i := 0
		fit := func(reset bool) func() error {
			return func() error {
				if reset {
					l.Reset()
				}
				i++
				hyper[1] = .5 * (1 + 1e-3*float64(i%100))
				return l.Fit(theta, hyper)
			}
		}
		for _, run := range []struct {
			name string
			f    func() error
		}{{"warm", fit(false)}, {"cold", fit(true)}, {"vjp", func() error { return l.VJP(&w, g, theta) }}} {
			b.Run(fmt.Sprintf("%dx%d/%s", size[0], size[1], run.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					numtest.OK(b, run.f())
				}
			})
		}
	}
}
