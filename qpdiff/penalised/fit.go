package penalised

import (
	"context"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// A glmFit is a minimised [GLM], with its data and all values that the derivatives need. If there
// is an intercept, the fit subtracts the centres c from the features, and adds a last column of
// ones. The last entry of its θ is then b + cᵀβ and not the intercept b. The centring avoids a loss
// of digits if a feature's mean is large compared with its deviation.
type glmFit struct {
	state    learner.State
	isWarm   bool
	loss     Loss
	joint    softmax // of the multinomial loss
	forms    []form
	oneRidge []Penalty // the penalty if Penalties is nil
	lambda   []float64
	sums     penaltySums // of forms

	n, q int // features, and parameters of an output
	rows []int
	// counts has one entry for each row of X; y and w have one entry for each row with a weight above
	// 0
	counts, y, w []float64
	total        float64
	centre       []float64 // with an intercept
	z            []float64 // the rows with a weight above 0, q entries each
	// gram is the upper triangle of Σ w zzᵀ over the rows z with their weights w. It is used for the
	// squared loss. With several outputs, gram is one block of the Hessian.
	gram []float64

	theta                   []float64 // of the outputs, q entries each
	external                []float64 // the θ that the learner returns
	currentPoint, nextPoint point
	h, dinv                 []float64 // the factor of the Hessian at theta, or at a point that is at most a step of lastStep away from theta
	// an estimate of this Hessian's condition number, in units in which the Hessian has a diagonal of
	// ones
	cond float64

	g, nextG, step, candidate, size, work, work2 []float64
	block                                        []float64 // rows times their weights
	folds                                        foldFit

	normal    learn.FoldNormal // of Folds
	intercept bool             // of the fits
	label     float64          // the labels y are relative to it
}

// SetContext implements [learn.ContextLearner].
func (l *glmFit) SetContext(ctx context.Context) { l.state.Stop.Watch(ctx) }

// loadData takes d as the data of the fit. The parameter classes is the number of classes for the
// multinomial loss, and 0 for any other loss. If the parameter err is not nil, loadData takes no
// data and returns err.
func (l *glmFit) loadData(d learn.Data, loss Loss, classes int, penalties []Penalty, intercept bool, err error) error {
	if err != nil {
		l.isWarm = false
		return err
	}
	_, n := d.X.Dims()
	before := len(l.theta)
	l.isWarm = l.isWarm && n == l.n && loss == l.loss && classes == l.joint.classes
	l.loss = loss
	l.joint.load(classes)
	if err := l.load(d, penalties, intercept); err != nil {
		l.isWarm = false
		return err
	}
	l.isWarm = l.isWarm && len(l.theta) == before
	l.state.Data = d
	return nil
}

// load copies the rows of the data d with a weight above 0. It stops early if the context ends.
func (l *glmFit) load(d learn.Data, penalties []Penalty, intercept bool) error {
	rows, n := d.X.Dims()
	l.n, l.q = n, n
	l.folds.partsValid, l.folds.fitID = false, 0
	l.intercept = intercept || l.normal.Intercept
	intercept = intercept || l.foldsNormalise()
	if intercept {
		l.q++
	}
	if len(penalties) == 0 {
		if len(l.oneRidge) == 0 || l.oneRidge[0].S.SymmetricDim() != n {
			l.oneRidge = []Penalty{Ridge(0, n)}
		}
		penalties = l.oneRidge
	}
	l.forms = dense.Grow(l.forms, len(penalties))
	for j, p := range penalties {
		if err := l.forms[j].load(p, j, n); err != nil {
			return err
		}
	}
	l.lambda = dense.Grow(l.lambda, len(penalties))
	l.sums = sums(l.sums, l.forms)
	l.counts = dense.Grow(l.counts, rows)
	counts, counting, total := learner.Counting(d, l.counts, l.rows)
	l.rows, l.total = counting, total
	m, q, outs := len(l.rows), l.q, l.joint.outputs()
	size := outs * q
	l.y, l.w = dense.Grow(l.y, m), dense.Grow(l.w, m)
	for k, i := range l.rows {
		l.y[k], l.w[k] = d.Y[i], dense.CountAt(counts, i)
	}
	l.centreLabels()
	l.currentPoint.grow(m, outs)
	l.nextPoint.grow(m, outs)
	l.external = dense.Grow(l.external, l.params())
	dense.GrowAll(size, &l.theta, &l.g, &l.nextG, &l.step, &l.candidate, &l.size, &l.dinv, &l.work, &l.work2)
	l.h = dense.Grow(l.h, size*size)
	l.z = dense.Grow(l.z, m*q)
	l.fill(d, intercept)
	l.block = dense.Grow(l.block, min(m, blockRows(q))*q)
	if l.loss == Squared || l.joint.isMultinomial() {
		l.gram = dense.Zeros(l.gram, q*q)
	}
	if l.loss == Squared {
		l.addSquares(&l.state.Stop, l.gram, l.w)
	}
	return nil
}

// fitEntries returns the number of float64 values in a glmFit and a derivative. It does not count
// the fields gram and folds.
func fitEntries(s learn.Size, penalties []Penalty, intercept bool, outputs float64) float64 {
	rows, q, m := learner.Sizes(s)
	block := min(m, float64(blockRows(s.Features)))
	if intercept {
		q++
	}
	size := outputs * q
	entries := m*q + m*(4+outputs*(7+outputs)) + 2*rows + size*size + 12*size + block*q + 12*float64(max(1, len(penalties)))
	if len(penalties) == 0 {
		entries += q // of Ridge
	}
	for _, p := range penalties {
		_, copied := p.size()
		entries += float64(copied)
	}
	return entries + sumEntries(penalties)
}

// reset forgets the warm start and the last fit.
func (l *glmFit) reset() {
	l.state.Forget()
	l.isWarm, l.folds.fitID = false, 0
}

// fit minimises the objective at hyper and writes θ.
func (l *glmFit) fit(theta, hyper []float64) error {
	l.state.Stop.Look()
	if err := l.state.Begin(theta, hyper, l.params(), len(l.forms)); err != nil {
		return err
	}
	l.folds.fitID = 0
	copy(l.lambda, hyper)
	l.sums.set(l.lambda)
	warm := l.isWarm
	l.isWarm = false
	if !warm {
		l.startAtConstant()
	}
	err := l.minimise()
	if err != nil && warm {
		l.startAtConstant()
		err = l.minimise()
	}
	if err != nil {
		return err
	}
	l.toExternal(l.external, l.theta)
	if !dense.AllFinite(l.external) {
		return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the data", "leaves parameters that overflow")
	}
	copy(theta, l.external)
	l.isWarm = true
	l.state.Finish()
	return nil
}

// params returns the number of entries in the θ that the learner returns.
func (l *glmFit) params() int { return max(1, l.joint.classes) * l.q }

// blockRows returns the number of rows that are summed together. A row has q entries, and the rows
// of a block fit into the cache.
func blockRows(q int) int { return 4 * max(1, dense.SquareBlock/4/max(1, q)) }

// addSquares adds Σ_k w_k z_k z_kᵀ over the rows z_k to the upper triangle of h. It stops early if
// the context of stopper ends.
func (l *glmFit) addSquares(stopper *stop.Stop, h, w []float64) {
	q := l.q
	for first, most := 0, blockRows(q); first < len(w); first += most {
		stopper.Look()
		some := w[first:min(first+most, len(w))]
		rows := l.z[first*q:][:len(some)*q]
		for k, w := range some {
			floats.ScaleTo(l.block[k*q:(k+1)*q], w, rows[k*q:(k+1)*q])
		}
		dense.AddProducts(h, l.block, rows, len(some), q, q)
	}
}

// fill computes the rows z and their centre.
func (l *glmFit) fill(d learn.Data, intercept bool) {
	q := l.q
	x := d.Dense()
	l.centre = dense.Zeros(l.centre, l.n)
	if intercept {
		for k, i := range l.rows {
			dense.Axpy(l.w[k]/l.total, x.RawRowView(i), l.centre)
		}
	}
	for k, i := range l.rows {
		row := l.z[k*q : (k+1)*q]
		for j, v := range x.RawRowView(i) {
			row[j] = v - l.centre[j]
		}
		if intercept {
			row[l.n] = 1
		}
	}
}

// foldsNormalise reports whether each fold of the learner subtracts its own means, or divides by
// its own deviations.
func (l *glmFit) foldsNormalise() bool { return l.normal.Intercept || l.normal.Scaled != nil }

// centreLabels subtracts the mean of the labels from the labels if the learner serves normalised
// folds.
func (l *glmFit) centreLabels() {
	if l.label = 0; l.foldsNormalise() {
		l.label = dense.Dot(l.w, l.y) / l.total
		floats.AddConst(-l.label, l.y)
	}
}

// startAtConstant sets θ to the best constant, or 0.
func (l *glmFit) startAtConstant() {
	clear(l.theta)
	switch {
	case l.q == l.n:
	case l.joint.isMultinomial():
		l.joint.constant(l.theta[l.n:], l.q, l.y, l.w)
	default:
		l.theta[l.n] = l.loss.constant(dense.Dot(l.w, l.y) / l.total)
	}
}

// toExternal converts theta, the parameters of the fit, to the θ that the learner returns, and
// writes this θ to dst. It also converts tangents of θ.
func (l *glmFit) toExternal(dst, theta []float64) {
	if l.joint.isMultinomial() {
		l.joint.toClasses(dst, theta, l.q)
	} else {
		copy(dst, theta)
	}
	if l.q > l.n {
		for ; len(dst) > 0; dst = dst[l.q:] {
			dst[l.n] -= dense.Dot(l.centre, dst[:l.n])
		}
	}
}

// toInternal is the adjoint of toExternal. The argument dtheta is the cotangent of θ as returned by
// the learner. toInternal converts it to the cotangent of the parameters of the fit, and writes the
// result to dst.
func (l *glmFit) toInternal(dst, dtheta []float64) {
	if l.joint.isMultinomial() {
		l.joint.toOutputs(dst, dtheta, l.q)
	} else {
		copy(dst, dtheta)
	}
	if l.q > l.n {
		for ; len(dst) > 0; dst = dst[l.q:] {
			dense.Axpy(-dst[l.n], l.centre, dst)
		}
	}
}

// addPenalty adds Σ_j λ_jS_jv to dst.
func (l *glmFit) addPenalty(dst, v []float64) {
	for at := 0; at < len(dst); at += l.q {
		l.sums.addTimes(dst[at:], l.lambda, v[at:])
	}
}

// freedom is [GLM.Freedom].
func (l *glmFit) freedom(dst []float64) {
	size := len(l.theta)
	unit, direction := make([]float64, len(dst)), make([]float64, size)
	column, times := make([]float64, size), make([]float64, size)
	for k := range dst {
		clear(unit)
		clear(times)
		unit[k] = 1
		if copy(direction, unit); l.joint.isMultinomial() {
			l.joint.toOutputs(direction, unit, l.q)
		}
		copy(column, direction)
		dense.LDLSolve(l.h, l.dinv, size, size, column)
		l.addPenalty(times, column)
		dst[k] = dense.Dot(direction, direction) - dense.Dot(direction, times)
	}
}

const (
	// lastStep ends Newton's method: a step of at most this length is the last. Lengths of steps are
	// measured in units in which the Hessian has a diagonal of ones: the length is the largest change
	// of a parameter divided by the largest parameter. After a step of length lastStep, the Hessian is
	// the same to working precision. Convergence is quadratic, so any value from 1e-16 to 1e-10 would
	// do, at the cost of at most one more step.
	lastStep = 1e-13
	// slowStep is the largest length of a step that rounding alone can cause, in the units of
	// lastStep. A step of at most slowStep counts as rounding unless the previous step was at least
	// twice as long. If there is no minimiser, all of the mostSteps steps are longer than slowStep.
	slowStep = 1e-3
	// stillEta is the largest allowed change of the η of a row in the last step. A change of
	// stillEta alters the curvature of the logistic and Poisson losses by a tenth. If there is no
	// minimiser, the η of some rows changes by about 1 in each step. The curvature of these rows
	// then vanishes, and the length of the step in the units of lastStep vanishes too.
	stillEta = .1
	// settledEta is a change of η whose square is below the rounding error of η. If the last step
	// changes the η of a row by more, parameters of rows with tiny weights may not have converged. A
	// further step follows, unless the changes of η no longer halve, as rounding errors do not.
	settledEta = 1e-8
	// wholeStep bounds a length, in the units of lastStep. A step of at most wholeStep is taken
	// without a check of the slope at its end, because rounding may hide this slope.
	wholeStep = 1e-7
	// overshotFactor bounds the ratio −s₁/s₀, where s₀ and s₁ are the slopes at the start and the end
	// of a step.
	overshotFactor = .5
	// mostSteps bounds the number of steps. If there is a minimiser, about ten steps suffice. If there
	// is none, each step changes η by about 1, so after mostSteps steps the loss is about e⁻²⁰⁰.
	mostSteps = 200
	// mostHalvings bounds how often a step is halved. After this number of halvings, a step changes a
	// parameter by less than its rounding error.
	mostHalvings = 60
	// rankTol is a limit for the pivots of the Hessian, relative to their diagonal entries. A
	// feature with a smaller pivot counts as a linear combination of earlier features.
	rankTol = dense.Eps
)

// minimise runs Newton's method from θ.
func (l *glmFit) minimise() error {
	l.evaluate(&l.currentPoint, l.g, l.theta)
	if err := check.Finite("Data", "scale the data", l.g); err != nil {
		return err
	}
	previous, lastMove := math.Inf(1), math.Inf(1)
	for k := range mostSteps {
		l.state.Stop.Look()
		if k == 0 || l.loss != Squared {
			if err := l.factorise(); err != nil {
				return err
			}
		}
		for j, v := range l.g {
			l.step[j] = -v
		}
		dense.LDLSolve(l.h, l.dinv, len(l.step), len(l.step), l.step)
		length, size := l.scaledNorm(l.step), l.scaledNorm(l.theta)
		size = max(size, length)
		done := length <= lastStep*size || length > previous/2 && (length <= slowStep*size || length <= l.roundingLength())
		if err := l.search(length <= wholeStep*size); err != nil {
			return err
		}
		if done && l.loss != Squared {
			move := l.largestMove()
			done = move <= stillEta && (move <= settledEta || move > lastMove/2)
			lastMove = move
		}
		l.theta, l.candidate = l.candidate, l.theta
		l.g, l.nextG = l.nextG, l.g
		l.currentPoint, l.nextPoint = l.nextPoint, l.currentPoint
		if done {
			return nil
		}
		previous = length
	}
	return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "penalise the features that separate the classes or have no count above 0", "leaves no minimiser within reach of %d Newton steps", mostSteps)
}

