package margin

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/floats"
)

// weakMargins lists the rows and coordinates that violate strict complementarity at the
// solution of a [marginSolver].
type weakMargins struct {
	weak qpdiff.Weak // weakly active, by distinct row
	// kinks at a hyperparameter that is 0: coordinates at a kink if λ1 = 0, and rows at a kink if the
	// weight of the hinge loss is 0
	weakFree qpdiff.Weak

	// scratch of listAll: root holds the square roots of the Hessian's diagonal, and length holds the
	// scaled lengths ‖z_i‖ of the elbow's normals
	root, length []float64
	v, b         []float64 // scratch of isDecided: right-hand sides, v for the support and b for the elbow
}

func (w *weakMargins) resize(rows, n int) {
	dense.GrowAll(rows, &w.weak.Rows, &w.weakFree.Rows)
	dense.GrowAll(n, &w.weak.Coords, &w.weakFree.Coords)
	dense.GrowAll(n, &w.root, &w.length, &w.v, &w.b)
}

// findWeak lists the weakly active rows and coordinates at the solution of the solver p. The
// parameter hasL1 is true if λ1 is a hyperparameter.
func (w *weakMargins) findWeak(p *marginSolver, hasL1 bool) error {
	s := len(p.act)
	theta := norm2(p.theta)
	if !dense.Finite(theta * slices.Max(p.norm)) { // a bound for the terms of a margin; the tolerances are relative to this bound
		return check.ArgErrorf("hyper", qpdiff.ErrNotFinite, "raise the ridge penalty, or scale the features", "leaves a solution that overflows")
	}
	// In the variables root_j·θ_j, which give H a unit diagonal.
	root := w.root[:s]
	top := p.l2
	for k := range root {
		h := p.l2
		if p.curved {
			h = p.h[k*s+k] // computed by releaseWrong at the solution
		}
		top = max(top, h)
		root[k] = math.Sqrt(h)
	}
	// Upper bounds of the condition numbers are tried first, because they cost little and almost
	// always decide. The bounds use λ2 as a lower bound of the eigenvalues of H.
	cond := 1.0
	if p.curved {
		cond = float64(s) * top / p.l2
	}
	elbow := p.elbowCondBound()
	if elbow > looseBound {
		elbow = p.elbowCond(p.gram, p.dir, p.coef, p.work)
	}
	if w.listAll(p, hasL1, theta, root, cond*elbow); w.weak.Empty() && w.weakFree.Empty() && !dense.Unsolvable(cond) {
		return nil
	}
	if p.curved {
		if p.isSolved = p.refactorise(&p.marginProblem, p.grad, p.theta, p.m); !p.isSolved {
			return errSingularMargins
		}
		if cond = dense.LDLCond(p.h, p.dinv, s, s, p.dir, p.coef); dense.Unsolvable(cond) {
			return errSingularMargins
		}
	}
	w.listAll(p, hasL1, theta, root, cond*p.elbowCond(p.gram, p.dir, p.coef, p.work))
	if p.curved {
		return nil // Newton's last step may leave more than rounding
	}
	row := func(i int) bool { return w.isDecided(p, i) }
	coord := func(j int) bool { return w.isDecided(p, p.rows+j) }
	w.weak.Rows, w.weak.Coords = slices.DeleteFunc(w.weak.Rows, row), slices.DeleteFunc(w.weak.Coords, coord)
	w.weakFree.Rows, w.weakFree.Coords = slices.DeleteFunc(w.weakFree.Rows, row), slices.DeleteFunc(w.weakFree.Coords, coord)
	return nil
}

// isDecided reports whether rounding leaves no doubt about the side of the kink on which a row (id)
// or a coordinate (id−rows) lies. It computes the rounding error with one solve, and compares it
// with the distance from the kink. isDecided is called only for the rows and coordinates that
// listAll has listed. In contrast, listAll bounds all errors together, by the condition number of
// the face's system. The loss must have no smooth part ℓ.
func (w *weakMargins) isDecided(p *marginSolver, id int) bool {
	p.stopper.Look()
	v, b := dense.Zeros(w.v, len(p.act)), dense.Zeros(w.b, len(p.elbow))
	var value, err float64
	if j := id - p.rows; j < 0 && p.side[id] == 0 {
		e, _ := slices.BinarySearch(p.elbow, id)
		b[e] = -1
		value = min(p.mult[e], p.multBound(id)-p.mult[e])
	} else if j < 0 {
		dense.Gather(v, p.z[id*p.n:(id+1)*p.n], p.act)
		value, err = (p.m[id]-1)*float64(p.side[id]), 1+p.marginSize(id)
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
		value, err = p.l1-math.Abs(p.grad[j]), p.gradSize(j)
	}
	// The errors in the terms of the face's system are added to err.
	p.system(&p.marginProblem, v, b, p.coef)
	var terms float64
	for _, j := range p.act {
		terms = math.Hypot(terms, p.gradSize(j))
	}
	err += terms * floats.Norm(v, 2) // the squares of v can overflow
	for e, i := range p.elbow {
		err += math.Abs(b[e]) * (1 + p.marginSize(i))
	}
	return !dense.Negligible(value, err, 1)
}

