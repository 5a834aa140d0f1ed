package linear

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/sparse"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// dataVJP implements penalisedModel.
func (e *elasticNetFit) dataVJP(d *penalisedDerivative, g *learn.Grad, act []int, w []float64) error {
	theta, features := e.theta(), d.thetaIndices(&e.qp, act)
	if e.equalFeatures != nil {
		features, w = d.shareOut(e.equalFeatures, features, w)
	}
	if e.qp.sparse != nil {
		return e.sparseVJP(d, g, features, w)
	}
	data := e.state.Data
	rows := data.Dense()
	viewed := data.Centre != nil || data.Scale != nil
	for i, y := range data.Y {
		inv := e.share(i)
		if inv == 0 {
			continue
		}
		x := rows.RawRowView(i)
		if viewed {
			d.fullVector = learner.See(d.fullVector, &data, x)
			x = d.fullVector
		}
		var xw float64
		for k, j := range features {
			xw += x[j] * w[k]
		}
		xw *= inv
		if g.Y != nil {
			g.Y[i] += xw
		}
		if g.X != nil {
			r := (y - dense.Dot(theta, x)) * inv
			row := g.X.RawRowView(i)
			if data.Scale != nil {
				d.rows = dense.Zeros(d.rows, len(theta))
				row = d.rows
			}
			for k, j := range features {
				row[j] += r * w[k]
			}
			for j, t := range theta {
				if t != 0 {
					row[j] -= xw * t
				}
			}
			for j, c := range data.Scale {
				g.X.RawRowView(i)[j] += row[j] / c
			}
		}
	}
	if viewed || e.equalFeatures != nil || e.state.Data.Weights != nil || !dense.Finite(e.largestProduct(act, w)) {
		return learner.CheckProduct(g)
	}
	return learner.CheckProduct(&learn.Grad{Hyper: g.Hyper})
}

// largestProduct bounds the entries that dataVJP adds. Let x_j be column j of X. An entry of X is
// at most √weightSpread·‖x_j‖/√N, and the products of a row with θ and w have similar bounds.
// dataVJP uses largestProduct only without Weights.
func (e *elasticNetFit) largestProduct(act []int, w []float64) float64 {
	var fit, move, top float64
	for i, j := range act {
		move += e.root[j] * math.Abs(w[i])
		top = max(top, math.Abs(w[i]))
	}
	for j, t := range e.qp.x {
		fit += e.root[j] * math.Abs(t)
	}
	return e.weightSpread * (fit*top + e.rmsY*top + move*(1+dense.Largest(e.qp.x)))
}

// dataJVP implements penalisedModel.
func (e *elasticNetFit) dataJVP(d *penalisedDerivative, b []float64, t *learn.Grad) {
	if e.qp.features == nil {
		e.tangent(d, b, t)
		return
	}
	d.fullVector = dense.Zeros(d.fullVector, e.params)
	if e.qp.sparse != nil {
		e.sparseTangent(d, d.fullVector, t)
	} else {
		e.tangent(d, d.fullVector, t)
	}
	dense.Gather(b, d.fullVector, e.qp.features)
}

// tangent is the branch of dataJVP for all features.
func (e *elasticNetFit) tangent(d *penalisedDerivative, b []float64, t *learn.Grad) {
	theta, data := e.theta(), e.state.Data
	rows := data.Dense()
	for i, y := range data.Y {
		inv := e.share(i)
		if inv == 0 {
			continue
		}
		x := rows.RawRowView(i)
		if data.Centre != nil || data.Scale != nil {
			d.rows = learner.See(d.rows, &data, x)
			x = d.rows
		}
		var dr float64
		if t.Y != nil {
			dr = t.Y[i]
		}
		if t.X != nil {
			dx := t.X.RawRowView(i)
			if data.Scale != nil {
				d.fit = append(d.fit[:0], dx...)
				floats.Div(d.fit, data.Scale)
				dx = d.fit
			}
			dr -= dense.Dot(theta, dx)
			dense.Axpy((y-dense.Dot(theta, x))*inv, dx, b)
		}
		dense.Axpy(dr*inv, x, b)
	}
}

// rowsOf sets dst to Xv, with one entry for each row, and returns dst. The entry of a row with
// weight 0 is 0.
func (e *elasticNetFit) rowsOf(dst, v []float64) []float64 {
	dst = dense.Grow(dst, e.rows)
	e.sparse.Times(dst, v)
	for i, r := range e.sparse.Root {
		if r != 0 {
			dst[i] /= r
		}
	}
	return dst
}

// sparseVJP is the branch of dataVJP for a sparse X.
func (e *elasticNetFit) sparseVJP(d *penalisedDerivative, g *learn.Grad, features []int, w []float64) error {
	theta := e.theta()
	d.fullVector = dense.Zeros(d.fullVector, e.params)
	dense.Scatter(d.fullVector, w, features)
	d.rows = e.rowsOf(d.rows, d.fullVector)
	if g.Y != nil {
		for i, xw := range d.rows {
			g.Y[i] += e.share(i) * xw
		}
	}
	if g.Stored != nil {
		d.fit = e.rowsOf(d.fit, theta)
		data := &e.state.Data
		data.VisitStored(func(at, i, j int, _ float64) {
			if share := e.share(i); share != 0 {
				g.Stored[at] += share * ((data.Y[i]-d.fit[i])*d.fullVector[j] - d.rows[i]*theta[j]) / sparse.Scale(*data, j)
			}
		})
	}
	return learner.CheckProduct(g)
}

// sparseTangent is the branch of tangent for a sparse X.
func (e *elasticNetFit) sparseTangent(d *penalisedDerivative, b []float64, t *learn.Grad) {
	theta, data := e.theta(), &e.state.Data
	d.rows = dense.Zeros(d.rows, e.rows) // the change of the residual
	if t.Y != nil {
		copy(d.rows, t.Y)
	}
	if t.Stored != nil {
		d.fit = e.rowsOf(d.fit, theta)
		data.VisitStored(func(at, i, j int, _ float64) {
			dx := t.Stored[at] / sparse.Scale(*data, j)
			d.rows[i] -= dx * theta[j]
			b[j] += e.share(i) * (data.Y[i] - d.fit[i]) * dx
		})
	}
	floats.Mul(d.rows, e.sparse.Root)
	e.sparse.AddTransposed(b, e.inv, d.rows)
}
