package penalised

import (
	"fmt"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// GLM is a generalised linear model with quadratic penalties:
//
//	minimise over β and b   Σ_i w_i ℓ(y_i, x_iᵀβ + b) + ½ Σ_j λ_j βᵀS_jβ
//
// with the weights w_i of the rows as the [learn.Data] has them, 1 each by default. It is a sum,
// not a mean: twice as many rows halve the effect of a penalty. b is 0 without Intercept. Features
// that no penalty has are not penalised.
//
// The hyperparameters are λ_j ≥ 0, one for each penalty. θ is β, followed by b with Intercept.
//
// # Method
//
// Damped Newton steps reach the minimiser to rounding, two steps for the squared loss. With n
// features a step costs N·n²/2 multiplications for the Hessian, which the squared loss sums
// once in Load, n³/6 for its factor, and one pass over each S_j. Derivatives follow from the
// implicit function theorem with one solve, are exact, and exist for every fit; they cost two
// passes over the rows and one over each S_j.
//
// The zero value is ridge regression without intercept and ready for Load. Fits after the first
// allocate nothing.
type GLM struct {
	Loss Loss // read by Load
	// Penalties are read by Dims and Load, and their matrices by Fit and VJP: do not change these.
	// Nil: one ridge penalty of all features.
	Penalties []Penalty
	Intercept bool // adds an unpenalised b; read by Dims and Load

	warm bool
	glmFit
}

// Dims returns n parameters, one more with Intercept, and one hyperparameter for each penalty.
func (l *GLM) Dims(n int) (theta, hyper int) {
	if theta = n; l.Intercept {
		theta++
	}
	return theta, max(1, len(l.Penalties))
}

// Load makes d the data of the following fits. It copies the rows that count. Errors: as for
// [learn.Data.Check]; an ArgError of kind ErrDomain for labels that the loss cannot judge; of
// kind ErrShape or ErrNonconvex for penalties that do not fit the features. After one, the learner
// has no data.
func (l *GLM) Load(d learn.Data) (err error) {
	defer learner.Name(l, &err)
	if d, err = l.state.Take(l, d, l.Loss == Logistic); err == nil {
		err = l.Loss.check(d)
	}
	if err != nil {
		l.warm = false
		return err
	}
	_, n := d.X.Dims()
	if theta, _ := l.Dims(n); n != l.n || theta != len(l.theta) || l.Loss != l.loss {
		l.warm = false
	}
	l.loss = l.Loss
	if err := l.load(d, l.Penalties, l.Intercept); err != nil {
		l.warm = false
		return err
	}
	l.state.Data = d
	return nil
}

// Bytes implements [learn.SizedLearner]: the copied rows, their terms at two points, the Hessian, for the
// squared loss the Gram matrix, the copies of penalties, and, with s.LeaveOneOut, the fits of Folds.
func (l *GLM) Bytes(s learn.Size) int64 {
	rows, q, m := learner.Sizes(s)
	block := min(m, float64(blockRows(s.Features)))
	if l.Intercept {
		q++
	}
	entries := m*q + 12*m + 2*rows + q*q + 12*q + block*q + 12*float64(max(1, len(l.Penalties)))
	if s.LeaveOneOut { // of a foldFit and its derivatives
		entries += 6.5*m*q + 3*q*q + 50*m + 6*rows
	}
	if l.Loss == Squared {
		entries += q * q
	}
	if len(l.Penalties) == 0 {
		entries += q // of Ridge
	}
	for _, p := range l.Penalties {
		_, copied := p.size()
		entries += float64(copied)
	}
	return learner.Entries(entries)
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *GLM) Reset() {
	l.state.Forget()
	l.warm, l.folds.number = false, 0
}

// Fit minimises the objective at hyper = λ and writes θ, from the best constant or the last
// solution. After an error there is no fit, and θ is left as it was. Errors:
//
//   - An ArgError that matches ErrShape, ErrNotFinite or ErrDomain: hyper cannot be used.
//   - ErrNotFitted: there are no data.
//   - ErrIllPosed: θ is not unique, because features without a penalty are linear combinations
//     of others, or there is none, because features without a penalty separate the classes or
//     have no count above 0.
//   - ErrNotFinite: the objective overflows.
func (l *GLM) Fit(theta, hyper []float64) (err error) {
	defer learner.Name(l, &err)
	if err := l.state.Begin(theta, hyper, len(l.theta), len(l.forms)); err != nil {
		return err
	}
	l.folds.number = 0
	copy(l.lambda, hyper)
	warm := l.warm
	l.warm = false
	if !warm {
		l.begin()
	}
	err = l.minimise()
	if err != nil && warm {
		l.begin()
		err = l.minimise()
	}
	if err != nil {
		return err
	}
	l.external(theta, l.theta)
	l.warm = true
	l.state.Finish()
	return nil
}

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not nil. Errors:
// ErrNotFitted; an ArgError of kind ErrNotFinite for dtheta or if a product overflows, which
// leaves g undefined.
func (l *GLM) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	return learner.Named(l, qpdiff.Scratch[glmDerivative](w).adjoint(&l.glmFit, g, dtheta))
}

// JVP sets dtheta to the derivative of θ at the last fit along d, whose fields are tangents of
// the inputs. Errors are VJP's, for d.
func (l *GLM) JVP(w *qpdiff.Workspace, dtheta []float64, d *learn.Grad) error {
	return learner.Named(l, qpdiff.Scratch[glmDerivative](w).tangent(&l.glmFit, dtheta, d))
}

// New returns a new learner with the same settings, and the same matrices.
func (l *GLM) New() learn.Learner {
	return &GLM{Loss: l.Loss, Penalties: slices.Clone(l.Penalties), Intercept: l.Intercept}
}

// Convention returns the squared or the logistic error, and none for Poisson.
func (l *GLM) Convention() learn.Convention {
	switch l.Loss {
	case Squared:
		return learn.Convention{Loss: learn.SquaredError}
	case Logistic:
		return learn.Convention{Loss: learn.LogisticLoss}
	}
	return learn.Convention{}
}

// The bounds of a λ_j and its default are shares of the value at which its penalty is as large as
// the sum of squares of a feature.
const leastLambda, defaultLambda, mostLambda = 1e-8, 1e-2, 1e4

// Hyperparameters describes the λ_j, named λ[0], λ[1], …
func (l *GLM) Hyperparameters(m learn.Moments) (all []learn.Hyperparameter) {
	penalties := l.Penalties
	if len(penalties) == 0 {
		penalties = []Penalty{Ridge(0, m.Features)}
	}
	for j, p := range penalties {
		unit := m.Weight * m.Variance / p.mean()
		all = append(all, learn.Hyperparameter{Name: fmt.Sprintf("λ[%d]", j), Lower: leastLambda * unit, Default: defaultLambda * unit, Upper: mostLambda * unit})
	}
	return all
}
