package smooth

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// unrolledFit is the path of an [Unrolled] on its data: what its derivatives read.
type unrolledFit struct {
	state     learner.State
	objective Objective // as of the last fit, like all that follows
	k         int       // parameters
	steps     int
	path      []float64 // θ_0 … θ_Steps
	hyper     []float64 // of the objective
	eta, mu   float64
	g         []float64 // work of Fit
}

// iterate is θ_t.
func (l *unrolledFit) iterate(t int) []float64 { return l.path[t*l.k : (t+1)*l.k] }

// unrolledDerivative is the scratch of the derivatives of an [unrolledFit].
type unrolledDerivative struct {
	back   []float64  // cotangents of three iterates
	sum    learn.Grad // of the steps' cotangents, in dhyper, dx, dy
	dhyper []float64
	dx     mat.Dense
	dy     []float64
	g, hv  []float64
}

// adjoint is [Unrolled.VJP].
func (d *unrolledDerivative) adjoint(l *unrolledFit, g *learn.Grad, dtheta []float64) error {
	if err := l.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	k, m := l.k, len(l.hyper)
	d.g, d.hv, d.back = dense.Grow(d.g, k), dense.Grow(d.hv, k), dense.Grow(d.back, 3*k)
	sum := d.sums(l, g)
	// Cotangents of θ_{t+1}, θ_t and θ_{t−1}.
	next, now, prev := d.back[:k:k], d.back[k:2*k:2*k], d.back[2*k:]
	copy(next, dtheta)
	clear(now)
	clear(prev)
	var deta, dmu float64
	for t := l.steps - 1; t >= 0; t-- {
		theta, before := l.iterate(t), l.iterate(max(t-1, 0))
		if g.Hyper != nil {
			l.objective.Gradient(d.g, theta, l.state.Data, l.hyper)
			deta -= dense.Dot(next, d.g)
			for j, v := range next {
				dmu += v * (theta[j] - before[j])
			}
		}
		for j, v := range next {
			d.g[j] = -l.eta * v
		}
		l.objective.MixedVJP(sum, d.g, theta, l.state.Data, l.hyper)
		l.objective.HVP(d.hv, d.g, theta, l.state.Data, l.hyper)
		for j, v := range next {
			now[j] += (1+l.mu)*v + d.hv[j]
		}
		if t == 0 {
			prev = now
		}
		dense.Axpy(-l.mu, next, prev)
		next, now, prev = now, prev, next
		clear(prev)
	}
	if learner.CheckProduct(sum) != nil || !dense.Finite(deta+dmu) {
		return check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "lower the learning rate, the momentum or Steps", "lets the cotangents overflow on the way back through %d steps", l.steps)
	}
	if g.Hyper != nil {
		dense.Axpy(1, sum.Hyper, g.Hyper[:m])
		g.Hyper[m] += deta
		g.Hyper[m+1] += dmu
	}
	if g.X != nil {
		g.X.Add(g.X, sum.X)
	}
	dense.Axpy(1, sum.Y, g.Y)
	return nil
}

// sums returns zeros for the fields of g that are not nil.
func (d *unrolledDerivative) sums(l *unrolledFit, g *learn.Grad) *learn.Grad {
	rows, cols := l.state.Data.X.Dims()
	d.sum = learn.Grad{}
	if g.Hyper != nil {
		d.dhyper = dense.Zeros(d.dhyper, len(l.hyper))
		d.sum.Hyper = d.dhyper
	}
	if g.X != nil {
		d.dx.Reset()
		d.dx.ReuseAs(rows, cols)
		d.sum.X = &d.dx
	}
	if g.Y != nil {
		d.dy = dense.Zeros(d.dy, rows)
		d.sum.Y = d.dy
	}
	return &d.sum
}
