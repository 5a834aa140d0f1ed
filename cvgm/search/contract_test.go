package search

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A contestant is a searcher and the accuracy that the contract test requires.
type contestant struct {
	name        string
	newSearcher func(budget int) Searcher
	// budget is the number of evaluations after which the loss must be within tol of a quadratic
	// function's minimum.
	budget int
	tol    float64
	// needsBox: it refuses a Project. gradient: its steps have one.
	needsBox, gradient bool
	// ownBudget is the number of evaluations that the searcher's settings determine, or 0 if
	// MaxEvals determines it.
	ownBudget int
}

func stream(purpose string) func() Source {
	return func() Source { return synth.NewStream(1, purpose) }
}

// draw is uniform on [−2, 2).
func draw(src Source, x []float64) {
	for i := range x {
		x[i] = 4*src.Float64() - 2
	}
}

func contestants() []contestant {
	grid := make([]float64, 33)
	for i := range grid {
		grid[i] = -2 + float64(i)/8
	}
	return []contestant{
		{name: "ProjectedGradient", newSearcher: func(b int) Searcher { return ProjectedGradient{StepSize: .2, MaxEvals: b} }, budget: 500, tol: 1e-12, gradient: true},
		{name: "HeavyBall", newSearcher: func(b int) Searcher { return HeavyBall{StepSize: .05, Momentum: .7, MaxEvals: b} }, budget: 500, tol: 1e-12, gradient: true},
		{name: "Nesterov", newSearcher: func(b int) Searcher { return Nesterov{StepSize: .2, MaxEvals: b} }, budget: 300, tol: 1e-12, gradient: true},
		{name: "Adam", newSearcher: func(b int) Searcher { return Adam{StepSize: .05, MaxEvals: b} }, budget: 600, tol: 1e-6, gradient: true, needsBox: true},
		{name: "AdaptiveGradient", newSearcher: func(b int) Searcher { return AdaptiveGradient{MaxEvals: b} }, budget: 300, tol: 1e-12, gradient: true},
		{name: "QuasiNewton", newSearcher: func(b int) Searcher { return QuasiNewton{MaxEvals: b} }, budget: 40, tol: 1e-12, gradient: true, needsBox: true},
		{name: "Newton", newSearcher: func(b int) Searcher { return Newton{MaxEvals: b} }, budget: 12, tol: 1e-12, gradient: true, needsBox: true},
		{name: "LogSpace Newton", newSearcher: func(b int) Searcher { return LogSpace{Newton{MaxEvals: b}} }, budget: 20, tol: 1e-12, gradient: true, needsBox: true},
		{name: "MultiStart", newSearcher: func(b int) Searcher {
			return MultiStart{Searcher: QuasiNewton{MaxEvals: b}, Source: stream("multi-start"), Draw: draw, Starts: 1}
		}, budget: 40, tol: 1e-12, gradient: true, needsBox: true},
		{name: "LogSpace", newSearcher: func(b int) Searcher { return LogSpace{QuasiNewton{MaxEvals: b}} }, budget: 60, tol: 1e-10, gradient: true, needsBox: true},
		{name: "Bayesian", newSearcher: func(b int) Searcher { return Bayesian{Source: stream("bayesian"), MaxEvals: b} }, budget: 40, tol: 1e-4, needsBox: true},
		{name: "CMAES", newSearcher: func(b int) Searcher { return CMAES{Source: stream("cma-es"), MaxEvals: b} }, budget: 600, tol: 1e-10},
		{name: "RandomSearch", newSearcher: func(b int) Searcher { return RandomSearch{Source: stream("random"), Draw: draw, MaxEvals: b} }, budget: 3000, tol: 5e-2},
		{name: "GridSearch", newSearcher: func(int) Searcher { return GridSearch{[][]float64{grid, grid}} }, budget: 33 * 33, tol: 2e-2, ownBudget: 33 * 33},
	}
}

// quadratic is ½(x−c)ᵀA(x−c) in two variables.
type quadratic struct {
	a11, a12, a22 float64
	c             [2]float64
}

func (q quadratic) eval(grad, x []float64) (float64, error) {
	u, v := x[0]-q.c[0], x[1]-q.c[1]
	g, h := q.a11*u+q.a12*v, q.a12*u+q.a22*v
	if grad != nil {
		grad[0], grad[1] = g, h
	}
	return (u*g + v*h) / 2, nil
}

