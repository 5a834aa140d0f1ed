package linear

import (
	"errors"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/learn"
)

// logisticNewton solves a logistic problem by Newton's method. During a fit, logisticPoint is the
// point that was evaluated last. After the fit, it is the point whose Hessian was factorised last.
type logisticNewton struct {
	logisticProblem
	logisticPoint
	theta      []float64
	cand       []float64 // the candidate for θ in a line search
	g          []float64 // gradient
	step       []float64 // Newton step
	lastStep   []float64 // the last step of a fit, if pointStale
	hess       []float64 // k×k: H before it was factored
	end        *stop.Stop
	dm         []float64 // m entries: change of the margins
	iter       int       // steps of the last fit
	warmStart  bool      // theta is the start of the next fit
	upToDate   bool      // the point, g and h are up to date at theta
	pointStale bool      // the point belongs to theta − lastStep
	large      logisticLarge
}

// resize gives the solver m rows and d parameters. sparseX is true if X is sparse. If d changes,
// resize forgets the warm start.
func (l *logisticNewton) resize(m, d int, sparseX bool) {
	l.warmStart = l.warmStart && d == l.d
	l.logisticProblem.resize(m, d, sparseX)
	l.large.resize(&l.logisticProblem)
	dense.GrowAll(l.k, &l.theta, &l.cand, &l.g, &l.step, &l.lastStep)
	l.dm = dense.Grow(l.dm, m)
	l.resizeHessian(!l.large.on)
}

// resizeHessian allocates the point. If withHessian is true, it also allocates the entries of the
// Hessian.
func (l *logisticNewton) resizeHessian(withHessian bool) {
	l.logisticPoint.resize(&l.logisticProblem, withHessian)
	if withHessian {
		l.hess = dense.Grow(l.hess, l.k*l.k)
	}
}

// takeEntries makes a fit use the entries of the Hessian in place of products with the rows. It
// keeps the systems of the products.
func (l *logisticNewton) takeEntries() error {
	m, k := float64(l.m), float64(l.k)
	held := l.large.heldEntries
	if l.storedRows != nil {
		held += storedHessianEntries(m, k, float64(l.storedRows.Stored()))
	} else {
		held += hessianEntries(m, k)
	}
	if err := learner.Exceeds(learner.Entries(held), l.large.maxBytes, learn.Size{Rows: l.m, Features: l.d}); err != nil {
		return err
	}
	l.large.usedHessian = true
	l.resizeHessian(true)
	return nil
}

// solve moves theta to the solution in at most maxSteps steps. If l.warmStart is true, it begins at
// the present theta. This may fail, for example because every π is 0 or 1 and the Hessian is
// singular. solve then begins again at θ = 0, because the Hessian at θ = 0 is as well conditioned
// as the data.
func (l *logisticNewton) solve(maxSteps int) error {
	if err := l.large.chooseWay(&l.logisticProblem); err != nil {
		return err
	}
	minimise := l.minimise
	if l.large.usedHessian {
		if err := l.takeEntries(); err != nil {
			return err
		}
	} else if l.large.on {
		minimise = l.minimiseLarge
	}
	if l.warmStart {
		l.large.nearestStart(l.theta, l.c)
		if minimise(min(maxSteps, logisticWarmSteps)) == nil {
			l.large.storeStart(l.theta, l.c)
			return nil
		}
	}
	clear(l.theta)
	err := minimise(maxSteps)
	if l.large.on && !l.large.noFallback && errors.Is(err, qpdiff.ErrIllPosed) {
		// The test that uses the Hessian's entries is decisive.
		if err := l.takeEntries(); err != nil {
			return err
		}
		clear(l.theta)
		err = l.minimise(maxSteps)
	}
	if l.warmStart = err == nil; l.warmStart {
		l.large.storeStart(l.theta, l.c)
	}
	return err
}

