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
// far too small, because a unit of large weight pulls the mean towards its own value. The degrees
// of freedom are (Σs_u²)²/Σs_u⁴ − 1, but at least 1. This is the number of Satterthwaite (1946) for
// normal values. For equal shares it is n − 1. If [FewUnits] is true, the standard error is
// infinite.
func MeanError(deviations, shares []float64) (se, freedom float64) {
	if FewUnits(shares) {
		return math.Inf(1), 1
	}
	n, largest := 0., 0.
	for _, s := range shares {
		largest = max(largest, s)
		if s > 0 {
			n++
		}
	}
	var second, fourth float64
	for u, s := range shares {
		deviations[u] *= (1 - 1/n) / (1 - s) // exactly 1 for equal shares
		square := (s / largest) * (s / largest)
		second += square
		fourth += square * square
	}
	return math.Sqrt(n/(n-1)) * floats.Norm(deviations, 2), max(1, second*second/fourth-1)
}

// leastUnits is the smallest number of units for a finite standard error. Units of unequal weights
// w count as (Σw)²/Σw² units of equal weight (Kish 1965). This number is below 1.5 if one unit has
// more than about 80 % of the weight. The error of the mean is then mostly the error of this unit's
// loss, and one unit does not show how much its loss varies.
const leastUnits = 1.5

// FewUnits reports whether one unit has so much of the weight, more than about 80 %, that the units
// determine no standard error. It takes the units' shares of the weight.
func FewUnits(shares []float64) bool { return 1/floats.Dot(shares, shares) < leastUnits }
