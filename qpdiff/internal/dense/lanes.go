package dense

import "math"

const (
	// LaneCount is the number of problems that the functions of lanes.go solve at once. "In lanes"
	// means that the entries of these problems alternate: entry k of problem i has the index
	// k·LaneCount + i.
	LaneCount = 4
	// LaneMost is the number of unknowns of the largest system of a quadratic program that is solved
	// in lanes. A larger system fills whole vectors even when it is solved alone, and is factorised by
	// blocks.
	LaneMost = leastBlocks - 1
)

// LanesPay reports whether it is faster to solve several systems together in lanes than one after
// the other.
func LanesPay() bool { return vectors }

// LaneRows copies the first n entries of each slice src[i] to lane i of dst: it sets
// dst[k·step·LaneCount + i] to src[i][k].
func LaneRows(dst []float64, step int, src *[LaneCount][]float64, n int) {
	if n == 0 {
		return
	}
	if vectors {
		a, b, c, d := src[0], src[1], src[2], src[3]
		_, _, _, _, _ = a[n-1], b[n-1], c[n-1], d[n-1], dst[((n-1)*step+1)*LaneCount-1]
		laneRows(&dst[0], step, &a[0], &b[0], &c[0], &d[0], n)
		return
	}
	for i, from := range src {
		for k, v := range from[:n] {
			dst[k*step*LaneCount+i] = v
		}
	}
}

// RowsOfLanes copies lane i of src to the first n entries of each slice dst[i]: it sets dst[i][k]
// to src[k·LaneCount + i].
func RowsOfLanes(dst *[LaneCount][]float64, src []float64, n int) {
	if n == 0 {
		return
	}
	if vectors {
		for i := range dst {
			_ = dst[i][n-1]
		}
		_ = src[n*LaneCount-1]
		rowsOfLanes(&dst[0][0], &dst[1][0], &dst[2][0], &dst[3][0], &src[0], n)
		return
	}
	for i, to := range dst {
		for k := range to[:n] {
			to[k] = src[k*LaneCount+i]
		}
	}
}

// LaneUpper writes LaneCount systems to dst, in the form that LDLLanes reads. Each system has
// numVars unknowns. The upper triangle of the matrix of system i consists of the first numVars rows
// and columns of the n×n matrix src[i]. To the diagonal of the matrix of system i, LaneUpper adds
// the vector in lane i of r. Entries below the diagonal may change.
func LaneUpper(dst []float64, src *[LaneCount][]float64, n int, r []float64, numVars int) {
	stride := (numVars + 1) * LaneCount
	if vectors && numVars >= leastEntries {
		for i := range src {
			_ = src[i][(numVars-1)*n+numVars-1]
		}
		_, _ = dst[numVars*stride-1], r[numVars*LaneCount-1]
		laneUpper(&dst[0], &src[0][0], &src[1][0], &src[2][0], &src[3][0], n, &r[0], numVars)
		return
	}
	for i, from := range src {
		for k := range numVars {
			row, to := from[k*n:k*n+numVars], dst[k*stride+i:]
			for l := k; l < numVars; l++ {
				to[l*LaneCount] = row[l]
			}
			to[k*LaneCount] += r[k*LaneCount+i]
		}
	}
}

// LaneGather writes LaneCount systems to dst, in the form that LDLLanes reads. The parameter size
// is the number of unknowns of each system. The matrix of system i consists of the rows and columns
// indices[i] of the symmetric n×n matrix g. Entries below the diagonal do not change.
func LaneGather(dst, g []float64, n int, indices *[LaneCount][]int, size int) {
	stride := (size + 1) * LaneCount
	i0, i1, i2, i3 := indices[0][:size], indices[1][:size], indices[2][:size], indices[3][:size]
	for k := range size {
		g0, g1, g2, g3 := g[i0[k]*n:][:n], g[i1[k]*n:][:n], g[i2[k]*n:][:n], g[i3[k]*n:][:n]
		row := dst[k*stride:]
		for l := k; l < size; l++ {
			to := (*[LaneCount]float64)(row[l*LaneCount:])
			to[0], to[1], to[2], to[3] = g0[i0[l]], g1[i1[l]], g2[i2[l]], g3[i3[l]]
		}
	}
}

// Pad extends the n×n matrix a to newSize rows and columns. The new rows and columns are from the
// identity matrix. Row i of a begins at a[i·stride]. A system with the extended matrix has a
// solution with the same bits as a system with the matrix a.
func Pad(a []float64, stride, n, newSize int) {
	for k := range newSize {
		row := a[k*stride : k*stride+newSize]
		for l := max(k, n); l < len(row); l++ {
			row[l] = 0
		}
		if k >= n {
			row[k] = 1
		}
	}
}

