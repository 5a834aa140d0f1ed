package qpdiff

import (
	"math"
	"slices"
	"strings"
)

// ElasticNet is linear regression with an ℓ₁ and a squared ℓ₂ penalty
// (Zou and Hastie 2005; Barratt and Sharma 2018, example "Elastic-net
// regression"), without intercept:
//
//	minimise over θ   1/(2N)·‖Xθ − y‖² + Σ_j λ1_j·|θ_j| + ½·Σ_j λ2_j·θ_j²
//
// The hyperparameters are (λ1, λ2), shared by all n features, or with
// PerFeature (λ1_1 … λ1_n, λ2_1 … λ2_n). All are at or above zero; zeros are
// fine wherever the solution stays unique.
//
// The solver is exact: it finds the support and the signs of θ and solves the
// linear system (X_SᵀX_S/N + diag λ2_S)·θ_S = X_Sᵀy/N − λ1_S∘sign θ_S. It starts
// from the support of the last fit, which a small step of the hyperparameters
// seldom changes. θ depends on that start only through the support found.
//
// The derivatives follow from the implicit function theorem at that system.
// They exist where strict complementarity holds: θ_j ≠ 0 or |x_jᵀ(y−Xθ)|/N < λ1_j
// for each j. A coordinate counts as weakly active, that is at its kink, where
// rounding hides on which side of it it is: where the margin λ1_j − |x_jᵀ(y−Xθ)|/N
// of a zero coordinate, or |θ_j| of another, is not above 256 times the error that
// rounding of the terms of the linear system makes in it. At λ1_j = 0, the end of its domain, the derivative with respect
// to λ1_j is the one from the right. A feature that is zero throughout has θ_j = 0
// whatever λ1 is, which is no kink as long as λ2_j > 0.
//
// The zero value is ready for Load. An ElasticNet is its own workspace: fits
// and products after the first allocate nothing. It must not be shared between
// goroutines.
type ElasticNet struct {
	// PerFeature gives each feature its own pair of penalties. It is read by
	// Dims and Fit. False: one pair for all.
	PerFeature bool

	// Generalised makes VJP answer at weakly active coordinates too, where no
	// derivative exists, with one element of the generalised (Clarke)
	// Jacobian: that of the problem without those coordinates, as if each
	// stayed at zero. False: such a VJP is refused with a
	// NotDifferentiableError.
	Generalised bool

	data   Data
	n      int       // features
	rows   int       // examples, N
	gram   []float64 // XᵀX/N
	xty    []float64 // Xᵀy/N
	root   []float64 // ‖x_j‖/√N
	rmsY   float64   // ‖y‖/√N
	hold   float64   // a λ1 above it may hold some coordinate at zero for certain
	l1, l2 []float64
	qp     kinkedQP

	perFeature bool    // as of the last fit
	hypers     int     // their number, likewise
	fitted     bool    // the fields below belong to data and the hyperparameters
	weak       []int   // weakly active with λ1 > 0
	weakFree   []int   // θ_j ≈ 0 with λ1_j = 0: a kink in λ1 only
	blur       float64 // how far rounding may have moved the weakly active θ_j at most, in the scale of θ

	w, v   []float64 // work: solves with the active system
	side   kinkedQP  // the problem restricted, where a coordinate is weakly active
	sideUp []float64
	sideLo []float64
	sideC  []float64
}

// Dims returns n parameters and 2 hyperparameters (λ1, λ2), or 2n of them when
// PerFeature is set.
func (e *ElasticNet) Dims(n int) (theta, hyper int) {
	if e.PerFeature {
		return n, 2 * n
	}
	return n, 2
}

// SetGeneralised sets the field Generalised.
func (e *ElasticNet) SetGeneralised(on bool) { e.Generalised = on }