// listAll lists the weakly active rows and coordinates. The parameter norm is ‖θ‖, root holds the
// square roots of H's diagonal, and cond is the condition number of the face's system. Before cond
// is computed, the system is scaled so that H has a unit diagonal and the normals have length 1.
func (w *weakMargins) listAll(p *marginSolver, hasL1 bool, norm float64, root []float64, cond float64) {
	weak, free := &w.weak, &w.weakFree
	weak.Rows, weak.Coords, free.Rows, free.Coords = weak.Rows[:0], weak.Coords[:0], free.Rows[:0], free.Coords[:0]
	// Sizes of the solution and of the terms of the gradient.
	var size, terms float64
	for k, j := range p.act {
		t := root[k] * p.theta[j]
		size += t * t
		t = p.gradSize(j) / root[k]
		terms += t * t
	}
	size, terms = math.Sqrt(size), math.Sqrt(terms)
	// The rounding of the gradient's terms causes an error of θ in directions that the elbow does not
	// determine. drift bounds this error.
	drift := terms
	if p.curved {
		drift *= cond
	}
	if len(p.elbow) == len(p.act) {
		drift = 0
	}
	length := w.length[:len(p.elbow)]
	for e, i := range p.elbow {
		length[e] = p.scaledLength(i, root)
	}
	// sway bounds the error of a margin whose normal has length 1. The margin is compared with the
	// number 1, and sway does not include the rounding of this number.
	sway := cond * norm
	if len(root) > 0 {
		sway += drift / slices.Min(root)
	}
	rows := &weak.Rows
	if p.hinge == 0 && p.smooth[1] == 0 { // a kink in the hinge loss's weight only
		rows = &free.Rows
	}
	e := 0
	for i, m := range p.m {
		if p.side[i] == 0 {
			b := p.mult[e]
			if dense.Negligible(length[e]*min(b, p.multBound(i)-b), size+terms, cond) {
				weak.Rows = append(weak.Rows, i)
			}
			e++
			continue
		}
		// A row on the wrong side of its kink counts as weakly active, because rounding hides the row's
		// side. A bound that uses ‖z_i‖ is tried first, because it needs no pass over the row.
		slack := (m - 1) * float64(p.side[i])
		if slack > 0 && (!dense.Negligible(slack, cond+p.norm[i]*sway, 1) || !dense.Negligible(slack, cond*(1+p.norm[i]*norm)+p.scaledLength(i, root)*drift, 1)) {
			continue
		}
		*rows = append(*rows, i)
	}
	w.listCoords(p, hasL1, root, cond, size, terms, drift)
}

// scaledLength returns ‖z_i‖ on the support, in variables scaled by root.
func (p *marginSolver) scaledLength(i int, root []float64) float64 {
	var sum float64
	for k, j := range p.act {
		v := p.z[i*p.n+j] / root[k]
		sum += v * v
	}
	return math.Sqrt(sum)
}

// listCoords does the work of listAll for the coordinates. The parameter thetaSize is the size of
// the solution, and gradSize is the size of the gradient's terms. The parameters root, cond and
// drift have the same meaning as in listAll.
func (w *weakMargins) listCoords(p *marginSolver, hasL1 bool, root []float64, cond, thetaSize, gradSize, drift float64) {
	weak, free, length := &w.weak, &w.weakFree, w.length[:len(p.elbow)]
	for j, t := range p.theta {
		if k := p.pos[j]; k >= 0 {
			switch {
			case p.sgn[k] == 0 && !hasL1, t*p.sgn[k] >= 0 && !dense.Negligible(root[k]*math.Abs(t), cond*thetaSize+drift, 1):
			case p.sgn[k] == 0:
				free.Coords = append(free.Coords, j)
			default:
				weak.Coords = append(weak.Coords, j)
			}
			continue
		}
		// Only an SVM with λ1 > 0 has coordinates off the support. Errors of the multipliers change the
		// gradient in these coordinates.
		move := 0.0
		for e, i := range p.elbow {
			move = max(move, math.Abs(p.z[i*p.n+j])/length[e])
		}
		if dense.Negligible(p.l1-math.Abs(p.grad[j]), p.gradSize(j)+move*(thetaSize+gradSize), cond) {
			weak.Coords = append(weak.Coords, j)
		}
	}
}
