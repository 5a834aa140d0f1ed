package cvgm

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// An Objective returns f(x) and, where grad is not nil, overwrites grad with
// ∇f(x). Value and gradient come together because they share every fit.
type Objective func(grad, x []float64) (float64, error)

// A Problem is what a Searcher minimises: an objective over a constraint set,
// which is a box or what Project projects onto. No searcher evaluates the
// objective outside it, or at coordinates that are not finite.
//
// An objective returns an error where it has no value. NaN and −Inf are errors
// of kind [qpdiff.ErrNotFinite] at every point. So are, at the start of a
// search, a loss of +Inf and a gradient that is not finite. Later both are a
// failed trial to [QuasiNewton] and [AdaptiveGradient], which shorten the step;
// [CMAES] and [Bayesian] rank +Inf last; the other searchers with gradient end
// with an error. [GridSearch] and [RandomSearch] have no start: +Inf is a loss
// to them.
type Problem struct {
	Objective Objective
	// Lower and Upper bound x entry by entry; infinite entries bound nothing.
	// Nil: no bounds on that side.
	Lower, Upper []float64
	// Project moves x, in place, to the nearest point of a convex set that is
	// no box. Nil: the set is the box. Searchers that need a box refuse others.
	Project func(x []float64)
	// Generalised reports whether the last gradient is an element of the
	// generalised derivative at a kink. It is called after each gradient and
	// marks the [Step]. Nil: never.
	Generalised func() bool

	// scale holds the scales that an enclosing searcher has determined; zero
	// where it could not. Nil: see scales.
	scale []float64
	// shifted: x has no zero, so that scales do not grow with |x|.
	shifted bool
}

func (p Problem) project(x []float64) {
	if p.Project != nil {
		p.Project(x)
		return
	}
	for i, l := range p.Lower {
		x[i] = max(x[i], l)
	}
	for i, u := range p.Upper {
		x[i] = min(x[i], u)
	}
}

// check reports what no searcher can start from.
func (p Problem) check(x0 []float64) error {
	switch {
	case p.Objective == nil:
		return badArg("Problem.Objective", qpdiff.ErrShape, "give a function, for example CV.Eval", "is nil")
	case len(x0) == 0:
		return badArg("x0", qpdiff.ErrShape, "start from at least one coordinate", "is empty")
	case p.Project != nil && (p.Lower != nil || p.Upper != nil):
		return badArg("Problem.Project", qpdiff.ErrDomain, "give either bounds or a projection", "stands beside bounds")
	}
	for _, side := range []struct {
		name   string
		bounds []float64
	}{{"Problem.Lower", p.Lower}, {"Problem.Upper", p.Upper}} {
		if side.bounds != nil && len(side.bounds) != len(x0) {
			return badArg(side.name, qpdiff.ErrShape, "give one bound per coordinate of x0, infinite where there is none",
				"has %d entries for %d coordinates", len(side.bounds), len(x0))
		}
	}
	for i, x := range x0 {
		if !finite(x) {
			return badArg("x0", qpdiff.ErrNotFinite, "start from finite numbers", "holds %v at index %d", x, i)
		}
		if lo, up := p.bounds(i); !(lo <= up) || math.IsInf(lo, 1) || math.IsInf(up, -1) {
			return badArg("Problem.Lower", qpdiff.ErrDomain, "use lower bounds at or below the upper ones", "to Upper is [%v, %v] at index %d", lo, up, i)
		}
	}
	return nil
}

// bounds returns the interval of coordinate i.
func (p Problem) bounds(i int) (lower, upper float64) {
	lower, upper = math.Inf(-1), math.Inf(1)
	if p.Lower != nil {
		lower = p.Lower[i]
	}
	if p.Upper != nil {
		upper = p.Upper[i]
	}
	return lower, upper
}

// box reports a constraint set that is no box.
func (p Problem) box(searcher string) error {
	if p.Project != nil {
		return badArg("Problem.Project", qpdiff.ErrDomain, "use a searcher that projects, for example AdaptiveGradient", "is not a box, which %s needs", searcher)
	}
	return nil
}

