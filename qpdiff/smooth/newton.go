package smooth

import (
	"context"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/stop"
)

// smoothFit is a minimised [Objective], with its data and all values that the derivatives need. It
// computes the minimiser by Newton's method.
type smoothFit struct {
	state     learner.State
	objective Objective // as of the last fit, like hyper
	hyper     []float64
	theta     []float64

	// Scratch of minimise and isNoise.
	g, step, cand, gc       []float64
	h, dinv                 []float64
	point, mid, left, right []float64
}

// SetContext implements [learn.ContextLearner].
func (l *smoothFit) SetContext(ctx context.Context) { l.state.Stop.Watch(ctx) }

// resize allocates the storage for k parameters.
func (l *smoothFit) resize(k int) {
	dense.GrowAll(k, &l.theta, &l.g, &l.step, &l.cand, &l.gc, &l.dinv, &l.point, &l.mid, &l.left, &l.right)
	l.h = dense.Grow(l.h, k*k)
}

// minimise runs Newton's method from l.theta. It shortens a step until the slope at the end of the
// step is still negative, and its absolute value is at most half the absolute value of the slope at
// the start. Because F is convex, such a step lowers F.
func (l *smoothFit) minimise(limit int) error {
	o, k := &l.objective, len(l.theta)
	o.Gradient(l.g, l.theta, l.state.Data, l.hyper)
	if err := check.Finite("Objective.Gradient", "scale the data", l.g); err != nil {
		return err
	}
	for range limit {
		if err := l.factorise(&l.state.Stop, l.h, l.dinv, l.gc); err != nil {
			return err
		}
		for j, v := range l.g {
			l.step[j] = -v
		}
		dense.LDLSolve(l.h, l.dinv, k, k, l.step)
		slope := dense.Dot(l.g, l.step)
		length, size := l.whitenedNorm(l.step), l.whitenedNorm(l.theta)
		if length <= smoothLastStep*size {
			return l.lastStep()
		}
		if !(slope < 0) {
			return errSmoothSingular
		}
		if l.lineSearch(slope) {
			return l.lastStep()
		}
		if err := check.Finite("Objective.Gradient", "scale the data", l.gc); err != nil {
			return err
		}
		l.theta, l.cand = l.cand, l.theta
		l.g, l.gc = l.gc, l.g
	}
	return check.ArgErrorf("Learner.MaxIter", qpdiff.ErrIterationLimit, "raise it, or scale the features", "allows %d Newton steps, which are not enough", limit)
}

// lineSearch sets cand to theta plus a fraction of the step, and gc to the gradient at cand. It
// returns true if the gradient consists of rounding errors (see isNoise). The parameter slope is the
// slope of F at theta along the step.
func (l *smoothFit) lineSearch(slope float64) (rounding bool) {
	lo, hi, t := 0.0, 1.0, 1.0
	for range smoothBisections {
		l.state.Stop.Look()
		for j, v := range l.theta {
			l.cand[j] = v + t*l.step[j]
		}
		l.objective.Gradient(l.gc, l.cand, l.state.Data, l.hyper)
		if t == 1 && l.isNoise() {
			return true
		}
		s := dense.Dot(l.gc, l.step)
		if t == 1 && math.Abs(s) <= -slope/2 || s <= 0 && s >= slope/2 {
			break
		}
		if s < slope/2 && t == 1 {
			break // the model is not valid beyond a whole step
		}
		if s < slope/2 {
			lo = t
		} else {
			hi = t // also if the gradient overflows
		}
		t = (lo + hi) / 2
	}
	return false
}

// smoothBisections bounds the number of bisections of one step. After this number of bisections,
// the two ends of the interval are neighbouring float64 numbers.
const smoothBisections = 100

// smoothLastStep ends Newton's method: a step is the last if its length relative to θ is at most
// smoothLastStep. Convergence is quadratic, so the remaining error is about smoothLastStep². Any
// value from 1e-15 to 1e-8 would do, at the cost of at most one more step.
const smoothLastStep = 1e-10

