package dense

// This file has functions for systems of three unknowns, for example for two features and an
// intercept. A fit solves such systems hundreds of times, and loops would take most of the time.
// These functions do the same operations as the functions for all sizes, without loops.

// ldlFactor3 is LDLFactor for three rows without a right-hand side.
func ldlFactor3(a, dinv []float64, tol float64) int {
	a, dinv = a[:9], dinv[:3]
	d0, d1, d2, v1, v2, w2 := a[0], a[4], a[8], a[1], a[2], a[5]
	dinv[0], dinv[1], dinv[2] = d0, d1, d2
	if !(d0 > tol*d0) || d0 < SmallestNormal {
		return 0
	}
	least1, least2 := tol*d1, tol*d2
	inv0 := 1 / d0
	dinv[0] = inv0
	f := v1 * inv0
	d1 -= f * v1
	w2 -= f * v2
	a[4], a[5] = d1, w2
	if !(d1 > least1) || d1 < SmallestNormal {
		return 1
	}
	inv1 := 1 / d1
	dinv[1] = inv1
	f0, f1 := v2*inv0, w2*inv1
	d2 -= f0*v2 + f1*w2
	a[8] = d2
	if !(d2 > least2) || d2 < SmallestNormal {
		return 2
	}
	dinv[2] = 1 / d2
	return 3
}

// ldlForward3 is LDLForward for three unknowns.
func ldlForward3(a, dinv []float64, stride int, x []float64) {
	x, dinv = x[:3], dinv[:3]
	f := x[0] * dinv[0]
	x1 := x[1] - f*a[1]
	x2 := x[2] - f*a[2]
	x[1], x[2] = x1, x2-x1*dinv[1]*a[stride+2]
}

// ldlBack3 is LDLBack for three unknowns.
func ldlBack3(a, dinv []float64, stride int, x []float64) {
	x, dinv = x[:3], dinv[:3]
	x2 := x[2] * dinv[2]
	x1 := (x[1] - a[stride+2]*x2) * dinv[1]
	x[0], x[1], x[2] = (x[0]-a[2]*x2-a[1]*x1)*dinv[0], x1, x2
}
