package linear

import (
	"cmp"
	"errors"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ridge"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
)

// Logistic is L2-regularised logistic regression with labels ±1 (Barratt and
// Sharma, Example "Logistic regression"):
//
//	minimise L(θ) = ½ θᵀRθ + C Σᵢ log(1 + exp(−yᵢ θᵀxᵢ)),
//
// Each row is weighted as [learn.Data] states. With an intercept, (xᵢ, 1) takes the place of xᵢ,
// and R depends on the penalty; see [Intercept]. The only hyperparameter is C > 0. The formulas
// hold for any real labels, so the solution is also differentiable with respect to y. The label 0
// is refused, because its loss is log 2 for any θ.
//
// # Derivatives
//
// Let πᵢ = 1/(1 + exp(−yᵢ θᵀxᵢ)) be the probability of the observed label, and H = R + C Σ πᵢ(1−πᵢ)
// yᵢ² xᵢxᵢᵀ the Hessian. The implicit function theorem at ∇L = 0 gives dθ = −H⁻¹ d(∇L) with
//
//	∇_{xᵢ}∇_θ L = C(πᵢ−1) yᵢ I + C πᵢ(1−πᵢ) yᵢ² xᵢ θᵀ
//	∂∇_θ L/∂yᵢ  = C(πᵢ−1) xᵢ   + C πᵢ(1−πᵢ) yᵢ (θᵀxᵢ) xᵢ
//	∂∇_θ L/∂C   = −Σᵢ (1−πᵢ) yᵢ xᵢ = −Rθ/C,
//
// Each matrix has one row for each entry of θ. With an intercept, xᵢ is (xᵢ, 1) on the right-hand
// sides, and ∇_{xᵢ}∇_θ L has no column for the constant 1. In the Example of Barratt and Sharma,
// the printed formula for ∇_{xᵢ}∇_θ L has only the first term C(πᵢ−1)yᵢI. It omits that πᵢ depends
// on xᵢ, so it is not a derivative. All these derivatives exist everywhere, because L is smooth and
// strictly convex.
//
// # Method
//
// The solver is Newton's method with a line search on slopes alone. A fraction t of the Newton step
// δ lowers L if it changes no margin yᵢ θᵀxᵢ by more than 1.5. This follows from Bach's bound for
// generalised self-concordant functions (Electronic Journal of Statistics 4, 2010). Because L is
// convex, a fraction also lowers L if the slope along δ is still negative at its end. Fit begins at
// the last solution if the number of features is the same, and ends at machine precision. With more
// than 30 parameters, Fit begins at the solution for the nearest C among the last 16 for the same
// data. Once a step changes no margin by more than ½, the probabilities are computed by series
// without exponentials.
//
// A Newton step costs N·n² operations for N rows of n features. The last step of a fit starts from
// a point with a known Hessian, and the learner keeps this Hessian. With a workspace, the first
// derivative after a fit also computes the Hessian at the solution. Each derivative costs N·n more
// operations.
//
// With more than 30 parameters, conjugate gradients solve the systems of the steps and of the
// derivatives. The systems of the derivatives are solved to rounding. A solve needs about a dozen
// products with the Hessian, each of N·n operations.
//
// The preconditioner is a factor of the Hessian at an earlier point. If C changes, the terms of the
// rows in this factor are scaled. The factor is replaced when the products have cost as much as a
// factorisation. It is computed from float32 numbers unless the penalty is below 1e-5 times some
// entry of the Hessian's diagonal. Products always use float64 numbers, so the accuracy of the
// solution does not depend on the factor.
//
// With more parameters than rows, the system of the factor has one unknown for each row. However,
// if C is so large that the penalty is below 1e-9 times some entry of the Hessian's diagonal, each
// step of a fit factorises the Hessian instead.
//
// If X is sparse, the cost of a product is proportional to the number of stored entries. With more
// than 1000 parameters the Hessian is never factorised, and if the residual of a solve exceeds
// 1e-12 times the size of the residual's terms, the error matches ErrIllPosed. With 201 to 1000
// parameters the Hessian is factorised only if the penalty is below 1e-5 times some diagonal entry
// of the Hessian at θ = 0. (At other θ the diagonal is not larger.)
//
// The zero value is ready for Load and has no intercept.
type Logistic struct {
	// Intercept is read by Dims, Load and LoadSubset.
	Intercept Intercept
	// MaxIter limits the Newton steps of one fit. If MaxIter is at most 0, the limit is 200.
	MaxIter int

	logisticFit
}

// Dims returns n (n+1 with an intercept) and 1.
func (l *Logistic) Dims(n int) (theta, hyper int) { return l.Intercept.params(n), 1 }

