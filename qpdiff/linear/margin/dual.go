package margin

import (
	"math"

	"cvgm/qpdiff/internal/dense"
)

// dual finds the face of the solution by solving the dual problem. If the loss has no smooth part
// ℓ, the dual problem is
//
//	minimise λ2/2·‖θ‖² − Σ_i b_i   over 0 ≤ b_i ≤ w_i·hinge and |v_j| ≤ λ1,
//	with λ2·θ = Zᵀb + v,
//
// The derivative of the dual objective with respect to b_i is m_i−1, where m_i is the margin of row
// i. The derivative with respect to v_j is θ_j. A variable between its bounds is free. The free
// variables are the multipliers b of the elbow, and the gradients v_j off the support. Every other
// variable is at a bound: the side of its row selects the bound of b_i, and the sign of θ_j selects
// the bound of v_j.
//
// At one θ, more kinks may meet than θ has coordinates. The primal method may then cycle through
// the faces that meet at this θ. The dual method does not cycle, because a margin of 1 is not a
// kink of the dual objective; it only means that a derivative is 0.
//
// dual minimises over the free variables. It then frees a variable whose derivative has the wrong
// sign (as in the method of Lawson and Hanson 1974 for least squares with bounds). All other free
// variables lie strictly between their bounds, so the next step has a positive length and lowers
// the dual objective. If a step ends at a bound, fewer variables are free after it. Hence no face
// is minimised twice.
//
// If the loss has a smooth part ℓ, and λ1 = 0, dual solves this problem for the quadratic model of
// ℓ at θ. It then moves θ to the model's minimiser. This is a damped Newton method that handles all
// kinks at once.
//
// dual starts from the multipliers of the current face. It returns false if a system is singular,
// or if the count p.rounds reaches maxRounds.
func (p *marginSolver) dual(maxRounds int) bool {
	p.model = p.curved
	defer func() { p.model = false }()
	p.feasible()
	return p.fromFeasible(maxRounds)
}

// fromFeasible does the work of dual, but starts from a feasible point of the dual problem. Before
// the call, the face must be the face of this point.
func (p *marginSolver) fromFeasible(maxRounds int) bool {
	for p.rounds < maxRounds {
		if !p.newtonStep() {
			return false
		}
		p.addMultipliers()
		if p.moveFree() {
			continue
		}
		if !p.curved {
			p.takeStep(1)
			p.margins()
		}
		if id := p.mostViolated(); id >= 0 {
			p.enter(id)
		} else if !p.curved || p.dampedStep() {
			return true
		}
	}
	return false
}

// dampedStep takes the step to the minimiser of the quadratic model. It halves the step until the
// objective falls enough, and reports whether it took the full step. If it took a shorter step, it
// sets the face from the margins.
func (p *marginSolver) dampedStep() (fullStep bool) {
	f, q := p.objective(p.theta, p.m), p.decrement
	from := p.coef[:p.n]
	copy(from, p.theta)
	t := 1.0
	for ; t > dense.Eps; t /= 2 {
		p.takeStep(t)
		p.margins()
		if p.objective(p.theta, p.m) <= f-sufficientFall*t*q+marginTol*math.Abs(f) {
			break
		}
		copy(p.theta, from)
	}
	if t == 1 {
		return true
	}
	p.margins()
	p.elbow = p.elbow[:0]
	for i, m := range p.m {
		p.side[i] = sideIf(m < 1)
	}
	return t <= dense.Eps // the fall is lost in rounding
}

// feasible computes a feasible point of the dual problem from the multipliers and the gradient of
// the current face. A value outside its bounds moves to the nearest bound.
func (p *marginSolver) feasible() {
	p.addMultipliers()
	for e, i := range p.elbow {
		p.b[i] = p.mult[e]
		switch b := p.b[i]; {
		case b <= 0:
			p.side[i] = 1
		case b >= p.multBound(i):
			p.side[i] = -1
		}
	}
	p.dropReleased()
	for j, g := range p.grad {
		if p.pos[j] >= 0 {
			continue
		}
		if p.v[j] = g; math.Abs(g) >= p.l1 {
			p.insert(j, -math.Copysign(1, g))
		}
	}
}

// moveFree moves the free variables towards the minimiser of their face. It stops at the minimiser,
// or at the first bound that a variable reaches. The variables that reach this bound are then no
// longer free. moveFree reports whether a variable reached a bound.
func (p *marginSolver) moveFree() (stopped bool) {
	t := math.Inf(1)
	// for each free variable: the fraction of the step at which it reaches its bound
	frac := p.frac[:0]
	for e, i := range p.elbow {
		at, top := math.Inf(1), p.multBound(i)
		if b := p.mult[e]; p.isNegative(e) || b > top+marginTol*top {
			at = dense.MaxStep(p.b[i], b-p.b[i], 0, top)
		}
		frac, t = append(frac, at), min(t, at)
	}
	for j, g := range p.grad {
		if p.pos[j] >= 0 {
			continue
		}
		at := math.Inf(1)
		if excess := math.Abs(g) - p.l1; excess > 0 && excess > marginTol*p.gradSize(j) {
			at = dense.MaxStep(p.v[j], g-p.v[j], -p.l1, p.l1)
		}
		frac, t = append(frac, at), min(t, at)
	}
	stopped = !math.IsInf(t, 1)
	way := min(t, 1)
	for e, i := range p.elbow {
		p.b[i] = min(max(p.b[i]+way*(p.mult[e]-p.b[i]), 0), p.multBound(i))
		if stopped && frac[e] <= t {
			p.side[i] = sideIf(p.mult[e] > 0)
		}
	}
	frac = frac[len(p.elbow):]
	p.dropReleased()
	k := 0
	for j, g := range p.grad {
		if p.pos[j] >= 0 {
			continue
		}
		p.v[j] = min(max(p.v[j]+way*(g-p.v[j]), -p.l1), p.l1)
		if stopped && frac[k] <= t {
			p.insert(j, -math.Copysign(1, g))
		}
		k++
	}
	return stopped
}

