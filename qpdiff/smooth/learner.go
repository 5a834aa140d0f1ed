package smooth

import (
	"cmp"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// Learner minimises your own [Objective] F by Newton's method. It differentiates the minimiser θ by
// the implicit function theorem, applied to ∇F(θ) = 0. This is the rule of the paper's Section 3
// without constraints:
//
//	∂θ/∂input = −∇²F(θ)⁻¹ · ∂∇F/∂input.
//
// The Hessian is assembled from one product for each parameter. Learner therefore suits a moderate
// number of parameters (some hundreds).
//
// A Learner with its Objective set is ready for Load. The first fit allocates memory. Later fits,
// and derivatives with a workspace, allocate only in the functions of the Objective. If derivatives
// run concurrently, these functions must allow concurrent calls.
type Learner struct {
	Objective Objective // it is read by Dims, Load and Fit
	MaxIter   int       // Newton steps of one fit at most; zero: 200

	n      int // features
	isWarm bool
	smoothFit
}

// smoothMaxIter is the default of [Learner.MaxIter]. Once Newton's method takes whole steps, it
// converges quadratically, and about ten more steps suffice.
const smoothMaxIter = 200

// Dims returns the dimensions of the objective.
func (l *Learner) Dims(n int) (theta, hyper int) { return l.Objective.dims(n) }

// Load takes the data d, which all following fits use. It keeps a reference to d. If d cannot be
// used, Load returns an ArgError of kind ErrShape or ErrNotFinite. If d.Rows or d.Weights is not
// nil, it returns an ArgError of kind ErrDomain. After an error the learner has no data.
func (l *Learner) Load(d learn.Data) (err error) {
	defer learner.End(l, &err)
	l.state.Unload()
	if err := learner.CheckBytes(l, d); err != nil {
		l.isWarm = false
		return err
	}
	if d, err = learner.Held(l, d); err == nil {
		err = learner.CheckAll(d, "smooth.Learner")
	}
	if err != nil {
		l.isWarm = false
		return err
	}
	_, n := d.X.Dims()
	if k, _ := l.Dims(n); n != l.n || k != len(l.theta) {
		l.n, l.isWarm = n, false
		l.resize(k)
	}
	l.state.Data = d
	return nil
}

// Bytes implements [learn.SizedLearner]. It counts the memory that a fit and the derivatives
// allocate. It does not count the memory that the objective's functions allocate.
func (l *Learner) Bytes(s learn.Size) int64 {
	params, _ := l.Dims(s.Features)
	k := float64(params)
	return learner.Entries(2*k*k + 16*k)
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *Learner) Reset() {
	l.state.Forget()
	l.isWarm = false
}

// Fit minimises F at the hyperparameters hyper and writes the minimiser to θ. It starts from θ = 0
// or from the last solution. After an error the learner has no fit, and θ is unchanged. Errors:
//
//   - An ArgError that matches ErrShape, ErrNotFinite or ErrDomain: hyper cannot be used.
//   - ErrNotFitted: no data are loaded.
//   - ErrNotFinite: F has no finite gradient at the start.
//   - ErrIllPosed: the Hessian is not positive definite.
//   - ErrIterationLimit: the solution was not reached.
func (l *Learner) Fit(theta, hyper []float64) (err error) {
	defer learner.End(l, &err)
	l.state.Stop.Look()
	if err := l.state.BeginTheta(theta, len(l.theta), l.Objective.NumHyper); err != nil {
		return err
	}
	if err := l.Objective.checkHyper(hyper); err != nil {
		return err
	}
	l.objective = l.Objective
	limit := cmp.Or(max(l.MaxIter, 0), smoothMaxIter)
	l.hyper = append(l.hyper[:0], hyper...)
	warm := l.isWarm
	l.isWarm = false
	if !warm {
		clear(l.theta)
	}
	err = l.minimise(limit)
	if err != nil && warm {
		clear(l.theta)
		err = l.minimise(limit)
	}
	if err != nil {
		return err
	}
	copy(theta, l.theta)
	l.isWarm = true
	l.state.Finish()
	return nil
}

// VJP differentiates the last fit. It adds dthetaᵀ·∂θ/∂input to each field of g that is not nil. It
// returns ErrNotFitted if there is no fit, and an ArgError of kind ErrNotFinite if dtheta is not
// finite. If the Hessian is singular to working precision, the error matches ErrIllPosed. If a
// product overflows, the error matches ErrNotFinite, and g is undefined.
func (l *Learner) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) (err error) {
	defer learner.Name(l, &err)
	return qpdiff.Scratch[smoothDerivative](w).adjoint(&l.smoothFit, g, dtheta)
}

// New returns a new learner of the same Objective.
func (l *Learner) New() learn.Learner {
	return &Learner{Objective: l.Objective, MaxIter: l.MaxIter}
}

// Convention returns the zero Convention, because an objective of your own has no usual loss.
func (*Learner) Convention() learn.Convention { return learn.Convention{} }

// Hyperparameters returns nil, because the data do not determine the hyperparameters of your
// objective.
func (*Learner) Hyperparameters(learn.Moments) []learn.Hyperparameter { return nil }
