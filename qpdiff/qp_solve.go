package qpdiff

import (
	"cmp"
	"math"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// solve runs the whole method. It writes its results to s, except z and the multipliers, which
// remain in a.
func (a *activeSet) solve(s *qpReport, tol float64, maxChanges int) Status {
	a.iterations = 0
	usual := minChanges + changesPerRow*(a.n+a.rows)
	a.maxChanges = min(cmp.Or(max(maxChanges, 0), usual), hopelessChanges*usual)
	tol = cmp.Or(max(tol, 0), defaultTol)
	status := a.ensureFactor(s)
	if status == IterationLimit {
		// Without a factor, the best known point is 0.
		clear(a.z)
		clear(a.lam)
		a.measure(s, false)
		a.loaded = false
	}
	if status == Optimal {
		status = a.proximalPoint(s, tol)
		if status == IterationLimit && !a.shifted && a.iterations <= a.maxChanges {
			// Q is so badly conditioned that it needs a proximal term.
			if a.factorShifted() {
				status = a.proximalPoint(s, tol)
			} else {
				a.loaded = false
			}
		}
	}
	s.Iterations = a.iterations
	return status
}

// ensureFactor computes a factor of Q, unless the last factor still holds. If Q is not safely
// positive definite, it factorises Q plus the proximal term.
func (a *activeSet) ensureFactor(s *qpReport) Status {
	if a.factored {
		if !a.factorStale() {
			return Optimal
		}
		a.forgetRows()
	}
	dense.Fill(a.d, 1)
	dense.Fill(a.unit, 1)
	clear(a.prox)
	a.factored, a.shifted, a.weakened = true, false, false
	if a.qmax > 0 {
		if a.factor(pivotTol) == a.n && a.isDefinite() {
			return Optimal
		}
		for i := range a.prox {
			a.prox[i] = convexTol * cmp.Or(math.Abs(a.q[i*a.n+i]), floats.Norm(a.q[i*a.n:(i+1)*a.n], math.Inf(1)), a.qmax)
		}
		if bad := a.factor(0); bad < a.n && a.provesNonconvex(s, bad) {
			return Nonconvex
		}
	}
	if !a.factorShifted() {
		return IterationLimit
	}
	return Optimal
}

// isDefinite reports whether Q, according to its factor, is far enough from a singular matrix.
func (a *activeSet) isDefinite() bool {
	size := a.work2
	minPivot := 1.0
	for i := range a.n {
		root := math.Sqrt(a.q[i*a.n+i])
		size[i] = root
		minPivot = min(minPivot, 1/(a.linv[i]*root))
	}
	if minPivot > safePivot {
		return true // the usual case
	}
	s := dense.SmallestSingular(a.l, a.linv, a.n, a.n, size, a.work)
	return s*s > pivotTol
}

// factorShifted factorises Q with a proximal term.
func (a *activeSet) factorShifted() bool {
	a.equilibrate()
	a.forgetRows()
	a.shifted = true
	return a.factorWeighted()
}

// proximalPoint solves the program. If the factor includes a proximal term, it takes steps of the
// proximal point method: each step minimises the objective plus the proximal term around the last
// solution.
func (a *activeSet) proximalPoint(s *qpReport, tol float64) Status {
	if r := a.contradiction(); r >= 0 {
		clear(a.y)
		a.certifyInfeasible(s, r)
		return Infeasible
	}
	r := a.firstCentre(s)
	track := progress{bestResidual: math.Inf(1), bestRatio: math.Inf(1), raysLeft: a.n, weakerLeft: maxWeaker}
	for step := range maxProximal {
		if r < 0 {
			r = a.minimise()
		}
		if r >= 0 {
			a.triangleValid = false
			a.certifyInfeasible(s, r)
			return Infeasible
		}
		if a.shifted {
			s.Proximal = step + 1
			if a.provesUnbounded(s) {
				return a.unboundedStatus(s, tol)
			}
		}
		a.polish(s, tol)
		a.follow(&track, s.Residual.Relative, tol)
		if track.done || a.iterations > a.maxChanges || step == maxProximal-1 {
			break // before recentring changes the multipliers
		}
		var canContinue bool
		if r, canContinue = a.nextCentre(&track, step%proximalPatience == proximalPatience-1); !canContinue {
			break
		}
	}
	return a.confirm(s, tol, track.gradSettled)
}

// firstCentre chooses the first base: the last solution if its factors still hold, and otherwise 0.
// If no point satisfies the equalities, it returns a row that proves this, and otherwise -1.
func (a *activeSet) firstCentre(s *qpReport) int {
	if !a.triangleValid {
		clear(a.z)
		return a.restartAtZ()
	}
	a.measure(s, false)
	a.recentre()
	return -1
}

// polish improves the solution of a step. It removes errors that come from rounding and from the
// proximal term.
func (a *activeSet) polish(s *qpReport, tol float64) {
	a.refine(s)
	if s.Residual.Relative > convergedTol {
		a.tryZeros(s, tol)
	} else if a.shifted && a.coarseGrad {
		a.tryZeroMultipliers(s)
	}
}

// nextCentre prepares the next step. Usually it makes z the base. If steps with the same proximal
// term cannot help, it first moves z along a ray, or reduces the weight of the proximal term. If
// slowSteps is true and some part has not converged, it also reduces this weight. The result r is
// the result of restartAtZ. The result canContinue is false if no further step can help.
func (a *activeSet) nextCentre(t *progress, slowSteps bool) (r int, canContinue bool) {
	if t.stuck {
		switch {
		case !a.shifted:
			return -1, false
		case t.raysLeft > 0 && a.alongRay():
			t.raysLeft--
			t.bestResidual, t.stalledSteps = math.Inf(1), 0
			return a.restartAtZ(), true
		case t.weakerLeft == 0 || t.gradRatio <= convergedTol:
			return -1, false // only the gradient depends on the proximal term
		}
		t.weakerLeft--
		t.bestResidual, t.stalledSteps, t.idleSteps, slowSteps = math.Inf(1), 0, 0, true
	}
	if a.shifted && a.weaken(slowSteps) {
		if !a.factorWeighted() {
			a.takeBackWeights() // to which the working set's triangle belongs
			return -1, false
		}
		a.forgetRows()
		return a.restartAtZ(), true
	}
	a.unskip()
	a.recentre()
	return -1, true
}

// confirm returns Optimal if the objective is finite, gradSettled is true (see progress), and the
// residuals of the last step are at most tol. The residuals include those that the proximal term
// hides. Otherwise confirm returns IterationLimit.
func (a *activeSet) confirm(s *qpReport, tol float64, gradSettled bool) Status {
	s.Residual.Relative = max(s.Residual.Relative, a.looseRows(tol))
	a.faceNearest()
	if a.shifted && s.Residual.Relative > convergedTol {
		s.Residual.Relative = max(s.Residual.Relative, a.hiddenResidual())
	}
	if s.Residual.Relative <= tol && gradSettled && dense.Finite(s.Objective) {
		return Optimal
	}
	return IterationLimit
}

// contradiction returns a row of zeros that no z satisfies, or -1 if there is no such row.
func (a *activeSet) contradiction() int {
	for r := range a.rows {
		if a.onlyCol[r] != noEntry {
			continue
		}
		if r < len(a.otherRhs) && a.otherRhs[r] < 0 && a.r[r] > 0 {
			a.turn(r)
		}
		if a.r[r] < 0 || a.equality(r) && a.r[r] != 0 { // 0 ≤ h, 0 = b
			return r
		}
	}
	return -1
}

// progress records the steps of a solve.
type progress struct {
	// bestResidual is the relative residual that later steps must halve. bestRatio is the largest
	// ratio of a gradient entry to the entry's own terms; later steps must halve it too. stalledSteps
	// counts the steps since bestResidual was last halved, and idleSteps counts the steps since
	// bestRatio was last halved.
	bestResidual, bestRatio float64
	gradRatio               float64 // as bestRatio, after the last step
	stalledSteps, idleSteps int
	gradSettled             bool // gradRatio no longer falls
	done, stuck             bool // done: no step can help; stuck: no step with the same proximal term can help
	raysLeft, weakerLeft    int  // how many more rays and weaker proximal terms may be tried
}

// follow updates the progress t after one more step. Before the call, the method measure must be
// called, which computes the residual of this step.
func (a *activeSet) follow(t *progress, relative, tol float64) {
	t.gradSettled = !a.shifted
	for k := range a.parts {
		a.parts[k].ownRatio = math.Inf(1)
	}
	if a.shifted && relative <= tol {
		// Proximal steps converge for one variable after the other.
		t.gradRatio = a.ownResidual()
		if t.idleSteps++; t.gradRatio < t.bestRatio/2 {
			t.bestRatio, t.idleSteps = t.gradRatio, 0
		}
		t.gradSettled = t.gradRatio <= convergedTol || t.idleSteps >= stalledOwn
	}
	if t.stalledSteps++; relative < t.bestResidual/2 {
		t.bestResidual, t.stalledSteps = relative, 0
	}
	end := relative <= convergedTol && t.gradSettled
	t.done = end && (!a.shifted || t.bestRatio <= tol)
	t.stuck = end || relative <= tol && t.gradSettled && t.stalledSteps >= stalledProximal || !a.shifted && t.stalledSteps >= stalledDefinite
}

// unboundedStatus returns the status of a program in which the objective falls without bound along
// some direction. The program is unbounded if it has a feasible point, and infeasible otherwise. To
// find a feasible point, the same method runs without the linear term. The point found is nearest
// to the origin in the metric of the factor.
func (a *activeSet) unboundedStatus(s *qpReport, tol float64) Status {
	p, noSlope := a.p, a.oldZ // nothing is corrected here, so oldZ is free
	clear(noSlope)
	a.p = noSlope
	clear(a.z)
	r := a.restartAtZ()
	if r < 0 {
		r = a.minimise()
	}
	feasible := false
	if r < 0 && a.iterations <= a.maxChanges {
		a.measure(s, false)
		worst := a.looseRows(tol)
		for _, p := range a.parts {
			worst = max(worst, p.primal)
		}
		feasible = worst <= tol
	}
	a.p = p
	a.triangleValid = false
	if feasible {
		return Unbounded
	}
	s.Certificate.Z, s.Certificate.Residual = s.Certificate.Z[:0], 0
	if r < 0 {
		a.measure(s, true)
		return IterationLimit
	}
	a.certifyInfeasible(s, r)
	return Infeasible
}
