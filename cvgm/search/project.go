package search

import (
	"cvgm/cvgm/internal/args"

	"gonum.org/v1/gonum/floats"
)

// Simplex moves x, in place, to the nearest point of the probability simplex {x : x ≥ 0, Σ_i x_i =
// 1}. That point is max(x − τ, 0), with the τ for which it sums to 1. It is exact up to rounding,
// because passes find the entries that become 0. Each pass drops the entries that are at most the τ
// of the remaining entries (Michelot, Journal of Optimization Theory and Applications 50, 1986). If
// the largest entry is infinite, all entries equal to it share the 1 equally. With a NaN in x every
// entry becomes NaN. If hyperparameters form several blocks, a [Problem] projects them one by one:
//
//	Project: func(x []float64) { Simplex(x[:4]); x[4] = max(x[4], 1e-3) }
func Simplex(x []float64) {
	if len(x) == 0 {
		return
	}
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	if !args.Finite(top) {
		vertex(x, top)
		return
	}
	// τ is relative to the largest entry, so it lies between −1 and 0. Sums of large entries would
	// lose it.
	tau, left := -1.0, len(x)+1
	for {
		sum, kept := -1.0, 0
		for _, v := range x {
			if v-top > tau {
				sum += v - top
				kept++
			}
		}
		if kept >= left || kept == 0 { // more than before only by rounding
			break
		}
		tau, left = sum/float64(kept), kept
	}
	for i, v := range x {
		x[i] = max(v-top-tau, 0)
	}
}

// vertex is Simplex if the largest entry, top, is infinite or NaN.
func vertex(x []float64, top float64) {
	for i, v := range x {
		if x[i] = 0; v == top {
			x[i] = 1
		} else if top != top {
			x[i] = top
		}
	}
	if sum := floats.Sum(x); sum > 1 {
		floats.Scale(1/sum, x)
	}
}
