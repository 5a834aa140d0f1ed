package portable

import "math"

// Exp returns eˣ within one unit in the last place, with the same bits on every processor.
//
// Exp computes 2ᵏ·exp(r), where r = x − k·ln 2 lies between −ln 2/2 and ln 2/2. It uses the series
// of exp(r) up to r¹³, whose remainder is below .05 units in the last place.
func Exp(x float64) float64 {
	const (
		ln2High = 0x1.62e42fee00000p-1 // its product with k is exact
		ln2Low  = 0x1.a39ef35793c76p-33
	)
	x = float64(x) // rounds the argument, which may be a product
	switch {
	case x != x:
		return x
	case x > 709.79:
		return math.Inf(1)
	case x < -745.14:
		return 0
	}
	k := math.Floor(float64(x*math.Log2E) + .5)
	high, low := x-float64(k*ln2High), float64(k*ln2Low)
	r := high - low
	left := (high - r) - low
	z := float64(r * r)
	even := 1. / 479001600
	even = 1./3628800 + float64(z*even)
	even = 1./40320 + float64(z*even)
	even = 1./720 + float64(z*even)
	even = 1./24 + float64(z*even)
	even = 1./2 + float64(z*even)
	odd := 1. / 6227020800
	odd = 1./39916800 + float64(z*odd)
	odd = 1./362880 + float64(z*odd)
	odd = 1./5040 + float64(z*odd)
	odd = 1./120 + float64(z*odd)
	odd = 1./6 + float64(z*odd)
	e := 1 + (r + (left + float64(z*(even+float64(r*odd)))))
	if k < -1021 || k > 1022 {
		return math.Ldexp(e, int(k)) // overflows, or loses bits below 2⁻¹⁰²²
	}
	return float64(e * math.Float64frombits(uint64(1023+int64(k))<<52))
}