// hessian sets h to the matrix A.
func (q quadratic) hessian(h *mat.SymDense) error {
	h.SetSym(0, 0, q.a11)
	h.SetSym(0, 1, q.a12)
	h.SetSym(1, 1, q.a22)
	return nil
}

// minimum returns the lowest value of the quadratic function within the box.
func (q quadratic) minimum(lower, upper []float64) float64 {
	best := math.Inf(1)
	consider := func(x, y float64) {
		x, y = min(max(x, lower[0]), upper[0]), min(max(y, lower[1]), upper[1])
		f, _ := q.eval(nil, []float64{x, y})
		best = min(best, f)
	}
	for _, x := range []float64{lower[0], upper[0]} {
		consider(x, q.c[1]-q.a12/q.a22*(x-q.c[0]))
	}
	for _, y := range []float64{lower[1], upper[1]} {
		consider(q.c[0]-q.a12/q.a11*(y-q.c[1]), y)
	}
	if q.c[0] >= lower[0] && q.c[0] <= upper[0] && q.c[1] >= lower[1] && q.c[1] <= upper[1] {
		best = 0
	}
	return best
}

// The minima of quadratics are inside the box, on a side, in a corner and in a diagonal valley.
var quadratics = []quadratic{
	{1, 0, 3, [2]float64{.7, .9}},
	{2, .5, 1, [2]float64{-1, .5}},
	{1, -.3, 1, [2]float64{3, -2}},
	{2, 1.2, 1, [2]float64{.4, 1.3}},
}

var boxLower, boxUpper = []float64{.1, .2}, []float64{1.5, 1.25}

func TestSearchersFindTheConstrainedMinimumOfConvexQuadratics(t *testing.T) {
	serial.Test(t)
	for _, c := range contestants() {
		for k, q := range quadratics {
			best, err := Best(c.newSearcher(c.budget).Search(Problem{Objective: q.eval, Hessian: q.hessian, Lower: boxLower, Upper: boxUpper}, []float64{1, 1}))
			if err != nil {
				t.Errorf("%s, quadratic %d: %v", c.name, k, err)
			} else if excess := best.Loss - q.minimum(boxLower, boxUpper); !(excess >= -1e-15 && excess <= c.tol) {
				t.Errorf("%s, quadratic %d: lowest at %v, %.2g above the minimum", c.name, k, best.X, excess)
			}
		}
	}
}

func Collect(t *testing.T, s Searcher, p Problem, x0 []float64) []Step {
	t.Helper()
	var steps []Step
	for s, err := range s.Search(p, x0) {
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s.clone())
	}
	return steps
}

// SearcherContract is cvgmtest.Searcher. It is a variable because cvgmtest imports this package.
var SearcherContract func(t *testing.T, newSearcher func(budget int) Searcher, gradient, fixed, restarts bool)

func TestSearchersKeepTheContract(t *testing.T) {
	serial.Test(t)
	for _, c := range contestants() {
		SearcherContract(t, c.newSearcher, c.gradient, c.ownBudget > 0, false)
	}
	for _, s := range []Searcher{QuasiNewton{MaxEvals: 5}, CMAES{Source: stream("cma-es"), MaxEvals: 9}, LogSpace{Bayesian{Source: stream("bayesian"), MaxEvals: 9}}} {
		_, gradient := s.(QuasiNewton)
		SearcherContract(t, func(int) Searcher {
			return MultiStart{Searcher: s, Source: stream("multi-start"), Draw: draw, Starts: 3}
		}, gradient, true, true)
	}
}

// Searches without gradient spend their budget, except CMA-ES, which converges.
func TestSearchersWithoutGradientSpendTheirBudget(t *testing.T) {
	for _, c := range contestants() {
		for _, budget := range []int{1, 30} {
			steps := Collect(t, c.newSearcher(budget), Problem{Objective: quadratics[3].eval, Hessian: quadratics[3].hessian, Lower: boxLower, Upper: boxUpper}, []float64{1, 1})
			if c.ownBudget > 0 {
				budget = c.ownBudget
			}
			if !c.gradient && c.name != "CMAES" && len(steps) != budget {
				t.Errorf("%s: %d evaluations for a budget of %d", c.name, len(steps), budget)
			}
		}
	}
}