// LDLLanes does the work of LDLFactor and LDLBack for LaneCount systems of n ≥ 1 unknowns. For n ≤
// LaneMost, its results are the same bits as the results of these two functions. Larger systems
// should fit into the second-level cache. Each system has n+1 columns, and the last column is the
// right-hand side. LDLLanes sets x to the solutions. For each row of system i there is a ratio: the
// diagonal entry divided by the pivot. LDLLanes sets pivots[i] to the product of these ratios. Bit i
// of the result is set if system i has all its pivots; otherwise the solution of system i is
// undefined.
func LDLLanes(a, dinv, x []float64, pivots *[LaneCount]float64, n int, tol float64) (regular int) {
	stride := (n + 1) * LaneCount
	a, dinv, x = a[:n*stride], dinv[:n*LaneCount], x[:n*LaneCount]
	if vectors {
		return ldlLanes(&a[0], &dinv[0], &x[0], &pivots[0], n, tol)
	}
	var own [LaneMost * (LaneMost + 3)]float64
	store := own[:]
	if n > LaneMost {
		store = make([]float64, n*(n+3))
	}
	inv, diagonal := store[n*(n+1):][:n], store[n*(n+2):][:n]
	for i := range LaneCount {
		one, size := store[:n*(n+1)], n+1
		for k := range one {
			one[k] = a[k*LaneCount+i]
		}
		product := 1.0
		for k := range n {
			diagonal[k] = one[k*size+k]
		}
		if LDLFactor(one, inv, n, size, tol) == n {
			regular |= 1 << i
		}
		for k := range n {
			product *= diagonal[k] * inv[k]
			x[k*LaneCount+i], dinv[k*LaneCount+i] = one[k*size+n], inv[k]
		}
		pivots[i] = product
		for k := range one {
			a[k*LaneCount+i] = one[k]
		}
	}
	laneBack(a, dinv, x, n)
	return regular
}

// laneBack replaces x by (DLᵀ)⁻¹x.
func laneBack(a, dinv, x []float64, n int) {
	for k := n - 1; k >= 0; k-- {
		row := a[k*(n+1)*LaneCount:]
		for i := range LaneCount {
			s := x[k*LaneCount+i]
			for l := n - 1; l > k; l-- {
				s -= row[l*LaneCount+i] * x[l*LaneCount+i]
			}
			x[k*LaneCount+i] = s * dinv[k*LaneCount+i]
		}
	}
}

// LDLLanesSolve replaces x by the solutions of the systems that LDLLanes factorised.
func LDLLanesSolve(a, dinv, x []float64, n int) {
	stride := (n + 1) * LaneCount
	a, dinv, x = a[:n*stride], dinv[:n*LaneCount], x[:n*LaneCount]
	if vectors {
		ldlLanesSolve(&a[0], &dinv[0], &x[0], n)
		return
	}
	for k := range n {
		row := a[k*stride:]
		for i := range LaneCount {
			f := x[k*LaneCount+i] * dinv[k*LaneCount+i]
			for l := k + 1; l < n; l++ {
				x[l*LaneCount+i] -= f * row[l*LaneCount+i]
			}
		}
	}
	laneBack(a, dinv, x, n)
}

// LDLLanesForm does the work of LDLForm for system i of the systems that LDLLanes factorised. Each
// system has n unknowns, and the slices a and dinv hold the factors.
func LDLLanesForm(a, dinv []float64, n, i int, x []float64) (sum float64) {
	for k := range x {
		row, u := a[(k*(n+1)+k)*LaneCount+i:], 0.0
		for l, v := range x[k:] {
			u += v * row[l*LaneCount]
		}
		sum += u * u * dinv[k*LaneCount+i]
	}
	return sum
}

// LaneSums sets sums[0][i] to the sum of the entries of u times the signs of the entries of x, and
// sums[1][i] to uᵀx, for the vectors u and x of lane i. Each vector has n entries. The sign of a
// zero is its sign bit.
func LaneSums(sums *[2][LaneCount]float64, u, x []float64, n int) {
	u, x = u[:n*LaneCount], x[:n*LaneCount]
	if vectors && n > 0 {
		laneSums(&sums[0][0], &u[0], &x[0], n)
		return
	}
	*sums = [2][LaneCount]float64{}
	for k, v := range u {
		sums[1][k%LaneCount] += v * x[k]
		if math.Signbit(x[k]) {
			v = -v
		}
		sums[0][k%LaneCount] += v
	}
}

// DescendLanes does the work of DescendKinks for LaneCount problems at a time. Each problem has n ≥
// 1 coordinates. The slice bounds takes the place of both slices upper and lower of DescendKinks.
// The results have the same bits as with DescendKinks, with two exceptions: the signs of zeros, and
// problems in which a number is infinite or NaN. If live[i] ≥ 0, problem i does not change. Bit i
// of the result is set if the sign of a coordinate of problem i has changed.
func DescendLanes(x, resid, m, r, bounds []float64, n int, live *[LaneCount]float64) (changedSigns int) {
	x, resid, m, r, bounds = x[:n*LaneCount], resid[:n*LaneCount], m[:n*n*LaneCount], r[:n*LaneCount], bounds[:n*LaneCount]
	if vectors {
		return descendLanes(&x[0], &resid[0], &m[0], &r[0], &bounds[0], n, &live[0])
	}
	for i := range LaneCount {
		if !(live[i] < 0) {
			continue
		}
		var own [4][]float64
		for k, from := range [][]float64{x, resid, r, bounds} {
			own[k] = make([]float64, n)
			for j := range n {
				own[k][j] = from[j*LaneCount+i]
			}
		}
		square := make([]float64, n*n)
		for j := range square {
			square[j] = m[j*LaneCount+i]
		}
		if DescendKinks(own[0], own[1], square, own[2], own[3], own[3]) {
			changedSigns |= 1 << i
		}
		for j := range n {
			x[j*LaneCount+i], resid[j*LaneCount+i] = own[0][j], own[1][j]
		}
	}
	return changedSigns
}

// lineEntries is the number of float64s in a line of memory.
const lineEntries = 8

// Prefetch starts loading n ≥ 1 neighbouring entries of memory into the cache, beginning with
// *firstEntry, and does not wait for them. The n entries may extend beyond the variable that
// contains *firstEntry, because their values are not used.
func Prefetch(firstEntry *float64, n int) {
	if vectors {
		prefetch(firstEntry, (n+lineEntries-2)/lineEntries+1)
	}
}
