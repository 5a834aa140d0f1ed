package qpdiff

import (
	"math"
	"slices"
)

// weakMargins is the [face] of a [marginSolver]'s solution, with what is weakly active
// there.
type weakMargins struct {
	kinks
	p  *marginSolver
	l1 bool // λ1 is a hyperparameter

	root, length []float64 // √ of the Hessian's diagonal, scaled ‖z_i‖ of the elbow
	v, b         []float64 // right-hand side on the support and on the elbow

	// Of screen, where ‖θ‖ is theta and the face's system has the condition cond, with
	// rows and columns scaled to a unit diagonal and length:
	theta, cond float64
	size, terms float64 // of the solution and of the terms of the gradient
	drift       float64 // of the gradient's part of θ
	sway        float64 // of the margin of a normal of length 1, but for the rounding of the margin's own 1
}

func (w *weakMargins) resize(rows, n int) {
	w.kinks.resize(rows, n)
	growAll(n, &w.root, &w.length, &w.v, &w.b)
}

// find lists what is weakly active at the solution of p. l1 reports whether λ1 is a
// hyperparameter.
func (w *weakMargins) find(p *marginSolver, l1 bool) error {
	w.p, w.l1 = p, l1
	s := len(p.act)
	w.theta = math.Sqrt(dot(p.theta, p.theta))
	if !finite(w.theta) {
		return argErrorf("hyper", ErrNotFinite, "raise the ridge penalty, or scale the features", "leaves a solution that overflows")
	}
	// In the variables root_j·θ_j, which give H a unit diagonal.
	root := grow(w.root, s)
	w.root = root
	top := p.l2
	for k := range root {
		h := p.l2
		if p.curved {
			h = p.h[k*s+k] // left by release at the solution
		}
		top = max(top, h)
		root[k] = math.Sqrt(h)
	}
	// Bounds of the conditions come first, since they decide almost always and cost
	// next to nothing. H is at least λ2.
	cond := 1.0
	if p.curved {
		cond = float64(s) * top / p.l2
	}
	elbow := p.elbowCondBound()
	if elbow > looseBound {
		elbow = p.elbowCond(p.gram, p.dir, p.coef, p.work)
	}
	w.measure(cond * elbow)
	if !w.list(w, p.rows, p.n) && !unsolvable(cond) {
		return nil
	}
	if p.curved {
		if p.factor = p.refactorise(&p.marginProblem, p.grad, p.theta, p.m); !p.factor {
			return errSingularMargins
		}
		if cond = ldlCond(p.h, p.dinv, s, s, p.dir, p.coef); unsolvable(cond) {
			return errSingularMargins
		}
	}
	w.measure(cond * p.elbowCond(p.gram, p.dir, p.coef, p.work))
	if w.list(w, p.rows, p.n); !p.curved { // else Newton's last step may leave more than rounding
		w.settle(w, p.rows)
	}
	return nil
}

// distance is part of a [face], without ℓ.
func (w *weakMargins) distance(place int) (value, scale, cond float64) {
	p := w.p
	v, b := zeros(w.v, len(p.act)), zeros(w.b, len(p.elbow))
	if i, j := place, place-p.rows; j < 0 {
		if p.side[i] == 0 {
			e, _ := slices.BinarySearch(p.elbow, i)
			b[e] = -1
			value = min(p.mult[e], p.top(i)-p.mult[e])
		} else {
			gather(v, p.z[i*p.n:(i+1)*p.n], p.act)
			value, scale = (p.m[i]-1)*float64(p.side[i]), 1+p.marginSize(i)
		}
	} else if k := p.pos[j]; k >= 0 {
		v[k] = 1
		value = math.Abs(p.theta[j])
		if p.sgn[k] != 0 {
			value = p.theta[j] * p.sgn[k]
		}
	} else {
		for e, i := range p.elbow {
			b[e] = p.z[i*p.n+j]
		}
		value, scale = p.l1-math.Abs(p.grad[j]), p.gradSize(j)
	}
	p.system(&p.marginProblem, v, b, p.coef)
	var terms float64
	for _, j := range p.act {
		t := p.gradSize(j)
		terms += t * t
	}
	scale += math.Sqrt(terms * dot(v, v))
	for e, i := range p.elbow {
		scale += math.Abs(b[e]) * (1 + p.marginSize(i))
	}
	return value, scale, 1
}

// scaled is ‖z_i‖ in the scaled variables.
func (w *weakMargins) scaled(i int) float64 {
	var sum float64
	for k, j := range w.p.act {
		v := w.p.z[i*w.p.n+j] / w.root[k]
		sum += v * v
	}
	return math.Sqrt(sum)
}

// measure sets the sizes that screen needs.
func (w *weakMargins) measure(cond float64) {
	p := w.p
	w.cond, w.size, w.terms = cond, 0, 0
	for k, j := range p.act {
		t := w.root[k] * p.theta[j]
		w.size += t * t
		t = p.gradSize(j) / w.root[k]
		w.terms += t * t
	}
	w.size, w.terms = math.Sqrt(w.size), math.Sqrt(w.terms)
	// What the elbow does not determine the gradient does, with the rounding of
	// its terms.
	w.drift = w.terms
	if p.curved {
		w.drift *= cond
	}
	if len(p.elbow) == len(p.act) {
		w.drift = 0
	}
	w.length = grow(w.length, len(p.elbow))
	for e, i := range p.elbow {
		w.length[e] = w.scaled(i)
	}
	w.sway = cond * w.theta
	if len(w.root) > 0 {
		w.sway += w.drift / slices.Min(w.root)
	}
}

// free is part of a [face].
func (w *weakMargins) free(place int) bool {
	p := w.p
	if j := place - p.rows; j >= 0 {
		return p.pos[j] >= 0 && p.sgn[p.pos[j]] == 0
	}
	return p.side[place] != 0 && p.hinge == 0 && p.smooth[1] == 0 // a kink in the hinge loss's weight only
}

// screen is part of a [face].
func (w *weakMargins) screen(place int) (value, scale, cond float64) {
	p := w.p
	if i, j := place, place-p.rows; j < 0 {
		if p.side[i] == 0 {
			e, _ := slices.BinarySearch(p.elbow, i)
			b := p.mult[e]
			return w.length[e] * min(b, p.top(i)-b), w.size + w.terms, w.cond
		}
		// The solver leaves a row on the other side only where rounding hides that.
		// The bound comes first: it takes no pass over the row.
		slack := (p.m[i] - 1) * float64(p.side[i])
		if scale := w.cond + p.norm[i]*w.sway; slack <= 0 || !negligible(slack, scale, 1) {
			return slack, scale, 1
		}
		return slack, w.cond*(1+p.norm[i]*w.theta) + w.scaled(i)*w.drift, 1
	} else if k := p.pos[j]; k >= 0 {
		t := p.theta[j]
		if p.sgn[k] == 0 && !w.l1 {
			return math.Inf(1), 0, 1
		} else if t*p.sgn[k] < 0 {
			return 0, 0, 1
		}
		return w.root[k] * math.Abs(t), w.cond*w.size + w.drift, 1
	} else {
		// λ1 > 0, which no curved loss has: the gradient moves with the multipliers.
		move := 0.0
		for e, i := range p.elbow {
			move = max(move, math.Abs(p.z[i*p.n+j])/w.length[e])
		}
		return p.l1 - math.Abs(p.grad[j]), p.gradSize(j) + move*(w.size+w.terms), w.cond
	}
}
