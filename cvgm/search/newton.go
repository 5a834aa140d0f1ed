package search

import (
	"cmp"
	"iter"
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Newton is Newton's method with a trust region, for boxes. Let H be the Hessian of the loss f. A
// step d minimises the model ∇fᵀd + ½dᵀHd over all d that stay within the bounds and change each
// coordinate by at most the radius, in units of the coordinate's scale. If H has directions of
// negative curvature, a step along them ends at a bound or at the radius. The point after the step is
// accepted if it lowers the loss. The fall of the loss, divided by the fall of the model, changes the
// radius (Conn, Gould and Toint 2000, chapter 6). A step may end at a local minimum of the model.
//
// Newton requires a box, an exact gradient and Problem.Hessian. It computes the Hessian once at each
// accepted point. On cross-validation losses of 3 to 60 penalties, in logarithms, the median search
// needed half of the evaluations of [QuasiNewton]. With several local minima the two searches may end
// at different ones. In addition to its evaluations, a step for n coordinates costs some n³ operations,
// and more if it reaches many bounds.
type Newton struct {
	FirstStep float64 // the first radius; zero: 1
	MaxStep   float64 // the largest radius; zero: no limit
	MaxEvals  int     // evaluations at most, with the rejected points; zero: 1000
	Tol       float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0. It yields every evaluation, including the rejected points. If
// all points of shorter and shorter steps are rejected, as happens at a kink, the search ends without
// Converged.
func (m Newton) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	settings := args.First(p.box("Newton"), p.exact("Newton"), checkFirstStep("Newton", m.FirstStep),
		args.BadIf(!(m.MaxStep >= 0), "Newton.MaxStep", qpdiff.ErrDomain, "use a positive multiple of the scale, or zero for none", "is %v", m.MaxStep),
		args.BadIf(p.Objective != nil && p.Hessian == nil, "Problem.Hessian", qpdiff.ErrEmpty, "give the Hessian, or use QuasiNewton", "is nil, and Newton needs it"))
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, settings, func(w *searchRun) { m.run(w) })
}

const (
	// The radius shrinks if the loss falls by less than poorRatio times the fall of the model. It grows
	// by the factor radiusGrowth if the loss falls by more than goodRatio times the fall of the model,
	// and the step is longer than nearRadius times the radius.
	poorRatio, goodRatio, radiusGrowth, nearRadius = .25, .75, 2, .9
	// leastDiagonal is the smallest entry of the preconditioner, relative to the largest entry, in units
	// of the scales. Then no quotient overflows if a loss does not depend on a coordinate.
	leastDiagonal = 1e-12
)

// A hessianMatrix is the Hessian as matrix of a model.
type hessianMatrix struct {
	h    *mat.SymDense
	diag []float64 // of the preconditioner
}

func (c *hessianMatrix) diagonal() []float64 { return c.diag }

func (c *hessianMatrix) times(dst, v []float64) {
	blas64.Symv(1, c.h.RawSymmetric(), blas64.Vector{N: len(v), Inc: 1, Data: v}, 0, blas64.Vector{N: len(dst), Inc: 1, Data: dst})
}

// isFinite reports whether all entries of the Hessian are finite.
func (c *hessianMatrix) isFinite() bool {
	raw := c.h.RawSymmetric()
	for i := range raw.N {
		if !args.AllFinite(raw.Data[i*raw.Stride+i : i*raw.Stride+raw.N]) {
			return false
		}
	}
	return true
}

// A newtonDescent is a Newton search under way. Its model has the Hessian in place of the estimate B.
type newtonDescent struct {
	*descent
	hessian            hessianMatrix
	radius, mostRadius float64
	// leastLength is the length below which no step from x is tried: minStep times the length of the
	// first step from x, or minStep for a step that is longer than the scales.
	leastLength float64
}

func (m Newton) run(w *searchRun) {
	if !w.eval() {
		return
	}
	n, most := len(w.X), min(cmp.Or(m.MaxStep, math.MaxFloat64), math.MaxFloat64)
	r := &newtonDescent{descent: newDescent(QuasiNewton{Tol: m.Tol}, w), radius: min(cmp.Or(m.FirstStep, 1), most), mostRadius: most}
	r.hessian = hessianMatrix{mat.NewSymDense(n, nil), make([]float64, n)}
	r.lengthKnown = true
	for more := r.arrive(); more; {
		more = r.takeTrial()
	}
}

