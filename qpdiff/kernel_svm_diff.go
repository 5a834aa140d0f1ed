package qpdiff

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// kernelDerivative is the scratch of a kernel machine's derivatives.
type kernelDerivative struct {
	// Of the fit with the number fit, without its weakly active rows:
	fit        uint64
	beta       []float64  // by distinct row: its β, with weakly active ones at a bound
	free       []int      // rows of the free set
	conditions []int      // the rows whose conditions determine β of the free set and b
	factor     freeFactor // of free, where rows are weakly active

	product uint64    // the number of the fit of the last adjoint
	w, dy   []float64 // by distinct row: adjoint solution, cotangent of y
	slope   []float64 // of the decision function at a row

	dbeta, ty, z []float64 // by distinct row: tangents of β and y; right-hand side

	kernelScratch
}

// begin checks that there is a derivative with respect to the fields of g, and
// prepares d for the fit.
func (d *kernelDerivative) begin(l *kernelSVMFit, generalised bool, g *Grad) error {
	q := &l.q
	if len(l.weak) > 0 {
		if l.blur > decisionTol {
			return argErrorf("Data", ErrIllPosed, remedyForDecisions, "is so ill-conditioned that rounding hides which rows are weakly active: it may have moved their β by %.2g of their bounds", l.blur)
		}
		if !generalised {
			var weak Weak
			for _, k := range l.weak {
				weak.Rows = append(weak.Rows, l.rows.first[k])
			}
			return notDifferentiable(g, weak, "move the hyperparameters, or set Generalised", "C", "kernel parameters")
		}
	}
	if d.fit == l.state.fit {
		return nil
	}
	d.fit, d.product = 0, 0
	d.beta, d.free = grow(d.beta, q.n), append(grow(d.free, q.n)[:0], q.free...)
	copy(d.beta, q.beta)
	if len(l.weak) > 0 {
		for _, i := range l.weak {
			if d.beta[i]-q.lo[i] < q.hi[i]-d.beta[i] {
				d.beta[i] = q.lo[i]
			} else {
				d.beta[i] = q.hi[i]
			}
		}
		d.free = slices.DeleteFunc(d.free, func(j int) bool {
			_, weak := slices.BinarySearch(l.weak, j)
			return weak
		})
		if q.factorise(&d.factor, d.free, 0) < len(d.free) {
			return argErrorf("Data", ErrIllPosed, "lower C or drop examples", "gives a kernel matrix that is singular to machine precision")
		}
	}
	d.conditions = append(d.conditions[:0], d.free...)
	if len(d.free) == 0 && q.balanced {
		// b is differentiated as the middle of the interval that is left. It has two
		// ends, unless a thousandth of one row's bound is more than those of the others.
		up, down := q.between(d.beta)
		if up < 0 || down < 0 {
			return argErrorf("Data", ErrIllPosed, remedyForDecisions, "is so ill-conditioned that rounding hides which rows are weakly active")
		}
		d.conditions = append(d.conditions, up, down)
	}
	d.fit = l.state.fit
	return nil
}

// solve replaces x by the solution w of K_FF·w + b·1 = x and, with Intercept, 1ᵀw = sum
// on the free set F, and returns b.
func (d *kernelDerivative) solve(l *kernelSVMFit, x []float64, sum float64) float64 {
	if len(l.weak) > 0 {
		return d.factor.solve(x, sum)
	}
	return l.q.factor.solve(x, sum)
}

// adjoint is [KernelSVM.VJP].
func (d *kernelDerivative) adjoint(l *kernelSVMFit, generalised bool, g *Grad, dtheta []float64) error {
	d.product = 0
	if err := l.state.checkAdjoint(g, dtheta); err != nil || !wants(g) {
		return err
	}
	if err := d.start(l, generalised, g); err != nil {
		return err
	}
	var db float64
	if len(dtheta) > 0 {
		db = dtheta[0]
	}
	return d.finish(l, g, db)
}

