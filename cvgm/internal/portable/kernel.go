package portable

import "math"

// RBF returns exp(−γ‖x−z‖²).
func RBF(gamma float64, x, z []float64) float64 {
	d := 0.
	for j, v := range x {
		v -= z[j]
		d += float64(v * v)
	}
	return Exp(-gamma * d)
}

// Polynomial returns (scale·xᵀz + constant)ⁿ.
func Polynomial(scale, constant float64, n int, x, z []float64) float64 {
	sum := 0.
	for j, v := range x {
		sum += float64(v * z[j])
	}
	v, p := float64(scale*sum)+constant, 1.
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p *= v
		}
		v *= v
	}
	return p
}

// Distance returns Σ_j γ_j(x_j − z_j)². It skips features with γ_j = 0.
func Distance(gamma, x, z []float64) float64 {
	q := 0.
	for j, v := range x {
		if w := gamma[j]; w != 0 { // 0 times a distance that overflows is not a number
			v -= z[j]
			q += float64(float64(w*v) * v)
		}
	}
	return q
}

// Matern32 returns (1 + s)·exp(−s) with s = √(6q).
func Matern32(q float64) float64 {
	s := math.Sqrt(6 * q)
	e := Exp(-s)
	if e == 0 { // s may be +Inf
		return 0
	}
	return (1 + s) * e
}

// Matern52 returns (1 + s + s²/3)·exp(−s) with s = √(10q).
func Matern52(q float64) float64 {
	s := math.Sqrt(10 * q)
	e := Exp(-s)
	if e == 0 {
		return 0
	}
	return (1 + float64(s*(1+s/3))) * e
}

// Gaussian returns exp(−q).
func Gaussian(q float64) float64 { return Exp(-q) }
