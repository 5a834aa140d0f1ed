package qpdiff

// Dense kernels on raw row-major slices. At the sizes of a learner's normal
// equations (n ≈ 10) a plain loop is several times faster than a call into a
// general library, and these allocate nothing.

// eps is the distance from 1 to the next float64.
const eps = 0x1p-52

// dot returns xᵀy, with y at least as long as x.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var s float64
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// axpy adds a·x to y, with y at least as long as x.
func axpy(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

// gram sets g (n×n, both triangles) to scale·XᵀX for the rows×n matrix x with
// the given stride.
func gram(g []float64, scale float64, x []float64, rows, n, stride int) {
	clear(g)
	for i := range rows {
		r := x[i*stride : i*stride+n]
		for j, v := range r {
			axpy(v, r[j:], g[j*n+j:(j+1)*n])
		}
	}
	for i := range n {
		for j := i; j < n; j++ {
			v := g[i*n+j] * scale
			g[i*n+j] = v
			g[j*n+i] = v
		}
	}
}

// ldlFactor factorises the symmetric positive definite matrix held in the
// upper triangle of a (n rows of the given stride) as A = LDLᵀ, in place: row k
// of the result is row k of DLᵀ, and dinv[k] = 1/d_k. Columns n, n+1, … < stride
// are right-hand sides that leave multiplied by L⁻¹.
//
// It stops at the first pivot that is not above tol times its diagonal entry
// and returns that row, or n when there is none: to working precision the
// leading rows up to and including that one are linearly dependent.
func ldlFactor(a, dinv []float64, n, stride int, tol float64) int {
	// diag keeps the original diagonal where the pivot's reciprocal will go.
	for k := range n {
		dinv[k] = a[k*stride+k]
	}
	for k := range n {
		rk := a[k*stride+k : (k+1)*stride]
		d := rk[0]
		if !(d > tol*dinv[k]) {
			return k
		}
		inv := 1 / d
		dinv[k] = inv
		for i := k + 1; i < n; i++ {
			// Both rows start at column i.
			src := rk[i-k:]
			dst := a[i*stride+i:][:len(src)]
			f := src[0] * inv
			for j, v := range src {
				dst[j] -= f * v
			}
		}
	}
	return n
}

// ldlForward replaces x by L⁻¹x for a factor made by ldlFactor.
func ldlForward(a, dinv []float64, n, stride int, x []float64) {
	x = x[:n]
	for k := range x {
		rest := x[k+1:]
		f := x[k] * dinv[k]
		row := a[k*stride+k+1:][:len(rest)]
		for j, v := range row {
			rest[j] -= f * v
		}
	}
}

// ldlBack replaces x by (DLᵀ)⁻¹x for a factor made by ldlFactor.
func ldlBack(a, dinv []float64, n, stride int, x []float64) {
	x = x[:n]
	for k := n - 1; k >= 0; k-- {
		// From the far end, so that the entry found last is needed last.
		row := a[k*stride : k*stride+n]
		s := x[k]
		for j := n - 1; j > k; j-- {
			s -= row[j] * x[j]
		}
		x[k] = s * dinv[k]
	}
}
