package smooth

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// smoothDerivative is the scratch of the derivatives of a [smoothFit].
type smoothDerivative struct {
	fit     uint64 // that h and dinv belong to
	h, dinv []float64
	v       []float64
}

// adjoint is [Learner.VJP].
func (d *smoothDerivative) adjoint(l *smoothFit, g *learn.Grad, dtheta []float64) error {
	if err := l.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	k := len(l.theta)
	d.v = dense.Grow(d.v, k)
	if d.fit != l.state.Fit {
		d.fit = 0
		d.h, d.dinv = dense.Grow(d.h, k*k), dense.Grow(d.dinv, k)
		if err := l.factorise(&l.state.Stop, d.h, d.dinv, d.v); err != nil {
			return err
		}
		d.fit = l.state.Fit
	}
	for j, v := range dtheta {
		d.v[j] = -v
	}
	dense.LDLSolve(d.h, d.dinv, k, k, d.v)
	l.objective.MixedVJP(g, d.v, l.theta, l.state.Data, l.hyper)
	return learner.CheckProduct(g)
}
