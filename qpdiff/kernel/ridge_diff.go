package kernel

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// begin implements machineFit.
func (*kernelRidgeFit) begin(*kernelDerivative, *learn.Grad) error { return nil }

// holdsPrediction implements machineFit.
func (*kernelRidgeFit) holdsPrediction(*kernelDerivative, []float64) bool { return false }

// finish differentiates through the fit. The cotangent of c is d.v, and the cotangent of b is db.
// Let the vector w and the number ω solve (K + λ·diag(1/shares))·w + ω·1 = d.v and, with Intercept,
// 1ᵀw = db. Then the cotangent of y is w, and the cotangent of the matrix K + λ·diag(1/shares) is
// −w·cᵀ.
func (l *kernelRidgeFit) finish(d *kernelDerivative, g *learn.Grad, db float64) error {
	l.factor.solve(d.v, db)
	if g.Y != nil {
		for k, i := range l.rows {
			g.Y[i] += d.v[k]
		}
	}
	if g.Hyper != nil {
		for k, w := range d.v {
			g.Hyper[0] -= w * l.c[k] / l.factor.shares[k]
		}
	}
	if m := len(l.c); g.X != nil || g.Hyper != nil {
		d.s = dense.Grow(d.s, m)
		for j, w := range d.v {
			for i, u := range d.v[:j] {
				d.s[i] = -u*l.c[j] - w*l.c[i]
			}
			d.s[j] = -w * l.c[j]
			d.addGradients(&l.kernelMachine, g, rowOf(g, d.gx, j, l.n), l.k[j*m:j*m+j+1], l.row(j), l.support[:j+1])
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

// adjointLeaveOneOut does the work of [Ridge.LeaveOneOutVJP]. The residual of row i is e_i =
// c_i/G_ii, with the matrix G of leaveOneOut. Let p_i = ddst_i/G_ii, h = G·p and q_i = p_i·e_i. The
// cotangent of y is ddst − h. The cotangent of K + (N−1)λ·I is ½(h·cᵀ + c·hᵀ) − G·diag(q)·G.
func (d *kernelDerivative) adjointLeaveOneOut(l *kernelRidgeFit, g *learn.Grad, dx *mat.Dense, ddst []float64) error {
	m, inverse := len(l.c), l.factor.a
	d.clearSums(&l.kernelMachine)
	dense.GrowAll(m, &d.p, &d.q)
	for i, a := range ddst {
		d.p[i] = a / inverse[i*m+i]
		d.q[i] = -d.p[i] * l.residual[i]
	}
	h := d.v
	dense.Products(h, inverse, m, d.p)
	if g.Y != nil {
		for i, a := range ddst {
			g.Y[i] += a - h[i]
		}
	}
	if g.Hyper != nil {
		var trace float64
		for i, q := range d.q {
			column := inverse[i*m : (i+1)*m]
			trace += h[i]*l.c[i] + q*floats.Dot(column, column)
		}
		g.Hyper[0] += float64(m-1) * trace
	}
	if g.X == nil && (g.Hyper == nil || len(l.kernelParams) == 0) && dx == nil {
		return learner.CheckProduct(g)
	}
	d.s, d.work = dense.Grow(d.s, m), dense.Grow(d.work, dense.BlockWork(m))
	d.weights = dense.Grow(d.weights, min(m, dense.BlockSize)*m)
	for first := 0; first < m; first += dense.BlockSize {
		d.leaveOneOutColumns(l, g, dx, ddst, first, min(dense.BlockSize, m-first))
	}
	if err := d.addInputs(l, g); err != nil {
		return err
	}
	return learner.CheckProduct(&learn.Grad{X: dx})
}

// leaveOneOutColumns adds the contributions of some kernel values: those on and below the diagonal
// in the columns start, …, start + ncols − 1.
func (d *kernelDerivative) leaveOneOutColumns(l *kernelRidgeFit, g *learn.Grad, dx *mat.Dense, ddst []float64, start, ncols int) {
	m, h := len(l.c), d.v
	if g.X != nil || g.Hyper != nil {
		dense.WeightedProducts(&l.state.Stop, d.weights, start, ncols, l.factor.a, m, d.q, d.work)
	}
	for j := start; j < m; j++ {
		rows := l.support[start:min(start+ncols, j+1)]
		for k, i := range rows {
			s := 2*d.weights[(j-start)*ncols+k] + h[i]*l.c[j] + h[j]*l.c[i]
			if i == j {
				s /= 2
			}
			d.s[k] = s
		}
		values := l.k[j*m+start:][:len(rows)]
		if g.Hyper != nil {
			d.addGradients(&l.kernelMachine, &learn.Grad{Hyper: g.Hyper}, nil, values, l.row(j), rows)
		}
		if g.X != nil || dx != nil {
			d.leaveOneOutRow(l, ddst, j, rows)
			d.addPairs(l, g, dx, j, values, rows)
		}
	}
}

// leaveOneOutRow computes cotangents of the kernel values between row j and the given rows. It
// writes them to asRow and asOther. In the fit without row i, the coefficient of row j is c_j −
// G_ij·e_i.
func (d *kernelDerivative) leaveOneOutRow(l *kernelRidgeFit, ddst []float64, j int, rows []int) {
	m := len(l.c)
	dense.GrowAll(len(rows), &d.asRow, &d.asOther)
	for k, i := range rows {
		at := l.factor.a[j*m+i]
		d.asOther[k], d.asRow[k] = ddst[i]*(l.c[j]-at*l.residual[i]), ddst[j]*(l.c[i]-at*l.residual[j])
	}
}

// addPairs adds the contributions of the kernel values between row j and the given rows i ≤ j. It
// adds them to the cotangent of the training rows, and to the cotangent of the predicted rows. The
// cotangent s of a kernel value is the sum of its entries in asRow, where row j is the predicted
// row, and in asOther, where row i is.
func (d *kernelDerivative) addPairs(l *kernelRidgeFit, g *learn.Grad, dx *mat.Dense, j int, values []float64, rows []int) {
	n, xj := l.n, l.row(j)
	for k, i := range rows {
		s, xi := d.s[k], l.row(i)
		var si, sj float64
		if i != j {
			si, sj = d.asOther[k], d.asRow[k]
		}
		if g.X != nil {
			l.kernel.Grad(nil, rowOf(g, d.gx, i, n), nil, s-si, values[k], l.kernelParams, xi, xj)
			l.kernel.Grad(nil, nil, rowOf(g, d.gx, j, n), s-sj, values[k], l.kernelParams, xi, xj)
		}
		if dx != nil && i != j {
			l.kernel.Grad(nil, dx.RawRowView(l.rows[i]), nil, si, values[k], l.kernelParams, xi, xj)
			l.kernel.Grad(nil, nil, dx.RawRowView(l.rows[j]), sj, values[k], l.kernelParams, xi, xj)
		}
	}
}

// tangent returns the derivatives of c and b along the direction t. It stores the derivative of c
// in z.
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
			d.z[k] -= t.Hyper[0] * l.c[k] / l.factor.shares[k]
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
