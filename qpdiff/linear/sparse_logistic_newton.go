package linear

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"

	"gonum.org/v1/gonum/floats"
)

const (
	// sparseMaxIter limits the Newton steps of one fit: a fit of separable data at small
	// penalties takes some dozens.
	sparseMaxIter = 200
	// sparseStuck is how many steps in a row, all short enough to be the last, may leave
	// the optimality conditions unmet, as where a coordinate enters after the first. More
	// show that rounding of the model hides what is unmet.
	sparseStuck = 5
	// sparseDamping times eps for each coordinate is the part of the diagonal that makes a
	// singular model regular to working precision: see unsolvable.
	sparseDamping = 4 * dense.ComplementarityTol
	// sparseSingular is how many steps in a row may have a singular model: where it becomes
	// regular, margins of some dozens make it so.
	sparseSingular = 50
	// sparseDiverged is the length of a step that does not converge, and sparseFlat the
	// part of it above which a row is moved by it: see diverges.
	sparseDiverged = .5
	sparseFlat     = 1e-3
)

// errSparseSeparable is the error of a fit without a solution.
var errSparseSeparable = check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise λ1 or λ2", "leaves features without penalty that separate the classes, to working precision, so that there is no minimiser")

// errSparseOverflow is the error of a fit whose terms overflow.
var errSparseOverflow = check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "raise λ2, or scale the features and labels", "leaves terms that overflow")

// solve finds the solution, from theta if that is warm. Where that fails it begins at
// θ = 0, where the Hessian is as well conditioned as the data.
func (l *sparseLogisticFit) solve() error {
	if l.warm {
		l.warm = false
		for j, l1 := range l.l1 {
			if l1 > l.limit[j] { // certainly zero
				l.theta[j] = 0
			}
		}
		if l.minimise(logisticWarmSteps, true) == nil {
			l.warm = true
			return nil
		}
	}
	clear(l.theta)
	if l.d > l.features {
		l.theta[l.features] = l.logOdds()
	}
	err := l.minimise(sparseMaxIter, false)
	l.warm = err == nil
	return err
}

// logOdds returns the intercept of the fit without features, for labels of one modulus,
// unless a weight of the Hessian underflows there.
func (l *sparseLogisticFit) logOdds() float64 {
	up, down := 0.0, 0.0
	for i, y := range l.column(l.features) {
		if share := dense.CountAt(l.counts, i) * l.inv; y > 0 {
			up += share
		} else {
			down += share
		}
	}
	odds := math.Log(up) - math.Log(down)
	return min(max(odds, -logisticLargestMargin), logisticLargestMargin) / l.ymax
}

// minimise runs proximal Newton steps from theta.
func (l *sparseLogisticFit) minimise(limit int, warm bool) error {
	last := math.Inf(1)   // the length of the step before
	stuck, streak := 0, 0 // how many last steps left no solution, or had a singular model
	l.evaluate()
	for l.iter = 1; l.iter <= limit; l.iter++ {
		if !dense.AllFinite(l.g) {
			return errSparseOverflow
		}
		singular, err := l.newtonStep(warm || l.iter > 1)
		if err != nil {
			return err
		}
		l.product(l.dm, l.step)
		r := dense.Largest(l.dm)
		if !dense.Finite(r) {
			return errSparseOverflow
		}
		flat := dense.Eps
		if singular != nil {
			if flat = sparseDamping * dense.Eps * float64(l.n); l.diverges(flat) {
				return errSparseSeparable
			}
			if streak++; r <= learner.DecisionTol || streak == sparseSingular { // too short to make the model regular
				return singular
			}
		} else {
			streak = 0
		}
		if r > logisticStall*last && r > logisticLastStep {
			if l.measure(); l.optimal() {
				// The step is rounding.
				switch {
				case r <= learner.DecisionTol:
					return l.settle()
				case l.diverges(1):
					return errSparseSeparable
				}
				return errSparseBlurred
			}
		}
		if r > sparseDiverged && l.diverges(flat) {
			return errSparseSeparable
		}
		last = r
		l.lineSearch(r)
		l.evaluate()
		if r > logisticLastStep {
			stuck = 0
			continue
		}
		if l.measure(); l.optimal() {
			return l.settle()
		}
		if stuck++; stuck == sparseStuck {
			return errSparseBlurred
		}
	}
	return check.ArgErrorf("Data", qpdiff.ErrIterationLimit, "raise λ1 or λ2, or scale the features", "takes more than %d Newton steps", limit)
}

