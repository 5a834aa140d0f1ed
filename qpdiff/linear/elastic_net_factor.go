package linear

import (
	"math"
	"sync"
	"sync/atomic"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/sparse"

	"gonum.org/v1/gonum/floats"
)

// factor factorises the active system and writes its solution to z. It returns the position in act
// of the first coordinate that depends linearly on the coordinates before it. If there is no such
// coordinate, it returns len(act).
func (q *piecewiseQP) factor() int {
	s := len(q.act)
	if q.laneReady {
		q.laneReady = false
		return s
	}
	q.setInLanes(0)
	w := dense.LDLStride(s)
	if q.features == nil {
		q.gather(w)
	} else if k, done := q.factorColumns(w); done {
		return k
	}
	if k := dense.LDLFactorUntil(q.stopper, q.a, q.dinv, s, w, q.pivotTol()); k < s {
		return k
	}
	inverse := 1.0
	dinv, diag := q.dinv[:s], q.diag
	r := q.r[:len(diag)]
	for i, j := range q.act {
		inverse *= (diag[j] + r[j]) * dinv[i]
	}
	q.conditionBound = q.condBound(inverse)
	if dense.Unsolvable(q.conditionBound) && dense.Unsolvable(q.cond()) {
		return dense.LDLDependent(q.a, q.dinv, s, w, q.d, q.crossAt)
	}
	for i := range s {
		q.z[i] = q.a[i*w+s]
	}
	dense.LDLBack(q.a, q.dinv, s, w, q.z[:s])
	return s
}

// factorColumns does the work of factor if the problem is given by the columns of C. Either it
// solves the system and returns solved = true, or it gathers the system in rows of w entries, for
// factor to solve.
func (q *piecewiseQP) factorColumns(w int) (dependent int, solved bool) {
	s := len(q.act)
	if q.iterative = q.sparse != nil && q.g == nil; q.iterative {
		return q.solveSparse(), true
	}
	if q.byColumns() {
		if q.rowFactor = q.byRows() && q.factorRows(); q.rowFactor {
			return s, true
		}
		q.a = dense.Grow(q.a, s*dense.LDLStride(s))
	}
	if q.g != nil {
		q.gather(w)
	} else {
		q.gatherColumns(w)
	}
	return s, false
}

// solveSparse solves the active system by conjugate gradients, and returns len(act). It stores the
// solution in z, and an estimate of the system's condition number in conditionBound. If the solver
// fails, solveSparse returns the coordinate with the largest residual instead.
func (q *piecewiseQP) solveSparse() int {
	s, m := len(q.act), &q.system
	m.Columns, m.Inv = q.sparse, q.inv
	dense.GrowAll(s, &m.R, &m.Diag)
	m.Set = m.Set[:0]
	b := q.grad[:s]
	for i, j := range q.act {
		m.Set = append(m.Set, q.features[j])
		m.R[i], m.Diag[i], b[i] = q.r[j], q.diag[j], q.linearSlope(i)
	}
	q.work = dense.Grow(q.work, sparse.Room(q.rows, s))
	residual, worst := q.gradients.Solve(m, q.z[:s], b, q.work, q.residualFloor())
	if q.conditionBound = q.gradients.Most / q.gradients.Least; !(residual <= max(sparse.ResidualTol, q.residualFloor())) || dense.Unsolvable(q.conditionBound) {
		return worst
	}
	return s
}

// isRegular reports whether the active system, which solveSparse has just solved, has a unique
// solution. The first solve shows this only for the directions that occur in its right-hand side.
// Therefore isRegular solves the system again with another right-hand side.
func (q *piecewiseQP) isRegular() (worst int, ok bool) {
	s := len(q.act)
	b, x, part := q.crossAt[:s], q.d[:s], 0.0
	for i, j := range q.act {
		// With the multiples of the golden ratio modulo 1, the right-hand side has a component along
		// every direction of the data.
		_, part = math.Modf(part + math.Phi)
		b[i] = (part - .5) * math.Sqrt(q.diag[j]+q.r[j])
	}
	residual, worst := q.gradients.Solve(&q.system, x, b, q.work, sparse.LooseFloor)
	q.conditionBound = max(q.conditionBound, q.gradients.Most/q.gradients.Least)
	return worst, residual <= sparse.ProbeTol && !dense.Unsolvable(q.conditionBound)
}

// factorRegular does the work of the function factor for a system that must have exactly one
// solution for every right-hand side.
func (q *piecewiseQP) factorRegular() int {
	k := q.factor()
	if q.iterative {
		if worst, ok := q.isRegular(); !ok {
			return worst
		}
	}
	return k
}

// errUnsolved is the error of a derivative whose system conjugate gradients cannot solve.
var errUnsolved = check.ArgErrorf("Data", qpdiff.ErrIllPosed, "raise λ2 or drop features", "is so ill-conditioned that conjugate gradients do not solve the system of the derivative")

// gradientsFailed reports whether w comes from a call of solveActive in which conjugate gradients
// failed. Then all entries of w are NaN. After any other call, an entry is NaN only if a product
// overflowed.
func (q *piecewiseQP) gradientsFailed(w []float64) bool {
	return q.iterative && len(w) > 0 && w[0] != w[0]
}

// residualFloor is the relative residual at which conjugate gradients end.
func (q *piecewiseQP) residualFloor() float64 {
	if q.looseSolves {
		return sparse.LooseFloor
	}
	return sparse.Floor
}

