package qpdiff

import (
	"math"
	"slices"
)

// SVM is the linear support vector machine with an ℓ₁ and a squared ℓ₂ penalty
// (Barratt and Sharma 2018, supplement A), without intercept:
//
//	minimise over θ   1/N·Σ_i max(0, 1 − y_i θᵀx_i) + λ1·‖θ‖₁ + λ2/2·‖θ‖²
//
// The hyperparameters are (λ1, λ2) with λ1 ≥ 0 and λ2 > 0. Labels are ±1. (The
// supplement writes y ∈ {0,1}; with a label 0 the hinge loss max(0, 1−yŷ) would
// be 1 whatever the prediction, so that this is a slip for {−1,1}.) Rows of X may
// be features φ(x) of a map that is itself learned.
//
// # Method
//
// A row is on the elbow where y_iθᵀx_i = 1, violates the margin below and is
// beyond it above. With the elbow E, the violators V, the support S of θ, its
// signs s and z_i = y_i·x_i restricted to S, θ and the multipliers b of the
// elbow solve
//
//	λ2·θ_S + λ1·s − 1/N·Σ_V z_i − Σ_E b_i z_i = 0,   z_iᵀθ_S = 1 for i ∈ E
//
// with 0 ≤ b_i ≤ 1/N. An active-set method in θ finds E, V, S and s exactly,
// starting from those of the last fit.
//
// # Derivatives
//
// They follow from the implicit function theorem at that system: with (w, u)
// from λ2·w − Σ_E u_i z_i = dθ_S and z_iᵀw = 0 on E,
//
//	λ1: −sᵀw    λ2: −θᵀw
//	z_i: w/N for i ∈ V,  b_i·w + u_i·θ for i ∈ E,  0 beyond the margin
//
// and z_i = y_i·x_i gives those of X and y, where a label is taken as the real
// number it is in y_iθᵀx_i.
//
// They exist where strict complementarity holds: no row is on the elbow with a
// multiplier at 0 or 1/N, or has its margin at 1 without being needed on the
// elbow, and no coordinate is at its kink. λ2 > 0 alone, which is what the
// paper asks for, is not enough. At λ1 = 0, the end of its domain, the
// derivative with respect to λ1 is the one from the right. Margins, multipliers
// and coordinates count as being at their kink where rounding hides on which side
// they are: within 256 times the error that rounding of the terms of the system
// above makes in them. Equal rows z_i, as a bootstrap sample has them, count as one
// row of their joint weight: derivatives are along moves that keep them equal, in
// equal parts to each. Along moves that part equal rows on the elbow there is no
// derivative, since their multipliers are not unique; see [SVM.Ties].
//
// The zero value is ready for Load. An SVM is its own workspace: fits and
// products after the first allocate nothing. It must not be shared between
// goroutines.
type SVM struct {
	// Generalised makes VJP answer at weakly active rows and coordinates too,
	// where no derivative exists, with one element of the generalised (Clarke)
	// Jacobian: that of the problem in which each such row stays on the side
	// where its multiplier puts it and each such coordinate stays at zero.
	// False: such a VJP is refused with a NotDifferentiableError.
	Generalised bool

	marginFit
}

// Dims returns n parameters and the 2 hyperparameters (λ1, λ2).
func (l *SVM) Dims(n int) (theta, hyper int) { return n, 2 }

// SetGeneralised sets the field Generalised.
func (l *SVM) SetGeneralised(on bool) { l.Generalised = on }

// Load makes d the data of the following fits. It keeps a reference to d.
// Errors are ArgErrors: of kind ErrShape or ErrNotFinite; ErrDomain for a label
// other than ±1; ErrIllPosed where all labels are the same. After one, the
// learner has no data.
func (l *SVM) Load(d Data) error { return l.load(d) }

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *SVM) Reset() {
	l.fitted = false
	l.p.reset()
}

