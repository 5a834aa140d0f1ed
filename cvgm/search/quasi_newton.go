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

// QuasiNewton is a limited-memory BFGS method for boxes. Each step minimises the model ∇fᵀd +
// ½dᵀBd over the d that stay within the bounds. It then searches along d for a point that is
// low enough (Armijo's rule, with cubic interpolation). B is a diagonal, updated by the BFGS
// formula with the change of gradient over each of the last steps, damped if the curvature is
// not positive (Powell 1978). The diagonal learns from the changes over all steps since the
// last restart (Gilbert and Lemaréchal 1989). After a restart it is the same for every
// coordinate, in units of its scale. Bounds are thus met exactly, and many of them change sides
// within one step.
//
// It needs a box and a gradient that is exact. From a start at 1e-9 of the size
// at which a coordinate matters it may not move that coordinate: moves within
// such a scale gain less than Tol. Its own work per step is some hundred products
// of vectors.
type QuasiNewton struct {
	// FirstStep limits the first step, and the first after a restart: the distance by which it
	// moves the entry that moves most, before the bounds cut it. It is a share of the largest
	// |x|, both in units of the entries' scales; if x is zero, a share of the scale. Zero: .2.
	FirstStep float64
	// MaxStep limits the change of an entry in a step, in units of its scale; zero: as far as the
	// bounds.
	MaxStep  float64
	Memory   int     // steps remembered; zero: 10
	MaxEvals int     // evaluations at most, with the ones inside line searches; zero: 1000
	Tol      float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0 and yields every evaluation, also the ones that the
// line search rejects. It also ends, without Converged, when it no longer gains 1e-8 of the
// loss between two restarts of its model, as at a kink.
func (m QuasiNewton) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.box("QuasiNewton"), p.exact("QuasiNewton"), checkFirstStep("QuasiNewton", m.FirstStep),
		args.BadIf(!(m.MaxStep >= 0), "QuasiNewton.MaxStep", qpdiff.ErrDomain, "use a positive multiple of the scale, or zero for none", "is %v", m.MaxStep),
		args.BadIf(m.Memory < 0, "QuasiNewton.Memory", qpdiff.ErrDomain, "use a positive number of steps, or zero for the default", "is %d", m.Memory))
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, settings, func(w *searchRun) { m.run(w) })
}

const (
	defaultMemory = 10
	// armijo is the share of the gain by the slope at x that a step must reach.
	// Steps along a good model reach half; the usual small share lets them all
	// pass and still excludes steps that gain nothing.
	armijo = 1e-4
	// flat is the share of the loss below which two losses differ only by
	// rounding, some dozens of 2⁻⁵³. Slopes then decide (Hager and Zhang 2005):
	// the step must leave at most the share maxSlope of the slope at x.
	flat     = 1e-14
	maxSlope = .9
	// kinkGain is the share of the loss that a step found by more than three trials must gain.
	// A smaller gain means that the descent creeps along a kink because of the model's
	// curvatures.
	kinkGain = 1e-10
	// minGain is the share of the loss that the way from one restart of the
	// model to the next must gain. It is far above the rounding of a loss, so
	// that a search at a kink ends.
	minGain = 1e-8
	// minStep is the share of a step at which the line search gives up:
	// eleven rejections in a row mean that the model's slope is not the loss's.
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
	known     bool      // the length of d means something: see converged
	confirms  bool      // a step that is rejected confirms x, the start
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
	// At a minimum the first step, whose length no curvature has determined,
	// is rejected. Then it confirms the start.
	r.confirms = r.tol > 0 && w.gain(nil) <= r.tol*math.Abs(w.Loss)
	r.accept()
	for more := r.direct(); more; r.confirms = false {
		more = r.step()
	}
}

// accept makes X the last point accepted.
func (r *descent) accept() {
	copy(r.x, r.w.X)
	copy(r.grad, r.w.Grad)
	r.loss = r.w.Loss
}

