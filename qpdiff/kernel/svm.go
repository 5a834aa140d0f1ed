package kernel

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// SVM is the support vector machine with a kernel, for labels ±1. It solves the dual problem
// (Cortes and Vapnik 1995):
//
//	minimise over β   ½·Σ_ij β_i β_j k(x_i, x_j) − Σ_i y_i β_i
//	subject to        0 ≤ y_i β_i ≤ C,   with Intercept also Σ_i β_i = 0
//
// The decision function is f(x) = Σ_i β_i k(x_i, x) + b. Here β_i is y_i times the usual dual
// variable, and b is the multiplier of the constraint Σ_i β_i = 0. Without Intercept, b is 0. The
// hyperparameters are C > 0, followed by the parameters of the kernel. If a row has the weight w in
// [learn.Data], its bound is C·w. Doubling all weights therefore has the effect of doubling C.
//
// The prediction is not θᵀx. With Intercept, θ is the single number b; without Intercept, θ is
// empty. [SVM.Predict] returns the prediction, which is the decision value. [SVM.PredictVJP] and
// [SVM.PredictJVP] differentiate the prediction with respect to C, the kernel's parameters, the
// training rows, their labels and the predicted rows.
//
// # Derivatives
//
// Let F be the rows with 0 < y_iβ_i < C, and U the rows with y_iβ_i = C. The conditions
//
//	f(x_i) = 1/y_i for i ∈ F,   β_i = C·y_i for i ∈ U,   Σβ = 0 with Intercept
//
// determine β_F and b. A derivative by the implicit function theorem needs one solve with the
// matrix k(x_F, x_F). With Intercept, the matrix is bordered. The theorem requires strict
// complementarity: no row of F is at a bound, and no other row has y_i·f(x_i) = 1. To allow for
// rounding, a row of F counts as a violation if the distance of its β_i from a bound is below 256
// times the rounding error, and another row if the distance of y_i·f(x_i) from 1 is. The rounding
// error follows from the terms of the conditions.
//
// If all β are at a bound, any b in an interval is optimal. Then b is the middle of the interval,
// and the derivative of b is the derivative of the middle.
//
// Equal rows with equal labels count as one row with their total weight. The derivative with
// respect to equal rows is valid only for moves that keep the rows equal. It is divided among the
// rows in proportion to their weights. There is no derivative along a move that separates equal
// rows of F, because only the sum of the rows' β is unique; see [SVM.Ties].
//
// # Size
//
// Up to 4096 distinct rows, the kernel matrix is stored, with 8 bytes for each pair of rows. With
// more rows, the rows of the matrix are evaluated when they are needed, and a cache of at most 128
// MiB holds the rows used last. The cache is smaller if MaxBytes requires it. No result depends on
// the size of the cache.
//
// With more than 1024 rows, rows that are likely to stay at their bound are set aside while the
// other rows move. At the end all rows are checked. A fit starts from the solution of the last fit,
// even if C or the kernel's parameters have changed.
//
// The zero value has the RBF kernel and no intercept, and is ready for Load. With up to 1024 rows,
// later fits allocate nothing. With more rows, they allocate only the memory for the rows whose β
// is between its bounds.
type SVM struct {
	Kernel Kernel // nil: RBF. It is read by Dims and Load.
	// Intercept adds an unpenalised constant to the decision function. Dims and Load read it.
	Intercept bool
	// Generalised selects the result of a derivative if strict complementarity fails. If it is
	// false, the result is a NotDifferentiableError. If it is true, the result is the derivative of
	// another problem, in which each weakly active row stays at its bound, or at the nearest bound.
	// If β is not unique, this derivative depends on the β that the fit found, and therefore also
	// on the start of the fit. For example, β is not unique if a polynomial kernel has fewer terms
	// than there are rows.
	Generalised bool

	kernelSVMFit
}

// Dims returns the numbers of parameters and hyperparameters. There is 1 parameter with Intercept,
// and no parameter without Intercept. The hyperparameters are C and the parameters of the kernel.
func (l *SVM) Dims(n int) (theta, hyper int) { return dims(l.Kernel, l.Intercept, n) }

// SetGeneralised sets the field Generalised.
func (l *SVM) SetGeneralised(on bool) { l.Generalised = on }

// Load takes the data d, which all following fits use. It keeps a reference to d, and uses the
// fields Rows and Weights of d. It returns the errors of [learn.Data.Check]. If a label is not ±1,
// even in a row of weight 0, it returns an ArgError of kind ErrDomain. If all labels of rows with a
// weight above 0 are equal, it returns an ArgError of kind ErrIllPosed. After an error the learner
// has no data.
func (l *SVM) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	if d, err = l.state.Take(l, d, true); err != nil {
		l.q.reset()
		return err
	}
	known := l.n
	if err := l.loadData(l, l.Kernel, l.Intercept, d); err != nil {
		l.q.reset()
		return err
	}
	l.load(known, l.Intercept)
	return nil
}

// Bytes implements [learn.SizedLearner]. It counts the allocations of Load and of derivatives. With
// more than 1024 rows it does not count factors, because Fit checks their memory. The factors take
// 8 bytes for each pair of rows whose β is between its bounds.
func (l *SVM) Bytes(s learn.Size) int64 {
	return learner.Entries(l.entries(s))
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *SVM) Reset() {
	l.state.Forget()
	l.q.reset()
}

