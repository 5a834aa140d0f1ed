package learntest_test

import (
	"testing"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// The example tests a ridge regression on two data sets. Its residual is the gradient of the
// objective.
func Example() {
	residual := func(d learn.Data, theta, hyper []float64) float64 {
		var fit, gradient mat.VecDense
		fit.MulVec(d.X, mat.NewVecDense(len(theta), theta))
		fit.SubVec(&fit, mat.NewVecDense(len(d.Y), d.Y))
		gradient.MulVec(d.X.T(), &fit)
		gradient.AddScaledVec(&gradient, hyper[1]*float64(len(d.Y)), mat.NewVecDense(len(theta), theta))
		return mat.Norm(&gradient, 2) / mat.Norm(&fit, 2)
	}
	_ = func(t *testing.T) { // in a test file: func TestElasticNet(t *testing.T)
		learntest.Learner(t, func() learn.Learner { return new(linear.ElasticNet) },
			learntest.Case{Name: "one feature", Residual: residual, Hyper: []float64{0, .5},
				Data: learn.Data{X: mat.NewDense(3, 1, []float64{1, -2, 3}), Y: []float64{1, 2, 4}}},
			learntest.Case{Name: "two features", Residual: residual, Hyper: []float64{0, .1},
				Data: learn.Data{X: mat.NewDense(3, 2, []float64{1, 2, -1, 1, 0, 3}), Y: []float64{1, 0, 2}}})
	}
}
