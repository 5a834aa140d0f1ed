// Package linear has the learners whose prediction is θᵀx: elastic-net regression, Huber
// regression, and logistic regression with a ridge or an elastic-net penalty. Package margin has
// the learners with a hinge loss.
package linear

import (
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// ElasticNet is linear regression with an ℓ₁ and a squared ℓ₂ penalty
// (Zou and Hastie 2005; Barratt and Sharma 2018, example "Elastic-net
// regression"), without intercept:
//
//	minimise over θ   1/(2N)·‖Xθ − y‖² + Σ_j λ1_j·|θ_j| + ½·Σ_j λ2_j·θ_j²
//
// Each row of X is weighted as [learn.Data] states.
//
// The hyperparameters are (λ1, λ2), shared by all n features. With G Groups the hyperparameters are
// (λ1_0 … λ1_{G−1}, λ2_0 … λ2_{G−1}), and λ1_j above is the λ1 of feature j's group. No
// hyperparameter may be negative. Zeros are allowed if the solution is unique.
//
// The solver is exact. It finds the support S and the signs of θ, and solves the linear system
// (X_SᵀX_S/N + diag λ2_S)·θ_S = X_Sᵀy/N − λ1_S∘sign θ_S. The search for S starts from the support
// of the last fit, because a small step of the hyperparameters seldom changes the support. If the
// solver uses working sets (see below), it keeps the supports of the last dozen fits and starts
// from the best of these supports. The start influences θ only through the support that the search
// finds.
//
// With up to 200 features the solver uses XᵀX/N of all features. This matrix is taken from
// Data.Gram or computed. With 4000 rows or more, it is computed without a copy of the rows.
//
// With more than 200 features the solver uses only the rows and columns of XᵀX/N that belong to a
// working set of features. The set grows until the slopes show that all other features stay at
// zero. If the support is larger than the number of rows, the linear systems have one unknown for
// each row. A fit then costs about as much as a few products with X, and holds the columns of the
// working set in memory.
//
// Of a sparse X, only the stored entries are read, and fits always use working sets. Conjugate
// gradients solve the systems to a residual of 1e-12 in two cases. In the first case, a working set
// has more than 1,000 features. In the second case, it has more than 200 features, and each λ2 is
// at least 1e-5 of the feature's mean square.
//
// A λ2 of at most 1e-11 of a feature's mean square is too small to distinguish two features that
// are equal up to their sign. Equal features of one group then share one value, as in the limit λ2
// → 0. The first fit with such a small λ2 searches for equal features, which costs one pass over
// the data. If a feature of zeros has no penalties, its value is 0.
//
// The derivatives follow from the implicit function theorem, applied to the linear system above.
// They exist under strict complementarity: θ_j ≠ 0 or |x_jᵀ(y−Xθ)|/N < λ1_j for each j. The
// distance of coordinate j from the kink is λ1_j − |x_jᵀ(y−Xθ)|/N if θ_j = 0, and |θ_j| otherwise.
// The coordinate is weakly active if this distance is at most 256 times its rounding error.
//
// At λ1_j = 0 the derivative with respect to λ1_j is one-sided, from the right. A feature of zeros
// has θ_j = 0 for any λ1. This does not count as a kink if λ2_j > 0.
//
// The zero value is ready for Load. Later fits allocate memory in three cases only: a working set
// grows, a fit is kept as a start for later fits, or the fit searches for equal features.
type ElasticNet struct {
	// Groups holds the number of each feature's group, from 0 to G−1. Each group has a pair of
	// penalties and at least one feature. [PerFeature] makes each feature a group. Dims and Fit read
	// Groups. If Groups is nil, all features form one group.
	Groups []int

	// Generalised lets VJP return a result at weakly active coordinates too, where no derivative
	// exists. The result uses one element of the generalised (Clarke) Jacobian: the Jacobian of the
	// problem in which these coordinates stay at zero. If Generalised is false, VJP returns a
	// NotDifferentiableError at weakly active coordinates.
	Generalised bool

	elasticNetFit
}

// Dims returns n parameters and 2 hyperparameters (λ1, λ2) for each group.
func (e *ElasticNet) Dims(n int) (theta, hyper int) { return n, 2 * groupCount(e.Groups) }

// SetGeneralised sets the field Generalised.
func (e *ElasticNet) SetGeneralised(on bool) { e.Generalised = on }

// Load makes d the data of the following fits. With at most 200 features it computes XᵀX/N. It
// keeps a reference to d, and uses the fields Rows and Weights of d. Load returns the errors of
// [learn.Data.Check], and an error of kind ErrNotFinite if XᵀX or Xᵀy overflows. All are ArgErrors.
// After an error the learner has no data.
func (e *ElasticNet) Load(d learn.Data) (err error) {
	defer learner.End(e, &err)
	if d, err = e.state.Take(e, d, false); err != nil {
		e.reset()
		return err
	}
	e.shape(d)
	e.classes, e.equalFeatures, e.classesKnown = nil, nil, false
	root, xty := e.sums(d)
	widest := slices.Max(root)
	e.openBelow = ridgeRounding * widest * widest
	for j, r := range root {
		if !dense.Finite(r*e.rmsY) || !dense.Finite(xty[j]) {
			e.reset()
			return check.ArgErrorf("Data", qpdiff.ErrNotFinite, "scale the features and labels", "is so large that XᵀX or Xᵀy overflows at column %d", j)
		}
	}
	e.state.Data = d
	return nil
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (e *ElasticNet) Reset() {
	e.state.Forget()
	e.reset()
}

// Fit solves the problem at hyper and writes θ (n entries), with exact zeros outside the support.
// After an error the learner has no fit, and θ is unchanged. If hyper or Groups is invalid, the
// error is an ArgError of kind ErrShape, ErrNotFinite or ErrDomain. Without data the error matches
// ErrNotFitted. If a working set or its system would need more than Data.MaxBytes, the error
// matches ErrTooLarge.
//
// If θ is not unique to working precision, the error matches ErrIllPosed. This can happen only if
// λ2 is 0 or negligible. In addition, some features in the support, or about to enter it, must be
// linearly dependent without being equal.
func (e *ElasticNet) Fit(theta, hyper []float64) (err error) {
	defer learner.End(e, &err)
	e.state.Stop.Look()
	if err := e.startFit(e.Groups, theta, hyper); err != nil {
		return err
	}
	e.qp.setStopper(&e.state.Stop)
	return e.end(theta, e.solve())
}

// end ends a Fit whose solve returned err.
func (e *ElasticNet) end(theta []float64, err error) error {
	if err != nil {
		e.reset()
		return err
	}
	if e.equalFeatures != nil {
		e.finish()
	}
	copy(theta, e.theta())
	e.state.Finish()
	return nil
}

// VJP differentiates the last fit. To each field of g that is not nil, it adds dthetaᵀ·∂θ/∂input.
// Let r = y − Xθ. Let u be (X_SᵀX_S/N + diag λ2_S)⁻¹·dtheta_S on the support S, and zero elsewhere.
// Then VJP adds
//
//	λ1_j: −sign(θ_j)·u_j    λ2_j: −θ_j·u_j    X: (r·uᵀ − Xu·θᵀ)/N    y: Xu/N
//
// With Groups, the derivative with respect to the λ1 or λ2 of a group is the sum of these
// derivatives over the features j of the group.
//
// If there is no fit, the error is ErrNotFitted. If dtheta is not finite, the error is an ArgError
// of kind ErrNotFinite. If a product overflows, the error is of the same kind, and g is undefined.
//
// If a coordinate is weakly active and Generalised is not set, a NotDifferentiableError names the
// weakly active coordinates, and the inputs that have no derivative. VJP still adds the derivatives
// that exist. If all weakly active coordinates have θ_j = 0 and λ1_j = 0, the kinks are in λ1 only,
// and the derivatives with respect to λ2, X and y exist. At θ = 0 the derivative with respect to λ2
// exists at every kink, and is zero.
//
// Rounding may hide whether a coordinate is weakly active. If rounding may also have moved θ by
// more than 1e-6 of the scale of θ, VJP returns an ArgError of kind ErrIllPosed, even if
// Generalised is set.
//
// If equal features share a value that is not zero, θ has no derivative with respect to X. If
// Generalised is set, g.X then holds the derivative for changes of X that keep these features
// equal. There is also no derivative for a feature that is all zeros and has no penalties, because
// its value jumps from 0 when the feature changes.
func (e *ElasticNet) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(e, &err)
	return qpdiff.Scratch[penalisedDerivative](w).adjoint(&e.elasticNetFit, e.Generalised, g, dtheta)
}

// JVP differentiates the last fit. It sets dtheta to the directional derivative of θ along d. The
// fields of d are tangents of the inputs (a nil field is a zero tangent). The derivative also
// exists at weakly active coordinates, but it is not linear in d there. In this case JVP solves the
// quadratic problem that keeps each weakly active coordinate on its side of the kink.
//
// If there is no fit, the error is ErrNotFitted. If an entry of d is not finite or dtheta
// overflows, the error is an ArgError of kind ErrNotFinite. If d lowers λ1_j from 0 at θ_j = 0, it
// is an ArgError of kind ErrDomain. JVP returns an ArgError of kind ErrIllPosed in the same case as
// VJP. If d changes X, the error is a NotDifferentiableError in two cases: equal features share a
// value, or a feature of zeros has no penalties.
func (e *ElasticNet) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(e, &err)
	return qpdiff.Scratch[penalisedDerivative](w).forward(&e.elasticNetFit, dtheta, d)
}

