package penalised

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// A glmDerivative is the scratch of the derivatives of a [glmFit].
type glmDerivative struct {
	u      []float64 // q entries
	zu, dy []float64 // by row that counts
}

// adjoint is [GLM.VJP]. With Hu = dθ the derivative of the gradient g of the objective in an
// input a adds −uᵀ∂g/∂a.
func (d *glmDerivative) adjoint(l *glmFit, g *learn.Grad, dtheta []float64) error {
	if err := l.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	d.u = append(d.u[:0], dtheta...)
	if l.q > l.n {
		dense.Axpy(-dtheta[l.n], l.centre, d.u)
	}
	dense.LDLSolve(l.h, l.dinv, l.q, l.q, d.u)
	if g.Hyper != nil {
		for j := range l.forms {
			g.Hyper[j] -= l.forms[j].between(d.u, l.theta)
		}
	}
	if g.X == nil && g.Y == nil {
		return learner.CheckProduct(g)
	}
	d.zu = dense.Grow(d.zu, len(l.rows))
	dense.Products(d.zu, l.z, l.q, d.u)
	for k, i := range l.rows {
		if g.Y != nil {
			g.Y[i] -= l.at.slopeY[k] * d.zu[k]
		}
		if g.X != nil {
			row := g.X.RawRowView(i)
			dense.Axpy(-l.at.curvature[k]*d.zu[k], l.theta[:l.n], row)
			dense.Axpy(-l.at.slope[k], d.u[:l.n], row)
		}
	}
	return learner.CheckProduct(g)
}

// tangent is [GLM.JVP].
func (d *glmDerivative) tangent(l *glmFit, dtheta []float64, t *learn.Grad) error {
	if err := l.state.CheckForward(dtheta, t); err != nil {
		return err
	}
	d.u = dense.Zeros(d.u, l.q)
	if t.X != nil || t.Y != nil {
		d.dy = dense.Zeros(d.dy, len(l.rows))
		for k, i := range l.rows {
			if t.Y != nil {
				d.dy[k] -= l.at.slopeY[k] * t.Y[i]
			}
			if t.X != nil {
				row := t.X.RawRowView(i)
				d.dy[k] -= l.at.curvature[k] * dense.Dot(row, l.theta)
				dense.Axpy(-l.at.slope[k], row, d.u)
			}
		}
		dense.AddRows(d.u, d.dy, l.z, l.q)
	}
	if t.Hyper != nil {
		for j := range l.forms {
			l.forms[j].addTimes(d.u, -t.Hyper[j], l.theta)
		}
	}
	dense.LDLSolve(l.h, l.dinv, l.q, l.q, d.u)
	l.external(dtheta, d.u)
	return learner.CheckTangentOut(dtheta)
}