// Fit solves the problem at hyper and writes θ (n entries), with exact zeros
// outside the support. Errors: an ArgError that matches ErrShape, ErrNotFinite
// or ErrDomain for hyper, ErrNotFitted without data, and ErrIllPosed or
// ErrIterationLimit where λ2 is too small for the working precision. After an
// error there is no fit, and θ is left as it was.
func (l *SVM) Fit(theta, hyper []float64) error {
	if err := l.ready(theta, hyper, 2); err != nil {
		return err
	}
	if hyper[1] == 0 {
		return argErrorf("hyper", ErrDomain, "give a lambda2 above 0", "holds 0 at index 1")
	}
	l.p.l1, l.p.l2 = hyper[0], hyper[1]
	l.p.hinge = 1 / float64(len(l.data.Y))
	return l.fit(theta, true)
}

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not nil.
// Where rows coincide, g.X and g.Y hold the derivative along moves that keep them
// equal; [SVM.Ties] lists the pairs for which that matters.
// Errors: ErrNotFitted; an ArgError of kind ErrNotFinite for dtheta; where strict
// complementarity fails and Generalised is not set, a NotDifferentiableError
// whose Weak lists the rows i, and the coordinates j as N+j; an ArgError of kind
// ErrNotFinite where a product overflows, which leaves g undefined.
func (l *SVM) VJP(w *Workspace, g *Grad, dtheta []float64) error {
	if err := l.adjoint(g, dtheta, 2, l.Generalised, "lambda1", "lambda2"); err != nil {
		return err
	}
	defer l.putBackWeak()
	skip := len(l.weakFree) > 0 && !l.Generalised
	if g.Hyper != nil {
		if !skip {
			for j, w := range l.w {
				g.Hyper[0] -= sign(l.p.theta[j]) * w
			}
		}
		g.Hyper[1] -= dot(l.p.theta, l.w)
	}
	if err := l.dataVJP(g); err != nil {
		return err
	}
	if skip && g.Hyper != nil {
		return l.notDifferentiable(&Grad{Hyper: g.Hyper}, l.weakFree, "lambda1")
	}
	g.Generalised = g.Generalised || len(l.weakFree) > 0 && g.Hyper != nil
	return nil
}

// Ties calls visit for pairs of rows i and k on the elbow with equal z, whose
// multipliers have a unique sum only: x_i = sign·x_k with sign = y_i·y_k. The g.X
// of the last VJP is the derivative along moves dX with dᵀdX_i = sign·dᵀdX_k for
// each d that visit is called with (n entries, valid during the call). Along other
// moves there is no derivative. visit returns whether it needs the pair's other d.
// Without a fit there are no pairs. A JVP forgets the last VJP.
func (l *SVM) Ties(w *Workspace, visit func(i, k int, sign float64, d []float64) bool) { l.ties(visit) }

