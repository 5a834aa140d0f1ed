package search

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/synth"
)

// hostile objectives of two variables, by name.
var hostile = map[string]func(grad, x []float64) (float64, error){
	"overflow": func(g, x []float64) (float64, error) {
		e := math.Exp(x[0]*x[0] + x[1]*x[1])
		return e, setSlope(g, 2*x[0]*e, 2*x[1]*e)
	},
	"steep": func(g, x []float64) (float64, error) {
		e := math.Exp(40 * x[0])
		return e + x[1]*x[1], setSlope(g, 40*e, 2*x[1])
	},
	"falls to 0": func(g, x []float64) (float64, error) {
		e := math.Exp(-x[0])
		return e, setSlope(g, -e, 0)
	},
	"-Inf at 0": func(g, x []float64) (float64, error) {
		return math.Log(math.Abs(x[0]) + math.Abs(x[1])), setSlope(g, 1/x[0], 1/x[1])
	},
	"-Inf": func(g, x []float64) (float64, error) {
		if x[0] < .9 {
			return math.Inf(-1), setSlope(g, 1, 1)
		}
		return x[0], setSlope(g, 1, 1)
	},
	"+Inf": func(g, x []float64) (float64, error) {
		if x[0] < .9 {
			return math.Inf(1), setSlope(g, 1, 1)
		}
		return x[0], setSlope(g, 1, 1)
	},
	"NaN": func(g, x []float64) (float64, error) {
		if x[0] < .9 {
			return math.NaN(), setSlope(g, 1, 1)
		}
		return x[0], setSlope(g, 1, 1)
	},
	"NaN slope": func(g, x []float64) (float64, error) {
		if x[0] < .9 {
			return x[0], setSlope(g, math.NaN(), 1)
		}
		return x[0], setSlope(g, 1, 1)
	},
	"infinite slope": func(g, x []float64) (float64, error) {
		return math.Sqrt(math.Abs(x[0] - .5)), setSlope(g, math.Copysign(.5, x[0]-.5)/math.Sqrt(math.Abs(x[0]-.5)), 0)
	},
	"quadratic without end": func(g, x []float64) (float64, error) {
		return -x[0]*x[0] + x[1]*x[1], setSlope(g, -2*x[0], 2*x[1])
	},
	"line without end": func(g, x []float64) (float64, error) { return -x[0] - x[1], setSlope(g, -1, -1) },
	"cliff": func(g, x []float64) (float64, error) {
		return -math.Exp(x[0]), setSlope(g, -math.Exp(x[0]), 0)
	},
	"constant":      func(g, x []float64) (float64, error) { return 3, setSlope(g, 0, 0) },
	"zero":          func(g, x []float64) (float64, error) { return 0, setSlope(g, 0, 0) },
	"zero slope":    func(g, x []float64) (float64, error) { return x[0], setSlope(g, 0, 0) },
	"zero, sloping": func(g, x []float64) (float64, error) { return 0, setSlope(g, 1, -1) },
	"wrong slope":   func(g, x []float64) (float64, error) { return x[0] * x[0], setSlope(g, -2*x[0], 1) },
	"kink": func(g, x []float64) (float64, error) {
		return math.Abs(x[0]-.3) + math.Abs(x[1]+.1), setSlope(g, sign(x[0]-.3), sign(x[1]+.1))
	},
	"valley with a kink": func(g, x []float64) (float64, error) {
		return 100*math.Abs(x[1]-x[0]*x[0]) + math.Abs(1-x[0]), setSlope(g, -200*x[0]*sign(x[1]-x[0]*x[0])-sign(1-x[0]), 100*sign(x[1]-x[0]*x[0]))
	},
	"jumps":  func(g, x []float64) (float64, error) { return math.Floor(8*x[0]) + x[1]*x[1], setSlope(g, 8, 2*x[1]) },
	"saddle": func(g, x []float64) (float64, error) { return x[0] * x[1], setSlope(g, x[1], x[0]) },
	"huge": func(g, x []float64) (float64, error) {
		return 1e306 * (x[0]*x[0] + x[1]*x[1]), setSlope(g, 2e306*x[0], 2e306*x[1])
	},
	"tiny": func(g, x []float64) (float64, error) {
		return 1e-306 * (x[0]*x[0] + x[1]*x[1]), setSlope(g, 2e-306*x[0], 2e-306*x[1])
	},
	"noise": func(g, x []float64) (float64, error) {
		_, u := math.Modf(1e6 * math.Abs(math.Sin(1e5*x[0]+x[1])))
		return u, setSlope(g, u-.5, .5-u)
	},
}

func setSlope(g []float64, a, b float64) error {
	if g != nil {
		g[0], g[1] = a, b
	}
	return nil
}

func sign(v float64) float64 { return math.Copysign(1, v) }

var errHostile = errors.New("hostile")

// hostileSearchers are the contestants, and searchers within searchers, with
// and without their stopping rule.
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
		c = append(c, contestant{name: extra.name, make: extra.searcher, needsBox: extra.needsBox})
	}
	return c
}

