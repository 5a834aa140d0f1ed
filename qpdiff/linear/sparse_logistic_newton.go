package linear

import (
	"cmp"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"

	"gonum.org/v1/gonum/floats"
)

const (
	// sparseMaxIter limits the Newton steps of one fit. A fit of separable data at small penalties
	// takes several dozen steps.
	sparseMaxIter = 200
	// If a step is shorter than sparseNear, the next step may be the last.
	sparseNear = 1e-4
	// After a step that is short enough to be the last, an optimality condition may still fail, for
	// example because a coordinate enters. If this happens sparseStuck times in succession, rounding
	// of the model hides the condition, and the fit returns an error.
	sparseStuck = 5
	// A singular model becomes regular to working precision if its diagonal is multiplied by 1 +
	// sparseDamping·eps·(number of coordinates). See dense.Unsolvable.
	sparseDamping = 4 * dense.ComplementarityTol
	// sparseSingular limits the number of successive steps with a singular model. If the model ever
	// becomes regular, it does so when the margins reach a few dozen.
	sparseSingular = 50
	// A step longer than sparseDiverged does not count as converging. The method isDiverging ignores
	// rows whose margin changes by at most sparseFlat times the largest change of a margin.
	sparseDiverged = .5
	sparseFlat     = 1e-3
)

// errSparseSeparable is the error of a fit whose problem has no solution.
var errSparseSeparable = check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ1 or λ2", "leaves features without penalty that separate the classes, to working precision, so that there is no minimiser")

// errSparseOverflow is the error of a fit in which a term overflows.
var errSparseOverflow = check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "raise λ2, or scale the features and labels", "leaves terms that overflow")

// solve finds the solution. If l.warm is true, it begins at theta. If this attempt fails, it begins
// again at θ = 0, because the Hessian at θ = 0 is as well conditioned as the data.
func (l *sparseLogisticFit) solve() error {
	if l.warm {
		l.warm = false
		for j, l1 := range l.coords.l1 {
			if l1 > l.coords.gradBound[j] { // certainly zero
				l.theta[j] = 0
			}
		}
		if l.minimise(logisticWarmSteps, true) == nil {
			l.warm = true
			return nil
		}
	}
	clear(l.theta)
	if l.d > l.penalised {
		l.theta[l.penalised] = l.logOdds()
	}
	err := l.minimise(sparseMaxIter, false)
	l.warm = err == nil
	return err
}

// logOdds returns the intercept of the fit without features. All labels must have the same absolute
// value. It limits the margins to logisticLargestMargin, because the weight of a row in the Hessian
// may underflow at larger margins.
func (l *sparseLogisticFit) logOdds() float64 {
	up, down := 0.0, 0.0
	for i, y := range l.labels() {
		if share := dense.CountAt(l.counts, i) * l.inv; y > 0 {
			up += share
		} else {
			down += share
		}
	}
	odds := math.Log(up) - math.Log(down)
	return min(max(odds, -logisticLargestMargin), logisticLargestMargin) / l.ymax
}

// sparseProgress records the steps of minimise. The length of a step is the largest change of a
// margin.
type sparseProgress struct {
	lastLength float64 // the length of the step before
	stuck      int     // successive steps without a solution that were short enough to be the last
	singular   int     // successive steps with a singular model
}

// minimise runs at most limit proximal Newton steps from theta.
func (l *sparseLogisticFit) minimise(limit int, warm bool) error {
	track := sparseProgress{lastLength: math.Inf(1)}
	l.evaluate()
	for l.iter = 1; l.iter <= limit; l.iter++ {
		r, maxS, err := l.propose(&track, warm || l.iter > 1)
		if err != nil {
			return err
		}
		if r > logisticStall*track.lastLength && r > logisticLastStep {
			if l.measure(); l.isOptimal() {
				return l.endAtRounding(r)
			}
		}
		if r > sparseDiverged && l.isDiverging(maxS) {
			return errSparseSeparable
		}
		track.lastLength = r
		l.lineSearch(r)
		l.evaluate()
		if r > logisticLastStep {
			track.stuck = 0
			continue
		}
		if l.measure(); l.isOptimal() {
			return l.settle()
		}
		if track.stuck++; track.stuck == sparseStuck {
			return errSparseBlurred
		}
	}
	return check.ArgErrorf("Data", qpdiff.ErrIterationLimit, "raise λ1 or λ2, or scale the features", "takes more than %d Newton steps", limit)
}

