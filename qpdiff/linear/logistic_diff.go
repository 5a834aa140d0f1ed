package linear

import (
	"math"

	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ridge"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/blas/blas64"
)

// logisticDerivative is the scratch of the derivatives of a logistic regression.
type logisticDerivative struct {
	// ownPoint holds s, w and the factor at θ. The values of the fit belong to the point before its
	// last step, so ownPoint is needed if this step was not 0. The values in ownPoint are computed
	// once for each fit.
	fit       uint64 // the fit that ownPoint belongs to
	ownPoint  logisticPoint
	hasFactor bool // ownPoint has its factor
	solver    ridge.Solver

	u  []float64 // k entries: solution of a system with the Hessian
	dz []float64 // k entries: tangent of one zᵢ
	dm []float64 // m entries: uᵀzᵢ
	tm []float64 // with a sparse X, m entries: θᵀzᵢ
	b  []float64 // k entries: right-hand side of a JVP

	countedS, countedW []float64 // work of rows
}

// weights returns a point that holds s and w, computed at θ. The factor of this point may not be
// computed yet. The caller must not write to the point.
func (d *logisticDerivative) weights(l *logisticFit) *logisticPoint {
	d.u, d.dz, d.dm = dense.Grow(d.u, l.k), dense.Grow(d.dz, l.k), dense.Grow(d.dm, l.m)
	if !l.pointStale {
		return &l.logisticPoint
	}
	if d.fit != l.state.Fit {
		d.fit, d.hasFactor = l.state.Fit, false
		d.ownPoint.resize(&l.logisticProblem, true)
		l.product(d.dm, l.lastStep)
		dense.LogisticNext(d.ownPoint.s, d.ownPoint.w, l.s, l.w, d.dm)
	}
	return &d.ownPoint
}

// rows returns s and w of the given point. Each entry is multiplied by the weight of its row.
func (d *logisticDerivative) rows(l *logisticFit, at *logisticPoint) (s, w []float64) {
	return l.timesCounts(&d.countedS, at.s), l.timesCounts(&d.countedW, at.w)
}

// point returns the point of θ with the factor of the Hessian.
func (d *logisticDerivative) point(l *logisticFit) (*logisticPoint, error) {
	at := d.weights(l)
	if l.pointStale && !d.hasFactor {
		l.hessian(&l.state.Stop, at)
		if !at.factor(&l.state.Stop) {
			return nil, errLogisticSingular
		}
		d.hasFactor = true
	}
	return at, nil
}

