package penalised

import (
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// GLM is a generalised linear model with quadratic penalties:
//
//	minimise over β and b   Σ_i w_i ℓ(y_i, x_iᵀβ + b) + ½ Σ_j λ_j βᵀS_jβ
//
// Here w_i is the weight of row i in the [learn.Data], 1 by default. The loss is a sum and not a
// mean, so that a penalty has half the effect with twice as many rows. Without Intercept, b is 0. A
// feature that belongs to no penalty is not penalised.
//
// There is one hyperparameter λ_j ≥ 0 for each penalty. θ is β, followed by b if Intercept is set.
//
// # Method
//
// Damped Newton steps compute the minimiser to working precision; the squared loss takes two steps.
// With n features a step costs N·n²/2 multiplications for the Hessian and n³/6 for the factor of
// the Hessian. If several neighbouring penalties have the same features, a fit reads each S_j once
// and stores their sum. For the squared loss, Load computes once the part of the Hessian that is a
// sum over the rows. Derivatives follow from the implicit function theorem, with one solve. They
// are exact, and exist for every fit. A derivative costs two passes over the rows and one pass over
// each S_j.
//
// The zero value is ridge regression without intercept, and is ready for Load. The first fit
// allocates memory, and later fits allocate nothing.
type GLM struct {
	Loss Loss // read by Load
	// Penalties lists the penalties. If it is nil, there is one ridge penalty on all features. Dims
	// and Load read the list. Fit and VJP read the matrices of the penalties, so do not change these
	// matrices after Load.
	Penalties []Penalty
	Intercept bool // adds an unpenalised b; read by Dims and Load
	// Raw sets the field Raw of the learner's Convention. If it is true, a search does not standardise
	// the features. Set Raw if the penalties are meant for the original scales of the features.
	Raw bool

	glmFit
}

// Dims returns the number of parameters and the number of hyperparameters for n features. There are
// n parameters, or n+1 with Intercept, and one hyperparameter for each penalty.
func (l *GLM) Dims(n int) (theta, hyper int) {
	if theta = n; l.Intercept {
		theta++
	}
	return theta, max(1, len(l.Penalties))
}

// Load takes the data d, which all following fits use. It copies the rows with a weight above 0. It
// returns the errors of [learn.Data.Check]. If a label is outside the domain of the loss, it
// returns an ArgError of kind ErrDomain. If a penalty does not fit the features, it returns an
// ArgError of kind ErrShape, ErrNotFinite or ErrNonconvex. After an error the learner has no data.
func (l *GLM) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	if d, err = l.state.Take(l, d, l.Loss == Logistic); err == nil {
		err = l.Loss.check(d)
	}
	return l.loadData(d, l.Loss, 0, l.Penalties, l.Intercept, err)
}

// Bytes implements [learn.SizedLearner]. It counts the copied rows, the rows' terms at two points,
// the Hessian, and the copies and sums of penalties. For the squared loss it also counts the Gram
// matrix. If s.Folds is set, it counts the fits of Folds too.
func (l *GLM) Bytes(s learn.Size) int64 {
	rows, q, _ := learner.Sizes(s)
	intercept := l.Intercept || l.foldsNormalise()
	if intercept {
		q++
	}
	entries := fitEntries(s, l.Penalties, intercept, 1)
	if len(s.Folds) > 0 { // of a foldFit and its derivatives
		folded := float64(learner.Folded(s.Folds))
		penalties := float64(max(1, len(l.Penalties)))
		entries += 6.5*folded*q + 3*q*q + 50*folded + 6*rows
		entries += 2*q*q + penalties*(2.5*q+penalties+1) + q // of FoldsHessian
		if intercept {                                       // the factors of a small fold, and two blocks of its rows
			entries += 2*q*q + 4*q*float64(min(blockRows(s.Features), s.Rows))
		}
	}
	if l.Loss == Squared {
		entries += q * q
	}
	return learner.Entries(entries)
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *GLM) Reset() { l.reset() }

// Fit minimises the objective at the hyperparameters hyper, which are the λ_j, and writes the
// minimiser to θ. It starts from the best constant or from the last solution. After an error the
// learner has no fit, and θ is unchanged. Errors:
//
//   - An ArgError that matches ErrShape, ErrNotFinite or ErrDomain: hyper cannot be used.
//   - ErrNotFitted: no data are loaded.
//   - ErrIllPosed: θ is not unique, because features without a penalty are linear combinations of
//     other features; or no θ minimises the objective, because features without a penalty separate
//     the classes or have no count above 0.
//   - ErrNotFinite: the objective overflows.
func (l *GLM) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	if l.foldsNormalise() {
		return check.ArgErrorf("FoldNormal", qpdiff.ErrDomain, "use Folds, or another learner", "is set, with which only Folds fits")
	}
	return l.fit(theta, hyper)
}

