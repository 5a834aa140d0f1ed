package margin

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// marginSolver solves a [marginProblem] by a primal active-set method. It takes the Newton step of
// a face, and ends the step at the point at which the objective stops falling. If the loss has no
// smooth part ℓ, the full step ends at the face's minimiser. If a kink ends the step, this kink
// becomes a constraint of the face. At a face's minimiser, the solver removes a constraint whose
// multiplier has the wrong sign. Every step of positive length lowers the objective, so the number
// of faces is finite if few steps have length zero. If many steps have length zero, the dual method
// takes over.
//
// If there is no smooth part ℓ, the search influences θ only through the face at which it ends,
// because a factor that was updated during the search is computed anew at the solution.
type marginSolver struct {
	marginProblem
	marginFace

	theta []float64 // the solution
	m     []float64 // its margins
	mult  []float64 // multipliers of the elbow, in (0, w_i·hinge)
	grad  []float64 // gradient in θ without the ℓ₁ term, multipliers included

	// for each row: true if correctSides has moved the row to its other side although its margin is 1
	// up to rounding
	correctedRows []bool
	isWarm        bool // theta and the face come from the last solve
	rounds        int  // faces of the last solve

	dir       []float64 // the step, for the coordinates of the support
	dm        []float64 // the change of the margins along this step
	decrement float64   // dᵀHd of the last system's solution
	kinks     []kink
	// used by the dual method: b holds the multiplier of each row of the elbow, and v holds the
	// gradient off the support
	b, v []float64
	frac []float64 // for moveFree: the fraction of the step at which each free variable reaches its bound
	coef []float64 // coefficients of the elbow's normals in a system or a dependency
	gram []float64 // factor that elbowCond writes
	work []float64 // scratch within one function, which names its contents
}

// A kink describes a kink of the objective along a step. The field id is i for the kink of row i,
// and rows+j for the kink of coordinate j. The field t is the position of the kink, and the field
// jump is the jump of the slope there.
type kink struct {
	id                   int
	t, jump, jumpsBefore float64 // jumpsBefore: the sum of the jumps of earlier kinks, for searchCurved
}

func (p *marginSolver) resize(rows, n int) {
	if rows == cap(p.m) && n == p.n {
		return
	}
	*p = marginSolver{
		marginProblem: marginProblem{n: n, z: make([]float64, rows*n), norm: make([]float64, rows)},
		theta:         make([]float64, n), m: make([]float64, rows), mult: make([]float64, 0, n), grad: make([]float64, n),
		correctedRows: make([]bool, rows), dir: make([]float64, n), dm: make([]float64, rows), kinks: make([]kink, 0, rows+n),
		b: make([]float64, rows), v: make([]float64, n), frac: make([]float64, 0, 2*n),
		work: make([]float64, n), coef: make([]float64, n), gram: make([]float64, n*n),
	}
	p.marginFace.resize(rows, n)
}

// solverEntries returns the number of entries that resize and the row set allocate.
func solverEntries(rows, n float64, weighted bool) float64 {
	return rows*n + 5*rows + 4*(rows+n) + 9*n + n*n + faceEntries(rows, n) + learner.RowSetEntries(rows, weighted)
}

// load copies the distinct rows y_i·x_i.
func (p *marginSolver) load(d learn.Data) error {
	rows, n := d.X.Dims()
	p.resize(rows, n)
	p.total = float64(rows)
	if p.Counts = learner.Counts(d, p.Counts); p.Counts != nil {
		p.total = floats.Sum(p.Counts)
	}
	features := d.Dense()
	for i, y := range d.Y {
		z := p.z[i*n : (i+1)*n]
		var s float64
		for j, v := range features.RawRowView(i) {
			v *= y
			z[j] = v
			s += v * v
		}
		if !dense.Finite(s) && p.Count(i) > 0 {
			return check.ArgErrorf("Data.X", qpdiff.ErrNotFinite, "scale the features", "is so large that the squared norm of row %d overflows", i)
		}
	}
	if p.Distinct(p.z, rows, n) {
		p.isWarm = false
	}
	p.rows = len(p.First)
	p.m, p.side, p.correctedRows, p.norm, p.dm = p.m[:p.rows], p.side[:p.rows], p.correctedRows[:p.rows], p.norm[:p.rows], p.dm[:p.rows]
	for k, i := range p.First {
		z := p.z[k*n : (k+1)*n]
		copy(z, p.z[i*n:(i+1)*n])
		p.norm[k] = norm2(z)
	}
	p.isSolved = false
	return nil
}

func (p *marginSolver) reset() { p.isWarm, p.isSolved = false, false }

// margins computes m = Zθ.
func (p *marginSolver) margins() {
	n := p.n
	for i := range p.m {
		p.m[i] = dense.Dot(p.theta, p.z[i*n:(i+1)*n])
	}
}

// takeStep moves theta by t along the step.
func (p *marginSolver) takeStep(t float64) {
	for k, j := range p.act {
		p.theta[j] += t * p.dir[k]
	}
}

// newtonStep sets dir to the Newton step on the face, and mult to the multipliers after the step.
// If the loss has no smooth part ℓ, the step ends at the face's minimiser. If the Hessian is
// singular, newtonStep returns false.
func (p *marginSolver) newtonStep() bool {
	p.rounds++
	p.stopper.Look()
	for {
		elbow := len(p.elbow)
		if !p.factorise(&p.marginProblem, p.grad, p.theta, p.m) {
			return false
		}
		if len(p.elbow) == elbow {
			break
		} // else the gradient has more rows to count
	}
	s := len(p.act)
	d := p.dir[:s]
	for k, j := range p.act {
		d[k] = -p.grad[j] - p.l1*p.sgn[k]
	}
	p.mult = p.mult[:len(p.elbow)]
	for e, i := range p.elbow {
		p.mult[e] = 1
		if p.curved {
			p.mult[e] = 1 - p.m[i]
		}
	}
	p.decrement = p.system(&p.marginProblem, d, p.mult, p.coef)
	if !p.curved {
		for k, j := range p.act {
			d[k] -= p.theta[j]
		}
	}
	return true
}

