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

// An Intercept selects the constant term of a linear model, which is the last entry of θ. It also
// determines whether the ridge penalty ½θᵀRθ includes the constant.
type Intercept int

const (
	NoIntercept          Intercept = iota // θ has one entry per feature; R = I
	UnpenalisedIntercept                  // θ has one more; R = diag(1, …, 1, 0)
	PenalisedIntercept                    // θ has one more; R = I
)

// params returns the number of parameters for n features.
func (i Intercept) params(n int) int {
	if i == NoIntercept {
		return n
	}
	return n + 1
}

// logisticFit is a solved logistic regression with its data. Derivatives read it.
type logisticFit struct {
	state learner.State
	logisticNewton
	intercept Intercept    // of the data loaded
	fullFit   *logisticFit // the fit to all rows, nil if this is one
	leftOut   []int        // the rows of fullFit that this one leaves out
}

// SetContext implements [learn.ContextLearner].
func (l *logisticFit) SetContext(ctx context.Context) { l.state.Stop.Watch(ctx) }

// shape allocates the storage for the data.
func (l *logisticFit) shape(d learn.Data, intercept Intercept) {
	m, n := d.X.Dims()
	l.intercept = intercept
	l.resize(m, intercept.params(n), d.Sparse())
	if intercept == UnpenalisedIntercept {
		l.pen[n] = 0
	}
}

// endLoad ends a Load of the data d. It returns an error if there is no minimiser. The parameter
// heldEntries is a size in float64 values: how much memory this Load has taken.
func (l *logisticFit) endLoad(d learn.Data, heldEntries float64) error {
	if l.intercept == UnpenalisedIntercept && l.oneSign() {
		return check.ArgErrorf("Data.Y", qpdiff.ErrIllPosed, "penalise the intercept or give examples of both classes",
			"has labels of one sign only, so that an unpenalised intercept has no minimiser")
	}
	penalised := l.d
	if l.intercept == UnpenalisedIntercept {
		penalised--
	}
	l.large.heldEntries, l.large.maxBytes = heldEntries, d.MaxBytes
	l.large.load(&l.state.Stop, &l.logisticProblem, penalised)
	l.state.Data = d
	return nil
}

// startAtFull chooses the start for fitting a part of the rows, if the learner with all rows was
// last fitted at the same C. The start is the full solution, which is the solution of that learner.
// If fits use the Hessian's entries, a Newton step for the set V of omitted rows is added. At the
// full solution, the objective without V has the gradient C Σ_V (1−πᵢ) zᵢ. Its Hessian is the
// Hessian with all rows minus the terms of V.
func (l *logisticFit) startAtFull() {
	f := l.fullFit
	if l.warmStart || f == nil || f.state.Fit == 0 || f.c != l.c {
		return
	}
	if l.large.on {
		copy(l.theta, f.theta)
		l.large.solver.Borrow(&f.large.solver)
		l.warmStart = true
		return
	}
	m, k := l.m, l.k
	copy(l.h, f.hess)
	clear(l.step)
	for _, r := range l.leftOut {
		count := dense.CountAt(f.counts, r)
		s, w := l.c*f.s[r]*count, l.c*f.w[r]*count
		for i := range k {
			zi := f.z[i*m+r]
			l.step[i] -= s * zi
			for j := i; j < k; j++ {
				l.h[i*k+j] -= w * zi * f.z[j*m+r]
			}
		}
	}
	copy(l.theta, f.theta)
	if l.factor(l.end) {
		l.backsolve(l.step)
		dense.Axpy(1, l.step, l.theta)
		if f.pointStale {
			dense.Axpy(1, f.lastStep, l.step) // counted from the point of fullFit
		}
		if r := l.stepLength(); r <= dense.LogisticSeries {
			l.evaluateNear(f.s, f.w, l.theta, r)
			l.upToDate = true
		}
	}
	l.warmStart = true
}

// residual returns the largest residual of the optimality conditions, relative to the size of their
// terms. It uses variables that give the Hessian a unit diagonal, because the largest residual in
// these variables limits the accuracy of every parameter.
func (l *logisticFit) residual() (worst float64) {
	margins, s, w := make([]float64, l.m), make([]float64, l.m), make([]float64, l.m)
	g, sizes, diag := make([]float64, l.k), make([]float64, l.d), make([]float64, l.d)
	l.product(margins, l.theta)
	logisticWeights(s, w, margins)
	var work []float64
	l.gradient(g, l.timesCounts(&work, s), l.theta)
	if l.storedRows != nil {
		l.storedSizes(sizes, l.timesCounts(&work, s), l.theta)
		l.storedRows.Squares(diag, l.timesCounts(&work, w))
	} else {
		weights := l.timesCounts(&work, w)
		for j := range sizes {
			sizes[j] = l.gradientSize(j, s, l.theta)
			for i, v := range l.z[j*l.m : (j+1)*l.m] {
				diag[j] += weights[i] * v * v
			}
		}
	}
	size := 0.0
	for j, h := range diag {
		unit := math.Sqrt(l.c*h + l.pen[j])
		if g[j] != 0 {
			worst = max(worst, math.Abs(g[j])/unit)
		}
		if sizes[j] != 0 {
			size = max(size, sizes[j]/unit)
		}
	}
	return learner.Relative(worst, size)
}
