package dense

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// This file has the steps by which a row enters a working set. Their results have the same bits as
// results computed with floats.Dot and floats.AddScaled.

// SplitRow splits the vector m into a combination of the first k rows of q and a remainder. The
// rows of q are orthonormal and have the length of m. SplitRow sets t to the products of m with the
// rows, sets w to m − Σ t_i q_i, and returns ‖w‖². If t has more than k entries, some of them may
// change. w may be m.
func SplitRow(t, w, m, q []float64, k int) (norm2 float64) {
	n := len(m)
	if vectors && n >= leastEntries {
		most := max(k, leastRows) // so many products are computed
		_, _, _ = t[most-1], w[n-1], q[most*n-1]
		return splitRow(&t[0], &w[0], &m[0], &q[0], n, k)
	}
	Products(t[:k], q, n, m)
	copy(w, m)
	for i, v := range t[:k] {
		floats.AddScaled(w, -v, q[i*n:(i+1)*n])
	}
	return floats.Dot(w, w)
}

// AppendRow sets q to w/‖w‖, where norm2 is ‖w‖². It sets t to the entries of coef, followed by ‖w‖.
// It subtracts the projection g·q from perp, with g = qᵀperp, and returns 1/‖w‖ and g.
func AppendRow(t, coef, q, w, perp []float64, norm2 float64) (inv, g float64) {
	n, k := len(q), len(coef)
	norm := math.Sqrt(norm2)
	t[k], inv = norm, 1/norm
	copy(t, coef)
	if vectors && n > 0 {
		_, _ = w[n-1], perp[n-1]
		return inv, appendRow(&q[0], &w[0], &perp[0], n, inv)
	}
	floats.ScaleTo(q, inv, w)
	g = floats.Dot(q, perp)
	floats.AddScaled(perp, -g, q)
	return inv, g
}

// NormaliseRows multiplies rows of n entries by powers of two, so that their norms lie in the
// interval [½, 1). It sets scale to the powers, and norm2 to the squared norms that the rows had
// before the multiplication. The number of rows is the length of scale. Row i of the matrix begins
// at a[i·stride], and the scaled row at dst[i·n]. If a row's norm2 is not a normal number, its
// scale and its scaled row are undefined.
func NormaliseRows(dst, scale, norm2, a []float64, stride, n int) {
	rows := len(scale)
	if rows == 0 {
		return
	}
	if vectors && n > 0 {
		_, _, _ = dst[rows*n-1], norm2[rows-1], a[(rows-1)*stride+n-1]
		normaliseRows(&dst[0], &scale[0], &norm2[0], &a[0], stride, n, rows)
		return
	}
	for i := range scale {
		row := a[i*stride:][:n]
		norm2[i] = floats.Dot(row, row)
		scale[i] = PowerFor(math.Sqrt(norm2[i]))
		floats.ScaleTo(dst[i*n:(i+1)*n], scale[i], row)
	}
}

// ForwardRow sets x to L⁻¹rhs and returns ‖x‖². The slice l holds the lower triangle L; row i
// begins at l[i·stride]. The slice inv holds the inverses of L's diagonal.
func ForwardRow(x, rhs, l, inv []float64, stride int) (norm2 float64) {
	n := len(x)
	if vectors && n > 0 {
		_, _, _ = rhs[n-1], l[(n-1)*stride+n-1], inv[n-1]
		return forwardRow(&x[0], &rhs[0], &l[0], stride, &inv[0], n)
	}
	copy(x, rhs)
	ForwardSolve(l, inv, n, stride, x)
	return floats.Dot(x, x)
}

// AddListed adds multiples of the listed rows of the matrix a to dst, in the order of the list. Row
// rows[i] is multiplied by f[i]. The rows of a have the length of dst.
func AddListed(dst, f, a []float64, rows []int) {
	n := len(dst)
	if vectors && n > 0 && len(rows) > 0 {
		_ = f[len(rows)-1]
		for _, r := range rows {
			_ = a[r*n+n-1]
		}
		addListed(&dst[0], n, &f[0], &a[0], &rows[0], len(rows))
		return
	}
	for i, r := range rows {
		floats.AddScaled(dst, f[i], a[r*n:(r+1)*n])
	}
}

// PowerFor returns the power of two that scales norm into the interval [½, 1). The parameter norm
// and its reciprocal must be normal numbers above zero.
func PowerFor(norm float64) float64 {
	return math.Float64frombits((2*exponentBias-1)<<mantissaBits - math.Float64bits(norm)&^(1<<mantissaBits-1))
}

// The layout of a float64.
const (
	mantissaBits = 52
	exponentBias = 1023
)
