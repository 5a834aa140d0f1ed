package search

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// QuasiNewton is a limited-memory BFGS method for boxes. Each step minimises the model ∇fᵀd + ½dᵀBd
// over the d that stay within the bounds. A line search along d then finds a point at which f is
// low enough (Armijo's rule, with cubic interpolation).
//
// B is a diagonal matrix plus BFGS updates. The updates come from the changes of the gradient over
// the last steps. An update is damped if the curvature is not positive (Powell 1978). The diagonal
// is updated by the changes over all steps since the last restart (Gilbert and Lemaréchal 1989).
// After a restart, the diagonal is the same for every coordinate, in units of the coordinate's
// scale. The search reaches bounds exactly, and one step may reach or leave many bounds.
//
// QuasiNewton requires a box and an exact gradient. A coordinate may stay at its start if it starts
// at 1e-9 of the size at which it matters. Its scale is then so short that moves within the scale
// gain less than Tol. A step costs about a hundred products of vectors, in addition to the
// evaluations.
type QuasiNewton struct {
	// FirstStep limits the first step, and the first step after each restart. Let the entries of x
	// and of the step be in units of their scales. The largest change of an entry, before the
	// bounds shorten the step, is then at most FirstStep times the largest |x|, or FirstStep if x
	// is zero. Zero: .2.
	FirstStep float64
	// MaxStep limits the change of each entry in a step, in units of the entry's scale. Zero: only
	// the bounds limit the change.
	MaxStep  float64
	Memory   int     // steps remembered; zero: 10
	MaxEvals int     // evaluations at most, with the ones inside line searches; zero: 1000
	Tol      float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0. It yields every evaluation, including the points that the
// line search rejects. If the search gains less than 1e-8 of the loss between two restarts of its
// model, it ends without Converged. This happens at kinks.
func (m QuasiNewton) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.box("QuasiNewton"), p.exact("QuasiNewton"), checkFirstStep("QuasiNewton", m.FirstStep),
		args.BadIf(!(m.MaxStep >= 0), "QuasiNewton.MaxStep", qpdiff.ErrDomain, "use a positive multiple of the scale, or zero for none", "is %v", m.MaxStep),
		args.BadIf(m.Memory < 0, "QuasiNewton.Memory", qpdiff.ErrDomain, "use a positive number of steps, or zero for the default", "is %d", m.Memory))
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, settings, func(w *searchRun) { m.run(w) })
}

const (
	defaultMemory = 10
	// The slope at x predicts a gain of a step. A step must gain at least armijo times this
	// prediction. The step of a good model gains half of the prediction. The small value of armijo
	// accepts all such steps, and still rejects steps that gain nothing.
	armijo = 1e-4
	// Two losses with a relative difference below flat, some dozen times 2⁻⁵³, are equal up to
	// rounding. A step between them is accepted by its slopes (Hager and Zhang 2005): the slope
	// after the step must be at most maxSlope times the slope at x.
	flat     = 1e-14
	maxSlope = .9
	// A step that took more than three trials must gain at least kinkGain times the loss. A smaller
	// gain means that the curvatures of the model make the descent follow a kink in very short
	// steps.
	kinkGain = 1e-10
	// From one restart of the model to the next, the search must gain at least minGain times the
	// loss. minGain is far above the rounding error of a loss, so that a search at a kink ends.
	minGain = 1e-8
	// The line search gives up when it has shortened a step to minStep times its length. This takes
	// at least eleven successive rejections, which mean that the model's slope differs from the
	// loss's.
	minStep = 1e-10
)

// A descent is a QuasiNewton search under way.
type descent struct {
	QuasiNewton
	w     *searchRun
	b     *bfgsMatrix
	box   *boxModel
	share []float64 // the units of the coordinates

	x, grad   []float64 // the last point accepted, its gradient and its loss
	loss      float64
	d         []float64 // the step from x that the model proposes
	restarted float64   // the loss at the last restart
	known     bool      // the length of d follows from a curvature: see converged
	confirms  bool      // a rejected step now confirms that the start is a minimum
	tol       float64

	reach, s, y []float64 // work
}

