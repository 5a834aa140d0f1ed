package margin

import (
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// marginDerivative is the scratch of the derivatives of a [marginFit]. It also holds values that
// are computed once for each fit.
type marginDerivative struct {
	fit  uint64      // the fit that face, psi and curvature are prepared for
	face *marginFace // the face of the fit, or ownFace
	// the storage of face if the fit has weakly active rows or coordinates, or if face needs a factor
	// of its own
	ownFace marginFace

	// For each distinct row, psi is the first derivative of the row's loss with respect to its margin,
	// and curvature is the second derivative.
	psi, curvature []float64

	adjointFit uint64 // the fit of the last adjoint
	// the right-hand side of the face's system, and later its solution: w has an entry for each
	// coordinate, and u for each distinct row
	w, u         []float64
	v, b, solved []float64 // scratch of solve
	// scratch of a JVP: for each row of the data, the tangent of its margin if θ is fixed
	dm []float64
}

// prepare sets d.face to the face of the fit l, removes the weakly active rows and coordinates from
// it, and factorises it. The rows whose multipliers are strictly between their bounds stay on the
// elbow. If their normals are linearly dependent without the weakly active coordinates, these
// coordinates stay in the face.
func (d *marginDerivative) prepare(l *marginFit) error {
	if d.fit == l.state.Fit {
		return nil
	}
	p := &l.p
	d.resize(p.rows, p.n)
	if d.face = &p.marginFace; !p.isSolved || !l.weak.Empty() {
		if !d.withoutWeak(l, true) && (len(l.weak.Coords) == 0 || !d.withoutWeak(l, false)) {
			return errSingularMargins
		}
	}
	d.differentiateLosses(l)
	d.fit = l.state.Fit
	return nil
}

func (d *marginDerivative) resize(rows, n int) {
	d.fit = 0
	d.psi, d.curvature, d.u = dense.Grow(d.psi, rows), dense.Grow(d.curvature, rows), dense.Grow(d.u, rows)
	d.w, d.v, d.b, d.solved = dense.Grow(d.w, n), dense.Grow(d.v, n), dense.Grow(d.b, n), dense.Grow(d.solved, n)
}

// withoutWeak calls leaveOutWeak and then factorises the face. It reports whether the factorisation
// succeeded.
func (d *marginDerivative) withoutWeak(l *marginFit, dropCoords bool) bool {
	d.leaveOutWeak(l, dropCoords)
	return d.ownFace.refactorise(&l.p.marginProblem, d.v, l.p.theta, l.p.m)
}

// leaveOutWeak sets d.face to the face of the fit l without the weakly active rows. Each of these
// rows goes to the side that its multiplier selects. If the parameter dropCoords is true, the
// weakly active coordinates leave the face too, and are held at 0. leaveOutWeak does not factorise
// the face.
func (d *marginDerivative) leaveOutWeak(l *marginFit, dropCoords bool) {
	p, f := &l.p, &d.ownFace
	d.resize(p.rows, p.n)
	d.face = f
	f.copyFrom(&p.marginFace)
	for _, i := range l.weak.Rows {
		if f.side[i] == 0 {
			f.side[i] = sideIf(l.mult[i] > p.multBound(i)/2)
		}
	}
	f.dropReleased()
	for _, j := range l.weak.Coords {
		if dropCoords && f.pos[j] >= 0 {
			f.remove(j)
		}
	}
}

// differentiateLosses computes psi and curvature.
func (d *marginDerivative) differentiateLosses(l *marginFit) {
	p := &l.p
	for i, side := range d.face.side {
		f, c := p.smoothLoss(p.m[i], side < 0)
		switch {
		case side < 0:
			f -= p.hinge
		case side == 0:
			f -= l.mult[i] / p.Copies[i]
		}
		d.psi[i], d.curvature[i] = f, c
	}
}

// solve solves the face's system in place. Before the call, w and u hold the right-hand sides;
// after the call, they hold the solution. solve returns wᵀHw for the solution w.
func (d *marginDerivative) solve(p *marginProblem) (size float64) {
	f := d.face
	v, b := d.v[:len(f.act)], d.b[:len(f.elbow)]
	dense.Gather(v, d.w, f.act)
	dense.Gather(b, d.u, f.elbow)
	size = f.system(p, v, b, d.solved)
	clear(d.w)
	clear(d.u)
	dense.Scatter(d.w, v, f.act)
	dense.Scatter(d.u, b, f.elbow)
	return size
}

// elbowHolds reports whether dtheta is a linear combination of the elbow's normals on the support.
// If it is, the conditions of the elbow determine dthetaᵀθ, and the adjoint solution w is 0 except
// for rounding. The parameter wHw is wᵀHw. In most cases this number decides the question, and no
// pass over the normals is necessary.
func (d *marginDerivative) elbowHolds(p *marginProblem, dtheta []float64, wHw float64) bool {
	f := d.face
	v := d.v[:len(f.act)]
	dense.Gather(v, dtheta, f.act)
	length := floats.Norm(v, 2)
	if length == 0 || len(f.elbow) == 0 {
		return length == 0
	}
	floats.Scale(1/length, v)
	if !p.curved && math.Sqrt(wHw)/length*math.Sqrt(p.l2) > dependentTol {
		return false
	}
	return f.dependency(p, v, d.solved) != nil
}

// adjoint begins a VJP. It checks the arguments, and solves the adjoint system for the cotangent
// dtheta, on the face without weakly active rows and coordinates. The system is H·w − Σ_E u_i z_i =
// dtheta on the support, and z_iᵀw = 0 on the elbow E. The parameter hyper lists the names of the
// hyperparameters.
func (d *marginDerivative) adjoint(l *marginFit, generalised bool, g *learn.Grad, dtheta []float64, hyper ...qpdiff.Input) error {
	d.adjointFit = 0
	if err := l.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	kinked := !l.weak.Empty() && learner.Wants(g)
	if kinked && !generalised {
		return l.notDifferentiable(g, l.weak, hyper...)
	}
	if err := d.prepare(l); err != nil {
		return err
	}
	g.Generalised = g.Generalised || kinked
	copy(d.w, dtheta)
	clear(d.u)
	if wHw := d.solve(&l.p.marginProblem); d.elbowHolds(&l.p.marginProblem, dtheta, wHw) {
		clear(d.w)
	}
	d.adjointFit = l.state.Fit
	return nil
}

// finishAdjoint ends a VJP: it adds the derivatives with respect to the data. The caller must have
// added the derivatives with respect to the hyperparameters. The kinks in weakFree exist because
// one hyperparameter is 0; the parameter kinkInput names this hyperparameter.
func (d *marginDerivative) finishAdjoint(l *marginFit, generalised bool, g *learn.Grad, kinkInput qpdiff.Input) error {
	if err := d.dataVJP(l, g); err != nil {
		return err
	}
	if g.Hyper != nil && !l.weakFree.Empty() {
		if !generalised {
			return l.notDifferentiable(&learn.Grad{Hyper: g.Hyper}, l.weakFree, kinkInput)
		}
		g.Generalised = true
	}
	return nil
}

// dataVJP adds the derivatives with respect to the data to g.X and g.Y. It computes them from the
// adjoint solution w, u. The cotangent of the distinct row z_i is −ψ_i·w + (u_i − c_i·wᵀz_i)·θ.
// Here ψ_i is the slope and c_i the curvature of the row's loss. The cotangent is divided among the
// copies of z_i in proportion to their weights. dataVJP returns an error if any field of g
// overflows.
func (d *marginDerivative) dataVJP(l *marginFit, g *learn.Grad) error {
	if g.X == nil && g.Y == nil {
		return learner.CheckProduct(g)
	}
	p := &l.p
	n := p.n
	var psis, slopes float64 // sums of moduli, for a bound of the entries of g.X
	for i, k := range p.Of {
		if k < 0 || d.psi[k] == 0 {
			continue
		}
		count := p.Count(i)
		psi, wz := count*d.psi[k], dense.Dot(d.w, p.z[k*n:(k+1)*n])
		a := count * (d.u[k]/p.Copies[k] - d.curvature[k]*wz)
		psis += math.Abs(psi)
		slopes += math.Abs(a)
		y := l.state.Data.Y[i]
		if g.Y != nil {
			g.Y[i] += y * (a*p.m[k] - psi*wz)
		}
		if g.X != nil {
			row := g.X.RawRowView(i)
			dense.Axpy(-y*psi, d.w, row)
			dense.Axpy(y*a, p.theta, row)
		}
	}
	if g.X != nil && dense.Finite(psis*dense.Largest(d.w)+slopes*dense.Largest(p.theta)) {
		return learner.CheckProduct(&learn.Grad{Hyper: g.Hyper, Y: g.Y})
	}
	return learner.CheckProduct(g)
}

// ties implements [SVM.Ties]. The copies of a distinct row z_k share its multiplier and its u_k, in
// an arbitrary proportion. Another proportion would change the cotangents of the copies by
// multiples of w and of θ.
func (d *marginDerivative) ties(l *marginFit, visit func(i, k int, sign float64, d []float64) bool) {
	p := &l.p
	if l.state.Fit == 0 || d.adjointFit != l.state.Fit {
		return
	}
	for i, k := range p.Equal {
		row, sign := p.Of[k], l.state.Data.Y[i]*l.state.Data.Y[k]
		if d.face.side[row] == 0 && visit(i, k, sign, d.w) && d.u[row] != 0 {
			visit(i, k, sign, p.theta)
		}
	}
}
