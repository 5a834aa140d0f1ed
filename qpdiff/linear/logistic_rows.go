package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/blas/blas64"
)

// dataVJP adds to g.X and g.Y the products of u with the derivatives of minus the gradient
// of the loss on data at fixed θ, where 1−π of each row is in s and π(1−π) in w, both times
// what the row counts, and uᵀzᵢ in dm. It reports an overflow in any field of g.
func (p *logisticProblem) dataVJP(g *learn.Grad, data learn.Data, theta, u, s, w, dm []float64) error {
	if g.X != nil {
		p.addX(g.X.RawMatrix(), data.Y, theta, u, s, w, dm)
	}
	if g.Y != nil {
		_, n := data.X.Dims()
		features := data.Dense()
		for i, a := range dm {
			if s[i] == 0 { // the row is left out, whatever it holds
				continue
			}
			x := features.RawRowView(i)
			ux, tx := dense.Dot(u[:n], x), dense.Dot(theta[:n], x)
			if p.d > n {
				ux += u[n]
				tx += theta[n]
			}
			g.Y[i] += p.c * (s[i]*ux - w[i]*a*tx)
		}
	}
	// What addX adds, and each product on the way, is at most cy(|u| + |uᵀz|·max(1, |θ|)),
	// times what a row counts, which comes last.
	var uz float64
	for j, v := range u {
		uz += p.zmax[j] * math.Abs(v)
	}
	if g.X != nil && dense.Finite(p.c*max(1, p.most)*p.ymax*(dense.Largest(u)+uz*max(1, dense.Largest(theta)))) {
		return learner.CheckProduct(&learn.Grad{Hyper: g.Hyper, Y: g.Y})
	}
	return learner.CheckProduct(g)
}

// addX adds yᵢ C((1−πᵢ) u − πᵢ(1−πᵢ)(uᵀzᵢ) θ) to row i of gx as often as it counts, with
// 1−π in s, π(1−π) in w and uᵀzᵢ in dm.
func (p *logisticProblem) addX(gx blas64.General, y, theta, u, s, w, dm []float64) {
	n, m, c := gx.Cols, p.m, p.c
	y, s, w, dm = y[:m], s[:m], w[:m], dm[:m]
	data, stride := gx.Data, gx.Stride
	if n == 2 {
		u0, u1, t0, t1 := u[0], u[1], theta[0], theta[1]
		for i, a := range dm {
			if s[i] == 0 { // left out, whatever the label
				continue
			}
			cy := c * y[i]
			p, q := cy*s[i], cy*w[i]*a
			data[i*stride] += p*u0 - q*t0
			data[i*stride+1] += p*u1 - q*t1
		}
		return
	}
	for i, a := range dm {
		if s[i] == 0 {
			continue
		}
		cy := c * y[i]
		addBoth(data[i*stride:][:n], cy*s[i], u, -cy*w[i]*a, theta)
	}
}

// addBoth adds p·u and q·v to the row. Inlined, its loop would lack registers.
//
//go:noinline
func addBoth(row []float64, p float64, u []float64, q float64, v []float64) {
	u, v = u[:len(row)], v[:len(row)]
	for j, r := range row {
		row[j] = r + p*u[j] + q*v[j]
	}
}

// dataJVP adds to out the derivative of minus the gradient of the loss at fixed θ along t.X
// and t.Y, with s and w as for dataVJP. Row i moves zᵢ = yᵢxᵢ by dz, which is work, and
// −∇L by C((1−πᵢ) dz − πᵢ(1−πᵢ)(θᵀdz) zᵢ).
func (p *logisticProblem) dataJVP(out []float64, t *learn.Grad, data learn.Data, theta, s, w, dz []float64) {
	_, n := data.X.Dims()
	features := data.Dense()
	for i := range p.m {
		if s[i] == 0 { // the row is left out, whatever it holds
			continue
		}
		x, y := features.RawRowView(i), data.Y[i]
		clear(dz)
		if t.X != nil {
			for j := range n {
				dz[j] = y * t.X.At(i, j)
			}
		}
		if t.Y != nil {
			for j, v := range x {
				dz[j] += t.Y[i] * v
			}
			if p.d > n {
				dz[n] = t.Y[i]
			}
		}
		a, b := p.c*s[i], p.c*w[i]*dense.Dot(theta, dz)
		for j, v := range dz {
			out[j] += a*v - b*p.z[j*p.m+i]
		}
	}
}
