package dense

// LogisticNear sums a series, and these constants select the series by |dm|, the change of a
// margin. For |dm| up to LogisticTaylor, it sums 4 terms of the series of s and of w. For |dm| up
// to LogisticShortSeries, it sums 9 terms of the series of exp(−dm) − 1, and up to LogisticSeries
// 14 terms. The first omitted term of each series is below eps.
const (
	LogisticSeries      = .5
	LogisticShortSeries = 1. / 16
	LogisticTaylor      = 2e-4
)

// wholeVectors returns the number of rows that the vector units process, for n rows in total. It is
// n rounded down to a multiple of four, or 0 without vector units.
func wholeVectors(n int) int {
	if !vectors {
		return 0
	}
	return n &^ 3
}

// LogisticNear sets s = 1/(1 + exp m) and w = s·(1 − s) at the margins m, to full precision and
// without exponentials. The parameters s0 and w0 are s and w at the margins m − dm, and |dm| ≤ r ≤
// LogisticSeries must hold. With q = exp(−dm) − 1,
//
//	s = s₀(1+q)/(1+s₀q),  w = w₀(1+q)/(1+s₀q)².
//
// The slices s and s0 may be the same slice, and so may w and w0.
func LogisticNear(s, w, s0, w0, dm []float64, r float64) {
	n := len(dm)
	s, w, s0, w0 = s[:n], w[:n], s0[:n], w0[:n]
	whole := wholeVectors(n)
	if whole > 0 {
		pass := logisticLong
		switch {
		case r <= LogisticTaylor:
			pass = logisticTaylor
		case r <= LogisticShortSeries:
			pass = logisticShort
		}
		pass(&s[0], &w[0], &s0[0], &w0[0], &dm[0], whole)
	}
	s, w, s0, w0, dm = s[whole:], w[whole:], s0[whole:], w0[whole:], dm[whole:]
	switch {
	case r <= LogisticTaylor:
		for i, dm := range dm {
			// The successive derivatives of s in the margin are −w, w(1−2s), −w(1−6w), …
			si, wi := s0[i], w0[i]
			w2 := wi * (1 - 2*si)
			w3 := wi * (1 - 6*wi)
			s[i] = si - dm*(wi-dm*(w2*(1./2)-dm*(w3*(1./6))))
			w[i] = wi - dm*(w2-dm*(w3*(1./2)-dm*(w2*(1-12*wi)*(1./6))))
		}
	case r <= LogisticShortSeries:
		for i, dm := range dm {
			q := expm1Short(-dm)
			inv := 1 / (1 + s0[i]*q)
			q = (1 + q) * inv
			s[i] = s0[i] * q
			w[i] = w0[i] * q * inv
		}
	default:
		for i, dm := range dm {
			q := expm1(-dm)
			inv := 1 / (1 + s0[i]*q)
			q = (1 + q) * inv
			s[i] = s0[i] * q
			w[i] = w0[i] * q * inv
		}
	}
}

// LogisticNext does the work of LogisticNear if dm is so small that dm² is a rounding error.
func LogisticNext(s, w, s0, w0, dm []float64) {
	n := len(dm)
	s, w, s0, w0 = s[:n], w[:n], s0[:n], w0[:n]
	whole := wholeVectors(n)
	if whole > 0 {
		logisticNext(&s[0], &w[0], &s0[0], &w0[0], &dm[0], whole)
	}
	for i := whole; i < n; i++ {
		si, wi, dm := s0[i], w0[i], dm[i]
		s[i] = si - dm*wi
		w[i] = wi - dm*wi*(1-2*si)
	}
}

// expm1 returns exp(y) − 1 for |y| ≤ LogisticSeries. The omitted terms of its series are below
// rounding.
func expm1(y float64) float64 {
	y2 := y * y
	y4 := y2 * y2
	return y * ((1 + y*(1./2)) + y2*(1./6+y*(1./24)) + y4*((1./120+y*(1./720))+y2*(1./5040+y*(1./40320))+
		y4*((1./362880+y*(1./3628800))+y2*(1./39916800+y*(1./479001600))+y4*(1./6227020800+y*(1./87178291200)))))
}

// expm1Short is expm1 for |y| ≤ LogisticShortSeries.
func expm1Short(y float64) float64 {
	y2 := y * y
	y4 := y2 * y2
	return y * ((1 + y*(1./2)) + y2*(1./6+y*(1./24)) + y4*((1./120+y*(1./720))+y2*(1./5040+y*(1./40320))+y4*(1./362880)))
}

// Combine3 sets dst to v_0·z_0 + v_1·z_1 + v_2·z_2. The slice z holds the columns z_0, z_1 and z_2
// one after the other, each with the length of dst.
func Combine3(dst, v, z []float64) {
	m := len(dst)
	z0, z1, z2 := z[:m], z[m:2*m], z[2*m:3*m]
	v0, v1, v2 := v[0], v[1], v[2]
	whole := wholeVectors(m)
	if whole > 0 {
		combine3(&dst[0], &v[0], &z[0], m, whole)
	}
	for i := whole; i < m; i++ {
		dst[i] = v0*z0[i] + v1*z1[i] + v2*z2[i]
	}
}

// Products3 returns the products of s with three columns. The slice z holds the columns one after
// the other, each with the length of s.
func Products3(s, z []float64) (g0, g1, g2 float64) {
	m := len(s)
	z0, z1, z2 := z[:m], z[m:2*m], z[2*m:3*m]
	whole := wholeVectors(m)
	if whole > 0 {
		var g [4]float64
		products3(&g[0], &s[0], &z[0], m, whole)
		g0, g1, g2 = g[0], g[1], g[2]
	}
	for i := whole; i < m; i++ {
		v := s[i]
		g0 += v * z0[i]
		g1 += v * z1[i]
		g2 += v * z2[i]
	}
	return g0, g1, g2
}

// Moments3 sets the upper triangle of h (3×3) to c·Σ w_i·z_i·z_iᵀ, where z_i is row i of a matrix
// with three columns. The slice z holds these columns one after the other, each with the length of
// w.
func Moments3(h []float64, c float64, w, z []float64) {
	m := len(w)
	z0, z1, z2 := z[:m], z[m:2*m], z[2*m:3*m]
	var sum [6]float64
	whole := wholeVectors(m)
	if whole > 0 {
		moments3(&sum[0], &w[0], &z[0], m, whole)
	}
	h00, h01, h11, h02, h12, h22 := sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]
	for i := whole; i < m; i++ {
		w, a, b, c := w[i], z0[i], z1[i], z2[i]
		wa, wb := w*a, w*b
		h00 += wa * a
		h01 += wa * b
		h11 += wb * b
		h02 += wa * c
		h12 += wb * c
		h22 += w * c * c
	}
	h = h[:9]
	h[0], h[1], h[2] = c*h00, c*h01, c*h02
	h[4], h[5], h[8] = c*h11, c*h12, c*h22
}