// Each pass over the sequence of a search takes one source.
func TestSearchersTakeOneSource(t *testing.T) {
	taken := 0
	source := func() Source {
		taken++
		return stream("one")()
	}
	for _, s := range []Searcher{
		RandomSearch{Source: source, Draw: draw, MaxEvals: 30}, CMAES{Source: source, MaxEvals: 30}, Bayesian{Source: source, MaxEvals: 9},
		MultiStart{Searcher: QuasiNewton{MaxEvals: 5}, Source: source, Draw: draw, Starts: 3},
	} {
		search := s.Search(Problem{Objective: quadratics[3].eval, Hessian: quadratics[3].hessian, Lower: boxLower, Upper: boxUpper}, []float64{1, 1})
		taken = 0
		for want := range 2 {
			if _, err := Best(search); err != nil || taken != want+1 {
				t.Errorf("%T: %d sources for %d searches, %v", s, taken, want+1, err)
			}
		}
	}
}

// disc is the projection onto the unit disc.
func disc(x []float64) {
	if r := floats.Norm(x, 2); r > 1 {
		floats.Scale(1/r, x)
	}
}

func TestSearchersProjectOrSayThatTheyNeedABox(t *testing.T) {
	for _, c := range contestants() {
		q := quadratic{1, 0, 1, [2]float64{3, 4}}
		p := Problem{Objective: q.eval, Hessian: q.hessian, Project: disc}
		best, err := Best(c.newSearcher(c.budget).Search(p, []float64{1, 1}))
		if c.needsBox {
			if !errors.Is(err, qpdiff.ErrDomain) {
				t.Errorf("%s: error %v", c.name, err)
			}
			continue
		}
		// For the minimum (3, 4), the nearest point of the disc is (.6, .8), at the distance 4.
		if err != nil || !(math.Abs(best.Loss-8) <= max(c.tol, 1e-12)) || floats.Norm(best.X, 2) > 1+1e-15 {
			t.Errorf("%s: ends at %v with %v (%v)", c.name, best.X, best.Loss, err)
		}
	}
}

func TestSearchersRefuseBadProblems(t *testing.T) {
	nan := math.NaN()
	f := quadratics[0].eval
	for name, bad := range map[string]struct {
		p    Problem
		x0   []float64
		want error
	}{
		"no objective":    {Problem{Lower: boxLower, Upper: boxUpper}, []float64{1, 1}, qpdiff.ErrShape},
		"short lower":     {Problem{Objective: f, Lower: boxLower[:1], Upper: boxUpper}, []float64{1, 1}, qpdiff.ErrShape},
		"long upper":      {Problem{Objective: f, Lower: boxLower, Upper: []float64{1, 2, 3}}, []float64{1, 1}, qpdiff.ErrShape},
		"crossed":         {Problem{Objective: f, Lower: boxUpper, Upper: boxLower}, []float64{1, 1}, qpdiff.ErrDomain},
		"NaN bound":       {Problem{Objective: f, Lower: []float64{nan, .1}, Upper: boxUpper}, []float64{1, 1}, qpdiff.ErrDomain},
		"unreachable":     {Problem{Objective: f, Lower: []float64{math.Inf(1), .1}, Upper: []float64{math.Inf(1), 1}}, []float64{1, 1}, qpdiff.ErrDomain},
		"NaN start":       {Problem{Objective: f, Lower: boxLower, Upper: boxUpper}, []float64{1, nan}, qpdiff.ErrNotFinite},
		"box and project": {Problem{Objective: f, Lower: boxLower, Upper: boxUpper, Project: disc}, []float64{1, 1}, qpdiff.ErrDomain},
	} {
		bad.p.Hessian = quadratics[0].hessian
		for _, c := range contestants() {
			if _, err := Best(c.newSearcher(30).Search(bad.p, bad.x0)); !errors.Is(err, bad.want) {
				t.Errorf("%s, %s: error %v, want %v", name, c.name, err, bad.want)
			}
		}
	}
}