// JVP sets dtheta to the directional derivative of θ at the last fit along d,
// whose fields are tangents of the inputs (nil: zero). It exists also where
// strict complementarity fails: there it is not linear in d, and solves a
// quadratic program that keeps each weakly active row and coordinate on its
// side of the kink, which allocates. Errors: ErrNotFitted; an ArgError of kind
// ErrNotFinite for d, or ErrDomain where d lowers λ1 from 0 at θ_j = 0; a
// NotDifferentiableError where d moves X or y at weakly active rows whose
// multipliers are not unique; an ArgError of kind ErrNotDifferentiable where d parts
// equal rows that are on the elbow or weakly active; an ArgError of kind
// ErrNotFinite where dtheta, or the change of the gradient that it answers,
// overflows.
func (l *SVM) JVP(w *Workspace, dtheta []float64, d *Grad) error {
	if err := l.tangent(dtheta, d, 2); err != nil {
		return err
	}
	defer l.putBackWeak()
	rise := 0.0
	if d.Hyper != nil {
		if len(l.weakFree) > 0 {
			if rise = d.Hyper[0]; rise < 0 {
				return argErrorf("d.Hyper", ErrDomain, "give a direction that raises lambda1", "lowers lambda1 from 0 where coordinate %d has its kink", l.weakFree[0]-l.p.rows)
			}
		}
		for j, t := range l.p.theta {
			l.w[j] -= d.Hyper[0]*l.lean(j) + d.Hyper[1]*t
		}
	}
	return l.finishTangent(dtheta, d, rise)
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

// marginFit is what the learners of a marginProblem share: the data, the fit,
// and the derivatives with respect to the data.
type marginFit struct {
	data     Data
	p        marginProblem
	fitted   bool
	weak     []int     // weakly active distinct rows i and coordinates rows+j
	weakFree []int     // kinks in a hyperparameter at 0 only: rows+j with λ1, i with the hinge loss's weight
	w, u     []float64 // solution of the adjoint system: by coordinate, by distinct row
	// By distinct row: the derivative of its loss in its margin, and the second.
	psi, curvature []float64
	mult           []float64 // by distinct row of the elbow: its multiplier
	v, b           []float64 // work: right-hand side on the support and on the elbow
	kept           struct {  // the face, while the weak rows and coordinates are left out of it
		act, elbow []int
		sgn        []float64
		side       []int8
	}
}

func (l *marginFit) load(d Data) error {
	l.fitted = false
	l.data = Data{}
	if err := checkClasses(d); err != nil {
		l.p.reset()
		return err
	}
	if err := l.p.load(d); err != nil {
		l.p.reset()
		return err
	}
	rows, n := d.X.Dims()
	if len(l.w) != n || len(l.u) != rows {
		l.w, l.v, l.b, l.u = make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, rows)
		l.psi, l.curvature, l.mult = make([]float64, rows), make([]float64, rows), make([]float64, rows)
		l.kept.act, l.kept.elbow, l.kept.sgn, l.kept.side = make([]int, 0, n), make([]int, 0, n), make([]float64, 0, n), make([]int8, 0, rows)
		l.weak, l.weakFree = make([]int, 0, rows+n), make([]int, 0, rows+n)
	}
	l.data = d
	return nil
}

// ready checks the arguments of a Fit.
func (l *marginFit) ready(theta, hyper []float64, want int) error {
	l.fitted = false
	if l.data.X == nil {
		return errNotLoaded
	}
	if len(theta) != l.p.n {
		panic("qpdiff: theta has the wrong length")
	}
	return checkHyper(hyper, want)
}

func (l *marginFit) fit(theta []float64, l1 bool) error {
	if err := l.p.solve(); err != nil {
		l.p.reset()
		return err
	}
	for e, i := range l.p.elbow {
		l.mult[i] = l.p.mult[e]
	}
	if err := l.findWeak(l1); err != nil {
		l.p.reset()
		return err
	}
	copy(theta, l.p.theta)
	l.fitted = true
	return nil
}

// looseBound is where a bound of the elbow's condition is too loose to save time:
// too many rows are looked at twice. Results do not depend on it.
const looseBound = 1e8

// findWeak lists what is at its kink without being held there. l1 says whether
// λ1 is a hyperparameter.
func (l *marginFit) findWeak(l1 bool) error {
	p := &l.p
	s := len(p.act)
	theta := math.Sqrt(dot(p.theta, p.theta))
	if !finite(theta) {
		return argErrorf("hyper", ErrNotFinite, "raise the ridge penalty, or scale the features", "leaves a solution that overflows")
	}
	// In the variables root_j·θ_j, which give H a unit diagonal.
	root := l.v[:s]
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
		elbow = p.elbowCond()
	}
	if l.listWeak(l1, theta, root, cond*elbow); len(l.weak)+len(l.weakFree) == 0 && !unsolvable(cond) {
		return nil
	}
	if p.curved {
		if err := l.factorise(); err != nil {
			return err
		}
		if cond = ldlCond(p.h, p.dinv, s, s, p.dir, p.coef); unsolvable(cond) {
			return errSingularHessian
		}
	}
	l.listWeak(l1, theta, root, cond*p.elbowCond())
	if !p.curved {
		l.weak = slices.DeleteFunc(l.weak, l.decided)
		l.weakFree = slices.DeleteFunc(l.weakFree, l.decided)
	}
	return nil
}

