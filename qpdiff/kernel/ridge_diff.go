package kernel

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// begin is part of a machineFit.
func (*kernelRidgeFit) begin(*kernelDerivative, *learn.Grad) error { return nil }

// finish goes back through the fit, from the cotangents v of c and db of b. With
// (K + λ/share)·w + ω·1 = v and, with Intercept, 1ᵀw = db, the cotangent of y is w and
// the cotangent of the matrix −w·cᵀ.
func (l *kernelRidgeFit) finish(d *kernelDerivative, g *learn.Grad, db float64) error {
	l.factor.solve(d.v, db)
	if g.Y != nil {
		for k, i := range l.rows {
			g.Y[i] += d.v[k]
		}
	}
	if g.Hyper != nil {
		for k, w := range d.v {
			g.Hyper[0] -= w * l.c[k] / l.factor.share[k]
		}
	}
	if m := len(l.c); g.X != nil || g.Hyper != nil {
		for i, w := range d.v {
			for j := i; j < m; j++ {
				s := -w * l.c[j]
				if i != j {
					s -= d.v[j] * l.c[i]
				}
				l.kernel.Grad(d.dparamsOf(g), rowOf(g, d.gx, i, l.n), rowOf(g, d.gx, j, l.n), s, l.k[i*m+j], l.kernelParams, l.row(i), l.row(j))
			}
		}
	}
	return d.addInputs(l, g)
}

// addInputs adds the sums of d to g.
func (d *kernelDerivative) addInputs(l *kernelRidgeFit, g *learn.Grad) error {
	if g.Hyper != nil {
		dense.Axpy(1, d.dparams, g.Hyper[1:])
	}
	if g.X != nil {
		for k, i := range l.rows {
			dense.Axpy(1, d.gx[k*l.n:(k+1)*l.n], g.X.RawRowView(i))
		}
	}
	return learner.CheckProduct(g)
}

// adjointLeaveOneOut is [Ridge.LeaveOneOutVJP]. With the residuals e_i = c_i/G_ii,
// p_i = ddst_i/G_ii, h = G·p and q_i = p_i·e_i, the cotangents are ddst − h of y and
// ½(h·cᵀ + c·hᵀ) − G·diag(q)·G of K + (N−1)λ·I.
func (d *kernelDerivative) adjointLeaveOneOut(l *kernelRidgeFit, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	m, n := len(l.c), l.n
	d.clear(&l.kernelMachine)
	d.q = dense.Grow(d.q, m)
	h := d.v
	for i, a := range ddst {
		h[i] = a / l.inverse[i*m+i]
		d.q[i] = h[i] * l.residual[i]
	}
	l.factor.solve(h, 0)
	if g.Y != nil {
		for i, a := range ddst {
			g.Y[i] += a - h[i]
		}
	}
	if g.Hyper != nil {
		var trace float64
		for i, q := range d.q {
			column := l.inverse[i*m : (i+1)*m]
			trace += h[i]*l.c[i] - q*dense.Dot(column, column)
		}
		g.Hyper[0] += float64(m-1) * trace
	}
	if g.X == nil && (g.Hyper == nil || len(l.kernelParams) == 0) && dx == nil {
		return learner.CheckProduct(g)
	}
	d.weights = dense.Zeros(d.weights, m*m)
	if g.X != nil || g.Hyper != nil {
		for k, q := range d.q {
			column := l.inverse[k*m : (k+1)*m]
			for i, v := range column {
				dense.Axpy(-q*v, column[i:], d.weights[i*m+i:(i+1)*m])
			}
		}
	}
	for i := range m {
		for j := i; j < m; j++ {
			value, xi, xj := l.k[i*m+j], l.row(i), l.row(j)
			if i == j {
				l.kernel.Grad(d.dparamsOf(g), rowOf(g, d.gx, i, n), rowOf(g, d.gx, i, n), d.weights[i*m+i]+h[i]*l.c[i], value, l.kernelParams, xi, xi)
				continue
			}
			s := 2*d.weights[i*m+j] + h[i]*l.c[j] + h[j]*l.c[i]
			// The rows count as the predicted rows, too: without row i the
			// coefficient of row j is c_j − G_ij·e_i.
			at := l.inverse[i*m+j]
			si, sj := ddst[i]*(l.c[j]-at*l.residual[i]), ddst[j]*(l.c[i]-at*l.residual[j])
			if dparams := d.dparamsOf(g); dparams != nil {
				l.kernel.Grad(dparams, nil, nil, s, value, l.kernelParams, xi, xj)
			}
			if g.X != nil {
				l.kernel.Grad(nil, rowOf(g, d.gx, i, n), nil, s-si, value, l.kernelParams, xi, xj)
				l.kernel.Grad(nil, nil, rowOf(g, d.gx, j, n), s-sj, value, l.kernelParams, xi, xj)
			}
			if dx != nil {
				l.kernel.Grad(nil, dx.RawRowView(i), nil, si, value, l.kernelParams, xi, xj)
				l.kernel.Grad(nil, nil, dx.RawRowView(j), sj, value, l.kernelParams, xi, xj)
			}
		}
	}
	if err := d.addInputs(l, g); err != nil {
		return err
	}
	return learner.CheckProduct(&learn.Grad{X: dx})
}

// tangent returns the derivatives of c, in z, and of b along t.
func (l *kernelRidgeFit) tangent(d *kernelDerivative, t *learn.Grad) (dc []float64, db float64, err error) {
	m, n := len(l.c), l.n
	d.z = dense.Zeros(d.z, m)
	if !learner.Wants(t) {
		return d.z, 0, nil
	}
	d.tx = dense.Zeros(d.tx, m*n)
	for k, i := range l.rows {
		if t.Y != nil {
			d.z[k] += t.Y[i]
		}
		if t.Hyper != nil {
			d.z[k] -= t.Hyper[0] * l.c[k] / l.factor.share[k]
		}
		if t.X != nil {
			copy(d.tx[k*n:(k+1)*n], t.X.RawRowView(i))
		}
	}
	if t.X != nil || t.Hyper != nil {
		for i := range m {
			for j := i; j < m; j++ {
				s := d.kernelTangent(&l.kernelMachine, t, rowOf(t, d.tx, i, n), rowOf(t, d.tx, j, n), 1, l.k[i*m+j], l.row(i), l.row(j))
				d.z[i] -= s * l.c[j]
				if i != j {
					d.z[j] -= s * l.c[i]
				}
			}
		}
	}
	db = l.factor.solve(d.z, 0)
	return d.z, db, nil
}