func TestSearchersRefuseBadSettings(t *testing.T) {
	src := stream("")
	none := func() Source { return nil }
	for _, c := range []struct {
		searcher Searcher
		want     error
	}{
		{HeavyBall{}, qpdiff.ErrDomain},
		{HeavyBall{StepSize: 1, Momentum: 1}, qpdiff.ErrDomain},
		{HeavyBall{StepSize: 1, MaxEvals: -1}, qpdiff.ErrDomain},
		{Nesterov{StepSize: -1}, qpdiff.ErrDomain},
		{Adam{}, qpdiff.ErrDomain},
		{Adam{StepSize: 1, Beta1: 1}, qpdiff.ErrDomain},
		{Adam{StepSize: 1, Beta2: -.1}, qpdiff.ErrDomain},
		{Adam{StepSize: 1, Epsilon: math.NaN()}, qpdiff.ErrDomain},
		{AdaptiveGradient{FirstStep: -1}, qpdiff.ErrDomain},
		{QuasiNewton{FirstStep: math.Inf(1)}, qpdiff.ErrDomain},
		{QuasiNewton{Memory: -1}, qpdiff.ErrDomain},
		{QuasiNewton{MaxStep: math.NaN()}, qpdiff.ErrDomain},
		{Newton{FirstStep: -1}, qpdiff.ErrDomain},
		{Newton{MaxStep: math.NaN()}, qpdiff.ErrDomain},
		{MultiStart{Source: src, Draw: draw}, qpdiff.ErrShape},
		{MultiStart{Searcher: QuasiNewton{}, Draw: draw}, qpdiff.ErrShape},
		{MultiStart{Searcher: QuasiNewton{}, Source: src}, qpdiff.ErrShape},
		{MultiStart{Searcher: QuasiNewton{}, Source: src, Draw: draw, Starts: -1}, qpdiff.ErrDomain},
		{LogSpace{}, qpdiff.ErrShape},
		{Bayesian{}, qpdiff.ErrShape},
		{Bayesian{Source: none}, qpdiff.ErrShape},
		{CMAES{Source: none}, qpdiff.ErrShape},
		{RandomSearch{Source: none, Draw: draw}, qpdiff.ErrShape},
		{MultiStart{Searcher: QuasiNewton{}, Source: none, Draw: draw}, qpdiff.ErrShape},
		{Bayesian{Source: src, Initial: -1}, qpdiff.ErrDomain},
		{Bayesian{Source: src, Candidates: -1}, qpdiff.ErrDomain},
		{CMAES{}, qpdiff.ErrShape},
		{CMAES{Source: src, Sigma: -1}, qpdiff.ErrDomain},
		{CMAES{Source: src, Population: 3}, qpdiff.ErrDomain},
		{GridSearch{[][]float64{make([]float64, 1<<21), make([]float64, 1<<21)}}, qpdiff.ErrDomain},
		{GridSearch{[][]float64{nil, {1}}}, qpdiff.ErrShape},
	} {
		var errs []error
		for _, err := range c.searcher.Search(Problem{Objective: quadratics[0].eval, Lower: boxLower, Upper: boxUpper}, []float64{1, 1}) {
			errs = append(errs, err)
		}
		var search *Error
		if len(errs) != 1 || !errors.Is(errs[0], c.want) || !errors.As(errs[0], &search) {
			t.Errorf("%T%+v: yielded %v, want one SearchError for %v", c.searcher, c.searcher, errs, c.want)
			continue
		}
		// The argument named is the searcher, or a field of it.
		var arg *qpdiff.ArgError
		if errors.As(errs[0], &arg); arg != nil {
			typ := reflect.TypeOf(c.searcher)
			_, field := typ.FieldByName(arg.Arg[strings.LastIndexByte(arg.Arg, '.')+1:])
			if !field && arg.Arg != typ.Name() {
				t.Errorf("%T%+v: the error names %s", c.searcher, c.searcher, arg.Arg)
			}
		}
	}
	for _, p := range []Problem{{Objective: quadratics[0].eval}, {Objective: quadratics[0].eval, Lower: []float64{-1, .1}, Upper: boxUpper}} {
		if _, err := Best(LogSpace{QuasiNewton{}}.Search(p, []float64{1, 1})); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("logarithms of numbers below zero: %v", err)
		}
	}
	if _, err := Best(Bayesian{Source: src}.Search(Problem{Objective: quadratics[0].eval, Lower: boxLower}, []float64{1, 1})); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("a model of an infinite box: %v", err)
	}
}