// decided reports whether what is listed as weakly active, a row or rows+coordinate,
// is on its side of the kink by more than its own error, without ℓ: one solve, where
// listWeak bounds all errors by the condition of the face's system. With ℓ, Newton's
// last step may leave more than rounding.
func (l *marginFit) decided(id int) bool {
	p := &l.p
	s := len(p.act)
	w, u := l.w[:s], l.u[:len(p.elbow)]
	clear(w)
	clear(u)
	var value, err float64
	at, onElbow := slices.BinarySearch(p.elbow, id)
	switch j := id - p.rows; {
	case onElbow:
		u[at] = -1
		b, top := p.mult[at], p.top(id)
		value = min(b, top-b)
	case j < 0:
		for k, j := range p.act {
			w[k] = p.z[id*p.n+j]
		}
		value, err = (p.m[id]-1)*float64(p.side[id]), 1+p.marginSize(id)
	case p.pos[j] >= 0:
		w[p.pos[j]] = 1
		value = math.Abs(p.theta[j])
		if sgn := p.sgn[p.pos[j]]; sgn != 0 {
			value = p.theta[j] * sgn
		}
	default:
		for e, i := range p.elbow {
			u[e] = p.z[i*p.n+j]
		}
		value, err = p.l1-math.Abs(p.grad[j]), p.gradSize(j)
	}
	p.system(w, u)
	var terms float64
	for _, j := range p.act {
		t := p.gradSize(j)
		terms += t * t
	}
	err += math.Sqrt(terms * dot(w, w))
	for e, i := range p.elbow {
		err += math.Abs(u[e]) * (1 + p.marginSize(i))
	}
	return !negligible(value, err, 1)
}

// listWeak lists the weakly active rows and coordinates where ‖θ‖ is theta, the
// diagonal of H holds the squares of root, and the face's system has the
// condition cond, with rows and columns scaled to a unit diagonal and length.
func (l *marginFit) listWeak(l1 bool, theta float64, root []float64, cond float64) {
	p := &l.p
	l.weak, l.weakFree = l.weak[:0], l.weakFree[:0]
	// Sizes of the solution and of the terms of the gradient.
	var size, terms float64
	for k, j := range p.act {
		t := root[k] * p.theta[j]
		size += t * t
		t = p.gradSize(j) / root[k]
		terms += t * t
	}
	size, terms = math.Sqrt(size), math.Sqrt(terms)
	// What the elbow does not determine the gradient does, with the rounding of
	// its terms.
	drift := terms
	if p.curved {
		drift *= cond
	}
	if len(p.elbow) == len(p.act) {
		drift = 0
	}
	scaled := func(i int) float64 { // ‖z_i‖ in the scaled variables
		var sum float64
		for k, j := range p.act {
			v := p.z[i*p.n+j] / root[k]
			sum += v * v
		}
		return math.Sqrt(sum)
	}
	onElbow := l.b[:len(p.elbow)] // scaled
	for e, i := range p.elbow {
		onElbow[e] = scaled(i)
	}
	// A bound of the error of the margin of a normal of length 1, but for the
	// rounding of the margin's own 1.
	sway := cond * theta
	if len(root) > 0 {
		sway += drift / slices.Min(root)
	}
	kinked := p.hinge > 0 || p.smooth[1] > 0 // else a kink in the hinge loss's weight only
	e := 0
	for i, m := range p.m {
		if p.side[i] == 0 {
			b := p.mult[e]
			if negligible(onElbow[e]*min(b, p.copies[i]*p.hinge-b), size+terms, cond) {
				l.weak = append(l.weak, i)
			}
			e++
			continue
		}
		// The solver leaves a row on the other side only where rounding hides that.
		// The bound comes first: it takes no pass over the row.
		slack := (m - 1) * float64(p.side[i])
		if slack > 0 && (!negligible(slack, cond+p.norm[i]*sway, 1) || !negligible(slack, cond*(1+p.norm[i]*theta)+scaled(i)*drift, 1)) {
			continue
		}
		if kinked {
			l.weak = append(l.weak, i)
		} else {
			l.weakFree = append(l.weakFree, i)
		}
	}
	for j, t := range p.theta {
		if k := p.pos[j]; k >= 0 {
			switch {
			case p.sgn[k] == 0 && !l1, t*p.sgn[k] >= 0 && !negligible(root[k]*math.Abs(t), cond*size+drift, 1):
			case p.sgn[k] == 0:
				l.weakFree = append(l.weakFree, p.rows+j)
			default:
				l.weak = append(l.weak, p.rows+j)
			}
			continue
		}
		// λ1 > 0, which no curved loss has: the gradient moves with the multipliers.
		move := 0.0
		for e, i := range p.elbow {
			move = max(move, math.Abs(p.z[i*p.n+j])/onElbow[e])
		}
		if negligible(p.l1-math.Abs(p.grad[j]), p.gradSize(j)+move*(size+terms), cond) {
			l.weak = append(l.weak, p.rows+j)
		}
	}
}

