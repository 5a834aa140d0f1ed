package kernel

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// SVM is the support vector machine with a kernel, by its dual (Cortes and Vapnik 1995), for
// labels ±1:
//
//	minimise over β   ½·Σ_ij β_i β_j k(x_i, x_j) − Σ_i y_i β_i
//	subject to        0 ≤ y_i β_i ≤ C,   with Intercept also Σ_i β_i = 0
//
// Its decision function is f(x) = Σ_i β_i k(x_i, x) + b. b is the multiplier of the last
// constraint, 0 without Intercept. β_i is y_i times the usual dual variable. The hyperparameters
// are C > 0, followed by the kernel's. A row with weight w in [learn.Data] has the bound C·w. C
// therefore weights a sum over the rows: doubling all weights has the effect of doubling C.
//
// The prediction is not θᵀx: θ is b alone with Intercept, and empty without. [SVM.Predict] returns
// the prediction, which is the decision value. [SVM.PredictVJP] and [SVM.PredictJVP] are its
// derivatives in C, the kernel's parameters, the training rows, their labels and the predicted
// rows.
//
// # Derivatives
//
// Let F be the rows with 0 < y_iβ_i < C, and U the rows at C. The conditions
//
//	f(x_i) = 1/y_i for i ∈ F,   β_i = C·y_i for i ∈ U,   Σβ = 0 with Intercept
//
// determine β_F and b. The implicit function theorem at them needs one solve with k(x_F, x_F),
// bordered with Intercept. It requires strict complementarity: no row of F is at a bound, and no
// other row has y_i·f(x_i) = 1. Each condition counts as violated within 256 times its rounding
// error, from the terms of the conditions. If all β are at a bound, b may have any value in an
// interval. It is set to the middle, and its derivative is the middle's.
//
// Equal rows with equal labels count as one row with their total weight. Derivatives are along
// moves that keep them equal, divided in proportion to the weights. Moves that separate equal rows
// of F have no derivative, because only the sum of the rows' β is unique; see [SVM.Ties].
//
// # Size
//
// Up to 4096 distinct rows the kernel matrix is stored, with 8 bytes for each pair of them. Beyond
// that, its rows are evaluated when needed, and at most 128 MiB hold the rows used last. If
// MaxBytes allows less, they hold fewer. This changes no result.
//
// From 1024 rows on, rows that have no reason to leave their bound are set aside while the others
// move. In both cases the solution is checked on all rows at the end. A fit starts from the last
// one, also after a change of C or of the kernel's parameters.
//
// The zero value has the RBF kernel and no intercept, and is ready for Load. Later fits allocate
// nothing. With more than 1024 rows, they allocate only the memory for the rows inside their
// bounds.
type SVM struct {
	Kernel Kernel // nil: RBF. It is read by Dims and Load.
	// Intercept adds an unpenalised constant to the decision function. Dims and Load read it.
	Intercept bool
	// Generalised lets the products return a result if strict complementarity fails, as if each
	// weakly active row stayed at its bound or at the nearest one. If β is not unique there, as
	// with a polynomial kernel of fewer terms than rows, the result depends on the β found, and so
	// on the start of the fit. False: they return a NotDifferentiableError.
	Generalised bool

	kernelSVMFit
}

// Dims returns 1 parameter with Intercept and none without. It returns one hyperparameter more than
// the kernel has parameters.
func (l *SVM) Dims(n int) (theta, hyper int) { return dims(l.Kernel, l.Intercept, n) }

// SetGeneralised sets the field Generalised.
func (l *SVM) SetGeneralised(on bool) { l.Generalised = on }

