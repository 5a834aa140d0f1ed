package search

import (
	"errors"
	"iter"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// rosenbrock returns 1 + Σ (1 − x_i)² + 100(x_{i+1} − x_i²)² with its Hessian.
func rosenbrock() Problem {
	var at []float64
	return Problem{Objective: func(grad, x []float64) (f float64, err error) {
		at = append(at[:0], x...)
		f = 1
		clear(grad)
		for i := range len(x) - 1 {
			a, b := 1-x[i], x[i+1]-x[i]*x[i]
			f += a*a + 100*b*b
			if grad != nil {
				grad[i] += -2*a - 400*b*x[i]
				grad[i+1] += 200 * b
			}
		}
		return f, nil
	}, Hessian: func(h *mat.SymDense) error {
		h.Zero()
		for i := range len(at) - 1 {
			h.SetSym(i, i, h.At(i, i)+2-400*(at[i+1]-3*at[i]*at[i]))
			h.SetSym(i, i+1, -400*at[i])
			h.SetSym(i+1, i+1, h.At(i+1, i+1)+200)
		}
		return nil
	}}
}

// Rosenbrock's valley is not convex. The search needs fewer than half of the evaluations of a
// quasi-Newton search, with and without an active bound, and also with 20 variables.
func TestNewtonFollowsACurvedValley(t *testing.T) {
	for _, c := range []struct {
		upper  []float64
		n, max int
		start  [2]float64
		x      float64
	}{{nil, 2, 30, [2]float64{-1.2, 1}, 1}, {[]float64{.5, 10}, 2, 25, [2]float64{-1.2, 1}, .5}, {nil, 20, 60, [2]float64{5, 1}, 1}} {
		p, x0 := rosenbrock(), make([]float64, c.n)
		p.Upper = c.upper
		for i := range x0 {
			x0[i] = c.start[i%2]
		}
		steps := Collect(t, Newton{}, p, x0)
		last := steps[len(steps)-1]
		if !last.Converged || last.Evaluations > c.max || math.Abs(last.X[0]-c.x) > 1e-7 {
			t.Errorf("%d variables, upper %v: ends at %v after %d evaluations, converged %v", c.n, c.upper, last.X, last.Evaluations, last.Converged)
		}
	}
}

// The search leaves a region of negative curvature: the loss x⁴/4 − x²/2 + y² − xy/100 is lowest near
// (±1, 0). At an exact maximum in x, the gradient is zero and the search ends.
func TestNewtonLeavesNegativeCurvature(t *testing.T) {
	var at [2]float64
	p := Problem{Objective: func(g, v []float64) (float64, error) {
		x, y := v[0], v[1]
		at = [2]float64{x, y}
		g[0], g[1] = x*x*x-x-y/100, 2*y-x/100
		return x*x*x*x/4 - x*x/2 + y*y - x*y/100, nil
	}, Hessian: func(h *mat.SymDense) error {
		h.SetSym(0, 0, 3*at[0]*at[0]-1)
		h.SetSym(0, 1, -.01)
		h.SetSym(1, 1, 2)
		return nil
	}, Lower: []float64{-3, -3}, Upper: []float64{3, 3}}
	for _, x := range []float64{.01, -.01, .5, 1e-8} {
		steps := Collect(t, Newton{}, p, []float64{x, 1})
		last := steps[len(steps)-1]
		if !last.Converged || last.Evaluations > 25 || !(math.Abs(math.Abs(last.X[0])-1) < 1e-3) {
			t.Errorf("from %v ends at %v after %d evaluations, converged %v", x, last.X, last.Evaluations, last.Converged)
		}
	}
	if steps := Collect(t, Newton{}, p, []float64{0, 0}); len(steps) != 1 {
		t.Errorf("from a saddle: %d evaluations", len(steps))
	}
}

// With convex quadratic functions of 40 variables in a box, one step reaches the minimum if the radius
// is large enough. The slope is zero for free coordinates, and points outwards at bounds.
func TestNewtonFindsAnActiveSetInOneStep(t *testing.T) {
	const n, tol = 40, 1e-6
	src := synth.NewStream(2, "active set")
	for range 20 {
		root, a := mat.NewDense(n, n, nil), new(mat.SymDense)
		center, x0 := make([]float64, n), make([]float64, n)
		p := Problem{Lower: make([]float64, n), Upper: make([]float64, n)}
		for i := range n {
			p.Lower[i], center[i], x0[i], p.Upper[i] = 1e-3, src.NormFloat64(), .5, 1
			for j := range n {
				root.Set(i, j, src.NormFloat64())
			}
		}
		a.SymOuterK(1, root)
		p.Hessian = func(h *mat.SymDense) error { h.CopySym(a); return nil }
		p.Objective = func(grad, x []float64) (float64, error) {
			d := make([]float64, n)
			floats.SubTo(d, x, center)
			mat.NewVecDense(n, grad).MulVec(a, mat.NewVecDense(n, d))
			return 1 + floats.Dot(d, grad)/2, nil
		}
		steps := Collect(t, Newton{FirstStep: 10}, p, x0)
		last := steps[len(steps)-1]
		if len(steps) != 2 || !last.Converged {
			t.Errorf("%d evaluations, converged %v", len(steps), last.Converged)
		}
		for i, x := range last.X {
			if g := last.Grad[i]; !(x == p.Lower[i] && g >= 0 || x == p.Upper[i] && g <= 0 || math.Abs(g) <= tol) {
				t.Fatalf("coordinate %d ends at %v with the slope %v", i, x, g)
			}
		}
	}
}

// The Hessian belongs to accepted points, and it is computed once at each of them, directly after the
// evaluation there.
func TestNewtonTakesTheHessianAtAcceptedPoints(t *testing.T) {
	p := rosenbrock()
	objective, hessian := p.Objective, p.Hessian
	evaluations, lowest := 0, math.Inf(1)
	var accepted []int
	p.Objective = func(grad, x []float64) (float64, error) {
		evaluations++
		return objective(grad, x)
	}
	p.Hessian = func(h *mat.SymDense) error {
		accepted = append(accepted, evaluations)
		return hessian(h)
	}
	steps := Collect(t, Newton{}, p, []float64{-1.2, 1})
	var falls []int
	for _, s := range steps {
		if s.Loss < lowest {
			falls, lowest = append(falls, s.Evaluations), s.Loss
		}
	}
	if !slices.Equal(accepted, falls) || len(accepted) == evaluations {
		t.Errorf("%d evaluations, Hessians at %v, the loss falls at %v", evaluations, accepted, falls)
	}
}

// Newton needs a Hessian that succeeds and is finite. An evaluation whose Hessian fails counts. Plus
// adds a penalty without a Hessian.
func TestNewtonRefusals(t *testing.T) {
	broken := errors.New("broken")
	p := Problem{Objective: quadratics[0].eval, Lower: boxLower, Upper: boxUpper}
	for name, c := range map[string]struct {
		hessian     func(h *mat.SymDense) error
		want        error
		evaluations int
	}{
		"none":   {nil, qpdiff.ErrEmpty, 0},
		"broken": {func(*mat.SymDense) error { return broken }, broken, 1},
		"NaN":    {func(h *mat.SymDense) error { h.SetSym(0, 1, math.NaN()); return nil }, qpdiff.ErrNotFinite, 1},
		"Inf":    {func(h *mat.SymDense) error { h.SetSym(1, 1, math.Inf(-1)); return nil }, qpdiff.ErrNotFinite, 1},
	} {
		p.Hessian = c.hessian
		for _, s := range []Searcher{Newton{}, LogSpace{Newton{}}} {
			best, err := Best(s.Search(p, []float64{1, 1}))
			var where *Error
			if !errors.Is(err, c.want) || !errors.As(err, &where) || where.Evaluations != c.evaluations || best.Evaluations != c.evaluations {
				t.Errorf("%T, Hessian %s: %v, best step %+v", s, name, err, best)
			}
		}
	}
	p.Hessian = quadratics[0].hessian
	if _, err := Best(Newton{}.Search(p.Plus(1, SquaredDistance([]float64{0, 0}, 1)), []float64{1, 1})); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("Plus keeps the Hessian of f: %v", err)
	}
}

