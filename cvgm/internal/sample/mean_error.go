package sample

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// MeanError returns the standard error of a weighted mean m = Σ s_u l_u of independent units, and
// the degrees of freedom of this standard error. The argument shares holds the s_u, whose sum is 1.
// The argument deviations holds s_u(l_u − m), and MeanError overwrites it. The number n counts the
// units whose share is above 0.
//
// The squared standard error is (n−1)/n·Σ(s_u(l_u−m)/(1−s_u))², the jackknife of the mean (Efron
// 1982): s_u(l_u−m)/(1−s_u) is the change of the mean if unit u is left out. For equal shares it is
// the usual variance of a mean. For uneven shares, the sum without the divisors 1 − s_u would be
// far too small, because a unit of large weight pulls the mean towards its own value. The degrees of
// freedom are (Σs_u²)²/Σs_u⁴ − 1, but at least 1: Satterthwaite's number for normal values (1946).
// For equal shares they are n − 1. If one unit has the whole weight, the standard error is infinite.
//
// The argument deviations sums to 0. For a share above one half, 1 − s_u and the deviation
// therefore follow from the other units, because they lose digits to cancellation.
func MeanError(deviations, shares []float64) (se, freedom float64) {
	n, top := 0., 0
	for u, s := range shares {
		if s > 0 {
			n++
		}
		if s > shares[top] {
			top = u
		}
	}
	if n < 2 {
		return math.Inf(1), 1
	}
	var second, fourth, others, opposite float64 // others and opposite: of all units but top
	for u, s := range shares {
		if u != top {
			others += s
			opposite += deviations[u]
		}
		deviations[u] *= (1 - 1/n) / (1 - s) // exactly 1 for equal shares
		square := (s / shares[top]) * (s / shares[top])
		second += square
		fourth += square * square
	}
	if shares[top] > .5 {
		deviations[top] = -opposite / others * (1 - 1/n)
	}
	return math.Sqrt(n/(n-1)) * floats.Norm(deviations, 2), max(1, second*second/fourth-1)
}