// notDifferentiable names the wanted inputs that have no derivative; hyper are
// the names of the hyperparameters.
func (l *marginFit) notDifferentiable(g *Grad, weak []int, hyper ...Input) error {
	var named Weak
	for _, id := range weak {
		if id < l.p.rows {
			named.Rows = append(named.Rows, l.p.first[id])
		} else {
			named.Coords = append(named.Coords, id-l.p.rows)
		}
	}
	return notDifferentiable(g, named, "move the hyperparameters, ask JVP for a directional derivative, or set Generalised", hyper...)
}

// adjoint checks the arguments of a VJP and solves the adjoint system for
// dtheta, without the weakly active rows and coordinates until putBackWeak:
// H·w − Σ_E u_i z_i = dtheta on the support, z_iᵀw = 0 on the elbow. hyper are the
// names of the want hyperparameters.
func (l *marginFit) adjoint(g *Grad, dtheta []float64, want int, generalised bool, hyper ...Input) error {
	if !l.fitted {
		return errNotFitted
	}
	p := &l.p
	if len(dtheta) != p.n {
		panic("qpdiff: dtheta has the wrong length")
	}
	checkGrad(g, want, len(p.of), p.n)
	if err := checkFinite("dtheta", "give a finite cotangent", dtheta); err != nil {
		return err
	}
	if len(l.weak) > 0 {
		if g.wanted() && !generalised {
			return l.notDifferentiable(g, l.weak, hyper...)
		}
		l.leaveOutWeak()
	}
	if err := l.factorise(); err != nil {
		l.putBackWeak()
		return err
	}
	g.Generalised = g.Generalised || len(l.weak) > 0 && g.wanted()
	l.lossDerivatives()
	copy(l.w, dtheta)
	clear(l.u)
	l.system()
	return nil
}

func (l *marginFit) factorise() error {
	p := &l.p
	if p.factor {
		return nil
	}
	if p.curved {
		p.gradient()
	}
	if !p.factorise() {
		return errSingularHessian
	}
	p.factor = true
	return nil
}

