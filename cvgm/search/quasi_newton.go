package search

import (
	"cmp"
	"iter"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// QuasiNewton is a limited-memory BFGS method for boxes. Let B be an estimate of the Hessian matrix
// of the loss f. A step d minimises the model ∇fᵀd + ½dᵀBd over all d that stay within the bounds.
// A line search along d then finds a point at which f is low enough (Armijo's rule, with cubic
// interpolation).
//
// B is a diagonal matrix plus BFGS updates. The updates come from the changes of the gradient over
// the last steps. If the curvature along a step is not positive, the update is damped (Powell
// 1978). The diagonal is updated by the changes over all steps since the last restart of the model
// (Gilbert and Lemaréchal 1989). After a restart, the diagonal is the same for every coordinate, in
// units of the coordinate's scale. A step can end exactly on a bound. One step may reach or leave
// many bounds.
//
// QuasiNewton requires a box and an exact gradient. A coordinate may never move if it starts a
// billion times below the values at which it affects the loss, because a change by its own size
// gains less than Tol. In addition to its evaluations, a step costs about a hundred products of
// vectors.
type QuasiNewton struct {
	// FirstStep limits the first step, and also the first step after each restart. Let the entries of
	// x and of the step be in units of their scales. The largest entry of the step is then at most
	// FirstStep times the largest |x_i|, or FirstStep if x is zero. This limit applies before the
	// bounds shorten the step. If FirstStep is zero, .2 is used.
	FirstStep float64
	// MaxStep limits the change of each entry in a step, in units of the entry's scale. If MaxStep is
	// zero, only the bounds limit the change.
	MaxStep  float64
	Memory   int     // steps remembered; zero: 10
	MaxEvals int     // evaluations at most, with the ones inside line searches; zero: 1000
	Tol      float64 // of the test of convergence; see [Searcher]; zero means 1e-9
}

// Search starts at the projection of x0. It yields every evaluation, including the points that the
// line search rejects. If the loss falls by less than 1e-8 of its value between two restarts of the
// model, as happens at a kink, the search ends without Converged.
func (m QuasiNewton) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.box("QuasiNewton"), p.exact("QuasiNewton"), checkFirstStep("QuasiNewton", m.FirstStep),
		args.BadIf(!(m.MaxStep >= 0), "QuasiNewton.MaxStep", qpdiff.ErrDomain, "use a positive multiple of the scale, or zero for none", "is %v", m.MaxStep),
		args.BadIf(m.Memory < 0, "QuasiNewton.Memory", qpdiff.ErrDomain, "use a positive number of steps, or zero for the default", "is %d", m.Memory))
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, settings, func(w *searchRun) { m.run(w) })
}

const (
	// A step must lower the loss by at least armijo times the gain that the slope at x predicts. A
	// step of a good model lowers the loss by half of this prediction. The value of armijo is so
	// small that all such steps are accepted. Steps that do not lower the loss are still rejected.
	armijo = 1e-4
	// Two losses are equal up to rounding if their relative difference is below flatTol, some dozen
	// times 2⁻⁵³. If the losses before and after a step are equal in this sense, the slopes along the
	// step decide whether it is accepted (Hager and Zhang 2005). The absolute slope after the step
	// must be at most maxSlope times the absolute slope at x.
	flatTol  = 1e-14
	maxSlope = .9
	// If the line search needed more than three trials for a step, the step must gain at least
	// kinkGain times the loss. A smaller gain shows that the descent follows a kink in very short
	// steps, because the curvatures of the model are wrong there.
	kinkGain = 1e-10
	// From one restart of the model to the next, the search must gain at least minGain times the
	// loss. minGain is far above the rounding error of a loss. At a kink, restarts gain only
	// rounding errors, and the search ends.
	minGain = 1e-8
	// The line search gives up when it has shortened a step to minStep times its original length. By
	// then, at least eleven successive trials were rejected. The rejections show that the slope of the
	// model is not the slope of the loss.
	minStep = 1e-10
	// If the loss or the gradient at a trial point is not finite, the step is shortened by the factor
	// undefinedCut. Without finite values, the line search cannot compute a length by interpolation.
	undefinedCut = .1
)