// Residual implements [learn.VerifiedLearner].
func (e *ElasticNet) Residual() (float64, error) {
	return learner.Measured(e, &e.state, e.residual)
}

// Views implements [learn.ViewLearner]. It returns true in two cases. In the first case, a fit uses
// working sets. In the second case, the number of rows with a weight above 0 is at least 4000, and
// at least half of the number of all rows.
func (e *ElasticNet) Views(s learn.Size) bool {
	return s.Sparse || ways.WorkingSet(s.Rows, s.Features) || ways.ManyRows(s.Rows, s.Counting, s.Features)
}

// New returns a new learner with the same Groups and Generalised.
func (e *ElasticNet) New() learn.Learner {
	return &ElasticNet{Groups: e.Groups, Generalised: e.Generalised}
}

// Convention returns the squared error and centred data.
func (*ElasticNet) Convention() learn.Convention {
	return learn.Convention{Loss: learn.SquaredError, Centred: true}
}

// BeyondRidge returns λ1.
func (*ElasticNet) BeyondRidge() []string { return []string{"λ1"} }

// Hyperparameters describes λ1 and λ2. Let λmax be the smallest λ1 at which θ is 0. The lower bound
// of λ1 is 1e-3·λmax if there are more than 200 features and more features than examples, and
// 1e-5·λmax otherwise.
func (*ElasticNet) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return []learn.Hyperparameter{learner.Lambda1(m, m.Correlation), learner.Lambda2(m, true)}
}