func (m QuasiNewton) run(w *searchRun) {
	if !w.eval() || !w.next(w.converged(nil, m.Tol)) {
		return
	}
	vector := func() []float64 { return make([]float64, len(w.X)) }
	r := &descent{QuasiNewton: m, w: w, b: newBFGSMatrix(len(w.X), cmp.Or(m.Memory, defaultMemory)), box: newBoxModel(w.p, w.scale, cmp.Or(m.MaxStep, math.Inf(1))), share: w.shares(),
		x: vector(), grad: vector(), d: vector(), reach: vector(), s: vector(), y: vector(), restarted: math.Inf(1), tol: cmp.Or(m.Tol, defaultTol)}
	// If the start is a minimum, the line search rejects the first step, because no curvature has
	// determined the step's length. This rejection confirms that the start is a minimum.
	r.confirms = r.tol > 0 && w.gain(nil) <= r.tol*math.Abs(w.Loss)
	r.accept()
	for more := r.direct(); more; r.confirms = false {
		more = r.step()
	}
}

// accept records X as the last accepted point.
func (r *descent) accept() {
	copy(r.x, r.w.X)
	copy(r.grad, r.w.Grad)
	r.loss = r.w.Loss
}

// direct sets d to the step from X that the model proposes. It returns false if the search has
// gained too little since the last restart.
func (r *descent) direct() bool {
	if r.b.forgotten {
		if !(r.loss < r.restarted-minGain*math.Abs(r.loss)) {
			return false
		}
		r.restarted = r.loss
		floats.DivTo(r.s, r.x, r.share)
		floats.MulTo(r.y, r.grad, r.share)
		r.b.reset(floats.Norm(r.y, math.Inf(1))/(cmp.Or(r.FirstStep, .2)*r.w.length(r.s)), r.share)
	}
	r.box.minimise(r.d, r.x, r.grad, r.b)
	return true
}

// converged reports whether the search has converged at X. The test uses the lengths of the model's
// step. These lengths have no meaning before the first curvature, or if the last curvature was
// damped. The test then gets nil instead of the lengths.
func (r *descent) converged() bool {
	if !r.known {
		return r.w.converged(nil, r.Tol)
	}
	for i, v := range r.d {
		r.reach[i] = math.Abs(v)
	}
	return r.w.converged(r.reach, r.Tol)
}

// step searches along d for the next point. It then sets d to the step that the model proposes at
// the new point. It returns false when the search ends.
func (r *descent) step() bool {
	w, slope := r.w, floats.Dot(r.grad, r.d)
	for t, trials := 1., 1; ; trials++ {
		r.place(t)
		switch {
		case !(slope < 0) || t < minStep || floats.Equal(w.X, r.x): // the model misleads
			r.b.forgotten = true
			copy(w.X, r.x)
			return r.direct()
		case !args.AllFinite(w.X):
			t *= .1
			continue
		case !w.evaluate():
			return false
		case !w.defined():
			if !w.next(false) {
				return false
			}
			t *= .1
			continue
		}
		slopeThere := floats.Dot(w.Grad, r.d)
		switch {
		case r.low(slope, slopeThere):
			return r.take(trials)
		case !w.next(w.Loss <= r.loss+r.tol*math.Abs(r.loss) && r.converged()):
			return false
		case r.confirms:
			copy(w.X, r.x)
			if w.eval() {
				w.next(true)
			}
			return false
		}
		t *= cubicStep(r.loss, slope*t, w.Loss, slopeThere*t)
	}
}

// place sets X to x + t·d, within the bounds.
func (r *descent) place(t float64) {
	floats.AddScaledTo(r.w.X, r.x, t, r.d)
	if t == 1 {
		r.box.snap(r.w.X, r.x, r.d)
	}
	r.w.p.project(r.w.X) // against rounding
}

// low reports whether the loss at X is low enough, and sets s to the step from x to X. slope is the
// slope along d at x, and slopeThere is the slope along d at X.
func (r *descent) low(slope, slopeThere float64) bool {
	floats.SubTo(r.s, r.w.X, r.x)
	return r.w.Loss <= r.loss+armijo*floats.Dot(r.grad, r.s) ||
		r.w.Loss <= r.loss+flat*math.Abs(r.loss) && math.Abs(slopeThere) <= -maxSlope*slope
}

// take accepts the point X, which the line search found after the given number of trials. It
// returns false when the search ends.
func (r *descent) take(trials int) bool {
	w := r.w
	floats.SubTo(r.y, w.Grad, r.grad)
	r.known = r.b.add(r.s, r.y)
	if trials > 3 && w.Loss > r.loss-kinkGain*math.Abs(r.loss) {
		r.b.forgotten = true // many trials with little gain: x is near a kink
	}
	r.accept()
	more := r.direct()
	return w.next(r.converged()) && more
}

// cubicStep returns the minimiser on [0, 1] of the cubic with the values f0 and f1 and the slopes
// g0 < 0 and g1 at 0 and 1. The result is limited to [.1, .5], because the loss f1 was too high.
func cubicStep(f0, g0, f1, g1 float64) float64 {
	c := g0 + g1 - 3*(f1-f0)
	root := math.Sqrt(c*c - g0*g1)
	t := 1 - (g1+root-c)/(g1-g0+2*root)
	if !(t >= .1) {
		return .1
	}
	return min(t, .5)
}

