package linear

import (
	"math"
	"slices"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/equal"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"
)

// A penalisedModel is a learner whose fit solves a penalisedQuadratic.
type penalisedModel interface {
	quadratic() *penalisedQuadratic
	// dataVJP adds uᵀ·∂(c − Gθ)/∂X to g.X and uᵀ·∂(c − Gθ)/∂y to g.Y, at fixed θ. u has an entry
	// for each coordinate in act. If g.X, g.Y or g.Hyper overflows, dataVJP returns an error.
	dataVJP(d *penalisedDerivative, g *learn.Grad, act []int, u []float64) error
	// dataJVP adds to b the derivative of c − Gθ along t.X and t.Y, at fixed θ.
	dataJVP(d *penalisedDerivative, b []float64, t *learn.Grad)
}

// penalisedDerivative is the scratch of the derivatives of a penalisedModel.
type penalisedDerivative struct {
	u, b       []float64    // solution and right-hand side of the active system
	rows       []float64    // work of dataVJP and dataJVP
	fit        []float64    // likewise
	fullVector []float64    // a vector of all entries of θ
	act        []int        // the result of thetaIndices
	collected  []float64    // dtheta with one entry for each class of equal features
	hyper      []float64    // products with respect to the hyperparameters
	reducedQP  *piecewiseQP // the problem restricted, if a coordinate is weakly active
}

// resize gives the scratch the size of e.
func (d *penalisedDerivative) resize(e *penalisedQuadratic) {
	d.u, d.b = dense.Grow(d.u, e.qp.room()), dense.Grow(d.b, e.n)
}

// thetaIndices returns, for each coordinate of q in the slice act, its index in θ.
func (d *penalisedDerivative) thetaIndices(q *piecewiseQP, act []int) []int {
	if q.features == nil {
		return act
	}
	d.act = dense.Grow(d.act, len(act))[:0]
	for _, j := range act {
		d.act = append(d.act, q.features[j])
	}
	return d.act
}

// shareOut divides the entries of w among equal features. w is a vector on the given features.
// shareOut returns the features with nonzero entries, and these entries.
func (d *penalisedDerivative) shareOut(c *equal.Columns, features []int, w []float64) ([]int, []float64) {
	d.fullVector = dense.Zeros(d.fullVector, len(c.First))
	dense.Scatter(d.fullVector, w, features)
	c.Share(d.fullVector)
	var at []int
	var shares []float64
	for j, v := range d.fullVector {
		if v != 0 {
			at, shares = append(at, j), append(shares, v)
		}
	}
	return at, shares
}

// withoutRows does the work of adjoint if equal features leave θ without a derivative with respect
// to X. It computes all other derivatives, and returns rowsError, the error for X.
func (d *penalisedDerivative) withoutRows(m penalisedModel, g *learn.Grad, dtheta []float64, rowsError error) error {
	rest := *g
	rest.X, rest.Stored = nil, nil
	if err := d.adjoint(m, false, &rest, dtheta); err != nil {
		return err
	}
	g.Generalised = rest.Generalised
	return rowsError
}

// adjoint is the VJP of m.
func (d *penalisedDerivative) adjoint(m penalisedModel, generalised bool, g *learn.Grad, dtheta []float64) error {
	e := m.quadratic()
	if err := e.state.CheckAdjoint(g, dtheta); err != nil {
		return err
	}
	d.resize(e)
	q, atKink := &e.qp, false // atKink is true if a derivative is generalised
	if e.equalFeatures != nil {
		if err := e.partedError(g); err != nil {
			if !generalised {
				return d.withoutRows(m, g, dtheta, err)
			}
			atKink = true
		}
		d.collected = append(d.collected[:0], dtheta...)
		e.equalFeatures.Collect(d.collected)
		dtheta = d.collected
	}
	if q.features != nil {
		dense.Gather(d.b, dtheta, q.features)
		dtheta = d.b
	}
	refused := !generalised || e.blur > dense.HiddenTol
	if len(e.weakPenalised) > 0 {
		if refused {
			return e.notDifferentiable(g)
		}
		if err := q.partRoom(); err != nil {
			return err
		}
		q = restrict(&d.reducedQP, e, func(j int, active, weak bool) bool { return active && !weak })
		if k := q.factor(); k < len(q.act) {
			return q.errOpen(q.act[k])
		}
		atKink = atKink || learner.Wants(g)
	}
	u := q.solveActive(d.u, dtheta)
	if q.gradientsFailed(u) {
		return errUnsolved
	}
	err := d.products(m, g, q, u, refused)
	g.Generalised = g.Generalised || atKink && err == nil
	return err
}

