package linear

import (
	"cmp"
	"errors"
	"math"

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
// The sum weights each row as the [learn.Data] does. With an intercept, xᵢ is (xᵢ, 1) and R
// depends on the penalty; see [Intercept]. The only hyperparameter is C > 0. A label is used as
// the real number it is in yᵢ θᵀxᵢ, so the solution is differentiable in y as well. The label 0
// is refused: its loss is log 2 whatever θ is.
//
// # Derivatives
//
// Write πᵢ = 1/(1 + exp(−yᵢ θᵀxᵢ)), the probability of the label that was
// seen, and H = R + C Σ πᵢ(1−πᵢ) yᵢ² xᵢxᵢᵀ for the Hessian. The implicit
// function theorem at ∇L = 0 gives dθ = −H⁻¹ d(∇L) with
//
//	∇_{xᵢ}∇_θ L = C(πᵢ−1) yᵢ I + C πᵢ(1−πᵢ) yᵢ² xᵢ θᵀ
//	∂∇_θ L/∂yᵢ  = C(πᵢ−1) xᵢ   + C πᵢ(1−πᵢ) yᵢ (θᵀxᵢ) xᵢ
//	∂∇_θ L/∂C   = −Σᵢ (1−πᵢ) yᵢ xᵢ = −Rθ/C,
//
// with one row for each entry of θ; in the intercept's row of the first line
// the first term is absent and the xᵢ of the second is 1. The formula printed
// in that Example stops after the first term of the first line: it leaves out
// that πᵢ depends on xᵢ, and is not a derivative. Every block exists
// everywhere: L is smooth and strictly convex.
//
// # Method
//
// Newton's method with a line search on slopes alone. A fraction t of the Newton step δ
// descends if it changes no margin yᵢ θᵀxᵢ by more than 1.5, by Bach's bound for generalised
// self-concordant functions (Electronic Journal of Statistics 4, 2010). L is convex, so a
// fraction at whose end the slope along δ is still negative descends too. Fit begins at the
// last solution as long as the number of features stays the same, and ends at machine
// precision. Once no margin changes by more than ½ in a step, series give the probabilities and
// no exponential is computed any more.
//
// A Newton step costs N·n² operations for N rows of n features. The last one leaves
// the Hessian of the point before: the first derivative of a fit with a workspace
// computes that at the solution, and each costs N·n operations more.
//
// With more than 30 parameters, conjugate gradients solve the systems of the steps and of the
// derivatives, the latter to rounding. Each of some dozen products with the Hessian costs N·n
// operations. The factor of the Hessian at some point of the last fits speeds them up, and is
// made anew when they have cost as much. With more parameters than rows that factor has as many
// unknowns as there are rows, unless C is so large that the penalty is below 1e-9 of an entry
// of the Hessian's diagonal.
//
// A sparse X is read by its stored entries, in products whose cost is proportional to their number.
// With more than 1000 parameters the Hessian is never factorised. A solve whose residual is then
// above 1e-12 of the size of its terms returns an error that matches ErrIllPosed. With 201 to 1000
// parameters the Hessian is factorised only if the penalty is below 1e-5 of one of its diagonal
// entries, as bounded by the entries at θ = 0.
//
// The zero value is ready for Load and has no intercept.
type Logistic struct {
	// Intercept is read by Dims, Load and LoadSubset.
	Intercept Intercept
	// MaxIter limits the Newton steps of one fit. At or below 0: 200.
	MaxIter int

	logisticFit
}

// Dims returns n (n+1 with an intercept) and 1.
func (l *Logistic) Dims(n int) (theta, hyper int) { return l.Intercept.params(n), 1 }

// Load makes d the data of the following fits. It keeps a reference to d, and must be called
// again after an entry of d changed. Its errors are ArgErrors: from [learn.Data.Check];
// ErrDomain for a label 0, as the classes 0 and 1 have it. If the intercept is unpenalised and
// all labels that count have one sign, there is no solution and the error matches ErrIllPosed.
// After one, the learner has no data.
func (l *Logistic) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	l.state.Unload()
	l.full, l.out = nil, nil
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
	return l.accept(d)
}

// LoadSubset loads the data of full without the rows out for the following fits, as in
// cross-validation. A Fit at the C of full's last fit begins at that solution, corrected to
// first order for the rows left out. That Newton step costs next to nothing. l keeps no warm
// start of its own, so that its result depends on full alone.
//
// The fields of the Grad in VJP and JVP have the shape of full's data; the rows left
// out have derivative zero, and probability 1 in Probabilities.
//
// full must be a *Logistic with the same Intercept that was loaded by Load, else the
// error matches ErrDomain. It is only read, so that many learners can do this at
// once. LoadSubset must be called again after full was loaded or fitted again. The
// slice out is kept.
func (l *Logistic) LoadSubset(full learn.Learner, out []int) (err error) {
	defer learner.End(l, &err)
	l.state.Unload()
	l.warm = false
	f, ok := full.(*Logistic)
	if !ok || f == nil || f.state.Data.X == nil || f.full != nil || f.intercept != l.Intercept {
		return check.ArgErrorf("full", qpdiff.ErrDomain, "give another *Logistic of the same Intercept that has all rows loaded", "is a %T that does not hold all rows with this Intercept", full)
	}
	if l.m != f.m || l.d != f.d { // else the storage is there
		if err := learner.CheckBytes(l, f.state.Data); err != nil {
			return err
		}
	}
	rows, _ := f.state.Data.X.Dims()
	l.shape(f.state.Data, l.Intercept)
	l.full, l.out = &f.logisticFit, out
	copy(l.zmax, f.zmax)
	l.ymax = f.ymax
	l.total, l.most = f.total, f.most
	if l.counts = append(l.counts[:0], f.counts...); f.counts == nil {
		l.counts = nil
	}
	for i, r := range out {
		if r < 0 || r >= rows {
			return check.ArgErrorf("out", qpdiff.ErrDomain, "use row numbers of full's data", "holds %d at index %d where there are %d rows", r, i, rows)
		}
	}
	if l.stored != nil {
		if err := l.foldStored(f.state.Data, out); err != nil {
			return err
		}
		return l.accept(f.state.Data)
	}
	copy(l.z, f.z)
	for _, r := range out {
		for j := range l.d {
			l.z[j*rows+r] = 0
		}
	}
	return l.accept(f.state.Data)
}

