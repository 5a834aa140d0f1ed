package penalised

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// A glmDerivative is the scratch of the derivatives of a [glmFit].
type glmDerivative struct {
	u          []float64 // in the parameters of the fit
	zu, dy     []float64 // an entry for each output and each row with a weight above 0
	etaTangent []float64 // an entry for each output
}

// adjoint implements [GLM.VJP]. Let G be the gradient and H the Hessian of the objective, and let u
// solve Hu = dθ, where dθ is the cotangent of θ. The derivative with respect to an input ξ is
// −uᵀ∂G/∂ξ.
func (d *glmDerivative) adjoint(l *glmFit, g *learn.Grad, dtheta []float64) error {
	if err := l.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	q, m, outs, size := l.q, len(l.rows), l.joint.outputs(), len(l.theta)
	d.u = dense.Grow(d.u, size)
	l.toInternal(d.u, dtheta)
	dense.LDLSolve(l.h, l.dinv, size, size, d.u)
	if g.Hyper != nil {
		for j := range l.sums {
			for at := 0; at < size; at += q {
				l.sums[j].subtractBilinear(g.Hyper, d.u[at:], l.theta[at:])
			}
		}
	}
	if g.X == nil && g.Y == nil {
		return learner.CheckProduct(g)
	}
	d.zu = dense.Grow(d.zu, outs*m)
	for k := range outs {
		dense.Products(d.zu[k*m:][:m], l.z, q, d.u[k*q:][:q])
	}
	for k, i := range l.rows {
		if g.Y != nil && !l.joint.isMultinomial() {
			g.Y[i] -= l.currentPoint.slopeY[k] * d.zu[k]
		}
		if g.X == nil {
			continue
		}
		row := g.X.RawRowView(i)
		for a := range outs {
			bent := 0.0
			for b := range outs {
				bent += l.currentPoint.curvature[l.joint.pairIndex(a, b)*m+k] * d.zu[b*m+k]
			}
			dense.Axpy(-bent, l.theta[a*q:][:l.n], row)
			dense.Axpy(-l.currentPoint.slope[a*m+k], d.u[a*q:][:l.n], row)
		}
	}
	return learner.CheckProduct(g)
}

// tangent is [GLM.JVP].
func (d *glmDerivative) tangent(l *glmFit, dtheta []float64, t *learn.Grad) error {
	if err := l.state.CheckForward(dtheta, t); err != nil {
		return err
	}
	size := len(l.theta)
	d.u = dense.Zeros(d.u, size)
	if t.X != nil || t.Y != nil {
		d.subtractTangent(l, t)
	}
	if t.Hyper != nil {
		for at := 0; at < size; at += l.q {
			for j := range l.forms {
				l.forms[j].addTimes(d.u[at:], -t.Hyper[j], l.theta[at:])
			}
		}
	}
	dense.LDLSolve(l.h, l.dinv, size, size, d.u)
	l.toExternal(dtheta, d.u)
	return learner.CheckTangentOut(dtheta)
}

// subtractTangent subtracts from d.u the derivative of the gradient along the tangents t.X of the
// features and t.Y of the labels.
func (d *glmDerivative) subtractTangent(l *glmFit, t *learn.Grad) {
	q, m, outs := l.q, len(l.rows), l.joint.outputs()
	d.dy, d.etaTangent = dense.Zeros(d.dy, outs*m), dense.Grow(d.etaTangent, outs)
	for k, i := range l.rows {
		if t.Y != nil && !l.joint.isMultinomial() {
			d.dy[k] -= l.currentPoint.slopeY[k] * t.Y[i]
		}
		if t.X == nil {
			continue
		}
		row := t.X.RawRowView(i)
		for a := range outs {
			d.etaTangent[a] = dense.Dot(row, l.theta[a*q:])
		}
		for a := range outs {
			for b, along := range d.etaTangent {
				d.dy[a*m+k] -= l.currentPoint.curvature[l.joint.pairIndex(a, b)*m+k] * along
			}
			dense.Axpy(-l.currentPoint.slope[a*m+k], row, d.u[a*q:])
		}
	}
	for a := range outs {
		dense.AddRows(d.u[a*q:][:q], d.dy[a*m:][:m], l.z, q)
	}
}
