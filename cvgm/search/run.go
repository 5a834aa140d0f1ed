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

// A searchRun is a search in progress. It contains the Step that the caller receives, and the state
// that every kind of searcher needs.
type searchRun struct {
	Step
	p     Problem
	yield func(Step, error) bool
	limit int // evaluations

	startLoss    float64   // |f| at the start
	scale        []float64 // of each coordinate, at the start
	lastMove     float64   // the largest move from the evaluation before, in scales
	distanceLeft float64   // the distance to the minimum that the secant of the last move predicts, in scales
	// X and Grad of the evaluation before this one.
	lastX, lastGrad []float64
	work            []float64
}

// search returns the sequence of the evaluations that the function run makes. Before this call, X
// is the projection of x0. If wantGrad is true, search sets Grad to zeros; otherwise Grad is nil.
// The parameter settingsErr is nil or an error in the searcher's settings. If it is an error, or if
// the problem, x0 or limit is not valid, the sequence consists of an error only.
func search(p Problem, x0 []float64, limit int, wantGrad bool, settingsErr error, run func(w *searchRun)) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		w := &searchRun{Step: Step{X: slices.Clone(x0)}, p: p, yield: yield, limit: limit,
			work: make([]float64, len(x0))}
		if wantGrad {
			w.Grad, w.lastX, w.lastGrad = make([]float64, len(x0)), make([]float64, len(x0)), make([]float64, len(x0))
		}
		err := args.First(settingsErr, p.check(x0),
			args.BadIf(limit < 0, "MaxEvals", qpdiff.ErrDomain, "use a positive budget, or zero for the default", "is %d", limit))
		if err != nil {
			w.fail(err)
			return
		}
		p.project(w.X)
		if w.Random = p.Restart != nil; w.Random {
			p.Restart()
		}
		run(w)
	}
}

// drawingSearch does the work of the function search if a searcher uses no gradient and draws from
// its own source of random numbers.
func drawingSearch(p Problem, x0 []float64, limit int, settingsErr error, source func() Source, run func(w *searchRun, src Source)) iter.Seq2[Step, error] {
	return search(p, x0, limit, false, settingsErr, func(w *searchRun) {
		if source != nil {
			if src := source(); src != nil {
				run(w, src)
				return
			}
		}
		w.fail(args.Bad("Source", qpdiff.ErrEmpty, "give a function that returns a new source of random numbers", "is nil or returns nil"))
	})
}

func (w *searchRun) fail(err error) {
	w.yield(w.Step, &Error{Evaluations: w.Evaluations, X: slices.Clone(w.X), Err: err})
}

// eval evaluates the objective at X, and requires a finite loss and a finite gradient. It returns
// false when the search is over.
func (w *searchRun) eval() bool {
	if !w.evaluate() {
		return false
	}
	if !w.isFinite() {
		w.fail(args.Bad("Problem.Objective", qpdiff.ErrNotFinite, "start where it is finite, or use shorter steps", "is %v, with a gradient of norm %v", w.Loss, floats.Norm(w.Grad, math.Inf(1))))
		return false
	}
	return true
}

// isFinite reports whether loss and gradient are finite.
func (w *searchRun) isFinite() bool { return args.Finite(w.Loss) && args.AllFinite(w.Grad) }

// evaluate evaluates the objective at X. Unlike eval, it accepts a loss of +Inf and a gradient that
// is not finite. It returns false when the search is over.
func (w *searchRun) evaluate() bool {
	if !args.AllFinite(w.X) {
		w.fail(args.Bad("x", qpdiff.ErrNotFinite, "bound the search, or use shorter steps", "is proposed for the next evaluation but is not finite"))
		return false
	}
	w.Evaluations++
	loss, err := w.p.Objective(w.Grad, w.X)
	switch {
	case err != nil:
	case loss != loss:
		err = args.Bad("Problem.Objective", qpdiff.ErrNotFinite, "return an error where it has no value", "is NaN")
	case math.IsInf(loss, -1):
		err = args.Bad("Problem.Objective", qpdiff.ErrNotFinite, "bound the search where it falls without end", "is -Inf")
	}
	if err != nil {
		w.fail(err)
		return false
	}
	w.Loss = loss
	w.Generalised = w.Grad != nil && w.p.Generalised != nil && w.p.Generalised()
	if w.Evaluations == 1 {
		w.setScales()
	}
	w.lastMove, w.distanceLeft = 0, math.Inf(1)
	if w.Grad == nil {
		return true
	}
	if w.Evaluations > 1 {
		var slope, change float64
		for i, x := range w.X {
			size := w.scaleAt(i, x)
			w.lastMove = max(w.lastMove, math.Abs(x-w.lastX[i])/size)
			slope = max(slope, math.Abs(w.Grad[i])*size)
			change = max(change, math.Abs(w.Grad[i]-w.lastGrad[i])*size)
		}
		if w.lastMove > 0 && change > 0 {
			w.distanceLeft = w.lastMove * (slope / change)
		}
	}
	copy(w.lastX, w.X)
	copy(w.lastGrad, w.Grad)
	return true
}

