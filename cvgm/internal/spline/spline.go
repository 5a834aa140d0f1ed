// Package spline penalises the features of cubic B-splines with equally spaced knots. Package
// portable evaluates the splines.
package spline

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Least is the smallest number of cubic B-splines: the number for a single segment.
const Least = 4

// Penalty returns ZᵀDᵀDZ, where D takes the second differences of neighbouring weights. The
// parameter count is the number of weights. The penalty is on all functions of a column's features
// except linear functions. The linear functions are the multiples of one function.
func Penalty(count int) *mat.SymDense {
	z, difference := mat.NewDense(count, count-1, nil), mat.NewDense(count-2, count, nil)
	n, root := float64(count), math.Sqrt(float64(count))
	for k := 1; k < count; k++ {
		for i := range count {
			v := -1 / (n + root)
			if i == 0 {
				v = -(1 + root) / (n + root)
			} else if i == k {
				v++
			}
			z.Set(i, k-1, v)
		}
	}
	for i := range count - 2 {
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
