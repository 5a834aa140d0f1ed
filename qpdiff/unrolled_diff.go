package qpdiff

import "gonum.org/v1/gonum/mat"

// unrolledFit is the path of an [Unrolled] on its data: what its derivatives read.
type unrolledFit struct {
	fitState
	objective SmoothObjective // as of the last fit, like all that follows
	k         int             // parameters
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
	back   []float64 // cotangents of three iterates
	sum    Grad      // of the steps' cotangents, in dhyper, dx, dy
	dhyper []float64
	dx     *mat.Dense
	dy     []float64
	g, hv  []float64
}

// adjoint is [Unrolled.VJP].
func (d *unrolledDerivative) adjoint(l *unrolledFit, g *Grad, dtheta []float64) error {
	if err := l.checkAdjoint(g, dtheta); err != nil {
		return err
	}
	k, m := l.k, len(l.hyper)
	d.g, d.hv, d.back = grow(d.g, k), grow(d.hv, k), grow(d.back, 3*k)
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
			l.objective.Gradient(d.g, theta, l.data, l.hyper)
			deta -= dot(next, d.g)
			for j, v := range next {
				dmu += v * (theta[j] - before[j])
			}
		}
		for j, v := range next {
			d.g[j] = -l.eta * v
		}
		l.objective.MixedVJP(sum, d.g, theta, l.data, l.hyper)
		l.objective.HVP(d.hv, d.g, theta, l.data, l.hyper)
		for j, v := range next {
			now[j] += (1+l.mu)*v + d.hv[j]
		}
		if t == 0 {
			prev = now
		}
		axpy(-l.mu, next, prev)
		next, now, prev = now, prev, next
		clear(prev)
	}
	if err := l.checkSums(sum, deta, dmu); err != nil {
		return err
	}
	if g.Hyper != nil {
		axpy(1, sum.Hyper, g.Hyper[:m])
		g.Hyper[m] += deta
		g.Hyper[m+1] += dmu
	}
	if g.X != nil {
		g.X.Add(g.X, sum.X)
	}
	if g.Y != nil {
		axpy(1, sum.Y, g.Y)
	}
	return nil
}

// sums returns zeros for the fields of g that are not nil.
func (d *unrolledDerivative) sums(l *unrolledFit, g *Grad) *Grad {
	rows, cols := l.data.X.Dims()
	d.sum = Grad{}
	if g.Hyper != nil {
		d.dhyper = grow(d.dhyper, len(l.hyper))
		clear(d.dhyper)
		d.sum.Hyper = d.dhyper
	}
	if g.X != nil {
		if d.dx == nil || d.dx.RawMatrix().Rows != rows || d.dx.RawMatrix().Cols != cols {
			d.dx = mat.NewDense(rows, cols, nil)
		}
		d.dx.Zero()
		d.sum.X = d.dx
	}
	if g.Y != nil {
		d.dy = grow(d.dy, rows)
		clear(d.dy)
		d.sum.Y = d.dy
	}
	return &d.sum
}

func (l *unrolledFit) checkSums(sum *Grad, deta, dmu float64) error {
	total := deta + dmu
	for _, v := range sum.Hyper {
		total += v
	}
	if sum.X != nil {
		for _, v := range sum.X.RawMatrix().Data {
			total += v
		}
	}
	for _, v := range sum.Y {
		total += v
	}
	if !finite(total) {
		return argErrorf("hyper", ErrNotFinite, "lower the learning rate, the momentum or Steps", "lets the cotangents overflow on the way back through %d steps", l.steps)
	}
	return nil
}
