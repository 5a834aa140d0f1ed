package linear

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
)

// solve moves x to the solution, and stores the factor of the active system in the fields a and
// dinv. It starts from the active set and x of the last solve. If λ has changed little, one
// factorisation confirms this set. Otherwise solve alternates sweeps of coordinate descent, which
// are cheap and change many signs, with exact steps on the active set. At the end it takes only
// exact steps.
//
// Each exact step that moves x lowers the objective. A coordinate enters only after x has reached
// the minimiser on the active set. So x never reaches the minimiser on the same active set twice,
// and the number of steps is finite.
func (q *piecewiseQP) solve() error {
	_, err := q.advance(math.MaxInt)
	return err
}

// advance does the work of solve, but takes at most maxSteps exact steps. It reports whether x is
// the solution.
func (q *piecewiseQP) advance(maxSteps int) (solved bool, err error) {
	q.activate()
	return q.advanceActivated(maxSteps)
}

// advanceActivated does the work of advance if the active set already belongs to x.
func (q *piecewiseQP) advanceActivated(most int) (done bool, err error) {
	if q.byColumns() {
		if j := q.dependentCoordinate(); j >= 0 {
			return false, q.errOpen(j)
		}
	}
	descend := !q.isWarm || q.dualFirst()
	if descend {
		q.hasNewCoordinates = false
		q.coordinateDescent()
	}
	q.startSolve(descend)
	limit := q.mostSteps()
	for range min(most, limit) {
		q.stopper.Look()
		if done, err := q.step(); done || err != nil {
			return done, err
		}
	}
	if most < limit {
		return false, nil
	}
	return false, errNoActiveSet
}

// mostSteps returns the largest number of steps of a solve. The method is finite, so a solve that
// needs more steps is in a cycle caused by rounding.
func (q *piecewiseQP) mostSteps() int { return minFactorisations + factorisationsPerFeature*q.n }

// errNoActiveSet is the error of a solve that ends after mostSteps steps.
var errNoActiveSet = check.ArgErrorf("Data", qpdiff.ErrIterationLimit, "raise λ2", "is so ill-conditioned that no active set was confirmed")

// startSolve starts a solve. The parameter descended must be true if coordinate descent came
// before.
func (q *piecewiseQP) startSolve(descended bool) {
	q.phases, q.tol = cdPhases, admitTol
	if descended {
		q.phases--
	}
	q.isWarm, q.dualKnown = false, false
}

// step takes one step of a solve. It factorises the active system, and changes the active set
// unless the system's solution shows that the set is right.
func (q *piecewiseQP) step() (done bool, err error) {
	s := len(q.act)
	if q.isCrowded() {
		return false, q.errCrowded()
	}
	if q.takeEntered() {
		return false, nil
	}
	if k := q.factor(); k < s {
		q.phases = max(0, q.phases-1)
		moved, ok := q.moveAlongDependency(k)
		if !ok {
			return false, q.errOpen(q.act[k])
		}
		if !moved && !q.hasUnmoved() {
			q.tol = math.Inf(1)
		}
		return false, nil
	}
	wrong := q.countWrongSides()
	if wrong > 0 {
		if !q.stepTo() && !q.hasUnmoved() {
			q.tol = math.Inf(1)
		}
	} else {
		dense.Scatter(q.x, q.z, q.act)
		wrong = q.admit(q.tol, q.phases == 0)
		if wrong == 0 {
			q.isWarm = true
			return true, nil
		}
	}
	q.descendAgain(wrong)
	return false, nil
}

// descendAgain runs coordinate descent if several signs are uncertain. The parameter wrongSides
// counts the coordinates that were on the wrong side of their kinks, and the coordinates that
// entered the active set.
func (q *piecewiseQP) descendAgain(wrongSides int) {
	if wrongSides > 1 && q.phases > 0 {
		q.coordinateDescent()
		q.phases--
	}
}

// takeEntered takes the first step on a working set that has grown since its problem was solved.
// The solution of the active system is x, so the step needs no factor. The step only admits
// coordinates to the active set. takeEntered reports whether any coordinate entered.
func (q *piecewiseQP) takeEntered() bool {
	if !q.hasNewCoordinates {
		return false
	}
	q.hasNewCoordinates = false
	for i, j := range q.act {
		q.z[i] = q.x[j]
	}
	entered := q.admit(q.tol, q.phases == 0)
	q.descendAgain(entered)
	return entered > 0
}

