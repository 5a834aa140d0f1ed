package cvgmtest

import (
	"errors"
	"iter"
	"math"
	"reflect"
	"slices"

	"cvgm/cvgm/search"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// A Search describes the searcher that [Searcher] tests.
type Search struct {
	// Gradient is set if the searcher calls the objective for gradients.
	Gradient bool
	// Restarts is true if the searcher continues from another start after it has converged.
	Restarts bool
	// Fixed is true if the settings of the searcher, and not its budget, determine the number of
	// evaluations.
	Fixed bool
}

// Searcher tests a searcher on convex quadratic functions of two variables in a box, with their
// Hessians. The function newSearcher returns the searcher under test. Its parameter budget is the
// largest number of evaluations that the searcher may make.
//
// The searcher must yield a step for every evaluation. The step must hold the X, the loss and the
// gradient of the evaluation. The searcher must count the evaluations, and must stay within the
// bounds and the budget. It must not change x0 or the bounds. After convergence it must yield no
// step, unless it restarts. A second search must repeat the steps, and so must a second pass over
// one sequence. If the objective returns an error, the search must end with a [search.Error] that
// has the X of the failed evaluation. A loss of NaN must give an error of kind qpdiff.ErrNotFinite.
// The search must stop when the caller stops.
//
// A searcher need not accept a random objective: it may return an error of kind qpdiff.ErrDomain
// before the first evaluation. If it accepts a random objective, it must restart the random draws
// in each pass, mark its steps as random, and never report convergence; see [search.Problem].
func Searcher(t TB, newSearcher func(budget int) search.Searcher, expect Search) {
	t.Helper()
	for _, budget := range []int{1, 2, 7, 30} {
		for _, q := range quadratics {
			checkSteps(t, newSearcher(budget), q, budget, expect)
		}
	}
	compareSearches(t, newSearcher(30))
	for _, at := range []int{0, 1, 4} {
		failure(t, newSearcher(30), at)
	}
	refusal(t, newSearcher(30))
	checkStop(t, newSearcher(30))
	checkRandom(t, newSearcher(30), expect)
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

// The quadratic functions have their minima in different places: inside the box, on a side, in a
// corner, and in a diagonal valley.
var quadratics = []quadratic{
	{1, 0, 3, [2]float64{.7, .9}},
	{2, .5, 1, [2]float64{-1, .5}},
	{1, -.3, 1, [2]float64{3, -2}},
	{2, 1.2, 1, [2]float64{.4, 1.3}},
}

// box returns the problem with the objective f, which has the Hessian of q.
func (q quadratic) box(f search.Objective) search.Problem {
	return search.Problem{Objective: f, Hessian: q.hessian, Lower: []float64{.1, .2}, Upper: []float64{1.5, 1.25}}
}

func start() []float64 { return []float64{1, 1} }

func checkSteps(t TB, s search.Searcher, q quadratic, budget int, expect Search) {
	t.Helper()
	var evaluated [][]float64
	p := q.box(func(grad, x []float64) (float64, error) {
		if (grad != nil) != expect.Gradient {
			t.Errorf("%T asks for a gradient: %v", s, grad != nil)
		}
		evaluated = append(evaluated, slices.Clone(x))
		return q.eval(grad, x)
	})
	same, x0 := q.box(nil), start()
	made, ended := 0, false
	for step, err := range s.Search(p, x0) {
		if err != nil {
			t.Fatalf("%T: %v", s, err)
		}
		if ended && !expect.Restarts {
			t.Errorf("%T goes on after convergence", s)
		}
		ended = step.Converged
		if made++; step.Evaluations != made || len(evaluated) != made {
			t.Fatalf("%T: step %d has %d evaluations counted, %d made", s, made, step.Evaluations, len(evaluated))
		}
		if !slices.Equal(step.X, evaluated[made-1]) {
			t.Errorf("%T: evaluates at %v, its step is at %v", s, evaluated[made-1], step.X)
		}
		checkEvaluation(t, s, q, step, expect.Gradient)
	}
	if made > budget && !expect.Fixed || made == 0 {
		t.Errorf("%T: %d evaluations for a budget of %d", s, made, budget)
	}
	if !slices.Equal(x0, start()) || !slices.Equal(p.Lower, same.Lower) || !slices.Equal(p.Upper, same.Upper) {
		t.Errorf("%T writes to x0 or to the bounds", s)
	}
}

// checkEvaluation compares the loss and the gradient of a step with the value and the gradient of
// the quadratic function q at the step's X.
func checkEvaluation(t TB, s search.Searcher, q quadratic, step search.Step, gradient bool) {
	t.Helper()
	grad := []float64{0, 0}
	loss, _ := q.eval(grad, step.X)
	if step.Loss != loss || gradient != (step.Grad != nil) || gradient && !slices.Equal(grad, step.Grad) {
		t.Errorf("%T: step %+v where the loss is %v, the gradient %v", s, step, loss, grad)
	}
	for p, i := q.box(nil), 0; i < 2; i++ {
		if x := step.X[i]; !(x >= p.Lower[i] && x <= p.Upper[i]) {
			t.Fatalf("%T: evaluates at %v, outside [%v, %v]", s, step.X, p.Lower, p.Upper)
		}
	}
}

// compareSearches checks that two passes over the steps of one search, and a second search by the
// same searcher, return the same steps.
func compareSearches(t TB, s search.Searcher) {
	t.Helper()
	p := quadratics[3].box(quadratics[3].eval)
	searcher := s.Search(p, start())
	var runs [3][]search.Step
	for k, steps := range []iter.Seq2[search.Step, error]{searcher, searcher, s.Search(p, start())} {
		for step, err := range steps {
			if err != nil {
				t.Fatalf("%T: %v", s, err)
			}
			step.X, step.Grad = slices.Clone(step.X), slices.Clone(step.Grad)
			runs[k] = append(runs[k], step)
		}
	}
	for _, run := range runs[1:] {
		if !reflect.DeepEqual(runs[0], run) {
			t.Errorf("%T: a second search differs from the first: make its state, and its source of random numbers, anew in each pass", s)
		}
	}
}

func failure(t TB, s search.Searcher, at int) {
	t.Helper()
	broken := errors.New("broken")
	calls := 0
	var last []float64
	p := quadratics[3].box(func(grad, x []float64) (float64, error) {
		last = slices.Clone(x)
		if calls++; calls == at+1 {
			return math.NaN(), broken
		}
		return quadratics[3].eval(grad, x)
	})
	made := 0
	var failure error
	for step, err := range s.Search(p, start()) {
		if failure != nil {
			t.Errorf("%T goes on after an error", s)
		}
		if failure = err; err == nil {
			made++
		} else if !slices.Equal(step.X, last) {
			t.Errorf("%T: failed at %v, its step is at %v", s, last, step.X)
		}
	}
	if failure == nil && calls <= at {
		return // the search converged before
	}
	var where *search.Error
	if !errors.Is(failure, broken) || !errors.As(failure, &where) || where.Evaluations != calls || !slices.Equal(where.X, last) || made != at {
		t.Errorf("%T: after %d steps the error %v, want a SearchError", s, made, failure)
	}
}

func refusal(t TB, s search.Searcher) {
	t.Helper()
	_, err := search.Best(s.Search(quadratics[3].box(func(grad, _ []float64) (float64, error) {
		clear(grad)
		return math.NaN(), nil
	}), start()))
	if !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("%T takes a NaN: error %v", s, err)
	}
}

func checkStop(t TB, s search.Searcher) {
	t.Helper()
	calls := 0
	p := quadratics[3].box(func(grad, x []float64) (float64, error) {
		calls++
		return quadratics[3].eval(grad, x)
	})
	for step, err := range s.Search(p, start()) {
		if err != nil {
			t.Fatalf("%T: %v", s, err)
		}
		if step.Evaluations == 2 {
			break
		}
	}
	if calls > 2 {
		t.Errorf("%T evaluates %d times where the caller stops after 2", s, calls)
	}
}

// checkRandom tests searches of a quadratic whose gradient has random errors, drawn from a stream.
func checkRandom(t TB, s search.Searcher, expect Search) {
	t.Helper()
	draws, evaluated := 0, 0
	p := quadratics[0].box(func(grad, x []float64) (float64, error) {
		draws++
		evaluated++
		loss, err := quadratics[0].eval(grad, x)
		off := math.Sin(float64(draws * draws))
		if grad != nil {
			grad[0] += off
		}
		return loss + off*x[0], err
	})
	p.Restart = func() { draws = 0 }
	searcher := s.Search(p, start())
	var runs [2][]search.Step
	for k := range runs {
		for step, err := range searcher {
			if err != nil {
				if !errors.Is(err, qpdiff.ErrDomain) || evaluated > 0 {
					t.Errorf("%T: error %v after %d evaluations of a random objective", s, err, evaluated)
				}
				return
			}
			if !step.Random || step.Converged && expect.Gradient {
				t.Errorf("%T: step %+v of a random objective: mark it as Random, and do not converge", s, step)
			}
			step.X, step.Grad = slices.Clone(step.X), slices.Clone(step.Grad)
			runs[k] = append(runs[k], step)
		}
	}
	if !reflect.DeepEqual(runs[0], runs[1]) {
		t.Errorf("%T: a second pass over a random objective differs from the first: call Problem.Restart in each pass", s)
	}
}