// addMultipliers subtracts Σ_{i∈E} b_i·z_i from grad.
func (p *marginSolver) addMultipliers() {
	for e, i := range p.elbow {
		dense.Axpy(-p.mult[e], p.z[i*p.n:(i+1)*p.n], p.grad)
	}
}

// dropCoordinate sets θ_j to 0 and removes coordinate j from the support.
func (p *marginSolver) dropCoordinate(j int) {
	p.remove(j)
	p.theta[j] = 0
}

// gradSize returns the size of the terms in entry j of the gradient. For a row on the elbow, the
// term is the row's multiplier times z_ij. If there are few violators, this multiplier can be much
// smaller than the weight of the row's loss.
func (p *marginSolver) gradSize(j int) float64 {
	size := p.l1 + p.l2*math.Abs(p.theta[j])
	e := 0
	for i, side := range p.side {
		f := 0.0
		if p.curved {
			f, _ = p.smoothLoss(p.m[i], p.belowKink(i, p.m[i]))
		}
		switch {
		case side < 0:
			f -= p.hinge
		case side == 0:
			f -= p.mult[e] / p.Copies[i]
			e++
		}
		size += math.Abs(p.Copies[i] * f * p.z[i*p.n+j])
	}
	return size
}

// marginSize returns the sum of the absolute terms in the margin of row i.
func (p *marginSolver) marginSize(i int) float64 {
	size := 0.0
	for _, j := range p.act {
		size += math.Abs(p.z[i*p.n+j] * p.theta[j])
	}
	return size
}

// isSteep reports whether the squared hinge loss of row i has a large gradient at the distance d
// from its kink. The gradient is large if one of its entries exceeds the total size of the terms in
// this entry of the objective's gradient.
func (p *marginSolver) isSteep(i int, d float64) bool {
	return p.outweighs(i, 2*p.smooth[1]*p.Copies[i]*d)
}

// outweighs reports whether |slope·z_ij| exceeds the size of the terms in entry j of the gradient,
// for some coordinate j. The parameter slope must be at least 0.
func (p *marginSolver) outweighs(i int, slope float64) bool {
	return slope != 0 && slices.ContainsFunc(p.act, func(j int) bool { return slope*math.Abs(p.z[i*p.n+j]) > p.gradSize(j) })
}

// isNegative reports whether the multiplier of row e of the elbow is below 0 by more than rounding.
// The rounding is relative to the smaller of two sizes: the upper bound of the multiplier, and the
// terms that the multiplier balances. If there are no violators, these terms are only the terms of
// the ridge penalty, which may be very small.
func (p *marginSolver) isNegative(e int) bool {
	b, i := p.mult[e], p.elbow[e]
	return b < 0 && (b < -marginTol*p.multBound(i) || p.outweighs(i, -b/marginTol))
}

// refine corrects theta if the margins of the elbow differ from 1 by more than the rounding of
// their terms. The loss must have no smooth part ℓ. A solve of the face's system leaves an error of
// about eps·‖z_i‖‖θ‖ in margin i. If large entries of z_i are multiplied by small entries of θ,
// this error is much larger than the rounding of the terms.
func (p *marginSolver) refine() {
	for range maxRefinements {
		off := p.work[:len(p.elbow)]
		accurate := true
		for e, i := range p.elbow {
			off[e] = 1 - p.m[i]
			if d := math.Abs(off[e]); d > marginTol {
				accurate = accurate && d <= marginTol*(1+p.marginSize(i))
			}
		}
		if accurate {
			return
		}
		d := p.dir[:len(p.act)]
		clear(d)
		p.system(&p.marginProblem, d, off, p.coef)
		p.takeStep(1)
		for e, v := range off {
			p.mult[e] += v
		}
		p.margins()
	}
}

// releaseWrong removes the constraints whose multipliers have the wrong sign. If the parameter
// firstOnly is true, it removes only the first of these constraints. It returns the number of
// removed constraints. Before the call, θ must be the face's minimiser. releaseWrong also sets
// p.grad to the gradient at θ, without the ℓ₁ term.
func (p *marginSolver) releaseWrong(firstOnly bool) int {
	if !p.curved {
		for j, t := range p.theta {
			p.grad[j] += p.l2 * t
		}
	} else {
		p.gradient(&p.marginProblem, p.grad, p.theta, p.m)
	}
	p.addMultipliers()
	released := 0
	for e := 0; e < len(p.elbow); e++ {
		top := p.multBound(p.elbow[e])
		above := p.mult[e] > top+marginTol*top
		if !above && !p.isNegative(e) {
			continue
		}
		p.side[p.elbow[e]] = sideIf(above)
		p.elbow, p.mult = slices.Delete(p.elbow, e, e+1), slices.Delete(p.mult, e, e+1)
		e--
		released++
		if firstOnly {
			return released
		}
	}
	for j, g := range p.grad {
		if p.pos[j] >= 0 || math.Abs(g) <= p.l1 || math.Abs(g) <= p.l1+marginTol*p.gradSize(j) {
			continue
		}
		p.insert(j, -math.Copysign(1, g))
		released++
		if firstOnly {
			return released
		}
	}
	return released
}
