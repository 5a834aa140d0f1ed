package margin

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// SVM is the linear support vector machine with an ℓ₁ and a squared ℓ₂ penalty
// (Barratt and Sharma 2018, supplement A), without intercept:
//
//	minimise over θ   1/N·Σ_i max(0, 1 − y_i θᵀx_i) + λ1·‖θ‖₁ + λ2/2·‖θ‖²
//
// The hyperparameters are (λ1, λ2) with λ1 ≥ 0 and λ2 > 0. Labels are ±1. (The supplement writes y
// ∈ {0,1} by mistake for {−1,1}: with a label 0 the hinge loss max(0, 1−yŷ) would be 1 for any
// prediction.) At λ1 = 0, let C = 1/(λ2·N); the problem is then ½‖θ‖² + C·Σ_i max(0, 1 − y_i
// θᵀx_i). The rows of X may be features φ(x) of a learned map.
//
// # Method
//
// The margin of row i is y_iθᵀx_i. The row is on the elbow if the margin is 1, violates the margin
// if it is below 1, and is beyond the margin if it is above 1. Let E be the elbow, V the set of
// violators, S the support of θ, s the signs of θ_S, and z_i = y_i·x_i restricted to S. Then θ and
// the multipliers b of the elbow solve
//
//	λ2·θ_S + λ1·s − 1/N·Σ_V z_i − Σ_E b_i z_i = 0,   z_iᵀθ_S = 1 for i ∈ E
//
// with 0 ≤ b_i ≤ 1/N. An active-set method in θ finds E, V, S and s exactly. The method starts from
// the sets of the last fit. If X has at least 64 features and 4096 entries, the first fit starts
// from a descent in the multipliers. Each step of the method costs O(N·n), and up to O(n²) more for
// the factor of the elbow.
//
// # Derivatives
//
// The derivatives follow from the implicit function theorem, applied to this system. Let (w, u)
// solve λ2·w − Σ_E u_i z_i = dθ_S and z_iᵀw = 0 on E, where dθ is the cotangent of θ. The
// vector-Jacobian products are
//
//	λ1: −sᵀw    λ2: −θᵀw
//	z_i: w/N for i ∈ V,  b_i·w + u_i·θ for i ∈ E,  0 beyond the margin
//
// The derivatives with respect to X and y follow from z_i = y_i·x_i, for labels that are any real
// numbers.
//
// The derivatives exist under strict complementarity, which fails in three cases:
//
//   - The multiplier of a row on the elbow is 0 or 1/N.
//   - A row has the margin 1 but no multiplier.
//   - A coordinate is at its kink.
//
// The paper has only the condition λ2 > 0, which does not suffice. At λ1 = 0 the derivative with
// respect to λ1 is one-sided, from the right.
//
// A margin, multiplier or coordinate counts as being at its kink if its distance from the kink is
// at most 256 times its rounding error. This error includes the rounding of the terms of the system
// above.
//
// Equal rows z_i, as in a bootstrap sample, count as one row with their total weight. The
// derivatives are valid for changes of the data that keep these rows equal. The derivative with
// respect to the combined row is divided equally among the equal rows. Along a change that
// separates equal rows on the elbow, there is no derivative, because the multipliers of the rows
// are not unique; see [SVM.Ties].
//
// The zero value is ready for Load. The first fit allocates memory, and later fits allocate
// nothing.
type SVM struct {
	// Generalised selects the result of VJP at weakly active rows and coordinates, at which no
	// derivative exists. If Generalised is true, VJP uses one element of the generalised (Clarke)
	// Jacobian. This is the Jacobian of another problem, in which each weakly active row stays on the
	// side that its multiplier selects, and each weakly active coordinate stays at zero. If
	// Generalised is false, VJP returns a NotDifferentiableError.
	//
	// There is one exception to this Jacobian. Without the weakly active coordinates, the normals
	// of the rows on the elbow may be linearly dependent. Each weakly active coordinate then stays
	// as it is in the fit, at zero or in the support.
	Generalised bool

	marginFit
}