// largestMove returns the largest change of a row's η from currentPoint to nextPoint.
func (l *glmFit) largestMove() (most float64) {
	for i, eta := range l.nextPoint.eta {
		most = max(most, math.Abs(eta-l.currentPoint.eta[i]))
	}
	return most
}

// evaluate computes the point p and the gradient g at theta.
func (l *glmFit) evaluate(p *point, g, theta []float64) {
	m, q := len(l.w), l.q
	for k := range l.joint.outputs() {
		dense.Products(p.eta[k*m:][:m], l.z, q, theta[k*q:][:q])
	}
	if l.joint.isMultinomial() {
		l.joint.evaluate(p, l.y, l.w)
	} else {
		l.loss.evaluate(p, l.y, l.w)
	}
	clear(g)
	for k := range l.joint.outputs() {
		dense.AddRows(g[k*q:][:q], p.slope[k*m:][:m], l.z, q)
	}
	l.addPenalty(g, theta)
}

// factorise sets h to the factor of the Hessian at the current point.
func (l *glmFit) factorise() error {
	q := len(l.theta)
	switch {
	case l.loss == Squared:
		copy(l.h, l.gram)
	case l.joint.isMultinomial():
		l.addBlocks()
	default:
		clear(l.h)
		l.addSquares(&l.state.Stop, l.h, l.currentPoint.curvature)
	}
	for at := 0; at < q; at += l.q {
		l.sums.addTo(l.h[at*(q+1):], q, l.lambda)
	}
	for j := range q {
		v := l.h[j*q+j]
		if !dense.Finite(v) {
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the data or the hyperparameters", "gives %v as a sum of squares of feature %d", v, j%l.q)
		}
		l.size[j] = math.Sqrt(v)
	}
	if row := dense.LDLFactorUntil(&l.state.Stop, l.h, l.dinv, q, q, rankTol); row < q {
		return l.dependentError(row)
	}
	if l.cond = dense.LDLCond(l.h, l.dinv, q, q, l.work, l.work2); dense.Unsolvable(l.cond) {
		return l.dependentError(dense.LDLDependent(l.h, l.dinv, q, q, l.work, l.work2))
	}
	return nil
}