// system solves the face's system with right-hand sides w and u, in place.
func (l *marginFit) system() {
	p := &l.p
	v, b := l.v[:len(p.act)], l.b[:len(p.elbow)]
	for k, j := range p.act {
		v[k] = l.w[j]
	}
	for e, i := range p.elbow {
		b[e] = l.u[i]
	}
	p.system(v, b)
	clear(l.w)
	clear(l.u)
	for k, j := range p.act {
		l.w[j] = v[k]
	}
	for e, i := range p.elbow {
		l.u[i] = b[e]
	}
}

// leaveOutWeak takes the weakly active rows and coordinates out of the face:
// rows to the side where their multiplier puts them.
func (l *marginFit) leaveOutWeak() {
	p, kept := &l.p, &l.kept
	kept.act = append(kept.act[:0], p.act...)
	kept.sgn = append(kept.sgn[:0], p.sgn...)
	kept.elbow = append(kept.elbow[:0], p.elbow...)
	weak := func(id int) bool {
		_, ok := slices.BinarySearch(l.weak, id)
		return ok
	}
	kept.side = append(kept.side[:0], p.side...)
	for _, i := range l.weak {
		if i < p.rows && p.side[i] == 0 {
			p.side[i] = 1
			if l.mult[i] > p.hinge*p.copies[i]/2 {
				p.side[i] = -1
			}
		}
	}
	p.elbow = slices.DeleteFunc(p.elbow, weak)
	p.act, p.sgn = p.act[:0], p.sgn[:0]
	for k, j := range kept.act {
		if !weak(p.rows + j) {
			p.act, p.sgn = append(p.act, j), append(p.sgn, kept.sgn[k])
		}
	}
	p.factor = false
}

// putBackWeak undoes leaveOutWeak.
func (l *marginFit) putBackWeak() {
	if len(l.weak) == 0 {
		return
	}
	p, kept := &l.p, &l.kept
	copy(p.side, kept.side)
	p.act = append(p.act[:0], kept.act...)
	p.sgn = append(p.sgn[:0], kept.sgn...)
	p.elbow = append(p.elbow[:0], kept.elbow...)
	p.factor = false
}

// lossDerivatives sets psi and curvature.
func (l *marginFit) lossDerivatives() {
	p := &l.p
	for i, side := range p.side {
		f, c := p.smoothLoss(p.m[i], side < 0)
		switch {
		case side < 0:
			f -= p.hinge
		case side == 0:
			f -= l.mult[i] / p.copies[i]
		}
		l.psi[i], l.curvature[i] = f, c
	}
}

// dataVJP adds to g.X and g.Y for the adjoint solution w, u: the cotangent of
// z_i is −ψ_i·w + (u_i − c_i·wᵀz_i)·θ, in equal parts to its copies.
// It reports an overflow in any field of g.
func (l *marginFit) dataVJP(g *Grad) error {
	if g.X == nil && g.Y == nil {
		return checkProduct(g)
	}
	p := &l.p
	n := p.n
	var psis, slopes float64 // sums of moduli, for a bound of the entries of g.X
	for i, k := range p.of {
		psi := l.psi[k]
		if psi == 0 {
			continue
		}
		wz := dot(l.w, p.z[k*n:(k+1)*n])
		a := l.u[k]/p.copies[k] - l.curvature[k]*wz
		psis += math.Abs(psi)
		slopes += math.Abs(a)
		y := l.data.Y[i]
		if g.Y != nil {
			g.Y[i] += y * (a*p.m[k] - psi*wz)
		}
		if g.X != nil {
			row := g.X.RawRowView(i)
			axpy(-y*psi, l.w, row)
			axpy(y*a, p.theta, row)
		}
	}
	if g.X != nil && finite(psis*largest(l.w)+slopes*largest(p.theta)) {
		return checkProduct(&Grad{Hyper: g.Hyper, Y: g.Y})
	}
	return checkProduct(g)
}

