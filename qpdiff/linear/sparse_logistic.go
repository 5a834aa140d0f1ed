package linear

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// SparseLogistic is logistic regression with an ℓ₁ and a squared ℓ₂ penalty and labels
// ±1 (Friedman, Hastie and Tibshirani 2010, "Regularization paths for generalized
// linear models via coordinate descent"), with the scaling of [ElasticNet]:
//
//	minimise over θ, b   1/N·Σᵢ log(1 + exp(−yᵢ(θᵀxᵢ + b))) + Σ_j λ1_j·|θ_j| + ½·Σ_j λ2_j·θ_j²
//
// Each row is weighted as [learn.Data] states. The intercept b is unpenalised, and 0 unless
// Intercept is set. The hyperparameters are the same as for ElasticNet, with the same Groups. The
// formulas hold for any real labels, so the solution is also differentiable with respect to y. The
// label 0 is refused, as by [Logistic].
//
// # Derivatives
//
// Let sᵢ = 1/(1 + exp(yᵢ(θᵀxᵢ + b))), which is 1 minus the probability of the label yᵢ. Let wᵢ =
// sᵢ(1−sᵢ). On the support and the intercept, θ solves
//
//	Σᵢ sᵢyᵢxᵢ/N = λ1∘sign θ + λ2∘θ,
//
// The derivatives follow from the implicit function theorem, applied to this system. Its matrix is
// H = Σᵢ wᵢyᵢ²xᵢxᵢᵀ/N + diag λ2. The derivatives exist under strict complementarity: θ_j ≠ 0 or |Σᵢ
// sᵢyᵢxᵢⱼ|/N < λ1_j for each j. See ElasticNet for weakly active coordinates, for the derivative at
// λ1_j = 0, and for features whose entries are all 0.
//
// # Method
//
// The solver is proximal Newton (Lee, Sun and Saunders 2014). In each step, the active-set method
// of ElasticNet computes the exact minimiser of the penalties plus the second-order model of the
// loss. The step leaves a coordinate unchanged if the coordinate is zero and its kink holds it
// there. As in Logistic, the line search uses only slopes. It ends when the step certainly lowers
// the objective. The last step changes no margin by more than 1e-8. The optimality conditions then
// hold to the rounding of their terms. Fit begins at the last solution.
//
// A step that changes s of the n coordinates costs N·s² operations, plus N·n for the gradient. With
// more than 200 features, the number of coordinates that may leave zero in one step is limited. The
// limit is the number of coordinates that are not zero, or 32 if that is larger.
//
// A sparse X is read by its stored entries. Conjugate gradients solve the system of a step in two
// cases. In the first case, the step changes more than 1000 coordinates. In the second case, it
// changes more than 200 coordinates, and each λ2 is at least 1e-5 of the coordinate's diagonal
// entry of the Hessian. Each product then costs one operation for each stored entry of these
// coordinates. If the residual does not fall to 1e-12 of the size of the system's terms, the error
// matches ErrIllPosed.
//
// The zero value is ready for Load and has no intercept. Only the first fit allocates memory.
type SparseLogistic struct {
	// Intercept adds an unpenalised constant to the decision function. This constant is the last
	// entry of θ. Dims and Load read this field.
	Intercept bool

	// Groups holds the number of each feature's group, from 0 to G−1. Each group has a pair of
	// penalties and at least one feature. [PerFeature] makes each feature a group. Dims and Fit read
	// Groups. If Groups is nil, all features form one group.
	Groups []int

	// Generalised lets VJP return a result at weakly active coordinates too, where no derivative
	// exists. The result uses one element of the generalised (Clarke) Jacobian: the Jacobian of the
	// problem in which these coordinates stay at zero. If Generalised is false, VJP returns a
	// NotDifferentiableError at weakly active coordinates.
	Generalised bool

	sparseLogisticFit
}

// Dims returns the number of parameters (n, or n+1 if there is an intercept) and the number of
// hyperparameters (2 for each group).
func (l *SparseLogistic) Dims(n int) (theta, hyper int) {
	if l.Intercept {
		return n + 1, 2 * groupCount(l.Groups)
	}
	return n, 2 * groupCount(l.Groups)
}

// SetGeneralised sets the field Generalised.
func (l *SparseLogistic) SetGeneralised(on bool) { l.Generalised = on }

// Load makes d the data of the following fits. It keeps a reference to d, and must be called again
// after an entry of d changed.
//
// Load returns the errors of [learn.Data.Check]. If a label is 0, as in data with the classes 0 and
// 1, the error is of kind ErrDomain. If the sum of squares of a feature overflows, the error is of
// kind ErrNotFinite. If Intercept is set and all rows with a weight above 0 have labels of the same
// sign, the problem has no solution, and the error matches ErrIllPosed. All these errors are
// ArgErrors. After an error the learner has no data.
func (l *SparseLogistic) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	l.state.Unload()
	if err := learner.CheckBytes(l, d); err != nil {
		return err
	}
	if d, err = learner.Held(l, d); err != nil {
		return err
	}
	if err := checkRows(d); err != nil {
		return err
	}
	l.shape(d, l.Intercept)
	if err := l.fold(d); err != nil {
		return err
	}
	if err := l.bounds(); err != nil {
		return err
	}
	if l.Intercept && l.oneSign() {
		return check.ArgErrorf("Data.Y", qpdiff.ErrIllPosed, "give examples of both classes, or leave out the intercept",
			"has labels of one sign only, so that the intercept has no minimiser")
	}
	l.state.Data = d
	return nil
}

