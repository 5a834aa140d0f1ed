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
// Its prediction is f(x) = Σ_i c_i k(x_i, x) + b, with b = 0 without Intercept. With the linear
// kernel it equals the prediction of [linear.ElasticNet] at λ1 = 0 and λ2 = λ. Each row is weighted
// as [learn.Data] states.
//
// The hyperparameters are λ ≥ 0, followed by the kernel's. With λ = 0 the prediction interpolates,
// if the kernel matrix is regular.
//
// The prediction is not θᵀx: θ is b alone with Intercept, and empty without. [Ridge.Predict]
// returns the prediction. [Ridge.PredictVJP] and [Ridge.PredictJVP] are its derivatives in λ, the
// kernel's parameters, the training rows, their labels and the predicted rows. [Ridge.LeaveOneOut]
// predicts each row from the others, and [Ridge.Folds] the rows of each fold from the rows outside
// it.
//
// # Method
//
// Let w_i be the weight of row i, and N the sum of the weights. The solution solves
//
//	(K + Nλ·diag(1/w))·c + b·1 = y,   with Intercept Σc = 0
//
// Rows that do not count have c_i = 0. With Intercept the kernel matrix is centred. That leaves c
// unchanged and removes a constant of the kernel from the condition. One Cholesky factorisation
// then gives c and b. A fit costs N³/6 multiplications and N²/2 values of the kernel, which are
// kept while the kernel's parameters stay the same. Derivatives follow from the same system. They
// are exact, and exist for every fit. A product costs one solve and N²/2 gradients of the kernel.
//
// The zero value has the RBF kernel and no intercept, and is ready for Load. Later fits allocate
// nothing.
type Ridge struct {
	Kernel Kernel // nil: RBF. It is read by Dims and Load.
	// Intercept adds an unpenalised constant to the prediction. Dims and Load read it.
	Intercept bool

	kernelRidgeFit
	folds ridgeFolds
}

// Dims returns 1 parameter with Intercept and none without. It returns one hyperparameter more than
// the kernel has parameters.
func (l *Ridge) Dims(n int) (theta, hyper int) { return dims(l.Kernel, l.Intercept, n) }

// Load makes d the data of the following fits. It keeps a reference to d, and uses its Rows and
// Weights. It returns the errors of [learn.Data.Check]. After an error the learner has no data.
func (l *Ridge) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	l.end()
	if d, err = l.state.Take(l, d, false); err != nil {
		return err
	}
	if err := l.accept(l, l.Kernel, l.Intercept, d); err != nil {
		return err
	}
	l.load(l.Intercept)
	return nil
}

