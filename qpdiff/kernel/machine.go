package kernel

import (
	"cmp"
	"context"
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// kernelMachine holds the fields and methods that all kernel machines share. A machine predicts
// f(x) = Σ_i coef_i·k(x_i, x) + b from rows x_i.
type kernelMachine struct {
	state  learner.State
	fitter machineFit // the learner, as of the last Load
	n      int        // features
	points []float64  // the rows x_i, of stride entries each
	stride int
	// for an RBF or ARD kernel, the x_i stored by features: one block of nrows entries for each
	// feature
	columns      []float64
	nrows        int
	kernel       Kernel    // as of the last Load
	kernelParams []float64 // the parameters with which the kernel matrix was computed
	staleMatrix  bool      // the kernel matrix does not belong to the rows
	coef         []float64
	b            float64
	support      []int // the rows whose coef is not 0 or has a derivative, in ascending order
}

// A machineFit is a fit of a kernel machine. Its methods are the parts of the machine's derivatives
// that depend on the kind of fit.
type machineFit interface {
	// begin prepares d for derivatives of the fit. It returns an error if g has a field for a
	// derivative that does not exist.
	begin(d *kernelDerivative, g *learn.Grad) error
	// finish takes two cotangents: d.v is the cotangent of coef, and db is the cotangent of b. It
	// multiplies them by the derivatives of the fit, and adds the products to g. It overwrites d.v.
	finish(d *kernelDerivative, g *learn.Grad, db float64) error
	// holdsPrediction reports whether the optimality conditions of the fit give the prediction for
	// the row x as a function of the labels alone. It may be called only after a call of the method
	// begin with the same d.
	holdsPrediction(d *kernelDerivative, x []float64) bool
	// tangent returns the derivatives of coef and b along t.
	tangent(d *kernelDerivative, t *learn.Grad) (dcoef []float64, db float64, err error)
}

// kernelDerivative is the scratch of the derivatives of kernel machines.
type kernelDerivative struct {
	v            []float64 // cotangent of coef
	gx, tx       []float64 // cotangent and tangent of the rows x_i
	dparams      []float64 // cotangent of the kernel's parameters
	gradX, gradZ []float64 // gradient of one kernel value

	values     kernelValues
	supportRow []float64 // the kernel's values between one row and the support
	fullRow    []float64 // the kernel's values between one row and all rows
	s          []float64 // cotangents of the kernel's values of one row
	distances  []float64 // of one row

	z []float64 // right-hand side of a tangent

	// These fields are scratch for [Ridge.LeaveOneOutVJP]. For the matrix G see leaveOneOut. p
	// holds the cotangents ddst of the predictions, divided by the diagonal of G. q holds the
	// cotangents of this diagonal. The slice weights holds the cotangents of some columns of the
	// kernel matrix's lower triangle.
	p, q, weights []float64
	work          []float64

	// These fields are scratch for [Ridge.FoldsVJP]. u and foldCot have one entry for each fold and
	// each row with a weight above 0. foldCot holds the cotangents ddst of the predictions at the
	// rows of the fold, and 0 elsewhere. The cotangent of the kernel matrix is the sum of u·cᵀ over
	// the folds, where c has the coefficients of the fold.
	u, foldCot []float64
	// The slice solved holds G_VV⁻¹·ddst for each fold, at the places of ddst. The slice lanes is
	// scratch of its computation.
	solved, lanes []float64
	// ucPairs and cuPairs hold u and c once more, for each row: see pairUp.
	ucPairs, cuPairs []float64
	// asRow and asOther hold cotangents of the kernel values between row j and the other rows. In
	// asRow, row j is the predicted row. In asOther, the other row is the predicted row.
	asRow, asOther []float64

	// The SVM's fit fitID, without its weakly active rows:
	fitID   uint64
	beta    []float64 // for each distinct row, its dual variable β; a weakly active row has its β at a bound
	freeSet []int     // rows of the free set
	rows    []int     // the rows whose beta is not 0
	// the rows whose optimality conditions determine b and the dual variables β of the free set
	conditions []int
	factor     freeFactor // of freeSet; used if rows are weakly active

	adjointFit uint64    // the number of the fit of the last adjoint
	w, dy      []float64 // by distinct row: adjoint solution, cotangent of y
	slope      []float64 // of the decision function at a row
	dbeta, ty  []float64 // by distinct row: tangents of β and y
}

// orRBF returns k, or the RBF kernel for nil.
func orRBF(k Kernel) Kernel { return cmp.Or[Kernel](k, RBF{}) }

// dims returns the numbers of parameters and hyperparameters of a machine.
func dims(k Kernel, intercept bool, n int) (theta, hyper int) {
	if intercept {
		theta = 1
	}
	return theta, 1 + orRBF(k).NumParams(n)
}

// SetContext implements [learn.ContextLearner].
func (l *kernelMachine) SetContext(ctx context.Context) { l.state.Stop.Watch(ctx) }

// loadData takes d as the data of the learner. The caller has already checked the entries of d. If
// the kernel does not suit the features, loadData returns an error.
func (l *kernelMachine) loadData(fitter machineFit, k Kernel, intercept bool, d learn.Data) error {
	_, n := d.X.Dims()
	if err := checkFeatures(k, n); err != nil {
		return err
	}
	l.fitter, l.kernel, l.staleMatrix = fitter, orRBF(k), true
	l.n = n
	l.state.Params, l.state.Hypers = dims(k, intercept, l.n)
	l.state.Data = d
	return nil
}

// row returns x_k.
func (l *kernelMachine) row(k int) []float64 { return l.points[k*l.stride : k*l.stride+l.n] }

// transpose sets the rows x_i to the first nrows rows of the slice points. If the kernel depends on
// distances, transpose also stores the matrix of these rows column by column.
func (l *kernelMachine) transpose(nrows int) {
	l.nrows, l.columns = nrows, l.columns[:0]
	if !isDistance(l.kernel) {
		return
	}
	l.columns = dense.Grow(l.columns, nrows*l.n)
	for i := range nrows {
		for j, v := range l.row(i) {
			l.columns[j*nrows+i] = v
		}
	}
}

// The method values sets dst[k] to the kernel value of x and the row with the number rows[k]. If
// rows is nil, this is row k.
func (l *kernelMachine) values(dst, params, x []float64, rows []int) {
	if a, ok := l.kernel.(ARD); ok {
		l.distances(dst, params, x, rows)
		a.Shape.values(dst)
		return
	}
	if !isRBF(l.kernel) {
		for k := range dst {
			i := k
			if rows != nil {
				i = rows[k]
			}
			dst[k] = l.kernel.Eval(params, l.row(i), x)
		}
		return
	}
	l.distances(dst, params, x, rows)
	for k, d := range dst {
		dst[k] = math.Exp(-params[0] * d)
	}
}

// distances computes one squared distance for each entry dst[k]: the squared distance between x and
// row rows[k]. If rows is nil, it is the distance between x and row k. For an ARD kernel the
// distances depend on the parameters params. The entries of rows must ascend.
func (l *kernelMachine) distances(dst, params, x []float64, rows []int) {
	first, last := 0, len(dst)-1
	if rows != nil && last >= 0 {
		first, last = rows[0], rows[last]
	}
	if last-first < len(dst) {
		l.rangeDistances(dst, params, x, first)
		return
	}
	l.listDistances(dst, params, x, rows)
}

// rangeDistances is the method distances for the rows start, start + 1, ….
func (l *kernelMachine) rangeDistances(dst, params, x []float64, start int) {
	if a, ok := l.kernel.(ARD); ok {
		a.distances(dst, params, x, l.columns[start:], l.nrows)
		return
	}
	dense.Distances(dst, x, l.columns[start:], l.nrows)
}

// listDistances is the method distances for rows whose numbers are not consecutive.
func (l *kernelMachine) listDistances(dst, params, x []float64, rows []int) {
	// One call for a span of rows takes as long as separate calls for a quarter of these rows.
	// Therefore at least a quarter of the rows of a span are listed rows.
	var span [256]float64
	const spread = 4
	for at := 0; at < len(rows); {
		first, end := rows[at], at+1
		for end < len(rows) && rows[end]-first < min(len(span), spread*(end+1-at)) {
			end++
		}
		d := span[:rows[end-1]-first+1]
		l.rangeDistances(d, params, x, first)
		for ; at < end; at++ {
			dst[at] = d[rows[at]-first]
		}
	}
}

// checkHyper checks that the hyperparameters are finite. It then checks hyper[0] with the function
// checkFirst, and the other hyperparameters with the method Check of the kernel.
func (l *kernelMachine) checkHyper(hyper []float64, name string, checkFirst func(v float64) error) error {
	if len(hyper) != l.state.Hypers {
		return check.ArgErrorf("hyper", qpdiff.ErrShape, "give "+name+" and the kernel's parameters", "has %d entries instead of %d", len(hyper), l.state.Hypers)
	}
	if err := check.Finite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	return cmp.Or(checkFirst(hyper[0]), l.kernel.Check(hyper[1:]))
}

// gram sets k to the kernel matrix of the machine's rows, unless k already is this matrix. It also
// returns the largest entry of the diagonal. Row i of k belongs to row rowIDs[i] of the data, and
// errors name the row of the data.
func (l *kernelMachine) gram(k []float64, rowIDs []int, params []float64) (changed bool, largest float64, err error) {
	if !l.changes(params) {
		return false, 0, nil
	}
	n := len(rowIDs)
	sum := 0.0
	for i := range n {
		l.state.Stop.Look()
		values := k[i*n : i*n+i+1]
		l.values(values, params, l.row(i), nil)
		for _, v := range values {
			sum += math.Abs(v)
		}
		d := values[i]
		largest = max(largest, d)
		if d < 0 {
			return true, 0, errNegative(d, rowIDs[i])
		}
	}
	if !dense.Finite(4 * sum) { // the curvature along a pair of rows sums four values
		return true, 0, errValues
	}
	dense.Mirror(&l.state.Stop, k, n)
	l.setParams(params)
	return true, largest, nil
}

// The method named changes reports whether the stored kernel values are stale. They are stale if
// they were computed with parameters that differ from params. The values stay stale until setParams
// is called.
func (l *kernelMachine) changes(params []float64) bool {
	l.staleMatrix = l.staleMatrix || !slices.Equal(params, l.kernelParams)
	return l.staleMatrix
}

// setParams records params as the parameters of the kernel values.
func (l *kernelMachine) setParams(params []float64) {
	l.staleMatrix = false
	l.kernelParams = append(l.kernelParams[:0], params...)
}

var errValues = check.ArgErrorf("Kernel", qpdiff.ErrNotFinite, "scale the features or change the kernel's parameters", "overflows or is not a number on the training rows")

// errNegative is the error for a kernel whose value between a row and the same row is negative. The
// parameter d is this value.
func errNegative(d float64, row int) error {
	return check.ArgErrorf("Kernel", qpdiff.ErrNonconvex, "use a positive semidefinite kernel", "is %v between row %d and itself", d, row)
}

// kernelValues are the kernel's values that a Predict keeps. They have one block for each row of x:
// the row itself, followed by the kernel's values between the row and the support vectors.
type kernelValues struct {
	fit    uint64 // the number of the fit
	values []float64
}

// predict writes the decision value of each row of x to dst. If cache is not nil, and x has at most
// as many rows as the data, it also stores the kernel's values in the cache.
func (l *kernelMachine) predict(cache *kernelValues, dst []float64, x *mat.Dense) error {
	if err := l.checkRows(x, nil, "dst", dst); err != nil {
		return err
	}
	if len(dst) > len(l.coef) {
		cache = nil
	}
	if cache != nil {
		cache.fit, cache.values = l.state.Fit, dense.Grow(cache.values, len(dst)*(l.n+len(l.support)))[:0]
	}
	var chunk [256]float64
	for t := range dst {
		l.state.Stop.Look()
		f := l.b
		xt := x.RawRowView(t)
		if cache != nil {
			cache.values = append(cache.values, xt...)
		}
		for rows := range slices.Chunk(l.support, len(chunk)) {
			values := chunk[:len(rows)]
			l.values(values, l.kernelParams, xt, rows)
			for k, i := range rows {
				f += float64(l.coef[i] * values[k]) // as in Model.Predict
			}
			if cache != nil {
				cache.values = append(cache.values, values...)
			}
		}
		dst[t] = f
		if !dense.Finite(f) {
			return check.ArgErrorf("x", qpdiff.ErrNotFinite, "scale the features or change the kernel's parameters", "has a row %d whose decision value is %v", t, f)
		}
	}
	return nil
}

// PredictionSize returns the sum of the absolute values of the terms in f(x), where f is the
// prediction function of the last Fit. The rounding error of f(x) is proportional to this size. The
// row x must have as many features as the data. Before the first Fit, PredictionSize returns 0. A
// call costs one value of the kernel for each support row.
func (l *kernelMachine) PredictionSize(x []float64) float64 {
	size := math.Abs(l.b)
	for _, i := range l.support {
		size += math.Abs(l.coef[i] * l.kernel.Eval(l.kernelParams, l.row(i), x))
	}
	return size
}

// checkRows checks the rows x of a Predict or of a derivative of Predict. The slice named values
// must have one entry for each row. In errors, its name is arg. If dx is not nil, checkRows also
// checks the shape of dx.
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

// checkForwardRows checks the arguments of a derivative of predictions along the tangents t and dx.
func (l *kernelMachine) checkForwardRows(dst []float64, x, dx *mat.Dense, t *learn.Grad) error {
	if err := l.checkRows(x, dx, "dst", dst); err != nil {
		return err
	}
	if err := l.state.CheckShape("d", t); err != nil {
		return err
	}
	return cmp.Or(learner.CheckTangent(t), check.FiniteRows("dx", "give a finite tangent", dx))
}
