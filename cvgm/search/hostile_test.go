package search

import (
	"errors"
	"math"
	"testing"

	"cvgm/qpdiff"
)

func setSlope(g []float64, a, b float64) error {
	if g != nil {
		g[0], g[1] = a, b
	}
	return nil
}

// hostileSearchers returns the contestants and searchers with extreme settings.
func hostileSearchers() []contestant {
	c := contestants()
	for _, extra := range []struct {
		name     string
		searcher func(b int) Searcher
		needsBox bool
	}{
		{"ProjectedGradient, no Tol", func(b int) Searcher { return ProjectedGradient{StepSize: .2, MaxEvals: b, Tol: -1} }, false},
		{"ProjectedGradient, long", func(b int) Searcher { return ProjectedGradient{StepSize: 1e200, MaxEvals: b} }, false},
		{"ProjectedGradient, short", func(b int) Searcher { return ProjectedGradient{StepSize: 1e-200, MaxEvals: b} }, false},
		{"HeavyBall, no Tol", func(b int) Searcher { return HeavyBall{StepSize: 3, MaxEvals: b, Tol: -1} }, false},
		{"Nesterov, no Tol", func(b int) Searcher { return Nesterov{StepSize: 3, MaxEvals: b, Tol: -1} }, false},
		{"Adam, no Tol", func(b int) Searcher { return Adam{StepSize: 1e100, MaxEvals: b, Tol: -1} }, true},
		{"AdaptiveGradient, no Tol", func(b int) Searcher { return AdaptiveGradient{FirstStep: 1e3, MaxEvals: b, Tol: -1} }, false},
		{"QuasiNewton, no Tol", func(b int) Searcher { return QuasiNewton{FirstStep: 1e200, MaxEvals: b, Tol: -1} }, true},
		{"QuasiNewton, short", func(b int) Searcher { return QuasiNewton{FirstStep: 1e-200, MaxEvals: b, Memory: 1} }, true},
		{"QuasiNewton, tiny MaxStep", func(b int) Searcher { return QuasiNewton{MaxStep: 1e-300, MaxEvals: b} }, true},
		{"Newton, no Tol", func(b int) Searcher { return Newton{FirstStep: 1e200, MaxEvals: b, Tol: -1} }, true},
		{"Newton, short", func(b int) Searcher { return Newton{FirstStep: 1e-200, MaxEvals: b} }, true},
		{"CMAES, no Tol", func(b int) Searcher {
			return CMAES{Source: stream("cma-es"), Sigma: 1e100, MaxEvals: b, Tol: -1}
		}, false},
		{"LogSpace AdaptiveGradient", func(b int) Searcher { return LogSpace{AdaptiveGradient{MaxEvals: b}} }, true},
		{"LogSpace Adam", func(b int) Searcher { return LogSpace{Adam{StepSize: 1e3, MaxEvals: b}} }, true},
		{"LogSpace CMAES", func(b int) Searcher { return LogSpace{CMAES{Source: stream("cma-es"), MaxEvals: b}} }, true},
		{"MultiStart LogSpace", func(b int) Searcher {
			return MultiStart{Searcher: LogSpace{QuasiNewton{MaxEvals: b / 2}}, Source: stream("multi-start"), Draw: LogUniform(-3, 3), Starts: 2}
		}, true},
	} {
		c = append(c, contestant{name: extra.name, newSearcher: extra.searcher, needsBox: extra.needsBox})
	}
	return c
}

// The loss at the start of a search, and later.
func TestSearchersTreatInfiniteLossesAsDocumented(t *testing.T) {
	for _, c := range hostileSearchers() {
		for _, loss := range []float64{math.NaN(), math.Inf(-1), math.Inf(1)} {
			for _, at := range []int{1, 3} {
				calls := 0
				p := Problem{Lower: boxLower, Upper: boxUpper, Hessian: quadratics[3].hessian, Objective: func(grad, x []float64) (float64, error) {
					if calls++; calls == at {
						setSlope(grad, math.NaN(), 1)
						return loss, nil
					}
					return quadratics[3].eval(grad, x)
				}}
				_, err := Best(c.newSearcher(8).Search(p, []float64{1, 1}))
				if calls < at {
					continue // its steps are too short to move
				}
				inner := c.newSearcher(8)
				if l, ok := inner.(LogSpace); ok {
					inner = l.Searcher
				}
				fine := false
				switch inner.(type) {
				case GridSearch, RandomSearch:
					fine = math.IsInf(loss, 1)
				case QuasiNewton, Newton, AdaptiveGradient, MultiStart, CMAES, Bayesian:
					fine = math.IsInf(loss, 1) && at > 1
				}
				if fine && err != nil || !fine && !errors.Is(err, qpdiff.ErrNotFinite) {
					t.Errorf("%s: error %v for a loss of %v at evaluation %d", c.name, err, loss, at)
				}
			}
		}
	}
}