// setScales sets the scales of the coordinates and the absolute loss at the start. Both follow from
// the evaluation at the start.
func (w *searchRun) setScales() {
	w.startLoss = math.Abs(w.Loss)
	w.scale = w.p.scales(w.X)
	rest := w.startLoss / floats.Norm(w.Grad, math.Inf(1))
	if w.Grad == nil || !(rest > 0 && args.Finite(rest)) {
		rest = 1
	}
	for i, s := range w.scale {
		w.scale[i] = cmp.Or(s, rest)
	}
}

// scaleAt returns the scale of coordinate i if its value is x.
func (w *searchRun) scaleAt(i int, x float64) float64 {
	if w.p.zeroIsArbitrary {
		return w.scale[i]
	}
	return max(w.scale[i], math.Abs(x))
}

// minShare is a lower bound for two ratios: a coordinate's scale divided by the largest scale, and
// a standard deviation divided by the standard deviation of the first step. With this bound,
// neither the squares of these ratios nor the inverses of the squares overflow.
const minShare = 1e-100

// relativeScales returns each coordinate's scale divided by the largest scale.
func (w *searchRun) relativeScales() []float64 {
	shares := make([]float64, len(w.scale))
	for i, s := range w.scale {
		shares[i] = max(s/floats.Max(w.scale), minShare)
	}
	return shares
}

// firstLength returns the largest |x_i|. If x is zero, or if the position of x = 0 has no meaning,
// it returns the largest scale. As long as no curvature is known, the length of a step is a share
// of firstLength.
func (w *searchRun) firstLength(x []float64) float64 {
	if l := floats.Norm(x, math.Inf(1)); l > 0 && !w.p.zeroIsArbitrary {
		return l
	}
	return floats.Max(w.scale)
}

// yieldStep yields the evaluation and reports whether the caller wants another.
func (w *searchRun) yieldStep(converged bool) bool {
	w.Converged = converged
	return w.yield(w.Step, nil) && !converged && w.Evaluations < w.limit
}

// yieldInner yields a step or an error of an inner search.
func (w *searchRun) yieldInner(s Step, err error) bool {
	if err == nil {
		return w.yield(s, nil)
	}
	if inner, ok := err.(*Error); ok {
		err = inner.Err
	}
	w.Step = s
	w.fail(err)
	return false
}

const (
	// defaultTol is the default Tol of searchers with gradient. The relative error of a loss is
	// about 1e-15. The error of a gradient is about 1e-12 times the loss divided by the scale. The
	// value 1e-9 is above both errors. It is also too small to affect the choice of
	// hyperparameters.
	defaultTol = 1e-9
	// Some searchers derive their steps from curvatures. Before the first curvature, they use
	// unseenTol instead of a larger Tol. A gain below unseenTol is lost in the rounding of the
	// loss. A larger gain must not end the search: it may be small only because the scales near the
	// start are very short. Scales grow when the search leaves the start.
	unseenTol = 1e-15
)

// converged applies the test that the documentation of Searcher describes. The argument lengths
// holds the length of the searcher's next step in each coordinate. It is nil if no curvature has
// determined these lengths yet.
func (w *searchRun) converged(lengths []float64, tol float64) bool {
	if tol < 0 || w.Random {
		return false
	}
	tol = cmp.Or(tol, defaultTol)
	if lengths == nil {
		tol = min(tol, unseenTol)
	}
	gain := w.gain(lengths)
	return gain <= tol*math.Abs(w.Loss) || gain <= tol*w.startLoss && w.distanceLeft <= tol && w.lastMove*w.lastMove <= tol
}

// gain returns the amount by which moves within the scales lower the loss, to first order. The
// argument lengths is the same as for the method converged.
func (w *searchRun) gain(lengths []float64) float64 {
	size := func(i int) float64 {
		if lengths == nil {
			return w.scaleAt(i, w.X[i])
		}
		return max(w.scaleAt(i, w.X[i]), lengths[i])
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
	// In a general set, a move changes all coordinates together. The move along −∇f has the length
	// of the largest scale, and is projected onto the set. The gain is the length of the projected
	// move times the largest entry of the gradient. The slope along the projected move would be no
	// measure of the gain: at a curved boundary this slope can be almost 0 for a long move.
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

// projectedMoves sets entry i of dst to |P(x − s·∇f)_i − x_i|, the change of coordinate i by a
// projected step of size s.
func (w *searchRun) projectedMoves(dst []float64, s float64) []float64 {
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
	return args.BadIf(!(s > 0) || math.IsInf(s, 1), name+".StepSize", qpdiff.ErrDomain, "use a positive step size", "is %v", s)
}

func checkFirstStep(name string, s float64) error {
	return args.BadIf(!(s >= 0) || math.IsInf(s, 1), name+".FirstStep", qpdiff.ErrDomain, "use a positive share of the scale, or zero for the default", "is %v", s)
}

func checkShare(name string, v float64) error {
	return args.BadIf(!(v >= 0 && v < 1), name, qpdiff.ErrDomain, "use a number from 0 to below 1", "is %v", v)
}