// Fit solves the dual problem at the hyperparameters hyper = (C, kernel parameters…). With
// Intercept, it writes b to theta. After an error the learner has no fit, and θ is unchanged.
// Errors:
//
//   - An ArgError that matches ErrShape, ErrNotFinite or ErrDomain: hyper cannot be used.
//   - ErrNotFitted: no data are loaded.
//   - ErrTooLarge: factors need more than Data.MaxBytes.
//   - ErrNonconvex: the fit shows that the kernel is not positive semidefinite.
//   - ErrIterationLimit: the problem is too ill-conditioned for the working precision. Rounding of
//     the kernel's values and of the solution may change a training row's decision value by more
//     than 1e-3, relative to the margin 1.
func (l *SVM) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	if err := l.state.BeginTheta(theta, l.state.Params, l.state.Hypers); err != nil {
		return err
	}
	if err := l.checkHyper(hyper, "C", func(c float64) error {
		if c > 0 {
			return nil
		}
		return check.ArgErrorf("hyper", qpdiff.ErrDomain, "give a C above 0", "holds %v as C", c)
	}); err != nil {
		return err
	}
	l.q.stopper, l.q.factor.stopper = &l.state.Stop, &l.state.Stop
	err = l.gramMatrix(hyper[1:])
	if err == nil {
		err = l.bounds(hyper[0])
	}
	if err == nil {
		err = l.q.solve()
	}
	if err == nil {
		err = l.findWeak()
	}
	if err != nil {
		l.q.reset()
		return err
	}
	l.coef, l.b = l.q.beta, l.q.b
	l.support = l.support[:0]
	for i, b := range l.coef {
		if b != 0 {
			l.support = append(l.support, i)
		}
	}
	dense.Fill(theta, l.q.b)
	l.state.Finish()
	return nil
}

// Residual implements [learn.VerifiedLearner]. It evaluates the kernel once for each pair of a
// training row and a support vector.
func (l *SVM) Residual() (float64, error) { return learner.Measured(l, &l.state, l.violation) }

// Multipliers returns the dual variables of the last fit: y_i·β_i for each training row i. Let the
// row have the weight w. The variable is C·w if the row violates the margin, and 0 if the row is
// beyond the margin. If y_i·f(x_i) = 1, the variable is between 0 and C·w. For equal rows with
// equal labels only the sum of their dual variables is unique, and Multipliers divides this sum in
// proportion to the rows' weights. Multipliers overwrites dst, and allocates only if dst has too
// little capacity. If there is no fit, it returns ErrNotFitted.
func (l *SVM) Multipliers(dst []float64) ([]float64, error) {
	return l.rows.Spread(l, &l.state, dst, func(k int) float64 {
		if l.q.atC(k, l.q.beta[k]) {
			return l.c
		}
		return min(math.Abs(l.q.beta[k])/l.rows.Copies[k], l.c)
	})
}

// SupportVectors returns the numbers of the training rows whose dual variables are not 0 in the
// last fit, in ascending order. The decision function does not depend on the other rows.
// SupportVectors overwrites dst, and allocates only if dst has too little capacity. If there is no
// fit, it returns ErrNotFitted.
func (l *SVM) SupportVectors(dst []int) ([]int, error) {
	return l.rows.Where(l, &l.state, dst, func(k int) bool { return l.q.beta[k] != 0 })
}

// begin implements machineFit.
func (l *SVM) begin(d *kernelDerivative, g *learn.Grad) error {
	return l.prepare(d, l.Generalised, g)
}

// Ties calls the function visit with pairs of equal rows i and k that have equal labels, and with a
// vector d for each pair. The pairs belong to the g.X of the last VJP or PredictVJP with the
// workspace w; g.X must not have been nil in that call. This g.X is a derivative only along a move
// Ẋ for which dᵀẊ_i = dᵀẊ_k holds for the i, k and d of every call of visit. Along other moves
// there is no derivative.
//
// Ties visits pairs in two cases. In the first case, only the sum of the rows' β is unique. In the
// second case, all β are at a bound, and the rows i and k determine an end of the interval of b.
//
// The vector d has n entries and is valid only during the call. The argument sign is 1. A pair may
// have a second vector d; the function visit must return true if it needs the second vector. Ties
// finds no pairs if w is nil, or if the last derivative with w belongs to another fit.
func (l *SVM) Ties(w *qpdiff.Workspace, visit func(i, k int, sign float64, d []float64) bool) {
	if w != nil {
		qpdiff.Scratch[kernelDerivative](w).ties(&l.kernelSVMFit, visit)
	}
}

// New returns a new learner with the same settings.
func (l *SVM) New() learn.Learner {
	return &SVM{Kernel: l.Kernel, Intercept: l.Intercept, Generalised: l.Generalised}
}

// Convention returns the hinge loss.
func (*SVM) Convention() learn.Convention { return learn.Convention{Loss: learn.Hinge} }

// Bounds of C, for kernels with k(x, x) = 1.
const leastC, mostC = 1e-3, 1e4

// Hyperparameters describes C, followed by the γ of an RBF or ARD kernel. It returns nil for other
// kernels, because the data do not determine their parameters.
func (l *SVM) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	share := float64(m.Examples) / m.Weight // C multiplies a sum of weighted losses
	return hyperparameters(l.Kernel, learn.Hyperparameter{Name: "C", Lower: leastC * share, Default: share, Upper: mostC * share}, m)
}
