// Package linear has the learners whose prediction is θᵀx: elastic-net regression,
// Huber regression, and logistic regression with ridge and with elastic-net penalties.
// Package margin beside it has those with a hinge loss.
package linear

import (
	"math"
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
// in whose sum over the rows each row counts as [learn.Data] states.
//
// The hyperparameters are (λ1, λ2), shared by all n features, or with G Groups
// (λ1_0 … λ1_{G−1}, λ2_0 … λ2_{G−1}): λ1_j above belongs to the group of feature j. All
// are at or above zero; zeros are fine wherever the solution stays unique.
//
// The solver is exact: it finds the support and the signs of θ and solves the linear system
// (X_SᵀX_S/N + diag λ2_S)·θ_S = X_Sᵀy/N − λ1_S∘sign θ_S. It starts from the support of the last
// fit, which a small step of the hyperparameters seldom changes, or on working sets from the one
// of the last dozen with the lowest objective. θ depends on that start only
// through the support found. Up to 200 features it uses XᵀX/N of all, which
// with at least 4000 rows it makes without a copy of them, or from Data.Gram. Above, it uses XᵀX/N of a
// working set of features, which grows until the slopes at all others show that they stay at
// zero. If the support is larger than the number of rows, the systems have as many unknowns as
// rows. A fit then costs about as much as some products with X, and memory for the columns of
// the working set.
//
// A sparse X is read by its stored entries, always on working sets. With more than 1,000 features
// in a working set, or more than 200 whose λ2 is at least 1e-5 of their mean square, conjugate
// gradients solve the systems to a residual of 1e-12.
//
// If λ2 is too small to distinguish features that are equal up to their sign, and they are in one
// group, they share one value, as in the limit of a vanishing λ2: from 1e-11 of their mean square
// down. Without penalties the value of a feature of zeros is 0 likewise. The first fit with such a
// λ2 looks for equal features, which costs a pass over the data.
//
// The derivatives follow from the implicit function theorem at that system. They exist under
// strict complementarity: θ_j ≠ 0 or |x_jᵀ(y−Xθ)|/N < λ1_j for each j. A coordinate counts as
// weakly active, that is at its kink, if rounding hides its side of the kink. The margin λ1_j −
// |x_jᵀ(y−Xθ)|/N of a zero coordinate, or |θ_j| of another, is then at most 256 times its error
// by rounding of the terms of the linear system. At λ1_j = 0, the end of its domain, the
// derivative with respect to λ1_j is the one from the right. A feature that is zero throughout
// has θ_j = 0 whatever λ1 is, which is no kink as long as λ2_j > 0.
//
// The zero value is ready for Load. Fits after the first allocate nothing, unless a
// working set grows, its fits are kept as starts, or equal features are looked for.
type ElasticNet struct {
	// Groups holds for each feature the number of its group, whose pair of penalties
	// it has: 0 … G−1, each at least once. [PerFeature] makes each feature a group. It
	// is read by Dims and Fit. Nil: one group of all features.
	Groups []int

	// Generalised makes VJP answer at weakly active coordinates too, which have no derivative,
	// with one element of the generalised (Clarke) Jacobian. It is the Jacobian of the problem
	// without those coordinates, as if each stayed at zero. False: such a VJP is refused with a
	// NotDifferentiableError.
	Generalised bool

	elasticNetFit
}

// Dims returns n parameters and 2 hyperparameters (λ1, λ2) for each group.
func (e *ElasticNet) Dims(n int) (theta, hyper int) { return n, 2 * groupCount(e.Groups) }

// SetGeneralised sets the field Generalised.
func (e *ElasticNet) SetGeneralised(on bool) { e.Generalised = on }

// Load makes d the data of the following fits and computes XᵀX/N up to 200 features. It keeps a
// reference to d, whose Rows and Weights count. Errors are ArgErrors: as for
// [learn.Data.Check], and of kind ErrNotFinite if XᵀX or Xᵀy overflows. After one, the
// learner has no data.
func (e *ElasticNet) Load(d learn.Data) (err error) {
	defer learner.End(e, &err)
	if d, err = e.state.Take(e, d, false); err != nil {
		e.reset()
		return err
	}
	e.shape(d)
	e.classes, e.equal, e.looked = nil, nil, false
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

// Fit solves the problem at hyper and writes θ (n entries), with one zero per feature that is
// not in the support. Errors: an ArgError that matches ErrShape, ErrNotFinite or ErrDomain for
// hyper and Groups, and ErrNotFitted without data; ErrTooLarge if a working set or its system
// would need more than Data.MaxBytes. The error matches ErrIllPosed if θ is not unique (to
// working precision), as without λ2 when features of the support, or those about to enter it,
// are linearly dependent without being equal. After an error there is no fit, and θ is left as it was.
func (e *ElasticNet) Fit(theta, hyper []float64) (err error) {
	defer learner.End(e, &err)
	e.state.Stop.Look()
	if err := e.begin(e.Groups, theta, hyper); err != nil {
		return err
	}
	e.qp.watch(&e.state.Stop)
	return e.end(theta, e.solve())
}

// end ends a Fit whose solve returned err.
func (e *ElasticNet) end(theta []float64, err error) error {
	if err != nil {
		e.reset()
		return err
	}
	if e.equal != nil {
		e.finish()
	}
	copy(theta, e.theta())
	e.state.Finish()
	return nil
}

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not
// nil. With u = (X_SᵀX_S/N + diag λ2_S)⁻¹·dtheta_S on the support S and zero
// elsewhere, r = y − Xθ:
//
//	λ1_j: −sign(θ_j)·u_j    λ2_j: −θ_j·u_j    X: (r·uᵀ − Xu·θᵀ)/N    y: Xu/N
//
// and the λ1 and λ2 of a group get the sum over its features j.
//
// Errors: ErrNotFitted; an ArgError of kind ErrNotFinite for dtheta. If a coordinate is weakly
// active and Generalised is not set, a NotDifferentiableError names the inputs wanted in vain
// and the weakly active coordinates. The derivatives that exist are added all the same: with
// respect to λ2, X and y if the kink is one in λ1 only (θ_j = 0 at λ1_j = 0). At θ = 0 the
// derivative with respect to λ2 is zero whatever the kinks. If rounding hides whether a
// coordinate is weakly active and may have moved θ by more than 1e-6 of its scale, an ArgError
// of kind ErrIllPosed takes the place of that error, Generalised or not. X has no derivative if
// equal features share a value that is not zero: with Generalised the product holds along moves
// that keep them equal. An ArgError of kind
// ErrNotFinite if a product overflows, which leaves g undefined.
func (e *ElasticNet) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(e, &err)
	return qpdiff.Scratch[penalisedDerivative](w).adjoint(&e.elasticNetFit, e.Generalised, g, dtheta)
}

// JVP sets dtheta to the directional derivative of θ at the last fit along d, whose fields are
// tangents of the inputs (nil: zero). It exists also with weakly active coordinates. It is then
// not linear in d, and solves the quadratic problem that keeps each weakly active coordinate on
// its side of the kink. Errors: ErrNotFitted; an ArgError of kind ErrNotFinite for d or if
// dtheta overflows, of kind ErrIllPosed as for VJP, or ErrDomain if d lowers λ1_j from 0 at θ_j
// = 0. A move of X where equal features share a value is a NotDifferentiableError.
func (e *ElasticNet) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(e, &err)
	return qpdiff.Scratch[penalisedDerivative](w).forward(&e.elasticNetFit, dtheta, d)
}

// Residual implements [learn.VerifiedLearner].
func (e *ElasticNet) Residual() (float64, error) {
	if err := e.state.Fitted(); err != nil {
		return math.NaN(), learner.Named(e, err)
	}
	return e.residual(), nil
}

// Views implements [learn.ViewLearner]: it reports whether a fit is made on working sets, or of at
// least 4000 rows and half of all.
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

// Hyperparameters describes λ1 and λ2. λ1 is searched from 1e-5 times the smallest one at
// which θ is 0, and from 1e-3 times that with more than 200 features, and more
// than examples.
func (*ElasticNet) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return []learn.Hyperparameter{learner.Lambda1(m, m.Correlation), learner.Lambda2(m, true)}
}
