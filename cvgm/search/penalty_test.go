package search

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"
)

// Plus adds the weighted penalty to the objective, and its gradient to the gradient.
func TestPlusAddsThePenaltyAndItsGradient(t *testing.T) {
	// For f = ½(x − 2)² and r = ½x², the minimum of f + w·r is 2/(1 + w).
	for _, w := range []float64{0, .5, 3} {
		p := parabola(2, 1).Plus(w, SquaredDistance([]float64{0}, 1))
		best, err := Best(QuasiNewton{}.Search(p, []float64{1}))
		if want := 2 / (1 + w); err != nil || math.Abs(best.X[0]-want) > 1e-8 {
			t.Errorf("weight %v: minimum at %v, want %v (%v)", w, best.X, want, err)
		}
	}
	// If the objective is constant, the minimum of the sum is the centre c of the penalty.
	c := []float64{1e-3, 40}
	flat := Problem{Objective: func(g, x []float64) (float64, error) { return 1, setSlope(g, 0, 0) }, Lower: []float64{1e-6, 1e-2}}
	best, err := Best(LogSpace{QuasiNewton{}}.Search(flat.Plus(2, SquaredLogDistance(c)), []float64{1, 1}))
	if err != nil || math.Abs(best.X[0]/c[0]-1) > 1e-4 || math.Abs(best.X[1]/c[1]-1) > 1e-4 {
		t.Errorf("ends at %v, want %v (%v)", best.X, c, err)
	}
}

func TestPenaltiesAreTheDocumentedMeans(t *testing.T) {
	for name, c := range map[string]struct {
		r    Objective
		x    []float64
		want float64
	}{
		"each one unit away":    {SquaredDistance([]float64{1, -2, 3}, .5), []float64{1.5, -2.5, 3.5}, .5},
		"one of two, two units": {SquaredDistance([]float64{1, 1}, 1), []float64{1, 3}, 1},
		"a factor e":            {SquaredLogDistance([]float64{1, 1e-5}), []float64{math.E, 1e-5 / math.E}, .5},
		"the centre":            {SquaredLogDistance([]float64{3, 1e-5}), []float64{3, 1e-5}, 0},
	} {
		got, err := c.r(nil, c.x)
		if err != nil || math.Abs(got-c.want) > 1e-14 {
			t.Errorf("%s: %v, want %v (%v)", name, got, c.want, err)
		}
	}
}

// A search for a penalised minimum makes the same steps in other units.
func TestPenalisedSearchesAreIndependentOfUnits(t *testing.T) {
	for _, u := range []float64{0x1p20, 0x1p-20} {
		x0, q := []float64{1, 1}, Problem{Objective: quadratics[0].eval, Lower: boxLower, Upper: boxUpper}
		want := Collect(t, QuasiNewton{MaxEvals: 30}, q.Plus(.3, SquaredDistance([]float64{.2, .2}, 2)), x0)
		scaled, start := inUnits(q, x0, 1/u, []float64{u, u})
		got := Collect(t, QuasiNewton{MaxEvals: 30}, scaled.Plus(.3/u, SquaredDistance([]float64{.2 * u, .2 * u}, 2*u)), start)
		CompareUnits(t, "SquaredDistance", got, want, 1/u, []float64{u, u}, 0)
		want = Collect(t, QuasiNewton{MaxEvals: 30}, q.Plus(.3, SquaredLogDistance([]float64{.5, .7})), x0)
		got = Collect(t, QuasiNewton{MaxEvals: 30}, scaled.Plus(.3/u, SquaredLogDistance([]float64{.5 * u, .7 * u})), start)
		CompareUnits(t, "SquaredLogDistance", got, want, 1/u, []float64{u, u}, UnitTol)
	}
}

func TestPenaltiesRefuseHostileInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	r := SquaredDistance([]float64{0, 0}, 1)
	f := Problem{Objective: quadratics[0].eval}
	broken := errors.New("broken")
	fails := func(_, _ []float64) (float64, error) { return nan, broken }
	for name, c := range map[string]struct {
		p    Problem
		want error
	}{
		"weight below 0":     {f.Plus(-1, r), qpdiff.ErrDomain},
		"weight NaN":         {f.Plus(nan, r), qpdiff.ErrDomain},
		"weight infinite":    {f.Plus(inf, r), qpdiff.ErrDomain},
		"no penalty":         {f.Plus(1, nil), qpdiff.ErrEmpty},
		"no objective":       {Problem{}.Plus(1, r), qpdiff.ErrEmpty},
		"penalty fails":      {f.Plus(1, fails), broken},
		"objective fails":    {Problem{Objective: fails}.Plus(1, r), broken},
		"penalty is NaN":     {f.Plus(1, func(g, _ []float64) (float64, error) { return nan, setSlope(g, 0, 0) }), qpdiff.ErrNotFinite},
		"overflow":           {f.Plus(math.MaxFloat64, func(g, _ []float64) (float64, error) { return 9, setSlope(g, 0, 0) }), qpdiff.ErrNotFinite},
		"centre too short":   {f.Plus(1, SquaredDistance([]float64{0}, 1)), qpdiff.ErrShape},
		"no centre":          {f.Plus(1, SquaredDistance(nil, 1)), qpdiff.ErrEmpty},
		"centre NaN":         {f.Plus(1, SquaredDistance([]float64{nan, 0}, 1)), qpdiff.ErrNotFinite},
		"unit 0":             {f.Plus(1, SquaredDistance([]float64{0, 0}, 0)), qpdiff.ErrDomain},
		"unit infinite":      {f.Plus(1, SquaredDistance([]float64{0, 0}, inf)), qpdiff.ErrDomain},
		"no logarithmic one": {f.Plus(1, SquaredLogDistance(nil)), qpdiff.ErrEmpty},
		"logarithm of 0":     {f.Plus(1, SquaredLogDistance([]float64{1, 0})), qpdiff.ErrDomain},
		"logarithm below 0":  {f.Plus(1, SquaredLogDistance([]float64{1, -2})), qpdiff.ErrDomain},
		"logarithm of inf":   {f.Plus(1, SquaredLogDistance([]float64{1, inf})), qpdiff.ErrDomain},
		"logarithm, short":   {f.Plus(1, SquaredLogDistance([]float64{1})), qpdiff.ErrShape},
		"coordinate at 0":    {Problem{Objective: f.Objective, Upper: []float64{0, 0}}.Plus(1, SquaredLogDistance([]float64{1, 1})), qpdiff.ErrDomain},
	} {
		if _, err := Best(HeavyBall{StepSize: .1, MaxEvals: 5}.Search(c.p, []float64{1, 1})); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// Plus keeps the bounds and Restart of the problem.
func TestPlusKeepsTheProblem(t *testing.T) {
	p := noisy(quadratics[1], .1)
	q := p.Plus(2, SquaredDistance([]float64{0, 0}, 1))
	if q.Restart == nil || &q.Lower[0] != &p.Lower[0] || &q.Upper[0] != &p.Upper[0] {
		t.Errorf("bounds or Restart changed: %+v", q)
	}
	p.Restart()
	q.Restart()
	value, err := q.Objective(nil, []float64{1, 1})
	p.Restart()
	want, _ := p.Objective(nil, []float64{1, 1})
	if err != nil || math.Abs(value-(want+1)) > 1e-15 {
		t.Errorf("value alone is %v, want %v (%v)", value, want+1, err)
	}
	grad := []float64{0, 0}
	p.Restart()
	if with, err := q.Objective(grad, []float64{1, 1}); err != nil || with != value {
		t.Errorf("with gradient %v, without %v (%v)", with, value, err)
	}
	if alone, err := q.Objective(nil, []float64{1, 1}); err != nil || !(alone > 0) { // after a gradient
		t.Errorf("value after a gradient: %v, %v", alone, err)
	}
}
