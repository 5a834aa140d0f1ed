package qpdiff

import (
	"cmp"
	"math"
	"slices"
)

// marginProblem minimises a sum of losses of the margins m = Zθ with one kink
// each, at 1, and one kink of each coordinate at 0:
//
//	Σ_i w_i·(hinge·max(0, 1−m_i) + ℓ(m_i)) + λ1·‖θ‖₁ + λ2/2·‖θ‖²,  λ2 > 0,
//
// where w_i is the number of copies of row i in the data (equal rows are one row
// here, or the multipliers of an elbow with copies would not be unique), and
// ℓ(m) = smooth[0]·exp(−m) + smooth[1]·max(0, 1−m)² + smooth[2]·log(1+exp(−2m)).
//
// A face is what a solution is smooth on: the elbow (rows held at m_i = 1), the
// side of every other row, the support (coordinates not held at 0) and its
// signs. solve walks from face to face: it takes the Newton step of the face,
// which without ℓ ends at the face's minimiser, but only as far as the true
// objective falls along it; a kink that ends the step joins the face's
// constraints, and at a face's minimiser a constraint whose multiplier has the
// wrong sign leaves. The objective falls with every move that has a length, so the
// number of faces is finite where those without are few: where they are many,
// dual takes over.
//
// The elbow's normals are kept linearly independent, restricted to the support.
// Without ℓ, θ depends on the way to a face only through the face.
type marginProblem struct {
	rows, n int // distinct rows
	rowSet
	z             []float64 // rows×n: y_i·x_i
	hinge, l1, l2 float64
	smooth        [3]float64
	curved        bool // ℓ is not 0

	theta []float64 // the solution
	m     []float64 // its margins
	mult  []float64 // multipliers of the elbow, in (0, w_i·hinge)
	grad  []float64 // gradient in θ without the ℓ₁ term, multipliers included

	side   []int8    // of m_i about 1: −1 below, +1 above, 0 on the elbow
	tried  []bool    // correct has put the row on its other side though its margin is 1 but for rounding
	hidden bool      // correct has left a margin beyond 1 by more than decisionTol
	elbow  []int     // ascending
	act    []int     // support, ascending
	sgn    []float64 // sign of each member of act, 0 where λ1 = 0
	pos    []int     // by coordinate: its place in act, or −1

	norm      []float64 // ‖z_i‖
	dm        []float64 // change of the margins along a step
	kinks     []kink
	dir       []float64 // step on the support
	h         []float64 // factor of the Hessian on the support, if curved
	dinv      []float64
	root      []float64 // √ of its pivots
	coef      []float64 // of a solution along Q
	gram      []float64 // work of elbowCond, and so is work
	work      []float64
	decrement float64   // dᵀHd of the last system's solution
	q, r      []float64 // elbow normals, whitened by the Hessian, = Rᵀ·Q with orthonormal rows of Q
	rounds    int       // faces that the last solve came to
	b, v      []float64 // of dual: multipliers of the elbow, by row, and the gradient off the support
	part      []float64 // work of dual
	model     bool      // ℓ is on the side of its kink where the margin is, not side
	warm      bool
	factor    bool // h, q, r belong to the solution
}

// A kink of the objective along a step: row or rows+coordinate, where, and by
// how much the slope jumps there.
type kink struct {
	id      int
	t, jump float64
}

// marginTol bounds what counts as rounding of a margin or a coordinate,
// relative to the size of its terms.
const marginTol = 64 * eps

// quadraticStep is the change of the margins up to which the curvature of ℓ
// counts as constant along a step: the slope itself is lost in rounding there.
const quadraticStep = 1e-3

// stillTol bounds the steps that are rounding: of a margin or a coordinate,
// relative to the size of its terms, or as a fraction of a step.
const stillTol = 1e-12

// dependentTol is the part of a normal's length up to which what is left of it,
// less its parts along others, counts as rounding.
const dependentTol = 1e-13

// stuckRounds is the number of rounds in a row without a fall of the objective
// after which [marginProblem.dual] takes over from descend.
const stuckRounds = 20

