package kernel

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// Ridge is ridge regression with a kernel (Saunders, Gammerman and Vovk 1998):
//
//	minimise over c and b   1/N·‖y − Kc − b·1‖² + λ·cᵀKc,   K_ij = k(x_i, x_j)
//
// The prediction is f(x) = Σ_i c_i k(x_i, x) + b. Without Intercept, b is 0. With the linear kernel
// the prediction equals the prediction of [linear.ElasticNet] at λ1 = 0 and λ2 = λ. Each row is
// weighted as [learn.Data] states.
//
// The hyperparameters are λ ≥ 0, followed by the parameters of the kernel. If λ = 0 and the kernel
// matrix is regular, the prediction interpolates the labels.
//
// The prediction is not θᵀx. With Intercept, θ is the single number b; without Intercept, θ is
// empty. [Ridge.Predict] returns the prediction. [Ridge.PredictVJP] and [Ridge.PredictJVP]
// differentiate the prediction with respect to λ, the kernel's parameters, the training rows, their
// labels and the predicted rows. [Ridge.LeaveOneOut] predicts each row from the other rows.
// [Ridge.Folds] predicts the rows of each fold from the rows outside the fold.
//
// # Method
//
// Let w_i be the weight of row i, and N the sum of the weights. The solution (c, b) solves
//
//	(K + Nλ·diag(1/w))·c + b·1 = y,   with Intercept Σc = 0
//
// Rows of weight 0 have c_i = 0. With Intercept the kernel matrix is centred. Centring leaves c
// unchanged. With centring, a constant term of the kernel does not worsen the condition of the
// matrix. One Cholesky factorisation gives c and b. A fit costs N³/6 multiplications and N²/2
// values of the kernel. The values are kept while the kernel's parameters stay the same.
//
// Derivatives follow from the same system. They are exact, and exist for every fit. A VJP or JVP
// costs one solve and N²/2 gradients of the kernel.
//
// The zero value has the RBF kernel and no intercept, and is ready for Load. Fits after the first
// allocate nothing.
type Ridge struct {
	Kernel Kernel // nil: RBF. It is read by Dims and Load.
	// Intercept adds an unpenalised constant to the prediction. Dims and Load read it.
	Intercept bool

	kernelRidgeFit
	folds ridgeFolds
}

// Dims returns the numbers of parameters and hyperparameters. There is 1 parameter with Intercept,
// and no parameter without Intercept. The hyperparameters are λ and the parameters of the kernel.
func (l *Ridge) Dims(n int) (theta, hyper int) { return dims(l.Kernel, l.Intercept, n) }

// Load takes the data d, which all following fits use. It keeps a reference to d, and uses the
// fields Rows and Weights of d. It returns the errors of [learn.Data.Check]. After an error the
// learner has no data.
func (l *Ridge) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	l.dropResults()
	l.folds.prepared = false
	if d, err = l.state.Take(l, d, false); err != nil {
		return err
	}
	if err := l.loadData(l, l.Kernel, l.Intercept, d); err != nil {
		return err
	}
	l.load(l.Intercept)
	return nil
}

// Bytes implements [learn.SizedLearner]. It counts the allocations of load, of factorise and of the
// derivatives. With LeaveOneOut it also counts the inverse of the kernel matrix.
func (l *Ridge) Bytes(s learn.Size) int64 {
	rows, n, m := learner.Sizes(s)
	counts := rows // and rows
	if s.Weighted {
		counts += rows
	}
	work := float64(dense.BlockWork(s.Counting))
	entries := counts + 2*m*n + 2*m*m + 8*m + work
	if s.LeaveOneOut {
		entries += float64(dense.InverseWork(s.Counting))
		entries += (dense.BlockSize+3)*m + work // of a kernelDerivative
	}
	if len(s.Folds) > 0 {
		entries += foldEntries(s, m) + 2*rows
	}
	return learner.Entries(entries + derivativeEntries(m, n, float64(s.Predicted)))
}

// Reset forgets the last fit. The data stays loaded.
func (l *Ridge) Reset() {
	l.state.Forget()
	l.dropResults()
}

// dropResults deletes the results of the last LeaveOneOut and Folds.
func (l *Ridge) dropResults() { l.loo, l.folds.fitID = 0, 0 }

