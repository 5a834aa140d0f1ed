package linear

import (
	"context"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// huberNewton minimises a huberProblem. The objective is piecewise quadratic: a piece is a set of θ
// in which no residual crosses ±delta. The gradient is continuous. Newton's method with an exact
// line search moves from piece to piece, and ends at the minimiser of the piece that contains the
// solution. Except for rounding, θ depends on that piece alone, not on the search.
type huberNewton struct {
	huberSystem
	oldTheta, oldR []float64 // θ and r before a step
	step           []float64
	openRows       []int // work of lineSearch
	warm           bool  // zone belongs to the last minimiser
	zoneHidden     bool  // see tryPiece
}

func (l *huberNewton) resize(m, k int) {
	if m != l.m || k != l.k {
		l.warm = false
	}
	l.sums.resize(m, k)
	l.huberProblem.resize(m, k)
	dense.GrowAll(m, &l.zstep, &l.oldR)
	dense.GrowAll(k, &l.oldTheta, &l.step)
	l.openRows = dense.Grow(l.openRows, m)
}

// minimise finds θ, in at most limit steps.
func (l *huberNewton) minimise(limit int) error {
	if done, err := l.firstPiece(); done || err != nil {
		return err
	}
	for range limit {
		l.sums.solver.End.Look()
		l.setZone()
		at := l.newton()
		if at == l.k && l.tryPiece() {
			return nil
		}
		if !dense.AllFinite(l.theta) {
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features and labels, or raise λ2", "leaves a solution that overflows")
		}
		if at < l.k || l.zoneHidden {
			stationary, err := l.majorisingStep(at)
			if err != nil {
				return err
			}
			if stationary {
				break
			}
		}
		t := l.lineSearch()
		if t == 0 {
			break
		}
		dense.Axpy(t, l.step, l.theta)
		dense.Axpy(-t, l.zstep, l.r) // confirm begins anew, from 0
	}
	return check.ArgErrorf("hyper", qpdiff.ErrIterationLimit, "raise δ or λ2, or standardise the features",
		"has a δ of %v, beside which no %d steps, or rounding, tell which residuals are beyond it", l.delta, limit)
}

// firstPiece starts at the piece of the last minimiser if this piece determines a finite next θ.
// Otherwise it starts at the piece in which all rows are in the quadratic zone. It reports whether θ
// already minimises the objective.
func (l *huberNewton) firstPiece() (done bool, err error) {
	if l.warm {
		done, at := l.start()
		if done || at == l.k && !l.zoneHidden && dense.AllFinite(l.theta) {
			return done, nil
		}
	}
	// If all rows together do not determine θ, no part of them does, and θ is not unique.
	clear(l.zone)
	done, at := l.start()
	if at < l.k {
		return false, errHuberOpen(at)
	}
	return done, nil
}

// setZone sets zone to the piece that contains θ.
func (l *huberNewton) setZone() {
	for i, r := range l.r {
		l.zone[i] = 0
		if math.Abs(r) > l.delta {
			l.zone[i] = int8(dense.Sign(r))
		}
	}
}

// majorisingStep computes a quadratic function that touches the objective at θ and is nowhere below
// the objective. It sets step to the difference of the function's minimiser and θ. This step
// replaces the Newton step in two cases. If param < k, the piece at θ does not determine the
// parameter with the index param. If param = k, rounding hides which piece contains the minimiser.
// If θ is already stationary up to rounding, majorisingStep does not set step. In that event it
// returns an error for param < k, and true for param = k.
func (l *huberNewton) majorisingStep(param int) (stationary bool, err error) {
	if l.gradientTerms(); l.isStationary() {
		if param < l.k {
			return false, errHuberOpen(param)
		}
		return true, nil
	}
	if param := l.factor(func(i int) float64 { return min(1, l.delta/math.Abs(l.r[i])) }); param < l.k {
		return false, errHuberOpen(param)
	}
	for j, g := range l.grad {
		l.step[j] = -g
	}
	l.solve(l.step)
	return false, nil
}

// start sets θ to the minimiser of the piece described by the field zone, and reports whether this
// θ also minimises the objective. The result dep has the same meaning as for factorise.
func (l *huberNewton) start() (done bool, dep int) {
	clear(l.theta)
	l.residuals()
	if dep = l.newton(); dep < l.k || l.tryPiece() {
		return dep == l.k, dep
	}
	dense.Axpy(1, l.step, l.theta)
	l.residuals()
	return false, dep
}

// errHuberOpen returns the error of a solution that is not unique in parameter j.
func errHuberOpen(j int) error {
	return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ2 or δ, or drop features",
		"leaves the solution open: the rows with a residual up to δ do not determine parameter %d", j)
}