// Dims returns n parameters and the 2 hyperparameters (λ1, λ2).
func (l *SVM) Dims(n int) (theta, hyper int) { return n, 2 }

// SetGeneralised sets the field Generalised.
func (l *SVM) SetGeneralised(on bool) { l.Generalised = on }

// Load takes the data d, which all following fits use. It keeps a reference to d, and uses the
// fields Rows and Weights of d. Load returns the errors of [learn.Data.Check]. If a label is not
// ±1, even in a row of weight 0, the error is of kind ErrDomain. If all rows with a weight above 0
// have the same label, the error is of kind ErrIllPosed. If the squared norm of a row overflows,
// the error is of kind ErrNotFinite. All these errors are ArgErrors. After an error the learner has
// no data.
func (l *SVM) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	return l.load(d)
}

// Fit solves the problem at the hyperparameters hyper and writes the solution to theta (n entries).
// The entries outside the support are exact zeros. If hyper is invalid, Fit returns an ArgError of
// kind ErrShape, ErrNotFinite or ErrDomain. If no data are loaded, the error matches ErrNotFitted.
// If λ2 is too small for the working precision, it matches ErrIllPosed or ErrIterationLimit. After
// an error the learner has no fit, and θ is unchanged.
func (l *SVM) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	if err := l.state.Begin(theta, hyper, l.p.n, 2); err != nil {
		return err
	}
	if hyper[1] == 0 {
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give a λ2 above 0", "holds 0 at index 1")
	}
	l.p.l1, l.p.l2 = hyper[0], hyper[1]
	l.p.hinge = 1 / l.p.total
	return l.solve(theta, true)
}

// Multipliers returns the dual variables of the last fit: b_i for each training row i. They satisfy
// λ2·θ = Σ_i b_i·y_i·x_i − λ1·s, for a subgradient s of ‖θ‖₁. For a row of weight v, b_i is v/N if
// the row violates the margin, 0 if the row is beyond the margin, and between 0 and v/N if the row
// is on the elbow. If products y_i·x_i are equal, only the sum of their multipliers is unique.
// Multipliers divides the sum in proportion to the weights. Multipliers overwrites dst, and
// allocates only if dst has too little capacity. If there is no fit, it returns ErrNotFitted.
func (l *SVM) Multipliers(dst []float64) ([]float64, error) {
	return l.p.Spread(l, &l.state, dst, l.multiplier)
}

// multiplier returns the multiplier that each copy of the distinct row k has.
func (l *SVM) multiplier(k int) float64 {
	switch side := l.p.side[k]; {
	case side < 0:
		return l.p.hinge
	case side > 0:
		return 0
	}
	return min(max(l.mult[k]/l.p.Copies[k], 0), l.p.hinge)
}

// SupportVectors returns the numbers of the training rows whose multipliers are not 0 in the last
// fit, in ascending order. θ does not depend on the other rows. SupportVectors overwrites dst, and
// allocates only if dst has too little capacity. If there is no fit, it returns ErrNotFitted.
func (l *SVM) SupportVectors(dst []int) ([]int, error) {
	return l.p.Where(l, &l.state, dst, func(k int) bool { return l.multiplier(k) != 0 })
}

// Elbow returns the numbers i of the training rows on the elbow in the last fit, in ascending
// order. The kink of the hinge loss keeps their margins y_iθᵀx_i at 1. Elbow overwrites dst, and
// allocates only if dst has too little capacity. If there is no fit, it returns ErrNotFitted.
func (l *SVM) Elbow(dst []int) ([]int, error) { return l.elbow(l, dst) }

// Residual implements [learn.VerifiedLearner].
func (l *SVM) Residual() (float64, error) { return learner.Measured(l, &l.state, l.residual) }

