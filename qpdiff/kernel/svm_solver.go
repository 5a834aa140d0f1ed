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
	q.warm = err == nil
	return err
}

// proximal solves by proximal point steps. Each step minimises the objective plus delta/2·‖β −
// center‖². This sum is positive definite by far more than rounding, so exact steps from free set
// to free set always descend.
func (q *boxQP) proximal() error {
	q.delta = proximalTol * q.largest
	for range proximalSteps {
		copy(q.center, q.beta)
		copy(q.lin, q.y)
		dense.Axpy(q.delta, q.center, q.lin)
		q.residual()
		q.optimisePairs(0) // sets free
		q.warm = true
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
	// Reduce the free set to a basis. A row that leaves the free set keeps its β within the box.
	q.delta = 0
	copy(q.lin, q.y)
	for {
		if err := q.makeRoom(len(q.free), 1); err != nil {
			return err
		}
		k := q.factorise(&q.factor, q.free, freeTol*float64(len(q.free)))
		if k == len(q.free) {
			break
		}
		q.residual()
		if !q.slide(k) {
			return errNoActiveSet
		}
	}
	q.residual()
	q.solveFree()
	if wrong, _ := q.outside(); wrong == 0 {
		dense.Scatter(q.beta, q.z, q.free)
	}
	q.residual()
	if q.balanced && len(q.free) == 0 {
		q.middle()
	}
	return nil
}

// solveExactly takes exact steps from free set to free set. Between these steps it runs sequential
// minimal optimisation, at most phases times.
func (q *boxQP) solveExactly(phases int) error {
	q.residual()
	if err := q.makeRoom(0, 0); err != nil {
		return err
	}
	if !q.warm || q.rows.k == nil { // with so many rows, an exact step, which evaluates all of them, costs more than many pairs
		q.optimisePairs(q.mostPairs(pairsPerRow * q.n))
	}
	q.warm = false
	still := 0
	for range exactSteps + exactStepsPerRow*q.n {
		s := len(q.free)
		if err := q.makeRoom(s, 1); err != nil {
			return err
		}
		q.was = append(q.was[:0], q.beta...)
		if k := q.factorise(&q.factor, q.free, freeTol*float64(s)); k < s {
			if q.delta > 0 {
				return check.ArgErrorf("Kernel", qpdiff.ErrNonconvex, "use a positive semidefinite kernel", "has a direction of negative curvature")
			}
			if q.factor.a[k*s+k] < -proximalTol*q.largest || !q.slide(k) {
				break // not convex, or no digits left: proximal decides
			}
			q.moved()
			continue
		}
		q.solveFree()
		if wrong, moved := q.stepTo(); wrong > 0 {
			q.moved()
			if still++; moved {
				still = 0
			}
			if wrong > 1 && phases > 0 {
				q.optimisePairs(q.mostPairs(q.n / rowsPerPair))
				phases--
			}
			continue
		}
		dense.Scatter(q.beta, q.z, q.free)
		if q.balanced && s == 1 {
			// Σβ = 0 leaves no choice: rounding must not make a bound free.
			j := q.free[0]
			if q.beta[j] = q.snap(q.beta[j], q.lo[j], q.hi[j]); q.beta[j] == q.lo[j] || q.beta[j] == q.hi[j] {
				q.free = q.free[:0]
			}
		}
		q.moved()
		added := q.admit(phases == 0, still > stillSteps)
		if added == 0 && q.rows.k == nil {
			q.refine()
			added = q.admit(phases == 0, still > stillSteps)
		}
		if added == 0 {
			return nil
		}
		if added > 1 && phases > 0 {
			q.optimisePairs(q.mostPairs(q.n / rowsPerPair))
			phases--
		}
	}
	return errNoActiveSet
}

// moved updates r after an exact step. If the kernel matrix is stored, it computes r anew from all
// rows.
func (q *boxQP) moved() {
	if q.rows.k != nil {
		q.residual()
		return
	}
	q.follow()
}

// refine computes r anew, and repeats the exact step with it.
func (q *boxQP) refine() {
	q.residual()
	if q.balanced && len(q.free) < 2 {
		return // Σβ = 0 leaves no choice
	}
	copy(q.was, q.beta)
	q.solveFree()
	if wrong, _ := q.outside(); wrong == 0 {
		dense.Scatter(q.beta, q.z, q.free)
		q.follow()
	}
}

// boundTerms sets rhs to the right-hand side of the free set's system, and returns the sum of the
// free β. If the kernel matrix is not stored, it starts from y − Kβ, and removes the part of the
// free β.
func (q *boxQP) boundTerms(rhs, work []float64) (sum float64) {
	whole := q.rows.k != nil
	dense.Gather(rhs, q.lin, q.free)
	next := 0
	for j, v := range q.beta {
		if !dense.IsNext(q.free, &next, j) && v != 0 {
			q.end.Look()
			if sum -= v; whole {
				q.rows.gather(work, j, q.n, q.free)
				dense.Axpy(-v, work, rhs)
			}
		}
	}
	if !whole {
		dense.Gather(rhs, q.r, q.free)
		for i, j := range q.free {
			q.end.Look()
			q.rows.gather(work, j, q.n, q.free)
			dense.Axpy(q.beta[j], work, rhs)
			rhs[i] += q.delta * q.beta[j]
		}
	}
	return sum
}

// solveFree solves the free set's system for z and b, with the factor and one step of refinement.
func (q *boxQP) solveFree() {
	s := len(q.free)
	z, rhs, fix := q.z[:s], q.rhs[:s], q.fix[:s]
	sum := q.boundTerms(rhs, fix)
	copy(z, rhs)
	q.b = q.factor.solve(z, sum)
	q.entries = dense.Grow(q.entries, s)
	for i, j := range q.free {
		q.end.Look()
		q.rows.gather(q.entries, j, q.n, q.free)
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

// outside returns the number of entries of z that are out of bounds. It also returns the fraction
// of the way from beta to z at which the first bound is met.
func (q *boxQP) outside() (wrong int, t float64) {
	t = 1
	for i, j := range q.free {
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

// stepTo moves beta towards z. If z is out of bounds, beta stops at the first bound. The β that
// reach their bounds at this point leave the free set. stepTo returns the number of entries of z
// that are out of bounds.
func (q *boxQP) stepTo() (wrong int, moved bool) {
	wrong, t := q.outside()
	if wrong == 0 {
		return 0, true
	}
	k := 0
	for i, j := range q.free {
		z, b := q.z[i], q.beta[j]
		v := b + t*(z-b)
		switch {
		case z < q.lo[j] && ((b-q.lo[j])/(b-z) <= t || v <= q.lo[j]):
			q.beta[j] = q.lo[j]
		case z > q.hi[j] && ((q.hi[j]-b)/(z-b) <= t || v >= q.hi[j]):
			q.beta[j] = q.hi[j]
		default:
			q.beta[j] = v
			q.free[k] = j
			k++
		}
	}
	q.free = q.free[:k]
	return wrong, t > stepTol
}

// slide moves beta to the first bound in a direction along which the objective is linear. There is
// such a direction because member k of free depends on earlier members.
func (q *boxQP) slide(k int) bool {
	s := len(q.free)
	v := q.z[:s]
	clear(v)
	for i := range k {
		v[i] = -q.factor.a[i*s+k]
	}
	dense.LDLBack(q.factor.a, q.factor.dinv, k, s, v[:k])
	v[k] = 1
	var rise float64 // of −objective along v
	for i := range k + 1 {
		rise += v[i] * q.r[q.free[i]]
	}
	if rise < 0 {
		floats.Scale(-1, v[:k+1])
	}
	t, hit := math.Inf(1), -1
	for i := range k + 1 {
		j := q.free[i]
		if room := dense.MaxStep(q.beta[j], v[i], q.lo[j], q.hi[j]); room < t {
			t, hit = room, i
		}
	}
	if hit < 0 {
		return false
	}
	m := 0
	for i, j := range q.free {
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
		q.free[m] = j
		m++
	}
	q.free = q.free[:m]
	return true
}

// middle sets b to the middle of its interval if no β is free. It returns the rows that bound the
// interval.
func (q *boxQP) middle() (up, down int) {
	up, down = q.between(q.beta)
	if up >= 0 && down >= 0 {
		q.b = (q.r[up] + q.r[down]) / 2
	}
	return up, down
}

// admit frees β at a bound whose gradient points inwards, and returns their number. By default it
// frees all of them. If the parameter worst is true, it frees only the β with the largest gradient;
// if first is true, only the first β. If no β is free, admit also computes b.
func (q *boxQP) admit(worst, first bool) int {
	tol := residualTol * q.size
	s := len(q.free)
	if q.balanced && s == 0 {
		up, down := q.middle()
		if up < 0 || down < 0 || q.r[up] <= q.r[down]+tol {
			return 0
		}
		q.free = append(q.free, min(up, down), max(up, down))
		return 2
	}
	next, most, at := 0, tol, -1
	for i, v := range q.r {
		if dense.IsNext(q.free[:s], &next, i) {
			continue
		}
		v -= q.b
		if q.beta[i] == q.hi[i] {
			v = -v
		}
		switch {
		case v <= tol:
		case first:
			q.free = slices.Insert(q.free, next, i)
			return 1
		case worst:
			if v > most {
				most, at = v, i
			}
		default:
			q.free = append(q.free, i)
		}
	}
	if at >= 0 {
		k, _ := slices.BinarySearch(q.free, at)
		q.free = slices.Insert(q.free, k, at)
		return 1
	}
	added := len(q.free) - s
	slices.Sort(q.free)
	return added
}
