package dense

import "math"

// This file has the functions of kernels with a width for each feature.

// AddWeightedSquares adds to dst_i the sum of w_j (x_j − z_ij)² over all j. Entry z_ij is
// points[j·stride + i]. Terms with w_j = 0 are left out.
func AddWeightedSquares(dst, w, x, points []float64, stride int) {
	n, whole := len(x), wholeVectors(len(dst))
	if whole > 0 && n > 0 {
		_, _ = w[n-1], points[(n-1)*stride+whole-1]
		addWeightedSquares(&dst[0], whole, &w[0], &x[0], n, &points[0], stride)
	}
	for i := whole; i < len(dst); i++ {
		q := dst[i]
		for j, v := range x {
			if w[j] != 0 {
				v -= points[j*stride+i]
				q += float64(w[j] * v * v)
			}
		}
		dst[i] = q
	}
}

// AddPairSquares adds the sum of s_i (x_j − z_ij)² over all i to dst_j. Entry z_ij is points[j·stride
// + i]. Terms with s_i = 0 are left out.
func AddPairSquares(dst, s, x, points []float64, stride int) {
	const block = 64 // features
	whole := len(s) &^ 3
	var sums [block][4]float64
	for from := 0; from < len(x); from += block {
		x, points := x[from:min(from+block, len(x))], points[from*stride:]
		clear(sums[:len(x)])
		if vectors && whole > 0 {
			_ = points[(len(x)-1)*stride+whole-1]
			addPairSquares(&sums[0][0], &s[0], whole, &x[0], len(x), &points[0], stride)
		}
		for j, v := range x {
			column := points[j*stride:][:len(s)]
			if !vectors {
				for i, f := range s[:whole] {
					if d := v - column[i]; f != 0 {
						sums[j][i%4] += f * d * d
					}
				}
			}
			sum := (sums[j][0] + sums[j][1]) + (sums[j][2] + sums[j][3])
			for i := whole; i < len(s); i++ {
				if d := v - column[i]; s[i] != 0 {
					sum += s[i] * d * d
				}
			}
			dst[from+j] += sum
		}
	}
}

// ExpNegatives replaces each entry q ≥ 0 of the slice by exp(−q). The bits are the same as with
// ExpNegative.
func ExpNegatives(q []float64) {
	whole := wholeVectors(len(q))
	if whole > 0 {
		expNegatives(&q[0], whole)
	}
	for i := whole; i < len(q); i++ {
		q[i] = ExpNegative(q[i])
	}
}

// ExpNegative returns exp(−q) for q ≥ 0, to within a unit in the last place. For q > 708 it
// returns 0.
func ExpNegative(q float64) float64 {
	if q > 708 {
		return 0
	}
	// x = k·log 2 + r, and the exponential of r is a short sum. The addition of the constant round
	// rounds a number to an integer.
	const round, log2High, log2Low = 0x1.8p52, 6.93147180369123816490e-01, 1.90821492927058770002e-10
	x := -q
	shifted := float64(x*math.Log2E) + round
	k := shifted - round
	r := x - float64(k*log2High) - float64(k*log2Low)
	return (expm1(r) + 1) * math.Float64frombits(math.Float64bits(shifted)<<52+math.Float64bits(1))
}
