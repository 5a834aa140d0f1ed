package dense

const (
	// LaneCount is the number of problems that the functions of lanes.go solve at once. Entry k of
	// problem i has the index k·LaneCount + i.
	LaneCount = 4
	// LaneMost is the number of unknowns of the largest system in lanes. Larger systems fill
	// vectors by themselves, and use pivots by blocks.
	LaneMost = leastBlocks - 1
)

// LanesPay reports whether systems are faster in lanes than one after the other.
func LanesPay() bool { return vectors }

// LaneRows sets dst to the first n entries of each src, side by side. Entry k of all is at index
// k·step·LaneCount.
func LaneRows(dst []float64, step int, src *[LaneCount][]float64, n int) {
	if n == 0 {
		return
	}
	if vectors {
		for i := range src {
			_ = src[i][n-1]
		}
		_ = dst[((n-1)*step+1)*LaneCount-1]
		laneRows(&dst[0], step, &src[0][0], &src[1][0], &src[2][0], &src[3][0], n)
		return
	}
	for i, from := range src {
		for k, v := range from[:n] {
			dst[k*step*LaneCount+i] = v
		}
	}
}

// RowsOfLanes sets each dst to its n entries, which lie side by side in src.
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

// LaneUpper makes systems in lanes, of size unknowns, in the form of LDLLanes. It sets the upper
// triangle of dst to the first rows and columns of the n×n matrices src, side by side. It adds r,
// which has size entries for each, on the diagonal. Entries below the diagonal may change.
func LaneUpper(dst []float64, src *[LaneCount][]float64, n int, r []float64, size int) {
	stride := (size + 1) * LaneCount
	if vectors && size >= leastEntries {
		for i := range src {
			_ = src[i][(size-1)*n+size-1]
		}
		_, _ = dst[size*stride-1], r[size*LaneCount-1]
		laneUpper(&dst[0], &src[0][0], &src[1][0], &src[2][0], &src[3][0], n, &r[0], size)
		return
	}
	for i, from := range src {
		for k := range size {
			row, to := from[k*n:k*n+size], dst[k*stride+i:]
			for l := k; l < size; l++ {
				to[l*LaneCount] = row[l]
			}
			to[k*LaneCount] += r[k*LaneCount+i]
		}
	}
}

// Pad extends a matrix of count rows and columns to size rows and columns, by rows of the identity
// matrix. Its rows are stride entries apart. The solution of a system keeps its bits.
func Pad(a []float64, stride, count, size int) {
	for k := range size {
		row := a[k*stride : k*stride+size]
		for l := max(k, count); l < len(row); l++ {
			row[l] = 0
		}
		if k >= count {
			row[k] = 1
		}
	}
}

// LDLLanes is LDLFactor and LDLBack for LaneCount systems of n unknowns, 1 … LaneMost, with the
// same bits. Their rows have n+1 columns; the last one is the right-hand side. It sets x to the
// solutions. It sets pivots to the products of the quotients of diagonal entries and pivots, in the
// order of the rows. Bit i of the result is set if system i has all its pivots; otherwise its
// solution is undefined.
func LDLLanes(a, dinv, x []float64, pivots *[LaneCount]float64, n int, tol float64) (regular int) {
	stride := (n + 1) * LaneCount
	a, dinv, x = a[:n*stride], dinv[:n*LaneCount], x[:n*LaneCount]
	if vectors {
		return ldlLanes(&a[0], &dinv[0], &x[0], &pivots[0], n, tol)
	}
	var own [LaneMost * (LaneMost + 1)]float64
	var inv [LaneMost]float64
	for i := range LaneCount {
		one, size := own[:n*(n+1)], n+1
		for k := range one {
			one[k] = a[k*LaneCount+i]
		}
		product := 1.0
		var diagonal [LaneMost]float64
		for k := range n {
			diagonal[k] = one[k*size+k]
		}
		if LDLFactor(one, inv[:], n, size, tol) == n {
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

// LDLLanesForm is LDLForm for system i of n unknowns, with a factor made by LDLLanes.
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

// LaneSums returns the sums of the products of u and a, of n entries in lanes, and the sums of the
// products of u and b.
func LaneSums(u, a, b []float64, n int) (first, second [LaneCount]float64) {
	u, a, b = u[:n*LaneCount], a[:n*LaneCount], b[:n*LaneCount]
	if vectors && n > 0 {
		var sums [2][LaneCount]float64
		laneSums(&sums[0][0], &u[0], &a[0], &b[0], n)
		return sums[0], sums[1]
	}
	for k, v := range u {
		first[k%LaneCount] += v * a[k]
		second[k%LaneCount] += v * b[k]
	}
	return first, second
}

// DescendLanes is DescendKinks for LaneCount problems at a time. Each has n ≥ 1 coordinates, and
// kinks of the same strength on both sides. The results have the bits of DescendKinks, except for
// the signs of zeros. Problem i takes part if live[i] is below 0. Bit i of moved is set if a sign
// of problem i has changed.
func DescendLanes(x, rest, m, r, bound []float64, n int, live *[LaneCount]float64) (moved int) {
	x, rest, m, r, bound = x[:n*LaneCount], rest[:n*LaneCount], m[:n*n*LaneCount], r[:n*LaneCount], bound[:n*LaneCount]
	if vectors {
		return descendLanes(&x[0], &rest[0], &m[0], &r[0], &bound[0], n, &live[0])
	}
	for i := range LaneCount {
		if !(live[i] < 0) {
			continue
		}
		var own [4][]float64
		for k, from := range [][]float64{x, rest, r, bound} {
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
			moved |= 1 << i
		}
		for j := range n {
			x[j*LaneCount+i], rest[j*LaneCount+i] = own[0][j], own[1][j]
		}
	}
	return moved
}