// Fit solves the problem at the hyperparameters hyper = (λ, kernel parameters…). With Intercept, it
// writes b to theta. After an error the learner has no fit, and θ is unchanged. Errors:
//
//   - An ArgError that matches ErrShape, ErrNotFinite or ErrDomain: hyper cannot be used.
//   - ErrNotFitted: no data are loaded.
//   - ErrIllPosed: the system is singular to machine precision.
//   - ErrNonconvex: the fit shows that the kernel is not positive semidefinite.
//   - ErrNotFinite: the kernel or c overflows.
func (l *Ridge) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	l.dropResults()
	if err := l.state.BeginTheta(theta, l.state.Params, l.state.Hypers); err != nil {
		return err
	}
	b, err := l.solve(hyper, 1)
	if err != nil {
		return err
	}
	l.coef, l.b = l.c, b
	dense.Fill(theta, b)
	l.state.Finish()
	return nil
}

// Residual implements [learn.VerifiedLearner]. It costs N² values of the kernel.
func (l *Ridge) Residual() (float64, error) { return learner.Measured(l, &l.state, l.violation) }

// Coefficients returns the coefficients c of the last fit, with one entry for each row of X. The
// entry of a row of weight 0 is 0. Coefficients overwrites dst, and allocates only if dst has too
// little capacity. If there is no fit, it returns ErrNotFitted.
func (l *Ridge) Coefficients(dst []float64) ([]float64, error) {
	if err := l.state.Fitted(); err != nil {
		return nil, learner.Named(l, err)
	}
	dst = dense.Zeros(dst, len(l.state.Data.Y))
	dense.Scatter(dst, l.c, l.rows)
	return dst, nil
}

// LeaveOneOut writes a prediction for each row of X to dst. The prediction for a row comes from a
// fit to the other rows at the hyperparameters hyper. The matrix of this fit has λ·(N−1) on its
// diagonal in place of λ·N. LeaveOneOut discards the last Fit. LeaveOneOutVJP differentiates the
// predictions. All N predictions together cost one factorisation and one inverse, which take N³/2
// multiplications and the memory of two N×N matrices.
//
// LeaveOneOut returns the errors of Fit. If the data have only one row, or if their field Rows or
// Weights is not nil, it returns an ArgError of kind ErrDomain. After an error, dst is unchanged.
func (l *Ridge) LeaveOneOut(dst, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	l.dropResults()
	if l.state.Forget(); l.state.Data.X == nil {
		return learner.ErrNoData
	}
	if err := learner.CheckPlain(l.state.Data, "LeaveOneOut"); err != nil {
		return err
	}
	check.Length("dst", dst, len(l.state.Data.Y))
	size := l.state.Data.Size()
	size.LeaveOneOut = true
	if err := learner.Exceeds(l.Bytes(size), l.state.Data.MaxBytes, size); err != nil {
		return err
	}
	if err := l.leaveOneOut(dst, hyper); err != nil {
		return err
	}
	l.loo = check.NewState()
	return nil
}

// LeaveOneOutVJP differentiates Σ_i ddst_i·dst_i, where dst holds the predictions of the last
// LeaveOneOut. It adds the derivatives to the fields of g that are not nil. A row of X is both a
// training row and a predicted row. LeaveOneOutVJP adds the derivative with respect to the training
// rows to g.X. If dx is not nil, it adds the derivative with respect to the predicted rows to dx.
// The derivative with respect to X is the sum of g.X and dx. LeaveOneOutVJP costs N³/2
// multiplications and N²/2 gradients of the kernel. If g.X or dx is not nil, it costs up to 5N²/2
// gradients.
//
// If LeaveOneOut was not called after the last call of Load, Fit or Reset, LeaveOneOutVJP returns
// ErrNotFitted. If ddst is not finite or a product overflows, it returns an ArgError of kind
// ErrNotFinite. An overflow leaves g and dx undefined.
func (l *Ridge) LeaveOneOutVJP(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) (err error) {
	defer learner.Name(l, &err)
	if l.state.Home.Check(); l.loo == 0 {
		return learner.ErrNoFit
	}
	if err := l.checkPredictions(g, dx, ddst, len(l.state.Data.Y)); err != nil {
		return err
	}
	return qpdiff.Scratch[kernelDerivative](w).adjointLeaveOneOut(&l.kernelRidgeFit, g, dx, ddst)
}

// FoldsAtOnce returns true.
func (*Ridge) FoldsAtOnce() bool { return true }