// A Step is one evaluation of a search. Its slices belong to the searcher and
// hold until the next step; copy what you keep.
type Step struct {
	X           []float64 // where the objective was evaluated
	Loss        float64   // its value there
	Grad        []float64 // its gradient there; nil where the searcher uses none
	Evaluations int       // of the objective in this search, this one included: 1, 2, …
	// Converged: the searcher's test of convergence holds at X; see [Searcher].
	Converged bool
	// Generalised: X is at a kink, and Grad is an element of the generalised
	// derivative there.
	Generalised bool
}

// A Searcher minimises a Problem, one evaluation at a time. The sequence ends
// when the searcher has converged or spent its budget; what else should stop
// it, be recorded or be tested is the body of the caller's loop. After an
// error, given with the X where it arose, the sequence ends.
//
// Searchers are independent of units. A coordinate whose bounds fix its sign
// has the scale |x0|: it is a penalty or a width. Any other is a weight, whose
// |x0| may be small by chance: its scale is the width of its bounds or, where
// that is infinite, the largest |x0| of all such coordinates. Where this is zero
// the scale is the first of the following that is not: |lower|, |upper|, the
// largest scale of the other coordinates, |f|/‖∇f‖∞ at the start, 1.
//
// Where coordinates have different units, [QuasiNewton], [CMAES], [Bayesian] and
// [LogSpace] still make the same steps. Searchers with a StepSize do not, for
// it has one unit; neither does [AdaptiveGradient], which has one step size, nor
// a search over a set that is no box. From a start of 0 without bounds a
// coordinate has the unit of the others.
//
// A searcher with gradient has converged where moves within the scales lower
// the loss, to first order, by at most Tol·|f(x)| in total. The scale of a
// coordinate here is at least |x| and the length of the searcher's next step.
// Where the loss tends to zero, Tol·|f(x0)| suffices if the secant between the
// last two gradients, met within √Tol of the scales, puts the minimum within Tol
// of them. For a convex
// loss the first test bounds what is left to gain within the scales. A negative
// Tol is never reached.
type Searcher interface {
	Search(p Problem, x0 []float64) iter.Seq2[Step, error]
}

// Best runs a search to its end and returns the step of lowest loss, with
// slices of its own. With an error it returns the best step before it. A search
// without steps, or without a finite loss, is an error of kind
// [qpdiff.ErrNotFinite].
func Best(steps iter.Seq2[Step, error]) (Step, error) {
	best := Step{Loss: math.Inf(1)}
	for s, err := range steps {
		if err != nil {
			return best, err
		}
		if s.Loss < best.Loss {
			best = s.clone()
		}
	}
	if best.X == nil || math.IsInf(best.Loss, -1) {
		return best, noBest("steps", "loss")
	}
	return best, nil
}

func noBest(arg, value string) error {
	return badArg(arg, qpdiff.ErrNotFinite, "start the search where the "+value+" is finite", "have no finite %s", value)
}

// clone returns the step with slices of its own.
func (s Step) clone() Step {
	s.X = append([]float64(nil), s.X...)
	if s.Grad != nil {
		s.Grad = append([]float64(nil), s.Grad...)
	}
	return s
}

// A SearchError is the error of a search, with the place where it arose.
type SearchError struct {
	// Evaluations counts those of the objective up to the error, one that
	// failed included. It is 0 for settings or a problem that the searcher
	// refuses.
	Evaluations int
	X           []float64
	Err         error
}

func (e *SearchError) Error() string {
	if len(e.X) > 8 {
		return fmt.Sprintf("search evaluation %d: %v", e.Evaluations, e.Err)
	}
	return fmt.Sprintf("search evaluation %d at %v: %v", e.Evaluations, e.X, e.Err)
}

func (e *SearchError) Unwrap() error { return e.Err }

// A searchRun is a search under way: the Step that the caller sees, and the state
// that all searchers share.
type searchRun struct {
	Step
	p     Problem
	yield func(Step, error) bool
	limit int // evaluations

	first float64   // |f| at the start
	scale []float64 // of each coordinate, at the start
	moved float64   // the largest move from the evaluation before, in scales
	left  float64   // the way to the minimum by the secant of that move, in scales
	// X and Grad of the evaluation before this one.
	last, lastGrad []float64
	work           []float64
}