// systemRounds bounds the rounds of [marginProblem.system]: from the largest
// float64 down to the smallest in factors of eps, with as many again for the
// rounding that many constraints add.
const systemRounds = 80

// refinements bounds the corrections of [marginProblem.refine]: one leaves the
// square of the relative error of those before it.
const refinements = 3

// lastStep is the change of the margins below which a Newton step is the last:
// quadratic convergence leaves less than its square.
const lastStep = 1e-8

var errSingularHessian = argErrorf("Data", ErrIllPosed, "raise the ridge penalty, or scale the features", "gives a Hessian that is singular to machine precision")

func (p *marginProblem) resize(rows, n int) {
	if rows == cap(p.m) && n == p.n {
		return
	}
	*p = marginProblem{n: n,
		z: make([]float64, rows*n), theta: make([]float64, n), m: make([]float64, rows), mult: make([]float64, 0, n),
		grad: make([]float64, n), side: make([]int8, rows), tried: make([]bool, rows), elbow: make([]int, 0, n+1), act: make([]int, 0, n),
		sgn: make([]float64, 0, n), pos: make([]int, n), norm: make([]float64, rows), dm: make([]float64, rows),
		kinks: make([]kink, 0, rows+n), dir: make([]float64, n), h: make([]float64, n*n), dinv: make([]float64, n),
		root: make([]float64, n), coef: make([]float64, n), work: make([]float64, n), gram: make([]float64, n*n),
		q: make([]float64, n*n), r: make([]float64, n*n),
		b: make([]float64, rows), v: make([]float64, n), part: make([]float64, 0, 2*n),
	}
}

// load copies the distinct y_i·x_i.
func (p *marginProblem) load(d Data) error {
	rows, n := d.X.Dims()
	p.resize(rows, n)
	raw := d.X.RawMatrix()
	for i, y := range d.Y {
		z := p.z[i*n : (i+1)*n]
		var s float64
		for j, v := range raw.Data[i*raw.Stride : i*raw.Stride+n] {
			v *= y
			z[j] = v
			s += v * v
		}
		if !finite(s) {
			return argErrorf("Data.X", ErrNotFinite, "scale the features", "is so large that the squared norm of row %d overflows", i)
		}
	}
	if p.distinct(p.z, rows, n) {
		p.warm = false
	}
	p.rows = len(p.first)
	p.m, p.side, p.tried, p.norm, p.dm = p.m[:p.rows], p.side[:p.rows], p.tried[:p.rows], p.norm[:p.rows], p.dm[:p.rows]
	for k, i := range p.first {
		z := p.z[k*n : (k+1)*n]
		copy(z, p.z[i*n:(i+1)*n])
		p.norm[k] = math.Sqrt(dot(z, z))
	}
	p.factor = false
	return nil
}

func (p *marginProblem) reset() { p.warm, p.factor = false, false }

// solve moves theta to the solution.
func (p *marginProblem) solve() error {
	p.factor, p.rounds = false, 0
	p.curved = p.smooth != [3]float64{}
	if p.warm && p.resume() {
		if err := p.descend(); err == nil {
			return nil
		}
	}
	p.warm = false
	clear(p.theta)
	clear(p.m)
	for i := range p.side {
		p.side[i] = -1
	}
	p.elbow = p.elbow[:0]
	p.support()
	return p.descend()
}

// resume goes to the minimiser of the last solution's face in the problem as
// it is now, one Newton step if curved, and says whether that is a point to
// start from.
func (p *marginProblem) resume() bool {
	if p.hinge == 0 {
		for _, i := range p.elbow {
			p.side[i] = -1
		}
		p.elbow = p.elbow[:0]
	}
	p.margins()
	p.support()
	if !p.face() {
		return false
	}
	for k, j := range p.act {
		p.theta[j] += p.dir[k]
	}
	p.margins()
	p.support()
	for i, m := range p.m {
		switch {
		case p.side[i] == 0:
		case m < 1:
			p.side[i] = -1
		default:
			p.side[i] = 1
		}
	}
	// Where the data has changed, that can be worse than nothing at all.
	return p.objective() <= float64(len(p.of))*(p.hinge+p.smooth[0]+p.smooth[1]+p.smooth[2]*math.Ln2)
}

