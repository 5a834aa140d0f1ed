package linear

import (
	"cmp"
	"math"
	"slices"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/sparse"

	"gonum.org/v1/gonum/floats"
)

// stepTo moves x towards the solution z of the active system. Some coordinates cross their kinks
// between x and z. If the objective is lower at one of these kinks than at z, x moves only to this
// kink. Coordinates that end at their kink leave the active set, and coordinates that crossed their
// kink change sides. stepTo reports whether x moved.
//
// Let d = z − x. The slope along x + t·d is (t−1)·dᵀHd, plus (up_j+lo_j)·|d_j| for each kink j that
// has been crossed. (This is the line search of Lee, Battle, Raina and Ng 2006, "Efficient sparse
// coding algorithms".) A coordinate that reaches its kink counts as moved, even if t underflows.
func (q *piecewiseQP) stepTo() (moved bool) {
	s := len(q.act)
	d, crossAt, cross := q.d[:s], q.crossAt[:s], q.crossed[:0]
	for i, j := range q.act {
		x, z := q.x[j], q.z[i]
		d[i] = z - x
		if t := q.sgn[i]; t != 0 && z*t <= 0 {
			crossAt[i] = 0
			if x != 0 {
				crossAt[i] = x / (x - z)
			}
			cross = append(cross, i)
		}
	}
	slices.SortFunc(cross, func(a, b int) int { return cmp.Compare(crossAt[a], crossAt[b]) })
	curv := q.quadraticForm(d)
	t, jump, value := 0.0, 0.0, 0.0
	bestT, best := crossAt[cross[0]], 0.0 // the step reaches the first kink at least
	for k := 0; k <= len(cross); k++ {
		next := 1.0
		if k < len(cross) {
			next = crossAt[cross[k]]
		}
		value += (next - t) * (jump - curv*(1-(t+next)/2))
		t = next
		if value < best {
			bestT, best = t, value
		} else if t > 0 {
			break
		}
		if k < len(cross) {
			i := cross[k]
			j := q.act[i]
			jump += (q.up[j] + q.lo[j]) * math.Abs(d[i])
			if math.IsInf(jump, 1) {
				break
			}
		}
	}
	for _, i := range cross {
		switch j := q.act[i]; {
		case crossAt[i] == bestT:
			moved = moved || q.x[j] != 0
			q.x[j] = 0
			q.act[i] = -1
		case crossAt[i] < bestT:
			q.sgn[i] = -q.sgn[i]
		}
	}
	if bestT > 0 {
		for i, j := range q.act {
			if j < 0 {
				continue
			}
			q.x[j] += bestT * d[i]
			if bestT == 1 {
				q.x[j] = q.z[i]
			}
			q.leaveAtKink(i)
		}
	}
	q.closeGaps()
	return moved || bestT > 0
}

// leaveAtKink removes member i from the active set if its x is at the kink or beyond the kink.
func (q *piecewiseQP) leaveAtKink(i int) {
	if j := q.act[i]; q.sgn[i] != 0 && q.x[j]*q.sgn[i] <= 0 {
		q.x[j] = 0
		q.act[i] = -1
	}
}

// closeGaps closes the gaps that coordinates left in the active set.
func (q *piecewiseQP) closeGaps() {
	k := 0
	for i, j := range q.act {
		if j >= 0 {
			q.act[k], q.sgn[k] = j, q.sgn[i]
			k++
		}
	}
	q.act, q.sgn = q.act[:k], q.sgn[:k]
}

// moveAlongDependency handles a member k of act that is linearly dependent on the members before
// it. Along this dependency the objective is linear. moveAlongDependency moves x downwards along it
// to the next kink, and removes the coordinate of this kink from the active set. It reports whether
// x moved. If there is no kink in this direction, the solution is not unique, and
// moveAlongDependency returns ok = false.
func (q *piecewiseQP) moveAlongDependency(k int) (moved, ok bool) {
	v, ok := q.dependency(k)
	if !ok {
		return false, false
	}
	var downSlope float64
	for i, t := range v {
		downSlope += q.linearSlope(i) * t
	}
	// If the objective is constant along v, downSlope is only a rounding error, and x may move in
	// either direction. Therefore, if there is no kink along v, the opposite direction is tried.
	if downSlope < 0 {
		floats.Scale(-1, v)
	}
	t := q.maxStepOnSide(v)
	if math.IsInf(t, 1) {
		floats.Scale(-1, v)
		if t = q.maxStepOnSide(v); math.IsInf(t, 1) {
			return false, false
		}
	}
	for i, u := range v {
		j := q.act[i]
		if u*q.sgn[i] < 0 && -q.x[j]/u <= t {
			moved = moved || q.x[j] != 0
			q.x[j] = 0
			q.act[i] = -1
		} else if t > 0 {
			q.x[j] += t * u
			q.leaveAtKink(i)
		}
	}
	q.closeGaps()
	return moved || t > 0, true
}

// dependency returns the coefficients v of a linear dependency between member k of act and the
// members before it. If conjugate gradients solved the system, v describes a dependency among all
// members. If there is no dependency, ok is false.
func (q *piecewiseQP) dependency(k int) (v []float64, ok bool) {
	s := len(q.act)
	if !q.iterative {
		// v_k = 1, v_<k = −H_<k⁻¹h_k. Column k of the partial factor holds L⁻¹h_k.
		v = q.d[:k+1]
		for i := range k {
			v[i] = -q.a[i*dense.LDLStride(s)+k]
		}
		dense.LDLBack(q.a, q.dinv, k, dense.LDLStride(s), v[:k])
		v[k] = 1
		return v, true
	}
	// In variables in which H has a unit diagonal, v is the right-hand side minus its projection on
	// the range of H. It is not 0, because the system has no solution.
	v = q.d[:s]
	image := q.crossAt[:s]
	for i, j := range q.act {
		v[i] = q.linearSlope(i) / (q.diag[j] + q.r[j])
	}
	q.system.Apply(image, v, q.work[:q.rows])
	if residual, _ := q.gradients.Solve(&q.system, q.z[:s], image, q.work, sparse.Floor); !(residual <= sparse.ResidualTol) {
		return nil, false
	}
	size := 0.0
	for i, j := range q.act {
		v[i] -= q.z[i]
		u := v[i] * math.Sqrt(q.diag[j]+q.r[j]) // the square of v alone may vanish
		size += u * u
	}
	return v, size > 0 && dense.Unsolvable(size/q.quadraticForm(v))
}

// maxStepOnSide returns the largest t for which no coordinate of x + t·v is beyond its kink. v has
// an entry for each of the first len(v) members of the active set.
func (q *piecewiseQP) maxStepOnSide(v []float64) float64 {
	t := math.Inf(1)
	for i, u := range v {
		if u*q.sgn[i] < 0 {
			t = min(t, -q.x[q.act[i]]/u)
		}
	}
	return t
}