// logisticLooseStep is the largest relative error that conjugate gradients may leave in a Newton
// step.
const logisticLooseStep = .1

// Conjugate gradients may leave an error of the margins in the last step of a fit. The largest
// allowed error is logisticLeft times the largest margin, or logisticLeft if all margins are below
// 1. It is well below the rounding of the margins.
const logisticLeft = dense.Eps / 16

// stepTolerance returns the relative error that conjugate gradients may leave in a Newton step. The
// previous step had the length lastLength and the relative error tol.
//
// A relative error of lastLength² keeps convergence quadratic. In the last step of a fit, the
// relative error may be larger, if the absolute error of this step is at most allowedError. The
// length of the next step is about lastLength times the larger of lastLength and tol. This forecast
// is not exact, so stepTolerance returns only a quarter of the tolerance that follows from the
// forecast.
func stepTolerance(lastLength, tol, allowedError float64) float64 {
	enough := allowedError / (4 * lastLength * max(lastLength, tol))
	if lastLength <= logisticLastStep { // the step before was longer than its forecast
		enough = min(tol/4, allowedError/(4*lastLength))
	}
	return max(logisticLastStep, min(logisticLooseStep, max(lastLength*min(lastLength, 1), enough)))
}

// marginSize returns the largest of |tanh(m/2)| for all margins m, from s.
func (l *logisticNewton) marginSize() (most float64) {
	for _, s := range l.s {
		most = max(most, math.Abs(1-2*s))
	}
	return most
}

// minimiseLarge does the work of minimise by products with the rows.
func (l *logisticNewton) minimiseLarge(limit int) error {
	g, d := &l.large, l.d
	last, tol := math.Inf(1), logisticLooseStep // of the step before
	l.upToDate, l.pointStale = false, false
	l.evaluatePoint(l.theta)
	for l.iter = 1; l.iter <= limit; l.iter++ {
		l.end.Look()
		for j, v := range l.g {
			l.cand[j], l.step[j] = -v, 0
		}
		left := logisticLeft * l.marginSize()
		tol = stepTolerance(last, tol, left)
		if !g.solver.Solve(&g.sys, l.step[:d], l.cand[:d], tol) || !dense.AllFinite(l.step) {
			return errLogisticSingular
		}
		l.product(l.dm, l.step)
		r := dense.Largest(l.dm)
		hidden := r > logisticStall*last && r > logisticLastStep && l.gradientIsRoundoff()
		if r <= logisticLastStep && (tol <= logisticLastStep || r*tol <= left) || hidden && r <= learner.DecisionTol {
			dense.Axpy(1, l.step, l.theta)
			l.evaluatePoint(l.theta)
			return g.checkDetermined(&l.logisticProblem, l.s, l.theta)
		}
		if hidden {
			if err := g.checkDetermined(&l.logisticProblem, l.s, l.theta); err != nil {
				return err
			}
		}
		last = r
		l.lineSearchLarge(r)
		l.theta, l.cand = l.cand, l.theta
	}
	return l.errSteps(limit)
}

// lineSearchLarge does the work of lineSearch, but does not use the Hessian. It leaves the change
// of the margins in dm.
func (l *logisticNewton) lineSearchLarge(r float64) {
	move := func(t float64) {
		for j, v := range l.theta {
			l.cand[j] = v + t*l.step[j]
		}
	}
	if r > dense.LogisticSeries {
		descent(r, dense.Dot(l.g, l.step), func(t float64) float64 {
			move(t)
			l.evaluatePoint(l.cand)
			return dense.Dot(l.g, l.step)
		})
		return
	}
	move(1)
	dense.LogisticNear(l.s, l.w, l.s, l.w, l.dm, r)
	l.gradient(l.g, l.timesCounts(&l.countScratch, l.s), l.cand)
	l.large.setWeights(&l.logisticProblem, l.w)
}