// products adds vector-Jacobian products to g, from the solution u of the active system of q. At a
// kink it sets g.Generalised, or returns an error if the parameter refuse is true.
func (d *penalisedDerivative) products(m penalisedModel, g *learn.Grad, q *piecewiseQP, u []float64, refuse bool) error {
	e := m.quadratic()
	if h := g.Hyper; h != nil {
		groups := e.groups.count
		d.hyper = dense.Zeros(d.hyper, 2*groups)
		e.addHyper(d.hyper[:groups], d.hyper[groups:], q, u)
		for k := range groups {
			if !refuse || !e.kinkedAtZero(k) {
				h[k] -= d.hyper[k]
			}
			h[groups+k] -= d.hyper[groups+k]
		}
		if g.HyperSize != nil {
			e.addHyperSize(g.HyperSize[:groups], g.HyperSize[groups:], q, u)
		}
	}
	if !learner.WantsRows(g) && g.Y == nil {
		if err := learner.CheckProduct(g); err != nil {
			return err
		}
	} else if err := m.dataVJP(d, g, q.act, u); err != nil {
		return err
	}
	if g.Hyper != nil && e.kinkedAtZero(-1) {
		if refuse {
			return e.notDifferentiable(g)
		}
		g.Generalised = true
	}
	return nil
}

// addHyper adds to l1 and l2, for each group, the products of u with the derivatives of the
// optimality conditions with respect to λ1 and λ2, at fixed θ. u has an entry for each coordinate
// in the active set of q.
func (e *penalisedQuadratic) addHyper(l1, l2 []float64, q *piecewiseQP, u []float64) {
	x, of := e.qp.x, e.groups.of
	act := q.act
	u, sgn := u[:len(act)], q.sgn[:len(act)]
	k, sum1, sum2 := 0, l1[0], l2[0] // of one group at a time, apart from memory
	if len(of) == 0 && e.equalFeatures == nil && e.features == e.n {
		for i, j := range act {
			side := sgn[i]
			if side == 0 {
				side = e.sign(j)
			}
			sum1 += side * u[i]
			sum2 += x[j] * u[i]
		}
		l1[0], l2[0] = sum1, sum2
		return
	}
	for i, j := range act {
		if j >= e.features {
			continue
		}
		if len(of) > 0 && of[j] != k {
			l1[k], l2[k] = sum1, sum2
			k = of[j]
			sum1, sum2 = l1[k], l2[k]
		}
		v, side := x[j], sgn[i]
		if side == 0 {
			side = e.sign(j)
		}
		sum1 += side * u[i]
		if e.equalFeatures != nil {
			v /= e.copies(j)
		}
		sum2 += v * u[i]
	}
	l1[k], l2[k] = sum1, sum2
}

// addHyperSize adds to l1 and l2, for each group, the moduli of the terms that addHyper sums.
func (e *penalisedQuadratic) addHyperSize(l1, l2 []float64, q *piecewiseQP, u []float64) {
	for i, j := range q.act {
		if j >= e.features {
			continue
		}
		k := e.groups.at(j)
		l1[k] += math.Abs(u[i])
		l2[k] += math.Abs(e.qp.x[j]*u[i]) / e.copies(j)
	}
}

// copies returns the number of equal features that share the value of coordinate j.
func (e *penalisedQuadratic) copies(j int) float64 {
	if e.equalFeatures == nil || e.equalFeatures.Held(e.qp.feature(j)) {
		return 1
	}
	return float64(e.equalFeatures.Copies(e.qp.feature(j)))
}

// anyShared reports whether equal features share a value that is not zero.
func (e *penalisedQuadratic) anyShared() bool {
	return slices.ContainsFunc(e.qp.act, func(j int) bool { return e.copies(j) > 1 })
}

// jumpingFeatures returns those features without penalties whose entries are all zero but can
// change. If an entry becomes small but not zero, the feature's θ_j jumps from zero to a large
// number. A sparse feature without stored entries cannot change.
func (e *penalisedQuadratic) jumpingFeatures() []int {
	var found []int
	for j, first := range e.equalFeatures.First {
		if first < 0 {
			found = append(found, j)
		}
	}
	if len(found) == 0 || e.qp.sparse == nil {
		return found
	}
	stored := make([]bool, e.params)
	e.state.Data.VisitStored(func(_, _, j int, _ float64) { stored[j] = true })
	return slices.DeleteFunc(found, func(j int) bool { return !stored[j] })
}

// partedError returns an error if the derivative with respect to X does not exist, because some
// features are equal, or because a feature without penalties is all zeros. Otherwise it returns
// nil.
func (e *penalisedQuadratic) partedError(g *learn.Grad) error {
	if !learner.WantsRows(g) || e.equalFeatures == nil {
		return nil
	}
	remedy, weak := "drop the features of zeros, raise their penalties, or set Generalised", e.jumpingFeatures()
	if e.anyShared() {
		remedy = "drop all but one of the equal features, raise λ2, or set Generalised"
		for k, j := range e.equalFeatures.First {
			if j >= 0 && e.equalFeatures.Copies(j) > 1 {
				weak = append(weak, k)
			}
		}
		slices.Sort(weak)
	}
	if len(weak) == 0 {
		return nil
	}
	rows := *g
	rows.Hyper, rows.Y = nil, nil
	return learner.NotDifferentiable(&rows, qpdiff.Weak{Coords: weak}, nil, remedy)
}

