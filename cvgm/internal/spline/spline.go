// Package spline penalises the features of cubic B-splines with equally spaced knots. Package
// portable evaluates the splines.
package spline

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Least is the smallest number of cubic B-splines: the number for a single segment.
const Least = 4

// Penalty returns ZᵀDᵀDZ for weightCount B-splines. The columns of Z are an orthonormal basis of
// the space of weights whose sum is 0, and D takes second differences of neighbouring weights. Only
// linear functions have the penalty 0. Because the weights sum to 0, all of them are multiples of
// one function.
func Penalty(weightCount int) *mat.SymDense {
	z, difference := mat.NewDense(weightCount, weightCount-1, nil), mat.NewDense(weightCount-2, weightCount, nil)
	n, root := float64(weightCount), math.Sqrt(float64(weightCount))
	for k := 1; k < weightCount; k++ {
		for i := range weightCount {
			v := -1 / (n + root)
			if i == 0 {
				v = -(1 + root) / (n + root)
			} else if i == k {
				v++
			}
			z.Set(i, k-1, v)
		}
	}
	for i := range weightCount - 2 {
		difference.Set(i, i, 1)
		difference.Set(i, i+1, -2)
		difference.Set(i, i+2, 1)
	}
	var root2 mat.Dense
	root2.Mul(difference, z)
	s := new(mat.SymDense)
	s.SymOuterK(1, root2.T())
	return s
}
