package search

import (
	"cmp"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// An Objective returns f(x). If grad is not nil, the objective overwrites grad with ∇f(x). One call
// computes the value and the gradient, because both come from the same fits.
type Objective func(grad, x []float64) (float64, error)

// A Problem is an objective with a constraint set, which a Searcher minimises. The constraint set
// is a box or the image of the function Project. No searcher evaluates the objective outside the
// constraint set, or at a point with a coordinate that is not finite.
//
// An objective returns an error at a point at which it has no value. A loss of NaN or −Inf ends a
// search with an error of kind [qpdiff.ErrNotFinite]. At the start of a search, a loss of +Inf or a
// gradient that is not finite also ends the search with this error. At later points, the effect of
// such a loss or gradient depends on the searcher:
//   - [QuasiNewton], [Newton] and [AdaptiveGradient] treat the point as a failed trial and shorten
//     the step.
//   - [CMAES] and [Bayesian] rank a loss of +Inf last.
//   - All remaining searchers with gradient end with an error.
//
// [GridSearch] and [RandomSearch] have no start and accept a loss of +Inf.
type Problem struct {
	Objective Objective
	// Lower and Upper are the bounds of the entries of x. An infinite bound does not limit its
	// entry. If Lower is nil, there are no lower bounds. If Upper is nil, there are no upper
	// bounds.
	Lower, Upper []float64
	// Project moves x, in place, to the nearest point of the constraint set. Set Project if the
	// constraint set is convex but not a box. If Project is nil, the set is the box of Lower and
	// Upper. Searchers that need a box return an error for other sets.
	Project func(x []float64)
	// Hessian sets h to the Hessian matrix of the objective at the point of the last evaluation,
	// which had a gradient. The matrix has one row for each coordinate. An error of Hessian ends the
	// search. [Newton] requires Hessian, and other searchers do not call it. CV.Hessian of package
	// cvgm is the Hessian of some CV losses.
	Hessian func(h *mat.SymDense) error
	// Generalised reports whether the last gradient is an element of the generalised derivative at a
	// kink. A search calls Generalised after each gradient and marks the [Step]. If Generalised is
	// nil, no gradient is marked.
	Generalised func() bool
	// Restart marks an objective that draws random numbers. Each evaluation of such an objective
	// returns an unbiased estimate of a loss, and the gradient of this estimate. A search calls
	// Restart before its first evaluation. Restart begins the stream of random numbers again, so a
	// second pass over the steps repeats the first pass. Some searchers compare single losses, or the
	// gradients at two points. These searchers return an error for random objectives; see [Searcher].
	// If Restart is nil, the objective has one value at each point.
	Restart func()

	// The field scale holds the scales of the coordinates, if an enclosing searcher has determined
	// them. A scale that it could not determine is zero. If scale is nil, the method Problem.scales
	// determines the scales.
	scale []float64
	// zeroIsArbitrary is true if the position of x = 0 has no meaning, as for logarithms. Scales
	// then do not grow with |x|.
	zeroIsArbitrary bool
}

func (p Problem) project(x []float64) {
	if p.Project != nil {
		p.Project(x)
		return
	}
	for i := range x {
		lower, upper := p.bounds(i)
		x[i] = min(max(x[i], lower), upper)
	}
}

// check returns an error if no searcher can start from x0.
func (p Problem) check(x0 []float64) error {
	checkBounds := func(name string, bounds []float64) error {
		return args.BadIf(bounds != nil && len(bounds) != len(x0), name, qpdiff.ErrShape, "give one bound per coordinate of x0, infinite where there is none",
			"has %d entries for %d coordinates", len(bounds), len(x0))
	}
	if err := args.First(
		args.BadIf(p.Objective == nil, "Problem.Objective", qpdiff.ErrEmpty, "give a function, for example CV.Eval", "is nil"),
		args.BadIf(len(x0) == 0, "x0", qpdiff.ErrEmpty, "start from at least one coordinate", "is empty"),
		args.BadIf(p.Project != nil && (p.Lower != nil || p.Upper != nil), "Problem.Project", qpdiff.ErrDomain, "give either bounds or a projection", "is given together with bounds"),
		checkBounds("Problem.Lower", p.Lower), checkBounds("Problem.Upper", p.Upper),
		args.CheckFinite("x0", x0, "start from finite numbers"),
	); err != nil {
		return err
	}
	for i := range x0 {
		if lo, up := p.bounds(i); !(lo <= up) || math.IsInf(lo, 1) || math.IsInf(up, -1) {
			return args.Bad("Problem.Lower", qpdiff.ErrDomain, "use lower bounds at or below the upper ones", "to Upper is [%v, %v] at index %d", lo, up, i)
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

// box returns an error if the constraint set is not a box.
func (p Problem) box(searcher string) error {
	return args.BadIf(p.Project != nil, "Problem.Project", qpdiff.ErrDomain, "use a searcher that projects, for example AdaptiveGradient", "is not a box, which %s needs", searcher)
}

// exact returns an error if the objective is random.
func (p Problem) exact(searcher string) error {
	return args.BadIf(p.Restart != nil, "Problem.Restart", qpdiff.ErrDomain, "use Adam, HeavyBall, ProjectedGradient or CMAES, or fix the draws",
		"marks a random objective, which %s cannot search: it compares values or gradients of single evaluations", searcher)
}

// The method scales returns the scale of each coordinate, as the documentation of Searcher defines
// it. A scale is zero if x0 and the bounds do not determine it.
func (p Problem) scales(x0 []float64) []float64 {
	if p.scale != nil {
		return slices.Clone(p.scale)
	}
	scales := make([]float64, len(x0))
	unboundedSize := 0. // the largest |x0| of coordinates that may change sign
	for i, x := range x0 {
		lower, upper := p.bounds(i)
		switch width := upper - lower; {
		case lower >= 0 || upper <= 0:
			scales[i] = math.Abs(x)
		case args.Finite(width):
			scales[i] = width
		default:
			unboundedSize = max(unboundedSize, math.Abs(x))
		}
	}
	for i := range scales {
		lower, upper := p.bounds(i)
		if scales[i] == 0 && lower < 0 && upper > 0 {
			scales[i] = unboundedSize
		}
		for _, bound := range []float64{math.Abs(lower), math.Abs(upper)} {
			if scales[i] == 0 && args.Finite(bound) {
				scales[i] = bound
			}
		}
	}
	if largest := slices.Max(scales); largest > 0 {
		for i, s := range scales {
			scales[i] = cmp.Or(s, largest)
		}
	}
	return scales
}