// Residual implements [learn.VerifiedLearner].
func (l *GLM) Residual() (float64, error) { return learner.Measured(l, &l.state, l.residual) }

// VJP differentiates the last fit. It adds dthetaᵀ·∂θ/∂input to each field of g that is not nil. If
// there is no fit, it returns ErrNotFitted. If dtheta is not finite or a product overflows, it
// returns an ArgError of kind ErrNotFinite. After an overflow g is undefined.
func (l *GLM) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[glmDerivative](w).adjoint(&l.glmFit, g, dtheta)
}

// JVP differentiates the last fit. It sets dtheta to the derivative of θ along the direction d,
// whose fields are tangents of the inputs. The errors are the same as for VJP, with d in place of
// dtheta.
func (l *GLM) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[glmDerivative](w).tangent(&l.glmFit, dtheta, d)
}

// FoldsAtOnce reports whether Folds is faster than separate fits, which is so for the squared loss.
func (l *GLM) FoldsAtOnce() bool { return l.Loss == Squared }

// NormaliseFolds implements [learn.NormalFoldLearner]. If n.Scaled is not nil, a call of Folds
// costs n³/6 multiplications for each fold, even for a small fold. A call of FoldsVJP or
// FoldsHessian then also costs n³/6 multiplications for each fold of less than q/2 rows.
func (l *GLM) NormaliseFolds(n learn.FoldNormal) { l.normal = n }

// Folds writes predictions to dst, fold after fold: one prediction for each row of a fold. The
// predictions for a fold come from a fit to the rows outside this fold, at the hyperparameters
// hyper. A row may be in several folds, as with random splits. Folds discards the last fit, so that
// VJP and JVP have no fit. FoldsVJP computes the derivatives of Folds, and FoldsHessian the second
// derivatives in the hyperparameters.
//
// Folds is for the squared loss only. With q parameters, it costs q³/6 multiplications for each
// fold of at least q/2 rows, and q² multiplications for each row of a smaller fold. Load has
// already summed the squares of all rows, and the first call of Folds after a call of Load sums the
// squares of each fold. The condition numbers of the Hessians with and without the fold limit how
// many digits the predictions for a fold lose. If the fold has nearly all of the weight in some
// direction, they may lose five more digits.
//
// K random splits cost K times as much as one fold, because nothing is shared between splits that
// have rows in common. Let p be the share of the rows for training. The first call of Folds after a
// call of Load takes K·(1 − p)·N·q²/2 multiplications with K random splits, and N·q²/2 with K folds
// that have no rows in common. Each split of at least q/2 rows stores 2·q² numbers.
//
// Folds returns the errors of Fit. The error matches ErrDomain if the loss is not squared, or if a
// fold is empty, has a row twice, or has all rows with a weight above 0. If the folds need more
// memory than Data.MaxBytes, the error matches ErrTooLarge. After an error dst is undefined.
func (l *GLM) Folds(dst, hyper []float64, folds [][]int) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	l.folds.fitID, l.isWarm = 0, false
	if n, k := l.n, len(folds); l.normal.Scaled != nil && l.state.Data.X != nil && (len(l.normal.Scaled) != n || len(l.normal.Deviations) != n*k) {
		return check.ArgErrorf("FoldNormal", qpdiff.ErrShape, "give one entry per feature and, for deviations, per fold and feature", "has %d and %d entries for %d features and %d folds", len(l.normal.Scaled), len(l.normal.Deviations), n, k)
	}
	if l.state.Forget(); l.state.Data.X == nil {
		return learner.ErrNoData
	}
	if l.loss != Squared {
		return check.ArgErrorf("GLM.Loss", qpdiff.ErrDomain, "use Fit, or the loss Squared", "is %s, which Folds does not fit", l.loss.name())
	}
	size := l.state.Data.Size()
	size.Folds = folds
	check.Length("dst", dst, learner.Folded(folds))
	if err := learner.CheckHyper(hyper, len(l.forms)); err != nil {
		return err
	}
	if err := learner.Exceeds(l.Bytes(size), l.state.Data.MaxBytes, size); err != nil {
		return err
	}
	if err := l.fold(folds); err != nil {
		return err
	}
	l.state.Hypers = len(hyper)
	copy(l.lambda, hyper)
	l.sums.set(l.lambda)
	if err := l.solveFolds(); err != nil {
		return err
	}
	f, all := &l.folds, dst
	for k := range f.parts {
		for at, i := range f.parts[k].val {
			if f.normal {
				dst[at] = l.predictNormal(&f.parts[k], f.beta[k*l.n:][:l.n], i)
			} else {
				dst[at] = l.predict(f.beta[k*l.q:][:l.q], i)
			}
		}
		dst = dst[len(f.parts[k].val):]
	}
	if !dense.AllFinite(f.beta) || !dense.AllFinite(all) {
		return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the data", "leaves parameters or predictions that overflow")
	}
	f.fitID = check.NewState()
	return nil
}