// search returns the evaluations that run makes. X starts as the projection of
// x0, and Grad, where wanted, as zeros. Bad settings, or a problem that nothing
// can start from, come back as the sequence's only element.
func search(p Problem, x0 []float64, limit int, gradient bool, settings error, run func(w *searchRun)) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		w := &searchRun{Step: Step{X: append([]float64(nil), x0...)}, p: p, yield: yield, limit: limit,
			work: make([]float64, len(x0))}
		if gradient {
			w.Grad, w.last, w.lastGrad = make([]float64, len(x0)), make([]float64, len(x0)), make([]float64, len(x0))
		}
		if settings == nil {
			settings = p.check(x0)
		}
		if settings == nil && limit < 0 {
			settings = badArg("MaxEvals", qpdiff.ErrDomain, "use a positive budget, or zero for the default", "is %d", limit)
		}
		if settings != nil {
			w.fail(settings)
			return
		}
		p.project(w.X)
		run(w)
	}
}

func (w *searchRun) fail(err error) {
	w.yield(w.Step, &SearchError{Evaluations: w.Evaluations, X: append([]float64(nil), w.X...), Err: err})
}

// eval evaluates at X and requires a finite loss and gradient. Where it returns
// false the search is over.
func (w *searchRun) eval() bool {
	if !w.evaluate() {
		return false
	}
	if !w.defined() {
		w.fail(badArg("Problem.Objective", qpdiff.ErrNotFinite, "start where it is finite, or use shorter steps", "is %v, with a gradient of norm %v", w.Loss, floats.Norm(w.Grad, math.Inf(1))))
		return false
	}
	return true
}

// defined reports whether loss and gradient are finite.
func (w *searchRun) defined() bool { return finite(w.Loss) && allFinite(w.Grad) }

func allFinite(v []float64) bool {
	for _, x := range v {
		if !finite(x) {
			return false
		}
	}
	return true
}

// evaluate evaluates at X, where the loss may be +Inf and the gradient not
// finite. Where it returns false the search is over.
func (w *searchRun) evaluate() bool {
	if !allFinite(w.X) {
		w.fail(badArg("x", qpdiff.ErrNotFinite, "bound the search, or use shorter steps", "is proposed for the next evaluation but is not finite"))
		return false
	}
	w.Evaluations++
	loss, err := w.p.Objective(w.Grad, w.X)
	switch {
	case err != nil:
	case loss != loss:
		err = badArg("Problem.Objective", qpdiff.ErrNotFinite, "return an error where it has no value", "is NaN")
	case math.IsInf(loss, -1):
		err = badArg("Problem.Objective", qpdiff.ErrNotFinite, "bound the search where it falls without end", "is -Inf")
	}
	if err != nil {
		w.fail(err)
		return false
	}
	w.Loss = loss
	w.Generalised = w.Grad != nil && w.p.Generalised != nil && w.p.Generalised()
	if w.Evaluations == 1 {
		w.measure()
	}
	w.moved, w.left = 0, math.Inf(1)
	if w.Grad == nil {
		return true
	}
	if w.Evaluations > 1 {
		var slope, change float64
		for i, x := range w.X {
			size := w.size(i, x)
			w.moved = max(w.moved, math.Abs(x-w.last[i])/size)
			slope = max(slope, math.Abs(w.Grad[i])*size)
			change = max(change, math.Abs(w.Grad[i]-w.lastGrad[i])*size)
		}
		if w.moved > 0 && change > 0 {
			w.left = w.moved * (slope / change)
		}
	}
	copy(w.last, w.X)
	copy(w.lastGrad, w.Grad)
	return true
}

// scales returns the scale of each coordinate by the rule that Searcher
// documents, as far as x0 and the bounds determine it; elsewhere zero.
func (p Problem) scales(x0 []float64) []float64 {
	if p.scale != nil {
		return slices.Clone(p.scale)
	}
	scales := make([]float64, len(x0))
	open := 0. // the largest |x0| of coordinates that may change sign
	for i, x := range x0 {
		lower, upper := p.bounds(i)
		switch width := upper - lower; {
		case lower >= 0 || upper <= 0:
			scales[i] = math.Abs(x)
		case finite(width):
			scales[i] = width
		default:
			open = max(open, math.Abs(x))
		}
	}
	for i := range scales {
		lower, upper := p.bounds(i)
		if scales[i] == 0 && lower < 0 && upper > 0 {
			scales[i] = open
		}
		for _, bound := range []float64{math.Abs(lower), math.Abs(upper)} {
			if scales[i] == 0 && finite(bound) {
				scales[i] = bound
			}
		}
	}
	if largest := slices.Max(scales); largest > 0 {
		for i, s := range scales {
			scales[i] = orDefault(s, largest)
		}
	}
	return scales
}