// A descent is a QuasiNewton search under way. It alternates between the model and the line search.
// The model proposes a step d from the accepted point x. The line search along d finds the next
// point.
type descent struct {
	QuasiNewton
	w     *searchRun
	b     *bfgsMatrix
	box   *boxModel
	units []float64 // of the coordinates, for the first B after a restart

	x, grad       []float64 // the last point accepted, its gradient and its loss
	loss          float64
	d             []float64 // the step from x that the model proposes
	restartLoss   float64   // the loss at the last restart
	lengthKnown   bool      // the length of d follows from a curvature: see converged
	confirmsStart bool      // a rejected step now confirms that the start is a minimum
	tol           float64

	lengths []float64 // |d|
	s, y    []float64 // the step from x to X and the change of the gradient; in propose, x and the gradient in the coordinates' units
}

func (m QuasiNewton) run(w *searchRun) {
	if !w.eval() || !w.yieldStep(w.converged(nil, m.Tol)) {
		return
	}
	r := newDescent(m, w)
	// If the search starts at a minimum, the first step is too long, because no curvature has
	// determined its length. The line search rejects the step, which confirms that the start is a
	// minimum.
	r.confirmsStart = r.tol > 0 && w.gain(nil) <= r.tol*math.Abs(w.Loss)
	r.accept()
	for more := r.propose(); more; r.confirmsStart = false {
		more = r.lineSearch()
	}
}

func newDescent(m QuasiNewton, w *searchRun) *descent {
	vector := func() []float64 { return make([]float64, len(w.X)) }
	return &descent{
		QuasiNewton: m, w: w, tol: cmp.Or(m.Tol, defaultTol),
		b:     newBFGSMatrix(len(w.X), cmp.Or(m.Memory, defaultMemory)),
		box:   newBoxModel(w.p, w.scale, cmp.Or(m.MaxStep, math.Inf(1))),
		units: w.relativeScales(), restartLoss: math.Inf(1),
		x: vector(), grad: vector(), d: vector(), lengths: vector(), s: vector(), y: vector(),
	}
}

// accept records X as the last accepted point.
func (r *descent) accept() {
	copy(r.x, r.w.X)
	copy(r.grad, r.w.Grad)
	r.loss = r.w.Loss
}

// propose sets d to the step from x to the minimiser of the model. It returns false if the model
// has to restart and the search has gained too little since the last restart.
func (r *descent) propose() bool {
	if r.b.isForgotten {
		if !(r.loss < r.restartLoss-minGain*math.Abs(r.loss)) {
			return false
		}
		r.restartLoss = r.loss
		floats.DivTo(r.s, r.x, r.units)
		floats.MulTo(r.y, r.grad, r.units)
		r.b.reset(floats.Norm(r.y, math.Inf(1))/(cmp.Or(r.FirstStep, .2)*r.w.firstLength(r.s)), r.units)
	}
	r.box.minimise(r.d, r.x, r.grad, r.b)
	return true
}

// restart returns to x, discards the curvatures of earlier steps, because the model with these
// curvatures is wrong, and proposes a step. It returns false when the search ends.
func (r *descent) restart() bool {
	r.b.isForgotten = true
	copy(r.w.X, r.x)
	return r.propose()
}

// converged reports whether the search has converged at X. The test uses the length of the model's
// step in each coordinate. Before the first curvature, or if the last curvature was damped, these
// lengths have no meaning, and the test does not use them.
func (r *descent) converged() bool {
	if !r.lengthKnown {
		return r.w.converged(nil, r.Tol)
	}
	for i, v := range r.d {
		r.lengths[i] = math.Abs(v)
	}
	return r.w.converged(r.lengths, r.Tol)
}

