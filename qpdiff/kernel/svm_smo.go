package kernel

import "math"

// optimisePairs makes at most limit steps of sequential minimal optimisation: each
// moves a pair of β in opposite directions, or where Σβ is free a single one if
// that gains more.
func (q *boxQP) optimisePairs(limit int) {
	n := q.n
	for range limit {
		// The largest r whose β may rise, and the best single β.
		i, top := -1, math.Inf(-1)
		single, gain, gap := -1, 0.0, 0.0
		for k, v := range q.r {
			up, down := q.beta[k] < q.hi[k], q.beta[k] > q.lo[k]
			if up && v > top {
				i, top = k, v
			}
			if !q.balanced && (up && v > 0 || down && v < 0) {
				gap = max(gap, math.Abs(v))
				if d := v * v / q.k[k*n+k]; d > gain {
					single, gain = k, d
				}
			}
		}
		j, pairGap := -1, 0.0
		if i >= 0 {
			row, dii := q.k[i*n:(i+1)*n], q.k[i*n+i]
			for k, v := range q.r {
				if d := top - v; d > 0 && q.beta[k] > q.lo[k] {
					pairGap = max(pairGap, d)
					if h := max(dii+q.k[k*n+k]-2*row[k], pairCurvature*dii); d*d > gain*h {
						j, gain = k, d*d/h
					}
				}
			}
		}
		if q.balanced {
			gap = pairGap
		}
		if gap <= pairTol {
			break
		}
		if j < 0 {
			q.shiftTo(single, q.beta[single]+q.r[single]/q.k[single*n+single])
			continue
		}
		h := max(q.k[i*n+i]+q.k[j*n+j]-2*q.k[i*n+j], pairCurvature*q.k[i*n+i])
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
