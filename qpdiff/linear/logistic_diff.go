package linear

import (
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ridge"
	"cvgm/qpdiff/learn"
)

// logisticDerivative is the storage of a logistic regression's derivatives.
type logisticDerivative struct {
	// A fit whose last step counts leaves s, w and the factor of the point before.
	// Those at its end are computed once per fit; any other fit's are read directly.
	fit      uint64 // the fit that own belongs to
	own      logisticPoint
	factored bool // own has its factor
	solver   ridge.Solver

	u  []float64 // k entries: solution of a system with the Hessian
	dz []float64 // k entries: tangent of one zᵢ
	dm []float64 // m entries: uᵀzᵢ
	b  []float64 // k entries: right-hand side of a JVP

	countedS, countedW []float64 // work of rows
}

// weights returns the point of θ, without a factor. The caller must not write to it.
func (d *logisticDerivative) weights(l *logisticFit) *logisticPoint {
	d.u, d.dz, d.dm = dense.Grow(d.u, l.k), dense.Grow(d.dz, l.k), dense.Grow(d.dm, l.m)
	if !l.stale {
		return &l.logisticPoint
	}
	if d.fit != l.state.Fit {
		d.fit, d.factored = l.state.Fit, false
		d.own.resize(&l.logisticProblem, true)
		l.product(d.dm, l.last)
		logisticWeightsNext(d.own.s, d.own.w, l.s, l.w, d.dm)
	}
	return &d.own
}

// rows returns s and w of the point times what each row counts.
func (d *logisticDerivative) rows(l *logisticFit, at *logisticPoint) (s, w []float64) {
	return l.counted(&d.countedS, at.s), l.counted(&d.countedW, at.w)
}

// point returns the point of θ with the factor of the Hessian.
func (d *logisticDerivative) point(l *logisticFit) (*logisticPoint, error) {
	at := d.weights(l)
	if l.stale && !d.factored {
		l.hessian(at)
		if !at.factor() {
			return nil, errLogisticSingular
		}
		d.factored = true
	}
	return at, nil
}

// solve sets d.u = H⁻¹v, padded, and returns the point of θ.
func (d *logisticDerivative) solve(l *logisticFit, v []float64) (*logisticPoint, error) {
	if g := &l.large; g.on && !g.direct {
		at := d.weights(l)
		clear(d.u[l.d:])
		// From the factor of the fit: the result does not depend on the derivatives before.
		if d.solver.Borrow(&g.solver); !d.solver.Exact(&g.sys, d.u, v[:l.d]) {
			return nil, errLogisticSingular
		}
		return at, nil
	}
	at, err := d.point(l)
	if err != nil {
		return nil, err
	}
	copy(d.u, v)
	clear(d.u[l.d:])
	at.backsolve(d.u)
	return at, nil
}

// probabilities is [Logistic.Probabilities].
func (d *logisticDerivative) probabilities(l *logisticFit, dst []float64) error {
	if err := l.state.Fitted(); err != nil {
		return err
	}
	check.Length("dst", dst, l.m)
	for i, s := range d.weights(l).s {
		dst[i] = 1 - s
	}
	return nil
}

// solveHessian is [Logistic.SolveHessian].
func (d *logisticDerivative) solveHessian(l *logisticFit, dst, v []float64) error {
	if err := l.state.CheckAdjoint(&learn.Grad{}, v); err != nil {
		return err
	}
	check.Length("dst", dst, l.d)
	if _, err := d.solve(l, v); err != nil {
		return err
	}
	if err := learner.CheckTangentOut(d.u); err != nil {
		return err
	}
	copy(dst, d.u)
	return nil
}

// adjoint is [Logistic.VJP].
func (d *logisticDerivative) adjoint(l *logisticFit, g *learn.Grad, dtheta []float64) error {
	if err := l.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	at, err := d.solve(l, dtheta)
	if err != nil {
		return err
	}
	u := d.u
	if g.Hyper != nil {
		sum := 0.0
		for j, p := range l.pen {
			sum += p * u[j] * l.theta[j]
		}
		g.Hyper[0] += sum / l.c
	}
	if g.X == nil && g.Y == nil {
		return learner.CheckProduct(g)
	}
	l.product(d.dm, u)
	s, w := d.rows(l, at)
	return l.dataVJP(g, l.state.Data, l.theta, u, s, w, d.dm)
}

// forward is [Logistic.JVP].
func (d *logisticDerivative) forward(l *logisticFit, dtheta []float64, t *learn.Grad) error {
	if err := l.state.CheckForward(dtheta, t); err != nil {
		return err
	}
	at := d.weights(l)
	d.b = dense.Zeros(d.b, l.k)
	if t.Hyper != nil {
		for j, p := range l.pen {
			d.b[j] += t.Hyper[0] * p * l.theta[j] / l.c
		}
	}
	if t.X != nil || t.Y != nil {
		s, w := d.rows(l, at)
		l.dataJVP(d.b, t, l.state.Data, l.theta, s, w, d.dz)
	}
	if _, err := d.solve(l, d.b); err != nil {
		return err
	}
	if err := learner.CheckTangentOut(d.u); err != nil {
		return err
	}
	copy(dtheta, d.u)
	return nil
}