// notDifferentiable returns the error for the wanted inputs that have no derivative.
func (e *penalisedQuadratic) notDifferentiable(g *learn.Grad) error {
	weak, wanted := e.weakPenalised, *g
	hyper := []qpdiff.Input{"λ1"}
	if len(weak) == 0 {
		weak = slices.DeleteFunc(slices.Clone(e.weakFree), func(j int) bool { return e.qp.diag[j] == 0 })
		wanted.X, wanted.Stored, wanted.Y = nil, nil, nil
	} else if slices.ContainsFunc(e.qp.x[:e.features], func(v float64) bool { return v != 0 }) {
		hyper = append(hyper, "λ2")
	}
	if !learner.Wants(&wanted) {
		return nil
	}
	if e.blur > dense.HiddenTol {
		return e.blurredError()
	}
	return learner.NotDifferentiable(&wanted, qpdiff.Weak{Coords: new(penalisedDerivative).thetaIndices(&e.qp, weak)}, nil,
		"move λ1, ask JVP for a directional derivative, or set Generalised", hyper...)
}

// blurredError returns an error if rounding hides whether coordinates are at their kink.
func (e *penalisedQuadratic) blurredError() error {
	return check.ArgErrorf("Data", qpdiff.ErrIllPosed, "raise λ2 or drop features", "is so ill-conditioned that rounding hides which coordinates are weakly active: it may have moved theta by %.1g of its scale", e.blur)
}

// forward is the JVP of m.
func (d *penalisedDerivative) forward(m penalisedModel, dtheta []float64, t *learn.Grad) error {
	e := m.quadratic()
	if err := e.state.CheckForward(dtheta, t); err != nil {
		return err
	}
	if e.equalFeatures == nil {
		return d.reducedTangent(m, dtheta, t)
	}
	if err := e.partedError(t); err != nil {
		return err
	}
	if err := d.reducedTangent(m, dtheta, t); err != nil {
		return err
	}
	e.equalFeatures.Share(dtheta)
	return nil
}

// reducedTangent does the work of the method forward, but uses only one feature of each class of
// equal features.
func (d *penalisedDerivative) reducedTangent(m penalisedModel, dtheta []float64, t *learn.Grad) error {
	e := m.quadratic()
	d.resize(e)

	// b is the derivative along t, at fixed θ, of c − Gθ − λ1∘sign θ − λ2∘θ.
	theta := e.qp.x
	b := d.b
	clear(b)
	if learner.WantsRows(t) || t.Y != nil {
		m.dataJVP(d, b, t)
	}
	if h := t.Hyper; h != nil {
		for j := range e.features {
			k := e.groups.at(j)
			b[j] -= h[k]*e.sign(j) + h[e.groups.count+k]*(theta[j]/e.copies(j))
		}
	}

	if len(e.weakPenalised)+len(e.weakFree) == 0 {
		w := e.qp.solveActive(d.u, b)
		if e.qp.gradientsFailed(w) {
			return errUnsolved
		}
		clear(dtheta)
		dense.Scatter(dtheta, w, d.thetaIndices(&e.qp, e.qp.act))
		return learner.CheckTangentOut(dtheta)
	}
	if e.blur > dense.HiddenTol && (len(e.weakPenalised) > 0 || t.Hyper != nil) {
		return e.blurredError()
	}
	if err := e.qp.partRoom(); err != nil {
		return err
	}
	q := restrict(&d.reducedQP, e, func(j int, active, weak bool) bool { return active || weak })
	copy(q.c, b)
	for _, j := range e.weakPenalised {
		if e.sign(j) > 0 {
			q.lo[j] = math.Inf(1)
		} else {
			q.up[j] = math.Inf(1)
		}
	}
	if t.Hyper != nil {
		if err := q.raise(e, t.Hyper); err != nil {
			return err
		}
	}
	q.reset()
	if err := q.solve(); err != nil {
		return err
	}
	if q.features == nil {
		copy(dtheta, q.x)
	} else {
		clear(dtheta)
		dense.Scatter(dtheta, q.x, q.features)
	}
	return learner.CheckTangentOut(dtheta)
}

// raise adds kinks to q, the problem of a directional derivative. A coordinate of e gets a kink if
// it is weakly active and its λ1 is 0. The strength of this kink is the tangent of λ1.
func (q *piecewiseQP) raise(e *penalisedQuadratic, hyper []float64) error {
	for _, j := range e.weakFree {
		d1 := hyper[e.groups.at(j)]
		if d1 < 0 {
			return check.ArgErrorf("d.Hyper", qpdiff.ErrDomain, "give a direction that raises λ1", "lowers λ1 from 0 where coordinate %d has its kink", q.feature(j))
		}
		q.c[j] += d1 * e.sign(j)
		q.up[j], q.lo[j] = d1, d1
	}
	return nil
}