// Bytes implements [learn.SizedLearner]. It counts the memory allocated by the derivatives and by
// the method shape. If there are many features, it also counts a first working set.
func (l *SparseLogistic) Bytes(s learn.Size) int64 {
	m, n, _ := learner.Sizes(s)
	set := n
	if s.Sparse || ways.WorkingSet(s.Rows, s.Features) {
		set = firstFeatures
	}
	if l.Intercept {
		n++
		set++
	}
	counts := 0.0
	if s.Weighted {
		counts = m
	}
	if s.Sparse {
		set = min(set, n)
		return learner.Entries(counts + storedEntries(m, n, set, float64(s.Stored)) + systemEntries(set))
	}
	return learner.Entries(counts + sparseEntries(m, n, set, set <= gramPerRow*m || !ways.WorkingSet(s.Rows, s.Features)) + systemEntries(set))
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *SparseLogistic) Reset() {
	l.state.Forget()
	l.warm = false
}

// Fit solves the problem at hyper and writes θ. The entries outside the support are exactly 0, and
// the intercept is the last entry. After an error the learner has no fit, and θ is unchanged. If
// hyper or Groups is invalid, the error is an ArgError of kind ErrShape, ErrNotFinite or ErrDomain.
// Without data the error matches ErrNotFitted. After 200 steps the error matches ErrIterationLimit.
//
// The error matches ErrIllPosed in three cases:
//   - The problem has no solution, because features without penalties separate the classes.
//   - The rounding errors of the data's terms hide the solution.
//   - θ is not unique to working precision. This can happen only if λ2 is 0 or negligible, and
//     features of the support, or features about to enter it, are linearly dependent.
func (l *SparseLogistic) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	if err := l.begin(&l.coords.groups, l.coords.l1[:l.penalised], l.coords.l2[:l.penalised], l.Groups, theta, hyper); err != nil {
		return err
	}
	l.qp.setStopper(&l.state.Stop)
	if err := l.solve(); err != nil {
		return err
	}
	copy(theta, l.theta)
	l.state.Finish()
	return nil
}

// Residual implements [learn.VerifiedLearner].
func (l *SparseLogistic) Residual() (float64, error) {
	return learner.Measured(l, &l.state, l.residual)
}

// Views implements [learn.ViewLearner].
func (l *SparseLogistic) Views(s learn.Size) bool { return s.Sparse }

// VJP differentiates the last fit. To each field of g that is not nil, it adds dthetaᵀ·∂θ/∂input.
// Let u be H⁻¹·dtheta on the support S and the intercept, and zero elsewhere. Then VJP adds
//
//	λ1_j: −sign(θ_j)·u_j    λ2_j: −θ_j·u_j
//	xᵢ: yᵢ(sᵢ·u − wᵢyᵢ(uᵀxᵢ)·θ)/N    yᵢ: (sᵢ·uᵀxᵢ − wᵢyᵢ(uᵀxᵢ)(θᵀxᵢ + b))/N
//
// The product uᵀxᵢ includes the intercept's entry of u. With Groups, the derivative with respect to
// the λ1 or λ2 of a group is the sum of these derivatives over the features j of the group.
//
// The errors are the same as for [ElasticNet.VJP].
func (l *SparseLogistic) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[penalisedDerivative](w).adjoint(&l.sparseLogisticFit, l.Generalised, g, dtheta)
}

// JVP differentiates the last fit. It sets dtheta to the directional derivative of θ along d. The
// fields of d are tangents of the inputs (a nil field is a zero tangent). The derivative also
// exists at weakly active coordinates, but it is not linear in d there. In this case JVP solves the
// quadratic problem that keeps each weakly active coordinate on its side of the kink. The errors
// are the same as for [ElasticNet.JVP].
func (l *SparseLogistic) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[penalisedDerivative](w).forward(&l.sparseLogisticFit, dtheta, d)
}

// New returns a new learner with the same settings.
func (l *SparseLogistic) New() learn.Learner {
	return &SparseLogistic{Groups: l.Groups, Intercept: l.Intercept, Generalised: l.Generalised}
}

// Convention returns the logistic loss.
func (*SparseLogistic) Convention() learn.Convention {
	return learn.Convention{Loss: learn.LogisticLoss}
}

// BeyondRidge returns λ1.
func (*SparseLogistic) BeyondRidge() []string { return []string{"λ1"} }

// Hyperparameters describes λ1 and λ2: see [ElasticNet.Hyperparameters].
func (*SparseLogistic) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	// At θ = 0, the slope of the loss is half the slope of a squared error with the labels as
	// targets.
	return []learn.Hyperparameter{learner.Lambda1(m, m.Correlation/2), learner.Lambda2(m, true)}
}