// bfgsMatrix is B = diag + Σ (aaᵀ − bbᵀ), with one pair of vectors a, b for each remembered step.
type bfgsMatrix struct {
	forgotten bool // reset before use
	diag      []float64
	memory    int
	// The first count steps are remembered, the oldest first. The others are storage.
	steps []bfgsStep
	count int
	bs    []float64
}

// bfgsStep is a step s, the change y of the gradient over this step, and the step's vectors a and b
// in B.
type bfgsStep struct{ s, y, a, b []float64 }

func newBFGSMatrix(n, memory int) *bfgsMatrix {
	return &bfgsMatrix{forgotten: true, diag: make([]float64, n), memory: memory, bs: make([]float64, n)}
}

// reset sets B to the diagonal matrix with the entries scale/share[i]².
func (c *bfgsMatrix) reset(scale float64, share []float64) {
	c.forgotten = false
	for i, v := range share {
		c.diag[i] = scale / v / v
	}
	c.count = 0
}

// times sets dst to Bv, where B has only the first k steps.
func (c *bfgsMatrix) times(dst, v []float64, k int) {
	floats.MulTo(dst, c.diag, v)
	for _, step := range c.steps[:k] {
		floats.AddScaled(dst, floats.Dot(step.a, v), step.a)
		floats.AddScaled(dst, -floats.Dot(step.b, v), step.b)
	}
}

// next returns storage for one more step. If the memory is full, it returns the storage of the
// oldest step.
func (c *bfgsMatrix) next() bfgsStep {
	switch {
	case c.count == c.memory:
		oldest := c.steps[0]
		copy(c.steps, c.steps[1:])
		c.steps[c.count-1] = oldest
		return oldest
	case c.count == len(c.steps):
		n, more := len(c.diag), min(c.memory-c.count, defaultMemory)
		block := make([]float64, 4*n*more)
		vector := func() []float64 {
			v := block[:n:n]
			block = block[n:]
			return v
		}
		c.steps = slices.Grow(c.steps, more)
		for range more {
			c.steps = append(c.steps, bfgsStep{vector(), vector(), vector(), vector()})
		}
	}
	c.count++
	return c.steps[c.count-1]
}

const (
	// If the curvature along a step is below minCurvature times the model's curvature, the update
	// is damped. Powell damps below .2. This larger limit hurts on convex losses whose curvature
	// falls fast. A smaller limit is enough, because B only has to stay positive definite by far
	// more than rounding errors. In one step, an entry of the diagonal falls at most by the factor
	// minCurvature.
	minCurvature = 1e-10
	// A damped curvature is replaced by dampedCurvature times the model's curvature (Powell 1978).
	dampedCurvature = .2
)

// add updates B with the change y of the gradient over the step s. It returns false if y was damped
// or omitted.
func (c *bfgsMatrix) add(s, y []float64) bool {
	c.times(c.bs, s, c.count)
	sBs, sy := floats.Dot(s, c.bs), floats.Dot(s, y)
	if !(sBs > 0) {
		return false
	}
	last := c.next()
	copy(last.s, s)
	copy(last.y, y)
	damped := sy <= minCurvature*sBs
	if damped {
		t := (1 - dampedCurvature) * sBs / (sBs - sy)
		floats.Scale(t, last.y)
		floats.AddScaled(last.y, 1-t, c.bs)
	}
	c.learn(last.s, last.y)
	for k, step := range c.steps[:c.count] {
		c.times(step.b, step.s, k)
		floats.Scale(1/math.Sqrt(floats.Dot(step.s, step.b)), step.b)
		copy(step.a, step.y)
		floats.Scale(1/math.Sqrt(floats.Dot(step.s, step.a)), step.a)
	}
	return !damped
}

// learn scales the diagonal to the curvature along the last step s. It then updates the diagonal by
// the diagonal entries of the BFGS formula.
func (c *bfgsMatrix) learn(s, y []float64) {
	sy := floats.Dot(s, y)
	// yy is ‖y‖² in the norm of the inverse diagonal, and ss is ‖s‖² in the norm of the diagonal.
	var yy, ss float64
	for i, d := range c.diag {
		yy += y[i] * y[i] / d
	}
	floats.Scale(yy/sy, c.diag)
	for i, d := range c.diag {
		ss += d * s[i] * s[i]
	}
	for i, d := range c.diag {
		c.diag[i] = d*max(1-d*s[i]*s[i]/ss, minCurvature) + y[i]*y[i]/sy
	}
}