// addBlocks sets the upper triangle of h to the Hessian of a loss with several outputs. Each pair
// of outputs has one symmetric block.
func (l *glmFit) addBlocks() {
	q, size, m := l.q, len(l.theta), len(l.w)
	curvature := l.currentPoint.curvature
	for a := 0; a < size; a += q {
		for b := a; b < size; b += q {
			clear(l.gram)
			l.addSquares(&l.state.Stop, l.gram, curvature[:m])
			curvature = curvature[m:]
			for i := range q {
				copy(l.h[(a+i)*size+b+i:][:q-i], l.gram[i*q+i:])
				for j := i + 1; b > a && j < q; j++ {
					l.h[(a+j)*size+b+i] = l.gram[i*q+j]
				}
			}
		}
	}
}

// dependentError returns the error for a Hessian that does not determine parameter j.
func (l *glmFit) dependentError(j int) error {
	j %= l.q // of the first output
	return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "penalise the feature more, or drop it", "leaves θ[%d] open: the feature is 0 or a linear combination of others, or separates the classes", j)
}

// scaledNorm returns the largest absolute entry of v, measured in units in which the Hessian has a
// diagonal of ones.
func (l *glmFit) scaledNorm(v []float64) (most float64) {
	for j, s := range l.size {
		most = max(most, math.Abs(v[j])*s)
	}
	return most
}