// ties implements [SVM.Ties]: with other shares of a multiplier and of u_k, the
// cotangents of the copies of z_k differ by multiples of w and of u_k·θ.
func (l *marginFit) ties(visit func(i, k int, sign float64, d []float64) bool) {
	p := &l.p
	if !l.fitted || p.rows == len(p.of) {
		return
	}
	for k, row := range p.of {
		i := p.first[row]
		if i == k || p.side[row] != 0 {
			continue
		}
		sign := l.data.Y[i] * l.data.Y[k]
		if visit(i, k, sign, l.w) && l.u[row] != 0 {
			visit(i, k, sign, p.theta)
		}
	}
}

// tangent checks the arguments of a JVP, clears its right-hand side w and leaves
// the weakly active rows and coordinates out of the face until putBackWeak.
func (l *marginFit) tangent(dtheta []float64, d *Grad, want int) error {
	if !l.fitted {
		return errNotFitted
	}
	p := &l.p
	if len(dtheta) != p.n {
		panic("qpdiff: dtheta has the wrong length")
	}
	checkGrad(d, want, len(p.of), p.n)
	if err := checkTangent(d); err != nil {
		return err
	}
	if err := l.checkEqual(d); err != nil {
		return err
	}
	if len(l.weak) > 0 {
		if (d.X != nil || d.Y != nil) && !l.independent() {
			return l.notDifferentiable(&Grad{X: d.X, Y: d.Y}, l.weak)
		}
		l.leaveOutWeak()
		for _, i := range l.weak {
			if i < p.rows && p.hinge == 0 {
				p.side[i] = 1 // oneSided adds what the other side has more
			}
		}
	}
	clear(l.w)
	return nil
}

// checkEqual reports equal rows at the kink of their loss that d parts.
func (l *marginFit) checkEqual(d *Grad) error {
	p := &l.p
	if p.rows == len(p.of) || d.X == nil && d.Y == nil {
		return nil
	}
	weak := func(id int) bool {
		_, ok := slices.BinarySearch(l.weak, id)
		return ok
	}
	for k, row := range p.of {
		i := p.first[row]
		if i == k || p.side[row] != 0 && !weak(row) {
			continue
		}
		sign := l.data.Y[i] * l.data.Y[k]
		parted := d.Y != nil && d.Y[i] != sign*d.Y[k]
		for j := range p.n {
			if d.X != nil && d.X.At(i, j) != sign*d.X.At(k, j) {
				parted = parted || p.pos[j] >= 0 || weak(p.rows+j)
			}
		}
		if parted {
			return argErrorf("d", ErrNotDifferentiable, "move them equally, or move the hyperparameters", "parts the equal rows %d and %d, which are at the kink of their loss", i, k)
		}
	}
	return nil
}

// finishTangent adds the part of the tangents of the data to the right-hand
// side, solves and writes dtheta. rise is the tangent of λ1 or of the hinge
// loss's weight at 0, where that has a kink there.
func (l *marginFit) finishTangent(dtheta []float64, d *Grad, rise float64) error {
	p := &l.p
	n := p.n
	l.lossDerivatives()
	clear(l.u)
	if d.X != nil || d.Y != nil {
		for i, k := range p.of {
			y, psi := l.data.Y[i], l.psi[k]
			z := p.z[k*n : (k+1)*n]
			var dm float64 // θᵀdz_i
			if d.X != nil {
				dx := d.X.RawRowView(i)
				dm += y * dot(p.theta, dx)
				axpy(-psi*y, dx, l.w)
			}
			if d.Y != nil {
				dm += y * d.Y[i] * p.m[k]
				axpy(-psi*y*d.Y[i], z, l.w)
			}
			axpy(-l.curvature[k]*dm, z, l.w)
			l.u[k] -= dm / p.copies[k]
		}
	}
	if len(l.weak) > 0 || rise > 0 {
		return l.oneSided(dtheta, rise)
	}
	if err := l.factorise(); err != nil {
		return err
	}
	l.system()
	copy(dtheta, l.w)
	return checkTangentOut(dtheta)
}