// solve sets d.u to H⁻¹v, padded with zeros. It returns the logisticPoint at θ.
func (d *logisticDerivative) solve(l *logisticFit, v []float64) (*logisticPoint, error) {
	if g := &l.large; g.on && !g.usedHessian {
		at := d.weights(l)
		clear(d.u[l.d:])
		d.solver.End = &l.state.Stop
		// Borrow the factor of the fit, so that the result does not depend on earlier derivatives.
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
		sum := 0.0 // uᵀRθ, R the penalty's diagonal
		for j, p := range l.pen {
			sum += p * u[j] * l.theta[j]
		}
		g.Hyper[0] += sum / l.c
	}
	if !learner.WantsRows(g) && g.Y == nil {
		return learner.CheckProduct(g)
	}
	l.product(d.dm, u)
	s, w := d.rows(l, at)
	if l.storedRows != nil {
		d.tm = dense.Grow(d.tm, l.m)
		return l.storedVJP(g, l.state.Data, l.theta, u, s, w, d.dm, d.tm)
	}
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
	if l.storedRows != nil && (t.Stored != nil || t.Y != nil) {
		s, w := d.rows(l, at)
		d.tm = dense.Grow(d.tm, l.m)
		l.storedJVP(d.b, t, l.state.Data, l.theta, s, w, d.dm, d.tm)
	} else if t.X != nil || t.Y != nil {
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

// dataVJP adds −uᵀ·∂(∇L)/∂X to g.X and −uᵀ·∂(∇L)/∂y to g.Y, at fixed θ. For row i, s holds 1−πᵢ and
// w holds πᵢ(1−πᵢ), both multiplied by the weight of the row; dm holds uᵀzᵢ. If any field of g
// overflows, dataVJP returns an error.
func (p *logisticProblem) dataVJP(g *learn.Grad, data learn.Data, theta, u, s, w, dm []float64) error {
	if g.X != nil {
		p.addX(g.X.RawMatrix(), data.Y, theta, u, s, w, dm)
	}
	if g.Y != nil {
		_, n := data.X.Dims()
		features := data.Dense()
		for i, a := range dm {
			if s[i] == 0 { // the row is left out, whatever it holds
				continue
			}
			x := features.RawRowView(i)
			ux, tx := dense.Dot(u[:n], x), dense.Dot(theta[:n], x)
			if p.d > n {
				ux += u[n]
				tx += theta[n]
			}
			g.Y[i] += p.c * (s[i]*ux - w[i]*a*tx)
		}
	}
	// addX multiplies by the row's weight last. Before this multiplication, the terms and
	// intermediate products are at most cy(|u| + |uᵀz|·max(1, |θ|)).
	var uz float64
	for j, v := range u {
		uz += p.zmax[j] * math.Abs(v)
	}
	if g.X != nil && dense.Finite(p.c*max(1, p.maxWeight)*p.ymax*(dense.Largest(u)+uz*max(1, dense.Largest(theta)))) {
		return learner.CheckProduct(&learn.Grad{Hyper: g.Hyper, Y: g.Y})
	}
	return learner.CheckProduct(g)
}

// addX adds cᵢ yᵢ C((1−πᵢ) u − πᵢ(1−πᵢ)(uᵀzᵢ) θ) to row i of gx, where cᵢ is the weight of row i. s
// holds 1−π, w holds π(1−π), and dm holds uᵀzᵢ.
func (p *logisticProblem) addX(gx blas64.General, y, theta, u, s, w, dm []float64) {
	n, m, c := gx.Cols, p.m, p.c
	y, s, w, dm = y[:m], s[:m], w[:m], dm[:m]
	data, stride := gx.Data, gx.Stride
	if n == 2 {
		u0, u1, t0, t1 := u[0], u[1], theta[0], theta[1]
		for i, a := range dm {
			if s[i] == 0 { // a row left out, for which the label does not matter
				continue
			}
			cy := c * y[i]
			p, q := cy*s[i], cy*w[i]*a
			data[i*stride] += p*u0 - q*t0
			data[i*stride+1] += p*u1 - q*t1
		}
		return
	}
	for i, a := range dm {
		if s[i] == 0 {
			continue
		}
		cy := c * y[i]
		addBoth(data[i*stride:][:n], cy*s[i], u, -cy*w[i]*a, theta)
	}
}

// addBoth adds p·u + q·v to the slice row. If addBoth were inlined, its loop would have too few
// registers.
//
//go:noinline
func addBoth(row []float64, p float64, u []float64, q float64, v []float64) {
	u, v = u[:len(row)], v[:len(row)]
	for j, r := range row {
		row[j] = r + p*u[j] + q*v[j]
	}
}

// dataJVP adds the derivative of −∇L along t.X and t.Y at fixed θ to its first argument. s and w
// are the same as for dataVJP. The tangents of row i change zᵢ = yᵢxᵢ by dz. This changes −∇L by
// C((1−πᵢ) dz − πᵢ(1−πᵢ)(θᵀdz) zᵢ). The argument dz is scratch.
func (p *logisticProblem) dataJVP(dst []float64, t *learn.Grad, data learn.Data, theta, s, w, dz []float64) {
	_, n := data.X.Dims()
	features := data.Dense()
	for i := range p.m {
		if s[i] == 0 { // the row is left out, whatever it holds
			continue
		}
		x, y := features.RawRowView(i), data.Y[i]
		clear(dz)
		if t.X != nil {
			for j := range n {
				dz[j] = y * t.X.At(i, j)
			}
		}
		if t.Y != nil {
			for j, v := range x {
				dz[j] += t.Y[i] * v
			}
			if p.d > n {
				dz[n] = t.Y[i]
			}
		}
		a, b := p.c*s[i], p.c*w[i]*dense.Dot(theta, dz)
		for j, v := range dz {
			dst[j] += a*v - b*p.z[j*p.m+i]
		}
	}
}

// storedVJP does the work of dataVJP for a sparse X. tm is scratch, with an entry for each row.
func (p *logisticProblem) storedVJP(g *learn.Grad, data learn.Data, theta, u, s, w, dm, tm []float64) error {
	if g.Y != nil {
		p.storedRows.Times(tm, theta)
		for i, y := range data.Y {
			g.Y[i] += p.c * (s[i] - w[i]*tm[i]) * dm[i] / y
		}
	}
	if g.Stored != nil {
		data.VisitStored(func(at, i, j int, _ float64) {
			if s[i] != 0 {
				cy := p.c * data.Y[i]
				g.Stored[at] += (cy*s[i]*u[j] - cy*w[i]*dm[i]*theta[j]) / sparse.Scale(data, j)
			}
		})
	}
	return learner.CheckProduct(g)
}

// storedJVP does the work of dataJVP for a sparse X. dm and tm are scratch, with an entry for each
// row.
func (p *logisticProblem) storedJVP(out []float64, t *learn.Grad, data learn.Data, theta, s, w, dm, tm []float64) {
	clear(dm) // θᵀdzᵢ, then row i's factor of zᵢ
	if t.Stored != nil {
		data.VisitStored(func(at, i, j int, _ float64) {
			if s[i] != 0 {
				dz := data.Y[i] * t.Stored[at] / sparse.Scale(data, j)
				dm[i] += dz * theta[j]
				out[j] += p.c * s[i] * dz
			}
		})
	}
	p.storedRows.Times(tm, theta)
	for i, y := range data.Y {
		part := 0.0 // of zᵢ by which it changes with yᵢ
		if t.Y != nil {
			part = t.Y[i] / y
		}
		dm[i] = p.c * (s[i]*part - w[i]*(dm[i]+part*tm[i]))
	}
	p.storedRows.AddTransposed(out, 1, dm)
}
