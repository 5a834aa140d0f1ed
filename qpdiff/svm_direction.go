package qpdiff

import "gonum.org/v1/gonum/mat"

// oneSided sets dtheta to the directional derivative of θ where strict
// complementarity fails, given the right-hand sides w and u that finishTangent
// has gathered with the weakly active rows and coordinates out of the face: the
// solution δ of the quadratic program (Robinson 1980)
//
//	minimise   ½ δᵀHδ − wᵀδ + Σ ½c_i s_i² + e_i s_i
//	subject to z_iᵀδ = u_i on the elbow; ≤ and ≥ on weakly active rows whose
//	           multiplier is at its upper end and at 0; a weakly active
//	           coordinate on its side of the kink
//
// where s_i = max(0, u_i − z_iᵀδ) stands for the hinge loss with a weight rising
// from 0 at the rate e_i and for the truncated quadratic loss, and s_j = |δ_j| for
// λ1 rising from 0. rise is that rate of λ1 or of the hinge loss.
func (l *marginFit) oneSided(dtheta []float64, rise float64) error {
	p := &l.p
	n := p.n
	// The coordinates that may move.
	vars := append([]int(nil), p.act...)
	for _, id := range l.weak {
		if id >= p.rows {
			vars = append(vars, id-p.rows)
		}
	}
	place := make([]int, n)
	for k, j := range vars {
		place[j] = k
	}
	var slack []int // weakly active rows and coordinates with an s
	for _, id := range l.weak {
		if id < p.rows && p.hinge == 0 {
			slack = append(slack, id)
		}
	}
	if rise > 0 {
		slack = append(slack, l.weakFree...)
	}
	nv := len(vars)
	size := nv + len(slack)
	if nv == 0 {
		clear(dtheta)
		return nil
	}
	q := QP{Q: mat.NewDense(size, size, nil), P: make([]float64, size)}
	for k, j := range vars {
		q.P[k] = -l.w[j]
		q.Q.Set(k, k, p.l2)
	}
	normal := func(i int, sign float64) []float64 {
		row := make([]float64, size)
		for k, j := range vars {
			row[k] = sign * p.z[i*n+j]
		}
		return row
	}
	for i, c := range l.curvature[:p.rows] {
		if c == 0 {
			continue
		}
		z := normal(i, 1)
		for k := range nv {
			axpy(c*p.copies[i]*z[k], z, q.Q.RawRowView(k))
		}
	}
	var a, g []float64
	for _, i := range p.elbow {
		a = append(a, normal(i, 1)...)
		q.B = append(q.B, l.u[i])
	}
	atMost := func(row []float64, h float64) {
		g = append(g, row...)
		q.H = append(q.H, h)
	}
	unit := func(k int, v float64) []float64 {
		row := make([]float64, size)
		row[k] = v
		return row
	}
	for _, id := range l.weak {
		switch {
		case id >= p.rows:
			atMost(unit(place[id-p.rows], -l.lean(id-p.rows)), 0)
		case p.hinge > 0:
			s := -float64(p.side[id])
			atMost(normal(id, s), s*l.u[id])
		}
	}
	for k, id := range slack {
		s := nv + k
		if id < p.rows {
			q.Q.Set(s, s, 2*p.smooth[1]*p.copies[id])
			q.P[s] = rise * p.copies[id]
			row := normal(id, -1)
			row[s] = -1
			atMost(row, -l.u[id])
			atMost(unit(s, -1), 0)
			continue
		}
		q.P[s] = rise
		for _, v := range []float64{1, -1} {
			row := unit(place[id-p.rows], v)
			row[s] = -1
			atMost(row, 0)
		}
	}
	if len(q.B) > 0 {
		q.A = mat.NewDense(len(q.B), size, a)
	}
	if len(q.H) > 0 {
		q.G = mat.NewDense(len(q.H), size, g)
	}
	var s Solution
	if err := s.Solve(&q); err != nil {
		return err
	}
	clear(dtheta)
	for k, j := range vars {
		dtheta[j] = s.Z[k]
	}
	return checkTangentOut(dtheta)
}

// independent reports whether the gradients of everything that is active,
// weakly or not, are linearly independent. Where they are not, the multipliers
// are not unique, and a move of the data may answer to any of them.
func (l *marginFit) independent() bool {
	p := &l.p
	l.leaveOutWeak()
	defer l.putBackWeak()
	rows := len(p.elbow)
	if l.factorise() != nil || len(p.elbow) < rows {
		return false
	}
	for _, i := range l.weak {
		if i < p.rows && p.hinge > 0 {
			if rows == len(p.act) || !p.orthogonalise(i, rows) {
				return false
			}
			rows++
		}
	}
	return true
}

// lean is the side of its kink on which coordinate j is, or to which it leans
// at 0; with λ1 = 0 it is 0 there.
func (l *marginFit) lean(j int) float64 {
	for _, id := range l.weak {
		if id == l.p.rows+j {
			return -sign(l.p.grad[j])
		}
	}
	for _, id := range l.weakFree {
		if id == l.p.rows+j {
			return 0
		}
	}
	return sign(l.p.theta[j])
}
