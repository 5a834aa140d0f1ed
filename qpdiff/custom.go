package qpdiff

import "math"

// SmoothObjective is a learning objective F(θ) of a user's own, given by
// products with its derivatives only. F must be twice continuously
// differentiable and strongly convex in θ, and ∇F differentiable in whatever
// derivatives are asked for. The functions must not write to their inputs, and
// must not keep what they are given.
type SmoothObjective struct {
	// NumTheta returns the number of parameters for data with n features. Nil: n.
	NumTheta func(n int) int
	// NumHyper is the number of hyperparameters.
	NumHyper int
	// Check reports hyperparameters outside the domain of F; they are finite and
	// NumHyper many. Nil: all must be at or above 0.
	Check func(hyper []float64) error
	// Gradient writes ∇F(θ) to g.
	Gradient func(g, theta []float64, d Data, hyper []float64)
	// HessianProduct writes ∇²F(θ)·v to hv.
	HessianProduct func(hv, v, theta []float64, d Data, hyper []float64)
	// CrossProduct adds the derivative of vᵀ∇F(θ) with respect to the
	// hyperparameters, X and y at fixed θ and v to those fields of g that are
	// not nil.
	CrossProduct func(g *Grad, v, theta []float64, d Data, hyper []float64)
}

func (o *SmoothObjective) dims(n int) (theta, hyper int) {
	if o.NumTheta != nil {
		n = o.NumTheta(n)
	}
	return n, o.NumHyper
}

func (o *SmoothObjective) checkHyper(hyper []float64) error {
	if o.Check == nil {
		return checkHyper(hyper, o.NumHyper)
	}
	if len(hyper) != o.NumHyper {
		return checkHyper(hyper, o.NumHyper)
	}
	if err := checkFinite("hyper", "give a finite hyperparameter", hyper); err != nil {
		return err
	}
	return o.Check(hyper)
}

// Custom is a learner that minimises a [SmoothObjective] of a user's own by
// Newton's method, and differentiates the minimiser by the implicit function
// theorem at ∇F(θ) = 0: the rule of the paper's Section 3 without constraints,
//
//	∂θ/∂input = −∇²F(θ)⁻¹ · ∂∇F/∂input.
//
// The Hessian is assembled from as many products as there are parameters, so
// Custom is for a moderate number of them (some hundreds).
//
// With Objective set the value is ready for Load. A Custom is its own
// workspace; fits and products allocate only what the objective's functions
// do. It must not be shared between goroutines.
type Custom struct {
	Objective SmoothObjective
	MaxIter   int // Newton steps of one fit at most; zero: 200

	data         Data
	n            int // features
	theta        []float64
	hyper        []float64
	g, step      []float64
	cand, gc     []float64
	point, mid   []float64 // work of noise
	left, right  []float64 // likewise
	h, dinv      []float64
	warm, fitted bool
	factor       bool // h, dinv belong to theta
}

// Dims returns the dimensions of the objective.
func (l *Custom) Dims(n int) (theta, hyper int) { return l.Objective.dims(n) }

// Load makes d the data of the following fits. It keeps a reference to d.
// Errors are ArgErrors of kind ErrShape or ErrNotFinite; after one, the learner
// has no data.
func (l *Custom) Load(d Data) error {
	l.fitted = false
	l.data = Data{}
	if err := d.Check(); err != nil {
		l.warm = false
		return err
	}
	_, n := d.X.Dims()
	if k, _ := l.Dims(n); n != l.n || k != len(l.theta) {
		buf := make([]float64, 10*k+k*k)
		take := func(m int) []float64 {
			s := buf[:m:m]
			buf = buf[m:]
			return s
		}
		l.n, l.warm = n, false
		l.theta, l.g, l.step, l.cand, l.gc, l.dinv, l.h = take(k), take(k), take(k), take(k), take(k), take(k), take(k*k)
		l.point, l.mid, l.left, l.right = take(k), take(k), take(k), take(k)
	}
	l.data = d
	return nil
}

// Reset forgets the warm start and the last fit. The data stays loaded.
func (l *Custom) Reset() { l.warm, l.fitted = false, false }

