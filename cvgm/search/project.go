package search

import (
	"cvgm/cvgm/internal/args"

	"gonum.org/v1/gonum/floats"
)

// Simplex moves x, in place, to the nearest point of the probability simplex. The simplex is the
// set of all x ≥ 0 with Σ_i x_i = 1. The nearest point is max(x − τ, 0) for the number τ at which
// the entries of max(x − τ, 0) sum to 1. The result is exact up to rounding. Several passes
// determine τ. Each pass computes τ from the remaining entries. It then drops the entries that are
// at most τ, because they become 0 (Michelot, Journal of Optimization Theory and Applications 50,
// 1986).
//
// If the largest entry is infinite, the k entries equal to it become 1/k, and all smaller entries
// become 0. If x contains a NaN, every entry becomes NaN.
//
// If a point consists of several blocks of hyperparameters, the function Project of a [Problem] may
// project one block after the other:
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
	// The variable tau is τ minus the largest entry, so it lies between −1 and 0. If the entries
	// are large, τ itself would be lost to rounding.
	tau, left := -1.0, len(x)+1
	for {
		sum, kept := -1.0, 0
		for _, v := range x {
			if v-top > tau {
				sum += v - top
				kept++
			}
		}
		if kept >= left || kept == 0 { // only rounding can make kept larger than left
			break
		}
		tau, left = sum/float64(kept), kept
	}
	for i, v := range x {
		x[i] = max(v-top-tau, 0)
	}
}

// vertex does the work of Simplex if maxEntry, the largest entry of x, is infinite or NaN.
func vertex(x []float64, maxEntry float64) {
	for i, v := range x {
		if x[i] = 0; v == maxEntry {
			x[i] = 1
		} else if maxEntry != maxEntry {
			x[i] = maxEntry
		}
	}
	if sum := floats.Sum(x); sum > 1 {
		floats.Scale(1/sum, x)
	}
}