// direct sets d to the step from x that the model proposes. It returns false when the search no
// longer gains.
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

// converged tests X with the lengths of the model's step. The lengths mean nothing before the
// first curvature, or if the last one was damped.
func (r *descent) converged() bool {
	if !r.known {
		return r.w.converged(nil, r.Tol)
	}
	for i, v := range r.d {
		r.reach[i] = math.Abs(v)
	}
	return r.w.converged(r.reach, r.Tol)
}

// step searches along d for the next point, and proposes the d from there. It returns false
// when the search ends.
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

// place sets X to the point at the share t of the way along d.
func (r *descent) place(t float64) {
	floats.AddScaledTo(r.w.X, r.x, t, r.d)
	if t == 1 {
		r.box.snap(r.w.X, r.x, r.d)
	}
	r.w.p.project(r.w.X) // against rounding
}

// low reports whether the loss at X is low enough, and sets s to the step to X. slope and
// slopeThere are the slopes along d at x and at X.
func (r *descent) low(slope, slopeThere float64) bool {
	floats.SubTo(r.s, r.w.X, r.x)
	return r.w.Loss <= r.loss+armijo*floats.Dot(r.grad, r.s) ||
		r.w.Loss <= r.loss+flat*math.Abs(r.loss) && math.Abs(slopeThere) <= -maxSlope*slope
}

// take accepts the point X, which the line search found after so many trials. It returns what step
// returns.
func (r *descent) take(trials int) bool {
	w := r.w
	floats.SubTo(r.y, w.Grad, r.grad)
	r.known = r.b.add(r.s, r.y)
	if trials > 3 && w.Loss > r.loss-kinkGain*math.Abs(r.loss) {
		r.b.forgotten = true // much search for little gain: a kink
	}
	r.accept()
	more := r.direct()
	return w.next(r.converged()) && more
}

// cubicStep returns the minimiser on [0, 1] of the cubic with values f0, f1 and slopes g0 < 0,
// g1 at 0 and 1. It is kept within [.1, .5], because f1 was too high.
func cubicStep(f0, g0, f1, g1 float64) float64 {
	c := g0 + g1 - 3*(f1-f0)
	root := math.Sqrt(c*c - g0*g1)
	t := 1 - (g1+root-c)/(g1-g0+2*root)
	if !(t >= .1) {
		return .1
	}
	return min(t, .5)
}

// bfgsMatrix is B = diag + Σ (aaᵀ − bbᵀ), one pair of vectors per remembered step.
type bfgsMatrix struct {
	forgotten bool // reset before use
	diag      []float64
	memory    int
	steps     []bfgsStep // the first count are remembered, the oldest first; the others are storage
	count     int
	bs        []float64
}

// bfgsStep is a step s, over which the gradient changed by y, and its a and b in B.
type bfgsStep struct{ s, y, a, b []float64 }

func newBFGSMatrix(n, memory int) *bfgsMatrix {
	return &bfgsMatrix{forgotten: true, diag: make([]float64, n), memory: memory, bs: make([]float64, n)}
}

// reset sets B to a diagonal that is scale in units of share[i] for coordinate i.
func (c *bfgsMatrix) reset(scale float64, share []float64) {
	c.forgotten = false
	for i, v := range share {
		c.diag[i] = scale / v / v
	}
	c.count = 0
}

// times sets dst to Bv, with the first k steps.
func (c *bfgsMatrix) times(dst, v []float64, k int) {
	floats.MulTo(dst, c.diag, v)
	for _, step := range c.steps[:k] {
		floats.AddScaled(dst, floats.Dot(step.a, v), step.a)
		floats.AddScaled(dst, -floats.Dot(step.b, v), step.b)
	}
}

