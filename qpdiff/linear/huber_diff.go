package linear

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/ridge"
	"cvgm/qpdiff/learn"
)

// huberDerivative is the scratch of a Huber regression's derivatives.
type huberDerivative struct {
	// The scratch belongs to the fit with the number fitID. Weakly active rows are treated as if they
	// were in the quadratic zone.
	fitID   uint64
	zone    []int8
	h, dinv []float64
	sys     ridge.System // by rows
	solver  ridge.Solver

	u  []float64
	zu []float64 // of each row: zᵀu
	b  []float64 // work of solve
}

// begin prepares d for the fit. If g asks for a derivative that does not exist, begin returns an
// error.
func (d *huberDerivative) begin(l *huberFit, generalised bool, g *learn.Grad) error {
	d.u, d.zu = dense.Grow(d.u, l.k), dense.Grow(d.zu, l.m)
	if len(l.weak) > 0 && learner.Wants(g) {
		if l.blur > dense.HiddenTol {
			return check.ArgErrorf("hyper", qpdiff.ErrIllPosed, "raise δ, or standardise the features",
				"has a δ of %v, beside which rounding hides on which side of it residuals are", l.delta)
		}
		if !generalised {
			return learner.NotDifferentiable(g, qpdiff.Weak{Rows: l.weak}, l.rows, "move the hyperparameters, or set Generalised", "λ2", "δ")
		}
	}
	if d.fitID == l.state.Fit {
		return nil
	}
	d.fitID = 0
	d.zone = append(d.zone[:0], l.zone...)
	if l.sums.byRows {
		return d.beginRows(l)
	}
	d.h, d.dinv = append(d.h[:0], l.h...), append(d.dinv[:0], l.dinv...)
	if len(l.weak) > 0 {
		for _, at := range l.weak {
			d.zone[at] = 0
		}
		l.hessian(&l.state.Stop, d.h, func(i int) float64 {
			if d.zone[i] == 0 {
				return 1
			}
			return 0
		})
		if at := dense.LDLFactorUntil(&l.state.Stop, d.h, d.dinv, l.k, l.k, dense.Eps); at < l.k {
			return errHuberOpen(at)
		}
	}
	d.fitID = l.state.Fit
	return nil
}

// beginRows does the work of begin for systems with one unknown for each row.
func (d *huberDerivative) beginRows(l *huberFit) error {
	d.sys = l.sums.sys
	d.solver.Borrow(&l.sums.solver)
	if len(l.weak) > 0 {
		d.sys.Weights = append([]float64(nil), d.sys.Weights...)
		for _, at := range l.weak {
			d.zone[at], d.sys.Weights[at] = 0, l.share[at]
		}
		if !d.solver.Factorise(&d.sys) {
			return errHuberOpen(l.k - 1)
		}
	}
	d.fitID = l.state.Fit
	return nil
}

// solve replaces the right-hand side u by the solution of the Hessian's system.
func (d *huberDerivative) solve(l *huberFit) error {
	if !l.sums.byRows {
		dense.LDLSolve(d.h, d.dinv, l.k, l.k, d.u)
		return nil
	}
	d.b = append(d.b[:0], d.u...)
	if !d.solver.Exact(&d.sys, d.u, d.b) {
		return learner.CheckTangentOut([]float64{math.NaN()})
	}
	return nil
}

// adjoint is [Huber.VJP].
func (d *huberDerivative) adjoint(l *huberFit, generalised bool, g *learn.Grad, dtheta []float64) error {
	if err := l.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	if err := d.begin(l, generalised, g); err != nil {
		return err
	}
	copy(d.u, dtheta)
	if err := d.solve(l); err != nil {
		return err
	}
	l.products(d.zu, d.u)
	_, n := l.state.Data.X.Dims()
	if g.Hyper != nil {
		for j, p := range l.pen {
			g.Hyper[0] -= p * l.theta[j] * d.u[j]
		}
	}
	for at, i := range l.rows {
		zu := l.share[at] * d.zu[at]
		if s := d.zone[at]; s != 0 {
			if g.Hyper != nil {
				g.Hyper[1] += float64(s) * zu
			}
			zu = 0
		}
		if g.Y != nil {
			g.Y[i] += zu
		}
		if g.X != nil {
			row, slope := g.X.RawRowView(i), l.share[at]*l.slope(at, d.zone[at])
			for j := range n {
				row[j] += slope*d.u[j] - zu*l.theta[j]
			}
		}
	}
	g.Generalised = g.Generalised || len(l.weak) > 0 && learner.Wants(g)
	return learner.CheckProduct(g)
}

// forward is [Huber.JVP].
func (d *huberDerivative) forward(l *huberFit, generalised bool, dtheta []float64, t *learn.Grad) error {
	if err := l.state.CheckForward(dtheta, t); err != nil {
		return err
	}
	if err := d.begin(l, generalised, t); err != nil {
		return err
	}
	_, n := l.state.Data.X.Dims()
	clear(d.u)
	if t.Hyper != nil {
		for j, p := range l.pen {
			d.u[j] -= t.Hyper[0] * p * l.theta[j]
		}
	}
	for at, i := range l.rows {
		var slope float64 // tangent of the loss's slope
		if s := d.zone[at]; s == 0 {
			if t.Y != nil {
				slope += t.Y[i]
			}
			if t.X != nil {
				slope -= dense.Dot(t.X.RawRowView(i), l.theta)
			}
		} else if t.Hyper != nil {
			slope = float64(s) * t.Hyper[1]
		}
		dense.Axpy(l.share[at]*slope, l.row(at), d.u)
		if t.X != nil {
			dense.Axpy(l.share[at]*l.slope(at, d.zone[at]), t.X.RawRowView(i)[:n], d.u)
		}
	}
	if err := d.solve(l); err != nil {
		return err
	}
	copy(dtheta, d.u)
	return learner.CheckTangentOut(dtheta)
}
