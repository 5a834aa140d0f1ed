package kernel

import (
	"cmp"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// kernelMachine is the part that kernel machines share: the prediction
// f(x) = Σ_i coef_i·k(x_i, x) + b for rows x_i.
type kernelMachine struct {
	state        learner.State
	n            int       // features
	points       []float64 // the rows x_i, of stride entries each
	stride       int
	kernel       Kernel    // as of the last Load
	kernelParams []float64 // that the kernel matrix belongs to
	stale        bool      // the kernel matrix does not belong to the rows
	coef         []float64
	b            float64
	support      []int // ascending: the rows whose coef is not 0, or has a derivative
}

// row is x_k.
func (l *kernelMachine) row(k int) []float64 { return l.points[k*l.stride : k*l.stride+l.n] }

// checkHyper checks the first hyperparameter, which first does for a finite one, and
// the kernel's parameters.
func (l *kernelMachine) checkHyper(hyper []float64, name string, first func(v float64) error) error {
	if len(hyper) != l.state.Hypers {
		return check.ArgErrorf("hyper", qpdiff.ErrShape, "give "+name+" and the kernel's parameters", "has %d entries instead of %d", len(hyper), l.state.Hypers)
	}
	if err := check.Finite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	return cmp.Or(first(hyper[0]), l.kernel.Check(hyper[1:]))
}

// gram sets k to the kernel matrix of the rows, whose numbers in the data are of, unless
// it is that already, and returns its largest diagonal entry.
func (l *kernelMachine) gram(k []float64, of []int, params []float64) (changed bool, largest float64, err error) {
	if !l.stale && slices.Equal(params, l.kernelParams) {
		return false, 0, nil
	}
	l.stale = true
	n := len(of)
	sum := 0.0
	for i := range n {
		x := l.row(i)
		for j := i; j < n; j++ {
			v := l.kernel.Eval(params, x, l.row(j))
			k[i*n+j], k[j*n+i] = v, v
			sum += math.Abs(v)
		}
		d := k[i*n+i]
		largest = max(largest, d)
		if d < 0 {
			return true, 0, check.ArgErrorf("Kernel", qpdiff.ErrNonconvex, "use a positive semidefinite kernel", "is %v between row %d and itself", d, of[i])
		}
	}
	if !dense.Finite(4 * sum) { // the curvature along a pair of rows sums four values
		return true, 0, check.ArgErrorf("Kernel", qpdiff.ErrNotFinite, "scale the features or change the kernel's parameters", "overflows or is not a number on the training rows")
	}
	l.stale = false
	l.kernelParams = append(l.kernelParams[:0], params...)
	return true, largest, nil
}

// kernelValues are the kernel's values of a Predict: for each row of x its features,
// then its values with the support vectors.
type kernelValues struct {
	fit    uint64 // the number of the fit
	values []float64
}

// predict writes the decision value of each row of x to dst, and the kernel's values
// to keep, unless that is nil or x is longer than the data.
func (l *kernelMachine) predict(keep *kernelValues, dst []float64, x *mat.Dense) error {
	if err := l.checkRows(x, nil, "dst", dst); err != nil {
		return err
	}
	if len(dst) > len(l.coef) {
		keep = nil
	}
	if keep != nil {
		keep.fit, keep.values = l.state.Fit, keep.values[:0]
	}
	for t := range dst {
		f := l.b
		xt := x.RawRowView(t)
		if keep != nil {
			keep.values = append(keep.values, xt...)
		}
		for _, i := range l.support {
			k := l.kernel.Eval(l.kernelParams, l.row(i), xt)
			f += l.coef[i] * k
			if keep != nil {
				keep.values = append(keep.values, k)
			}
		}
		dst[t] = f
		if !dense.Finite(f) {
			return check.ArgErrorf("x", qpdiff.ErrNotFinite, "scale the features or change the kernel's parameters", "has a row %d whose decision value is %v", t, f)
		}
	}
	return nil
}

// PredictionSize returns the sum of the moduli of the terms of the prediction for the row x,
// of as many features as the data has, at the last Fit: the rounding of the prediction is
// relative to it. It is 0 before the first Fit. It costs one value of the kernel for each
// support row.
func (l *kernelMachine) PredictionSize(x []float64) float64 {
	size := math.Abs(l.b)
	for _, i := range l.support {
		size += math.Abs(l.coef[i] * l.kernel.Eval(l.kernelParams, l.row(i), x))
	}
	return size
}

// checkRows checks the rows x of a Predict or of its derivative, one for each entry
// of the argument arg, and the shape of dx, unless that is nil.
func (l *kernelMachine) checkRows(x, dx *mat.Dense, arg string, values []float64) error {
	if err := l.state.Fitted(); err != nil {
		return err
	}
	if err := checkColumns(x, l.n); err != nil {
		return err
	}
	r, c := x.Dims()
	if err := check.FiniteRows("x", "remove or impute the entry", x); err != nil {
		return err
	}
	check.Length(arg, values, r)
	check.Matrix("dx", dx, r, c)
	return nil
}

// checkAdjointRows checks the arguments of a derivative of predictions.
func (l *kernelMachine) checkAdjointRows(g *learn.Grad, dx, x *mat.Dense, ddst []float64) error {
	if err := l.checkRows(x, dx, "ddst", ddst); err != nil {
		return err
	}
	return cmp.Or(l.state.CheckShape("g", g), check.Finite("ddst", "give a finite cotangent", ddst))
}

// checkForwardRows checks the arguments of a derivative of predictions along t and dx.
func (l *kernelMachine) checkForwardRows(dst []float64, x, dx *mat.Dense, t *learn.Grad) error {
	if err := l.checkRows(x, dx, "dst", dst); err != nil {
		return err
	}
	if err := l.state.CheckShape("d", t); err != nil {
		return err
	}
	return cmp.Or(learner.CheckTangent(t), check.FiniteRows("dx", "give a finite tangent", dx))
}

// kernelScratch is the scratch that the derivatives of kernel machines share.
type kernelScratch struct {
	v            []float64 // cotangent of coef
	gx, tx       []float64 // cotangent and tangent of the rows x_i
	dparams      []float64 // cotangent of the kernel's parameters
	gradX, gradZ []float64 // gradient of one kernel value

	values kernelValues
	row    []float64 // the kernel's values of one row with the support
}

// start clears the sums of a product.
func (d *kernelScratch) start(l *kernelMachine) {
	n := len(l.coef)
	d.v = dense.Zeros(d.v, n)
	d.gx, d.dparams = dense.Zeros(d.gx, n*l.n), dense.Zeros(d.dparams, len(l.kernelParams))
}

// valuesAt returns the kernel's values of row t of x with the support vectors: those
// that the Predict before has kept, if it was of this fit and these rows.
func (d *kernelScratch) valuesAt(l *kernelMachine, t int, x *mat.Dense) []float64 {
	width, xt := l.n+len(l.support), x.RawRowView(t)
	if kept := d.values.values; d.values.fit == l.state.Fit && len(kept) == x.RawMatrix().Rows*width {
		if kept = kept[t*width:]; slices.Equal(kept[:l.n], xt) {
			return kept[l.n:width]
		}
	}
	d.row = d.row[:0]
	for _, i := range l.support {
		d.row = append(d.row, l.kernel.Eval(l.kernelParams, l.row(i), xt))
	}
	return d.row
}

// predictions adds the derivative of Σ_t ddst_t·f(x_t) at fixed coef and b to dx, to the
// sums of d and, unless those are not wanted, to the cotangent v of coef. It returns
// that of b.
func (d *kernelScratch) predictions(l *kernelMachine, g *learn.Grad, dx, x *mat.Dense, ddst []float64) (db float64) {
	wanted := learner.Wants(g)
	inputs := g.X != nil || g.Hyper != nil || dx != nil
	for t, dt := range ddst {
		if dt == 0 {
			continue
		}
		db += dt
		xt := x.RawRowView(t)
		values := d.valuesAt(l, t, x)
		var dxt []float64
		if dx != nil {
			dxt = dx.RawRowView(t)
		}
		for at, i := range l.support {
			if wanted {
				d.v[i] += dt * values[at]
			}
			if inputs {
				l.kernel.Grad(d.dparamsOf(g), rowOf(g, d.gx, i, l.n), dxt, dt*l.coef[i], values[at], l.kernelParams, l.row(i), xt)
			}
		}
	}
	return db
}

// predictionsAlong sets dst to the derivative of f(x_t) along t, dx, the tangent dcoef
// of coef and db of b.
func (d *kernelScratch) predictionsAlong(l *kernelMachine, dst []float64, x, dx *mat.Dense, t *learn.Grad, dcoef []float64, db float64) {
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

func (d *kernelScratch) dparamsOf(g *learn.Grad) []float64 {
	if g.Hyper == nil {
		return nil
	}
	return d.dparams
}

// rowOf returns the distinct row i of rows, or nil where X is not wanted of g.
func rowOf(g *learn.Grad, rows []float64, i, n int) []float64 {
	if g.X == nil {
		return nil
	}
	return rows[i*n : (i+1)*n]
}

// kernelTangent returns s times the derivative of k(x, z) = value along the kernel
// parameters' part of t and along dx and dz, each unless it is nil.
func (d *kernelScratch) kernelTangent(l *kernelMachine, t *learn.Grad, dx, dz []float64, s, value float64, x, z []float64) float64 {
	var dparams []float64
	if t.Hyper != nil {
		dparams = t.Hyper[1:]
	}
	if dparams == nil && dx == nil && dz == nil {
		return 0
	}
	// Zeroed storage as long as the tangent, and nil where that is.
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
