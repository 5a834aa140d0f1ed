package cvgm

import (
	"fmt"
	"math"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// kernelData returns rows of ten standard normal features with the label x₁ + sin 2x₂ plus noise,
// or its sign.
func kernelData(rows int, classes bool) learn.Data {
	const features = 10
	noise := .3
	if classes {
		noise = 2 // a machine's support is then most rows
	}
	rng := synth.NewStream(1, "kernels")
	x := mat.NewDense(rows, features, nil)
	d := learn.Data{X: x, Y: make([]float64, rows)}
	for i := range rows {
		x := x.RawRowView(i)
		for j := range x {
			x[j] = synth.Normal(rng, 0, 1)
		}
		d.Y[i] = x[0] + math.Sin(2*x[1]) + noise*synth.Normal(rng, 0, 1)
		if classes {
			d.Y[i] = math.Copysign(1, d.Y[i])
		}
	}
	return d
}

// BenchmarkKernelRidge times an evaluation of the CV loss with five folds and with leave-one-out.
// The reported operations are the factorisations.
func BenchmarkKernelRidge(b *testing.B) {
	for _, c := range []struct{ rows, folds int }{{250, 5}, {500, 5}, {2000, 5}, {200, 200}, {1000, 1000}, {2000, 2000}} {
		splits := casetest.Must(KFold(synth.NewStream(1, "folds"), c.rows, c.folds))(b)
		for _, gradient := range []bool{false, true} {
			b.Run(fmt.Sprintf("N=%d/K=%d/gradient=%v", c.rows, c.folds, gradient), func(b *testing.B) {
				cv := casetest.Must(New(Config{Data: kernelData(c.rows, false), Splits: splits, Workers: 1, Loss: SquaredError{},
					Learner: func() learn.Learner { return new(kernel.Ridge) }}))(b)
				benchmarkKernel(b, cv, gradient, 1e-3)
				n := float64(c.rows)
				train := n - n/float64(c.folds)
				factors := float64(c.folds)
				if c.folds == c.rows { // leave-one-out has one factor and its inverse
					train, factors = n, 3
				}
				b.ReportMetric(factors*train*train*train/3, "operations/op")
				b.ReportMetric(8*factors*train*train/2, "moved-B/op")
			})
		}
	}
}

// BenchmarkKernelSVM times an evaluation of the CV loss with five folds from a cold start.
func BenchmarkKernelSVM(b *testing.B) {
	for _, c := range []struct {
		rows int
		c    float64
	}{{250, 1}, {1000, 1}, {2000, 1}, {2000, 100}} {
		splits := casetest.Must(KFold(synth.NewStream(1, "folds"), c.rows, 5))(b)
		for _, gradient := range []bool{false, true} {
			b.Run(fmt.Sprintf("N=%d/C=%v/gradient=%v", c.rows, c.c, gradient), func(b *testing.B) {
				cv := casetest.Must(New(Config{Data: kernelData(c.rows, true), Splits: splits, Workers: 1, Loss: LogisticLoss{},
					Learner: func() learn.Learner { return &kernel.SVM{Intercept: true} }}))(b)
				benchmarkKernel(b, cv, gradient, c.c)
			})
		}
	}
}

func benchmarkKernel(b *testing.B, cv *CV, gradient bool, first float64) {
	var grad []float64
	if gradient {
		grad = make([]float64, 2)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		cv.Reset()
		if _, err := cv.Eval(grad, []float64{first, .1 + 1e-5*float64(i%5)}); err != nil {
			b.Fatal(err)
		}
	}
}
