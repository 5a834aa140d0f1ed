package smooth

import (
	"cmp"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// Unrolled is gradient descent with momentum (Polyak's heavy ball), stopped
// after a fixed number of steps, as a learner: its θ is not the minimiser of F
// but the last iterate of
//
//	θ_{k+1} = θ_k − η·∇F(θ_k) + μ·(θ_k − θ_{k−1}),   k = 0 … Steps−1,   θ_{−1} = θ_0,
//
// and its derivatives are those of that iterate, by going back through the
// steps: the iterative differentiation to which the paper (Section 2.2)
// compares the implicit kind. As Steps grows they converge to those of
// [Learner], where the iteration does.
//
// The hyperparameters are those of the objective, then the learning rate η ≥ 0
// and the momentum μ ≥ 0. For a quadratic F the iteration converges if
// 0 ≤ μ < 1 and 0 < η < 2(1+μ)/L, L the largest eigenvalue of ∇²F; for others,
// momentum can make it cycle.
//
// A fit costs Steps gradients, a product as many Hessian and cross products
// (and gradients, if Hyper is wanted), and all iterates are kept for it:
// (Steps+1)·n numbers, where the implicit derivative needs one Hessian.
//
// With Objective and Steps set the value is ready for Load. Fits after the first,
// and products with a workspace, allocate only what the objective's functions do;
// those must allow concurrent calls where products run at the same time.
type Unrolled struct {
	Objective Objective
	Steps     int       // zero: 100
	Start     []float64 // θ_0; nil: 0

	unrolledFit
}

// unrolledSteps is the zero value's [Unrolled.Steps].
const unrolledSteps = 100

// Dims returns the dimensions of the objective, with 2 hyperparameters more.
func (l *Unrolled) Dims(n int) (theta, hyper int) {
	theta, hyper = l.Objective.dims(n)
	return theta, hyper + 2
}

// Load makes d the data of the following fits. It keeps a reference to d.
// Errors are ArgErrors of kind ErrShape or ErrNotFinite, and ErrDomain for Rows or
// Weights that are not nil; after one, the learner has no data.
func (l *Unrolled) Load(d learn.Data) error {
	l.state.Unload()
	d = learner.InPlace(d)
	if err := learner.CheckAll(d, "Unrolled"); err != nil {
		return err
	}
	_, n := d.X.Dims()
	l.k, _ = l.Dims(n)
	l.g = dense.Grow(l.g, l.k)
	if l.Start != nil {
		if len(l.Start) != l.k {
			return check.ArgErrorf("Unrolled.Start", qpdiff.ErrShape, "give one entry per parameter, or nil", "has %d entries instead of %d", len(l.Start), l.k)
		}
		if err := check.Finite("Unrolled.Start", "start from a finite point", l.Start); err != nil {
			return err
		}
	}
	l.state.Data = d
	return nil
}

// Reset forgets the last fit. There is no warm start: every fit begins at Start.
func (l *Unrolled) Reset() { l.state.Forget() }

// Fit runs the steps at hyper and writes the last iterate to theta. Errors: an
// ArgError that matches ErrShape, ErrNotFinite or ErrDomain for hyper,
// ErrNotFitted without data, and ErrNotFinite where an iterate overflows, as it
// does with too large a learning rate. After an error there is no fit, and θ is
// left as it was.
func (l *Unrolled) Fit(theta, hyper []float64) error {
	k, m := l.k, l.Objective.NumHyper
	if err := l.state.BeginTheta(theta, k, m+2); err != nil {
		return err
	}
	if len(hyper) != m+2 {
		return learner.CheckHyper(hyper, m+2)
	}
	//lint:ignore SA4023 cmp.Or returns nil where every check does
	if err := cmp.Or(learner.CheckHyper(hyper[m:], 2), l.Objective.checkHyper(hyper[:m])); err != nil {
		return err
	}
	l.objective = l.Objective
	l.hyper = append(l.hyper[:0], hyper[:m]...)
	l.eta, l.mu = hyper[m], hyper[m+1]
	l.steps = cmp.Or(max(l.Steps, 0), unrolledSteps)
	l.path = dense.Grow(l.path, (l.steps+1)*k)
	clear(l.path[:k])
	copy(l.path, l.Start)
	for t := range l.steps {
		now, next := l.iterate(t), l.iterate(t+1)
		before := l.iterate(max(t-1, 0))
		l.Objective.Gradient(l.g, now, l.state.Data, l.hyper)
		for j, v := range now {
			next[j] = v - l.eta*l.g[j] + l.mu*(v-before[j])
			if !dense.Finite(next[j]) {
				return check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "lower the learning rate or the momentum",
					"lets the iterates grow: entry %d is %v after %d steps with learning rate %v and momentum %v", j, next[j], t+1, l.eta, l.mu)
			}
		}
	}
	copy(theta, l.iterate(l.steps))
	l.state.Finish()
	return nil
}

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not
// nil, where ∂θ is that of the last iterate. Errors: ErrNotFitted; an ArgError
// of kind ErrNotFinite for dtheta, or for hyper where a cotangent overflows.
func (l *Unrolled) VJP(w *qpdiff.Workspace, g *learn.Grad, dtheta []float64) error {
	return qpdiff.Scratch[unrolledDerivative](w).adjoint(&l.unrolledFit, g, dtheta)
}