// waves is a function with the local minima 1.62 + 2π·k, whose values decrease with k.
func waves(grad, x []float64) (float64, error) {
	if grad != nil {
		grad[0] = -math.Cos(x[0]) - .05
	}
	return -math.Sin(x[0]) - .05*x[0], nil
}

func TestMultiStartFindsTheLowestOfSeveralMinima(t *testing.T) {
	p := Problem{Objective: waves, Lower: []float64{0}, Upper: []float64{18}}
	single, err := Best(QuasiNewton{}.Search(p, []float64{1}))
	if err != nil || math.Abs(single.X[0]-1.62) > .01 {
		t.Errorf("one start ends at %v (%v)", single.X, err)
	}
	m := MultiStart{Searcher: QuasiNewton{}, Source: stream("waves"), Starts: 12,
		Draw: func(src Source, x []float64) { x[0] = 18 * src.Float64() }}
	steps, converged := 0, 0
	for s, err := range m.Search(p, []float64{1}) {
		if steps++; err != nil || s.Evaluations != steps {
			t.Fatalf("step %d: %+v, %v", steps, s, err)
		}
		if s.Converged {
			converged++
		}
	}
	if converged != 12 {
		t.Errorf("%d of 12 starts converged", converged)
	}
	best, err := Best(m.Search(p, []float64{1}))
	if err != nil || math.Abs(best.X[0]-(1.62+4*math.Pi)) > .01 {
		t.Errorf("twelve starts end at %v (%v)", best.X, err)
	}
}

// QuasiNewton finds the active bounds of a quadratic function of 60 variables, although the
// curvatures differ by a factor of 100.
func TestQuasiNewtonFindsAnActiveSet(t *testing.T) {
	const n = 60
	src := synth.NewStream(1, "active set")
	center, scale := make([]float64, n), make([]float64, n)
	for i := range n {
		center[i], scale[i] = src.NormFloat64(), math.Pow(100, src.Float64())
	}
	p := Problem{Lower: make([]float64, n), Objective: func(grad, x []float64) (float64, error) {
		// ½Σ s_i(x_i−c_i)² + ½(Σ(x_i−c_i))²
		var f, total float64
		for i, v := range x {
			total += v - center[i]
		}
		for i, v := range x {
			f += scale[i] * (v - center[i]) * (v - center[i])
			if grad != nil {
				grad[i] = scale[i]*(v-center[i]) + total
			}
		}
		return (f + total*total) / 2, nil
	}}
	x0 := make([]float64, n)
	for i := range x0 {
		x0[i] = 1
	}
	steps := Collect(t, QuasiNewton{}, p, x0)
	last := steps[len(steps)-1]
	if !last.Converged || last.Evaluations > 80 {
		t.Errorf("after %d evaluations converged is %v", last.Evaluations, last.Converged)
	}
	active := 0
	for i, x := range last.X {
		if x == 0 {
			active++
			if last.Grad[i] < 0 {
				t.Errorf("x_%d is at its bound with slope %v", i, last.Grad[i])
			}
		} else if math.Abs(last.Grad[i])*max(x, 1) > defaultTol*last.Loss {
			t.Errorf("x_%d = %v has slope %v", i, x, last.Grad[i])
		}
	}
	if active < 20 || active > 50 {
		t.Errorf("%d of %d bounds active", active, n)
	}
}

// QuasiNewton stops near a kink but reports no convergence, because neither one-sided slope is
// zero.
func TestQuasiNewtonEndsAtAKink(t *testing.T) {
	p := Problem{Objective: func(grad, x []float64) (float64, error) {
		grad[0] = math.Copysign(1, x[0]-.3) + .2*x[0]
		return math.Abs(x[0]-.3) + .1*x[0]*x[0], nil
	}}
	steps := Collect(t, QuasiNewton{}, p, []float64{2})
	best := slices.MinFunc(steps, func(a, b Step) int {
		if a.Loss < b.Loss {
			return -1
		}
		return 1
	})
	if last := steps[len(steps)-1]; last.Converged || last.Evaluations > 150 || math.Abs(best.X[0]-.3) > 1e-6 {
		t.Errorf("best at %v, %d evaluations, converged %v", best.X, last.Evaluations, last.Converged)
	}
}