func (p *marginProblem) objective() float64 {
	f := p.l2 / 2 * dot(p.theta, p.theta)
	for _, t := range p.theta {
		f += p.l1 * math.Abs(t)
	}
	for i, m := range p.m {
		l := max(0, 1-m)
		l = p.hinge*l + p.smooth[1]*l*l
		if p.smooth[0] != 0 {
			l += p.smooth[0] * math.Exp(-m)
		}
		if p.smooth[2] != 0 {
			l += p.smooth[2] * softplus(-2*m)
		}
		f += p.copies[i] * l
	}
	return f
}

// softplus returns log(1+eˣ) without overflow.
func softplus(x float64) float64 {
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

// margins computes m = Zθ.
func (p *marginProblem) margins() {
	n := p.n
	for i := range p.m {
		p.m[i] = dot(p.theta, p.z[i*n:(i+1)*n])
	}
}

// support makes the support and its signs those of theta: with λ1 = 0, all
// coordinates.
func (p *marginProblem) support() {
	p.act, p.sgn = p.act[:0], p.sgn[:0]
	for j, t := range p.theta {
		p.pos[j] = -1
		switch {
		case p.l1 == 0:
			p.admit(j, 0)
		case t > 0:
			p.admit(j, 1)
		case t < 0:
			p.admit(j, -1)
		}
	}
}

// admit appends to the support.
func (p *marginProblem) admit(j int, sign float64) {
	p.pos[j] = len(p.act)
	p.act, p.sgn = append(p.act, j), append(p.sgn, sign)
}

// insert puts coordinate j into the support.
func (p *marginProblem) insert(j int, sign float64) {
	k, _ := slices.BinarySearch(p.act, j)
	p.act, p.sgn = slices.Insert(p.act, k, j), slices.Insert(p.sgn, k, sign)
	p.index(k)
}

// remove holds coordinate j at 0.
func (p *marginProblem) remove(j int) {
	k := p.pos[j]
	p.act, p.sgn = slices.Delete(p.act, k, k+1), slices.Delete(p.sgn, k, k+1)
	p.pos[j], p.theta[j] = -1, 0
	p.index(k)
}

func (p *marginProblem) index(from int) {
	for k := from; k < len(p.act); k++ {
		p.pos[p.act[k]] = k
	}
}

// slope and curvature of ℓ at margin m; below says on which side of 1 it is.
func (p *marginProblem) smoothLoss(m float64, below bool) (slope, curvature float64) {
	if w := p.smooth[0]; w != 0 {
		e := w * math.Exp(-m)
		slope, curvature = -e, e
	}
	if w := p.smooth[1]; w != 0 && below {
		slope -= 2 * w * (1 - m)
		curvature += 2 * w
	}
	if w := p.smooth[2]; w != 0 {
		// −2w/(1+e^{2m}) and its derivative, without overflow.
		e := math.Exp(-2 * math.Abs(m))
		s := 1 / (1 + e)
		if m > 0 {
			slope -= 2 * w * e * s
		} else {
			slope -= 2 * w * s
		}
		curvature += 4 * w * e * s * s
	}
	return slope, curvature
}

// below reports whether the margin of row i, which is on the given side, is below the
// kink of ℓ. On the elbow it is 1, whatever its rounding.
func (p *marginProblem) below(i int, side int8) bool {
	return side < 0 && !p.model || p.m[i] < 1 && p.model
}

// gradient sets grad to the gradient of the face without multipliers, and if
// curved, h to the Hessian on the support (upper triangle). Without ℓ the
// gradient is that at θ = 0.
func (p *marginProblem) gradient() {
	n, s := p.n, len(p.act)
	g := p.grad
	if !p.curved {
		clear(g)
		for i, side := range p.side {
			if side < 0 {
				axpy(p.copies[i], p.z[i*n:(i+1)*n], g)
			}
		}
		for j := range g {
			g[j] *= -p.hinge
		}
		return
	}
	h := p.h[:s*s]
	clear(h)
	for j, t := range p.theta {
		g[j] = p.l2 * t
	}
	for k := range s {
		h[k*s+k] = p.l2
	}
	for i, side := range p.side {
		z := p.z[i*n : (i+1)*n]
		f, c := p.smoothLoss(p.m[i], p.below(i, side))
		if side < 0 {
			f -= p.hinge
		}
		c *= p.copies[i]
		axpy(p.copies[i]*f, z, g)
		if c == 0 {
			continue
		}
		for k, j := range p.act {
			v := c * z[j]
			row := h[k*s : (k+1)*s]
			for l := k; l < s; l++ {
				row[l] += v * z[p.act[l]]
			}
		}
	}
}

// whiten replaces x by M⁻¹x for the Hessian MMᵀ on the support; unwhiten by M⁻ᵀx.
func (p *marginProblem) whiten(x []float64) {
	if !p.curved {
		f := 1 / math.Sqrt(p.l2)
		for k := range x {
			x[k] *= f
		}
		return
	}
	s := len(x)
	ldlForward(p.h, p.dinv, s, s, x)
	for k := range x {
		x[k] *= p.root[k] * p.dinv[k]
	}
}

func (p *marginProblem) unwhiten(x []float64) {
	if !p.curved {
		p.whiten(x)
		return
	}
	s := len(x)
	for k := range x {
		x[k] *= p.root[k]
	}
	ldlBack(p.h, p.dinv, s, s, x)
}

// factorise prepares solves with the face's optimality system. A member of the
// elbow that depends on those before it goes to the side where its margin is.
func (p *marginProblem) factorise() bool {
	s := len(p.act)
	if p.curved {
		if ldlFactor(p.h[:s*s], p.dinv[:s], s, s, eps) < s {
			return false
		}
		for k := range s {
			p.root[k] = math.Sqrt(1 / p.dinv[k])
		}
	}
	e := 0
	for _, i := range p.elbow {
		if e < s && p.orthogonalise(i, e) {
			p.elbow[e] = i
			e++
			continue
		}
		p.side[i] = 1
		if p.m[i] < 1 {
			p.side[i] = -1
		}
	}
	p.elbow = p.elbow[:e]
	return true
}

// orthogonalise makes the whitened normal of row i the e-th row of Q, by Gram
// and Schmidt's method, twice for orthogonality to working precision. It
// reports false where the normal depends on the earlier ones.
func (p *marginProblem) orthogonalise(i, e int) bool {
	n, s := p.n, len(p.act)
	b := p.q[e*s : (e+1)*s]
	z := p.z[i*n : (i+1)*n]
	for k, j := range p.act {
		b[k] = z[j]
	}
	p.whiten(b)
	size := math.Sqrt(dot(b, b))
	for k := range e {
		p.r[k*n+e] = 0
	}
	for range 2 {
		for k := range e {
			q := p.q[k*s : (k+1)*s]
			c := dot(q, b)
			p.r[k*n+e] += c
			axpy(-c, q, b)
		}
	}
	length := math.Sqrt(dot(b, b))
	if !(length > dependentTol*size) {
		return false
	}
	p.r[e*n+e] = length
	for k := range b {
		b[k] /= length
	}
	return true
}

// elbowCond estimates the condition of the Gram matrix of the elbow's whitened
// normals, scaled to length 1: of RᵀR, whose factor as ldlFactor leaves it is made
// of R.
func (p *marginProblem) elbowCond() float64 {
	n, e := p.n, len(p.elbow)
	a, dinv := p.gram[:e*e], p.dir[:e]
	for k := range e {
		r := p.r[k*n : k*n+e]
		dinv[k] = 1 / (r[k] * r[k])
		for i := k; i < e; i++ {
			a[k*e+i] = r[k] * r[i]
		}
	}
	return ldlCond(a, dinv, e, e, p.coef, p.work)
}

// elbowCondBound bounds what elbowCond estimates from above. The pivots are the
// squares of R's diagonal, those of the normals' lengths sums over its columns.
func (p *marginProblem) elbowCondBound() float64 {
	pivots := 1.0
	for k := range p.elbow {
		var sum float64
		for i := range k + 1 {
			v := p.r[i*p.n+k]
			sum += v * v
		}
		last := p.r[k*p.n+k]
		pivots *= last * last / sum
	}
	return condBound(len(p.elbow), pivots, 0)
}

// system solves the face's optimality system
//
//	H d − Z_Eᵀb = v,  Z_E d = c
//
// in place: v becomes d, c becomes b.
func (p *marginProblem) system(v, c []float64) {
	n, s := p.n, len(p.act)
	p.whiten(v)
	// Coordinates of d along Q: RᵀQd = c.
	for e := range c {
		x := c[e]
		for k := range e {
			x -= p.r[k*n+e] * c[k]
		}
		c[e] = x / p.r[e*n+e]
	}
	// Where the Hessian is small v dwarfs d. A round leaves eps of what it moves,
	// so that one which moves more than there is of d is not the last.
	b := p.coef[:len(c)]
	clear(b)
	for round := range systemRounds {
		var moved float64
		for e := range c {
			q := p.q[e*s : (e+1)*s]
			f := c[e] - dot(q, v)
			b[e] += f
			axpy(f, q, v)
			moved = max(moved, math.Abs(f))
		}
		if round > 0 && moved <= largest(v)+largest(c) {
			break
		}
		if len(c) == s { // d has no part but Qᵀc, and what is left of v is rounding
			clear(v)
			for e, x := range c {
				axpy(x, p.q[e*s:(e+1)*s], v)
			}
			break
		}
	}
	copy(c, b)
	for e := len(c) - 1; e >= 0; e-- {
		x := c[e]
		for k := e + 1; k < len(c); k++ {
			x -= p.r[e*n+k] * c[k]
		}
		c[e] = x / p.r[e*n+e]
	}
	p.decrement = dot(v, v)
	p.unwhiten(v)
}

// face computes the step dir to the face's minimiser, by Newton's method if
// curved, and the multipliers there.
func (p *marginProblem) face() bool {
	p.rounds++
	for {
		elbow := len(p.elbow)
		p.gradient()
		if !p.factorise() {
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
	p.system(d, p.mult)
	if !p.curved {
		for k, j := range p.act {
			d[k] -= p.theta[j]
		}
	}
	return true
}

// errHiddenSide is what a fit answers that ends with a margin well on the other side
// of 1 than the solver took it for, since ‖z_i‖‖θ‖ is large beside it.
var errHiddenSide = argErrorf("Data", ErrIllPosed, "scale the features", "has features of sizes so different that rounding hides on which side of 1 a margin is")

// descend walks over faces from theta to the solution.
func (p *marginProblem) descend() error {
	clear(p.tried)
	still := 0          // steps of length zero in a row
	rounded := false    // correct has moved margins to 1, so that the next step is not exact
	last := math.Inf(1) // length of the step before, on the same face
	low := math.Inf(1)
	limit := p.rounds + 200 + 50*(p.rows+p.n)
	for round := 1; p.rounds < limit; round++ {
		if !p.face() {
			return errSingularHessian
		}
		if round%stuckRounds == 0 && p.hinge > 0 {
			f := p.objective()
			stuck := f >= low-stillTol*math.Abs(low)
			low = f
			if stuck {
				if !p.dual(limit) {
					break
				}
				continue
			}
		}
		moved, crossed := p.collect()
		if crossed == 0 && (!p.curved || moved <= lastStep || moved < 1e-4 && moved > last/2) {
			last = math.Inf(1)
			p.take(1)
			p.margins()
			if !p.curved {
				p.refine()
			}
			if p.correct() {
				rounded = true
				continue
			}
			if rounded || !p.onElbow() {
				rounded = false
				continue
			}
			if p.release(still > 10) == 0 {
				if p.hidden {
					return errHiddenSide
				}
				p.warm, p.factor = true, !p.curved
				return nil
			}
			continue
		}
		t, blocked, ok := p.search(moved)
		if !ok {
			break
		}
		still++
		if t > 0 {
			still = 0
		}
		p.take(t)
		for i, v := range p.dm {
			p.m[i] += t * v
		}
		p.cross(blocked)
		last = math.Inf(1)
		if t == 1 && crossed == 0 {
			last = moved
		}
		if p.curved && t == 1 && crossed == 0 && moved < .1 {
			// Near the face's minimiser a wrong sign is a wrong sign.
			p.release(true)
		}
	}
	return argErrorf("Data", ErrIterationLimit, "raise the ridge penalty, or scale the features", "is so ill-conditioned that no active set was confirmed")
}

// correct puts every row on the side where its margin is, and reports whether
// rounding had put any on the other. With a large weight of the squared hinge loss
// a margin that is beyond 1 by rounding alone counts too, as that loss has a slope
// there on one side only. Where it is so large that the rounding of a margin of 1
// makes any slope the row goes, once, to the side above, which has none: from there
// a step leads away, or back, and then it stays.
func (p *marginProblem) correct() (changed bool) {
	p.hidden = false
	size := math.Sqrt(dot(p.theta, p.theta))
	norm := p.norm[:len(p.side)]
	for i, side := range p.side {
		v, terms := (p.m[i]-1)*float64(side), 1+norm[i]*size
		if v > stillTol*terms {
			continue
		}
		switch {
		case v < -stillTol*terms:
		case p.tried[i] || side == 0:
			continue
		case v < 0 && p.steep(i, -v/stillTol), side < 0 && p.steep(i, complementarityTol*eps*terms):
			// At 1, not beyond it on the new side too, which would hide the kink.
			p.tried[i], p.m[i] = true, 1
		default:
			p.hidden = p.hidden || v < -decisionTol
			continue
		}
		p.side[i] = -side
		changed = true
	}
	return changed
}

// steep reports whether the squared hinge loss of row i has a slope at a distance
// of d from its kink that is larger than the terms of the gradient.
func (p *marginProblem) steep(i int, d float64) bool {
	return p.outweighs(i, 2*p.smooth[1]*p.copies[i]*d)
}

// outweighs reports whether z_i times slope ≥ 0 is larger than the terms of the
// gradient.
func (p *marginProblem) outweighs(i int, slope float64) bool {
	if slope == 0 {
		return false
	}
	for _, j := range p.act {
		if slope*math.Abs(p.z[i*p.n+j]) > p.gradSize(j) {
			return true
		}
	}
	return false
}

// negative reports whether the multiplier of the elbow's member e is below 0 by more
// than rounding: of its largest value, or else of the terms that it balances, which
// without violators are those of the ridge alone, however small.
func (p *marginProblem) negative(e int) bool {
	b, i := p.mult[e], p.elbow[e]
	return b < 0 && (b < -marginTol*p.top(i) || p.outweighs(i, -b/marginTol))
}

// refine corrects theta, without ℓ, where the elbow's margins differ from 1 by more
// than the rounding of the terms of each: the face's system is solved to rounding of
// ‖z_i‖‖θ‖, which is far more where the large entries of z_i meet small ones of θ.
func (p *marginProblem) refine() {
	for range refinements {
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
		p.system(d, off)
		p.take(1)
		for e, v := range off {
			p.mult[e] += v
		}
		p.margins()
	}
}

// marginSize is the size of the terms that make up the margin of row i.
func (p *marginProblem) marginSize(i int) float64 {
	size := 0.0
	for _, j := range p.act {
		size += math.Abs(p.z[i*p.n+j] * p.theta[j])
	}
	return size
}

// onElbow reports whether the elbow's rows have their margins at 1. A step that
// is large beside what it has to move a row leaves them elsewhere.
func (p *marginProblem) onElbow() bool {
	size := math.Sqrt(dot(p.theta, p.theta))
	for _, i := range p.elbow {
		if math.Abs(p.m[i]-1) > stillTol*(1+p.norm[i]*size) {
			return false
		}
	}
	return true
}

// collect lists the kinks before the end of the step, and returns how far the
// step moves a margin at most and the number of kinks.
func (p *marginProblem) collect() (moved float64, crossed int) {
	n := p.n
	p.kinks = p.kinks[:0]
	d := p.dir[:len(p.act)]
	at := math.Sqrt(dot(p.theta, p.theta))
	size := at + math.Sqrt(dot(d, d))
	for i, side := range p.side {
		z := p.z[i*n : (i+1)*n]
		var v float64
		for k, j := range p.act {
			v += z[j] * d[k]
		}
		p.dm[i] = v
		moved = max(moved, math.Abs(v))
		if side == 0 || v*float64(side) >= 0 || math.Abs(v) <= stillTol*p.norm[i]*size {
			continue
		}
		if t := atStart(1-p.m[i], v, 1+p.norm[i]*at); t < 1 {
			p.kinks = append(p.kinks, kink{i, t, p.copies[i] * p.hinge * math.Abs(v)})
		}
	}
	for k, j := range p.act {
		v := d[k]
		if v*p.sgn[k] >= 0 || math.Abs(v) <= stillTol*size {
			continue
		}
		if t := atStart(-p.theta[j], v, at); t < 1 {
			p.kinks = append(p.kinks, kink{p.rows + j, t, 2 * p.l1 * math.Abs(v)})
		}
	}
	return moved, len(p.kinks)
}

// atStart returns the place t = way/v along a step. One that differs from the
// start by rounding, at a way that is rounding of scale, is the start, so that
// kinks which coincide are passed in the order of their ids.
func atStart(way, v, scale float64) float64 {
	t := way / v
	if t < stillTol && math.Abs(way) <= stillTol*scale {
		return 0
	}
	return t
}

// search returns how far to go along the step: to where the objective stops
// falling. kinks are cut to those passed; blocked is the one where the search
// ended, or −1 where it ended between kinks.
func (p *marginProblem) search(moved float64) (t float64, blocked int, ok bool) {
	slices.SortFunc(p.kinks, func(a, b kink) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.id, b.id))
	})
	d := p.dir[:len(p.act)]
	c := p.l2 * dot(d, d)
	if p.curved {
		if moved > quadraticStep {
			return p.searchCurved()
		}
		c = p.decrement
	}
	var jumps float64
	for k, kk := range p.kinks {
		if c*(kk.t-1)+jumps >= 0 {
			p.kinks = p.kinks[:k]
			break
		}
		jumps += kk.jump
		if c*(kk.t-1)+jumps >= 0 {
			p.kinks = p.kinks[:k]
			return kk.t, kk.id, true
		}
	}
	return 1 - jumps/c, -1, true
}