// propose computes the next Newton step and the change dm of the margins along the step. It returns
// the length r of the step, and the argument maxS for isDiverging. It returns an error if there is
// no minimiser, or if the working precision does not suffice to find one.
func (l *sparseLogisticFit) propose(track *sparseProgress, warm bool) (r, maxS float64, err error) {
	l.qp.stopper.Look()
	if !dense.AllFinite(l.g) {
		return 0, 0, errSparseOverflow
	}
	singular, err := l.newtonStep(warm, track.lastLength > sparseNear)
	if err != nil {
		return 0, 0, err
	}
	l.product(l.dm, l.step)
	if r = dense.Largest(l.dm); !dense.Finite(r) {
		return 0, 0, errSparseOverflow
	}
	if singular == nil {
		track.singular = 0
		return r, dense.Eps, nil
	}
	if maxS = sparseDamping * dense.Eps * float64(l.d); l.isDiverging(maxS) {
		return 0, 0, errSparseSeparable
	}
	if track.singular++; r <= learner.DecisionTol || track.singular == sparseSingular { // too short to make the model regular
		return 0, 0, singular
	}
	return r, maxS, nil
}

// endAtRounding ends the search if theta is optimal up to rounding but the last step is not short.
// In this case the last step consists of rounding errors. The argument r is its length.
func (l *sparseLogisticFit) endAtRounding(r float64) error {
	switch {
	case r <= learner.DecisionTol:
		return l.settle()
	case l.isDiverging(1):
		return errSparseSeparable
	}
	return errSparseBlurred
}

// newtonStep minimises the second-order model of the loss plus the penalties, on the coordinates
// that chooseWorkSet selects. It leaves the minimiser in qp.x, and sets step to the minimiser minus
// theta.
//
// If the minimiser is not unique to working precision, newtonStep adds a small quadratic penalty on
// the distance from theta. In this case the result singular is the error that the solve without
// this penalty returned.
//
// If fewDigits is true, conjugate gradients compute fewer digits of the step. If fewDigits is
// false, the method refine corrects all coordinates that matter for the loss.
func (l *sparseLogisticFit) newtonStep(warm, fewDigits bool) (singular, err error) {
	q := &l.qp
	l.chooseWorkSet()
	if err := l.model(l.workSet); err != nil {
		return nil, err
	}
	fit := l.absSum
	l.combine(fit, q.x)
	for i, j := range l.workSet {
		l.lin[i] = l.curve(-l.g[j], i, q.x, fit)
	}
	q.isWarm = warm
	q.looseSolves = fewDigits
	defer func() { q.looseSolves = false }()
	if singular = q.solve(); singular != nil {
		damping := sparseDamping * dense.Eps * float64(l.d)
		dense.Gather(q.x, l.theta, l.workSet)
		for i, x := range q.x {
			d := damping * q.diag[i]
			l.ridge[i] += d
			l.lin[i] += d * x
		}
		if q.solve() != nil {
			return nil, singular
		}
	}
	l.refine()
	if !dense.AllFinite(q.x) {
		return nil, errSparseOverflow
	}
	l.setStep()
	return singular, nil
}

// chooseWorkSet sets l.workSet to the coordinates that may move. They are the coordinates that are
// not zero, and the coordinates at zero whose slopes exceed the strengths of their kinks. With many
// features, at most max(z, firstFeatures) coordinates leave zero, where z is the number of
// coordinates that are not zero. chooseWorkSet takes the coordinates with the largest excess, in
// units in which all features have the same size.
func (l *sparseLogisticFit) chooseWorkSet() {
	l.workSet, l.entering = l.workSet[:0], l.entering[:0]
	excess := func(j int) float64 { return math.Abs(l.g[j]) - l.coords.l1[j] }
	for j, t := range l.theta {
		switch {
		case t != 0 || l.coords.l1[j] == 0:
			l.workSet = append(l.workSet, j)
		case excess(j) > 0:
			l.entering = append(l.entering, j)
		}
	}
	if most := max(firstFeatures, len(l.workSet)); l.limitsEntry && len(l.entering) > most {
		slices.SortFunc(l.entering, func(j, k int) int {
			return cmp.Or(cmp.Compare(excess(k)/l.coords.size[k], excess(j)/l.coords.size[j]), cmp.Compare(j, k))
		})
		l.entering = l.entering[:most]
	}
	l.workSet = append(l.workSet, l.entering...)
	slices.Sort(l.workSet)
}

