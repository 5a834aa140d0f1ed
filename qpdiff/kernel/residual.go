package kernel

import (
	"math"

	"cvgm/qpdiff/internal/learner"

	"gonum.org/v1/gonum/floats"
)

// violation returns the largest violation of the equations of the last fit. There is one equation
// for each row, and the equation Σc = 0 if there is an intercept. violation evaluates the kernel
// anew.
func (l *kernelRidgeFit) violation() (worst float64) {
	values := make([]float64, len(l.rows))
	for i := range values {
		f, size := l.decision(values, i)
		ridge, y := l.factor.ridge/l.factor.shares[i]*l.c[i], l.state.Data.Y[l.rows[i]]
		worst = max(worst, learner.Relative(math.Abs(y-ridge-f), math.Abs(y)+math.Abs(ridge)+size))
	}
	if l.factor.balanced {
		worst = max(worst, imbalance(l.c))
	}
	return worst
}

// violation returns the largest violation of the optimality conditions of the last fit. For each
// row, β must be within its bounds, and y − f(x) must be at least 0 if β can fall, and at most 0 if
// β can rise. With an intercept, also Σβ = 0. violation evaluates the kernel anew.
func (l *kernelSVMFit) violation() (worst float64) {
	q := &l.q
	values := make([]float64, len(l.support))
	for i, y := range q.y {
		f, size := l.decision(values, i)
		off, reach := y-f, q.hi[i]-q.lo[i]
		worst = max(worst, (q.lo[i]-q.beta[i])/reach, (q.beta[i]-q.hi[i])/reach)
		if q.beta[i] < q.hi[i] {
			worst = max(worst, learner.Relative(off, 1+size))
		}
		if q.beta[i] > q.lo[i] {
			worst = max(worst, learner.Relative(-off, 1+size))
		}
	}
	if q.balanced {
		worst = max(worst, imbalance(q.beta))
	}
	return worst
}

// decision returns the decision value of row i and the size of its terms. In values, it stores the
// kernel's values between row i and the support vectors.
func (l *kernelMachine) decision(values []float64, i int) (f, size float64) {
	l.state.Stop.Look()
	l.values(values, l.kernelParams, l.row(i), l.support)
	f, size = l.b, math.Abs(l.b)
	for k, j := range l.support {
		v := l.coef[j] * values[k]
		f, size = f+v, size+math.Abs(v)
	}
	return f, size
}

// imbalance returns the sum of coef, divided by the size of the sum's terms.
func imbalance(coef []float64) float64 {
	return learner.Relative(math.Abs(floats.Sum(coef)), floats.Norm(coef, 1))
}
