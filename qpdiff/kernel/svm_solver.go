package kernel

import (
	"errors"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

var errNoActiveSet = check.ArgErrorf("Data", qpdiff.ErrIterationLimit, remedyForDecisions, "is so ill-conditioned that no active set was confirmed")

// solve moves beta to the solution, from a feasible beta.
func (q *boxQP) solve() error {
	copy(q.lin, q.y)
	q.delta = 0
	err := q.solveExactly(pairPhases)
	if errors.Is(err, qpdiff.ErrIterationLimit) {
		err = q.proximal()
	}
	q.isWarm = err == nil
	return err
}

// proximal solves the problem by proximal point steps. Each step minimises the objective plus
// delta/2·‖β − center‖². The smallest eigenvalue of the sum's Hessian is far above the rounding
// errors, so exact steps from free set to free set always descend.
func (q *boxQP) proximal() error {
	q.delta = proximalTol * q.largest
	for range proximalSteps {
		copy(q.center, q.beta)
		copy(q.lin, q.y)
		dense.Axpy(q.delta, q.center, q.lin)
		q.residual()
		q.optimisePairs(0) // sets freeSet
		q.isWarm = true
		if err := q.solveExactly(0); err != nil {
			return err
		}
		moved := 0.0
		for i, v := range q.beta {
			moved = max(moved, math.Abs(v-q.center[i]))
		}
		if q.delta*moved <= residualTol*q.size {
			break
		}
	}
	// Rows leave the free set until its rows are independent. The β of a row that leaves stays within
	// the bounds.
	q.delta = 0
	copy(q.lin, q.y)
	for {
		if err := q.makeRoom(len(q.freeSet), 1); err != nil {
			return err
		}
		k := q.factorise(&q.factor, q.freeSet, freeTol*float64(len(q.freeSet)))
		if k == len(q.freeSet) {
			break
		}
		q.residual()
		if !q.moveToBound(k) {
			return errNoActiveSet
		}
	}
	q.residual()
	q.solveFree()
	if wrong, _ := q.countOutside(); wrong == 0 {
		dense.Scatter(q.beta, q.z, q.freeSet)
	}
	q.residual()
	if q.balanced && len(q.freeSet) == 0 {
		q.setMiddle()
	}
	return nil
}

// solveExactly takes exact steps from free set to free set. Between these steps it runs sequential
// minimal optimisation at most maxPhases times.
func (q *boxQP) solveExactly(maxPhases int) error {
	q.residual()
	if err := q.makeRoom(0, 0); err != nil {
		return err
	}
	if !q.isWarm || q.rows.k == nil { // with so many rows, an exact step evaluates all rows and costs more than many pairs
		q.optimisePairs(q.mostPairs(pairsPerRow * q.n))
	}
	q.isWarm = false
	still := 0 // number of successive steps that were cut short to nothing
	for range exactSteps + exactStepsPerRow*q.n {
		s := len(q.freeSet)
		if err := q.makeRoom(s, 1); err != nil {
			return err
		}
		q.oldBeta = append(q.oldBeta[:0], q.beta...)
		if k := q.factorise(&q.factor, q.freeSet, freeTol*float64(s)); k < s {
			if err := q.leaveSingular(k); err != nil {
				return err
			}
			q.afterStep()
			continue
		}
		q.solveFree()
		changes, moved := q.stepTo() // changes: the number of β that should leave or enter the free set
		if changes > 0 {
			q.afterStep()
			if still++; moved {
				still = 0
			}
		} else if changes = q.admitAtMinimiser(maxPhases == 0, still > stillSteps); changes == 0 {
			return nil
		}
		if changes > 1 && maxPhases > 0 {
			q.optimisePairs(q.mostPairs(q.n / rowsPerPair))
			maxPhases--
		}
	}
	return errNoActiveSet
}

// leaveSingular moves β along a direction in which the objective of the free set has no curvature,
// until a row reaches its bound. The parameter k is the first row of the free set that depends on
// earlier rows. With the proximal term, such a row shows that the objective is not convex, and
// leaveSingular returns an error. Without this term, leaveSingular returns errNoActiveSet if it
// finds negative curvature, or if, because of rounding errors, it cannot determine where β reaches
// a bound.
func (q *boxQP) leaveSingular(k int) error {
	if q.delta > 0 {
		return check.ArgErrorf("Kernel", qpdiff.ErrNonconvex, "use a positive semidefinite kernel", "has a direction of negative curvature")
	}
	if s := len(q.freeSet); q.factor.a[k*s+k] < -proximalTol*q.largest || !q.moveToBound(k) {
		return errNoActiveSet // not convex, or no digits left
	}
	return nil
}

// takeMinimiser sets β to the minimiser on the free set. solveFree must have computed this
// minimiser in z, and it must be within the bounds.
func (q *boxQP) takeMinimiser() {
	dense.Scatter(q.beta, q.z, q.freeSet)
	if q.balanced && len(q.freeSet) == 1 {
		// The constraint Σβ = 0 alone determines the β of a single free row. If this β is at a bound up
		// to rounding, the row must leave the free set.
		j := q.freeSet[0]
		if q.beta[j] = q.snap(q.beta[j], q.lo[j], q.hi[j]); q.beta[j] == q.lo[j] || q.beta[j] == q.hi[j] {
			q.freeSet = q.freeSet[:0]
		}
	}
	q.afterStep()
}

// admitAtMinimiser takes the step to the minimiser on the free set, and then calls admit. If the
// kernel matrix is not stored, the residual r may hold the rounding errors of many updates. In this
// case, if admit frees no β, admitAtMinimiser refines r and calls admit again.
func (q *boxQP) admitAtMinimiser(worstOnly, firstOnly bool) int {
	q.takeMinimiser()
	added := q.freeInward(worstOnly, firstOnly)
	if added == 0 && q.rows.k == nil {
		q.refine()
		added = q.freeInward(worstOnly, firstOnly)
	}
	return added
}

// afterStep updates the residual r after an exact step. If the kernel matrix is stored, afterStep
// computes r anew from all rows.
func (q *boxQP) afterStep() {
	if q.rows.k != nil {
		q.residual()
		return
	}
	q.updateResidual()
}

// refine computes r anew, and repeats the exact step with it.
func (q *boxQP) refine() {
	q.residual()
	if q.balanced && len(q.freeSet) < 2 {
		return // Σβ = 0 leaves no choice
	}
	copy(q.oldBeta, q.beta)
	q.solveFree()
	if wrong, _ := q.countOutside(); wrong == 0 {
		dense.Scatter(q.beta, q.z, q.freeSet)
		q.updateResidual()
	}
}

// boundTerms sets rhs to the right-hand side of the free set's system, and returns the sum of the
// free β. If the kernel matrix is not stored, it computes the right-hand side from y − Kβ by
// removing the part of the free β.
func (q *boxQP) boundTerms(rhs, work []float64) (sum float64) {
	whole := q.rows.k != nil
	dense.Gather(rhs, q.lin, q.freeSet)
	next := 0
	for j, v := range q.beta {
		if !dense.IsNext(q.freeSet, &next, j) && v != 0 {
			q.stopper.Look()
			if sum -= v; whole {
				q.rows.gather(work, j, q.n, q.freeSet)
				dense.Axpy(-v, work, rhs)
			}
		}
	}
	if !whole {
		dense.Gather(rhs, q.r, q.freeSet)
		for i, j := range q.freeSet {
			q.stopper.Look()
			q.rows.gather(work, j, q.n, q.freeSet)
			dense.Axpy(q.beta[j], work, rhs)
			rhs[i] += q.delta * q.beta[j]
		}
	}
	return sum
}

// solveFree solves the free set's system, and sets z and b to the solution. It uses the factor and
// one step of refinement.
func (q *boxQP) solveFree() {
	s := len(q.freeSet)
	z, rhs, fix := q.z[:s], q.rhs[:s], q.fix[:s]
	sum := q.boundTerms(rhs, fix)
	copy(z, rhs)
	q.b = q.factor.solve(z, sum)
	q.entries = dense.Grow(q.entries, s)
	for i, j := range q.freeSet {
		q.stopper.Look()
		q.rows.gather(q.entries, j, q.n, q.freeSet)
		r := rhs[i] - q.b - q.delta*z[i]
		for k, v := range q.entries {
			r -= v * z[k]
		}
		fix[i] = r
	}
	for _, v := range z {
		sum -= v
	}
	q.b += q.factor.solve(fix, sum)
	dense.Axpy(1, fix, z)
}

// countOutside returns the number of entries of z that are out of bounds. It also returns a
// fraction: the part of the step from beta to z after which the first bound is met.
func (q *boxQP) countOutside() (wrong int, t float64) {
	t = 1
	for i, j := range q.freeSet {
		switch z, b := q.z[i], q.beta[j]; {
		case z < q.lo[j]:
			wrong++
			t = min(t, (b-q.lo[j])/(b-z))
		case z > q.hi[j]:
			wrong++
			t = min(t, (q.hi[j]-b)/(z-b))
		}
	}
	return wrong, t
}

// stepTo moves beta towards z. If z is out of bounds, beta stops at the first bound that it meets.
// Entries of beta that are at a bound after this step leave the free set. stepTo returns the number
// of entries of z that are out of bounds.
func (q *boxQP) stepTo() (wrong int, moved bool) {
	wrong, t := q.countOutside()
	if wrong == 0 {
		return 0, true
	}
	k := 0
	for i, j := range q.freeSet {
		z, b := q.z[i], q.beta[j]
		v := b + t*(z-b)
		switch {
		case z < q.lo[j] && ((b-q.lo[j])/(b-z) <= t || v <= q.lo[j]):
			q.beta[j] = q.lo[j]
		case z > q.hi[j] && ((q.hi[j]-b)/(z-b) <= t || v >= q.hi[j]):
			q.beta[j] = q.hi[j]
		default:
			q.beta[j] = v
			q.freeSet[k] = j
			k++
		}
	}
	q.freeSet = q.freeSet[:k]
	return wrong, t > stepTol
}

// moveToBound moves beta to the first bound along a direction in which the objective is linear.
// Such a direction exists because member k of freeSet depends on earlier members.
func (q *boxQP) moveToBound(k int) bool {
	s := len(q.freeSet)
	v := q.z[:s]
	clear(v)
	for i := range k {
		v[i] = -q.factor.a[i*s+k]
	}
	dense.LDLBack(q.factor.a, q.factor.dinv, k, s, v[:k])
	v[k] = 1
	var rise float64 // of −objective along v
	for i := range k + 1 {
		rise += v[i] * q.r[q.freeSet[i]]
	}
	if rise < 0 {
		floats.Scale(-1, v[:k+1])
	}
	t, hit := math.Inf(1), -1
	for i := range k + 1 {
		j := q.freeSet[i]
		if room := dense.MaxStep(q.beta[j], v[i], q.lo[j], q.hi[j]); room < t {
			t, hit = room, i
		}
	}
	if hit < 0 {
		return false
	}
	m := 0
	for i, j := range q.freeSet {
		if i <= k {
			b := q.beta[j] + t*v[i]
			if i == hit || b <= q.lo[j] || b >= q.hi[j] {
				q.beta[j] = q.lo[j]
				if v[i] > 0 {
					q.beta[j] = q.hi[j]
				}
				continue
			}
			q.beta[j] = b
		}
		q.freeSet[m] = j
		m++
	}
	q.freeSet = q.freeSet[:m]
	return true
}

// setMiddle is for a solution in which no β is free, so that b may be anywhere in an interval. It
// sets b to the middle of this interval, and returns the rows that determine the ends of the
// interval.
func (q *boxQP) setMiddle() (up, down int) {
	up, down = q.interceptBounds(q.beta)
	if up >= 0 && down >= 0 {
		q.b = (q.r[up] + q.r[down]) / 2
	}
	return up, down
}

// freeInward frees each β that is at a bound and whose gradient points inwards. It returns the
// number of freed β. If worstOnly is true, it frees only the β with the largest gradient. If
// firstOnly is true, it frees only the first such β. If no β is free, freeInward also computes b.
func (q *boxQP) freeInward(worstOnly, firstOnly bool) int {
	tol := residualTol * q.size
	s := len(q.freeSet)
	if q.balanced && s == 0 {
		up, down := q.setMiddle()
		if up < 0 || down < 0 || q.r[up] <= q.r[down]+tol {
			return 0
		}
		q.freeSet = append(q.freeSet, min(up, down), max(up, down))
		return 2
	}
	next, most, at := 0, tol, -1
	for i, v := range q.r {
		if dense.IsNext(q.freeSet[:s], &next, i) {
			continue
		}
		v -= q.b
		if q.beta[i] == q.hi[i] {
			v = -v
		}
		switch {
		case v <= tol:
		case firstOnly:
			q.freeSet = slices.Insert(q.freeSet, next, i)
			return 1
		case worstOnly:
			if v > most {
				most, at = v, i
			}
		default:
			q.freeSet = append(q.freeSet, i)
		}
	}
	if at >= 0 {
		k, _ := slices.BinarySearch(q.freeSet, at)
		q.freeSet = slices.Insert(q.freeSet, k, at)
		return 1
	}
	added := len(q.freeSet) - s
	slices.Sort(q.freeSet)
	return added
}