// Load makes d the data of the following fits. It keeps a reference to d, and uses its Rows and
// Weights. Errors are ArgErrors: from [learn.Data.Check]; ErrDomain for a label other than ±1, also
// of a row that does not count; ErrIllPosed if all labels that count are the same. After an error
// the learner has no data.
func (l *SVM) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	if d, err = l.state.Take(l, d, true); err != nil {
		l.q.reset()
		return err
	}
	known := l.n
	if err := l.accept(l, l.Kernel, l.Intercept, d); err != nil {
		l.q.reset()
		return err
	}
	l.load(known, l.Intercept)
	return nil
}

// Bytes implements [learn.SizedLearner]. It counts the allocations of Load and of derivatives. With
// more than 1024 rows it omits factors, which take 8 bytes for each pair of rows inside their
// bounds; Fit counts them.
func (l *SVM) Bytes(s learn.Size) int64 {
	return learner.Entries(l.entries(s))
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *SVM) Reset() {
	l.state.Forget()
	l.q.reset()
}

// Fit solves the dual at hyper = (C, kernel parameters…) and writes b to theta with Intercept.
// After an error the learner has no fit, and θ is unchanged. Errors:
//
//   - An ArgError that matches ErrShape, ErrNotFinite or ErrDomain: hyper cannot be used.
//   - ErrNotFitted: no data are loaded.
//   - ErrTooLarge: factors need more than Data.MaxBytes.
//   - ErrNonconvex: the kernel turns out not to be positive semidefinite.
//   - ErrIterationLimit: the problem is too ill-conditioned for the working precision.
//     Rounding of the kernel's values and of the solution may change a training row's
//     decision value by more than 1e-3, relative to the margin 1.
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
	l.q.end, l.q.factor.end = &l.state.Stop, &l.state.Stop
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

// Multipliers returns the dual variable y_i·β_i of each training row at the last fit. It is C times
// the row's weight if the row violates the margin, 0 if it is beyond the margin, and between them
// if y_i·f(x_i) = 1. Only the sum is unique for equal rows with equal labels. They share it in
// proportion to their weights. Multipliers overwrites dst, and allocates only if dst has too little
// capacity. The error is ErrNotFitted.
func (l *SVM) Multipliers(dst []float64) ([]float64, error) {
	return l.rows.Spread(l, &l.state, dst, func(k int) float64 {
		if l.q.atC(k, l.q.beta[k]) {
			return l.c
		}
		return min(math.Abs(l.q.beta[k])/l.rows.Copies[k], l.c)
	})
}

// SupportVectors returns the training rows whose dual variables are not 0 at the last fit,
// ascending. The decision function does not depend on the other rows. It overwrites dst, and
// allocates only if dst has too little capacity. The error is ErrNotFitted.
func (l *SVM) SupportVectors(dst []int) ([]int, error) {
	return l.rows.Where(l, &l.state, dst, func(k int) bool { return l.q.beta[k] != 0 })
}

// begin is part of a machineFit.
func (l *SVM) begin(d *kernelDerivative, g *learn.Grad) error {
	return l.prepare(d, l.Generalised, g)
}

// Ties calls visit for pairs of equal rows i and k with equal labels in two cases: only the sum of
// their β is unique, or they bound b because all β are at a bound. The g.X of the last VJP or
// PredictVJP with w, in which g.X must not have been nil, is the derivative along moves dX with
// dᵀdX_i = dᵀdX_k for each d that is passed to visit (n entries, valid during the call; sign is 1).
// Other moves have no derivative. visit returns whether it needs the pair's other d. Ties finds no
// pairs if w is nil or its last product belongs to another fit.
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

// Bounds of C, whose kernels are 1 at equal rows.
const leastC, mostC = 1e-3, 1e4

// Hyperparameters describes C and the γ of an RBF or ARD kernel. The parameters of other kernels do
// not follow from the data.
func (l *SVM) Hyperparameters(m learn.Moments) []learn.Hyperparameter {
	share := float64(m.Examples) / m.Weight // C multiplies a sum of weighted losses
	return hyperparameters(l.Kernel, learn.Hyperparameter{Name: "C", Lower: leastC * share, Default: share, Upper: mostC * share}, m)
}