// searchCurved is search where the slope between kinks is not linear.
func (p *marginProblem) searchCurved() (t float64, blocked int, ok bool) {
	d := p.dir[:len(p.act)]
	var atZero, dd float64 // slope of the linear and quadratic terms at 0, and its growth
	for k, j := range p.act {
		atZero += (p.l2*p.theta[j] + p.l1*p.sgn[k]) * d[k]
		dd += p.l2 * d[k] * d[k]
	}
	for i, side := range p.side {
		if side < 0 {
			atZero -= p.copies[i] * p.hinge * p.dm[i]
		}
	}
	slope := func(t float64) float64 {
		s := atZero + t*dd
		for i, v := range p.dm {
			if v != 0 && p.side[i] != 0 {
				m := p.m[i] + t*v
				f, _ := p.smoothLoss(m, m < 1)
				s += p.copies[i] * f * v
			}
		}
		return s
	}
	var jumps float64
	for _, k := range p.kinks {
		jumps += k.jump
	}
	start := slope(0)
	if end := slope(1) + jumps; end <= 0 || end <= marginTol*math.Abs(start) {
		return 1, -1, true
	}
	// The first kink after which the slope is not negative, if there is one.
	jumps = 0
	lo, hi := 0.0, 1.0
	for k, kk := range p.kinks {
		s := slope(kk.t) + jumps
		if s >= 0 {
			hi = kk.t
			p.kinks = p.kinks[:k]
			break
		}
		jumps += kk.jump
		lo = kk.t
		if s+kk.jump >= 0 {
			p.kinks = p.kinks[:k]
			return kk.t, kk.id, true
		}
	}
	for range 200 {
		t = (lo + hi) / 2
		switch s := slope(t) + jumps; {
		case s > 0:
			hi = t
		case s < start/2:
			lo = t
		default:
			return t, -1, true
		}
	}
	// A step too short for float64 that passes no kink changes nothing, and
	// would be taken for ever.
	return lo, -1, finite(start) && (lo > 0 || len(p.kinks) > 0)
}