// Load makes d the data of the following fits and computes XᵀX/N. It keeps a
// reference to d. Errors are ArgErrors of kind ErrShape or ErrNotFinite; after
// one, the learner has no data.
func (e *ElasticNet) Load(d Data) error {
	e.fitted = false
	e.data = Data{}
	if err := d.Check(); err != nil {
		e.qp.reset()
		return err
	}
	rows, n := d.X.Dims()
	if n != e.n {
		e.resize(n)
	}
	if rows != e.rows {
		e.rows = rows
		e.qp.reset()
	}
	raw := d.X.RawMatrix()
	inv := 1 / float64(rows)
	gram(e.gram, inv, raw.Data, rows, n, raw.Stride)
	clear(e.xty)
	for i, y := range d.Y {
		axpy(y, raw.Data[i*raw.Stride:i*raw.Stride+n], e.xty)
	}
	e.rmsY = math.Sqrt(dot(d.Y, d.Y) * inv)
	e.hold = math.Inf(1)
	for j := range n {
		e.xty[j] *= inv
		e.root[j] = math.Sqrt(e.gram[j*n+j])
		e.hold = min(e.hold, e.root[j]*e.rmsY)
		if !finite(e.root[j]*e.rmsY) || !finite(e.xty[j]) {
			e.qp.reset()
			return argErrorf("Data", ErrNotFinite, "scale the features and labels", "is so large that XᵀX or Xᵀy overflows at column %d", j)
		}
	}
	e.data = d
	return nil
}

