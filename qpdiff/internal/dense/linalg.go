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

// Axpy adds a·x to y, with y at least as long as x.
func Axpy(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

// LDLStride returns a stride for LDLFactor with n unknowns and one right-hand side. With it the
// vector units can handle small matrices, because rows are whole vectors. Columns beyond the
// right-hand side are undefined.
func LDLStride(n int) int { return (n + 4) &^ 3 }

// LDLFactor factorises a symmetric positive definite matrix A = LDLᵀ in place. A is the upper
// triangle of a: n rows of the given stride. Row k of the result is row k of DLᵀ, and dinv[k] =
// 1/d_k. Entries below the diagonal may change. Columns n, n+1, … < stride are right-hand sides,
// which are multiplied by L⁻¹.
//
// It stops at the first pivot that is at most tol times its diagonal entry, or has no reciprocal,
// and returns its row. The rows up to and including this row are linearly dependent to working
// precision. Without such a pivot it returns n, but the rows may still be dependent; see
// [Unsolvable].
func LDLFactor(a, dinv []float64, n, stride int, tol float64) int {
	return LDLFactorUntil(nil, a, dinv, n, stride, tol)
}

// LDLFactorUntil is LDLFactor that looks at end.
func LDLFactorUntil(end *stop.Stop, a, dinv []float64, n, stride int, tol float64) int {
	switch {
	case n == 3 && stride == 3:
		return ldlFactor3(a, dinv, tol)
	case !vectors:
	case n >= leastBlocks:
		return ldlBlocks(end, a, dinv, n, stride, tol)
	case n > 0 && stride%4 == 0:
		_, _ = a[n*stride-1], dinv[n-1]
		return ldlSmall(&a[0], &dinv[0], n, stride, tol)
	}
	// dinv holds the original diagonal until the pivot's reciprocal takes its
	// place.
	for k := range n {
		dinv[k] = a[k*stride+k]
	}
	// Two pivots at a time, which halves the passes over the rows below.
	for k := 0; k < n; k += 2 {
		end.Look()
		r0 := a[k*stride+k : (k+1)*stride]
		d := r0[0]
		if !(d > tol*dinv[k]) || d < SmallestNormal {
			return k
		}
		inv0 := 1 / d
		dinv[k] = inv0
		if k+1 == n {
			break
		}
		r0 = r0[1:]
		r1 := a[(k+1)*stride+k+1 : (k+2)*stride][:len(r0)]
		f := r0[0] * inv0
		for j, v := range r0 {
			r1[j] -= f * v
		}
		d = r1[0]
		if !(d > tol*dinv[k+1]) || d < SmallestNormal {
			return k + 1
		}
		inv1 := 1 / d
		dinv[k+1] = inv1
		for i := k + 2; i < n; i++ {
			s0 := r0[i-k-1:]
			s1 := r1[i-k-1:][:len(s0)]
			dst := a[i*stride+i:][:len(s0)]
			f0, f1 := s0[0]*inv0, s1[0]*inv1
			for j, v := range s0 {
				dst[j] -= f0*v + f1*s1[j]
			}
		}
	}
	return n
}

// ldlBlock is the number of pivots that are applied to a row at a time. It is even. With 32 pivots,
// rows of 1000 entries stay in the second-level cache.
const ldlBlock = 32

// leastBlocks is the number of unknowns from which on ldlBlocks pays.
const leastBlocks = 16

// ldlBlocks is LDLFactor for the vector units. It applies all pivots of a block to a row at once,
// so the row leaves the cache once for each block.
func ldlBlocks(end *stop.Stop, a, dinv []float64, n, stride int, tol float64) int {
	for k := range n {
		dinv[k] = a[k*stride+k]
	}
	var factors [ldlBlock]float64
	for from := 0; from < n; from += ldlBlock {
		to := min(from+ldlBlock, n)
		for i := from; i < n; i++ {
			if i%ldlBlock == 0 {
				end.Look()
			}
			row := a[i*stride+i : (i+1)*stride]
			if pivots := min(i, to) - from; pivots > 1 {
				above := a[from*stride+i:]
				for k := range pivots {
					factors[k] = above[k*stride] * dinv[from+k]
				}
				_ = above[(pivots-1)*stride+len(row)-1]
				if wide {
					subtractPairsWide(&row[0], len(row), &above[0], stride, &factors[0], pivots/2)
				} else {
					subtractPairs(&row[0], len(row), &above[0], stride, &factors[0], pivots/2)
				}
			}
			if i >= to {
				continue
			}
			if (i-from)%2 == 1 {
				r := a[(i-1)*stride+i:][:len(row)]
				f := r[0] * dinv[i-1]
				for j, v := range r {
					row[j] -= f * v
				}
			}
			if !ldlPivot(a, dinv, i, stride, tol) {
				return i
			}
		}
	}
	return n
}

// ldlPivot replaces dinv_k, the original diagonal entry, by the reciprocal of pivot k. It reports
// whether the pivot is large enough and has a reciprocal.
func ldlPivot(a, dinv []float64, k, stride int, tol float64) bool {
	d := a[k*stride+k]
	if !(d > tol*dinv[k]) || d < SmallestNormal {
		return false
	}
	dinv[k] = 1 / d
	return true
}

// LDLForward replaces x by L⁻¹x for a factor made by ldlFactor.
func LDLForward(a, dinv []float64, n, stride int, x []float64) {
	x = x[:n]
	if n == 3 {
		ldlForward3(a, dinv, stride, x)
		return
	}
	if vectors && n > 0 {
		_, _ = a[(n-1)*stride+n-1], dinv[n-1]
		ldlForward(&a[0], &dinv[0], n, stride, &x[0])
		return
	}
	for k := range x {
		rest := x[k+1:]
		f := x[k] * dinv[k]
		row := a[k*stride+k+1:][:len(rest)]
		for j, v := range row {
			rest[j] -= f * v
		}
	}
}

// LDLBack replaces x by (DLᵀ)⁻¹x for a factor made by ldlFactor.
func LDLBack(a, dinv []float64, n, stride int, x []float64) {
	x = x[:n]
	if n == 3 {
		ldlBack3(a, dinv, stride, x)
		return
	}
	if vectors && n > 0 {
		_, _ = a[(n-1)*stride+n-1], dinv[n-1]
		ldlBack(&a[0], &dinv[0], n, stride, &x[0])
		return
	}
	k := n
	// A sum waits for its last term, so four sums are computed at a time. They start from the far
	// end: the entry found last is needed last.
	for k >= 4 {
		known := x[k:]
		k -= 4
		r0, r1, r2, r3 := a[k*stride:][:n], a[(k+1)*stride:][:n], a[(k+2)*stride:][:n], a[(k+3)*stride:][:n]
		t0, t1, t2, t3 := r0[k+4:][:len(known)], r1[k+4:][:len(known)], r2[k+4:][:len(known)], r3[k+4:][:len(known)]
		s0, s1, s2, s3 := x[k], x[k+1], x[k+2], x[k+3]
		for j := len(known) - 1; j >= 0; j-- {
			v := known[j]
			s0 -= t0[j] * v
			s1 -= t1[j] * v
			s2 -= t2[j] * v
			s3 -= t3[j] * v
		}
		s3 *= dinv[k+3]
		s2 = (s2 - r2[k+3]*s3) * dinv[k+2]
		s1 = (s1 - r1[k+3]*s3 - r1[k+2]*s2) * dinv[k+1]
		s0 = (s0 - r0[k+3]*s3 - r0[k+2]*s2 - r0[k+1]*s1) * dinv[k]
		x[k], x[k+1], x[k+2], x[k+3] = s0, s1, s2, s3
	}
	for k--; k >= 0; k-- {
		row := a[k*stride:][:n]
		s := x[k]
		for j := n - 1; j > k; j-- {
			s -= row[j] * x[j]
		}
		x[k] = s * dinv[k]
	}
}

// LDLSolve replaces x by A⁻¹x for a factor of A made by ldlFactor.
func LDLSolve(a, dinv []float64, n, stride int, x []float64) {
	LDLForward(a, dinv, n, stride, x)
	LDLBack(a, dinv, n, stride, x)
}

// LDLForm returns xᵀAx for a factor of A made by ldlFactor.
func LDLForm(a, dinv []float64, n, stride int, x []float64) float64 {
	var s float64
	for k := range n {
		u := Dot(x[k:n], a[k*stride+k:])
		s += u * u * dinv[k]
	}
	return s
}

// CondBound is an upper bound of the condition of a positive definite n×n matrix scaled to a unit
// diagonal. It costs very little. pivots is the product of the matrix's pivots, which is its
// determinant, and floor any lower bound of its smallest eigenvalue. The eigenvalues except for the
// smallest, λ, sum to less than n. Their product is therefore at most (n/(n−1))ⁿ⁻¹ < e, and λ ≥
// pivots/e.
func CondBound(n int, pivots, floor float64) float64 {
	if n < 2 {
		return 1
	}
	return min(float64(n)/max(pivots/math.E, floor), math.MaxFloat64)
}

// LDLCond estimates the condition of A, scaled to a unit diagonal, from its factor made by
// ldlFactor. It uses a right-hand side of entries ±1, chosen so that L⁻¹ times it is large (Cline,
// Moler, Stewart and Wilkinson, 1979), and two steps of inverse iteration. The largest eigenvalue
// lies between 1 and n; the estimate uses √n. size and x are scratch of n entries.
func LDLCond(a, dinv []float64, n, stride int, size, x []float64) float64 {
	if n < 2 {
		return 1
	}
	size, x = size[:n], x[:n]
	LDLSize(a, dinv, n, stride, size)
	clear(x)
	for k, s := range size {
		if x[k] < 0 {
			s = -s
		}
		x[k] += s
		rest := x[k+1:]
		Axpy(-x[k]*dinv[k], a[k*stride+k+1:][:len(rest)], rest)
	}
	before := math.Sqrt(float64(n))
	var least float64
	for step := range 2 {
		if step > 0 {
			for k, s := range size {
				x[k] *= s / before
			}
			before = 1
			LDLForward(a, dinv, n, stride, x)
		}
		LDLBack(a, dinv, n, stride, x)
		for k, s := range size {
			x[k] *= s
		}
		norm := math.Sqrt(Dot(x, x))
		least = before / norm
		before = norm
	}
	if cond := math.Sqrt(float64(n)) / least; cond >= 1 {
		return cond
	}
	return math.Inf(1) // not a number: the estimate itself overflows
}

// LDLSize sets size to the square roots of the diagonal of A, from its factor made by ldlFactor.
func LDLSize(a, dinv []float64, n, stride int, size []float64) {
	clear(size)
	for i := range n {
		for k, v := range a[i*stride+i : i*stride+n] {
			size[i+k] += v * dinv[i] * v // in this order: v² may overflow
		}
	}
	for k, v := range size {
		size[k] = math.Sqrt(v)
	}
}

// LDLDependent returns the row of A that depends most on earlier ones, from a factor of A made by
// ldlFactor. For the dependency v, column k of L⁻ᵀ, it is the row with the smallest vᵀAv = d_k
// relative to Σ v_i²·a_ii. The reciprocals of these ratios sum to the trace of the inverse of A
// scaled to a unit diagonal. size and v are scratch of n entries.
func LDLDependent(a, dinv []float64, n, stride int, size, v []float64) int {
	size = size[:n]
	LDLSize(a, dinv, n, stride, size)
	worst, at := 0.0, n-1
	for k := range n {
		for i := range k {
			v[i] = -a[i*stride+k]
		}
		LDLBack(a, dinv, k, stride, v[:k])
		sum := size[k] * size[k]
		for i, t := range v[:k] {
			sum += t * t * size[i] * size[i]
		}
		if sum *= dinv[k]; !(sum <= worst) {
			worst, at = sum, k
		}
	}
	return at
}

// Grow returns a slice of n entries. It uses the storage of x if that is large enough. The entries
// are undefined.
func Grow[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }

// GrowAll makes each slice one of n entries, as Grow does. The first entries of all slices lie side
// by side, so that they share cache lines.
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

// Zeros returns n zeros in the storage of x.
func Zeros(x []float64, n int) []float64 {
	x = Grow(x, n)
	clear(x)
	return x
}

// Gather sets dst_k to x_j for the k-th j of at.
func Gather(dst, x []float64, at []int) {
	for k, j := range at {
		dst[k] = x[j]
	}
}

// DescendKinks does one sweep of coordinate descent on
//
//	½ xᵀ(G + diag r)x − cᵀx + Σ_j (up_j·max(x_j, 0) − lo_j·min(x_j, 0))
//
// for the n×n matrix G in m. rest is c − Gx, before and after. DescendKinks reports whether a sign
// has changed.
func DescendKinks(x, rest, m, r, up, lo []float64) (moved bool) {
	n := len(x)
	if n == 0 {
		return false
	}
	rest, r, up, lo = rest[:n], r[:n], up[:n], lo[:n]
	if vectors {
		_ = m[n*n-1]
		return descendKinks(&x[0], &rest[0], &m[0], &r[0], &up[0], &lo[0], n)
	}
	for j, old := range x {
		row := m[j*n : (j+1)*n]
		h := row[j] + r[j]
		if !(h > 0) {
			continue
		}
		rho := rest[j] + row[j]*old
		var v float64
		if rho > up[j] {
			v = (rho - up[j]) / h
		} else if -rho > lo[j] {
			v = (rho + lo[j]) / h
		}
		if v == old {
			continue
		}
		if v > 0 != (old > 0) || v < 0 != (old < 0) {
			moved = true
		}
		x[j] = v
		floats.AddScaled(rest, old-v, row)
	}
	return moved
}

// GatherUpper sets the upper triangle of dst, with rows of the given stride, to a part of the n×n
// matrix g: the rows and columns at. There must be at least one. It adds r_j on the diagonal for
// each j of at. Entries below the diagonal may change.
func GatherUpper(dst []float64, stride int, g []float64, n int, r []float64, at []int) {
	s := len(at)
	if vectors {
		last := at[s-1] // at ascends
		_, _, _ = dst[(s-1)*stride+s-1], g[last*n+last], r[last]
		gatherUpper(&dst[0], stride, &g[0], n, &r[0], &at[0], s)
		return
	}
	for i, j := range at {
		row, out := g[j*n:(j+1)*n], dst[i*stride:i*stride+s]
		for k := i; k < s; k++ {
			out[k] = row[at[k]]
		}
		out[i] += r[j]
	}
}

// Scatter sets dst_j to x_k for the k-th j of at.
func Scatter(dst, x []float64, at []int) {
	for k, j := range at {
		dst[j] = x[k]
	}
}

// Fill sets all entries of x to v.
func Fill[T any](x []T, v T) {
	for i := range x {
		x[i] = v
	}
}

// Kernels on lower triangles in row-major storage. From length ten on, floats.Dot and
// floats.AddScaled are twice as fast as a loop in Go, and faster still from fifty on.

// Cholesky replaces the lower triangle of l by its Cholesky factor, with the inverses of the
// diagonal in inv. It stops at the first pivot that is at most tol times its diagonal entry, leaves
// that pivot in place, and returns its row; otherwise it returns n. It checks end, to stop early.
func Cholesky(end *stop.Stop, l, inv []float64, n int, tol float64) int {
	for i := range n {
		inv[i] = l[i*n+i]
	}
	return choleskyRows(end, l, inv, n, n, tol)
}

// choleskyRows is Cholesky for rows of the given stride. At first inv holds the diagonal with which
// pivots are compared; the inverses replace it.
func choleskyRows(end *stop.Stop, l, inv []float64, n, stride int, tol float64) int {
	for i := range n {
		end.Look()
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

// SmallestSingular estimates the smallest singular value of the lower triangle l (k rows of the
// given stride) after its rows have been divided by size. It solves with right-hand sides ±1 chosen
// so that the solution grows (Cline, Moler, Stewart and Wilkinson, 1979). A single pivot does not
// suffice, because the product of a few small ones matters. x is overwritten.
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

// ForwardSolve replaces the first k entries of x by (lower triangle)⁻¹ x.
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

// BackSolve replaces the first k entries of x by (lower triangle)⁻ᵀ x.
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

// RotateRows rotates rows of n entries. The rows start at rows, stride entries apart. It replaces
// the first two, x and y, by cos[0]·x + sin[0]·y and cos[0]·y − sin[0]·x. Then it rotates the
// second and the third with cos[1] and sin[1], and so on.
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

// IsNext reports whether i is the entry of s at *at. If so, it moves *at to the next entry. A loop
// over ascending i thus meets the entries of an ascending s in order.
func IsNext(s []int, at *int, i int) bool {
	if *at < len(s) && s[*at] == i {
		*at++
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

// Largest returns the largest modulus in s, or NaN if s holds NaN.
func Largest(s []float64) float64 {
	var m float64
	for _, v := range s {
		m = max(m, math.Abs(v))
	}
	return m
}

// ScaleBy multiplies the entries of v by 2^power, exactly unless an entry overflows or becomes
// subnormal.
func ScaleBy(v []float64, power int) {
	for i := range v {
		v[i] = math.Ldexp(v[i], power)
	}
}

// Symmetric returns the largest absolute entry of the n×n matrix q, and reports whether q equals
// its transpose bit by bit. A matrix with a NaN is not symmetric; the largest entry ignores NaN.
func Symmetric(q []float64, n int) (largest float64, same bool) {
	if vectors && n >= leastRows {
		_ = q[n*n-1]
		largest, differ := compareHalves(&q[0], n)
		return largest, differ == 0
	}
	same = true
	for i := range n {
		for j, v := range q[i*n : (i+1)*n] {
			if math.Float64bits(v) != math.Float64bits(q[j*n+i]) || v != v {
				same = false
			}
			if v = math.Abs(v); v > largest {
				largest = v
			}
		}
	}
	return largest, same
}

// AllFinite reports whether no entry is NaN or infinite.
func AllFinite(x []float64) bool {
	sum := 0.0
	for _, v := range x {
		sum += v * 0 // NaN for others
	}
	return sum == 0
}

// CountAt returns counts[i], or 1 if counts is nil.
func CountAt(counts []float64, i int) float64 {
	if counts == nil {
		return 1
	}
	return counts[i]
}
