package kernel

import (
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// prepare prepares d for derivatives of the fit. It returns an error if g has a field for a
// derivative that does not exist.
func (l *kernelSVMFit) prepare(d *kernelDerivative, generalised bool, g *learn.Grad) error {
	q := &l.q
	if len(l.weak) > 0 {
		if l.betaError > learner.DecisionTol {
			return check.ArgErrorf("Data", qpdiff.ErrIllPosed, remedyForDecisions, "is so ill-conditioned that rounding hides which rows are weakly active: it may have moved their β by %.2g of their bounds", l.betaError)
		}
		if !generalised {
			return learner.NotDifferentiable(g, qpdiff.Weak{Rows: l.weak}, l.rows.First, "move the hyperparameters, or set Generalised", "C", "kernel parameters")
		}
	}
	if d.fitID == l.state.Fit {
		return nil
	}
	d.fitID, d.adjointFit = 0, 0
	if q.n > limits.shrink { // Fit counts a factor of the rows that are free now
		d.factor.a = nil
	}
	d.beta, d.freeSet = dense.Grow(d.beta, q.n), append(dense.Grow(d.freeSet, q.n)[:0], q.freeSet...)
	copy(d.beta, q.beta)
	if len(l.weak) > 0 {
		for _, i := range l.weak {
			if d.beta[i]-q.lo[i] < q.hi[i]-d.beta[i] {
				d.beta[i] = q.lo[i]
			} else {
				d.beta[i] = q.hi[i]
			}
		}
		d.freeSet = slices.DeleteFunc(d.freeSet, func(j int) bool {
			_, weak := slices.BinarySearch(l.weak, j)
			return weak
		})
		if q.factorise(&d.factor, d.freeSet, 0) < len(d.freeSet) {
			return check.ArgErrorf("Data", qpdiff.ErrIllPosed, "lower C or drop examples", "gives a kernel matrix that is singular to machine precision")
		}
	}
	d.conditions = append(d.conditions[:0], d.freeSet...)
	if len(d.freeSet) == 0 && q.balanced {
		// The derivative of b is the derivative of the middle of its interval, computed with each
		// weakly active row at a bound. This interval may lack an end only if one row's bound C is
		// more than a thousand times the bounds of all other rows.
		up, down := q.interceptBounds(d.beta)
		if up < 0 || down < 0 {
			return check.ArgErrorf("Data", qpdiff.ErrIllPosed, remedyForDecisions, "is so ill-conditioned that rounding hides which rows are weakly active")
		}
		d.conditions = append(d.conditions, up, down)
	}
	d.fitID = l.state.Fit
	return nil
}

// holdsPrediction implements machineFit. For the rows x_i of the free set, the conditions of the
// fit are f(x_i) = 1/y_i.
func (l *kernelSVMFit) holdsPrediction(d *kernelDerivative, x []float64) bool {
	for _, i := range d.freeSet {
		if row := l.row(i); row[0] == x[0] && slices.Equal(row, x) { // most rows differ in their first entry
			return true
		}
	}
	return false
}

// solve replaces x by the solution w of K_FF·w + b·1 = x on the free set F. With Intercept, w also
// satisfies 1ᵀw = sum. solve returns b.
func (d *kernelDerivative) solve(l *kernelSVMFit, x []float64, sum float64) float64 {
	if len(l.weak) > 0 {
		return d.factor.solve(x, sum)
	}
	return l.q.factor.solve(x, sum)
}

// finish differentiates through the fit. The cotangent of β is d.v, and the cotangent of b is db.
func (l *kernelSVMFit) finish(d *kernelDerivative, g *learn.Grad, db float64) error {
	g.Generalised = g.Generalised || len(l.weak) > 0
	d.w, d.dy = dense.Zeros(d.w, l.q.n), dense.Zeros(d.dy, l.q.n)
	// K_FF·w + ω·1 = v_F, and 1ᵀw = db with Intercept.
	d.z = dense.Grow(d.z, len(d.freeSet))
	var omega float64
	if len(d.freeSet) > 0 {
		dense.Gather(d.z, d.v, d.freeSet)
		omega = d.solve(l, d.z, db)
		dense.Scatter(d.w, d.z, d.freeSet)
	} else {
		for _, i := range d.conditions {
			d.w[i] += db / 2
		}
	}
	d.throughFit(l, g, omega)
	d.adjointFit = l.state.Fit
	return learner.CheckProduct(g)
}

// throughFit differentiates the optimality conditions with respect to the kernel values of the
// training rows, the labels and C. It multiplies these derivatives by the adjoint solution, which
// is the vector w and the number ω, and adds the products to g. With the cotangent v of β and the
// counts n_i of the distinct rows, the derivative in C is the sum of n_i·y_i·(v − Kw − ω·1)_i over
// the rows with β_i = C·n_i·y_i. It is positive if a larger C raises the loss.
func (d *kernelDerivative) throughFit(l *kernelSVMFit, g *learn.Grad, omega float64) {
	q, n := &l.q, l.q.n
	inputs := g.X != nil || g.Hyper != nil
	d.rows = d.rows[:0]
	for j, b := range d.beta {
		if b != 0 {
			d.rows = append(d.rows, j)
		}
	}
	d.s, d.supportRow = dense.Grow(d.s, len(d.rows)), dense.Grow(d.supportRow, len(d.rows))
	var dc float64
	for i, w := range d.w {
		if w != 0 {
			d.dy[i] -= w
			row := q.rows.readRow(&d.fullRow, i, n)
			dense.Axpy(-w, row, d.v)
			if inputs {
				for k, j := range d.rows {
					d.s[k], d.supportRow[k] = -w*d.beta[j], row[j]
				}
				d.addGradients(&l.kernelMachine, g, rowOf(g, d.gx, i, l.n), d.supportRow, l.row(i), d.rows)
			}
		}
	}
	// β of a bounded row is C·copies·y.
	for i, b := range d.beta {
		if q.atC(i, b) {
			v := (d.v[i] - omega) * l.rows.Copies[i]
			dc += v * q.y[i]
			d.dy[i] += v * l.c
		}
	}
	if g.Hyper != nil {
		g.Hyper[0] += dc
		dense.Axpy(1, d.dparams, g.Hyper[1:])
	}
	d.shareAmongEqual(l, g)
}

// shareAmongEqual divides the cotangents of each distinct row among the equal rows of the data.
func (d *kernelDerivative) shareAmongEqual(l *kernelSVMFit, g *learn.Grad) {
	for i, k := range l.rows.Of {
		if k < 0 {
			continue
		}
		share := l.rows.Share(i, k)
		if g.Y != nil {
			g.Y[i] += share * d.dy[k]
		}
		if g.X != nil {
			dense.Axpy(share, d.gx[k*l.n:(k+1)*l.n], g.X.RawRowView(i))
		}
	}
}

// ties is [SVM.Ties].
func (d *kernelDerivative) ties(l *kernelSVMFit, visit func(i, k int, sign float64, dir []float64) bool) {
	if l.state.Fit == 0 || d.adjointFit != l.state.Fit {
		return
	}
	for i, k := range l.rows.Equal {
		row := l.rows.Of[k]
		// The β and the w of a row are divided among its copies. Another division of w would change
		// the cotangents of the copies by multiples of the slope. If the row is free, another
		// division of β is possible too. This division would change the cotangents by multiples of
		// gx.
		if _, free := slices.BinarySearch(d.freeSet, row); free && !visit(i, k, 1, d.gx[row*l.n:(row+1)*l.n]) || d.w[row] == 0 {
			continue
		}
		d.slope = dense.Zeros(d.slope, l.n) // the gradient of the decision function
		values := l.q.rows.readRow(&d.fullRow, row, l.q.n)
		for j, b := range d.beta {
			if b != 0 {
				l.kernel.Grad(nil, nil, d.slope, b, values[j], l.kernelParams, l.row(j), l.row(row))
			}
		}
		visit(i, k, 1, d.slope)
	}
}

// tangent returns the derivatives of β and b along the direction t. It stores the derivative of β
// in dbeta.
func (l *kernelSVMFit) tangent(d *kernelDerivative, t *learn.Grad) (dbeta []float64, db float64, err error) {
	q, n := &l.q, l.q.n
	d.dbeta = dense.Zeros(d.dbeta, n)
	if !learner.Wants(t) {
		return d.dbeta, 0, nil
	}
	if err := l.fitter.begin(d, t); err != nil {
		return nil, 0, err
	}
	determines := func(row int) bool { return slices.Contains(d.conditions, row) }
	if err := l.rows.CheckEqual(t, l.state.Data.Y, determines, func(int) bool { return true }); err != nil {
		return nil, 0, err
	}
	d.ty, d.tx = dense.Zeros(d.ty, n), dense.Zeros(d.tx, n*l.n)
	for i, k := range l.rows.Of {
		if k < 0 {
			continue
		}
		share := l.rows.Share(i, k)
		if t.Y != nil {
			d.ty[k] += share * t.Y[i]
		}
		if t.X != nil {
			dense.Axpy(share, t.X.RawRowView(i), d.tx[k*l.n:(k+1)*l.n])
		}
	}
	// β of a bounded row is C·copies·y.
	sum := 0.0
	for i, b := range d.beta {
		if q.atC(i, b) {
			v := l.c * d.ty[i]
			if t.Hyper != nil {
				v += t.Hyper[0] * q.y[i]
			}
			d.dbeta[i] = v * l.rows.Copies[i]
			sum -= d.dbeta[i]
		}
	}
	// The system is K_FF·dβ_F + db·1 = −dy_F − dK_F·β − K_FU·dβ_U, and Σdβ = 0 with Intercept.
	d.z = dense.Grow(d.z, len(d.conditions))
	for at, i := range d.conditions {
		row := q.rows.readRow(&d.fullRow, i, n)
		d.z[at] = -d.ty[i] - dense.Dot(row, d.dbeta)
		for j, b := range d.beta {
			if b != 0 {
				d.z[at] -= d.kernelTangent(&l.kernelMachine, t, rowOf(t, d.tx, i, l.n), rowOf(t, d.tx, j, l.n), b, row[j], l.row(i), l.row(j))
			}
		}
	}
	if len(d.freeSet) == 0 {
		for _, v := range d.z {
			db += v / 2
		}
		return d.dbeta, db, nil
	}
	db = d.solve(l, d.z, sum)
	dense.Scatter(d.dbeta, d.z, d.freeSet)
	return d.dbeta, db, nil
}
