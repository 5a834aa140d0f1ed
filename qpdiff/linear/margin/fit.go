package margin

import (
	"context"
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// marginFit is a solved [marginProblem] with its data. The derivatives of the learners are computed
// from it.
type marginFit struct {
	state learner.State
	p     marginSolver
	mult  []float64 // of each distinct row of the elbow: its multiplier
	weakMargins
}

// SetContext implements [learn.ContextLearner].
func (l *marginFit) SetContext(ctx context.Context) { l.state.Stop.Watch(ctx) }

// load makes d the data.
func (l *marginFit) load(d learn.Data) error {
	d, err := l.state.Take(l, d, true)
	if err == nil {
		err = l.p.load(d)
	}
	if err != nil {
		l.p.reset()
		return err
	}
	rows, n := d.X.Dims()
	l.mult = dense.Grow(l.mult, rows)
	l.resize(rows, n)
	l.state.Data = d
	return nil
}

// Bytes implements [learn.SizedLearner]. It counts the memory that load and the derivatives
// allocate, except for a JVP at a kink.
func (l *marginFit) Bytes(s learn.Size) int64 {
	rows, n, _ := learner.Sizes(s)
	lists := 3*rows + 9*n                             // mult and weakMargins
	derivative := faceEntries(rows, n) + 4*rows + 4*n // ownFace, and the vectors of a marginDerivative
	return learner.Entries(solverEntries(rows, n, s.Weighted) + lists + derivative)
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *marginFit) Reset() {
	l.state.Forget()
	l.p.reset()
}

// solve computes the fit and writes theta. Before the call, the arguments of Fit must have been
// checked. The parameter hasL1 is true if λ1 is a hyperparameter.
func (l *marginFit) solve(theta []float64, hasL1 bool) error {
	warm := l.p.isWarm
	l.p.stopper = &l.state.Stop
	attempt := func() error {
		if err := l.p.solve(); err != nil {
			return err
		}
		dense.Scatter(l.mult, l.p.mult, l.p.elbow)
		return l.findWeak(&l.p, hasL1)
	}
	err := attempt()
	// Because of rounding, a search from the last face may fail although a search from θ = 0 succeeds.
	if err != nil && warm {
		l.p.reset()
		err = attempt()
	}
	if err != nil {
		l.p.reset()
		return err
	}
	copy(theta, l.p.theta)
	l.state.Finish()
	return nil
}

// elbow does the work of the method Elbow of the learner.
func (l *marginFit) elbow(learner any, dst []int) ([]int, error) {
	return l.p.Where(learner, &l.state, dst, func(k int) bool { return l.p.side[k] == 0 })
}

// notDifferentiable returns the error for a VJP that cannot compute the fields of g that are not
// nil. The parameter hyper lists the hyperparameters with respect to which no derivative exists.
// The parameter weakSet lists the indices of distinct rows.
func (l *marginFit) notDifferentiable(g *learn.Grad, weakSet qpdiff.Weak, hyper ...qpdiff.Input) error {
	return learner.NotDifferentiable(g, weakSet, l.p.First, "move the hyperparameters, ask JVP for a directional derivative, or set Generalised", hyper...)
}
