package qpdiff

import "math"

// marginDerivative is the scratch of the derivatives of a [marginFit], and what they
// prepare once for each fit.
type marginDerivative struct {
	fit  uint64      // the fit that face, psi and curvature are prepared for
	face *marginFace // the fit's, or own
	own  marginFace  // the fit's less what is weakly active, or with a factor

	// By distinct row: the derivative of its loss in its margin, and the second.
	psi, curvature []float64

	adjointFit   uint64    // the fit of the last adjoint
	w, u         []float64 // right-hand side, then solution of the face's system: by coordinate, by distinct row
	v, b, solved []float64 // work of solve
	dm           []float64 // of a JVP, by row of the data: the change of its margin at fixed θ
}

// prepare makes face that of l less what is weakly active, with its factor. The elbow's
// multipliers are between their bounds, so that its rows stay there: where their normals
// are independent only with the weakly active coordinates, those stay too.
func (d *marginDerivative) prepare(l *marginFit) error {
	if d.fit == l.state.fit {
		return nil
	}
	p := &l.p
	d.resize(p.rows, p.n)
	if d.face = &p.marginFace; !p.factor || !l.weak.Empty() {
		if !d.withoutWeak(l, true) && (len(l.weak.Coords) == 0 || !d.withoutWeak(l, false)) {
			return errSingularMargins
		}
	}
	d.differentiateLosses(l)
	d.fit = l.state.fit
	return nil
}

func (d *marginDerivative) resize(rows, n int) {
	d.fit = 0
	d.psi, d.curvature, d.u = grow(d.psi, rows), grow(d.curvature, rows), grow(d.u, rows)
	d.w, d.v, d.b, d.solved = grow(d.w, n), grow(d.v, n), grow(d.b, n), grow(d.solved, n)
}

// withoutWeak is leaveOutWeak with a factor, and reports whether there is one.
func (d *marginDerivative) withoutWeak(l *marginFit, coords bool) bool {
	d.leaveOutWeak(l, coords)
	return d.own.refactorise(&l.p.marginProblem, d.v, l.p.theta, l.p.m)
}

// leaveOutWeak makes face that of l less what is weakly active, without a factor:
// such rows go to the side where their multiplier puts them, such coordinates are
// held at 0 if coords is set.
func (d *marginDerivative) leaveOutWeak(l *marginFit, coords bool) {
	p, f := &l.p, &d.own
	d.resize(p.rows, p.n)
	d.face = f
	f.copyFrom(&p.marginFace)
	for _, i := range l.weak.Rows {
		if f.side[i] == 0 {
			f.side[i] = sideIf(l.mult[i] > p.top(i)/2)
		}
	}
	f.dropReleased()
	for _, j := range l.weak.Coords {
		if coords && f.pos[j] >= 0 {
			f.remove(j)
		}
	}
}

// differentiateLosses sets psi and curvature.
func (d *marginDerivative) differentiateLosses(l *marginFit) {
	p := &l.p
	for i, side := range d.face.side {
		f, c := p.smoothLoss(p.m[i], side < 0)
		switch {
		case side < 0:
			f -= p.hinge
		case side == 0:
			f -= l.mult[i] / p.copies[i]
		}
		d.psi[i], d.curvature[i] = f, c
	}
}

// solve solves the face's system with right-hand sides w and u, in place.
func (d *marginDerivative) solve(p *marginProblem) {
	f := d.face
	v, b := d.v[:len(f.act)], d.b[:len(f.elbow)]
	gather(v, d.w, f.act)
	gather(b, d.u, f.elbow)
	f.system(p, v, b, d.solved)
	clear(d.w)
	clear(d.u)
	scatter(d.w, v, f.act)
	scatter(d.u, b, f.elbow)
}

// adjoint begins a VJP: it checks the arguments and solves the adjoint system for
// dtheta on the face without what is weakly active,
// H·w − Σ_E u_i z_i = dtheta on the support, z_iᵀw = 0 on the elbow. hyper are the
// names of the hyperparameters.
func (d *marginDerivative) adjoint(l *marginFit, generalised bool, g *Grad, dtheta []float64, hyper ...Input) error {
	d.adjointFit = 0
	if err := l.state.checkAdjoint(g, dtheta); err != nil {
		return err
	}
	kinked := !l.weak.Empty() && wants(g)
	if kinked && !generalised {
		return l.notDifferentiable(g, l.weak, hyper...)
	}
	if err := d.prepare(l); err != nil {
		return err
	}
	g.Generalised = g.Generalised || kinked
	copy(d.w, dtheta)
	clear(d.u)
	d.solve(&l.p.marginProblem)
	d.adjointFit = l.state.fit
	return nil
}

// finishAdjoint ends a VJP after its part for the hyperparameters: it adds that for
// the data. kinked is the name of the hyperparameter that has the kinks weakFree.
func (d *marginDerivative) finishAdjoint(l *marginFit, generalised bool, g *Grad, kinked Input) error {
	if err := d.dataVJP(l, g); err != nil {
		return err
	}
	if g.Hyper != nil && !l.weakFree.Empty() {
		if !generalised {
			return l.notDifferentiable(&Grad{Hyper: g.Hyper}, l.weakFree, kinked)
		}
		g.Generalised = true
	}
	return nil
}

// dataVJP adds to g.X and g.Y for the adjoint solution w, u: the cotangent of
// z_i is −ψ_i·w + (u_i − c_i·wᵀz_i)·θ, in parts to its copies by what they count.
// It reports an overflow in any field of g.
func (d *marginDerivative) dataVJP(l *marginFit, g *Grad) error {
	if g.X == nil && g.Y == nil {
		return checkProduct(g)
	}
	p := &l.p
	n := p.n
	var psis, slopes float64 // sums of moduli, for a bound of the entries of g.X
	for i, k := range p.of {
		if k < 0 || d.psi[k] == 0 {
			continue
		}
		count := p.count(i)
		psi, wz := count*d.psi[k], dot(d.w, p.z[k*n:(k+1)*n])
		a := count * (d.u[k]/p.copies[k] - d.curvature[k]*wz)
		psis += math.Abs(psi)
		slopes += math.Abs(a)
		y := l.state.data.Y[i]
		if g.Y != nil {
			g.Y[i] += y * (a*p.m[k] - psi*wz)
		}
		if g.X != nil {
			row := g.X.RawRowView(i)
			axpy(-y*psi, d.w, row)
			axpy(y*a, p.theta, row)
		}
	}
	if g.X != nil && finite(psis*largest(d.w)+slopes*largest(p.theta)) {
		return checkProduct(&Grad{Hyper: g.Hyper, Y: g.Y})
	}
	return checkProduct(g)
}

// ties implements [SVM.Ties]: with other shares of a multiplier and of u_k, the
// cotangents of the copies of z_k differ by multiples of w and of u_k·θ.
func (d *marginDerivative) ties(l *marginFit, visit func(i, k int, sign float64, d []float64) bool) {
	p := &l.p
	if l.state.fit == 0 || d.adjointFit != l.state.fit || p.rows == len(p.of) {
		return
	}
	for k, row := range p.of {
		if row < 0 || p.first[row] == k || d.face.side[row] != 0 {
			continue
		}
		i := p.first[row]
		sign := l.state.data.Y[i] * l.state.data.Y[k]
		if visit(i, k, sign, d.w) && d.u[row] != 0 {
			visit(i, k, sign, p.theta)
		}
	}
}
