package linear_test

import (
	"fmt"
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

func TestElasticNetSparse(t *testing.T) {
	for _, most := range []int{1000, 3, 0} { // by a factor, both ways, and by conjugate gradients
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer ways.SetSparseFeatures(ways.SetSparseFeatures(most))
			learntest.Views(t, func() learn.Learner { return new(linear.ElasticNet) }, regression)
		})
	}
	t.Run("dense", func(t *testing.T) {
		defer ways.SetGramFeatures(ways.SetGramFeatures(0))
		learntest.Views(t, func() learn.Learner { return new(linear.ElasticNet) }, regression)
	})
}