// The Hessian in logarithms is equal to differences of the gradient in logarithms, and the searches
// in both spaces end at the same point.
func TestHessianInLogarithms(t *testing.T) {
	const step, tol = 1e-5, 1e-6
	p := rosenbrock()
	p.Lower = []float64{1e-3, 1e-3, 1e-3}
	var inner Problem
	spy := searcherFunc(func(q Problem, _ []float64) { inner = q })
	x := []float64{.3, 2, .7}
	for range (LogSpace{spy}).Search(p, x) {
	}
	z, grad, up, down := logs(x), make([]float64, 3), make([]float64, 3), make([]float64, 3)
	for i := range z {
		at := func(by float64, grad []float64) {
			moved := slices.Clone(z)
			moved[i] += by
			if _, err := inner.Objective(grad, moved); err != nil {
				t.Fatal(err)
			}
		}
		at(step, up)
		at(-step, down)
		at(0, grad)
		h := mat.NewSymDense(3, nil)
		if err := inner.Hessian(h); err != nil {
			t.Fatal(err)
		}
		for j := range z {
			if want := (up[j] - down[j]) / (2 * step); !(math.Abs(h.At(i, j)-want) <= tol*(1+math.Abs(want))) {
				t.Errorf("entry %d, %d is %v instead of %v", i, j, h.At(i, j), want)
			}
		}
	}
	best, err := Best(LogSpace{Newton{}}.Search(p, x))
	if err != nil || !(best.Loss < 1+1e-12) {
		t.Errorf("ends at %v with %v, %v", best.X, best.Loss, err)
	}
}