// tryPiece moves θ to the minimiser of the piece described by the field zone, and reports whether
// this minimiser lies in the piece. A minimiser in its piece also minimises the objective. If the
// minimiser lies outside, tryPiece leaves θ and r unchanged, and sets step to the minimiser minus
// θ. If rounding hides how a residual compares with delta, tryPiece sets zoneHidden. On entry h is
// the factor of the piece's Hessian.
func (l *huberNewton) tryPiece() bool {
	l.zoneHidden = false
	copy(l.oldTheta, l.theta)
	copy(l.oldR, l.r)
	// The first round starts at 0, because the rounding error of the last θ may be larger than the
	// solution. The second round refines the result of the first.
	clear(l.theta)
	copy(l.r, l.y)
	for round := range 2 {
		l.gradient()
		l.solve(l.grad)
		dense.Axpy(-1, l.grad, l.theta)
		l.residuals()
		if round == 0 && l.leavesZone() {
			l.stepBack()
			return false
		}
	}
	l.measure()
	for i := range l.r {
		beyond := l.zoneExcess(i)
		l.zoneHidden = l.hidesZone(i, math.Abs(beyond)) && !(dense.ComplementarityTol*dense.Eps*l.rowError(i) <= learner.DecisionTol*l.delta)
		if !l.zoneHidden && (beyond <= 0 || l.hidesZone(i, beyond)) {
			continue
		}
		l.stepBack()
		return false
	}
	if !dense.Finite(l.size) {
		dense.Fill(l.theta, math.NaN())
	}
	return dense.AllFinite(l.theta)
}

// stepBack sets step to θ minus the last θ, and restores the last θ and r.
func (l *huberNewton) stepBack() {
	for j, t := range l.oldTheta {
		l.step[j] = l.theta[j] - t
	}
	copy(l.theta, l.oldTheta)
	copy(l.r, l.oldR)
}

// lineSearch returns the t > 0 that minimises the objective along θ + t·step, or 0 if rounding
// leaves no descent. The slope is continuous and increasing in t. A knot is a t at which a residual
// crosses ±delta; between knots the slope is linear. lineSearch evaluates the slope at one knot
// after another. Each evaluation halves the number of rows that may have knots near the minimum.
func (l *huberNewton) lineSearch() float64 {
	var restLine slopeLine // the slope of the rows outside openRows
	for j, s := range l.step {
		restLine.base += l.l2 * l.pen[j] * l.theta[j] * s
		restLine.curve += l.l2 * l.pen[j] * s * s
	}
	l.products(l.zstep, l.step)
	l.openRows = l.openRows[:0]
	for i, a := range l.zstep {
		if a != 0 {
			l.openRows = append(l.openRows, i)
		}
	}
	if !(l.slopeAlong(restLine, 0) < 0) {
		return 0
	}
	lo, hi := 0.0, math.Inf(1)
	for l.fold(&restLine, lo, hi); len(l.openRows) > 0; l.fold(&restLine, lo, hi) {
		first, last := l.rowCrossings(l.openRows[len(l.openRows)/2])
		knot := first
		if !(first > lo && first < hi) {
			knot = last
		}
		if !(knot > lo && knot < hi) {
			return lo // not a number
		}
		if l.slopeAlong(restLine, knot) < 0 {
			lo = knot
		} else {
			hi = knot
		}
	}
	if !(restLine.curve > 0) {
		return lo // by rounding: the slope beyond all knots is not negative
	}
	return min(max(lo, -restLine.base/restLine.curve), hi)
}

// slopeLine is the slope base + t·curve at t.
type slopeLine struct{ base, curve float64 }

// slopeAlong returns the slope of the objective at θ + t·step. restLine has the sums over all rows
// that are not in l.openRows.
func (l *huberNewton) slopeAlong(restLine slopeLine, t float64) float64 {
	slope := restLine.base + t*restLine.curve
	for _, i := range l.openRows {
		a := l.zstep[i]
		slope -= l.share[i] * a * max(-l.delta, min(l.r[i]-t*a, l.delta))
	}
	return slope
}

