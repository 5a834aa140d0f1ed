package dense

import "math"

// lanes is the number of lanes in which Highest and Steepest search. Index i belongs to lane i
// modulo lanes, and each lane has its own result.
const lanes = 4

// Highest considers the indices i with a[i] < b[i]. It returns the largest x[i] among them, and the
// first i with this value. If there is no such i, it returns −1 and −Inf.
func Highest(x, a, b []float64) (at int, value float64) {
	at, value = -1, math.Inf(-1)
	from := 0
	if a, b = a[:len(x)], b[:len(x)]; vectors && len(x) >= lanes {
		from = len(x) &^ (lanes - 1)
		var found [2 * lanes]float64
		highest(&found[0], &x[0], &a[0], &b[0], from)
		at, value = firstLargest(found[:lanes], found[lanes:], value)
	}
	for k := from; k < len(x); k++ {
		if v := x[k]; a[k] < b[k] && v > value {
			at, value = k, v
		}
	}
	return at, value
}

// firstLargest returns as value the largest values[k], and as at the smallest places[k] of such a
// k. If no values[k] is above minValue, it returns −1 and minValue.
func firstLargest(values, places []float64, minValue float64) (at int, value float64) {
	at, value = -1, minValue
	for k, v := range values {
		if place := int(places[k]); v > value || v == value && at > place {
			at, value = place, v
		}
	}
	return at, value
}

// Steepest considers the indices i with a[i] > b[i] and rtop > r[i]. With d = rtop − r[i], the gain
// of such an index is d²/max(h + diagonal[i] − 2·row[i], minCurv). Steepest returns the first index
// with the largest gain, its gain, and the largest d of all considered indices. If there is no such
// index, it returns −1, 0 and 0.
func Steepest(rtop, h, minCurv float64, r, diagonal, row, a, b []float64) (at int, gain, gap float64) {
	n := len(r)
	at = -1
	from := 0
	if diagonal, row, a, b = diagonal[:n], row[:n], a[:n], b[:n]; vectors && n >= lanes {
		from = n &^ (lanes - 1)
		terms, found := [lanes]float64{rtop, h, minCurv, 2}, [3 * lanes]float64{}
		steepest(&found[0], &terms[0], &r[0], &diagonal[0], &row[0], &a[0], &b[0], from)
		at, gain = firstLargest(found[:lanes], found[lanes:2*lanes], 0)
		gap = Largest(found[2*lanes:])
	}
	for k := from; k < n; k++ {
		if d := rtop - r[k]; d > 0 && a[k] > b[k] {
			gap = max(gap, d)
			if g := d * d / max(h+diagonal[k]-2*row[k], minCurv); g > gain {
				at, gain = k, g
			}
		}
	}
	return at, gain, gap
}
