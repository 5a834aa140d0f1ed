package dense

// ldlBlock is how many pivots a row takes at a time; it is even. With 32 of them, rows of
// 1000 entries stay in the second cache.
const ldlBlock = 32

// ldlBlocks is LDLFactor by the vector units. Rows below a block of pivots take them all at
// once, and so leave the cache once for each block.
func ldlBlocks(a, dinv []float64, n, stride int, tol float64) int {
	for k := range n {
		dinv[k] = a[k*stride+k]
	}
	for from := 0; from < n; from += ldlBlock {
		to := min(from+ldlBlock, n)
		for k := from; k < to; k += 2 {
			if !ldlPivot(a, dinv, k, stride, tol) {
				return k
			}
			if k+1 == n {
				break
			}
			r0, r1 := a[k*stride+k+1:(k+1)*stride], a[(k+1)*stride+k+1:(k+2)*stride]
			f := r0[0] * dinv[k]
			for j, v := range r0 {
				r1[j] -= f * v
			}
			if !ldlPivot(a, dinv, k+1, stride, tol) {
				return k + 1
			}
			for i := k + 2; i < to; i++ {
				ldlRow(a, dinv, i, k, stride)
			}
		}
		for i := to; i < n; i++ {
			for k := from; k < to; k += 2 {
				ldlRow(a, dinv, i, k, stride)
			}
		}
	}
	return n
}

// ldlPivot makes dinv_k, the diagonal entry as it was, the reciprocal of pivot k, and reports
// whether it has one that counts.
func ldlPivot(a, dinv []float64, k, stride int, tol float64) bool {
	d := a[k*stride+k]
	if !(d > tol*dinv[k]) || d < SmallestNormal {
		return false
	}
	dinv[k] = 1 / d
	return true
}

// ldlRow takes pivots k and k+1 from row i.
func ldlRow(a, dinv []float64, i, k, stride int) {
	dst := a[i*stride+i : (i+1)*stride]
	s0 := a[k*stride+i:][:len(dst)]
	s1 := a[(k+1)*stride+i:][:len(dst)]
	subtract2(&dst[0], &s0[0], &s1[0], len(dst), s0[0]*dinv[k], s1[0]*dinv[k+1])
}