// gather writes the active system to a, in rows of w entries. Column len(act) is the right-hand
// side.
func (q *piecewiseQP) gather(w int) {
	s := len(q.act)
	if s == 0 {
		return
	}
	dense.GatherUpper(q.a, w, q.g, q.n, q.r, q.act)
	a, at := q.a, s
	for i, j := range q.act {
		v := q.c[j] // see linearSlope
		if t := q.sgn[i]; t > 0 {
			v -= q.up[j]
		} else if t < 0 {
			v += q.lo[j]
		}
		a[at] = v
		at += w
	}
}

// condBound returns an upper bound of the condition of the active system, scaled to a unit
// diagonal. Its argument is 1/det of the scaled system.
func (q *piecewiseQP) condBound(inverse float64) float64 {
	if inverse <= looseInverse {
		return dense.CondBound(len(q.act), 1/inverse, 0)
	}
	return dense.CondBound(len(q.act), 1/inverse, q.penaltyFloor())
}

// factorIsInLanes reports whether the factor of the active system is stored in q.lanes instead of a
// and dinv.
func (q *piecewiseQP) factorIsInLanes() bool { return atomic.LoadUint32(&q.inLanes) != 0 }

// setInLanes sets q.inLanes if its value changes, which is rare. It reads the old value first,
// because a store costs much more than a load.
func (q *piecewiseQP) setInLanes(elsewhere uint32) {
	if atomic.LoadUint32(&q.inLanes) != elsewhere {
		atomic.StoreUint32(&q.inLanes, elsewhere)
	}
}

// ownFactorLock is held while ownFactor computes a factor. This seldom happens, so all problems
// share one lock.
var ownFactorLock sync.Mutex

// ownFactor stores the factor of the active system in the fields a and dinv, if the factor is only
// in q.lanes. Concurrent derivatives may call ownFactor.
func (q *piecewiseQP) ownFactor() {
	if !q.factorIsInLanes() {
		return
	}
	ownFactorLock.Lock()
	defer ownFactorLock.Unlock()
	if s := len(q.act); q.factorIsInLanes() {
		q.gather(dense.LDLStride(s))
		dense.LDLFactor(q.a, q.dinv, s, dense.LDLStride(s), q.pivotTol())
		q.setInLanes(0)
	}
}

// room returns the length of the first argument of solveActive.
func (q *piecewiseQP) room() int {
	switch {
	case q.sparse != nil:
		return sparse.Room(q.rows, q.n) + 2*q.n
	case q.columns != nil:
		return 2*q.rows + 2*q.n
	}
	return q.n
}

// cond estimates the condition number of the active system. If conjugate gradients solved the
// system, the estimate is conditionBound. Otherwise it uses √s in place of the largest eigenvalue,
// as [dense.LDLCond] does; s is the number of active coordinates.
func (q *piecewiseQP) cond() float64 {
	s := len(q.act)
	if q.iterative {
		return q.conditionBound
	}
	if q.rowFactor {
		return q.conditionBound / math.Sqrt(float64(s))
	}
	q.ownFactor()
	return dense.LDLCond(q.a, q.dinv, s, dense.LDLStride(s), q.d, q.crossAt)
}

// pivotTol bounds the rounding error of a pivot. If the problem is stored as columns, the bound
// does not depend on the inactive features of the working set.
func (q *piecewiseQP) pivotTol() float64 {
	terms := float64(q.n)
	if q.byColumns() {
		terms = float64(len(q.act)) + math.Sqrt(float64(q.rows))
	}
	return pivotRounding * dense.Eps * terms
}

// solveActiveSparse does the work of solveActive by conjugate gradients, in place.
func (q *piecewiseQP) solveActiveSparse(w []float64) {
	s := len(w)
	b := w[s : 2*s]
	copy(b, w)
	floor := q.residualFloor()
	if residual, _ := (&sparse.Gradients{End: q.stopper}).Solve(&q.system, w, b, w[2*s:cap(w)], floor); !(residual <= max(sparse.ResidualTol, floor)) {
		dense.Fill(w, math.NaN())
	}
}

// solveActive solves the active system with its last factor. The right-hand side has the entries
// v_j of the coordinates j in act; v has n entries. The solution has one entry for each member of
// act, and is returned in w, which must have room() entries. If conjugate gradients fail, the
// solution is NaN: see gradientsFailed.
func (q *piecewiseQP) solveActive(w, v []float64) []float64 {
	s := len(q.act)
	w = w[:s]
	dense.Gather(w, v, q.act)
	switch {
	case q.rowFactor:
		work := w[s:cap(w)]
		q.solveRows(w, work, work[q.rows:], work[2*q.rows:])
	case q.iterative:
		q.solveActiveSparse(w)
	default:
		q.ownFactor()
		dense.LDLForward(q.a, q.dinv, s, dense.LDLStride(s), w)
		dense.LDLBack(q.a, q.dinv, s, dense.LDLStride(s), w)
	}
	return w
}

// quadraticForm returns dᵀ(G + diag r)d, where d is 0 outside the active set. The active system
// must be factorised.
func (q *piecewiseQP) quadraticForm(d []float64) float64 {
	s := len(q.act)
	if !q.rowFactor && !q.iterative {
		if q.lanes != nil && q.factorIsInLanes() {
			return dense.LDLLanesForm(q.lanes.a, q.lanes.dinv, q.lanes.size, q.lane, d)
		}
		q.ownFactor()
		return dense.LDLForm(q.a, q.dinv, s, dense.LDLStride(s), d)
	}
	q.fit = dense.Grow(q.fit, q.rows)
	fit := q.fit
	q.combine(fit, d, q.act)
	sum := q.inv * floats.Dot(fit, fit)
	for i, j := range q.act {
		sum += q.r[j] * d[i] * d[i]
	}
	return sum
}