// Bytes implements [learn.SizedLearner]. It counts the allocations of load, factorise and the
// derivatives, and with LeaveOneOut the inverse of the kernel matrix.
func (l *Ridge) Bytes(s learn.Size) int64 {
	rows, n, m := learner.Sizes(s)
	counts := rows // and rows
	if s.Weighted {
		counts += rows
	}
	work := float64(dense.BlockWork(s.Counting))
	entries := counts + 2*m*n + 2*m*m + 8*m + work
	if s.LeaveOneOut {
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
	l.end()
}

// end ends LeaveOneOut and Folds.
func (l *Ridge) end() { l.loo, l.folds.number = 0, 0 }

// Fit solves the problem at hyper = (λ, kernel parameters…) and writes b to theta with Intercept.
// After an error the learner has no fit, and θ is unchanged. Errors:
//
//   - An ArgError that matches ErrShape, ErrNotFinite or ErrDomain: hyper cannot be used.
//   - ErrNotFitted: no data are loaded.
//   - ErrIllPosed: the system is singular to machine precision.
//   - ErrNonconvex: the kernel turns out not to be positive semidefinite.
//   - ErrNotFinite: the kernel or c overflows.
func (l *Ridge) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	l.end()
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

// Coefficients returns c of the last fit, one entry for each row of X, 0 for rows that do not
// count. It overwrites dst, and allocates only if dst has too little capacity. The error is
// ErrNotFitted.
func (l *Ridge) Coefficients(dst []float64) ([]float64, error) {
	if err := l.state.Fitted(); err != nil {
		return nil, learner.Named(l, err)
	}
	dst = dense.Zeros(dst, len(l.state.Data.Y))
	dense.Scatter(dst, l.c, l.rows)
	return dst, nil
}

// LeaveOneOut writes a prediction for each row of X to dst: by the fit at hyper to the other rows,
// which has λ·(N−1) on the diagonal of its matrix. It ends the last Fit: the derivatives are then
// LeaveOneOutVJP's. All N predictions cost one factorisation and one inverse, N³/2 multiplications,
// and two N×N matrices of memory. It returns the errors of Fit, and an ArgError of kind ErrDomain
// if the data has only one row, or has Rows or Weights. After an error dst is unchanged.
func (l *Ridge) LeaveOneOut(dst, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	l.end()
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

// LeaveOneOutVJP adds the derivative of Σ_i ddst_i·dst_i at the last LeaveOneOut to each field of g
// that is not nil. g.X receives the derivative in the rows as training rows. dx, unless nil,
// receives the derivative in the rows as predicted rows. The derivative in X is the sum of both. It
// costs N³/2 multiplications and N²/2 gradients of the kernel, or up to 5N²/2 with the gradients in
// the rows. Errors are ErrNotFitted without a LeaveOneOut after the last Load, Fit or Reset, and an
// ArgError of kind ErrNotFinite for ddst or if a product overflows, which leaves g and dx
// undefined.
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

// Folds writes predictions to dst, fold after fold: for each row of X in the fold, by the fit at
// hyper to the rows outside the fold. A row may be in several folds, as with random splits. Folds
// ends the last Fit: the derivatives are then FoldsVJP's.
//
// The kernel's values are computed once. Folds that leave the same weight share one factorisation
// and one inverse, N³/2 multiplications. Each fold of v rows costs v³/6 more, or (N−v)³/6 if that
// is less. Each fold needs a square matrix of memory, of at most N rows.
//
// It returns the errors of Fit. It returns an ArgError of kind ErrDomain for a fold that is empty,
// has all rows that count, has a row that does not count, or has a row twice; and one of kind
// ErrTooLarge if the folds need more than the data's MaxBytes. After an error dst is unchanged.
func (l *Ridge) Folds(dst, hyper []float64, folds [][]int) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	l.end()
	if l.state.Forget(); l.state.Data.X == nil {
		return learner.ErrNoData
	}
	size := l.state.Data.Size()
	size.Folds = folds
	check.Length("dst", dst, learner.Folded(folds))
	if err := learner.Exceeds(l.Bytes(size), l.state.Data.MaxBytes, size); err != nil {
		return err
	}
	if err := l.folds.take(&l.kernelRidgeFit, folds); err != nil {
		return err
	}
	if err := l.folds.solve(&l.kernelRidgeFit, hyper); err != nil {
		return err
	}
	for k := range l.folds.parts {
		dst = dst[copy(dst, l.folds.parts[k].predicted):]
	}
	l.coef = l.c
	l.folds.number = check.NewState()
	return nil
}

// FoldsVJP adds the derivative of Σ_t ddst_t·dst_t at the last Folds to each field of g that is not
// nil. g.X receives the derivative in the rows as training rows. dx, unless nil, receives the
// derivative in the rows as predicted rows. K folds cost K·N² multiplications, a solution for each
// fold, and N²/2 gradients of the kernel, or up to 5N²/2 with the gradients in the rows. Errors are
// ErrNotFitted without a Folds after the last Load, Fit or Reset, and an ArgError of kind
// ErrNotFinite for ddst or if a product overflows, which leaves g and dx undefined.
func (l *Ridge) FoldsVJP(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) (err error) {
	defer learner.Name(l, &err)
	if l.state.Home.Check(); l.folds.number == 0 {
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

// checkPredictions checks the arguments of a derivative of n predictions of the rows.
func (l *Ridge) checkPredictions(g *learn.Grad, dx *mat.Dense, ddst []float64, predicted int) error {
	rows, cols := l.state.Data.X.Dims()
	check.Length("ddst", ddst, predicted)
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

// Bounds of λ and its default, whose kernels are 1 at equal rows.
const leastLambda, defaultLambda, mostLambda = 1e-8, 1e-2, 10

// Hyperparameters describes λ and the γ of an RBF or ARD kernel. The parameters of other kernels do
// not follow from the data.
func (l *Ridge) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return hyperparameters(l.Kernel, learn.Hyperparameter{Name: "λ", Lower: leastLambda, Default: defaultLambda, Upper: mostLambda}, m)
}