// Folds writes predictions to dst, fold after fold: one prediction for each row of a fold. The
// predictions for a fold come from a fit to the rows outside this fold, at the hyperparameters
// hyper. A row may be in several folds, as with random splits. Folds discards the last Fit.
// FoldsVJP differentiates the predictions.
//
// The kernel's values are computed once. Folds share one factorisation and one inverse if the rows
// outside each of them have the same total weight; the two take N³/2 multiplications together. A
// fold of v rows adds the smaller of v³/6 and (N−v)³/6 multiplications. Each fold needs the memory
// of a square matrix of at most N rows.
//
// Folds returns the errors of Fit. If a fold is invalid, it returns an ArgError of kind ErrDomain.
// A fold is invalid in each of these cases:
//
//   - It is empty.
//   - It has all rows with a weight above 0.
//   - It has a row of weight 0.
//   - It has a row twice.
//
// If the folds need more memory than the data's MaxBytes, Folds returns an ArgError of kind
// ErrTooLarge. After an error dst is unchanged.
func (l *Ridge) Folds(dst, hyper []float64, folds [][]int) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	l.dropResults()
	if l.state.Forget(); l.state.Data.X == nil {
		return learner.ErrNoData
	}
	size := l.state.Data.Size()
	size.Folds = folds
	check.Length("dst", dst, learner.Folded(folds))
	if err := learner.Exceeds(l.Bytes(size), l.state.Data.MaxBytes, size); err != nil {
		return err
	}
	if err := l.folds.prepareFolds(&l.kernelRidgeFit, folds); err != nil {
		return err
	}
	if err := l.folds.solve(&l.kernelRidgeFit, hyper); err != nil {
		return err
	}
	for k := range l.folds.parts {
		dst = dst[copy(dst, l.folds.parts[k].predicted):]
	}
	l.coef = l.c
	l.folds.fitID = check.NewState()
	return nil
}

// FoldsVJP differentiates Σ_t ddst_t·dst_t, where dst holds the predictions of the last Folds. It
// adds the derivatives to the fields of g that are not nil. A row of X is a training row for some
// folds and a predicted row for others. FoldsVJP adds the derivatives with respect to the training
// rows to g.X. If dx is not nil, it adds the derivatives with respect to the predicted rows to dx.
// K folds cost K·N² multiplications, a solve for each fold, and N²/2 gradients of the kernel. If
// g.X or dx is not nil, they cost up to 5N²/2 gradients.
//
// If Folds was not called after the last call of Load, Fit or Reset, FoldsVJP returns ErrNotFitted.
// If ddst is not finite or a product overflows, it returns an ArgError of kind ErrNotFinite. An
// overflow leaves g and dx undefined.
func (l *Ridge) FoldsVJP(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) (err error) {
	defer learner.Name(l, &err)
	if l.state.Home.Check(); l.folds.fitID == 0 {
		return learner.ErrNoFit
	}
	predicted := 0
	for k := range l.folds.parts {
		predicted += len(l.folds.parts[k].val)
	}
	if err := l.checkPredictions(g, dx, ddst, predicted); err != nil {
		return err
	}
	return qpdiff.Scratch[kernelDerivative](w).adjointFolds(&l.kernelRidgeFit, &l.folds, g, dx, ddst)
}

// checkPredictions checks the arguments of a derivative of npredicted predictions.
func (l *Ridge) checkPredictions(g *learn.Grad, dx *mat.Dense, ddst []float64, npredicted int) error {
	rows, cols := l.state.Data.X.Dims()
	check.Length("ddst", ddst, npredicted)
	check.Matrix("dx", dx, rows, cols)
	if err := l.state.CheckShape("g", g); err != nil {
		return err
	}
	return check.Finite("ddst", "give a finite cotangent", ddst)
}

// New returns a new learner with the same settings.
func (l *Ridge) New() learn.Learner { return &Ridge{Kernel: l.Kernel, Intercept: l.Intercept} }

// Convention returns the squared error.
func (*Ridge) Convention() learn.Convention { return learn.Convention{Loss: learn.SquaredError} }

// These are the bounds and the default of λ for kernels with k(x, x) = 1.
const leastLambda, defaultLambda, mostLambda = 1e-8, 1e-2, 10

// Hyperparameters describes λ, followed by the γ of an RBF or ARD kernel. It returns nil for other
// kernels, because the data do not determine their parameters.
func (l *Ridge) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return hyperparameters(l.Kernel, learn.Hyperparameter{Name: "λ", Lower: leastLambda, Default: defaultLambda, Upper: mostLambda}, m)
}
