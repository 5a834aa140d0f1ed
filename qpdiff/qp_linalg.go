package qpdiff

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Kernels on lower triangles in row-major storage. At lengths from ten on,
// floats.Dot and floats.AddScaled are twice as fast as a loop in Go, and more
// from fifty on.

// cholesky replaces the lower triangle of l by its Cholesky factor, with the
// inverses of the diagonal in inv. It stops at the first pivot that is not above
// tol times its diagonal entry, leaves it in place, and returns that row, or n.
func cholesky(l, inv []float64, n int, tol float64) int {
	for i := range n {
		li := l[i*n : i*n+i+1]
		for j := range i {
			li[j] = (li[j] - floats.Dot(li[:j], l[j*n:j*n+j])) * inv[j]
		}
		diag := li[i]
		d := diag - floats.Dot(li[:i], li[:i])
		if !(d > tol*math.Abs(diag)) || !finite(d) {
			li[i] = d
			return i
		}
		d = math.Sqrt(d)
		li[i], inv[i] = d, 1/d
	}
	return n
}

// smallestSingular estimates the smallest singular value of the lower triangle
// l (k rows of the given stride) after its rows have been divided by size. It
// solves with right-hand sides ±1 chosen so that the solution grows (Cline,
// Moler, Stewart and Wilkinson, 1979). A single pivot does not tell: the product
// of a few small ones counts. x is overwritten.
func smallestSingular(l, inv []float64, k, stride int, size, x []float64) float64 {
	x = x[:k]
	clear(x)
	for i := k - 1; i >= 0; i-- {
		s := x[i]
		v := (1 + math.Abs(s)) * inv[i]
		if s < 0 {
			v = -v
		}
		// x[i] holds minus the sum so far.
		floats.AddScaled(x[:i], -v, l[i*stride:i*stride+i])
		x[i] = v * size[i]
	}
	before := floats.Norm(x, 2)
	for i := range x {
		x[i] = (x[i]*size[i] - floats.Dot(l[i*stride:i*stride+i], x[:i])) * inv[i]
	}
	return before / floats.Norm(x, 2)
}

// backSolve replaces x by (lower triangle)⁻ᵀ x.
func backSolve(l, inv []float64, k, stride int, x []float64) {
	for i := k - 1; i >= 0; i-- {
		v := x[i] * inv[i]
		x[i] = v
		if v != 0 {
			floats.AddScaled(x[:i], -v, l[i*stride:i*stride+i])
		}
	}
}

// rotate replaces (x, y) by (c·x + s·y, c·y − s·x).
func rotate(x, y []float64, c, s float64) {
	y = y[:len(x)]
	for i, v := range x {
		w := y[i]
		x[i] = c*v + s*w
		y[i] = c*w - s*v
	}
}
