package linear_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// regression draws labels of a sparse truth with noise, and penalties.
func regression(rng *rand.Rand, x *mat.Dense) (y, hyper []float64) {
	rows, n := x.Dims()
	y = numtest.Normals(rng, rows)
	for i := range y {
		y[i] = .3*y[i] + x.At(i, 0) - x.At(i, n/2)
	}
	return y, []float64{.01 + .3*rng.Float64(), .01 + rng.Float64()}
}

// classes draws labels of a sparse truth with noise, of both classes among the rows that count for
// certain, and C.
func classes(rng *rand.Rand, x *mat.Dense) (y, hyper []float64) {
	rows, n := x.Dims()
	y = numtest.Normals(rng, rows)
	for i := range y {
		y[i] = math.Copysign(1, y[i]+x.At(i, 0)-x.At(i, n/2))
	}
	y[0], y[1] = 1, -1
	if rng.IntN(3) == 0 { // as targets
		for i := range y {
			y[i] *= .5 + rng.Float64()
		}
	}
	return y, []float64{.01 + rng.Float64()}
}

// sparse runs the contract by a factor, both ways, and by conjugate gradients.
func sparse(t *testing.T, newLearner func() learn.Learner, draw func(*rand.Rand, *mat.Dense) (y, hyper []float64)) {
	for _, most := range []int{1000, 3, 0} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer ways.SetSparseFeatures(ways.SetSparseFeatures(most))
			learntest.Views(t, newLearner, draw)
		})
	}
}

func TestElasticNetSparse(t *testing.T) {
	sparse(t, func() learn.Learner { return new(linear.ElasticNet) }, regression)
	t.Run("dense", func(t *testing.T) {
		defer ways.SetGramFeatures(ways.SetGramFeatures(0))
		learntest.Views(t, func() learn.Learner { return new(linear.ElasticNet) }, regression)
	})
}

func TestLogisticSparse(t *testing.T) {
	for _, intercept := range []linear.Intercept{linear.NoIntercept, linear.UnpenalisedIntercept, linear.PenalisedIntercept} {
		t.Run(fmt.Sprint(intercept), func(t *testing.T) {
			sparse(t, func() learn.Learner { return &linear.Logistic{Intercept: intercept} }, classes)
		})
	}
}

func TestSparseLogisticSparse(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		t.Run(fmt.Sprint(intercept), func(t *testing.T) {
			sparse(t, func() learn.Learner { return &linear.SparseLogistic{Intercept: intercept} }, func(rng *rand.Rand, x *mat.Dense) (y, hyper []float64) {
				y, _ = classes(rng, x)
				return y, []float64{.01 + .1*rng.Float64(), .01 + rng.Float64()}
			})
		})
	}
}