// A trial at which the loss is not finite shortens the step. The radius limits each step, and MaxStep
// limits the radius.
func TestNewtonShortensSteps(t *testing.T) {
	wall := Problem{Lower: []float64{1e-9}, Objective: func(grad, x []float64) (float64, error) {
		if grad[0] = 1 - .1/x[0]; x[0] < .05 {
			return math.Inf(1), nil
		}
		return 1 + x[0] - .1*math.Log(x[0]), nil
	}, Hessian: func(h *mat.SymDense) error { h.SetSym(0, 0, .01); return nil }}
	steps := Collect(t, Newton{}, wall, []float64{1})
	last := steps[len(steps)-1]
	if !math.IsInf(steps[1].Loss, 1) || !(math.Abs(last.X[0]-.1) < 1e-3) {
		t.Errorf("ends at %v after %d evaluations", last.X, last.Evaluations)
	}
	for _, most := range []float64{.01, .3} {
		p := rosenbrock()
		x := []float64{2, 4}
		for _, s := range Collect(t, Newton{MaxStep: most, MaxEvals: 9}, p, x) {
			for i, v := range s.X {
				if !(math.Abs(v-x[i]) <= most*4*(1+1e-12)) { // 4 is the scale, the largest |x_i|
					t.Errorf("MaxStep %v: from %v to %v", most, x, s.X)
				}
			}
			x = slices.Clone(s.X)
		}
	}
}

// Evaluations after the first ones allocate nothing.
func TestNewtonAllocatesNothingPerEvaluation(t *testing.T) {
	serial.Test(t)
	const slack = 10 // AllocsPerRun also counts allocations of the runtime and of package testing
	x0 := make([]float64, 20)
	for i := range x0 {
		x0[i] = []float64{-1.2, 1}[i%2]
	}
	p := rosenbrock()
	run := func(evals int) float64 {
		return testing.AllocsPerRun(5, func() {
			made := 0
			for range (Newton{MaxEvals: evals, Tol: -1}).Search(p, x0) {
				made++
			}
			if made != evals {
				t.Fatalf("%d evaluations instead of %d", made, evals)
			}
		})
	}
	if short, long := run(10), run(40); long > short+slack {
		t.Errorf("%v allocations in 10 evaluations, %v in 40", short, long)
	}
}