// evaluatePoint evaluates the point, g and the system at theta.
func (l *logisticNewton) evaluatePoint(theta []float64) {
	l.product(l.dm, theta)
	logisticWeights(l.s, l.w, l.dm)
	l.gradient(l.g, l.timesCounts(&l.countScratch, l.s), theta)
	l.large.setWeights(&l.logisticProblem, l.w)
}

// minimise runs Newton's method from theta.
func (l *logisticNewton) minimise(limit int) error {
	last := math.Inf(1) // the length of the step before
	if !l.upToDate {
		l.evaluate(l.theta)
	}
	l.upToDate, l.pointStale = false, false
	for l.iter = 1; l.iter <= limit; l.iter++ {
		l.end.Look()
		damped, err := l.newtonStep()
		if err != nil {
			return err
		}
		r := l.stepLength()
		hidden := !damped && r > logisticStall*last && r > logisticLastStep && l.gradientIsRoundoff()
		switch {
		case damped && r <= learner.DecisionTol: // too short to make h regular
			return errLogisticSingular
		case !damped && r <= logisticLastStep, hidden && r <= learner.DecisionTol:
			dense.Axpy(1, l.step, l.theta)
			if r > logisticSettled {
				copy(l.lastStep, l.step)
				l.pointStale = true // a derivative evaluates theta, if one is wanted
			}
			return l.checkDetermined()
		case hidden:
			if err := l.checkDetermined(); err != nil {
				return err
			}
			// The gradient exceeds rounding. The test has overwritten the storage of the step.
			l.evaluate(l.theta)
			if _, err := l.newtonStep(); err != nil {
				return err
			}
			l.stepLength()
		}
		last = r
		l.lineSearch(r)
		l.theta, l.cand = l.cand, l.theta
	}
	return l.errSteps(limit)
}

// errSteps is the error of a fit that needs more than limit steps.
func (l *logisticNewton) errSteps(limit int) error {
	return check.ArgErrorf("Logistic.MaxIter", qpdiff.ErrIterationLimit, "raise it, or scale the features", "allows %d Newton steps, which are not enough", limit)
}

// lineSearch sets cand to θ + t·step, where t is the result of descent, and evaluates the objective
// at cand. r is the length of step.
func (l *logisticNewton) lineSearch(r float64) {
	if r <= dense.LogisticSeries {
		for j, v := range l.theta {
			l.cand[j] = v + l.step[j]
		}
		l.evaluateNear(l.s, l.w, l.cand, r)
		return
	}
	descent(r, dense.Dot(l.g, l.step), func(t float64) float64 {
		for j, v := range l.theta {
			l.cand[j] = v + t*l.step[j]
		}
		l.evaluate(l.cand)
		return dense.Dot(l.g, l.step)
	})
}

// stepLength returns the length of step. In the first steps of a small problem, it first computes
// an upper bound, which needs no pass over the data. It returns this bound if the bound is short
// enough for a series.
func (l *logisticNewton) stepLength() float64 {
	if l.k == logisticSmall && l.iter < logisticBoundSteps {
		r := 0.0
		for j, v := range l.step {
			r += l.zmax[j] * math.Abs(v)
		}
		if r <= dense.LogisticSeries {
			return r
		}
	}
	l.product(l.dm, l.step)
	r := 0.0
	for _, dm := range l.dm {
		if dm = math.Abs(dm); dm > r {
			r = dm
		}
	}
	return r
}

// evaluate evaluates the point, g and h at theta.
func (l *logisticNewton) evaluate(theta []float64) {
	l.product(l.dm, theta)
	logisticWeights(l.s, l.w, l.dm)
	l.gradient(l.g, l.timesCounts(&l.countScratch, l.s), theta)
	l.hessian(l.end, &l.logisticPoint)
}

