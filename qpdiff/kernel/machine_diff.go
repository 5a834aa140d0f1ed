package kernel

import (
	"cmp"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// learner returns the learner that errors name. Before the first Load, it returns a nil *Machine.
func (l *kernelMachine) learner() any { return cmp.Or[any](l.fitter, (*Machine)(nil)) }

// Model returns a copy of the prediction function of the last fit. For an [SVM] the copy has only
// the support vectors. If there is no fit, Model returns ErrNotFitted.
func (l *kernelMachine) Model() (*Model, error) {
	if err := l.state.Fitted(); err != nil {
		return nil, learner.Named(l.learner(), err)
	}
	m := &Model{Kernel: l.kernel, Params: append([]float64{}, l.kernelParams...), Intercept: l.b}
	if len(l.support) > 0 {
		m.X = mat.NewDense(len(l.support), l.n, nil)
	}
	for k, i := range l.support {
		m.X.SetRow(k, l.row(i))
		m.Coef = append(m.Coef, l.coef[i])
	}
	return m, nil
}

// VJP differentiates the last fit. It adds dthetaᵀ·∂b/∂input to each field of g that is not nil. It
// returns the same errors as PredictVJP.
func (l *kernelMachine) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l.learner(), &err)
	d := qpdiff.Scratch[kernelDerivative](w)
	d.adjointFit = 0
	if err := l.state.CheckAdjoint(g, dtheta); err != nil || !learner.Wants(g) {
		return err
	}
	if err := d.startProduct(l, g); err != nil {
		return err
	}
	var db float64
	if len(dtheta) > 0 {
		db = dtheta[0]
	}
	return l.fitter.finish(d, g, db)
}

// JVP differentiates the last fit. It sets dtheta to the derivative of b along the direction d. The
// fields of d are tangents of the inputs; a nil field counts as zero. JVP returns the same errors
// as PredictVJP.
func (l *kernelMachine) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l.learner(), &err)
	if err := l.state.CheckForward(dtheta, d); err != nil {
		return err
	}
	_, db, err := l.fitter.tangent(qpdiff.Scratch[kernelDerivative](w), d)
	if err != nil {
		return err
	}
	dense.Fill(dtheta, db)
	return learner.CheckTangentOut(dtheta)
}

// Predict writes the prediction for each row of x to dst. For an [SVM] the prediction is the
// decision value. If the workspace w is not nil, it keeps the kernel's values for a later
// PredictVJP or PredictJVP at the same rows. If there is no fit, Predict returns ErrNotFitted. If x
// cannot be used, it returns an ArgError of kind ErrShape or ErrNotFinite. If a value overflows, it
// returns an ArgError of kind ErrNotFinite, and dst is undefined from the row of this value on.
func (l *kernelMachine) Predict(w *qpdiff.Workspace, dst []float64, x *mat.Dense) (err error) {
	defer learner.Name(l.learner(), &err)
	var keep *kernelValues
	if w != nil {
		keep = &qpdiff.Scratch[kernelDerivative](w).values
	}
	return l.predict(keep, dst, x)
}

// PredictVJP differentiates Σ_t ddst_t·f(x_t), where f(x_t) is the prediction for row t of x. To
// each field of g that is not nil, it adds the derivative with respect to the input that the field
// belongs to. If dx is not nil, it adds the derivative with respect to x to dx. At λ = 0, the
// derivative of a [Ridge] with respect to λ is one-sided, from the right. If training rows of an
// [SVM] are equal, g.X and g.Y hold the derivative along moves that keep these rows equal.
// [SVM.Ties] lists the pairs of rows for which this matters.
//
// Errors:
//
//   - ErrNotFitted: the learner has no fit.
//   - An ArgError of kind ErrShape or ErrNotFinite: x cannot be used.
//   - ErrNotFinite: ddst is not finite, or a product overflows, which leaves g and dx
//     undefined.
//   - A NotDifferentiableError that names rows: strict complementarity fails at these rows of
//     an SVM, and Generalised is not set.
//   - An ArgError of kind ErrIllPosed: rounding hides whether strict complementarity fails at
//     rows of an SVM, and may have moved the β of these rows by more than a thousandth of
//     their bounds. Generalised does not prevent this error.
func (l *kernelMachine) PredictVJP(w *qpdiff.Workspace, g *learn.Grad, dx, x *mat.Dense, ddst []float64) (err error) {
	defer learner.Name(l.learner(), &err)
	d := qpdiff.Scratch[kernelDerivative](w)
	d.adjointFit = 0
	if err := l.checkAdjointRows(g, dx, x, ddst); err != nil {
		return err
	}
	wanted := learner.Wants(g)
	if wanted {
		if err := d.startProduct(l, g); err != nil {
			return err
		}
	}
	db := d.predictions(l, g, dx, x, ddst)
	if wanted {
		if err := l.fitter.finish(d, g, db); err != nil {
			return err
		}
	}
	return learner.CheckProduct(&learn.Grad{X: dx})
}