// take moves theta by t along the step.
func (p *marginProblem) take(t float64) {
	for k, j := range p.act {
		p.theta[j] += t * p.dir[k]
	}
}

// cross changes the face at the kinks passed and at the one that ended the step.
func (p *marginProblem) cross(blocked int) {
	for _, k := range p.kinks {
		if k.id < p.rows {
			p.side[k.id] = -p.side[k.id]
		} else {
			s := &p.sgn[p.pos[k.id-p.rows]]
			*s = -*s
		}
	}
	switch {
	case blocked >= p.rows:
		p.remove(blocked - p.rows)
	case blocked >= 0 && p.hinge > 0:
		p.side[blocked], p.m[blocked] = 0, 1
		k, _ := slices.BinarySearch(p.elbow, blocked)
		p.elbow = slices.Insert(p.elbow, k, blocked)
	case blocked >= 0:
		p.side[blocked] = -p.side[blocked]
	}
}

// release lets go of constraints whose multipliers have the wrong sign, all of
// them or with one set only the first, and returns how many. At the face's
// minimiser, where it is called, it completes grad.
func (p *marginProblem) release(one bool) int {
	n := p.n
	if !p.curved {
		for j, t := range p.theta {
			p.grad[j] += p.l2 * t
		}
	} else {
		p.gradient()
	}
	for e, i := range p.elbow {
		axpy(-p.mult[e], p.z[i*n:(i+1)*n], p.grad)
	}
	released := 0
	for e := 0; e < len(p.elbow); e++ {
		var side int8
		top := p.top(p.elbow[e])
		switch {
		case p.negative(e):
			side = 1
		case p.mult[e] > top+marginTol*top:
			side = -1
		default:
			continue
		}
		if one && released > 0 {
			break
		}
		p.side[p.elbow[e]] = side
		p.elbow, p.mult = slices.Delete(p.elbow, e, e+1), slices.Delete(p.mult, e, e+1)
		e--
		released++
	}
	if one && released > 0 {
		return released
	}
	for j := range n {
		if p.pos[j] >= 0 || math.Abs(p.grad[j]) <= p.l1 {
			continue
		}
		if math.Abs(p.grad[j]) <= p.l1+marginTol*p.gradSize(j) {
			continue
		}
		p.insert(j, -math.Copysign(1, p.grad[j]))
		released++
		if one {
			break
		}
	}
	return released
}

// gradSize is the size of the terms that make up entry j of the gradient, where a
// row on the elbow counts by its multiplier: with few violators that can be much
// less than the weight of its loss.
func (p *marginProblem) gradSize(j int) float64 {
	size := p.l1 + p.l2*math.Abs(p.theta[j])
	e := 0
	for i, side := range p.side {
		f := 0.0
		if p.curved {
			f, _ = p.smoothLoss(p.m[i], p.below(i, side))
		}
		switch {
		case side < 0:
			f -= p.hinge
		case side == 0:
			f -= p.mult[e] / p.copies[i]
			e++
		}
		size += math.Abs(p.copies[i] * f * p.z[i*p.n+j])
	}
	return size
}
