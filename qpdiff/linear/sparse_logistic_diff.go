package linear

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
)

// dataVJP is part of a penalisedModel.
func (l *sparseLogisticFit) dataVJP(d *penalisedDerivative, g *learn.Grad, act []int, w []float64) error {
	u := dense.Zeros(d.b, l.d)
	dense.Scatter(u, w, act)
	d.rows = dense.Grow(d.rows, l.m)
	l.product(d.rows, u)
	return l.logisticProblem.dataVJP(g, l.state.Data, l.qp.x, u, l.cs, l.ch, d.rows)
}

// dataJVP is part of a penalisedModel.
func (l *sparseLogisticFit) dataJVP(d *penalisedDerivative, b []float64, t *learn.Grad) {
	d.rows = dense.Grow(d.rows, l.d)
	l.logisticProblem.dataJVP(b, t, l.state.Data, l.qp.x, l.cs, l.ch, d.rows)
}