// mostViolated returns the row or coordinate that is farthest on the wrong side of its kink. The
// distance is relative to the size of the terms of the margin or coordinate. The result is i for
// row i, and p.rows+j for coordinate j. If no row or coordinate is on the wrong side by more than
// rounding, the result is −1.
func (p *marginSolver) mostViolated() int {
	id, most := -1, stillTol
	size := norm2(p.theta)
	if p.model {
		size += norm2(p.dir)
	}
	for i, side := range p.side {
		m := p.m[i]
		if p.model {
			m += dense.Dot(p.z[i*p.n:(i+1)*p.n], p.dir)
		}
		if v := (1 - m) * float64(side); v > most*(1+p.norm[i]*size) {
			id, most = i, v/(1+p.norm[i]*size)
		}
	}
	for k, j := range p.act {
		if v := -p.theta[j] * p.sgn[k]; v > most*size {
			id, most = p.rows+j, v/size
		}
	}
	return id
}

// enter frees one dual variable: the variable of row id, or of coordinate id−p.rows. The normal of
// this variable may be a combination of the normals of the free variables. Then the new variable
// and the free variables first move together, without a change of θ, until one of them reaches a
// bound. This move lowers the dual objective. If the new variable is the first to reach a bound,
// enter does not free it.
func (p *marginSolver) enter(id int) {
	n, s := p.n, len(p.act)
	// the direction in which the variable moves, and the distance to the other bound of the variable
	sign, maxDist := 0.0, 2*p.l1
	a := p.work[:s]
	if id < p.rows {
		sign, maxDist = float64(p.side[id]), p.multBound(id)
		dense.Gather(a, p.z[id*n:(id+1)*n], p.act)
	} else {
		clear(a)
		k := p.pos[id-p.rows]
		sign, a[k] = p.sgn[k], 1
	}
	slid := 0.0
	if c := p.dependency(&p.marginProblem, a, p.coef); c != nil {
		if slid = p.moveDependent(id, sign, maxDist, c); slid == maxDist {
			return
		}
	}
	if id >= p.rows {
		j := id - p.rows
		p.v[j] = sign * (slid - p.l1)
		p.dropCoordinate(j)
		return
	}
	p.b[id] = slid
	if sign < 0 {
		p.b[id] = maxDist - slid
	}
	p.holdOnElbow(id)
}

// moveDependent moves the variable with the number id, together with the free variables, along a
// dependency with the coefficients c. It returns the distance t by which the variable id moves; t
// is at most maxDist. If t = maxDist, this variable has reached its other bound.
func (p *marginSolver) moveDependent(id int, sign, maxDist float64, c []float64) float64 {
	n, t := p.n, maxDist
	for e, i := range p.elbow {
		t = min(t, dense.MaxStep(p.b[i], -sign*c[e], 0, p.multBound(i)))
	}
	// Gradients off the support keep θ at 0 there.
	rate := p.dir[:n]
	clear(rate)
	if id < p.rows {
		copy(rate, p.z[id*n:(id+1)*n])
	}
	for e, i := range p.elbow {
		dense.Axpy(-c[e], p.z[i*n:(i+1)*n], rate)
	}
	for j := range rate {
		if rate[j] *= -sign; p.pos[j] < 0 {
			size := 0.0
			if id < p.rows {
				size = math.Abs(p.z[id*n+j])
			}
			for e, i := range p.elbow {
				size += math.Abs(c[e] * p.z[i*n+j])
			}
			if math.Abs(rate[j]) <= marginTol*size {
				rate[j] = 0
			}
			t = min(t, dense.MaxStep(p.v[j], rate[j], -p.l1, p.l1))
		}
	}
	for e, i := range p.elbow {
		r := -sign * c[e]
		if dense.MaxStep(p.b[i], r, 0, p.multBound(i)) <= t {
			p.side[i] = sideIf(r > 0)
			continue
		}
		p.b[i] = min(max(p.b[i]+t*r, 0), p.multBound(i))
	}
	p.dropReleased()
	for j, r := range rate {
		if p.pos[j] >= 0 {
			continue
		}
		if dense.MaxStep(p.v[j], r, -p.l1, p.l1) <= t {
			p.insert(j, -math.Copysign(1, r))
			continue
		}
		p.v[j] = min(max(p.v[j]+t*r, -p.l1), p.l1)
	}
	switch {
	case t < maxDist:
	case id < p.rows:
		p.side[id] = -p.side[id]
	default:
		k := p.pos[id-p.rows]
		p.sgn[k] = -p.sgn[k]
	}
	return t
}
