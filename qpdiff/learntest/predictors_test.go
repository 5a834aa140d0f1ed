package learntest_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"

	"gonum.org/v1/gonum/mat"
)

func TestKernels(t *testing.T) {
	for _, n := range []int{1, 4} {
		learntest.Kernel(t, kernel.RBF{}, n, .7)
		for _, shape := range []kernel.Shape{kernel.Gaussian, kernel.Matern32, kernel.Matern52} {
			widths := make([]float64, n)
			for j := range widths {
				widths[j] = .3 * float64(j%3)
			}
			learntest.Kernel(t, kernel.ARD{Shape: shape}, n, widths...)
		}
		for degree := range 4 {
			learntest.Kernel(t, kernel.Polynomial{Degree: degree}, n, .3, 1.2)
		}
	}
}

func TestLeaveOneOut(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		for _, c := range []struct {
			kernel kernel.Kernel
			hyper  []float64
		}{
			{kernel.RBF{}, []float64{.05, .4}}, {kernel.RBF{}, []float64{0, 2}}, {kernel.RBF{}, []float64{1e-8, 1}},
			{kernel.Polynomial{}, []float64{.1, .2, 1}}, {kernel.Polynomial{Degree: 1}, []float64{.3, 1, 0}},
		} {
			for _, rows := range []int{2, 3, 9, 25, 131} { // the last in three blocks
				if rows > 25 && c.hyper[0] < .05 {
					continue // the tolerance is of conditions up to 1e5
				}
				t.Run(fmt.Sprintf("%T %v, intercept %v, %d rows", c.kernel, c.hyper, intercept, rows), func(t *testing.T) {
					rng := rand.New(rand.NewPCG(uint64(rows), 3))
					d := learn.Data{X: mat.NewDense(rows, 2, nil), Y: make([]float64, rows)}
					for i := range d.Y {
						d.Dense().SetRow(i, []float64{rng.NormFloat64(), rng.NormFloat64()})
						d.Y[i] = 100 + d.X.At(i, 0) + rng.NormFloat64()
					}
					learntest.LeaveOneOut(t, func() learn.LeaveOneOutLearner { return &kernel.Ridge{Kernel: c.kernel, Intercept: intercept} },
						learntest.Case{Data: d, Hyper: c.hyper})
				})
			}
		}
	}
}