// countWrongSides returns the number of members of act whose z is on the wrong side of the kink.
func (q *piecewiseQP) countWrongSides() (count int) {
	sgn := q.sgn
	for i, v := range q.z[:len(sgn)] {
		if t := sgn[i]; v*t <= 0 && t != 0 {
			count++
		}
	}
	return count
}

// dualFirst reports whether the active set is so much larger than the number of rows that some
// signs of its coordinates will certainly change. An exact step on this set would be wasted.
func (q *piecewiseQP) dualFirst() bool {
	return q.sparse == nil && q.g == nil && len(q.act) > dualPerRow*q.rows
}

// hasUnmoved reports whether some active coordinate is still at its kink, because it entered the
// active set and has not moved yet. If all coordinates that entered in the last step would leave in
// the next step, they entered only because of rounding.
func (q *piecewiseQP) hasUnmoved() bool {
	for i, j := range q.act {
		if q.sgn[i] != 0 && q.x[j] == 0 {
			return true
		}
	}
	return false
}

// admit adds coordinates at zero to the active set if their kinks are too weak to hold them there.
// For each of them, the slope must exceed the strength of the kink by more than tol times the size
// of the compared terms. If onlyLargest is true, admit adds only the coordinate with the largest
// excess. It returns the number of added coordinates.
func (q *piecewiseQP) admit(tol float64, onlyLargest bool) int {
	n, s := q.n, len(q.act)
	if s == n && q.g != nil {
		return 0
	}
	if q.g == nil {
		q.fit = dense.Grow(q.fit, q.rows)
		q.combine(q.fit, q.z, q.act)
		q.fitSize = 0
		for i, j := range q.act {
			q.fitSize += math.Sqrt(q.diag[j]) * math.Abs(q.z[i])
		}
	}
	next, along := 0, 0.0
	if q.g == nil {
		along = q.rowSum(q.fit[:q.rows])
	}
	worst := 0.0
	for j := range n {
		if next < s && q.act[next] == j {
			next++
			continue
		}
		d := q.c[j]
		if q.g == nil {
			d -= q.inv * q.dot(j, q.fit[:q.rows], along)
		} else {
			row := q.g[j*n : (j+1)*n]
			for i, k := range q.act[:s] {
				d -= row[k] * q.z[i]
			}
		}
		q.grad[j] = d
		if d <= q.up[j] && -d <= q.lo[j] {
			continue
		}
		// More than the rounding of d?
		size := q.slopeSize(j, s)
		excess, side := d-q.up[j], 1.0
		if d < 0 {
			excess, side = -d-q.lo[j], -1
		}
		if !(excess > tol*size) {
			continue
		}
		if onlyLargest {
			if excess <= worst {
				continue
			}
			worst = excess
			q.act, q.sgn = q.act[:s], q.sgn[:s]
		}
		q.act, q.sgn = append(q.act, j), append(q.sgn, side)
	}
	added := len(q.act) - s
	if added > 0 {
		q.sortActive(s)
	}
	return added
}

// slopeSize returns the size of the terms of c − Gz at coordinate j. z has entries for the first s
// members of act.
func (q *piecewiseQP) slopeSize(j, s int) float64 {
	size := math.Abs(q.c[j])
	if q.g == nil {
		return size + math.Sqrt(q.diag[j])*q.fitSize
	}
	row := q.g[j*q.n : (j+1)*q.n]
	for i, k := range q.act[:s] {
		size += math.Abs(row[k] * q.z[i])
	}
	return size
}

// sortActive sorts act. The first s members ascend already, and so do the remaining members.
func (q *piecewiseQP) sortActive(s int) {
	added := copy(q.crossed[:len(q.act)-s], q.act[s:])
	copy(q.crossAt, q.sgn[s:])
	for to, k := len(q.act)-1, s-1; added > 0; to-- {
		if k >= 0 && q.act[k] > q.crossed[added-1] {
			q.act[to], q.sgn[to] = q.act[k], q.sgn[k]
			k--
			continue
		}
		added--
		q.act[to], q.sgn[to] = q.crossed[added], q.crossAt[added]
	}
}
