package qpdiff

import (
	"math"
	"slices"
)

// elasticNetDerivative is the scratch of an elastic net's derivatives.
type elasticNetDerivative struct {
	u, b []float64   // solution and right-hand side of the active system
	part piecewiseQP // the problem restricted, where a coordinate is weakly active
}

// resize gives the scratch n entries.
func (d *elasticNetDerivative) resize(n int) { d.u, d.b = grow(d.u, n), grow(d.b, n) }

// adjoint is [ElasticNet.VJP].
func (d *elasticNetDerivative) adjoint(e *elasticNetFit, generalised bool, g *Grad, dtheta []float64) error {
	if err := e.checkAdjoint(g, dtheta); err != nil {
		return err
	}
	d.resize(e.n)
	n, q := e.n, &e.qp
	if len(e.weak) > 0 {
		if !generalised || e.blur > hiddenTol {
			return e.notDifferentiable(g)
		}
		q = d.part.restrict(e, func(j int, active, weak bool) bool { return active && !weak })
		if k := q.factor(); k < len(q.act) {
			return errOpen(q.act[k])
		}
		g.Generalised = g.Generalised || g.wanted()
	}
	u := q.solveActive(d.u, dtheta)
	if h := g.Hyper; h != nil {
		x := e.qp.x
		kinked := e.kinkedAtZero() && (!generalised || e.blur > hiddenTol)
		var d1, d2 float64
		for i, j := range q.act {
			t := e.sign(j)
			if e.perFeature {
				if !kinked || e.gram[j*n+j] == 0 || !slices.Contains(e.weakFree, j) {
					h[j] -= t * u[i]
				}
				h[n+j] -= x[j] * u[i]
				continue
			}
			d1 += t * u[i]
			d2 += x[j] * u[i]
		}
		if !e.perFeature {
			if !kinked {
				h[0] -= d1
			}
			h[1] -= d2
		}
	}
	if g.X != nil || g.Y != nil {
		e.dataVJP(g, q.act, u)
	}
	if err := e.checkVJP(g, u, q.act); err != nil {
		return err
	}
	if g.Hyper != nil && e.kinkedAtZero() {
		if !generalised || e.blur > hiddenTol {
			return e.notDifferentiable(g)
		}
		g.Generalised = true
	}
	return nil
}

// checkVJP reports an overflow. An entry of X is at most √spread·‖x_j‖/√N, and so are
// the products of a row with θ and w.
func (e *elasticNetFit) checkVJP(g *Grad, w []float64, act []int) error {
	if g.X == nil && g.Y == nil {
		return checkProduct(g)
	}
	var fit, move, top float64
	for i, j := range act {
		move += e.root[j] * math.Abs(w[i])
		top = max(top, math.Abs(w[i]))
	}
	for j, t := range e.qp.x {
		fit += e.root[j] * math.Abs(t)
	}
	if !finite(e.spread * (fit*top + e.rmsY*top + move*(1+largest(e.qp.x)))) {
		return checkProduct(g)
	}
	return checkProduct(&Grad{Hyper: g.Hyper})
}

// dataVJP adds to g.X and g.Y, for w on the coordinates act.
func (e *elasticNetFit) dataVJP(g *Grad, act []int, w []float64) {
	theta := e.qp.x
	for i, y := range e.data.Y {
		inv := e.share(i)
		if inv == 0 {
			continue
		}
		x := e.data.X.RawRowView(i)
		var xw float64
		for k, j := range act {
			xw += x[j] * w[k]
		}
		xw *= inv
		if g.Y != nil {
			g.Y[i] += xw
		}
		if g.X != nil {
			r := (y - dot(theta, x)) * inv
			row := g.X.RawRowView(i)
			for k, j := range act {
				row[j] += r * w[k]
			}
			for j, t := range theta {
				if t != 0 {
					row[j] -= xw * t
				}
			}
		}
	}
}

// notDifferentiable is the error of the wanted inputs that have no derivative here.
func (e *elasticNetFit) notDifferentiable(g *Grad) error {
	weak, wanted := e.weak, *g
	hyper := []Input{"lambda1"}
	if len(weak) == 0 {
		weak = slices.DeleteFunc(slices.Clone(e.weakFree), func(j int) bool { return e.gram[j*e.n+j] == 0 })
		wanted.X, wanted.Y = nil, nil
	} else if slices.ContainsFunc(e.qp.x, func(v float64) bool { return v != 0 }) {
		hyper = append(hyper, "lambda2")
	}
	if !wanted.wanted() {
		return nil
	}
	if e.blur > hiddenTol {
		return e.blurred()
	}
	return notDifferentiable(&wanted, Weak{Coords: slices.Clone(weak)},
		"move lambda1, ask JVP for a directional derivative, or set Generalised", hyper...)
}

// blurred is the error of coordinates that may be at their kink only by rounding.
func (e *elasticNetFit) blurred() error {
	return argErrorf("Data", ErrIllPosed, "raise lambda2 or drop features", "is so ill-conditioned that rounding hides which coordinates are weakly active: it may have moved theta by %.1g of its scale", e.blur)
}

// forward is [ElasticNet.JVP].
func (d *elasticNetDerivative) forward(e *elasticNetFit, dtheta []float64, t *Grad) error {
	if err := e.checkForward(dtheta, t); err != nil {
		return err
	}
	d.resize(e.n)
	n := e.n

	// b is the derivative of (Xᵀy − XᵀXθ)/N − λ1∘sign θ − λ2∘θ along d at fixed θ.
	theta := e.qp.x
	b := d.b
	clear(b)
	if t.X != nil || t.Y != nil {
		for i, y := range e.data.Y {
			inv := e.share(i)
			if inv == 0 {
				continue
			}
			x := e.data.X.RawRowView(i)
			var dr float64
			if t.Y != nil {
				dr = t.Y[i]
			}
			if t.X != nil {
				dx := t.X.RawRowView(i)
				dr -= dot(theta, dx)
				axpy((y-dot(theta, x))*inv, dx, b)
			}
			axpy(dr*inv, x, b)
		}
	}
	if h := t.Hyper; h != nil {
		for j := range b {
			d1, d2 := h[0], h[1]
			if e.perFeature {
				d1, d2 = h[j], h[n+j]
			}
			b[j] -= d1*e.sign(j) + d2*theta[j]
		}
	}

	if len(e.weak)+len(e.weakFree) == 0 {
		w := e.qp.solveActive(d.u, b)
		clear(dtheta)
		scatter(dtheta, w, e.qp.act)
		return checkTangentOut(dtheta)
	}
	if e.blur > hiddenTol && (len(e.weak) > 0 || t.Hyper != nil) {
		return e.blurred()
	}
	q := d.part.restrict(e, func(j int, active, weak bool) bool { return active || weak })
	copy(q.c, b)
	for _, j := range e.weak {
		if e.sign(j) > 0 {
			q.lo[j] = math.Inf(1)
		} else {
			q.up[j] = math.Inf(1)
		}
	}
	if t.Hyper != nil {
		for _, j := range e.weakFree {
			d1 := t.Hyper[0]
			if e.perFeature {
				d1 = t.Hyper[j]
			}
			if d1 < 0 {
				return argErrorf("d.Hyper", ErrDomain, "give a direction that raises lambda1", "lowers lambda1 from 0 where coordinate %d has its kink", j)
			}
			q.c[j] += d1 * e.sign(j)
			q.up[j], q.lo[j] = d1, d1
		}
	}
	q.reset()
	if err := q.solve(); err != nil {
		return err
	}
	copy(dtheta, q.x)
	return checkTangentOut(dtheta)
}