// Rosenbrock's valley is not convex. A good quasi-Newton method needs this number of evaluations.
func TestQuasiNewtonFollowsACurvedValley(t *testing.T) {
	valley := func(grad, x []float64) (float64, error) {
		a, b := 1-x[0], x[1]-x[0]*x[0]
		grad[0], grad[1] = -2*a-400*b*x[0], 200*b
		return a*a + 100*b*b, nil
	}
	for _, c := range []struct {
		upper []float64
		x     float64
	}{{nil, 1}, {[]float64{.5, 10}, .5}} {
		steps := Collect(t, QuasiNewton{}, Problem{Objective: valley, Upper: c.upper}, []float64{-1.2, 1})
		last := steps[len(steps)-1]
		if !last.Converged || last.Evaluations > 80 || math.Abs(last.X[0]-c.x) > 1e-7 {
			t.Errorf("upper %v: ends at %v after %d evaluations, converged %v", c.upper, last.X, last.Evaluations, last.Converged)
		}
	}
}

// Searches allocate memory at their start and for remembered steps, but not per evaluation.
func TestSearchesAllocateNothingPerEvaluation(t *testing.T) {
	serial.Test(t)
	const n, short, long = 20, 40, 140
	const slack = 10                                     // AllocsPerRun also counts allocations of the runtime and of package testing
	valley := func(grad, x []float64) (float64, error) { // of Rosenbrock, in n dimensions
		clear(grad)
		var f float64
		for i, v := range x[1:] {
			a, b := 1-x[i], v-x[i]*x[i]
			f += a*a + 100*b*b
			grad[i] -= 2*a + 400*b*x[i]
			grad[i+1] += 200 * b
		}
		return f, nil
	}
	box := Problem{Objective: valley, Lower: make([]float64, n), Upper: make([]float64, n)}
	x0 := make([]float64, n)
	for i := range x0 {
		box.Lower[i], box.Upper[i], x0[i] = .01, 10, 5-4*float64(i%2)
	}
	for name, searcher := range map[string]func(evals int) Searcher{
		"QuasiNewton":             func(evals int) Searcher { return QuasiNewton{MaxEvals: evals, Tol: -1} },
		"LogSpace of QuasiNewton": func(evals int) Searcher { return LogSpace{QuasiNewton{MaxEvals: evals, Tol: -1}} },
		"AdaptiveGradient":        func(evals int) Searcher { return AdaptiveGradient{MaxEvals: evals, Tol: -1} },
		"ProjectedGradient":       func(evals int) Searcher { return ProjectedGradient{StepSize: 1e-6, MaxEvals: evals, Tol: -1} },
	} {
		allocations := func(evals int) float64 {
			return testing.AllocsPerRun(3, func() {
				made := 0
				for s, err := range searcher(evals).Search(box, x0) {
					if err != nil {
						t.Fatal(name, err)
					}
					made = s.Evaluations
				}
				if made != evals {
					t.Fatalf("%s ends after %d evaluations, want %d", name, made, evals)
				}
			})
		}
		if few, many := allocations(short), allocations(long); many > few+slack {
			t.Errorf("%s: %v allocations in %d evaluations, %v in %d", name, many, long, few, short)
		}
	}
}

func BenchmarkQuasiNewtonStep(b *testing.B) {
	for _, n := range []int{2, 20, 322} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := Problem{Lower: make([]float64, n), Objective: func(grad, x []float64) (float64, error) {
				var f float64
				for i, v := range x {
					d := v - float64(i%7)/3 + .5
					f += d * d * (1 + float64(i%5)) * (1 + .1*d*d)
					grad[i] = (1 + float64(i%5)) * (2*d + .4*d*d*d)
				}
				return f, nil
			}}
			x0 := make([]float64, n)
			for i := range x0 {
				x0[i] = 1
			}
			steps := 0
			for b.Loop() {
				for s := range (QuasiNewton{}).Search(p, x0) {
					steps = s.Evaluations
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/evaluation")
		})
	}
}