// VJP differentiates the last fit. It adds dthetaᵀ·∂θ/∂input to each field of g that is not nil. If
// rows are equal, g.X and g.Y hold the derivative for changes of the data that keep these rows
// equal; [SVM.Ties] lists the pairs of rows for which this matters.
//
// If there is no fit, VJP returns ErrNotFitted. If dtheta is not finite or a product overflows, it
// returns an ArgError of kind ErrNotFinite. After an overflow, g is undefined. If strict
// complementarity fails and Generalised is not set, it returns a NotDifferentiableError.
func (l *SVM) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	d := qpdiff.Scratch[marginDerivative](w)
	if err := d.adjoint(&l.marginFit, l.Generalised, g, dtheta, "λ1", "λ2"); err != nil {
		return err
	}
	if g.Hyper != nil {
		if l.Generalised || l.weakFree.Empty() {
			for j, w := range d.w {
				g.Hyper[0] -= l.subgradient(j) * w
			}
		}
		g.Hyper[1] -= dense.Dot(l.p.theta, d.w)
		if g.HyperSize != nil {
			g.HyperSize[0] += floats.Norm(d.w, 1)
			g.HyperSize[1] += dense.AbsDot(l.p.theta, d.w)
		}
	}
	return d.finishAdjoint(&l.marginFit, l.Generalised, g, "λ1")
}

// JVP differentiates the last fit. It sets dtheta to the directional derivative of θ along d. The
// fields of d are tangents of the inputs; a nil field counts as zero. If strict complementarity
// fails, the derivative still exists, but it is not linear in d. In this case JVP allocates memory,
// and solves a quadratic program that keeps each weakly active row and coordinate on its side of
// the kink.
//
// If there is no fit, JVP returns ErrNotFitted. It returns an ArgError of one of three kinds:
//   - ErrNotFinite: d is not finite, or dtheta or the change of the gradient along d overflows.
//   - ErrDomain: d lowers λ1 from 0 at θ_j = 0.
//   - ErrNotDifferentiable: d separates equal rows that are on the elbow and not weakly active.
//
// If d changes X or y in weakly active rows whose multipliers are not unique, JVP returns a
// NotDifferentiableError.
func (l *SVM) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	m := qpdiff.Scratch[marginDerivative](w)
	if err := m.forward(&l.marginFit, dtheta, d); err != nil {
		return err
	}
	rise := 0.0
	if d.Hyper != nil {
		if free := l.weakFree.Coords; len(free) > 0 {
			if rise = d.Hyper[0]; rise < 0 {
				return check.ArgErrorf("d.Hyper", qpdiff.ErrDomain, "give a direction that raises λ1", "lowers λ1 from 0 where coordinate %d has its kink", free[0])
			}
		}
		for j, t := range l.p.theta {
			m.w[j] -= d.Hyper[0]*l.subgradient(j) + d.Hyper[1]*t
		}
	}
	return m.finishForward(&l.marginFit, dtheta, d, rise)
}

// Ties calls the function visit for pairs of rows i and k that have equal z, are on the elbow and
// are not weakly active. Only the sum of their multipliers is unique. Because z_i = z_k, x_i =
// sign·x_k with sign = y_i·y_k.
//
// Ties describes the g.X of the last VJP with the workspace w. This g.X is a derivative only for
// changes dX with dᵀdX_i = sign·dᵀdX_k in all calls of visit. For other changes there is no
// derivative. The vector d has n entries and is valid only during the call. A pair of rows may have
// two vectors d. In this case visit is called again with the second vector if its first call
// returns true. Ties finds no pairs if there is no fit, or if the last derivative with w was not a
// VJP of this fit.
func (l *marginFit) Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool) {
	if w != nil {
		qpdiff.Scratch[marginDerivative](w).ties(l, visit)
	}
}

// New returns a new learner with the same Generalised.
func (l *SVM) New() learn.Learner { return &SVM{Generalised: l.Generalised} }

// Convention returns the hinge loss.
func (*SVM) Convention() learn.Convention { return learn.Convention{Loss: learn.Hinge} }

// Hyperparameters describes λ1 and λ2.
func (*SVM) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	return []learn.Hyperparameter{learner.Lambda1(m, m.Correlation), learner.Lambda2(m, false)}
}