// Load makes d the data of the following fits. It keeps a reference to d, and must be called again
// after an entry of d changed.
//
// Load returns the errors of [learn.Data.Check]. If a label is 0, as in data with the classes 0 and
// 1, the error matches ErrDomain. If the intercept is unpenalised and all rows with a weight above
// 0 have labels of the same sign, the problem has no solution, and the error matches ErrIllPosed.
// All these errors are ArgErrors. After an error the learner has no data.
func (l *Logistic) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	l.state.Unload()
	l.fullFit, l.leftOut = nil, nil
	if err := learner.CheckBytes(l, d); err != nil {
		return err
	}
	if d, err = learner.Held(l, d); err != nil {
		return err
	}
	if err := checkRows(d); err != nil {
		return err
	}
	if l.Intercept < NoIntercept || l.Intercept > PenalisedIntercept {
		return check.ArgErrorf("Logistic.Intercept", qpdiff.ErrDomain, "use one of the constants", "is %d", l.Intercept)
	}
	l.shape(d, l.Intercept)
	if err := l.fold(d); err != nil {
		return err
	}
	return l.endLoad(d, l.entries(d.Size()))
}

// LoadSubset loads the data of another learner, full, except for the rows listed in out.
// Cross-validation uses it. If the next Fit has the C of the other learner's last fit, it begins at
// that learner's solution. For a dense X and at most 30 parameters, it adds a Newton step that
// accounts for the omitted rows, at very little cost. l keeps no warm start from its earlier fits,
// so the result of this Fit depends only on the other learner.
//
// The fields of the Grad in VJP and JVP have the shape of the other learner's data. For a row that
// the subset omits, the derivative is zero, and Probabilities returns 1.
//
// The other learner must be a *Logistic with the same Intercept, and loaded by Load; otherwise the
// error matches ErrDomain. LoadSubset only reads it, so many learners can load subsets of it at
// once. LoadSubset must be called again after each Load or Fit of the other learner. LoadSubset
// keeps a reference to its argument out.
func (l *Logistic) LoadSubset(full learn.Learner, out []int) (err error) {
	defer learner.End(l, &err)
	l.state.Unload()
	l.warmStart = false
	f, ok := full.(*Logistic)
	if !ok || f == nil || f.state.Data.X == nil || f.fullFit != nil || f.intercept != l.Intercept {
		return check.ArgErrorf("full", qpdiff.ErrDomain, "give another *Logistic of the same Intercept that has all rows loaded", "is a %T that does not hold all rows with this Intercept", full)
	}
	if l.m != f.m || l.d != f.d { // else the storage is there
		if err := learner.CheckBytes(l, f.state.Data); err != nil {
			return err
		}
	}
	rows, _ := f.state.Data.X.Dims()
	l.shape(f.state.Data, l.Intercept)
	l.fullFit, l.leftOut = &f.logisticFit, out
	copy(l.zmax, f.zmax)
	l.ymax = f.ymax
	l.total, l.maxWeight = f.total, f.maxWeight
	if l.counts = append(l.counts[:0], f.counts...); f.counts == nil {
		l.counts = nil
	}
	for i, r := range out {
		if r < 0 || r >= rows {
			return check.ArgErrorf("out", qpdiff.ErrDomain, "use row numbers of full's data", "holds %d at index %d where there are %d rows", r, i, rows)
		}
	}
	if l.storedRows != nil {
		if err := l.foldStored(f.state.Data, out); err != nil {
			return err
		}
		return l.endLoad(f.state.Data, f.large.heldEntries)
	}
	copy(l.z, f.z)
	for _, r := range out {
		for j := range l.d {
			l.z[j*rows+r] = 0
		}
	}
	return l.endLoad(f.state.Data, f.large.heldEntries)
}

// Bytes implements [learn.SizedLearner]: the allocations of Load, Fit and the derivatives.
func (l *Logistic) Bytes(s learn.Size) int64 { return learner.Entries(l.entries(s)) }

// entries returns the number of float64 values of Bytes.
func (l *Logistic) entries(s learn.Size) float64 {
	m, n, _ := learner.Sizes(s)
	if l.Intercept != NoIntercept {
		n++
	}
	k := max(logisticSmall, n)
	counted := 0.0
	if s.Weighted {
		counted = 4 * m // counts and work, also of a logisticDerivative
	}
	problem := m*k + 2*k
	if s.Sparse {
		return 3*k + 5*k + m + m + m + 2*k + counted + sparse.Entries(m, k, float64(s.Stored)+m) + storedSystemEntries(m, n, float64(s.Stored)) + 4*m + (4+logisticStarts)*k
	}
	newton := 5*k + m + m // with moved of determined
	entries := problem + newton + m + 2*k + counted
	if !ways.Products(int(n)) {
		return entries + hessianEntries(m, k)
	}
	system, solver := ridge.Entries(m, k, ways.Rows(s.Rows, int(n)), true)
	return entries + system + 2*solver + 4*m + (4+logisticStarts)*k
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *Logistic) Reset() {
	l.state.Forget()
	l.large.solver.Reset()
	l.large.keptStarts = 0
	l.warmStart = false
}