// searcherFunc is a searcher that hands its problem to a function and yields no step.
type searcherFunc func(p Problem, x0 []float64)

func (f searcherFunc) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	return func(func(Step, error) bool) { f(p, x0) }
}

// exponential returns 1 + factor·(exp(x − 1) − x), with the Hessian and a minimum at 1. The function
// noise of the number of evaluations is added to the loss.
func exponential(factor float64, noise func(evaluations int) float64) Problem {
	at, evaluations := 0., 0
	return Problem{Objective: func(grad, x []float64) (float64, error) {
		at = x[0] - 1
		evaluations++
		grad[0] = factor * math.Expm1(at)
		return 1 + factor*(math.Expm1(at)-at) + noise(evaluations), nil
	}, Hessian: func(h *mat.SymDense) error { h.SetSym(0, 0, factor*math.Exp(at)); return nil }}
}

// A search converges at a minimum of any curvature. The last step may be very short in scales. Its
// point may have a loss that exceeds the lowest loss by a rounding error.
func TestNewtonConverges(t *testing.T) {
	const rounding = 1e-13
	for _, noise := range []func(int) float64{
		func(int) float64 { return 0 },
		func(evaluations int) float64 { return rounding * float64(evaluations) },
	} {
		for _, factor := range []float64{1, 10, 1e2, 1e3, 1e4, 1e5} {
			for _, start := range []float64{.3, .7, 1.1, 1.3, 1.5, 2, 4} {
				steps := Collect(t, Newton{}, exponential(factor, noise), []float64{start})
				if last := steps[len(steps)-1]; !last.Converged || !(math.Abs(last.X[0]-1) < 1e-4) || last.Evaluations > 15 {
					t.Errorf("factor %v from %v, noise %v: ends at %v after %d evaluations, converged %v", factor, start, noise(1), last.X, last.Evaluations, last.Converged)
				}
			}
		}
	}
}

// The search ends if a step or the radius overflows, although it then makes no evaluation. Infinite
// settings are limits like others.
func TestNewtonEndsAfterOverflows(t *testing.T) {
	for _, s := range []Newton{{}, {FirstStep: math.MaxFloat64}, {FirstStep: 1e300, MaxStep: math.Inf(1)}} {
		for _, curvature := range []float64{-math.MaxFloat64, -1, -5e-324, 0, 1} {
			for _, x := range []float64{0, 1, 1e200} {
				p := Problem{Objective: func(grad, x []float64) (float64, error) {
					grad[0] = -1
					return -x[0], nil
				}, Hessian: func(h *mat.SymDense) error { h.SetSym(0, 0, curvature); return nil }}
				s.MaxEvals = 50
				for step, err := range s.Search(p, []float64{x}) {
					if step.Evaluations > s.MaxEvals || step.Evaluations == 0 || step.Evaluations == 1 && err != nil {
						t.Errorf("%+v, curvature %v: step %v, %v", s, curvature, step, err)
					}
				}
			}
		}
	}
}

// If the unit of each coordinate changes by a power of two of its own, the steps agree to the last bit.
func TestNewtonInUnitsOfTwo(t *testing.T) {
	const n = 5
	src := synth.NewStream(3, "units of two")
	for range 50 {
		p, x0, ones, units := rosenbrock(), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range x0 {
			x0[i], ones[i], units[i] = 2*src.NormFloat64(), 1, math.Ldexp(1, int(60*src.Float64())-30)
			p.Lower, p.Upper = append(p.Lower, x0[i]-src.Float64()), append(p.Upper, x0[i]+3*src.Float64())
		}
		checkUnits(t, "Newton", Newton{}, p, x0, 1, units, Collect(t, Newton{}, p, x0), 0)
	}
}