// FoldsVJP differentiates Σ_t ddst_t·dst_t, where dst holds the predictions of the last call of
// Folds. It adds the derivatives to the fields of g that are not nil. A row of X is a training row
// for some folds and a predicted row for others. FoldsVJP adds the derivatives with respect to the
// training rows to g.X. If dx is not nil, it adds the derivatives with respect to the predicted
// rows to dx. K folds cost K·q² multiplications and one pass over each S_j. The derivative g.X
// costs N·q² more.
//
// If Folds was not called after the last call of Load, Fit or Reset, FoldsVJP returns ErrNotFitted.
// If ddst is not finite or a product overflows, it returns an ArgError of kind ErrNotFinite. After
// an overflow, g and dx are undefined.
func (l *GLM) FoldsVJP(w *qpdiff.Workspace, g *learn.Grad, dx *mat.Dense, ddst []float64) (err error) {
	defer learner.Name(l, &err)
	if l.state.Home.Check(); l.folds.fitID == 0 {
		return learner.ErrNoFit
	}
	predicted := 0
	for k := range l.folds.parts {
		predicted += len(l.folds.parts[k].val)
	}
	check.Length("ddst", ddst, predicted)
	rows, cols := l.state.Data.X.Dims()
	check.Matrix("dx", dx, rows, cols)
	if err := l.state.CheckShape("g", g); err != nil {
		return err
	}
	if err := check.Finite("ddst", "give a finite cotangent", ddst); err != nil {
		return err
	}
	return qpdiff.Scratch[foldDerivative](w).adjoint(&l.glmFit, g, dx, ddst)
}

// New returns a new learner with the same settings. Both learners share the matrices of Penalties.
func (l *GLM) New() learn.Learner {
	return &GLM{Loss: l.Loss, Penalties: slices.Clone(l.Penalties), Intercept: l.Intercept, Raw: l.Raw}
}

// Convention returns the usual loss (the squared, the logistic or the Poisson loss), and the field
// Raw.
func (l *GLM) Convention() learn.Convention {
	c := learn.Convention{Raw: l.Raw}
	switch l.Loss {
	case Squared:
		c.Loss = learn.SquaredError
	case Logistic:
		c.Loss = learn.LogisticLoss
	case Poisson:
		c.Loss = learn.PoissonLoss
	}
	return c
}

// Freedom sets dst to the effective degrees of freedom of each parameter of the last fit. They are
// the diagonal entries of (H₀ + Σλ_jS_j)⁻¹H₀, where H₀ is the Hessian of the loss. An unpenalised
// parameter has 1 degree of freedom. A single entry may be outside [0, 1] if S_j is not diagonal.
// Several features may form one term of the model. If no penalty has features of two terms, the sum
// over the features of a term is between 0 and their number. For the squared loss the sum over all
// parameters is the trace of the matrix that maps labels to fitted values (Wood 2017, section
// 5.4.2). Freedom costs q³ multiplications for q parameters, and allocates memory. If there is no
// fit, it returns ErrNotFitted.
func (l *GLM) Freedom(dst []float64) error {
	if err := l.state.Fitted(); err != nil {
		return learner.Named(l, err)
	}
	check.Length("dst", dst, l.q)
	l.freedom(dst)
	return nil
}

// Hyperparameters describes the λ_j. If the penalty of λ_j has the Name "trend", for example, λ_j
// is called "λ(trend)". If this Name is empty, it is called "λ[j]", with the number j.
func (l *GLM) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return hyperparameters(l.Penalties, l.Loss.usualCurvature(m.Mean), m)
}
