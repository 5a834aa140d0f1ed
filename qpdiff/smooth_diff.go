package qpdiff

// smoothDerivative is the scratch of the derivatives of a [smoothFit].
type smoothDerivative struct {
	fit     uint64 // that h and dinv belong to
	h, dinv []float64
	v       []float64
}

// adjoint is [SmoothLearner.VJP].
func (d *smoothDerivative) adjoint(l *smoothFit, g *Grad, dtheta []float64) error {
	if err := l.state.checkAdjoint(g, dtheta); err != nil {
		return err
	}
	k := len(l.theta)
	d.v = grow(d.v, k)
	if d.fit != l.state.fit {
		d.fit = 0
		d.h, d.dinv = grow(d.h, k*k), grow(d.dinv, k)
		if err := l.factorise(d.h, d.dinv, d.v); err != nil {
			return err
		}
		d.fit = l.state.fit
	}
	for j, v := range dtheta {
		d.v[j] = -v
	}
	ldlSolve(d.h, d.dinv, k, k, d.v)
	l.objective.MixedVJP(g, d.v, l.theta, l.state.data, l.hyper)
	return checkProduct(g)
}