// Fit minimises F at hyper and writes θ, from θ = 0 or the last solution.
// Errors: an ArgError that matches ErrShape, ErrNotFinite or ErrDomain for
// hyper, ErrNotFitted without data, ErrNotFinite where F has no finite gradient
// at the start, ErrIllPosed where the Hessian is not positive definite,
// ErrIterationLimit. After an error there is no fit, and θ is left as it was.
func (l *Custom) Fit(theta, hyper []float64) error {
	l.fitted, l.factor = false, false
	if l.data.X == nil {
		return errNotLoaded
	}
	if len(theta) != len(l.theta) {
		panic("qpdiff: theta has the wrong length")
	}
	if err := l.Objective.checkHyper(hyper); err != nil {
		return err
	}
	l.hyper = append(l.hyper[:0], hyper...)
	warm := l.warm
	l.warm = false
	if !warm {
		clear(l.theta)
	}
	err := l.minimise()
	if err != nil && warm {
		clear(l.theta)
		err = l.minimise()
	}
	if err != nil {
		return err
	}
	copy(theta, l.theta)
	l.warm, l.fitted = true, true
	return nil
}

// minimise runs Newton's method from l.theta. A step is cut to where the slope
// along it is still negative but no more than half of what it was; convexity
// makes that a descent.
func (l *Custom) minimise() error {
	o := &l.Objective
	limit := l.MaxIter
	if limit <= 0 {
		limit = 200
	}
	o.Gradient(l.g, l.theta, l.data, l.hyper)
	if err := checkFinite("Objective.Gradient", "scale the data", l.g); err != nil {
		return err
	}
	for range limit {
		if err := l.factorise(); err != nil {
			return err
		}
		for j, v := range l.g {
			l.step[j] = -v
		}
		l.solve(l.step)
		slope := dot(l.g, l.step)
		length, size := l.whitened(l.step), l.whitened(l.theta)
		if length <= customLastStep*size {
			return l.last()
		}
		if !(slope < 0) {
			return l.singular()
		}
		lo, hi, t := 0.0, 1.0, 1.0
		for range 100 {
			for j, v := range l.theta {
				l.cand[j] = v + t*l.step[j]
			}
			o.Gradient(l.gc, l.cand, l.data, l.hyper)
			if t == 1 && l.noise() {
				return l.last()
			}
			s := dot(l.gc, l.step)
			if t == 1 && math.Abs(s) <= -slope/2 || s <= 0 && s >= slope/2 {
				break
			}
			if s < slope/2 && t == 1 {
				break // further than a whole step the model says nothing
			}
			if s < slope/2 {
				lo = t
			} else {
				hi = t // also where the gradient overflows
			}
			t = (lo + hi) / 2
		}
		if err := checkFinite("Objective.Gradient", "scale the data", l.gc); err != nil {
			return err
		}
		l.theta, l.cand = l.cand, l.theta
		l.g, l.gc = l.gc, l.g
	}
	return argErrorf("Custom.MaxIter", ErrIterationLimit, "raise it, or scale the features", "allows %d Newton steps, which are not enough", limit)
}

// customLastStep is the length of a step, relative to θ, from which it is the
// last: quadratic convergence leaves its square. From 1e-15 to 1e-8 it only
// decides whether there is one more step.
const customLastStep = 1e-10

// whitened returns the largest entry of √D·Lᵀx for the factorised Hessian LDLᵀ:
// the squares of those entries sum to xᵀ∇²F·x, so that no unit of a parameter
// counts. (The sum of squares itself can overflow.)
func (l *Custom) whitened(x []float64) (size float64) {
	k := len(x)
	for i, inv := range l.dinv {
		var sum float64 // of √d rather than d, which may overflow
		for j, h := range l.h[i*k+i : (i+1)*k] {
			sum += x[i+j] * (h * math.Sqrt(inv))
		}
		size = max(size, math.Abs(sum))
	}
	return size
}

// last takes the last step, unless the Hessian is too ill-conditioned to trust it.
func (l *Custom) last() error {
	k := len(l.theta)
	if unsolvable(ldlCond(l.h, l.dinv, k, k, l.cand, l.gc)) {
		return l.singular()
	}
	axpy(1, l.step, l.theta)
	l.factor = false
	return nil
}