// next returns storage for one more step: the oldest step's if the memory is full.
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
	// minCurvature is the curvature along a step, as a share of the model's, below which it is
	// damped. Powell damps below .2 already, which hurts on convex losses whose curvature falls
	// fast. B need only stay positive definite by far more than rounding. An entry of the
	// diagonal falls by no more within a step.
	minCurvature = 1e-10
	// dampedCurvature is the curvature, as a share of the model's, that takes
	// its place (Powell 1978).
	dampedCurvature = .2
)

// add updates B with the change y of the gradient over the step s. It returns false if it had
// to damp the change, or leave it out.
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

// learn brings the diagonal to the curvature along the last step, s, and then
// takes it in by the diagonal of the BFGS formula.
func (c *bfgsMatrix) learn(s, y []float64) {
	sy := floats.Dot(s, y)
	var yy, ss float64 // in the norms of the diagonal's inverse and of the diagonal
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

// modelTol is the share of the gradient that the model's minimiser may leave: far below the
// change by the next evaluation, far above rounding.
const modelTol = 1e-10

// boxModel minimises gᵀd + ½dᵀBd over the box lower − x ≤ d ≤ upper − x by conjugate gradients
// on the free coordinates. These are found anew whenever one hits a bound or the minimum over
// them is reached.
type boxModel struct {
	p        Problem
	reach    []float64 // how far a step moves each coordinate at most
	down, up []float64 // from x to its bounds, or as far as a step: d at a bound equals one of them
	free     []bool
	r, w     []float64 // the model's gradient g + Bd, the same over B's diagonal
	v, bv    []float64 // a direction, B times it
}

// newBoxModel limits a step to most scales of each coordinate.
func newBoxModel(p Problem, scale []float64, most float64) *boxModel {
	n := len(scale)
	reach := make([]float64, n)
	floats.ScaleTo(reach, most, scale)
	return &boxModel{p: p, reach: reach, down: make([]float64, n), up: make([]float64, n),
		free: make([]bool, n), r: make([]float64, n), w: make([]float64, n), v: make([]float64, n), bv: make([]float64, n)}
}

// snap puts the entries of x that d takes from their old values to a bound there: old + (bound −
// old) may miss it by rounding.
func (m *boxModel) snap(x, old, d []float64) {
	for i, v := range d {
		lower, upper := m.p.bounds(i)
		switch v {
		case lower - old[i]:
			x[i] = lower
		case upper - old[i]:
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
		if !(rr > enough) { // NaN included: the model has overflowed
			return
		}
		m.conjugate(d, b, rr, enough)
	}
}

// precondition sets w to the gradient of the free coordinates over B's diagonal. In this metric
// the units of coordinates do not matter. It returns rᵀw.
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

// conjugate moves d by conjugate gradients of the free coordinates until rᵀw, now rr, is
// at most enough or one of them is at a bound.
func (m *boxModel) conjugate(d []float64, b *bfgsMatrix, rr, enough float64) {
	floats.ScaleTo(m.v, -1, m.w)
	for range len(d) {
		b.times(m.bv, m.v, b.count)
		t, hit := m.within(d, rr/floats.Dot(m.v, m.bv))
		floats.AddScaled(d, t, m.v)
		floats.AddScaled(m.r, t, m.bv)
		if hit >= 0 {
			d[hit] = m.bound(hit)
			return
		}
		before := rr
		if rr = m.precondition(b.diag); !(rr > enough) {
			return
		}
		floats.Scale(rr/before, m.v)
		floats.Sub(m.v, m.w)
	}
}

// within returns the share of v, at most t, that keeps d within the bounds, and the coordinate
// that is then at its bound, or −1.
func (m *boxModel) within(d []float64, t float64) (share float64, hit int) {
	hit = -1
	for i, v := range m.v {
		if room := (m.bound(i) - d[i]) / v; v != 0 && room < t {
			t, hit = max(room, 0), i
		}
	}
	return t, hit
}

// bound returns the bound of d towards which v moves coordinate i.
func (m *boxModel) bound(i int) float64 {
	if m.v[i] < 0 {
		return m.down[i]
	}
	return m.up[i]
}