func TestBestOfNothingIsAnError(t *testing.T) {
	for name, steps := range map[string][]Step{
		"no steps": nil,
		"NaN":      {{X: []float64{1}, Loss: math.NaN()}},
		"+Inf":     {{X: []float64{1}, Loss: math.Inf(1)}, {X: []float64{2}, Loss: math.Inf(1)}},
	} {
		_, err := Best(func(yield func(Step, error) bool) {
			for _, s := range steps {
				yield(s, nil)
			}
		})
		if !errors.Is(err, qpdiff.ErrNotFinite) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Every step bears the mark of its own gradient.
func TestSearchersMarkGeneralisedGradients(t *testing.T) {
	for _, c := range contestants() {
		marks := 0
		last := false
		p := Problem{Lower: boxLower, Upper: boxUpper, Hessian: quadratics[0].hessian, Objective: func(grad, x []float64) (float64, error) {
			last = x[0] < .9
			return quadratics[0].eval(grad, x)
		}, Generalised: func() bool { return last }}
		for s, err := range c.newSearcher(20).Search(p, []float64{1, 1}) {
			if err != nil {
				t.Fatal(err)
			}
			if s.Generalised != (c.gradient && s.X[0] < .9) {
				t.Errorf("%s: step %+v", c.name, s)
			}
			if s.Generalised {
				marks++
			}
		}
		if c.gradient && marks == 0 {
			t.Errorf("%s: no mark", c.name)
		}
	}
}

// Searches end with the expected error or the full budget if trials fail, steps overflow or the
// loss is flat.
func TestSearchesEnd(t *testing.T) {
	line := func(g, x []float64) (float64, error) { return 2*x[0] + x[1], setSlope(g, 2, 1) }
	flat := func(g, x []float64) (float64, error) { return 3, setSlope(g, 0, 0) }
	wall := func(g, x []float64) (float64, error) {
		if x[0] < .9 {
			return math.Inf(1), setSlope(g, 1, 1)
		}
		return x[0], setSlope(g, 1, 1)
	}
	calls := 0
	fails := func(g, x []float64) (float64, error) {
		if calls++; calls > 1 {
			return math.Inf(1), setSlope(g, 1, 1)
		}
		return line(g, x)
	}
	for name, c := range map[string]struct {
		s     Searcher
		p     Problem
		steps int
		err   error
	}{
		"each trial fails, QuasiNewton":      {QuasiNewton{MaxEvals: 5}, Problem{Objective: fails}, 5, nil},
		"each trial fails, AdaptiveGradient": {AdaptiveGradient{MaxEvals: 5}, Problem{Objective: fails}, 5, nil},
		"a step that overflows":              {ProjectedGradient{StepSize: math.MaxFloat64, MaxEvals: 5}, Problem{Objective: line}, 1, qpdiff.ErrNotFinite},
		"a wall before a bound":              {QuasiNewton{MaxEvals: 24}, Problem{Objective: wall, Lower: []float64{1e-12, 1e-12}}, 24, nil},
		"flat, on a set":                     {ProjectedGradient{StepSize: 1, MaxEvals: 5}, Problem{Objective: flat, Project: disc}, 1, nil},
		"no upper bounds":                    {LogSpace{QuasiNewton{MaxEvals: 200}}, Problem{Objective: line, Lower: []float64{1e-3, .5}}, 0, nil},
	} {
		calls = 0
		steps := 0
		var last Step
		var err error
		for last, err = range c.s.Search(c.p, []float64{1, 1}) {
			if err == nil {
				steps++
			}
			for i, x := range last.X {
				if lower, _ := c.p.bounds(i); x < lower {
					t.Errorf("%s: evaluates at %v", name, last.X)
				}
			}
		}
		if !errors.Is(err, c.err) || c.steps > 0 && steps != c.steps || c.steps == 0 && (!last.Converged || math.Abs(last.X[0]-1e-3) > 1e-15) {
			t.Errorf("%s: %d steps, error %v, the last %+v", name, steps, err, last)
		}
	}
}