// setStep sets step to qp.x − theta.
func (l *sparseLogisticFit) setStep() {
	clear(l.step)
	for i, j := range l.workSet {
		l.step[j] = l.qp.x[i] - l.theta[j]
	}
}

// refine corrects the error of qp.x that the rounding of c causes. It computes the slopes of the
// model from the gradient and the step, not from c. These slopes are more accurate, because the
// step becomes small even if θ does not.
func (l *sparseLogisticFit) refine() {
	q := &l.qp
	fit, moves := l.absSum, q.z
	for i, j := range l.workSet {
		moves[i] = q.x[i] - l.theta[j]
	}
	l.combine(fit, moves)
	l.probe()
	for i, p := range q.act {
		slope := l.g[l.workSet[p]] + l.l1[p]*q.sgn[i] + l.l2[p]*q.x[p] + (l.ridge[p]-l.l2[p])*moves[p]
		l.v[p] = -l.curve(slope, p, moves, fit)
	}
	for i, d := range q.solveActive(l.w, l.v) {
		j := q.act[i]
		if x := q.x[j] + d; q.sgn[i] == 0 || x*q.sgn[i] > 0 {
			q.x[j] = x
		}
	}
}

// lineSearch adds t·step to theta, where t is the result of descent. r is the length of step.
//
// The bound in the method descent is derived for Newton's steps. It also holds for a step to the
// minimiser of the second-order model with penalties. This is because the model's minimum along the
// step is at the step's end, and the model falls by at least ½·stepᵀH·step on the way to this end.
func (l *sparseLogisticFit) lineSearch(r float64) {
	t := 1.0
	if r > logisticSafeStep {
		t = descent(r, l.slopeAlong(0), l.slopeAlong)
	}
	if t == 1 {
		dense.Scatter(l.theta, l.qp.x, l.workSet)
		return
	}
	floats.AddScaled(l.theta, t, l.step)
}

// slopeAlong returns the slope of the objective at theta + t·step along the step, from the left. At
// t = 0 it returns the slope from the right.
func (l *sparseLogisticFit) slopeAlong(t float64) float64 {
	slope := 0.0
	for i, dm := range l.dm {
		if c := dense.CountAt(l.counts, i); c != 0 {
			slope -= c * l.inv * dm / (1 + math.Exp(min(l.margin[i]+t*dm, logisticLargestMargin)))
		}
	}
	for j, d := range l.step {
		if d == 0 {
			continue
		}
		v := l.theta[j] + t*d
		side := dense.Sign(v)
		switch {
		case v == 0 && t == 0:
			side = dense.Sign(d)
		case v == 0:
			side = -dense.Sign(d)
		}
		slope += d * (l.coords.l1[j]*side + l.coords.l2[j]*v)
	}
	return slope
}

// isDiverging reports whether the step shows that the features without penalties separate the
// classes to working precision. Let dm be the change of the margins by the step of these features
// alone, and s_i the weight of row i in the gradient. isDiverging returns true if no dm_i is
// negative, and s_i ≤ maxS for each row i whose margin changes. If the features did not separate
// the classes, the step would raise some margins and lower others, and the weights of both kinds of
// rows would be about equal.
func (l *sparseLogisticFit) isDiverging(maxS float64) bool {
	found := false
	for j := range l.penalised {
		found = found || l.coords.l1[j] == 0 && l.coords.l2[j] == 0
	}
	if !found {
		return false
	}
	dm := l.absSum
	clear(dm)
	spread := 0.0
	for j, d := range l.step {
		if l.coords.l1[j] != 0 || l.coords.l2[j] != 0 || d == 0 {
			continue
		}
		if l.storedRows != nil {
			spread += l.storedRows.Add(dm, d, j)
		} else {
			floats.AddScaled(dm, d, l.column(j))
		}
	}
	if l.storedRows != nil {
		l.storedRows.Spread(dm, spread)
	}
	r := dense.Largest(dm)
	if r == 0 {
		return false
	}
	for i, v := range dm {
		if math.Abs(v) > sparseFlat*r && (v < 0 || l.s[i] > maxS) {
			return false
		}
	}
	return true
}
