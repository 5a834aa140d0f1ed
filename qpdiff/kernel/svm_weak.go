package kernel

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
)

// findWeak lists the rows at which strict complementarity fails.
func (l *kernelSVMFit) findWeak() error {
	q := &l.q
	l.weak = l.weak[:0]
	// betaSize is the size of β, and rhsSize is the size of the terms in the right-hand side of the
	// system that determines β. Both are measured in the variables root_i·β_i with root_i² = k_ii +
	// shift. In these variables the free set's matrix has a unit diagonal.
	var betaSize, rhsSize float64
	for i, b := range q.beta {
		betaSize += q.root(i) * math.Abs(b)
	}
	label := 1 + math.Abs(q.b) // the size of y and b
	if !q.balanced || len(q.freeSet) > 1 {
		for _, i := range q.freeSet {
			rhsSize = max(rhsSize, label/q.root(i))
		}
	} // else Σβ = 0 alone determines β
	if !dense.Finite(betaSize + label) {
		return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features, or lower C", "leaves a decision function that overflows")
	}
	minDir := q.fix[:len(q.freeSet)] // an approximate eigenvector, from LDLCond
	cond := dense.LDLCond(q.factor.a, q.factor.dinv, len(q.freeSet), len(q.freeSet), q.z, minDir)
	if e := q.violation() + dense.ComplementarityTol*dense.Eps*q.decisionError(minDir); !(e <= learner.DecisionTol) {
		return check.ArgErrorf("Data", qpdiff.ErrIterationLimit, remedyForDecisions, "leaves decision values with an error of up to %.2g, beside the margin 1", e)
	}
	up, down := -1, -1
	if q.balanced && len(q.freeSet) == 0 {
		up, down = q.interceptBounds(q.beta)
	}
	l.listWeak(label, betaSize, rhsSize, cond, up, down)
	l.betaError = 0
	if up < 0 || down < 0 { // otherwise there is no system
		l.weak = slices.DeleteFunc(l.weak, func(i int) bool { return !l.sideHidden(i) })
	}
	if len(l.weak) > 0 {
		return q.makeRoom(len(q.freeSet), 2) // derivatives have a separate factor
	}
	return nil
}

// root returns the square root of the diagonal entry of row i in the free set's matrix.
func (q *boxQP) root(i int) float64 { return math.Sqrt(q.diagonal[i] + q.shift) }

// listWeak lists the rows that may be weakly active. If no β is free, these are rows near the
// middle of the interval of b; the rows lowerRow and upperRow determine the ends of the interval.
// Otherwise listWeak uses the condition number of the free set's system, and the sizes of the terms
// of its conditions.
func (l *kernelSVMFit) listWeak(label, betaSize, rhsSize, cond float64, lowerRow, upperRow int) {
	q, next := &l.q, 0
	for i, b := range q.beta {
		scale := label + q.root(i)*betaSize
		if dense.IsNext(q.freeSet, &next, i) {
			if dense.Negligible(q.root(i)*min(b-q.lo[i], q.hi[i]-b), rhsSize+betaSize, cond) {
				l.weak = append(l.weak, i)
			}
		} else if lowerRow >= 0 && upperRow >= 0 {
			// Here b is the middle of an interval. If the interval has length 0, the rows at its ends are
			// weakly active. Any other row that bounds b is weakly active if it is as near to the middle as
			// the rows at the ends.
			d := math.Abs(q.r[i] - q.b)
			if dense.Negligible(d, scale, 1) || i != lowerRow && i != upperRow && l.bindsB(i) && dense.Negligible(d-math.Abs(q.r[lowerRow]-q.b), scale, 1) {
				l.weak = append(l.weak, i)
			}
		} else if dense.Negligible(math.Abs(q.r[i]-q.b), scale, cond) {
			l.weak = append(l.weak, i)
		}
	}
}

