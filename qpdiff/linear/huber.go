package linear

import (
	"cmp"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// Huber is robust linear regression (Huber 1964) with a ridge penalty. The loss h(r) is quadratic
// for residuals |r| ≤ δ, and linear in |r| beyond:
//
//	minimise over θ and b   1/N·Σ_i h(y_i − θᵀx_i − b) + ½·λ2·‖θ‖²
//	h(r) = ½r² for |r| ≤ δ, and δ·(|r| − ½δ) beyond
//
// Without Intercept, b = 0. An outlier moves θ as if its residual were ±δ, however large the
// residual is. Each row is weighted as [learn.Data] states. If no residual exceeds δ, the solution
// is the same as for [ElasticNet] at λ1 = 0.
//
// The hyperparameters are (λ2, δ): λ2 ≥ 0, and δ > 0 in the unit of y.
//
// # Method
//
// Let r_i be the residual of row i, and Q the set of rows with |r_i| ≤ δ. Without Intercept, z_i is
// the row x_i and R is the unit matrix. With Intercept, z_i has one more entry, which is 1, and R
// has one more diagonal entry, which is 0. θ solves
//
//	(1/N·Σ_Q z_i z_iᵀ + λ2·R)·θ = 1/N·(Σ_Q y_i·z_i + δ·Σ_{i∉Q} sign(r_i)·z_i)
//
// The solver finds Q by Newton's method with an exact line search, from the Q of the last fit. It
// solves the system for Q and compares the residuals with δ. It ends when |r_i| ≤ δ holds for
// exactly the rows of Q. The solution is unique if the matrix is regular. This requires enough rows
// in Q or λ2 > 0. With Intercept, Q must have at least one row.
//
// The first system costs N·n² multiplications. Each later system costs n² for every row that
// entered or left Q, n³ for its factor, and a small multiple of N·n. If there are more than 30
// features, and more features than rows, the systems have one unknown for each row. A Load then
// costs N²·n multiplications, and each system costs N³. However, if λ2 is below 1e-9 of the mean
// square of a feature, the systems have one unknown for each parameter.
//
// # Derivatives
//
// The derivatives follow from the implicit function theorem, applied to this system. They exist if
// no residual is ±δ, because the second derivative of h jumps there. A residual counts as ±δ if it
// differs from ±δ by at most 256 times its rounding error. This error includes the rounding of the
// terms that determine θ.
//
// The zero value is ready for Load. Fits after the first allocate nothing.
type Huber struct {
	// Intercept adds an unpenalised constant, the last entry of θ. Dims and Load read this field.
	Intercept bool
	// Generalised decides what VJP and JVP return if a residual is exactly ±δ. If Generalised is
	// true, they return a result in which such rows are treated as rows of Q. If it is false, they
	// return a NotDifferentiableError.
	Generalised bool
	// MaxIter bounds the Newton steps of one fit. If MaxIter is zero, the limit is 500.
	MaxIter int

	huberFit
}

// huberMaxIter is the default of [Huber.MaxIter]. A fit usually takes about ten steps. If the rows
// in Q do not determine θ, convergence is linear, and the fit takes more steps.
const huberMaxIter = 500

// Dims returns n parameters, with Intercept n+1, and 2 hyperparameters (λ2, δ).
func (l *Huber) Dims(n int) (theta, hyper int) {
	if l.Intercept {
		n++
	}
	return n, 2
}

// SetGeneralised sets the field Generalised.
func (l *Huber) SetGeneralised(on bool) { l.Generalised = on }

// Load makes d the data of the following fits. It keeps a reference to d, and uses the fields Rows
// and Weights of d. Load returns the errors of [learn.Data.Check], and an error of kind
// ErrNotFinite if XᵀX or Xᵀy overflows. All are ArgErrors. After an error the learner has no data.
func (l *Huber) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	if d, err = l.state.Take(l, d, false); err != nil {
		l.warm = false
		return err
	}
	return l.load(d, l.Intercept)
}

// Bytes implements [learn.SizedLearner]: the allocations of load, findWeak and the derivatives.
func (l *Huber) Bytes(s learn.Size) int64 {
	rows, n, m := learner.Sizes(s)
	counts := rows // and rows
	if s.Weighted {
		counts += rows
	}
	if l.Intercept {
		n++
	}
	return learner.Entries(counts + huberEntries(m, n, ways.Rows(s.Rows, int(n))))
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *Huber) Reset() {
	l.state.Forget()
	l.sums.reset()
	l.warm = false
}