// whitenedNorm returns the largest absolute entry of √D·Lᵀx, where LDLᵀ is the factorised Hessian.
// The squares of these entries sum to xᵀ∇²F·x, so the entries do not depend on the units of the
// parameters. whitenedNorm does not return the sum itself, because the sum can overflow.
func (l *smoothFit) whitenedNorm(x []float64) (size float64) {
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

// lastStep takes the last Newton step. If the Hessian is too ill-conditioned for an accurate step,
// it returns an error.
func (l *smoothFit) lastStep() error {
	k := len(l.theta)
	if dense.Unsolvable(dense.LDLCond(l.h, l.dinv, k, k, l.cand, l.gc)) {
		return errSmoothSingular
	}
	dense.Axpy(1, l.step, l.theta)
	return nil
}

const (
	// bendTol bounds the product of a step and the change of the Hessian over the step, relative to
	// the gradient. A gradient counts as rounding only if this product is at most bendTol. Rounding
	// contributes at most 1/256 to it if [dense.Unsolvable] accepts the condition number.
	bendTol = 1. / 16
	// A gradient counts as rounding only if somewhere along the step it jumps by more than jumpTol
	// times its size. For example, if a gradient consists of the rounding errors of a sum over several
	// thousand rows, it jumps by the rounding error of one row.
	jumpTol = 1. / 64
	// jumpHalvings is the number of halvings of a step in the search for a jump. The last piece has
	// 2⁻⁵⁰ of the step's length. If a gradient jumps within such a piece, it is not smooth to working
	// precision.
	jumpHalvings = 50
)

// isNoise reports whether the gradient gc at the point cand consists of rounding errors. This point
// is the end of a whole step from theta. Two conditions must hold. First, the gradient has not
// shrunk as the Hessians at both ends of the step predict. Second, it jumps somewhere along the
// step. The first condition alone does not suffice for a loss that is flat at both ends.
func (l *smoothFit) isNoise() bool {
	// norm returns the size of a gradient in units in which the Hessian has a diagonal of about 1; the
	// pivots give these units. The comparisons below have the form !(a > b), so that a NaN does not
	// count as noise.
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
	o := &l.objective
	o.HVP(l.mid, l.step, l.cand, l.state.Data, l.hyper)
	if !(norm(func(j int) float64 { return l.mid[j] + l.g[j] }) <= bendTol*before) {
		return false
	}
	copy(l.left, l.g)
	copy(l.right, l.gc)
	jumpAt, width := 0.0, 1.0 // the part of the step in which the gradient jumps most
	for range jumpHalvings {
		width /= 2
		for j, v := range l.theta {
			l.point[j] = v + (jumpAt+width)*l.step[j]
		}
		o.Gradient(l.mid, l.point, l.state.Data, l.hyper)
		below := norm(func(j int) float64 { return l.mid[j] - l.left[j] + width*l.g[j] })
		above := norm(func(j int) float64 { return l.right[j] - l.mid[j] + width*l.g[j] })
		if !(max(below, above) > jumpTol*before) {
			return false
		}
		if below > above {
			l.right, l.mid = l.mid, l.right
		} else {
			l.left, l.mid = l.mid, l.left
			jumpAt += width
		}
	}
	return true
}

// factorise computes the Hessian at theta in the matrix h. It writes the factor to h and dinv. The
// parameter v is scratch. factorise stops early if the context of stopper ends.
func (l *smoothFit) factorise(stopper *stop.Stop, h, dinv, v []float64) error {
	k := len(l.theta)
	for i := range k {
		stopper.Look()
		clear(v)
		v[i] = 1
		l.objective.HVP(h[i*k:(i+1)*k], v, l.theta, l.state.Data, l.hyper)
	}
	if err := check.Finite("Objective.HVP", "scale the data", h); err != nil {
		return err
	}
	if dense.LDLFactorUntil(stopper, h, dinv, k, k, dense.Eps) < k {
		return errSmoothSingular
	}
	return nil
}

// errSmoothSingular is the error of a Hessian that is not usable.
var errSmoothSingular = check.ArgErrorf("Objective", qpdiff.ErrIllPosed, "add a ridge penalty", "has a Hessian that is not positive definite to working precision")