// PredictJVP differentiates the last fit. It sets each dst_t to the derivative of f(x_t), the
// prediction for row t of x, along d and dx. The fields of d are tangents of the inputs of the fit,
// and dx is the tangent of x. A nil tangent counts as zero. PredictJVP returns the same errors as
// PredictVJP, but ErrNotFinite is for d and dx in place of ddst. If a value overflows, dst is
// undefined.
//
// For an [SVM], PredictJVP also returns an ArgError of kind ErrNotDifferentiable if the direction d
// separates equal rows and one of two conditions holds. Either only the sum of the rows' dual
// variables β is unique, or all β are at a bound, and the rows determine an end of the interval of
// b.
func (l *kernelMachine) PredictJVP(w *qpdiff.Workspace, dst []float64, x, dx *mat.Dense, d *learn.Grad) (err error) {
	defer learner.Name(l.learner(), &err)
	if err := l.checkForwardRows(dst, x, dx, d); err != nil {
		return err
	}
	s := qpdiff.Scratch[kernelDerivative](w)
	dcoef, db, err := l.fitter.tangent(s, d)
	if err != nil {
		return err
	}
	s.predictionsAlong(l, dst, x, dx, d, dcoef, db)
	return learner.CheckTangentOut(dst)
}

// derivativeEntries returns the number of entries of a kernelDerivative for m rows of n features.
// This includes the kernel's values that a call of Predict keeps if it has npredicted rows.
func derivativeEntries(m, n, npredicted float64) float64 {
	return 2*m*n + 12*m + 5*n + npredicted*(n+m)
}

// startProduct prepares d for a product.
func (d *kernelDerivative) startProduct(l *kernelMachine, g *learn.Grad) error {
	if err := l.fitter.begin(d, g); err != nil {
		return err
	}
	d.clearSums(l)
	return nil
}

// clearSums clears the sums of a product.
func (d *kernelDerivative) clearSums(l *kernelMachine) {
	n := len(l.coef)
	d.v = dense.Zeros(d.v, n)
	d.gx, d.dparams = dense.Zeros(d.gx, n*l.n), dense.Zeros(d.dparams, len(l.kernelParams))
}

// valuesAt returns the kernel's values between row t of x and the support vectors. If the last
// Predict had the same fit and the same rows, these are the values that it kept.
func (d *kernelDerivative) valuesAt(l *kernelMachine, t int, x *mat.Dense) []float64 {
	width, xt := l.n+len(l.support), x.RawRowView(t)
	if kept := d.values.values; d.values.fit == l.state.Fit && len(kept) == x.RawMatrix().Rows*width {
		if kept = kept[t*width:]; slices.Equal(kept[:l.n], xt) {
			return kept[l.n:width]
		}
	}
	d.supportRow = dense.Grow(d.supportRow, len(l.support))
	l.values(d.supportRow, l.kernelParams, xt, l.support)
	return d.supportRow
}

// predictions differentiates Σ_t ddst_t·f(x_t), where f(x_t) is the prediction for row t of x. It
// returns the cotangent of b. It adds derivatives to dx, to the sums in d, and to d.v, the
// cotangent of coef. It leaves out derivatives that g does not need.
//
// If g needs only derivatives with respect to the hyperparameters, predictions skips each row for
// which holdsPrediction is true. The derivatives for such a row are exactly 0, but their computed
// sums would contain rounding errors.
func (d *kernelDerivative) predictions(l *kernelMachine, g *learn.Grad, dx, x *mat.Dense, ddst []float64) (db float64) {
	wanted := learner.Wants(g)
	inputs := g.X != nil || g.Hyper != nil || dx != nil
	hyperOnly := wanted && g.X == nil && g.Y == nil && dx == nil
	for t, dt := range ddst {
		if dt == 0 {
			continue
		}
		xt := x.RawRowView(t)
		if hyperOnly && l.fitter.holdsPrediction(d, xt) {
			continue
		}
		db += dt
		values := d.valuesAt(l, t, x)
		var dxt []float64
		if dx != nil {
			dxt = dx.RawRowView(t)
		}
		d.s = dense.Grow(d.s, len(l.support))
		for at, i := range l.support {
			if wanted {
				d.v[i] += dt * values[at]
			}
			d.s[at] = dt * l.coef[i]
		}
		if inputs {
			d.addGradients(l, g, dxt, values, xt, l.support)
		}
	}
	return db
}

// predictionsAlong sets dst to the derivatives of the predictions for the rows of x. The tangent of
// the fit's inputs is t, and the tangent of x is dx. dcoef and db are the tangents of coef and b.
func (d *kernelDerivative) predictionsAlong(l *kernelMachine, dst []float64, x, dx *mat.Dense, t *learn.Grad, dcoef []float64, db float64) {
	for s := range dst {
		dst[s] = db
		xs := x.RawRowView(s)
		values := d.valuesAt(l, s, x)
		var dxs []float64
		if dx != nil {
			dxs = dx.RawRowView(s)
		}
		for at, i := range l.support {
			dst[s] += dcoef[i]*values[at] + d.kernelTangent(l, t, rowOf(t, d.tx, i, l.n), dxs, l.coef[i], values[at], l.row(i), xs)
		}
	}
}