// lineSearch tries X = x + t·d for shorter and shorter t, until it accepts a point X. It then sets
// d to the step that the model proposes at this X. It returns false when the search ends.
func (r *descent) lineSearch() bool {
	w, slope := r.w, floats.Dot(r.grad, r.d)
	for t, trials := 1., 1; ; trials++ {
		r.setPoint(t)
		if !(slope < 0) || t < minStep || floats.Equal(w.X, r.x) {
			return r.restart()
		}
		defined, more := r.tryPoint()
		if !more {
			return false
		}
		if !defined {
			t *= undefinedCut
			continue
		}
		slopeThere := floats.Dot(w.Grad, r.d)
		if r.isLow(slope, slopeThere) {
			return r.takeStep(trials)
		}
		if !r.reject() {
			return false
		}
		t *= cubicStep(r.loss, slope*t, w.Loss, slopeThere*t)
	}
}

// tryPoint evaluates at X, and reports whether the loss and its gradient are finite at X. If they
// are not, tryPoint yields the evaluation. If they are finite, one of the methods takeStep and
// reject yields it later, and tests whether the search has converged. The result canContinue is
// false when the search ends.
func (r *descent) tryPoint() (defined, canContinue bool) {
	switch w := r.w; {
	case !args.AllFinite(w.X):
		return false, true
	case !w.evaluate():
		return false, false
	case !w.isFinite():
		return false, w.yieldStep(false)
	}
	return true, true
}

// reject yields the evaluation at the trial point X, at which the loss is too high. It returns
// false when the search ends. There are two reasons to end. In the first case, the search has
// converged at X, and the loss there exceeds the loss at the accepted point x by no more than the
// tolerance. In the second case, the rejection confirms that the start is a minimum.
func (r *descent) reject() bool {
	w := r.w
	if !w.yieldStep(w.Loss <= r.loss+r.tol*math.Abs(r.loss) && r.converged()) {
		return false
	}
	if !r.confirmsStart {
		return true
	}
	copy(w.X, r.x)
	if w.eval() {
		w.yieldStep(true)
	}
	return false
}

// setPoint sets X to x + t·d, within the bounds.
func (r *descent) setPoint(t float64) {
	floats.AddScaledTo(r.w.X, r.x, t, r.d)
	if t == 1 {
		r.box.snap(r.w.X, r.x, r.d)
	}
	r.w.p.project(r.w.X) // against rounding
}

// isLow reports whether the loss at X is low enough, and sets s to the step from x to X. The
// parameter slope is the slope along d at x, and slopeThere is the slope along d at X.
func (r *descent) isLow(slope, slopeThere float64) bool {
	floats.SubTo(r.s, r.w.X, r.x)
	return r.w.Loss <= r.loss+armijo*floats.Dot(r.grad, r.s) ||
		r.w.Loss <= r.loss+flatTol*math.Abs(r.loss) && math.Abs(slopeThere) <= -maxSlope*slope
}

// takeStep accepts the point X, which the line search found after the given number of trials. It
// returns false when the search ends.
func (r *descent) takeStep(trials int) bool {
	w := r.w
	floats.SubTo(r.y, w.Grad, r.grad)
	r.lengthKnown = r.b.add(r.s, r.y)
	if trials > 3 && w.Loss > r.loss-kinkGain*math.Abs(r.loss) {
		r.b.isForgotten = true // many trials with little gain: x is near a kink
	}
	r.accept()
	more := r.propose()
	return w.yieldStep(r.converged()) && more
}

// cubicStep returns the minimiser of a cubic on [0, 1]. The cubic has the value f0 and the slope g0
// < 0 at 0, and the value f1 and the slope g1 at 1. The result is limited to [.1, .5], because the
// loss f1 after the step to 1 was too high.
func cubicStep(f0, g0, f1, g1 float64) float64 {
	c := g0 + g1 - 3*(f1-f0)
	root := math.Sqrt(c*c - g0*g1)
	t := 1 - (g1+root-c)/(g1-g0+2*root)
	if !(t >= .1) {
		return .1
	}
	return min(t, .5)
}
