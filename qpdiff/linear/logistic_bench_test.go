package linear

import (
	"fmt"
	"math"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Fits and products of one learner, from scratch and from the last solution at
// another C.
func BenchmarkLogistic(b *testing.B) {
	for _, size := range [][2]int{{57, 2}, {200, 10}, {2000, 100}} {
		d := casetest.RandomData(1, size[0], size[1], true)
		l := Logistic{Intercept: UnpenalisedIntercept}
		theta := make([]float64, size[1]+1)
		g, w := learn.Grad{X: mat.NewDense(size[0], size[1], nil)}, qpdiff.Workspace{}
		fit := func(c float64) {
			numtest.OK(b, l.Fit(theta, []float64{c}))
		}
		numtest.OK(b, l.Load(d))
		name := fmt.Sprintf("%dx%d/", size[0], size[1])
		b.Run(name+"cold fit", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Reset()
				fit(10)
			}
			b.ReportMetric(float64(l.iter), "newton")
		})
		b.Run(name+"warm fit", func(b *testing.B) {
			b.ReportAllocs()
			c := 10.
			for b.Loop() {
				c = 21 - c // 10, 11, 10, …
				fit(c)
			}
			b.ReportMetric(float64(l.iter), "newton")
		})
		b.Run(name+"VJP", func(b *testing.B) {
			b.ReportAllocs()
			fit(10)
			for b.Loop() {
				numtest.OK(b, l.VJP(&w, &g, theta))
			}
		})
	}
}

// One step of cross-validation: 256 splits of 60 examples, three of them left
// out, fitted and differentiated while the features move from step to step.
// Copying gives each split its own rows and its own warm start; leaving out
// starts at the fit to all examples.
func BenchmarkLogisticSplits(b *testing.B) {
	const rows, splits, held = 60, 256, 3
	base := casetest.RandomData(2, rows, 2, true)
	for _, leaveOut := range []bool{false, true} {
		name := "copying"
		if leaveOut {
			name = "leaving out"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			d := casetest.CloneData(base)
			full := Logistic{Intercept: UnpenalisedIntercept}
			ls := make([]Logistic, splits)
			copies := make([]learn.Data, splits)
			g := learn.Grad{X: mat.NewDense(rows, 2, nil)}
			gc := learn.Grad{X: mat.NewDense(rows-held, 2, nil)}
			var w qpdiff.Workspace
			out := make([][]int, splits)
			for j := range ls {
				ls[j].Intercept = UnpenalisedIntercept
				copies[j] = learn.Data{X: mat.NewDense(rows-held, 2, nil), Y: make([]float64, rows-held)}
				for i := range held {
					out[j] = append(out[j], (7*j+i*(j%17+1))%rows)
				}
			}
			theta, v, hyper := make([]float64, 3), []float64{1, -1, .5}, []float64{10}
			newton, steps := 0, 0
			check := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				steps++
				for i := range rows {
					for k := range 2 {
						d.Dense().Set(i, k, base.X.At(i, k)+.3*math.Sin(float64(steps+i+k)))
					}
				}
				if leaveOut {
					check(full.Load(d))
					check(full.Fit(theta, hyper))
				}
				for j := range ls {
					l := &ls[j]
					if leaveOut {
						check(l.LoadSubset(&full, out[j]))
						check(l.Fit(theta, hyper))
						check(l.VJP(&w, &g, v))
					} else {
						n := 0
						for i := range rows {
							if i != out[j][0] && i != out[j][1] && i != out[j][2] {
								copies[j].Dense().SetRow(n, d.Dense().RawRowView(i))
								copies[j].Y[n] = d.Y[i]
								n++
							}
						}
						check(l.Load(copies[j]))
						check(l.Fit(theta, hyper))
						check(l.VJP(&w, &gc, v))
					}
					newton += l.iter
				}
			}
			b.ReportMetric(float64(newton)/float64(splits*steps), "newton/fit")
		})
	}
}