// addGradients differentiates kernel values between x and other rows: values[k] belongs to row
// rows[k]. It multiplies the derivative of values[k] by s[k]. It adds the products to the sums in d
// for the fields of g that are not nil. If dx is not nil, it also adds the products for x to dx.
func (d *kernelDerivative) addGradients(l *kernelMachine, g *learn.Grad, dx, values, x []float64, rows []int) {
	l.state.Stop.Look()
	dparams := d.dparamsOf(g)
	if a, ok := l.kernel.(ARD); ok {
		d.addWeighted(l, a, g, dx, values, x, rows)
		return
	}
	if !isRBF(l.kernel) {
		for k, i := range rows {
			l.kernel.Grad(dparams, rowOf(g, d.gx, i, l.n), dx, d.s[k], values[k], l.kernelParams, l.row(i), x)
		}
		return
	}
	if g.X != nil || dx != nil {
		d.addRows(l, g, dx, values, x, rows)
	}
	if dparams == nil {
		return
	}
	d.distances = dense.Grow(d.distances, len(rows))
	l.distances(d.distances, l.kernelParams, x, rows)
	sum, distances := dparams[0], d.distances[:len(values)]
	for k, s := range d.s[:len(values)] {
		if s *= values[k]; s != 0 { // the distance may overflow, which makes the value 0
			sum -= s * distances[k]
		}
	}
	dparams[0] = sum
}

// addRows does the work of addGradients for an RBF kernel, but only for derivatives with respect to
// the rows and in x.
func (d *kernelDerivative) addRows(l *kernelMachine, g *learn.Grad, dx, values, x []float64, rows []int) {
	for k, i := range rows {
		s := d.s[k] * values[k]
		if s == 0 {
			continue // also if the distance overflows
		}
		s *= -2 * l.kernelParams[0]
		row := l.row(i)
		gx := rowOf(g, d.gx, i, l.n)
		if dx == nil {
			for j, v := range x[:len(row)] {
				gx[j] += s * (row[j] - v)
			}
			continue
		}
		for j, v := range x[:len(row)] {
			v = s * (row[j] - v)
			if dx[j] -= v; gx != nil {
				gx[j] += v
			}
		}
	}
}

// addWeighted is addGradients for an ARD kernel.
func (d *kernelDerivative) addWeighted(l *kernelMachine, a ARD, g *learn.Grad, dx, values, x []float64, rows []int) {
	if len(rows) == 0 {
		return
	}
	d.distances = dense.Grow(d.distances, len(rows))
	slopes := d.distances
	if a.Shape != Gaussian {
		l.distances(slopes, l.kernelParams, x, rows)
	}
	a.Shape.slopes(slopes, d.s[:len(rows)], values[:len(rows)])
	if g.Hyper != nil {
		a.addSquares(d.dparams, slopes, x, l.columns, l.nrows, rows)
	}
	if g.X == nil && dx == nil {
		return
	}
	for k, i := range rows {
		s := 2 * slopes[k]
		if s == 0 {
			continue // also if the distance overflows
		}
		row, gx := l.row(i), rowOf(g, d.gx, i, l.n)
		for j, v := range row {
			v = s * l.kernelParams[a.group(j)] * (v - x[j])
			if gx != nil {
				gx[j] += v
			}
			if dx != nil {
				dx[j] -= v
			}
		}
	}
}

func (d *kernelDerivative) dparamsOf(g *learn.Grad) []float64 {
	if g.Hyper == nil {
		return nil
	}
	return d.dparams
}

// rowOf returns rows[i·n : (i+1)·n], or nil if g.X is nil.
func rowOf(g *learn.Grad, rows []float64, i, n int) []float64 {
	if g.X == nil {
		return nil
	}
	return rows[i*n : (i+1)*n]
}

// kernelTangent returns s times the derivative of k(x, z) along three tangents: t for the kernel's
// parameters, dx for x and dz for z. A nil tangent counts as zero. The parameter value is k(x, z).
func (d *kernelDerivative) kernelTangent(l *kernelMachine, t *learn.Grad, dx, dz []float64, s, value float64, x, z []float64) float64 {
	var dparams []float64
	if t.Hyper != nil {
		dparams = t.Hyper[1:]
	}
	if dparams == nil && dx == nil && dz == nil {
		return 0
	}
	// gradient returns zeros with the length of the tangent, or nil if the tangent is nil.
	gradient := func(store *[]float64, tangent []float64) []float64 {
		if tangent == nil {
			return nil
		}
		*store = dense.Zeros(*store, len(tangent))
		return *store
	}
	gp, gx, gz := gradient(&d.dparams, dparams), gradient(&d.gradX, dx), gradient(&d.gradZ, dz)
	l.kernel.Grad(gp, gx, gz, s, value, l.kernelParams, x, z)
	return dense.Dot(gp, dparams) + dense.Dot(gx, dx) + dense.Dot(gz, dz)
}