const (
	// bendTol is how far the Hessian at the end of a step may be from that at its
	// start, along the step and as a part of the gradient, for the gradient to be
	// rounding. It leaves room for rounding at a condition that [unsolvable]
	// accepts, 1/256.
	bendTol = 1. / 16
	// jumpTol is the least jump of the gradient, as a part of it, that makes it
	// rounding: the sum over some thousand rows jumps by the rounding of one.
	jumpTol = 1. / 64
	// jumpHalvings: a gradient that jumps within 2⁻⁵⁰ of a step is not smooth to
	// working precision.
	jumpHalvings = 50
)

// noise reports whether the gradient gc at cand, after a whole step from theta, is
// rounding: it has not shrunk, as the Hessian at both ends says it should, and
// somewhere on the way it jumps. The ends alone do not show a loss that is flat at
// both of them.
func (l *Custom) noise() bool {
	// In units that make the diagonal of the Hessian about 1, which has these
	// pivots. Not-a-number is no noise.
	norm := func(v func(j int) float64) (size float64) {
		for j, d := range l.dinv {
			size = max(size, math.Abs(v(j))*math.Sqrt(d))
		}
		return size
	}
	before := norm(func(j int) float64 { return l.g[j] })
	if !(norm(func(j int) float64 { return l.gc[j] }) > before/4) {
		return false
	}
	o := &l.Objective
	o.HessianProduct(l.mid, l.step, l.cand, l.data, l.hyper)
	if !(norm(func(j int) float64 { return l.mid[j] + l.g[j] }) <= bendTol*before) {
		return false
	}
	copy(l.left, l.g)
	copy(l.right, l.gc)
	at, width := 0.0, 1.0 // the part of the step where the gradient jumps most
	for range jumpHalvings {
		width /= 2
		for j, v := range l.theta {
			l.point[j] = v + (at+width)*l.step[j]
		}
		o.Gradient(l.mid, l.point, l.data, l.hyper)
		below := norm(func(j int) float64 { return l.mid[j] - l.left[j] + width*l.g[j] })
		above := norm(func(j int) float64 { return l.right[j] - l.mid[j] + width*l.g[j] })
		if !(max(below, above) > jumpTol*before) {
			return false
		}
		if below > above {
			l.right, l.mid = l.mid, l.right
		} else {
			l.left, l.mid = l.mid, l.left
			at += width
		}
	}
	return true
}

// factorise assembles and factorises the Hessian at theta.
func (l *Custom) factorise() error {
	k := len(l.theta)
	v := l.gc
	for i := range k {
		clear(v)
		v[i] = 1
		l.Objective.HessianProduct(l.h[i*k:(i+1)*k], v, l.theta, l.data, l.hyper)
	}
	if err := checkFinite("Objective.HessianProduct", "scale the data", l.h); err != nil {
		return err
	}
	if ldlFactor(l.h, l.dinv, k, k, eps) < k {
		return l.singular()
	}
	l.factor = true
	return nil
}

func (l *Custom) singular() error {
	return argErrorf("Objective", ErrIllPosed, "add a ridge penalty", "has a Hessian that is not positive definite to working precision")
}

// solve replaces x by the factorised Hessian's inverse times x.
func (l *Custom) solve(x []float64) {
	k := len(x)
	ldlForward(l.h, l.dinv, k, k, x)
	ldlBack(l.h, l.dinv, k, k, x)
}

// VJP adds dthetaᵀ·∂θ/∂input at the last fit to each field of g that is not
// nil. Errors: ErrNotFitted; an ArgError of kind ErrNotFinite for dtheta;
// ErrIllPosed where the Hessian is singular to working precision; ErrNotFinite
// where a product overflows, which leaves g undefined.
func (l *Custom) VJP(w *Workspace, g *Grad, dtheta []float64) error {
	if !l.fitted {
		return errNotFitted
	}
	if len(dtheta) != len(l.theta) {
		panic("qpdiff: dtheta has the wrong length")
	}
	checkGrad(g, len(l.hyper), len(l.data.Y), l.n)
	if err := checkFinite("dtheta", "give a finite cotangent", dtheta); err != nil {
		return err
	}
	if !l.factor {
		if err := l.factorise(); err != nil {
			return err
		}
	}
	for j, v := range dtheta {
		l.step[j] = -v
	}
	l.solve(l.step)
	l.Objective.CrossProduct(g, l.step, l.theta, l.data, l.hyper)
	return checkProduct(g)
}