// evaluateNear does the work of the method evaluate, but uses series. It starts from s0 and w0,
// which are the values of s and w at theta − step. The length of step is at most r, and r is at
// most dense.LogisticSeries.
func (l *logisticNewton) evaluateNear(s0, w0, theta []float64, r float64) {
	l.product(l.dm, l.step)
	dense.LogisticNear(l.s, l.w, s0, w0, l.dm, r)
	l.gradient(l.g, l.timesCounts(&l.countScratch, l.s), theta)
	l.hessian(l.end, &l.logisticPoint)
}

// newtonStep factorises h in place and sets step = −h⁻¹g. If h is singular to working precision,
// newtonStep first increases the diagonal of h by just more than the rounding of the pivots, and
// returns damped = true. The step is still useful: at later points more rows are predicted with
// certainty, and h may be regular.
func (l *logisticNewton) newtonStep() (damped bool, err error) {
	copy(l.hess, l.h)
	if !l.factor(l.end) {
		damped = true
		copy(l.h, l.hess)
		for j := range l.k {
			l.h[j*l.k+j] *= 1 + dense.ComplementarityTol*dense.Eps
		}
		if !l.factor(l.end) {
			return true, errLogisticSingular
		}
	}
	for j, v := range l.g {
		l.step[j] = -v
	}
	l.backsolve(l.step)
	if !dense.AllFinite(l.step) || damped && !(dense.Dot(l.g, l.step) < 0) {
		return damped, errLogisticSingular
	}
	return damped, nil
}

// checkDetermined returns an error if h is singular to working precision, because θ and its
// derivatives are then unknown. It also returns an error if the rounding of the gradient may move a
// margin by more than learner.DecisionTol. It tries upper bounds first, because they cost little
// and almost always decide.
func (l *logisticNewton) checkDetermined() error {
	k := l.k
	pivots, margin, noise := 1.0, 0.0, 0.0 // squared norms in variables that give h a unit diagonal
	most := logisticRounding * l.c * l.total
	for j, inv := range l.dinv {
		d := l.hess[j*k+j]
		pivots *= d * inv
		z := l.zmax[j]
		e := most*z + logisticRounding*l.pen[j]*math.Abs(l.theta[j])
		margin += z * z / d
		noise += e * e / d
	}
	cond := dense.CondBound(k, 1/pivots, 0)
	if dense.Unsolvable(cond) && dense.Unsolvable(dense.LDLCond(l.h, l.dinv, k, k, l.cand, l.g)) {
		return errLogisticSingular
	}
	if cond*math.Sqrt(margin*noise) <= learner.DecisionTol {
		return nil
	}
	moved, off := make([]float64, l.m), l.cand
	l.prepareSizes(l.g)
	for j := range k {
		l.end.Look()
		clear(off)
		off[j] = logisticRounding * l.termSize(j, l.g)
		l.backsolve(off)
		l.product(l.dm, off)
		for i, dm := range l.dm {
			moved[i] += math.Abs(dm)
		}
	}
	if !(dense.Largest(moved) <= learner.DecisionTol) {
		return errLogisticBlurred
	}
	return nil
}

// gradientIsRoundoff reports whether every entry of the gradient is within the rounding error of
// its terms.
func (l *logisticNewton) gradientIsRoundoff() bool {
	l.prepareSizes(l.cand)
	for j, g := range l.g {
		if math.Abs(g) > logisticRoundoff*l.termSize(j, l.cand) {
			return false
		}
	}
	return true
}

// prepareSizes prepares calls of termSize. For a sparse X it computes all results at once, and
// stores them in its argument scratch.
func (l *logisticNewton) prepareSizes(scratch []float64) {
	if l.storedRows != nil {
		l.storedSizes(scratch, l.timesCounts(&l.countScratch, l.s), l.theta)
	}
}

// termSize returns gradientSize at theta, with the same parameter scratch as prepareSizes.
func (l *logisticNewton) termSize(j int, scratch []float64) float64 {
	if l.storedRows != nil {
		return scratch[j]
	}
	return l.gradientSize(j, l.s, l.theta)
}