// arrive accepts X and computes the Hessian and the step from X. It then yields the evaluation, also
// if the Hessian fails. It returns false when the search ends.
func (r *newtonDescent) arrive() bool {
	w := r.w
	err := w.p.Hessian(r.hessian.h)
	if err == nil && !r.hessian.isFinite() {
		err = args.Bad("Problem.Hessian", qpdiff.ErrNotFinite, "start where it is finite, or use QuasiNewton", "has an entry that is not finite")
	}
	if err != nil {
		if w.yieldStep(false) {
			w.fail(err)
		}
		return false
	}
	r.accept()
	r.setDiagonal()
	r.proposeWithin()
	r.leastLength = minStep * min(r.stepLength(), 1)
	return w.yieldStep(r.converged())
}

// setDiagonal computes the preconditioner: the larger of |H_ii| and |∇f_i|/scale_i, but at least
// leastDiagonal.
func (r *newtonDescent) setDiagonal() {
	unit, largest := 0., 0.
	for i, x := range r.x {
		unit = max(unit, r.w.scaleAt(i, x))
	}
	_, exponent := math.Frexp(unit)
	unit = math.Ldexp(.5, exponent) // a power of two: changes of units by powers of two then change no bit
	share := func(i int) float64 { return max(r.w.scaleAt(i, r.x[i])/unit, minShare) }
	diag := r.hessian.diag
	for i := range diag {
		diag[i] = max(math.Abs(r.hessian.h.At(i, i))*share(i)*share(i), math.Abs(r.grad[i])*share(i)/unit)
		largest = max(largest, diag[i])
	}
	for i := range diag {
		diag[i] = max(diag[i], leastDiagonal*largest) / share(i) / share(i)
	}
}

// proposeWithin sets d to the step from x to the minimiser of the model within the radius.
func (r *newtonDescent) proposeWithin() {
	for i, x := range r.x {
		r.box.maxMove[i] = min(r.radius*r.w.scaleAt(i, x), math.MaxFloat64)
	}
	r.box.minimise(r.d, r.x, r.grad, &r.hessian)
}

// stepLength returns the length of d, which is at most the radius.
func (r *newtonDescent) stepLength() (length float64) {
	for i, v := range r.d {
		length = max(length, math.Abs(v)/r.w.scaleAt(i, r.x[i]))
	}
	return min(length, r.radius) // d or the quotient may overflow
}

// takeTrial evaluates at x + d. It then changes the radius, and accepts or rejects the point. It
// returns false when the search ends.
func (r *newtonDescent) takeTrial() bool {
	w, slope := r.w, floats.Dot(r.grad, r.d)
	r.hessian.times(r.y, r.d)
	gain, length := -slope-floats.Dot(r.d, r.y)/2, r.stepLength()
	r.setPoint(1)
	if !(gain > 0) || length < r.leastLength || floats.Equal(w.X, r.x) {
		return false
	}
	defined, more := r.tryPoint()
	if !more {
		return false
	}
	if !defined {
		r.radius = undefinedCut * length
		r.proposeWithin()
		return true
	}
	slopeThere := floats.Dot(w.Grad, r.d)
	ratio := (r.loss - w.Loss) / gain
	if max(gain, math.Abs(r.loss-w.Loss)) <= flatTol*math.Abs(r.loss) && math.Abs(slopeThere) <= -maxSlope*slope {
		ratio = 1 // rounding errors hide the fall of the loss
	}
	switch {
	case ratio > goodRatio && length > nearRadius*r.radius:
		r.radius = min(radiusGrowth*r.radius, r.mostRadius)
	case !(ratio >= poorRatio):
		r.radius = length * cubicStep(r.loss, slope, w.Loss, slopeThere)
	}
	if ratio > armijo {
		return r.arrive()
	}
	if !r.reject() {
		return false
	}
	r.proposeWithin()
	return true
}
