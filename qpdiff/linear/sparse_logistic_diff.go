package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// dataVJP is part of a penalisedModel.
func (l *sparseLogisticFit) dataVJP(d *penalisedDerivative, g *learn.Grad, act []int, u []float64) error {
	theta, n := l.qp.x, l.features
	at := act // those of features
	var constant float64
	if k := len(act) - 1; k >= 0 && act[k] == n {
		at, constant = act[:k], u[k]
	}
	d.rows = dense.Grow(d.rows, l.m)
	clear(d.rows)
	for k, j := range act {
		dense.Axpy(u[k], l.column(j), d.rows)
	}
	features := l.state.Data.Dense()
	for i, uz := range d.rows {
		if l.cs[i] == 0 {
			continue
		}
		if g.Y != nil {
			x := features.RawRowView(i)
			ux, tx := constant, dense.Dot(theta[:n], x)
			for k, j := range at {
				ux += u[k] * x[j]
			}
			if l.d > n {
				tx += theta[n]
			}
			g.Y[i] += l.cs[i]*ux - l.ch[i]*uz*tx
		}
		if g.X != nil {
			y := l.state.Data.Y[i]
			p, q := y*l.cs[i], y*l.ch[i]*uz
			row := g.X.RawRowView(i)
			for k, j := range at {
				row[j] += p * u[k]
			}
			for _, j := range l.qp.act {
				if j < n {
					row[j] -= q * theta[j]
				}
			}
		}
	}
	// What is added to X, and each product on the way, is at most cy(|u| + |uᵀz|·max(1, |θ|)).
	var move, top float64
	for k, j := range act {
		move += l.zmax[j] * math.Abs(u[k])
		top = max(top, math.Abs(u[k]))
	}
	if dense.Finite(l.most * l.inv * l.ymax * (top + move*max(1, dense.Largest(theta)))) {
		return learner.CheckProduct(&learn.Grad{Hyper: g.Hyper, Y: g.Y})
	}
	return learner.CheckProduct(g)
}

// dataJVP is part of a penalisedModel.
func (l *sparseLogisticFit) dataJVP(b []float64, t *learn.Grad) {
	theta, n := l.qp.x, l.features
	features := l.state.Data.Dense()
	for i, y := range l.state.Data.Y {
		if l.cs[i] == 0 {
			continue
		}
		x := features.RawRowView(i)
		// Row i moves zᵢ = yᵢxᵢ by dz, and minus the gradient by s·dz − w(θᵀdz)zᵢ.
		var dy, dm float64
		if t.Y != nil {
			dy = t.Y[i]
			dm = dy * dense.Dot(theta[:n], x)
			if l.d > n {
				dm += dy * theta[n]
			}
		}
		if t.X != nil {
			dx := t.X.RawRowView(i)
			dm += y * dense.Dot(theta[:n], dx)
			dense.Axpy(l.cs[i]*y, dx, b)
		}
		p, q := l.cs[i]*dy, l.ch[i]*dm
		for j, v := range x {
			b[j] += p*v - q*(y*v)
		}
		if l.d > n {
			b[n] += p - q*y
		}
	}
}