// measure sets the scales, and the loss that they go with.
func (w *searchRun) measure() {
	w.first = math.Abs(w.Loss)
	w.scale = w.p.scales(w.X)
	rest := w.first / floats.Norm(w.Grad, math.Inf(1))
	if w.Grad == nil || !(rest > 0 && finite(rest)) {
		rest = 1
	}
	for i, s := range w.scale {
		w.scale[i] = orDefault(s, rest)
	}
}

// size returns the scale of coordinate i at x, its value.
func (w *searchRun) size(i int, x float64) float64 {
	if w.p.shifted {
		return w.scale[i]
	}
	return max(w.scale[i], math.Abs(x))
}

// minShare bounds the share of a coordinate's scale in the largest from below,
// and of a standard deviation in the first: squares of shares, and their
// inverses, must not overflow.
const minShare = 1e-100

// shares returns each coordinate's scale as a share of the largest.
func (w *searchRun) shares() []float64 {
	shares := make([]float64, len(w.scale))
	for i, s := range w.scale {
		shares[i] = max(s/floats.Max(w.scale), minShare)
	}
	return shares
}

// length returns the length of a step from x that no curvature determines yet.
func (w *searchRun) length(x []float64) float64 {
	if l := floats.Norm(x, math.Inf(1)); l > 0 && !w.p.shifted {
		return l
	}
	return floats.Max(w.scale)
}

// next yields the evaluation and reports whether there is another.
func (w *searchRun) next(converged bool) bool {
	w.Converged = converged
	return w.yield(w.Step, nil) && !converged && w.Evaluations < w.limit
}

// pass yields what a search inside this one has yielded.
func (w *searchRun) pass(s Step, err error) bool {
	if err == nil {
		return w.yield(s, nil)
	}
	if inner, ok := err.(*SearchError); ok {
		err = inner.Err
	}
	w.Step = s
	w.fail(err)
	return false
}

const (
	// defaultTol is the Tol of searchers with gradient. Losses are exact to
	// about 1e-15 of themselves and gradients to about 1e-12 of loss over
	// scale; 1e-9 is above both, and below what a choice of hyperparameters
	// can depend on.
	defaultTol = 1e-9
	// unseenTol replaces a larger Tol as long as a searcher that derives its
	// steps from curvatures has met none. A gain below it is lost in the
	// rounding of the loss; any other may be one of very short scales, from
	// which a search leads away.
	unseenTol = 1e-15
)

// converged is the test that Searcher documents. next holds the lengths of the
// searcher's next step; nil: no curvature has determined them yet.
func (w *searchRun) converged(next []float64, tol float64) bool {
	if tol < 0 {
		return false
	}
	tol = orDefault(tol, defaultTol)
	if next == nil {
		tol = min(tol, unseenTol)
	}
	gain := w.gain(next)
	return gain <= tol*math.Abs(w.Loss) || gain <= tol*w.first && w.left <= tol && w.moved*w.moved <= tol
}

// gain returns how far moves within the scales lower the loss, to first order.
func (w *searchRun) gain(next []float64) float64 {
	size := func(i int) float64 {
		if next == nil {
			return w.size(i, w.X[i])
		}
		return max(w.size(i, w.X[i]), next[i])
	}
	gain := 0.
	if w.p.Project == nil {
		for i, g := range w.Grad {
			lower, upper := w.p.bounds(i)
			room := w.X[i] - lower
			if g < 0 {
				room = upper - w.X[i]
			}
			gain += math.Abs(g) * min(room, size(i))
		}
		return gain
	}
	// The coordinates of a general set move together: the largest entry of the
	// gradient goes with the largest scale. What the projection leaves of that
	// move counts in full, since a curved boundary hides the slope along it.
	top := floats.Norm(w.Grad, math.Inf(1))
	if top == 0 {
		return 0
	}
	var s float64
	for i := range w.X {
		s = max(s, size(i))
	}
	w.projectedStep(w.work, w.X, s/top)
	return top * floats.Distance(w.work, w.X, math.Inf(1))
}

// reach sets dst to the lengths of the step to P(x − s·∇f).
func (w *searchRun) reach(dst []float64, s float64) []float64 {
	w.projectedStep(dst, w.X, s)
	for i, x := range w.X {
		dst[i] = math.Abs(dst[i] - x)
	}
	return dst
}

