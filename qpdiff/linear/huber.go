package linear

import (
	"cmp"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// Huber is robust linear regression (Huber 1964). Its loss is squared for residuals up to δ and
// absolute beyond; it has a ridge penalty:
//
//	minimise over θ and b   1/N·Σ_i h(y_i − θᵀx_i − b) + ½·λ2·‖θ‖²
//	h(r) = ½r² for |r| ≤ δ, and δ·(|r| − ½δ) beyond
//
// with b = 0 without Intercept. An outlier moves θ as if its residual were ±δ, however large it is.
// Each row is weighted as [learn.Data] states. If no residual exceeds δ, this is [ElasticNet] at λ1
// = 0.
//
// The hyperparameters are (λ2, δ): λ2 ≥ 0, and δ > 0 in the unit of y.
//
// # Method
//
// Q is the set of rows with |r_i| ≤ δ. z_i is the row x_i, followed by 1 with Intercept. R is the
// unit matrix, with 0 in place of the intercept's 1. θ solves
//
//	(1/N·Σ_Q z_i z_iᵀ + λ2·R)·θ = 1/N·(Σ_Q y_i·z_i + δ·Σ_{i∉Q} sign(r_i)·z_i)
//
// The solver finds Q by Newton's method with an exact line search, from the Q of the last fit. It
// ends when the residuals of a system's solution agree with the Q of the system. The solution is
// unique if the matrix is regular. That requires enough rows in Q or λ2 > 0, and with Intercept one
// row in Q.
//
// The first system costs N·n² multiplications. Each later one costs n² for every row that changed
// sides, n³ for its factor and some N·n. If there are more than 30 features, and more features than
// rows, the systems have one unknown for each row, unless λ2 is below 1e-9 of the mean square of a
// feature. A Load then costs N²·n multiplications, and a system N³.
//
// # Derivatives
//
// They follow from the implicit function theorem at that system. They exist if no residual is ±δ,
// where the second derivative jumps. A residual counts as ±δ within 256 times its rounding error,
// which includes the rounding of the terms that determine θ.
//
// The zero value is ready for Load. Fits after the first allocate nothing.
type Huber struct {
	// Intercept adds an unpenalised constant, the last entry of θ. It is read by Dims
	// and Load.
	Intercept bool
	// Generalised lets the products return a result at residuals of ±δ too, as if their rows stayed
	// in Q. False: they return a NotDifferentiableError.
	Generalised bool
	// MaxIter bounds the Newton steps of one fit. Zero: 500.
	MaxIter int

	huberFit
}

// huberMaxIter is the default of [Huber.MaxIter]. A fit usually takes some ten steps. If the rows
// in Q do not determine θ, convergence is linear.
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

// Load makes d the data of the following fits. It keeps a reference to d, whose Rows and
// Weights count. Its errors are ArgErrors: from [learn.Data.Check], and of kind ErrNotFinite if
// XᵀX or Xᵀy overflows. After one, the learner has no data.
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

// Fit solves the problem at hyper = (λ2, δ) and writes θ, with Intercept followed by b. After an
// error the learner has no fit, and θ is unchanged. An error is an ArgError of kind ErrShape,
// ErrNotFinite or ErrDomain for hyper, or matches ErrNotFitted without data. ErrIllPosed: θ is not
// unique to working precision. ErrNotFinite: θ overflows. ErrIterationLimit: for example, δ is so
// far below the residuals that rounding hides Q.
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
	if err := l.choose(); err != nil {
		l.warm = false
		return err
	}
	limit := cmp.Or(max(l.MaxIter, 0), huberMaxIter)
	err = l.minimise(limit)
	if err != nil && l.warm { // the last zones may lead far off
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

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not nil. u solves H·u =
// dtheta for the matrix H of the system of θ, and s_i = sign(r_i) for the rows outside Q:
//
//	λ2: −θᵀRu    δ: 1/N·Σ_{i∉Q} s_i·z_iᵀu    y_i: z_iᵀu/N in Q, else 0
//	x_i: (r_i·u − z_iᵀu·θ)/N in Q, else δ·s_i·u/N
//
// Errors are ErrNotFitted, and an ArgError of kind ErrNotFinite for dtheta. A product that
// overflows is such an ArgError, too, and leaves g undefined. If a residual is ±δ and Generalised
// is not set, a NotDifferentiableError names the rows. If rounding hides whether a residual is ±δ,
// and may have moved it by more than 1e-6 of δ, the error is an ArgError of kind ErrIllPosed, with
// Generalised too.
func (l *Huber) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[huberDerivative](w).adjoint(&l.huberFit, l.Generalised, g, dtheta)
}

// JVP sets dtheta to the derivative of θ at the last fit along d, whose fields are tangents of the
// inputs (nil: zero). Its errors are VJP's, with d in place of dtheta.
func (l *Huber) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[huberDerivative](w).forward(&l.huberFit, l.Generalised, dtheta, d)
}

// Residual implements [learn.VerifiedLearner].
func (l *Huber) Residual() (float64, error) {
	if err := l.state.Fitted(); err != nil {
		return math.NaN(), learner.Named(l, err)
	}
	return l.residual(), nil
}

// New returns a new learner with the same settings.
func (l *Huber) New() learn.Learner {
	return &Huber{Intercept: l.Intercept, Generalised: l.Generalised, MaxIter: l.MaxIter}
}

// Convention returns the absolute error.
func (*Huber) Convention() learn.Convention { return learn.Convention{Loss: learn.AbsoluteError} }

// Bounds and default of Huber's threshold, in units of the spread of the labels. The default loses
// 5 % of efficiency at normal errors (Huber 1964).
const leastThreshold, defaultThreshold, mostThreshold = 1e-2, 1.345, 10

// Hyperparameters describes λ2 and δ.
func (*Huber) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	spread := m.Spread()
	return []learn.Hyperparameter{learner.Lambda2(m, true),
		{Name: "δ", Lower: leastThreshold * spread, Default: defaultThreshold * spread, Upper: mostThreshold * spread}}
}
