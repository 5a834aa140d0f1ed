package spline

import (
	"math"
	"testing"

	"cvgm/cvgm/internal/portable"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Penalty returns the matrix of the sum of squared second differences of the B-splines' weights.
// The features of the portable model have the same coefficients.
func TestPenaltyGoesWithFeatures(t *testing.T) {
	const count = 7
	s := Penalty(count)
	theta := []float64{.3, -1, 2, .5, -.2, 1.1}
	// The weights follow from the values at as many points as there are splines.
	values, system := make([]float64, count), mat.NewDense(count, count, nil)
	features := []portable.Column{{Splines: &portable.CentredSplines{Count: count, High: 1}}}
	dst := make([]float64, count-1)
	for i := range count {
		x := float64(i) / (count - 1)
		first, near := portable.BSplines(count, 0, 1, x)
		for k, v := range near {
			system.Set(i, first+k, v)
		}
		portable.Features(features, []float64{x}, func(k int, v float64) { dst[k] = v })
		values[i] = floats.Dot(dst, theta)
	}
	var weights mat.VecDense
	if err := weights.SolveVec(system, mat.NewVecDense(count, values)); err != nil {
		t.Fatal(err)
	}
	const solveTol = 1e-10
	want := 0.
	for i := range count - 2 {
		d := weights.AtVec(i) - 2*weights.AtVec(i+1) + weights.AtVec(i+2)
		want += d * d
	}
	v := mat.NewVecDense(count-1, theta)
	if got := mat.Inner(v, s, v); math.Abs(got-want) > solveTol*want {
		t.Errorf("penalty %v, not %v", got, want)
	}
	if sum := mat.Sum(&weights); math.Abs(sum) > solveTol {
		t.Errorf("sum of weights %v", sum)
	}
	var eigen mat.EigenSym
	eigen.Factorize(s, false)
	zero := 0
	for _, v := range eigen.Values(nil) {
		if v < 1e-10 {
			zero++
		}
	}
	if zero != 1 {
		t.Errorf("%d functions without a penalty, not the straight line alone", zero)
	}
}