// Bytes implements [learn.SizedLearner]: the allocations of Load, Fit and the derivatives.
func (l *Logistic) Bytes(s learn.Size) int64 {
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
		return learner.Entries(3*k + 5*k + m + m + m + 2*k + counted + sparse.Entries(m, k, float64(s.Stored)+m) + storedSystemEntries(m, n, float64(s.Stored)) + 4*m + 4*k)
	}
	newton := 5*k + m + m // with moved of determined
	entries := problem + newton + m + 2*k + counted
	if !ways.Products(int(n)) {
		return learner.Entries(entries + hessianEntries(m, k))
	}
	system, solver := ridge.Entries(m, k, ways.Rows(s.Rows, int(n)), true)
	return learner.Entries(entries + system + 2*solver + 4*m + 4*k)
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *Logistic) Reset() {
	l.state.Forget()
	l.large.solver.Reset()
	l.warm = false
}

// Fit writes the minimiser to theta (n entries, with an intercept n+1, the intercept last) at
// hyper = [C]. The errors match ErrShape, ErrNotFinite or ErrDomain for a hyper that is not one
// positive number, ErrNotFitted before the first Load, and ErrIllPosed if the Hessian at the
// solution is singular to machine precision or overflows. After an error that matches
// ErrIterationLimit theta holds the last iterate; after any other it is as it was.
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
	l.iter = 0 // the count of the last fit has no part in this one
	l.end, l.large.solver.End = &l.state.Stop, &l.state.Stop
	l.startAtFull()
	err = l.solve(cmp.Or(max(l.MaxIter, 0), logisticMaxIter))
	if err == nil || errors.Is(err, qpdiff.ErrIterationLimit) {
		copy(theta, l.theta)
	}
	if err != nil {
		return err
	}
	for _, row := range l.out {
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

// Probabilities writes πᵢ = 1/(1 + exp(−yᵢ θᵀxᵢ)) at the last successful Fit to dst, one entry
// for each row. It is the probability that the fitted model gives to the row's label. A nil w
// allocates. The error matches ErrNotFitted.
func (l *Logistic) Probabilities(w *qpdiff.Workspace, dst []float64) error {
	return learner.Named(l, qpdiff.Scratch[logisticDerivative](w).probabilities(&l.logisticFit, dst))
}

// SolveHessian writes H⁻¹v to dst, for the Hessian H of L at the last successful Fit: the
// product that every derivative of θ is made of. dst and v have as many entries as θ and may be
// the same slice. A nil w allocates. It returns the errors of VJP, with ErrNotFinite for v;
// after one, dst is as it was.
func (l *Logistic) SolveHessian(w *qpdiff.Workspace, dst, v []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[logisticDerivative](w).solveHessian(&l.logisticFit, dst, v)
}

// Residual implements [learn.VerifiedLearner].
func (l *Logistic) Residual() (float64, error) {
	if err := l.state.Fitted(); err != nil {
		return math.NaN(), learner.Named(l, err)
	}
	return l.residual(), nil
}

// Views implements [learn.ViewLearner].
func (l *Logistic) Views(s learn.Size) bool { return s.Sparse }

// VJP adds dthetaᵀ·∂θ/∂input at the last successful Fit to every field of g that is not nil:
// Hyper has one entry (C), X and Y have the shape of the data. With u = H⁻¹·dtheta, in the
// notation of the type:
//
//	C: uᵀRθ/C    xᵢ: −uᵀ∇_{xᵢ}∇_θ L    yᵢ: −uᵀ∂∇_θ L/∂yᵢ
//
// They are derivatives and not directions of descent: positive if a larger input raises the
// loss whose gradient is dtheta. C's has no minus, since ∂∇_θ L/∂C = −Rθ/C at a solution.
//
// It solves one system with the Hessian. The errors match ErrNotFitted; ErrIllPosed if the
// Hessian turns out to be singular to machine precision; ErrNotFinite for dtheta, or if a
// product overflows, which leaves g undefined.
func (l *Logistic) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[logisticDerivative](w).adjoint(&l.logisticFit, g, dtheta)
}

// JVP writes to dtheta the directional derivative of θ at the last successful Fit along d, in
// which a nil field means no change. It returns the errors of VJP, with ErrNotFinite for d;
// after one, dtheta is as it was.
func (l *Logistic) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[logisticDerivative](w).forward(&l.logisticFit, dtheta, d)
}

// New returns a new learner with the same settings.
func (l *Logistic) New() learn.Learner { return &Logistic{Intercept: l.Intercept, MaxIter: l.MaxIter} }

// Convention returns the logistic loss.
func (*Logistic) Convention() learn.Convention { return learn.Convention{Loss: learn.LogisticLoss} }

// C·N times the largest variance of a feature is a ratio of loss to penalty. Beyond mostStoredC,
// which takes the place of mostC for sparse data, θ fits all classes, and costs much to find.
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