// At the computed minimiser of the model, modelTol times the gradient may remain. modelTol is far
// below the change of the gradient by the next evaluation, and far above rounding errors.
const modelTol = 1e-10

// boxModel minimises gᵀd + ½dᵀBd over the box lower − x ≤ d ≤ upper − x. It uses conjugate
// gradients on the free coordinates. The set of free coordinates is determined anew whenever a
// coordinate hits a bound or the minimum over the free coordinates is reached.
type boxModel struct {
	p        Problem
	reach    []float64 // the largest change of each coordinate in a step
	down, up []float64 // the distances from x to its bounds, or to the limit of a step; d at a bound equals one of them
	free     []bool
	r, w     []float64 // the model's gradient r = g + Bd, and r divided by B's diagonal
	v, bv    []float64 // a direction v, and Bv
}

// newBoxModel returns a model for steps that change each coordinate by at most maxMove·scale.
func newBoxModel(p Problem, scale []float64, maxMove float64) *boxModel {
	n := len(scale)
	reach := make([]float64, n)
	floats.ScaleTo(reach, maxMove, scale)
	return &boxModel{p: p, reach: reach, down: make([]float64, n), up: make([]float64, n),
		free: make([]bool, n), r: make([]float64, n), w: make([]float64, n), v: make([]float64, n), bv: make([]float64, n)}
}

// snap sets each entry of x that d moves to a bound exactly to this bound, because the rounded sum
// x0 + (bound − x0) may miss the bound.
func (m *boxModel) snap(x, x0, d []float64) {
	for i, v := range d {
		lower, upper := m.p.bounds(i)
		switch v {
		case lower - x0[i]:
			x[i] = lower
		case upper - x0[i]:
			x[i] = upper
		}
	}
}

// minimise sets d.
func (m *boxModel) minimise(d, x, g []float64, b *bfgsMatrix) {
	clear(d)
	copy(m.r, g)
	for i, v := range x {
		lower, upper := m.p.bounds(i)
		m.down[i], m.up[i], m.free[i] = max(lower-v, -m.reach[i]), min(upper-v, m.reach[i]), true
	}
	enough := modelTol * modelTol * m.precondition(b.diag)
	for range 3*len(d) + 10 {
		for i, r := range m.r {
			m.free[i] = !(d[i] <= m.down[i] && r >= 0 || d[i] >= m.up[i] && r <= 0)
		}
		rr := m.precondition(b.diag)
		if !(rr > enough) { // also if rr is NaN, because the model has overflowed
			return
		}
		m.conjugate(d, b, rr, enough)
	}
}

// precondition sets w to r divided by B's diagonal, for the free coordinates; r is the gradient. In
// this metric the units of coordinates do not matter. precondition returns rᵀw.
func (m *boxModel) precondition(diag []float64) (rr float64) {
	for i, r := range m.r {
		m.w[i] = 0
		if m.free[i] {
			m.w[i] = r / diag[i]
			rr += r * m.w[i]
		}
	}
	return rr
}

// conjugate moves d by conjugate gradients of the free coordinates. It stops when a coordinate
// reaches a bound, or when rᵀw is at most tol. The parameter rr is the value of rᵀw at the start.
func (m *boxModel) conjugate(d []float64, b *bfgsMatrix, rr, tol float64) {
	floats.ScaleTo(m.v, -1, m.w)
	for range len(d) {
		b.times(m.bv, m.v, b.count)
		t, hit := m.stepInside(d, rr/floats.Dot(m.v, m.bv))
		floats.AddScaled(d, t, m.v)
		floats.AddScaled(m.r, t, m.bv)
		if hit >= 0 {
			d[hit] = m.bound(hit)
			return
		}
		before := rr
		if rr = m.precondition(b.diag); !(rr > tol) {
			return
		}
		floats.Scale(rr/before, m.v)
		floats.Sub(m.v, m.w)
	}
}

// stepInside returns the largest number s ≤ t for which d + s·v stays within the bounds. It also
// returns the coordinate that reaches its bound at s, or −1 if none does.
func (m *boxModel) stepInside(d []float64, t float64) (share float64, hit int) {
	hit = -1
	for i, v := range m.v {
		if room := (m.bound(i) - d[i]) / v; v != 0 && room < t {
			t, hit = max(room, 0), i
		}
	}
	return t, hit
}

// bound returns the bound of d_i in the direction of v_i.
func (m *boxModel) bound(i int) float64 {
	if m.v[i] < 0 {
		return m.down[i]
	}
	return m.up[i]
}