// adjointPredict is [KernelSVM.PredictVJP].
func (d *kernelDerivative) adjointPredict(l *kernelSVMFit, generalised bool, g *Grad, dx, x *mat.Dense, ddst []float64) error {
	d.product = 0
	if err := l.checkAdjointRows(g, dx, x, ddst); err != nil {
		return err
	}
	if wants(g) {
		if err := d.start(l, generalised, g); err != nil {
			return err
		}
	}
	db := d.predictions(&l.kernelMachine, g, dx, x, ddst)
	if wants(g) {
		if err := d.finish(l, g, db); err != nil {
			return err
		}
	}
	return checkProduct(&Grad{X: dx})
}

// start prepares d for a product, and clears its sums.
func (d *kernelDerivative) start(l *kernelSVMFit, generalised bool, g *Grad) error {
	if err := d.begin(l, generalised, g); err != nil {
		return err
	}
	n := l.q.n
	d.w, d.dy = zeros(d.w, n), zeros(d.dy, n)
	d.kernelScratch.start(&l.kernelMachine)
	d.product = l.state.fit
	g.Generalised = g.Generalised || len(l.weak) > 0
	return nil
}

// finish goes back through the fit, from the cotangents v of β and db of b.
func (d *kernelDerivative) finish(l *kernelSVMFit, g *Grad, db float64) error {
	// K_FF·w + ω·1 = v_F, and 1ᵀw = db with Intercept.
	d.z = grow(d.z, len(d.free))
	var omega float64
	if len(d.free) > 0 {
		gather(d.z, d.v, d.free)
		omega = d.solve(l, d.z, db)
		scatter(d.w, d.z, d.free)
	} else {
		for _, i := range d.conditions {
			d.w[i] += db / 2
		}
	}
	d.throughFit(l, g, omega)
	return checkProduct(g)
}

// throughFit adds to g what the adjoint solution w, ω makes of the training
// rows' kernel values, labels and C.
func (d *kernelDerivative) throughFit(l *kernelSVMFit, g *Grad, omega float64) {
	q, n := &l.q, l.q.n
	inputs := g.X != nil || g.Hyper != nil
	var dc float64
	for i, w := range d.w {
		if w != 0 {
			d.dy[i] -= w
			row := q.k[i*n : (i+1)*n]
			axpy(-w, row, d.v)
			if inputs {
				xi := l.row(i)
				for j, b := range d.beta {
					if b != 0 {
						l.kernel.Grad(d.dparamsOf(g), g.rowOf(d.gx, i, l.n), g.rowOf(d.gx, j, l.n), -w*b, row[j], l.kernelParams, xi, l.row(j))
					}
				}
			}
		}
	}
	// β of a bounded row is C·copies·y.
	for i, b := range d.beta {
		if q.atC(i, b) {
			v := (d.v[i] - omega) * l.rows.copies[i]
			dc += v * q.y[i]
			d.dy[i] += v * l.c
		}
	}
	if g.Hyper != nil {
		g.Hyper[0] += dc
		axpy(1, d.dparams, g.Hyper[1:])
	}
	for i, k := range l.rows.of {
		if k < 0 {
			continue
		}
		share := l.share(i, k)
		if g.Y != nil {
			g.Y[i] += share * d.dy[k]
		}
		if g.X != nil {
			axpy(share, d.gx[k*l.n:(k+1)*l.n], g.X.RawRowView(i))
		}
	}
}

// ties is [KernelSVM.Ties].
func (d *kernelDerivative) ties(l *kernelSVMFit, visit func(i, k int, sign float64, dir []float64) bool) {
	if l.state.fit == 0 || d.product != l.state.fit || len(l.rows.first) == len(l.rows.of) {
		return
	}
	for k, row := range l.rows.of {
		if row < 0 || l.rows.first[row] == k {
			continue
		}
		i := l.rows.first[row]
		// With other shares of β and of w, the cotangents of the copies differ by
		// multiples of gx and of w times the slope, or of the latter alone.
		if _, free := slices.BinarySearch(d.free, row); free && !visit(i, k, 1, d.gx[row*l.n:(row+1)*l.n]) || d.w[row] == 0 {
			continue
		}
		d.slope = zeros(d.slope, l.n) // the gradient of the decision function
		for j, b := range d.beta {
			if b != 0 {
				l.kernel.Grad(nil, nil, d.slope, b, l.q.k[j*l.q.n+row], l.kernelParams, l.row(j), l.row(row))
			}
		}
		visit(i, k, 1, d.slope)
	}
}