// Whatever the objective, a search keeps to its budget and to its set, passes
// every evaluation to the caller's loop, and ends without NaN or with an error.
func TestSearchersSurviveHostileObjectives(t *testing.T) {
	done := make(chan bool)
	defer close(done)
	current := ""
	go func() {
		select {
		case <-done:
		case <-time.After(2 * time.Minute):
			panic("hangs: " + current)
		}
	}()
	inf := math.Inf(1)
	src := synth.NewStream(1, "hostile")
	sets := []Problem{
		{Lower: boxLower, Upper: boxUpper},
		{Lower: []float64{1e-12, 1e-12}},
		{Lower: []float64{-1, -inf}, Upper: []float64{1, inf}},
		{},
		{Project: disc},
		{Project: func(x []float64) { Simplex(x) }},
		{Lower: []float64{1e-3, 1e-3}, Upper: []float64{inf, 1e300}},
	}
	starts := [][]float64{{1, 1}, {0, 0}, {1e-9, 5}, {26, 26}, {30, -1}, {1e200, 1}, {-4, 1e-200}}
	const budget, rounds = 24, 8
	for range rounds {
		for _, c := range hostileSearchers() {
			for _, name := range slices.Sorted(maps.Keys(hostile)) {
				k, x0, failAt := src.IntN(len(sets)), starts[src.IntN(len(starts))], src.IntN(3*budget)
				current = fmt.Sprint(c.name, ", ", name, ", set ", k, ", from ", x0, ", error at ", failAt)
				checkHostile(t, current, c, sets[k], hostile[name], x0, budget, failAt)
				if t.Failed() {
					return
				}
			}
		}
	}
}

func checkHostile(t *testing.T, what string, c contestant, p Problem, objective Objective, x0 []float64, budget, failAt int) {
	calls, kinds := 0, []error{qpdiff.ErrNotFinite, qpdiff.ErrDomain, errHostile}
	p.Objective = func(grad, x []float64) (float64, error) {
		for i, v := range x {
			lower, upper := p.bounds(i)
			if !args.Finite(v) || v < lower || v > upper {
				t.Errorf("%s: evaluates at %v", what, x)
			}
		}
		if calls++; calls == failAt+1 {
			return 0, errHostile
		}
		return objective(grad, x)
	}
	seen, steps := 0, 0
	var failure error
	for s, err := range c.make(budget).Search(p, x0) {
		if failure != nil {
			t.Errorf("%s: goes on after an error", what)
		}
		seen++
		if failure = err; err != nil {
			continue
		}
		steps++
		if seen != calls || s.Evaluations != calls {
			t.Errorf("%s: step %d after %d evaluations: %+v", what, seen, calls, s)
		}
		if s.Loss != s.Loss || math.IsInf(s.Loss, -1) {
			t.Errorf("%s: yields a loss of %v", what, s.Loss)
		}
		if s.Converged && (!args.Finite(s.Loss) || !args.AllFinite(s.Grad)) {
			t.Errorf("%s: converged at %+v", what, s)
		}
	}
	if c.own > 0 {
		budget = c.own
	}
	if calls > budget || calls != seen && !(failure != nil && calls == seen-1) {
		t.Errorf("%s: %d evaluations, %d seen, for a budget of %d", what, calls, seen, budget)
	}
	var where *Error
	if failure != nil && (!slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(failure, kind) }) || !errors.As(failure, &where)) {
		t.Errorf("%s: %v", what, failure)
	}
	if failure == nil && steps == 0 {
		t.Errorf("%s: no step and no error", what)
	}
}

// What the loss is where a search starts, and later.
func TestSearchersTreatInfiniteLossesAsDocumented(t *testing.T) {
	for _, c := range hostileSearchers() {
		for _, loss := range []float64{math.NaN(), math.Inf(-1), math.Inf(1)} {
			for _, at := range []int{1, 3} {
				calls := 0
				p := Problem{Lower: boxLower, Upper: boxUpper, Objective: func(grad, x []float64) (float64, error) {
					if calls++; calls == at {
						setSlope(grad, math.NaN(), 1)
						return loss, nil
					}
					return quadratics[3].eval(grad, x)
				}}
				_, err := Best(c.make(8).Search(p, []float64{1, 1}))
				if calls < at {
					continue // its steps are too short to move
				}
				inner := c.make(8)
				if l, ok := inner.(LogSpace); ok {
					inner = l.Searcher
				}
				fine := false
				switch inner.(type) {
				case GridSearch, RandomSearch:
					fine = math.IsInf(loss, 1)
				case QuasiNewton, AdaptiveGradient, MultiStart, CMAES, Bayesian:
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
		p := Problem{Lower: boxLower, Upper: boxUpper, Objective: func(grad, x []float64) (float64, error) {
			last = x[0] < .9
			return quadratics[0].eval(grad, x)
		}, Generalised: func() bool { return last }}
		for s, err := range c.make(20).Search(p, []float64{1, 1}) {
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