func (e *ElasticNet) resize(n int) {
	e.n = n
	buf := make([]float64, n*n+6*n)
	take := func(k int) []float64 {
		s := buf[:k:k]
		buf = buf[k:]
		return s
	}
	e.gram, e.xty, e.root = take(n*n), take(n), take(n)
	e.l1, e.l2, e.w, e.v = take(n), take(n), take(n), take(n)
	e.qp.resize(n)
	e.qp.reset()
	e.qp.g, e.qp.c, e.qp.r, e.qp.up, e.qp.lo = e.gram, e.xty, e.l2, e.l1, e.l1
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (e *ElasticNet) Reset() {
	e.fitted = false
	e.qp.reset()
}

// Fit solves the problem at hyper and writes θ (n entries), with one zero per
// feature that is not in the support. Errors: an ArgError that matches ErrShape,
// ErrNotFinite or ErrDomain for hyper and ErrNotFitted without data; ErrIllPosed
// where θ is not unique (to working precision), as without λ2 when features of
// the support, or those about to enter it, are linearly dependent. After an
// error there is no fit, and θ is left as it was.
func (e *ElasticNet) Fit(theta, hyper []float64) error {
	e.fitted = false
	if e.data.X == nil {
		return errNotLoaded
	}
	n := e.n
	if len(theta) != n {
		panic("qpdiff: theta has the wrong length")
	}
	_, want := e.Dims(n)
	if err := checkHyper(hyper, want); err != nil {
		return err
	}
	e.perFeature, e.hypers = e.PerFeature, want
	var most float64 // of the λ1
	if e.perFeature {
		copy(e.l1, hyper)
		copy(e.l2, hyper[n:])
		most = largest(e.l1)
	} else {
		l1, l2 := hyper[0], hyper[1]
		most = l1
		for j := range e.l1 {
			e.l1[j] = l1
			e.l2[j] = l2
		}
	}
	// The residual of the solution is not longer than y, so that some penalties
	// hold their coordinates at zero for certain. In the warm start their slopes
	// might overflow.
	if most > e.hold {
		for j, l1 := range e.l1 {
			if e.qp.x[j] != 0 && l1 > e.root[j]*e.rmsY {
				e.qp.x[j] = 0
				e.qp.activate()
			}
		}
	}
	if err := e.qp.solve(); err != nil {
		e.qp.reset()
		return err
	}
	if err := e.findWeak(); err != nil {
		e.qp.reset()
		return err
	}
	copy(theta, e.qp.x)
	e.fitted = true
	return nil
}

// findWeak lists the weakly active coordinates at the solution. With some of
// them at zero the solution can be unique only if the features at their kink
// are linearly independent together with the support.
func (e *ElasticNet) findWeak() error {
	e.weak, e.weakFree, e.blur = e.weak[:0], e.weakFree[:0], 0
	size, near := e.nearWeak()
	if !finite(size) {
		return argErrorf("hyper", ErrNotFinite, "raise lambda2, or scale the features and labels", "leaves a solution that overflows")
	}
	if !near {
		return nil
	}
	q, n := &e.qp, e.n
	in := 0.0
	for i, j := range q.act {
		d := math.Sqrt(e.gram[j*n+j] + e.l2[j])
		q.z[i] = d * math.Abs(q.x[j])
		in = max(in, e.root[j]/d)
	}
	if len(q.act) == 0 {
		in = 1
	}
	e.listWeak(e.rmsY*in+size, q.cond())
	if !e.retest(size) {
		return nil
	}
	s := e.restrict(func(j int, active, weak bool) bool { return active || weak })
	if k := s.factor(); k < len(s.act) {
		return e.open(s.act[k])
	}
	return nil
}

// nearWeak returns the size of the solution in the variables √h_jj·θ_j, which
// give the active system a unit diagonal, and reports whether bounds of the
// condition and of the right-hand side leave a coordinate that may be weakly
// active.
func (e *ElasticNet) nearWeak() (size float64, near bool) {
	q, n := &e.qp, e.n
	sum, least := 0.0, math.Inf(1) // of h_jj·θ_j²
	for _, j := range q.act {
		t := (e.gram[j*n+j] + e.l2[j]) * q.x[j] * q.x[j]
		sum += t
		if t < least {
			least = t
		}
	}
	size = math.Sqrt(sum)
	scale := e.rmsY + size
	if negligible(math.Sqrt(least), scale, q.bound) {
		return size, true
	}
	next := 0
	for j, g := range q.grad {
		if next < len(q.act) && q.act[next] == j {
			next++
		} else if negligible(e.l1[j]-math.Abs(g), e.l1[j]+e.root[j]*scale, q.bound) {
			return size, true
		}
	}
	return size, false
}

// listWeak lists the coordinates that are weakly active where the solution and
// the right-hand side of the active system have the given size and the system
// the condition cond.
func (e *ElasticNet) listWeak(size, cond float64) {
	q := &e.qp
	next := 0
	for j := range e.n {
		if next < len(q.act) && q.act[next] == j {
			if negligible(q.z[next], size, cond) {
				if q.sgn[next] == 0 {
					e.weakFree = append(e.weakFree, j)
				} else {
					e.weak = append(e.weak, j)
				}
			}
			next++
		} else if negligible(e.l1[j]-math.Abs(q.grad[j]), e.l1[j]+e.root[j]*size, cond) {
			e.weak = append(e.weak, j)
		}
	}
}

// retest takes from the coordinates listed those whose own error does not hide on
// which side of their kink they are: one solve each, where listWeak bounds all
// errors by the condition of the system. It reports whether any that remains is at
// zero. size is ‖θ‖ with a unit diagonal.
func (e *ElasticNet) retest(size float64) (atZero bool) {
	q, n := &e.qp, e.n
	reach := e.rmsY // with root_j: the size of the terms of row j
	for j, t := range q.x {
		reach += e.root[j] * math.Abs(t)
	}
	terms := func(j int) float64 { return e.root[j]*reach + e.l1[j] + e.l2[j]*math.Abs(q.x[j]) }
	decided := func(j int) bool {
		_, active := slices.BinarySearch(q.act, j)
		curve := e.gram[j*n+j] + e.l2[j]
		root := math.Sqrt(curve)
		value, err := 0.0, 0.0
		if active {
			value, curve = math.Abs(q.x[j]), 1
			clear(e.v)
			e.v[j] = 1
		} else {
			value, err = e.l1[j]-math.Abs(q.grad[j]), terms(j)
			copy(e.v, e.gram[j*n:(j+1)*n])
		}
		for i, w := range q.solveActive(e.w, e.v) {
			k := q.act[i]
			err += math.Abs(w) * terms(k)
			if !active { // θ_j bends the objective by this, once in the support
				curve -= w * e.v[k]
			}
		}
		if !negligible(value, err, 1) {
			return true
		}
		atZero = atZero || !active
		e.blur = max(e.blur, complementarityTol*eps*err*root/(max(curve, 0)*(e.rmsY+size)))
		return false
	}
	e.weak = slices.DeleteFunc(e.weak, decided)
	e.weakFree = slices.DeleteFunc(e.weakFree, decided)
	return atZero
}

// open is the error of a solution that is not unique.
func (e *ElasticNet) open(j int) error {
	return argErrorf("hyper", ErrIllPosed, "raise lambda2 or drop features", "leaves the solution open: feature %d is zero or depends linearly on others", j)
}

// restrict sets up the side problem: the same quadratic without kinks, on the
// coordinates that keep wants.
func (e *ElasticNet) restrict(keep func(j int, active, weak bool) bool) *kinkedQP {
	n, s := e.n, &e.side
	if s.n != n {
		s.resize(n)
		buf := make([]float64, 3*n)
		e.sideC, e.sideUp, e.sideLo = buf[:n:n], buf[n:2*n:2*n], buf[2*n:]
	}
	s.g, s.r, s.c, s.up, s.lo = e.gram, e.l2, e.sideC, e.sideUp, e.sideLo
	s.reset()
	a, w := 0, 0
	for j := range n {
		active := a < len(e.qp.act) && e.qp.act[a] == j
		if active {
			a++
		}
		weak := w < len(e.weak) && e.weak[w] == j
		if weak {
			w++
		}
		e.sideC[j] = 0
		e.sideUp[j], e.sideLo[j] = math.Inf(1), math.Inf(1)
		if keep(j, active, weak) {
			e.sideUp[j], e.sideLo[j] = 0, 0
		}
	}
	s.activate()
	return s
}

// side of its kink on which coordinate j is, or leans to.
func (e *ElasticNet) sign(j int) float64 {
	switch v := e.qp.x[j]; {
	case v > 0:
		return 1
	case v < 0:
		return -1
	case e.l1[j] > 0 && e.qp.grad[j] > 0:
		return 1
	case e.l1[j] > 0 && e.qp.grad[j] < 0:
		return -1
	}
	return 0
}

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not
// nil. With w = (X_SᵀX_S/N + diag λ2_S)⁻¹·dtheta_S on the support S and zero
// elsewhere, r = y − Xθ:
//
//	λ1_j: −sign(θ_j)·w_j    λ2_j: −θ_j·w_j    X: (r·wᵀ − Xw·θᵀ)/N    y: Xw/N
//
// and a shared λ1 or λ2 gets the sum over j.
//
// Errors: ErrNotFitted; an ArgError of kind ErrNotFinite for dtheta; where a
// coordinate is weakly active and Generalised is not set, a
// NotDifferentiableError that names the inputs wanted in vain and the weakly
// active coordinates. What exists is added all the same: derivatives with
// respect to λ2, X and y where the kink is one in λ1 only (θ_j = 0 at λ1_j = 0);
// where θ = 0 that with respect to λ2 is zero whatever the kinks. Where rounding
// hides whether a coordinate is weakly active and may have moved θ by more than 1e-6
// of its scale, an ArgError of kind ErrIllPosed takes the place of that error,
// Generalised or not. An ArgError of kind ErrNotFinite where a product overflows,
// which leaves g undefined.
func (e *ElasticNet) VJP(w *Workspace, g *Grad, dtheta []float64) error {
	if !e.fitted {
		return errNotFitted
	}
	n, q := e.n, &e.qp
	if len(dtheta) != n {
		panic("qpdiff: dtheta has the wrong length")
	}
	checkGrad(g, e.hypers, e.rows, n)
	if err := checkFinite("dtheta", "give a finite cotangent", dtheta); err != nil {
		return err
	}
	if len(e.weak) > 0 {
		if !e.Generalised || e.blur > hiddenTol {
			return e.notDifferentiable(g)
		}
		q = e.restrict(func(j int, active, weak bool) bool { return active && !weak })
		if k := q.factor(); k < len(q.act) {
			return e.open(q.act[k])
		}
		g.Generalised = g.Generalised || g.wanted()
	}
	u := q.solveActive(e.w, dtheta)
	if h := g.Hyper; h != nil {
		x := e.qp.x
		kinked := e.kinkedAtZero() && (!e.Generalised || e.blur > hiddenTol)
		var d1, d2 float64
		for i, j := range q.act {
			t := q.sgn[i]
			if t == 0 {
				t = e.sign(j)
			}
			if e.perFeature {
				if !kinked || e.gram[j*n+j] == 0 || !slices.Contains(e.weakFree, j) {
					h[j] -= t * u[i]
				}
				h[n+j] -= x[j] * u[i]
				continue
			}
			d1 += t * u[i]
			d2 += x[j] * u[i]
		}
		if !e.perFeature {
			if !kinked {
				h[0] -= d1
			}
			h[1] -= d2
		}
	}
	if g.X != nil || g.Y != nil {
		e.dataVJP(g, q.act, u)
	}
	if err := e.checkVJP(g, u, q.act); err != nil {
		return err
	}
	if g.Hyper != nil && e.kinkedAtZero() {
		if !e.Generalised || e.blur > hiddenTol {
			return e.notDifferentiable(g)
		}
		g.Generalised = true
	}
	return nil
}

// kinkedAtZero reports whether a coordinate has a kink in λ1 at 0. That of a
// feature that is zero throughout has none: it does not leave 0.
func (e *ElasticNet) kinkedAtZero() bool {
	for _, j := range e.weakFree {
		if e.gram[j*e.n+j] != 0 {
			return true
		}
	}
	return false
}

// checkVJP reports an overflow. An entry of X is at most √N·‖x_j‖/√N, and so are
// the products of a row with θ and w.
func (e *ElasticNet) checkVJP(g *Grad, w []float64, act []int) error {
	if g.X == nil && g.Y == nil {
		return checkProduct(g)
	}
	var fit, move, top float64
	for i, j := range act {
		move += e.root[j] * math.Abs(w[i])
		top = max(top, math.Abs(w[i]))
	}
	for j, t := range e.qp.x {
		fit += e.root[j] * math.Abs(t)
	}
	if !finite(float64(e.rows) * (fit*top + e.rmsY*top + move*(1+largest(e.qp.x)))) {
		return checkProduct(g)
	}
	return checkProduct(&Grad{Hyper: g.Hyper})
}

// dataVJP adds to g.X and g.Y, for w on the coordinates act.
func (e *ElasticNet) dataVJP(g *Grad, act []int, w []float64) {
	n := e.n
	inv := 1 / float64(e.rows)
	raw := e.data.X.RawMatrix()
	theta := e.qp.x
	for i, y := range e.data.Y {
		x := raw.Data[i*raw.Stride : i*raw.Stride+n]
		var xw float64
		for k, j := range act {
			xw += x[j] * w[k]
		}
		xw *= inv
		if g.Y != nil {
			g.Y[i] += xw
		}
		if g.X != nil {
			r := (y - dot(theta, x)) * inv
			gm := g.X.RawMatrix()
			row := gm.Data[i*gm.Stride : i*gm.Stride+n]
			for k, j := range act {
				row[j] += r * w[k]
			}
			for j, t := range theta {
				if t != 0 {
					row[j] -= xw * t
				}
			}
		}
	}
}

// notDifferentiable names the wanted inputs that have no derivative here.
func (e *ElasticNet) notDifferentiable(g *Grad) error {
	var names []string
	weak := e.weak
	if g.Hyper != nil {
		names = append(names, "lambda1")
	}
	if len(weak) > 0 {
		if g.Hyper != nil && slices.ContainsFunc(e.qp.x, func(v float64) bool { return v != 0 }) {
			names = append(names, "lambda2")
		}
		if g.X != nil {
			names = append(names, "X")
		}
		if g.Y != nil {
			names = append(names, "y")
		}
	} else {
		weak = slices.DeleteFunc(slices.Clone(e.weakFree), func(j int) bool { return e.gram[j*e.n+j] == 0 })
	}
	if len(names) == 0 {
		return nil
	}
	if e.blur > hiddenTol {
		return e.blurred()
	}
	return &NotDifferentiableError{
		Input:  strings.Join(names, ", "),
		Weak:   append([]int(nil), weak...),
		Remedy: "move lambda1, ask JVP for a directional derivative, or set Generalised",
	}
}

// blurred is the error of coordinates that may be at their kink only by rounding.
func (e *ElasticNet) blurred() error {
	return argErrorf("Data", ErrIllPosed, "raise lambda2 or drop features", "is so ill-conditioned that rounding hides which coordinates are weakly active: it may have moved theta by %.1g of its scale", e.blur)
}

// JVP sets dtheta to the directional derivative of θ at the last fit along d,
// whose fields are tangents of the inputs (nil: zero). It exists also where
// coordinates are weakly active: there it is not linear in d, and solves the
// quadratic problem that keeps each weakly active coordinate on its side of
// the kink. Errors: ErrNotFitted; an ArgError of kind ErrNotFinite for d or where
// dtheta overflows, of kind ErrIllPosed as for VJP, or ErrDomain where d lowers
// λ1_j from 0 at θ_j = 0.
func (e *ElasticNet) JVP(w *Workspace, dtheta []float64, d *Grad) error {
	if !e.fitted {
		return errNotFitted
	}
	n := e.n
	if len(dtheta) != n {
		panic("qpdiff: dtheta has the wrong length")
	}
	checkGrad(d, e.hypers, e.rows, n)
	if err := checkTangent(d); err != nil {
		return err
	}

	// b is the derivative of (Xᵀy − XᵀXθ)/N − λ1∘sign θ − λ2∘θ along d at fixed θ.
	theta := e.qp.x
	b := e.w
	clear(b)
	if d.X != nil || d.Y != nil {
		inv := 1 / float64(e.rows)
		raw := e.data.X.RawMatrix()
		for i, y := range e.data.Y {
			x := raw.Data[i*raw.Stride : i*raw.Stride+n]
			var t float64
			if d.Y != nil {
				t = d.Y[i]
			}
			if d.X != nil {
				dx := d.X.RawRowView(i)
				t -= dot(theta, dx)
				axpy((y-dot(theta, x))*inv, dx, b)
			}
			axpy(t*inv, x, b)
		}
	}
	if h := d.Hyper; h != nil {
		for j := range b {
			d1, d2 := h[0], h[1]
			if e.perFeature {
				d1, d2 = h[j], h[n+j]
			}
			b[j] -= d1*e.sign(j) + d2*theta[j]
		}
	}

	if len(e.weak)+len(e.weakFree) == 0 {
		w := e.qp.solveActive(e.v, b)
		clear(dtheta)
		for i, j := range e.qp.act {
			dtheta[j] = w[i]
		}
		return checkTangentOut(dtheta)
	}
	if e.blur > hiddenTol && (len(e.weak) > 0 || d.Hyper != nil) {
		return e.blurred()
	}
	q := e.restrict(func(j int, active, weak bool) bool { return active || weak })
	copy(q.c, b)
	for _, j := range e.weak {
		if e.sign(j) > 0 {
			q.lo[j] = math.Inf(1)
		} else {
			q.up[j] = math.Inf(1)
		}
	}
	if d.Hyper != nil {
		for _, j := range e.weakFree {
			d1 := d.Hyper[0]
			if e.perFeature {
				d1 = d.Hyper[j]
			}
			if d1 < 0 {
				return argErrorf("d.Hyper", ErrDomain, "give a direction that raises lambda1", "lowers lambda1 from 0 where coordinate %d has its kink", j)
			}
			q.c[j] += d1 * e.sign(j)
			q.up[j], q.lo[j] = d1, d1
		}
	}
	q.reset()
	q.hadFree = true
	if err := q.solve(); err != nil {
		return err
	}
	copy(dtheta, q.x)
	return checkTangentOut(dtheta)
}
