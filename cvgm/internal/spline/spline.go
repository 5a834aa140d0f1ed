// Package spline evaluates cubic B-splines with equally spaced knots.
package spline

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Least is the least number of cubic B-splines, which one segment has.
const Least = 4

// Values sets dst to the values at x of len(dst) cubic B-splines, of which len(dst) − 3 segments of
// equal length make up [low, high]. Their sum is 1. Beyond that range each is continued on its tangent.
func Values(dst []float64, low, high, x float64) {
	segments := len(dst) - 3
	s := share(low, high, x) * float64(segments)
	at := min(max(math.Floor(s), 0), float64(segments-1))
	t := s - at
	beyond := 0.
	if t < 0 || t > 1 {
		inside := min(max(t, 0), 1)
		t, beyond = inside, t-inside
	}
	u := 1 - t
	clear(dst)
	near := dst[int(at):][:4]
	near[0] = u*u*u/6 - beyond*u*u/2
	near[1] = (3*t*t*t-6*t*t+4)/6 + beyond*(3*t*t-4*t)/2
	near[2] = (3*u*u*u-6*u*u+4)/6 - beyond*(3*u*u-4*u)/2
	near[3] = t*t*t/6 + beyond*t*t/2
}

// share returns (x − low)/(high − low), without overflow of the differences.
func share(low, high, x float64) float64 {
	if length := high - low; !math.IsInf(length, 0) {
		return (x - low) / length
	}
	return (x/2 - low/2) / (high/2 - low/2)
}

// Centred sets dst to Zᵀ times the values of count = len(dst) + 1 B-splines at x. The columns of Z
// are orthonormal and orthogonal to the vector of ones: with weights θ of dst, the B-splines have the
// weights Zθ, of sum 0, and no θ makes a constant function. work has count entries.
func Centred(dst, work []float64, low, high, x float64) {
	Values(work, low, high, x)
	// Z is the Householder matrix that maps ones to a multiple of the first unit vector, without
	// its first column.
	n, root := float64(len(work)), math.Sqrt(float64(len(work)))
	shift := (1 + root*work[0]) / (n + root)
	for k := range dst {
		dst[k] = work[k+1] - shift
	}
}

// Penalty returns ZᵀDᵀDZ, where D takes the differences of order 2 of count neighbouring weights. It
// penalises all functions of [Centred] but multiples of one, which is linear.
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
