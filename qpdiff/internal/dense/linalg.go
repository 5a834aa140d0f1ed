package dense

import (
	"math"
	"slices"

	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
)

// Dot returns xᵀy, with y at least as long as x.
func Dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s float64
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// Axpy adds a·x to y. The slice y must be at least as long as x.
func Axpy(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

// Grow returns a slice of n entries, whose values are undefined. It uses the storage of x if this
// storage is large enough.
func Grow[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }

// GrowAll gives each slice n entries, as Grow does. If all slices are new, it allocates them next
// to each other in memory.
func GrowAll[T any](n int, xs ...*[]T) {
	if !slices.ContainsFunc(xs, func(x *[]T) bool { return cap(*x) > 0 }) {
		all := make([]T, n*len(xs))
		for k, x := range xs {
			*x = all[k*n : k*n : (k+1)*n]
		}
	}
	for _, x := range xs {
		*x = Grow(*x, n)
	}
}

// Zeros returns a slice of n zeros. It uses the storage of x if x is large enough.
func Zeros(x []float64, n int) []float64 {
	x = Grow(x, n)
	clear(x)
	return x
}

// Gather sets dst[k] to x[idx[k]] for each k.
func Gather(dst, x []float64, idx []int) {
	for k, j := range idx {
		dst[k] = x[j]
	}
}

// DescendKinks does one sweep of coordinate descent on
//
//	½ xᵀ(G + diag r)x − cᵀx + Σ_j (upper_j·max(x_j, 0) − lower_j·min(x_j, 0))
//
// Here G is the n×n matrix in m. The parameters r, upper and lower are vectors, and j runs over the
// entries of x. Before the call, resid must be c − Gx. DescendKinks updates resid, and reports
// whether the sign of an entry of x has changed.
func DescendKinks(x, resid, m, r, upper, lower []float64) (moved bool) {
	n := len(x)
	if n == 0 {
		return false
	}
	resid, r, upper, lower = resid[:n], r[:n], upper[:n], lower[:n]
	if vectors {
		_ = m[n*n-1]
		return descendKinks(&x[0], &resid[0], &m[0], &r[0], &upper[0], &lower[0], n)
	}
	for j, old := range x {
		row := m[j*n : (j+1)*n]
		h := row[j] + r[j]
		if !(h > 0) {
			continue
		}
		rho := resid[j] + row[j]*old
		var v float64
		if rho > upper[j] {
			v = (rho - upper[j]) / h
		} else if -rho > lower[j] {
			v = (rho + lower[j]) / h
		}
		if v == old {
			continue
		}
		if v > 0 != (old > 0) || v < 0 != (old < 0) {
			moved = true
		}
		x[j] = v
		floats.AddScaled(resid, old-v, row)
	}
	return moved
}

// GatherUpper sets the upper triangle of dst to a part of the n×n matrix g: the rows and columns in
// the list idx. The list idx ascends and must not be empty. Row k of the part begins at
// dst[k·stride]. For each j in idx, GatherUpper adds r_j to the copied diagonal entry of row j of
// g. Entries of dst below the diagonal may change.
func GatherUpper(dst []float64, stride int, g []float64, n int, r []float64, idx []int) {
	s := len(idx)
	if vectors {
		last := idx[s-1] // idx ascends
		_, _, _ = dst[(s-1)*stride+s-1], g[last*n+last], r[last]
		gatherUpper(&dst[0], stride, &g[0], n, &r[0], &idx[0], s)
		return
	}
	for i, j := range idx {
		row, out := g[j*n:(j+1)*n], dst[i*stride:i*stride+s]
		for k := i; k < s; k++ {
			out[k] = row[idx[k]]
		}
		out[i] += r[j]
	}
}

// Scatter sets dst[idx[k]] to x[k] for each k.
func Scatter(dst, x []float64, idx []int) {
	for k, j := range idx {
		dst[j] = x[k]
	}
}

// Fill sets all entries of x to v.
func Fill[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// The following functions use lower triangles in row-major storage. For ten or more entries,
// floats.Dot and floats.AddScaled are at least twice as fast as a loop in Go.

// Cholesky replaces the lower triangle of l by its Cholesky factor, and writes the inverses of the
// factor's diagonal to inv. A pivot is too small if it is at most tol times the matrix's diagonal
// entry in the same row. Cholesky stops at the first pivot that is too small, and returns its row.
// The diagonal of l then holds this pivot. If there is no such pivot, Cholesky returns n. Cholesky
// stops early if the context of stopper ends.
func Cholesky(stopper *stop.Stop, l, inv []float64, n int, tol float64) int {
	for i := range n {
		inv[i] = l[i*n+i]
	}
	return choleskyRows(stopper, l, inv, n, n, tol)
}

// choleskyRows does the work of Cholesky for a matrix whose row i begins at l[i·stride]. Before the
// call, inv must hold the diagonal entries with which the pivots are compared. choleskyRows
// replaces these entries by the inverses of the factor's diagonal.
func choleskyRows(stopper *stop.Stop, l, inv []float64, n, stride int, tol float64) int {
	if vectors && stopper == nil && n > 0 {
		_, _ = l[(n-1)*stride+n-1], inv[n-1]
		return cholesky(&l[0], stride, &inv[0], n, tol)
	}
	for i := range n {
		stopper.Look()
		li := l[i*stride : i*stride+i+1]
		ForwardSolve(l, inv, i, stride, li)
		d := li[i] - floats.Dot(li[:i], li[:i])
		if !(d > tol*math.Abs(inv[i])) || !Finite(d) {
			li[i] = d
			return i
		}
		d = math.Sqrt(d)
		li[i], inv[i] = d, 1/d
	}
	return n
}

// SmallestSingular estimates the smallest singular value of the lower triangle l, after row i is
// divided by size[i] for each i. Row i of the k rows begins at l[i·stride]. SmallestSingular solves
// a system whose right-hand side has entries ±1, chosen so that the solution is large (Cline,
// Moler, Stewart and Wilkinson, 1979). The smallest pivot would be a bad estimate, because several
// small pivots together can give a far smaller singular value. The parameter x is scratch.
func SmallestSingular(l, inv []float64, k, stride int, size, x []float64) float64 {
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

// ForwardSolve replaces the first k entries of x by L⁻¹x. The slice l holds the lower triangle L;
// row i begins at l[i·stride]. The slice inv holds the inverses of L's diagonal.
func ForwardSolve(l, inv []float64, k, stride int, x []float64) {
	if vectors && k >= leastRows {
		_, _, _ = l[(k-1)*stride+k-1], inv[k-1], x[k-1]
		forwardRows(&x[0], &l[0], stride, &inv[0], k)
		return
	}
	for i := range k {
		row, before := l[i*stride:i*stride+i], i&^3
		v := x[i] - floats.Dot(row[:before], x[:before])
		for j := before; j < i; j++ {
			v -= float64(row[j] * x[j])
		}
		x[i] = v * inv[i]
	}
}

// BackSolve replaces the first k entries of x by L⁻ᵀx. The slice l holds the lower triangle L; row
// i begins at l[i·stride]. The slice inv holds the inverses of L's diagonal.
func BackSolve(l, inv []float64, k, stride int, x []float64) {
	if vectors && k >= leastRows {
		_, _, _ = l[(k-1)*stride+k-1], inv[k-1], x[k-1]
		backRows(&x[0], &l[0], stride, &inv[0], k)
		return
	}
	for i := k - 1; i >= 0; i-- {
		v := x[i] * inv[i]
		x[i] = v
		floats.AddScaled(x[:i], -v, l[i*stride:i*stride+i])
	}
}

// RotateRows rotates neighbouring rows of a matrix. The slice rows holds the matrix, whose row i
// has n entries and begins at rows[i·stride]. RotateRows replaces the first row x and the second
// row y by cos[0]·x + sin[0]·y and cos[0]·y − sin[0]·x. Then it rotates the second and the third
// row with cos[1] and sin[1], and so on.
func RotateRows(rows []float64, stride, n int, cos, sin []float64) {
	count := len(cos)
	if count == 0 {
		return
	}
	if vectors {
		_, _ = rows[count*stride+n-1], sin[count-1]
		rotateRows(&rows[0], stride, n, &cos[0], &sin[0], count)
		return
	}
	for k, c := range cos {
		x, y, s := rows[k*stride:][:n], rows[(k+1)*stride:][:n], sin[k]
		for i, v := range x {
			w := y[i]
			x[i] = c*v + s*w
			y[i] = c*w - s*v
		}
	}
}

// IsNext reports whether s[*pos] is i. If it is, IsNext also increments *pos. A loop over ascending
// i can thus test, for each i, whether the ascending list s contains i.
func IsNext(s []int, pos *int, i int) bool {
	if *pos < len(s) && s[*pos] == i {
		*pos++
		return true
	}
	return false
}

func Sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// Finite reports whether v is neither NaN nor infinite.
func Finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// AbsDot returns Σ|x_i y_i|.
func AbsDot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += math.Abs(v * y[i])
	}
	return sum
}

// Largest returns the largest absolute value in s, or NaN if s holds NaN.
func Largest(s []float64) float64 {
	var m float64
	for _, v := range s {
		m = max(m, math.Abs(v))
	}
	return m
}

// ScaleBy multiplies the entries of v by 2^power. The result is exact unless an entry overflows or
// becomes subnormal.
func ScaleBy(v []float64, power int) {
	for i := range v {
		v[i] = math.Ldexp(v[i], power)
	}
}

// Symmetric returns the largest absolute entry of the n×n matrix q, and reports whether q has the
// same bits as its transpose. The largest entry is taken over the entries that are not NaN. A
// matrix with a NaN entry does not count as symmetric.
func Symmetric(q []float64, n int) (largest float64, symmetric bool) {
	if vectors && n >= leastRows {
		_ = q[n*n-1]
		largest, differ := compareHalves(&q[0], n)
		return largest, differ == 0
	}
	symmetric = true
	for i := range n {
		for j, v := range q[i*n : (i+1)*n] {
			if math.Float64bits(v) != math.Float64bits(q[j*n+i]) || v != v {
				symmetric = false
			}
			if v = math.Abs(v); v > largest {
				largest = v
			}
		}
	}
	return largest, symmetric
}

// AllFinite reports whether no entry is NaN or infinite.
func AllFinite(x []float64) bool {
	var s0, s1, s2, s3 float64 // sums that do not wait for each other
	for ; len(x) >= 4; x = x[4:] {
		s0 += x[0] * 0 // NaN if x[0] is NaN or infinite
		s1 += x[1] * 0
		s2 += x[2] * 0
		s3 += x[3] * 0
	}
	for _, v := range x {
		s0 += v * 0
	}
	return s0+s1+(s2+s3) == 0
}

// CountAt returns counts[i], or 1 if counts is nil.
func CountAt(counts []float64, i int) float64 {
	if counts == nil {
		return 1
	}
	return counts[i]
}