// projectedStep sets dst to P(x − s·∇f).
func (w *searchRun) projectedStep(dst, x []float64, s float64) {
	floats.AddScaledTo(dst, x, -s, w.Grad)
	w.p.project(dst)
}

func checkStep(name string, s float64) error {
	if !(s > 0) || math.IsInf(s, 1) {
		return badArg(name+".StepSize", qpdiff.ErrDomain, "use a positive step size", "is %v", s)
	}
	return nil
}

// ProjectedGradient is the method of the paper's Algorithm 1 with a constant
// step size: x ← P(x − s·∇f(x)).
type ProjectedGradient struct {
	StepSize float64 // s > 0, required; in units of x²/f
	MaxEvals int     // evaluations at most; zero: 1000
	Tol      float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0 and yields every iterate before it is
// left, with its gradient. It also ends, without Converged, where a step is too
// short to change x; a negative Tol prevents that.
func (m ProjectedGradient) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return search(p, x0, orDefault(m.MaxEvals, 1000), true, checkStep("ProjectedGradient", m.StepSize), func(w *searchRun) {
		next, reach := make([]float64, len(x0)), make([]float64, len(x0))
		for w.eval() {
			w.projectedStep(next, w.X, m.StepSize)
			if !w.next(w.converged(w.reach(reach, m.StepSize), m.Tol)) || m.Tol >= 0 && floats.Equal(next, w.X) {
				return
			}
			copy(w.X, next)
		}
	})
}

// GridSearch evaluates the objective on the full grid of the given values, the
// first coordinate outermost.
type GridSearch struct {
	Values [][]float64 // per coordinate
}

// maxGrid bounds the points of a grid. Years of evaluations are a mistake in the
// values, and an int must hold their number.
const maxGrid = min(1<<40, math.MaxInt)

// Search ignores x0 beyond its length. Points are projected onto the
// constraint set.
func (m GridSearch) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	var settings error
	if len(m.Values) != len(x0) {
		settings = badArg("GridSearch.Values", qpdiff.ErrShape, "give a list of values for every coordinate of x0",
			"has %d lists for %d coordinates", len(m.Values), len(x0))
	}
	total := 1
	for i, v := range m.Values {
		if len(v) == 0 {
			settings = badArg("GridSearch.Values", qpdiff.ErrShape, "give at least one value", "is empty for coordinate %d", i)
			break
		}
		if len(v) > maxGrid/total {
			settings = badArg("GridSearch.Values", qpdiff.ErrDomain, "use fewer values or another searcher", "has more than %d points", maxGrid)
			break
		}
		total *= len(v)
	}
	return search(p, x0, total, false, settings, func(w *searchRun) {
		for {
			rest := w.Evaluations
			for i := len(x0) - 1; i >= 0; i-- {
				n := len(m.Values[i])
				w.X[i] = m.Values[i][rest%n]
				rest /= n
			}
			p.project(w.X)
			if !w.evaluate() || !w.next(false) {
				return
			}
		}
	})
}

// RandomSearch evaluates the objective at points drawn one by one.
type RandomSearch struct {
	Source Source
	// Draw fills x with the next point; the draws of a search are the only
	// ones it makes from the source.
	Draw     func(src Source, x []float64)
	MaxEvals int // points drawn; zero: 100
}

// LogUniform draws every coordinate as base-10 logarithm from [lo, hi).
func LogUniform(lo, hi float64) func(src Source, x []float64) {
	return func(src Source, x []float64) {
		for i := range x {
			x[i] = math.Pow(10, lo+(hi-lo)*src.Float64())
		}
	}
}

// Search ignores x0 beyond its length. Points are projected onto the
// constraint set.
func (m RandomSearch) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	var settings error
	if m.Source == nil || m.Draw == nil {
		settings = badArg("RandomSearch", qpdiff.ErrShape, "set Source and Draw, for example to LogUniform(-4, -1)", "lacks Source or Draw")
	}
	return search(p, x0, orDefault(m.MaxEvals, 100), false, settings, func(w *searchRun) {
		for {
			m.Draw(m.Source, w.X)
			p.project(w.X)
			if !w.evaluate() || !w.next(false) {
				return
			}
		}
	})
}

func orDefault[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