// fold removes the rows without a knot between lo and hi from l.openRows, and adds them to the sums
// in restLine.
func (l *huberNewton) fold(restLine *slopeLine, lo, hi float64) {
	keep := l.openRows[:0]
	for _, i := range l.openRows {
		first, last := l.rowCrossings(i)
		a := l.share[i] * l.zstep[i]
		switch side := math.Copysign(l.delta, l.zstep[i]); {
		case first >= hi: // before both knots
			restLine.base -= a * side
		case last <= lo: // behind them
			restLine.base += a * side
		case first <= lo && last >= hi:
			restLine.base -= a * l.r[i]
			restLine.curve += a * l.zstep[i]
		default:
			keep = append(keep, i)
		}
	}
	l.openRows = keep
}

// rowCrossings returns the two values of t at which the residual of row i enters and leaves the
// quadratic zone, along θ + t·step.
func (l *huberNewton) rowCrossings(i int) (first, last float64) {
	a := l.zstep[i]
	side := math.Copysign(l.delta, a)
	return (l.r[i] - side) / a, (l.r[i] + side) / a
}

// huberFit is a solved Huber regression with its data. Derivatives read it.
type huberFit struct {
	state learner.State
	huberNewton
	rows   []int // the rows with a weight above 0
	counts []float64
	// rows whose residual is ±delta to working precision, as indices of the slice rows
	weak []int
	// bounds the rounding error of the residuals of the rows in weak, in units of delta
	blur float64

	withoutRow, pivots []float64 // work of findWeak
}

// SetContext implements [learn.ContextLearner].
func (l *huberFit) SetContext(ctx context.Context) { l.state.Stop.Watch(ctx) }

// load makes d the data. The caller has checked the entries of d.
func (l *huberFit) load(d learn.Data, intercept bool) error {
	_, n := d.X.Dims()
	k := n
	if intercept {
		k++
	}
	var total float64
	l.counts, l.rows, total = learner.Counting(d, l.counts, l.rows)
	l.resize(len(l.rows), k)
	l.weak = dense.Grow(l.weak, l.m)[:0]
	dense.Fill(l.pen, 1)
	if intercept {
		l.pen[n] = 0
	}
	clear(l.work) // of the columns: Σ share·z²
	clear(l.sums.zmax)
	yy := 0.0
	features := d.Dense()
	for at, i := range l.rows {
		z := l.row(at)
		copy(z, features.RawRowView(i))
		if intercept {
			z[n] = 1
		}
		l.y[at], l.share[at] = d.Y[i], dense.CountAt(l.counts, i)/total
		share, squares, largest := l.share[at], l.work[:len(z)], l.sums.zmax[:len(z)]
		for j, v := range z {
			squares[j] += share * v * v
			if v = math.Abs(v); v > largest[j] {
				largest[j] = v
			}
		}
		yy += l.share[at] * d.Y[i] * d.Y[i]
	}
	for j, xx := range l.work {
		if !dense.Finite(xx) || !dense.Finite(math.Sqrt(xx)*math.Sqrt(yy)) {
			l.warm = false
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features and labels", "is so large that XᵀX or Xᵀy overflows at column %d", j)
		}
	}
	l.sums.maxBytes = d.MaxBytes
	l.loadSums(&l.state.Stop, n)
	l.state.Data = d
	return nil
}

// findWeak lists the rows with a residual of ±delta. The other rows of the quadratic zone must
// determine θ alone. If they do not, θ is not the only minimiser, up to rounding, and findWeak
// returns an error.
func (l *huberFit) findWeak() error {
	l.weak, l.blur = l.weak[:0], 0
	for i, r := range l.r {
		off := math.Abs(math.Abs(r) - l.delta)
		if l.hidesZone(i, off) {
			l.weak = append(l.weak, i)
			l.blur = max(l.blur, dense.ComplementarityTol*dense.Eps*l.rowError(i)/l.delta)
		}
	}
	if len(l.weak) == 0 {
		return nil
	}
	next := 0
	quadratic := func(i int) float64 {
		if dense.IsNext(l.weak, &next, i) {
			return 0
		}
		return l.quadratic(i)
	}
	if l.sums.byRows {
		// The fit ends with the system of all rows in the zone.
		cond := l.cond
		at := l.factorRows(quadratic)
		if l.factorRows(l.quadratic); at < l.k {
			return errHuberOpen(at)
		}
		l.cond = cond
		return nil
	}
	l.withoutRow, l.pivots = dense.Grow(l.withoutRow, l.k*l.k), dense.Grow(l.pivots, l.k)
	l.hessian(&l.state.Stop, l.withoutRow, quadratic)
	if _, at := l.factorise(l.withoutRow, l.pivots); at < l.k {
		return errHuberOpen(at)
	}
	return nil
}