// Fit solves the problem at hyper = (λ2, δ) and writes θ, followed by b if Intercept is set. After
// an error the learner has no fit, and θ is unchanged. If hyper is invalid, the error is an
// ArgError of kind ErrShape, ErrNotFinite or ErrDomain. Without data the error matches
// ErrNotFitted. If θ is not unique to working precision, the error matches ErrIllPosed. If θ
// overflows, it matches ErrNotFinite. After MaxIter steps it matches ErrIterationLimit. This
// happens, for example, if δ is so far below the residuals that rounding hides which rows are in Q.
func (l *Huber) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	if err := l.state.Begin(theta, hyper, l.k, 2); err != nil {
		return err
	}
	if hyper[1] == 0 {
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give a threshold δ above 0, in the unit of the labels", "holds 0 as δ")
	}
	l.l2, l.delta = hyper[0], hyper[1]
	l.sums.solver.End = &l.state.Stop
	if err := l.chooseWay(); err != nil {
		l.warm = false
		return err
	}
	limit := cmp.Or(max(l.MaxIter, 0), huberMaxIter)
	err = l.minimise(limit)
	if err != nil && l.warm { // the last zones may be a bad start
		l.warm = false
		err = l.minimise(limit)
	}
	if err == nil {
		err = l.findWeak()
	}
	if l.warm = err == nil; err != nil {
		return err
	}
	copy(theta, l.theta)
	l.state.Finish()
	return nil
}

// VJP differentiates the last fit. To each field of g that is not nil, it adds dthetaᵀ·∂θ/∂input.
// Let u solve H·u = dtheta, where H is the matrix of the system that θ solves. Let s_i = sign(r_i)
// for the rows outside Q. Then VJP adds
//
//	λ2: −θᵀRu    δ: 1/N·Σ_{i∉Q} s_i·z_iᵀu    y_i: z_iᵀu/N in Q, else 0
//	x_i: (r_i·u − z_iᵀu·θ)/N in Q, else δ·s_i·u/N
//
// If there is no fit, the error is ErrNotFitted. If dtheta is not finite, the error is an ArgError
// of kind ErrNotFinite. If a product overflows, the error is of the same kind, and g is undefined.
// If a residual is ±δ and Generalised is not set, a NotDifferentiableError names the rows.
//
// Rounding may hide whether a residual is ±δ. If it does, and rounding may have moved the residual
// by more than 1e-6 of δ, VJP returns an ArgError of kind ErrIllPosed, even if Generalised is set.
func (l *Huber) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[huberDerivative](w).adjoint(&l.huberFit, l.Generalised, g, dtheta)
}

// JVP differentiates the last fit. It sets dtheta to the derivative of θ along d. The fields of d
// are tangents of the inputs (a nil field is a zero tangent). The errors are the same as for VJP,
// with d in place of dtheta.
func (l *Huber) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[huberDerivative](w).forward(&l.huberFit, l.Generalised, dtheta, d)
}

// Residual implements [learn.VerifiedLearner].
func (l *Huber) Residual() (float64, error) {
	return learner.Measured(l, &l.state, l.residual)
}

// New returns a new learner with the same settings.
func (l *Huber) New() learn.Learner {
	return &Huber{Intercept: l.Intercept, Generalised: l.Generalised, MaxIter: l.MaxIter}
}

// Convention returns the absolute error and Robust.
func (*Huber) Convention() learn.Convention {
	return learn.Convention{Loss: learn.AbsoluteError, Robust: true}
}

// Bounds and default of δ, in units of the spread of the labels. For normal errors the default has
// 95 % of the efficiency of least squares (Huber 1964).
const leastThreshold, defaultThreshold, mostThreshold = 1e-2, 1.345, 10

// Hyperparameters describes λ2 and δ.
func (*Huber) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	spread := m.Spread()
	return []learn.Hyperparameter{learner.Lambda2(m, true),
		{Name: "δ", Lower: leastThreshold * spread, Default: defaultThreshold * spread, Upper: mostThreshold * spread}}
}
