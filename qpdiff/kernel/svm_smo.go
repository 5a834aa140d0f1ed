package kernel

import (
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// optimisePairs makes at most limit steps of sequential minimal optimisation: each
// moves a pair of β in opposite directions, or where Σβ is free a single one if
// that gains more.
func (q *boxQP) optimisePairs(limit int) {
	n := q.n
	for range limit {
		// The largest r whose β may rise, its best partner, and the best single β.
		single, gain, gap := -1, 0.0, 0.0
		if !q.balanced {
			single, gain, gap = q.bestSingle()
		}
		i, top := dense.Highest(q.r, q.beta, q.hi)
		j := -1
		if i >= 0 {
			least := pairCurvature * q.diagonal[i]
			at, pairGain, pairGap := dense.Steepest(top, q.diagonal[i], least, q.r, q.diagonal, q.k[i*n:(i+1)*n], q.beta, q.lo)
			if pairGain > gain {
				j = at
			}
			if q.balanced {
				gap = pairGap
			}
		}
		if gap <= pairTol {
			break
		}
		if j < 0 {
			q.shiftTo(single, q.beta[single]+q.r[single]/q.diagonal[single])
			continue
		}
		h := max(q.diagonal[i]+q.diagonal[j]-2*q.k[i*n+j], pairCurvature*q.diagonal[i])
		t := min((top-q.r[j])/h, q.hi[i]-q.beta[i], q.beta[j]-q.lo[j])
		q.shiftTo(i, q.beta[i]+t)
		q.shiftTo(j, q.beta[j]-t)
	}
	q.free = q.free[:0]
	for i, v := range q.beta {
		if v > q.lo[i] && v < q.hi[i] {
			q.free = append(q.free, i)
		}
	}
}

// pairs bounds the steps of sequential minimal optimisation: few of them, or from manyRows rows on as
// many as cost less than the exact steps that they save.
func (q *boxQP) pairs(few int) int {
	if q.n < manyRows {
		return few
	}
	return max(few, q.n*q.n/rowsPerRound)
}

// bestSingle returns the β whose own move gains most, that gain, and the largest |r| of those that
// may move.
func (q *boxQP) bestSingle() (at int, gain, gap float64) {
	floats.ScaleTo(q.minus, -1, q.r)
	at, gain, gap = dense.Steepest(0, 0, 0, q.minus, q.diagonal, q.zeros, q.hi, q.beta)
	down, g, most := dense.Steepest(0, 0, 0, q.r, q.diagonal, q.zeros, q.beta, q.lo)
	if g > gain {
		at, gain = down, g
	}
	return at, gain, max(gap, most)
}
