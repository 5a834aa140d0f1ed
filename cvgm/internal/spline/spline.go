// Package spline penalises the features of cubic B-splines with equally spaced knots. Package
// portable evaluates the splines.
package spline

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Least is the least number of cubic B-splines, which one segment has.
const Least = 4

// Penalty returns ZᵀDᵀDZ, where D takes the differences of order 2 of count neighbouring weights.
// It penalises all functions of a column's features except linear ones, which are multiples of one
// function.
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
