package margin

import (
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// forward begins a JVP. It checks the arguments, and sets the right-hand side w to zero. It sets
// d.face to the face of the fit l, from which it leaves out the weakly active rows and coordinates.
func (d *marginDerivative) forward(l *marginFit, dtheta []float64, t *learn.Grad) error {
	d.adjointFit = 0
	if err := l.state.CheckForward(dtheta, t); err != nil {
		return err
	}
	if err := l.checkEqual(t); err != nil {
		return err
	}
	if l.weak.Empty() {
		if err := d.prepare(l); err != nil {
			return err
		}
	} else {
		if (t.X != nil || t.Y != nil) && !d.areIndependent(l) {
			return l.notDifferentiable(&learn.Grad{X: t.X, Y: t.Y}, l.weak)
		}
		d.leaveOutWeak(l, true)
		if l.p.hinge == 0 {
			for _, i := range l.weak.Rows {
				d.ownFace.side[i] = 1 // oneSided adds the excess of the other side
			}
		}
		d.differentiateLosses(l)
	}
	clear(d.w)
	return nil
}

// checkEqual returns an error if the tangent t differs between equal rows on the elbow. Only the
// sum of the multipliers of such rows is unique. The tangents of weakly active rows may differ,
// because the multipliers of these rows are all at the same bound.
func (l *marginFit) checkEqual(t *learn.Grad) error {
	p := &l.p
	return p.CheckEqual(t, l.state.Data.Y,
		func(row int) bool { return p.side[row] == 0 && !slices.Contains(l.weak.Rows, row) },
		func(j int) bool { return p.pos[j] >= 0 || slices.Contains(l.weak.Coords, j) })
}

// finishForward ends a JVP. Before the call, the right-hand side must have the terms of the
// hyperparameters. finishForward adds the terms of the data, solves the system and writes dtheta.
// If λ1 or the weight of the hinge loss is 0 and θ has a kink there, the parameter rise is the rate
// at which it rises along t. Otherwise rise is 0.
func (d *marginDerivative) finishForward(l *marginFit, dtheta []float64, t *learn.Grad, rise float64) error {
	p := &l.p
	n := p.n
	clear(d.u)
	d.dm = dense.Zeros(d.dm, len(p.Of))
	if t.X != nil || t.Y != nil {
		for i, k := range p.Of {
			if k < 0 {
				continue
			}
			y, count := l.state.Data.Y[i], p.Count(i)
			psi := count * d.psi[k]
			z := p.z[k*n : (k+1)*n]
			var dm float64 // θᵀdz_i
			if t.X != nil {
				dx := t.X.RawRowView(i)
				dm += y * dense.Dot(p.theta, dx)
				dense.Axpy(-psi*y, dx, d.w)
			}
			if t.Y != nil {
				dm += y * t.Y[i] * p.m[k]
				dense.Axpy(-psi*y*t.Y[i], z, d.w)
			}
			dense.Axpy(-count*d.curvature[k]*dm, z, d.w)
			d.u[k] -= count * dm / p.Copies[k]
			d.dm[i] = dm
		}
	}
	if !l.weak.Empty() || rise > 0 {
		return d.oneSided(l, dtheta, rise)
	}
	d.solve(&p.marginProblem)
	copy(dtheta, d.w)
	return learner.CheckTangentOut(dtheta)
}

// oneSided sets dtheta to the directional derivative of θ if strict complementarity fails. The
// vectors w and u are the right-hand sides of the face without the weakly active rows and
// coordinates. The derivative is the solution δ of the quadratic program (Robinson 1980)
//
//	minimise   ½ δᵀHδ − wᵀδ + Σ ½c_i s_i² + e_i s_i
//	subject to z_iᵀδ = u_i on the elbow; ≤ and ≥ on weakly active rows whose
//	           multiplier is at its upper end and at 0; a weakly active
//	           coordinate on its side of the kink
//
// A row of the data has the term s_i = max(0, u_i − z_iᵀδ) in two cases: the truncated quadratic
// loss has its kink there (c_i > 0), or the weight of the hinge loss rises from 0 (e_i > 0). A
// coordinate has the term s_j = |δ_j| if λ1 rises from 0. The parameter rise is the rate of this λ1
// or weight. Equal rows may have different tangents, so each of them has its own constraint or
// term.
func (d *marginDerivative) oneSided(l *marginFit, dtheta []float64, rise float64) error {
	p, weak := &l.p, l.weak
	n := p.n
	vars := slices.Concat(d.face.act, weak.Coords) // the coordinates that may move
	// The rows and coordinates with an s.
	var slackRows, slackCoords []int
	if p.hinge == 0 {
		slackRows = weak.Rows
	}
	if rise > 0 {
		slackRows, slackCoords = slices.Concat(slackRows, l.weakFree.Rows), l.weakFree.Coords
	}
	slack := d.rowPartsOf(l, slackRows)
	nv := len(vars)
	if nv == 0 {
		clear(dtheta)
		return nil
	}
	q := newSidedQP(nv + len(slack) + len(slackCoords))
	for k, j := range vars {
		q.P[k] = -d.w[j]
		q.Q.Set(k, k, p.l2)
	}
	normal := func(i int, sign float64) []float64 { return q.row(p.z[i*n:(i+1)*n], vars, sign) }
	for i, c := range d.curvature {
		if c == 0 {
			continue
		}
		z := normal(i, 1)
		for k := range nv {
			dense.Axpy(c*p.Copies[i]*z[k], z, q.Q.RawRowView(k))
		}
	}
	for _, i := range d.face.elbow {
		q.addEquality(normal(i, 1), d.u[i])
	}
	if p.hinge > 0 {
		for _, part := range d.rowPartsOf(l, weak.Rows) {
			s := -float64(d.face.side[part.row])
			q.atMost(normal(part.row, s), s*part.u)
		}
	}
	for _, j := range weak.Coords {
		q.atMost(q.unit(slices.Index(vars, j), -l.subgradient(j)), 0)
	}
	for k, part := range slack {
		s := nv + k
		q.Q.Set(s, s, 2*p.smooth[1]*part.copies)
		q.P[s] = rise * part.copies
		row := normal(part.row, -1)
		row[s] = -1
		q.atMost(row, -part.u)
		q.atMost(q.unit(s, -1), 0)
	}
	for k, j := range slackCoords {
		s := nv + len(slack) + k
		q.P[s] = rise
		for _, v := range []float64{1, -1} {
			row := q.unit(slices.Index(vars, j), v)
			row[s] = -1
			q.atMost(row, 0)
		}
	}
	delta, err := q.solve()
	if err != nil {
		return err
	}
	clear(dtheta)
	dense.Scatter(dtheta, delta, vars)
	return learner.CheckTangentOut(dtheta)
}

// A sidedQP is a QP with nvars variables, to which constraints are added one by one.
type sidedQP struct {
	qpdiff.QP
	nvars int
	a, g  []float64 // the rows of A and G
}

func newSidedQP(size int) *sidedQP {
	return &sidedQP{QP: qpdiff.QP{Q: mat.NewDense(size, size, nil), P: make([]float64, size)}, nvars: size}
}

// row returns the row of a constraint. Entry k of the row is f·z[vars[k]]; all later entries are 0.
func (q *sidedQP) row(z []float64, vars []int, f float64) []float64 {
	row := make([]float64, q.nvars)
	for k, j := range vars {
		row[k] = f * z[j]
	}
	return row
}

// unit returns a row with the value v in entry k and 0 in all other entries.
func (q *sidedQP) unit(k int, v float64) []float64 {
	row := make([]float64, q.nvars)
	row[k] = v
	return row
}

// addEquality adds the constraint rowᵀz = b.
func (q *sidedQP) addEquality(row []float64, b float64) {
	q.a = append(q.a, row...)
	q.B = append(q.B, b)
}

// atMost adds the constraint rowᵀz ≤ h.
func (q *sidedQP) atMost(row []float64, h float64) {
	q.g = append(q.g, row...)
	q.H = append(q.H, h)
}

// solve returns the solution.
func (q *sidedQP) solve() ([]float64, error) {
	if len(q.B) > 0 {
		q.A = mat.NewDense(len(q.B), q.nvars, q.a)
	}
	if len(q.H) > 0 {
		q.G = mat.NewDense(len(q.H), q.nvars, q.g)
	}
	var s qpdiff.Solution
	err := s.Solve(&q.QP)
	return s.Z, err
}

// A rowPart stands for some copies of a distinct row: the copies with the right-hand side u.
type rowPart struct {
	row       int
	u, copies float64 // copies: the sum of their weights
}

// rowPartsOf returns the rowParts of the distinct rows in the list rows.
func (d *marginDerivative) rowPartsOf(l *marginFit, rows []int) (parts []rowPart) {
	for i, k := range l.p.Of {
		if !slices.Contains(rows, k) {
			continue
		}
		u := -d.dm[i]
		at := slices.IndexFunc(parts, func(r rowPart) bool { return r.row == k && r.u == u })
		if at < 0 {
			at, parts = len(parts), append(parts, rowPart{row: k, u: u})
		}
		parts[at].copies += l.p.Count(i)
	}
	return parts
}

// areIndependent reports whether the gradients of all active constraints are linearly independent.
// The active constraints include the weakly active constraints. If the gradients are dependent, the
// multipliers are not unique, and a change of the data can change any multiplier.
func (d *marginDerivative) areIndependent(l *marginFit) bool {
	p, f := &l.p.marginProblem, &d.ownFace
	if !d.withoutWeak(l, true) {
		return false
	}
	if p.hinge == 0 {
		return true
	}
	rows := len(f.elbow)
	for _, i := range l.weak.Rows {
		if rows == len(f.act) || !f.orthogonalise(p, i, rows) {
			return false
		}
		rows++
	}
	return true
}

// subgradient returns the sign of θ_j. If coordinate j is weakly active, the result is the sign of
// the subgradient of λ1·|θ_j|. This sign is 0 if λ1 = 0.
func (l *marginFit) subgradient(j int) float64 {
	switch {
	case slices.Contains(l.weak.Coords, j):
		return -dense.Sign(l.p.grad[j])
	case slices.Contains(l.weakFree.Coords, j):
		return 0
	}
	return dense.Sign(l.p.theta[j])
}