// Fit writes the minimiser at hyper = [C] to theta. theta has n entries, or n+1 with an intercept,
// which is the last entry. If hyper is not one positive number, the error matches ErrShape,
// ErrNotFinite or ErrDomain. Before the first Load the error matches ErrNotFitted. If the Hessian
// at the solution overflows or is singular to machine precision, the error matches ErrIllPosed.
// After an error that matches ErrIterationLimit theta holds the last iterate; after any other error
// theta is unchanged.
func (l *Logistic) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	if err := l.state.Begin(theta, hyper, l.d, 1); err != nil {
		return err
	}
	if hyper[0] == 0 {
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give a weight C above 0", "holds 0 at index 0")
	}
	l.c = hyper[0]
	l.iter = 0 // the count of steps begins anew with each fit
	l.end, l.large.solver.End = &l.state.Stop, &l.state.Stop
	l.startAtFull()
	err = l.solve(cmp.Or(max(l.MaxIter, 0), logisticMaxIter))
	if err == nil || errors.Is(err, qpdiff.ErrIterationLimit) {
		copy(theta, l.theta)
	}
	if err != nil {
		return err
	}
	for _, row := range l.leftOut {
		l.s[row], l.w[row] = 0, 0
	}
	for row, count := range l.counts {
		if count == 0 {
			l.s[row], l.w[row] = 0, 0
		}
	}
	l.state.Finish()
	return nil
}

// Probabilities sets dst[i] to πᵢ = 1/(1 + exp(−yᵢ θᵀxᵢ)) for each row i, with the θ of the last
// successful Fit. πᵢ is the probability that the model gives to the label yᵢ. If w is nil,
// Probabilities allocates. An error matches ErrNotFitted.
func (l *Logistic) Probabilities(w *qpdiff.Workspace, dst []float64) error {
	return learner.Named(l, qpdiff.Scratch[logisticDerivative](w).probabilities(&l.logisticFit, dst))
}

// SolveHessian sets dst to H⁻¹v, where H is the Hessian of L at the last successful Fit. Every
// derivative of θ is such a product. dst and v have as many entries as θ, and may be the same
// slice. If w is nil, SolveHessian allocates. The errors are the same as for VJP. If v is not
// finite, the error matches ErrNotFinite. After an error dst is unchanged.
func (l *Logistic) SolveHessian(w *qpdiff.Workspace, dst, v []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[logisticDerivative](w).solveHessian(&l.logisticFit, dst, v)
}

// Residual implements [learn.VerifiedLearner].
func (l *Logistic) Residual() (float64, error) {
	return learner.Measured(l, &l.state, l.residual)
}

// Views implements [learn.ViewLearner].
func (l *Logistic) Views(s learn.Size) bool { return s.Sparse }

// VJP adds dthetaᵀ·∂θ/∂input at the last successful Fit to every field of g that is not nil. Hyper
// has one entry (C); X and Y have the shape of the data. With u = H⁻¹·dtheta, in the notation of
// the type:
//
//	C: uᵀRθ/C    xᵢ: −uᵀ∇_{xᵢ}∇_θ L    yᵢ: −uᵀ∂∇_θ L/∂yᵢ
//
// An entry of g is positive if a larger input raises the loss whose gradient is dtheta. The
// derivative in C has no minus sign, because ∂∇_θ L/∂C = −Rθ/C at a solution.
//
// VJP solves one system with the Hessian. An error matches ErrNotFitted, ErrIllPosed or
// ErrNotFinite. ErrIllPosed: the Hessian is singular to machine precision. ErrNotFinite: dtheta is
// not finite, or a product overflows; g is then undefined.
func (l *Logistic) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[logisticDerivative](w).adjoint(&l.logisticFit, g, dtheta)
}

// JVP sets dtheta to the directional derivative of θ at the last successful Fit, along d. A nil
// field of d is a zero tangent. The errors are the same as for VJP. If d is not finite, the error
// matches ErrNotFinite. After an error, dtheta is unchanged.
func (l *Logistic) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[logisticDerivative](w).forward(&l.logisticFit, dtheta, d)
}

// New returns a new learner with the same settings.
func (l *Logistic) New() learn.Learner { return &Logistic{Intercept: l.Intercept, MaxIter: l.MaxIter} }

// Convention returns the logistic loss.
func (*Logistic) Convention() learn.Convention { return learn.Convention{Loss: learn.LogisticLoss} }

// BeyondRidge returns nil.
func (*Logistic) BeyondRidge() []string { return nil }

// The ratio of loss to penalty is C·N times the largest variance of a feature. If this ratio
// exceeds the constant mostC (mostStoredC for sparse data), θ fits all labels and takes long to
// compute.
const leastC, mostC, mostStoredC = 1e-3, 1e6, 1e4

// Hyperparameters describes C.
func (*Logistic) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	unit := 1 / (m.Weight * m.Largest)
	share := float64(m.Examples) / m.Weight // C multiplies a sum of weighted losses
	c := learn.Hyperparameter{Name: "C", Lower: leastC * unit, Default: share / m.Variance, Upper: mostC * unit}
	if m.Sparse {
		c.Upper = mostStoredC * unit
		c.Default = min(c.Default, c.Upper)
	}
	return []learn.Hyperparameter{c}
}