// newtonStep sets step to the difference between theta and the minimiser of the
// second-order model of the loss plus the penalties, on the coordinates that are not
// zero or whose kink does not hold them there. That minimiser is left in qp.x. Where it
// is not unique to working precision, which is the error singular, the model has a part
// of its diagonal added, centred at theta: away from there, as rows become certain, the
// model may be regular.
func (l *sparseLogisticFit) newtonStep(warm bool) (singular, err error) {
	q, n := &l.qp, l.n
	l.free = l.free[:0]
	for j, t := range l.theta {
		l.hold[j] = math.Inf(1)
		if t != 0 || l.l1[j] == 0 || math.Abs(l.g[j]) > l.l1[j] {
			l.hold[j] = l.l1[j]
			l.free = append(l.free, j)
		}
	}
	l.model(l.free)
	for _, j := range l.free {
		row, c := l.gram[j*n:(j+1)*n], -l.g[j]
		for _, k := range l.free {
			c += row[k] * l.theta[k]
		}
		l.lin[j] = c
	}
	copy(q.x, l.theta)
	copy(l.ridge, l.l2)
	q.warm = warm
	if singular = q.solve(); singular != nil {
		damping := sparseDamping * dense.Eps * float64(n)
		for _, j := range l.free {
			d := damping * l.gram[j*n+j]
			l.ridge[j] += d
			l.lin[j] += d * l.theta[j]
		}
		copy(q.x, l.theta)
		if q.solve() != nil {
			return nil, singular
		}
	}
	l.refine()
	if !dense.AllFinite(q.x) {
		return nil, errSparseOverflow
	}
	floats.SubTo(l.step, q.x, l.theta)
	return singular, nil
}

// refine takes from qp.x what the rounding of c made of it: the slopes of the model
// follow from the gradient and the step, which becomes small where θ does not.
func (l *sparseLogisticFit) refine() {
	q, n := &l.qp, l.n
	floats.SubTo(l.step, q.x, l.theta)
	for i, j := range q.act {
		row := l.gram[j*n : (j+1)*n]
		slope := l.g[j] + l.l1[j]*q.sgn[i] + l.l2[j]*q.x[j] + (l.ridge[j]-l.l2[j])*l.step[j]
		for _, k := range l.free {
			slope += row[k] * l.step[k]
		}
		l.v[j] = -slope
	}
	for i, d := range q.solveActive(l.w, l.v) {
		j := q.act[i]
		if x := q.x[j] + d; q.sgn[i] == 0 || x*q.sgn[i] > 0 {
			q.x[j] = x
		}
	}
}

// lineSearch moves theta by the part of the step, whose length is r, that descent returns.
//
// With the second-order model in place of Newton's the bound is the same: its minimum
// along the step is at the step's end, where it has fallen by half of stepᵀH·step at
// least.
func (l *sparseLogisticFit) lineSearch(r float64) {
	t := 1.0
	if r > logisticSafeStep {
		t = descent(r, l.slopeAlong(0), l.slopeAlong)
	}
	if t == 1 {
		copy(l.theta, l.qp.x)
		return
	}
	floats.AddScaled(l.theta, t, l.step)
}

// slopeAlong returns the slope of the objective along the step where a part t of it has
// been made: that from the left, and that from the right at t = 0.
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
		slope += d * (l.l1[j]*side + l.l2[j]*v)
	}
	return slope
}

// diverges reports whether the step shows that features without penalty separate the
// classes to working precision: it moves rows by them, all to larger margins, and the
// part s of all these rows in the gradient is at most flat. Where such features do not
// separate the classes, they move rows with as large a part to smaller margins.
func (l *sparseLogisticFit) diverges(flat float64) bool {
	found := false
	for j := range l.features {
		found = found || l.l1[j] == 0 && l.l2[j] == 0
	}
	if !found {
		return false
	}
	dm := l.rows[:l.m]
	clear(dm)
	for j, d := range l.step {
		if l.l1[j] == 0 && l.l2[j] == 0 && d != 0 {
			floats.AddScaled(dm, d, l.column(j))
		}
	}
	r := dense.Largest(dm)
	if r == 0 {
		return false
	}
	for i, v := range dm {
		if math.Abs(v) > sparseFlat*r && (v < 0 || l.s[i] > flat) {
			return false
		}
	}
	return true
}
