package dense

import (
	"math"

	"cvgm/qpdiff/internal/stop"
)

// LDLStride returns a stride for LDLFactor with n unknowns and one right-hand side. With this
// stride each row consists of whole vectors, so that the vector units can process even small
// matrices. The columns behind the right-hand side are undefined.
func LDLStride(n int) int { return (n + 4) &^ 3 }

// LDLFactor factorises a symmetric positive definite matrix A = LDLᵀ in place. The slice a holds
// the upper triangle of A in n rows; row i begins at a[i·stride]. After the call, row k of a is row
// k of DLᵀ, and dinv[k] = 1/d_k. Entries below the diagonal may change. Columns n to stride−1 of a
// are right-hand sides, which LDLFactor multiplies by L⁻¹.
//
// LDLFactor stops at the first pivot that is too small, and returns the row of this pivot. A pivot
// is too small if it is at most tol times its diagonal entry, or if its reciprocal overflows. The
// rows up to this row are then linearly dependent to working precision. If no pivot is too small,
// LDLFactor returns n, but the rows may still be dependent; see [Unsolvable].
func LDLFactor(a, dinv []float64, n, stride int, tol float64) int {
	return LDLFactorUntil(nil, a, dinv, n, stride, tol)
}

// LDLFactorUntil does the work of LDLFactor, but stops early if the context of stopper ends.
func LDLFactorUntil(stopper *stop.Stop, a, dinv []float64, n, stride int, tol float64) int {
	switch {
	case n == 3 && stride == 3:
		return ldlFactor3(a, dinv, tol)
	case !vectors:
	case n >= leastBlocks:
		return ldlBlocks(stopper, a, dinv, n, stride, tol)
	case n > 0 && stride%4 == 0:
		_, _ = a[n*stride-1], dinv[n-1]
		return ldlSmall(&a[0], &dinv[0], n, stride, tol)
	}
	// dinv holds the diagonal of A until the reciprocals of the pivots replace it.
	for k := range n {
		dinv[k] = a[k*stride+k]
	}
	// With two pivots at a time, the rows below are read and written half as often.
	for k := 0; k < n; k += 2 {
		stopper.Look()
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

// ldlBlock is the number of pivots in a block. The function ldlBlocks applies a whole block to one
// row before it goes to the next row. The number must be even. With 32 pivots, the rows of a block
// stay in the second-level cache if a row has at most 1000 entries.
const ldlBlock = 32

// leastBlocks is the smallest number of unknowns for which ldlBlocks is faster than the method
// without blocks.
const leastBlocks = 16

// ldlBlocks does the work of LDLFactor with the vector units. It applies all pivots of a block to a
// row at once, so it reads the row from memory only once for each block.
func ldlBlocks(stopper *stop.Stop, a, dinv []float64, n, stride int, tol float64) int {
	for k := range n {
		dinv[k] = a[k*stride+k]
	}
	var factors [ldlBlock]float64
	for from := 0; from < n; from += ldlBlock {
		to := min(from+ldlBlock, n)
		for i := from; i < n; i++ {
			if i%ldlBlock == 0 {
				stopper.Look()
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

// ldlPivot replaces dinv[k] by the reciprocal of pivot k. Before the call, dinv[k] is the original
// diagonal entry. If the pivot is too small in the sense of LDLFactor, ldlPivot returns false.
func ldlPivot(a, dinv []float64, k, stride int, tol float64) bool {
	d := a[k*stride+k]
	if !(d > tol*dinv[k]) || d < SmallestNormal {
		return false
	}
	dinv[k] = 1 / d
	return true
}

// LDLForward replaces x by L⁻¹x for a factor that LDLFactor computed.
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

// LDLBack replaces x by (DLᵀ)⁻¹x for a factor that LDLFactor computed.
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
	// An addition to a sum has to wait for the previous addition to the same sum, so four sums are
	// computed at a time. Each sum begins with the last entry of x. The entry of x that was computed
	// most recently is therefore the final term of each sum.
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

// LDLSolve replaces x by A⁻¹x. It uses the factor of A that LDLFactor computed.
func LDLSolve(a, dinv []float64, n, stride int, x []float64) {
	LDLForward(a, dinv, n, stride, x)
	LDLBack(a, dinv, n, stride, x)
}

// leastTogether is the smallest number of right-hand sides that LDLSolveAll solves together.
const leastTogether = 12

// LDLSolveAll replaces each row of the matrix x by A⁻¹ times this row. It uses the factor of A that
// LDLFactor computed. The matrix x has n columns without gaps. The slice scratch has as many entries
// as x. Each row costs n² multiplications. With many rows, a row takes a third of the time of
// LDLSolve, because the vector units then work on several rows at once.
func LDLSolveAll(a, dinv []float64, n, stride int, x, scratch []float64) {
	if n == 0 {
		return
	}
	rows := len(x) / n
	if rows < leastTogether {
		for ; len(x) > 0; x = x[n:] {
			LDLSolve(a, dinv, n, stride, x[:n])
		}
		return
	}
	columns := scratch[:len(x)]
	transpose(columns, x, rows, n)
	ldlSolveColumns(a, dinv, n, stride, columns, rows)
	transpose(x, columns, n, rows)
}

// transpose writes the transpose of the rows×n matrix a to dst.
func transpose(dst, a []float64, rows, n int) {
	for i := range rows {
		for j, v := range a[i*n : (i+1)*n] {
			dst[j*rows+i] = v
		}
	}
}

// ldlSolveColumns replaces the matrix B by A⁻¹B. B has n rows and the given number of columns.
func ldlSolveColumns(a, dinv []float64, n, stride int, b []float64, columns int) {
	var factors [ldlBlock]float64
	for from := 0; from < n; from += ldlBlock {
		to := min(from+ldlBlock, n)
		for i := from + 1; i < n; i++ {
			f := factors[:min(i, to)-from]
			for k := range f {
				f[k] = a[(from+k)*stride+i] * dinv[from+k]
			}
			subtractRows(b[i*columns:(i+1)*columns], f, b[from*columns:])
		}
	}
	for i := n - 1; i >= 0; i-- {
		x := b[i*columns : (i+1)*columns]
		subtractRows(x, a[i*stride+i+1:i*stride+n], b[(i+1)*columns:])
		for c := range x {
			x[c] *= dinv[i]
		}
	}
}

// subtractRows subtracts f_k times row k of the matrix a from dst, for each k. The rows have no gaps
// between them.
func subtractRows(dst, f, a []float64) {
	n, paired := len(dst), len(f)&^1
	_ = a[:len(f)*n]
	switch {
	case n == 0 || paired == 0:
	case wide:
		subtractPairsWide(&dst[0], n, &a[0], n, &f[0], paired/2)
	case vectors:
		subtractPairs(&dst[0], n, &a[0], n, &f[0], paired/2)
	default:
		for k := 0; k < paired; k += 2 {
			second := a[(k+1)*n:][:n]
			for j, v := range a[k*n:][:n] {
				dst[j] -= f[k]*v + f[k+1]*second[j]
			}
		}
	}
	if paired < len(f) {
		Axpy(-f[paired], a[paired*n:][:n], dst)
	}
}

// LDLForm returns xᵀAx for a factor of A that LDLFactor computed.
func LDLForm(a, dinv []float64, n, stride int, x []float64) float64 {
	var s float64
	for k := range n {
		u := Dot(x[k:n], a[k*stride+k:])
		s += u * u * dinv[k]
	}
	return s
}

// CondBound returns an upper bound of the condition number of a positive definite n×n matrix with a
// unit diagonal. The caller gives a lower bound of the smallest eigenvalue λ, and the determinant
// det, which is the product of the pivots.
//
// The determinant gives another lower bound of λ, the smallest eigenvalue. The n eigenvalues sum to
// n, so the product of all except λ is at most (n/(n−1))ⁿ⁻¹ < e. The determinant det is λ times
// this product. Therefore λ ≥ det/e.
func CondBound(n int, det, lower float64) float64 {
	if n < 2 {
		return 1
	}
	return min(float64(n)/max(det/math.E, lower), math.MaxFloat64)
}

// LDLCond estimates the condition number of A, scaled to a unit diagonal. It uses the factor that
// LDLFactor computed. It estimates the smallest eigenvalue by two steps of inverse iteration. The
// steps start from a vector b of entries ±1, chosen so that L⁻¹b is large (Cline, Moler, Stewart
// and Wilkinson, 1979). The largest eigenvalue is between 1 and n, and LDLCond uses √n for it. size
// and x are scratch of n entries.
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

// LDLSize writes the square roots of the diagonal of A to the slice named size. It computes them
// from the factor of LDLFactor.
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

// LDLDependent returns the row of A that depends most on earlier rows. It uses the factor LDLᵀ that
// LDLFactor computed. Let v be column k of L⁻ᵀ, which describes how row k depends on the earlier
// rows. LDLDependent returns the k with the smallest d_k/Σ v_i²·a_ii. Here d_k is pivot k, which is
// equal to vᵀAv. The reciprocals of these ratios sum to tr B⁻¹, where B is A scaled to a unit
// diagonal. The parameters size and v are scratch of n entries.
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