// roundingLength returns an upper bound for the length of a step that consists only of rounding
// errors in the gradient's terms. The length has the units of the method scaledNorm. If the
// minimiser is 0, all late steps consist of these errors. Rounding of a row's η or of an
// exponential changes the slope by a fraction of the curvature.
func (l *glmFit) roundingLength() float64 {
	terms, m, q := 0.0, len(l.w), l.q
	for k := range l.joint.outputs() {
		sums := dense.Zeros(l.work, q)
		curvature := l.currentPoint.curvature[l.joint.pairIndex(k, k)*m:][:m]
		for i, slope := range l.currentPoint.slope[k*m:][:m] {
			size := math.Abs(slope) + curvature[i]
			for j, v := range l.z[i*q : (i+1)*q] {
				sums[j] += size * math.Abs(v)
			}
		}
		for j, sum := range sums {
			terms = max(terms, sum/l.size[k*q+j])
		}
	}
	return terms * min(max(lastStep, dense.Eps*l.cond), slowStep)
}

// search chooses a point along the step, and stores it in candidate, nextPoint and nextG. If the
// result fullStep is true, this point is the end of the step. Otherwise it is not far beyond the
// minimum along the step.
func (l *glmFit) search(fullStep bool) error {
	// The unit of the step cancels in the comparison of slopes. In this unit, products with the step
	// do not overflow.
	_, exponent := math.Frexp(dense.Largest(l.step))
	dense.ScaleBy(l.step, 1-exponent)
	slope := dense.Dot(l.g, l.step)
	t := math.Ldexp(1, exponent-1)
	for range mostHalvings {
		l.state.Stop.Look()
		for j, v := range l.theta {
			l.candidate[j] = v + t*l.step[j]
		}
		l.evaluate(&l.nextPoint, l.nextG, l.candidate)
		if end := dense.Dot(l.nextG, l.step); fullStep || end <= -overshotFactor*slope && end >= -math.MaxFloat64 {
			return nil
		}
		t /= 2
	}
	return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the data", "leaves no step that lowers the objective")
}