// sideHidden reports whether row i is so close to its kink that rounding makes its side uncertain.
// It estimates the effect of rounding on the β or on the margin of this row, which takes one solve.
// In contrast, listWeak only bounds the effect on all rows together, by the condition number of the
// free set's system.
func (l *kernelSVMFit) sideHidden(i int) bool {
	q := &l.q
	q.stopper.Look()
	x := q.z[:len(q.freeSet)]
	at, free := slices.BinarySearch(q.freeSet, i)
	if free {
		clear(x)
		x[at] = 1
		terms := q.errorOf(x, 0)
		if !dense.Negligible(min(q.beta[i]-q.lo[i], q.hi[i]-q.beta[i]), terms, 1) {
			return false
		}
		l.betaError += dense.ComplementarityTol * dense.Eps * terms / (q.hi[i] - q.lo[i])
		return true
	}
	q.rows.gather(x, i, q.n, q.freeSet)
	label, size, _ := q.terms()
	return dense.Negligible(math.Abs(q.r[i]-q.b), q.errorOf(x, 1)+label+math.Sqrt(q.diagonal[i])*size, 1)
}

// bindsB reports whether row i bounds b. The bound is from below if r_i < b, and otherwise from
// above.
func (l *kernelSVMFit) bindsB(i int) bool {
	q := &l.q
	if q.r[i] < q.b {
		return q.beta[i] < q.hi[i]
	}
	return q.beta[i] > q.lo[i]
}

// violation returns the largest violation of the optimality conditions, which prescribe signs of
// the entries of r − b.
func (q *boxQP) violation() float64 {
	worst := 0.0
	for i, v := range q.r {
		v -= q.b
		if q.beta[i] < q.hi[i] {
			worst = max(worst, v)
		}
		if q.beta[i] > q.lo[i] {
			worst = max(worst, -v)
		}
	}
	return worst
}

// terms returns sizes with which rounding errors are compared. For the condition of row i, the
// rounding error is relative to label + √k_ii·size. For the condition Σβ = 0, it is relative to the
// result sum.
func (q *boxQP) terms() (label, size, sum float64) {
	for i, b := range q.beta {
		size += math.Sqrt(q.diagonal[i]) * math.Abs(b)
		sum += math.Abs(b)
	}
	return 1 + math.Abs(q.b), size, sum
}

// decisionError estimates the largest error of an entry of Kβ + b, in units of eps. To first order,
// two kinds of errors cause it: the rounding errors of K, and the errors of the conditions that
// determine the free β. The error of each condition has the size of the condition's terms, and the
// sign of an entry of minDir. The vector minDir is approximately the eigenvector for the smallest
// eigenvalue of the free set's matrix, scaled to a unit diagonal. The terms of k_ij have at most
// the size root_i·root_j with root_i² = k_ii. So root_i·Σ_j root_j|β_j| bounds the terms of row i.
func (q *boxQP) decisionError(minDir []float64) float64 {
	n, s := q.n, len(q.freeSet)
	e, f := q.z[:s], q.rhs[:n]
	label, size, sum := q.terms()
	for i, j := range q.freeSet {
		e[i] = math.Copysign(label+math.Sqrt(q.diagonal[j])*size, minDir[i])
		if s == 1 {
			e[i] = math.Abs(e[i])
		}
	}
	dense.Fill(f, q.factor.solve(e, sum))
	for i, j := range q.freeSet {
		q.stopper.Look()
		dense.Axpy(e[i], q.row(j), f)
	}
	worst := 0.0
	for i, v := range f {
		worst = max(worst, math.Abs(v)+label+math.Sqrt(q.diagonal[i])*size)
	}
	return worst
}

// errorOf estimates the error of xᵀβ + weight·b over the free set, in units of eps. This error
// comes from the rounding of the terms of the conditions that determine β and b. errorOf overwrites
// x. Before the call, the free set must be factorised.
func (q *boxQP) errorOf(x []float64, weight float64) float64 {
	label, size, sum := q.terms()
	e := sum * math.Abs(q.factor.solve(x, weight))
	for k, j := range q.freeSet {
		e += math.Abs(x[k]) * (label + math.Sqrt(q.diagonal[j])*size)
	}
	return e
}