// forward is [KernelSVM.JVP].
func (d *kernelDerivative) forward(l *kernelSVMFit, generalised bool, dtheta []float64, t *Grad) error {
	if err := l.state.checkForward(dtheta, t); err != nil {
		return err
	}
	db, err := d.tangent(l, generalised, t)
	if err != nil {
		return err
	}
	fill(dtheta, db)
	return checkTangentOut(dtheta)
}

// forwardPredict is [KernelSVM.PredictJVP].
func (d *kernelDerivative) forwardPredict(l *kernelSVMFit, generalised bool, dst []float64, x, dx *mat.Dense, t *Grad) error {
	if err := l.checkForwardRows(dst, x, dx, t); err != nil {
		return err
	}
	db, err := d.tangent(l, generalised, t)
	if err != nil {
		return err
	}
	d.predictionsAlong(&l.kernelMachine, dst, x, dx, t, d.dbeta, db)
	return checkTangentOut(dst)
}

// tangent sets dbeta to the derivative of β along t and returns that of b.
func (d *kernelDerivative) tangent(l *kernelSVMFit, generalised bool, t *Grad) (db float64, err error) {
	q, n := &l.q, l.q.n
	d.dbeta = zeros(d.dbeta, n)
	if !wants(t) {
		return 0, nil
	}
	if err := d.begin(l, generalised, t); err != nil {
		return 0, err
	}
	if err := d.checkEqual(l, t); err != nil {
		return 0, err
	}
	d.ty, d.tx = zeros(d.ty, n), zeros(d.tx, n*l.n)
	for i, k := range l.rows.of {
		if k < 0 {
			continue
		}
		share := l.share(i, k)
		if t.Y != nil {
			d.ty[k] += share * t.Y[i]
		}
		if t.X != nil {
			axpy(share, t.X.RawRowView(i), d.tx[k*l.n:(k+1)*l.n])
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
			d.dbeta[i] = v * l.rows.copies[i]
			sum -= d.dbeta[i]
		}
	}
	// K_FF·dβ_F + db·1 = −dy_F − dK_F·β − K_FU·dβ_U, and Σdβ = 0 with Intercept.
	d.z = grow(d.z, len(d.conditions))
	for at, i := range d.conditions {
		d.z[at] = -d.ty[i] - dot(q.k[i*n:(i+1)*n], d.dbeta)
		for j, b := range d.beta {
			if b != 0 {
				d.z[at] -= d.kernelTangent(&l.kernelMachine, t, t.rowOf(d.tx, i, l.n), t.rowOf(d.tx, j, l.n), b, q.k[i*n+j], l.row(i), l.row(j))
			}
		}
	}
	if len(d.free) == 0 {
		for _, v := range d.z {
			db += v / 2
		}
		return db, nil
	}
	db = d.solve(l, d.z, sum)
	scatter(d.dbeta, d.z, d.free)
	return db, nil
}

// checkEqual reports equal rows, whose conditions determine β and b, that t parts.
func (d *kernelDerivative) checkEqual(l *kernelSVMFit, t *Grad) error {
	if len(l.rows.first) == len(l.rows.of) {
		return nil
	}
	for k, row := range l.rows.of {
		if row < 0 || l.rows.first[row] == k || !slices.Contains(d.conditions, row) {
			continue
		}
		i := l.rows.first[row]
		if t.Y != nil && t.Y[i] != t.Y[k] || t.X != nil && !slices.Equal(t.X.RawRowView(i), t.X.RawRowView(k)) {
			return argErrorf("d", ErrNotDifferentiable, "move them equally, or move the hyperparameters", "parts the equal rows %d and %d, which are at the kink of their loss", i, k)
		}
	}
	return nil
}
