package search

import (
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

// parabola is ½(x − c)² + lowest in one variable.
func parabola(c, lowest float64) Problem {
	return Problem{Objective: func(grad, x []float64) (float64, error) {
		grad[0] = x[0] - c
		return grad[0]*grad[0]/2 + lowest, nil
	}}
}

// Each step halves x, so the number of steps shows the tolerance.
func TestSearchesConvergeByTheDocumentedTest(t *testing.T) {
	for _, c := range []struct {
		lowest, tol float64
		want        int
	}{
		{1, 0, 30},    // x ≤ 1e-9
		{1, 1e-5, 17}, // x ≤ 1e-5
		{0, 0, 31},    // x ≤ 1e-9·½, the loss at the start
		{-.5, 0, 31},  // the same for a loss that is zero at the start: |f| is ½ at the end
	} {
		steps := Collect(t, ProjectedGradient{StepSize: .5, Tol: c.tol}, parabola(0, c.lowest), []float64{1})
		if last := steps[len(steps)-1]; !last.Converged || last.Evaluations != c.want+1 {
			t.Errorf("lowest loss %v, Tol %v: ends after %d steps, want %d", c.lowest, c.tol, last.Evaluations-1, c.want)
		}
	}
	// After a start with a huge loss, small relative gains do not end a search whose steps are
	// long.
	steps := Collect(t, QuasiNewton{}, Problem{Objective: func(g, x []float64) (float64, error) {
		e := math.Exp(x[0]*x[0] + x[1]*x[1])
		return e, setSlope(g, 2*x[0]*e, 2*x[1]*e)
	}}, []float64{17, 1})
	if last := steps[len(steps)-1]; !last.Converged || math.Abs(last.Loss-1) > 1e-9 {
		t.Errorf("from a huge loss ends at %+v", last)
	}
}

func TestNegativeTolIsNeverReached(t *testing.T) {
	for _, loss := range []float64{0, 3} {
		flat := Problem{Objective: func(g, _ []float64) (float64, error) { return loss, setSlope(g, 0, 0) }}
		for _, s := range []Searcher{
			ProjectedGradient{StepSize: 1, MaxEvals: 9, Tol: -1}, HeavyBall{StepSize: 1, MaxEvals: 9, Tol: -1}, Nesterov{StepSize: 1, MaxEvals: 9, Tol: -1},
			Adam{StepSize: 1, MaxEvals: 9, Tol: -1}, AdaptiveGradient{MaxEvals: 9, Tol: -1},
		} {
			if steps := Collect(t, s, flat, []float64{1, 1}); len(steps) != 9 || steps[8].Converged {
				t.Errorf("%T: %d steps, converged %v", s, len(steps), steps[len(steps)-1].Converged)
			}
		}
	}
}

// A search leaves a tiny start unless steps of the start's size leave the rounded loss unchanged.
func TestSearchesLeaveTinyStarts(t *testing.T) {
	for _, s := range []Searcher{QuasiNewton{}, AdaptiveGradient{}} {
		for _, x0 := range []float64{1e-3, 1e-9, 3e-15} {
			best, err := Best(s.Search(parabola(1, .5), []float64{x0}))
			if err != nil || math.Abs(best.X[0]-1) > 1e-8 || !best.Converged && best.Loss > .5 {
				t.Errorf("%T from %v: ends at %+v (%v)", s, x0, best, err)
			}
		}
		if steps := Collect(t, s, parabola(1, .5), []float64{3e-16}); len(steps) != 1 || !steps[0].Converged {
			t.Errorf("%T: %d steps where the loss shows none", s, len(steps))
		}
	}
}

// From the minimum a search need not go anywhere.
func TestSearchesEndWhereTheyStart(t *testing.T) {
	for _, c := range []struct {
		s    Searcher
		most int
	}{
		{QuasiNewton{}, 3}, {AdaptiveGradient{}, 40}, {ProjectedGradient{StepSize: .5}, 1}, {HeavyBall{StepSize: .5}, 1}, {Nesterov{StepSize: .5}, 1},
	} {
		for _, off := range []float64{0, 1e-17, 1e-12, 1e-10} {
			steps := Collect(t, c.s, parabola(1, 1), []float64{1 + off})
			if last := steps[len(steps)-1]; !last.Converged || len(steps) > c.most || math.Abs(last.X[0]-1) > 2e-9 {
				t.Errorf("%T from 1+%v: ends after %d steps at %+v", c.s, off, len(steps), last)
			}
		}
	}
}

func TestScalesFollowTheDocumentedRule(t *testing.T) {
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		p    Problem
		x0   []float64
		grad float64 // the largest entry of the gradient at the start, at which the loss is 6
		want []float64
	}{
		"signs fixed":           {Problem{Lower: []float64{0, -inf, 1}, Upper: []float64{inf, 0, 9}}, []float64{.1, -20, 3}, 1, []float64{.1, 20, 3}},
		"widths":                {Problem{Lower: []float64{-1, -2}, Upper: []float64{1, 5}}, []float64{.1, 0}, 1, []float64{2, 7}},
		"weights":               {Problem{}, []float64{.1, -.5, 0}, 1, []float64{.5, .5, .5}},
		"weights and a penalty": {Problem{Lower: []float64{-inf, 0}}, []float64{3, .2}, 1, []float64{3, .2}},
		"penalties at zero":     {Problem{Lower: []float64{0, 0}}, []float64{0, .2}, 1, []float64{.2, .2}},
		"a bound":               {Problem{Lower: []float64{-4, 0}, Upper: []float64{inf, 8}}, []float64{0, 0}, 1, []float64{4, 8}},
		"nothing":               {Problem{}, []float64{0, 0}, 3, []float64{2, 2}},
		"nothing at all":        {Problem{}, []float64{0, 0}, 0, []float64{1, 1}},
	} {
		w := &searchRun{Step: Step{X: c.x0, Loss: 6, Grad: make([]float64, len(c.x0))}, p: c.p}
		w.Grad[0] = -c.grad
		w.setScales()
		if !slices.Equal(w.scale, c.want) {
			t.Errorf("%s: scales %v, want %v", name, w.scale, c.want)
		}
	}
}

// Adam takes the steps of its published formulas, including the correction of bias.
func TestAdamCorrectsItsBias(t *testing.T) {
	slopes := []float64{3, -1, 1e-5}
	p := Problem{Objective: func(grad, x []float64) (float64, error) {
		grad[0] = slopes[0]
		slopes = append(slopes[1:], 1)
		return x[0], nil
	}}
	const b1, b2, s = .9, .999, .1
	var a, b float64
	want := []float64{5}
	for k, g := range slopes {
		a, b = b1*a+(1-b1)*g, b2*b+(1-b2)*g*g
		hat := func(v, beta float64) float64 { return v / (1 - math.Pow(beta, float64(k+1))) }
		want = append(want, want[k]-s*hat(a, b1)/(math.Sqrt(hat(b, b2))+1e-8*3))
	}
	if math.Abs(want[1]-4.9) > 1e-8 {
		t.Errorf("the first step by hand ends at %v", want[1])
	}
	for k, step := range Collect(t, Adam{StepSize: s, MaxEvals: 4}, p, []float64{5}) {
		if math.Abs(step.X[0]-want[k]) > 1e-14 {
			t.Errorf("step %d is at %v, want %v", k, step.X[0], want[k])
		}
	}
}

// Adam halves a step if the slope has fallen to the default Epsilon, 1e-8 times the largest slope.
func TestAdamSlowsDownWhereSlopesVanish(t *testing.T) {
	at := func(slope float64) float64 {
		k := 0
		p := Problem{Objective: func(grad, x []float64) (float64, error) {
			grad[0] = slope
			if k++; k == 1 {
				grad[0] = 1
			}
			return x[0], nil
		}}
		// Without memory, every slope has the step to itself.
		steps := Collect(t, Adam{StepSize: 1, Beta1: 1e-300, Beta2: 1e-300, MaxEvals: 3}, p, []float64{0})
		return steps[1].X[0] - steps[2].X[0]
	}
	for slope, want := range map[float64]float64{1: 1, 1e-8: .5, 1e-7: 1 / 1.1, 1e-9: 1. / 11} {
		if got := at(slope); math.Abs(got-want) > 1e-6 {
			t.Errorf("at slope %v the step is %v, want %v", slope, got, want)
		}
	}
}

// Nesterov restarts its momentum in a long valley, where it would otherwise overshoot the minimum
// many times.
func TestNesterovRestartsWhereMomentumOvershoots(t *testing.T) {
	valley := Problem{Objective: func(grad, x []float64) (float64, error) {
		grad[0], grad[1] = x[0], 1e-4*x[1]
		return 1 + (x[0]*x[0]+1e-4*x[1]*x[1])/2, nil
	}}
	steps := Collect(t, Nesterov{StepSize: 1, MaxEvals: 5000}, valley, []float64{1, 1})
	if last := steps[len(steps)-1]; !last.Converged || last.Evaluations > 1000 {
		t.Errorf("ends after %d evaluations, converged %v", last.Evaluations, last.Converged)
	}
}

// An update of the BFGS matrix keeps the matrix positive definite. It gives a step the measured
// curvature if this is positive, and otherwise a damped curvature.
func TestCurvatureIsDampedWhereNotPositive(t *testing.T) {
	src := synth.NewStream(1, "curvature")
	const n = 4
	vector := func() []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = src.NormFloat64()
		}
		return v
	}
	bs, ones := make([]float64, n), []float64{1, 1, 1, 1}
	for range 50 {
		c := newBFGSMatrix(n, 3)
		c.reset(1+src.Float64(), ones)
		for range 5 {
			s, y := vector(), vector()
			sy := floats.Dot(s, y)
			c.add(s, y)
			c.multiply(bs, s, c.stepCount)
			want := sy
			if sy <= 0 {
				want = -1 // of the last model, whose scale add changes
			}
			if got := floats.Dot(s, bs); want > 0 && math.Abs(got-want) > 1e-9*want || !(got > 0) {
				t.Errorf("curvature %v along a step of %v", got, sy)
			}
			for range 3 {
				v := vector()
				c.multiply(bs, v, c.stepCount)
				if !(floats.Dot(v, bs) > 0) {
					t.Errorf("B is not positive definite: %v", floats.Dot(v, bs))
				}
			}
		}
		first := newBFGSMatrix(n, 3)
		first.reset(2, ones)
		s := vector()
		y := make([]float64, n)
		floats.AddScaled(y, -3, s)
		first.add(s, y)
		first.multiply(bs, s, 1)
		if got, want := floats.Dot(s, bs), .2*2*floats.Dot(s, s); math.Abs(got-want) > 1e-12*want {
			t.Errorf("damped curvature %v, want %v", got, want)
		}
	}
}

func TestCurvatureIsTakenAsItIsUnlessLost(t *testing.T) {
	for share, want := range map[float64]bool{3e-10: true, 3e-11: false} {
		c := newBFGSMatrix(1, 3)
		c.reset(2, []float64{1})
		if got := c.add([]float64{1}, []float64{2 * share}); got != want {
			t.Errorf("a curvature of %v of the model's is taken in: %v", share, got)
		}
	}
}

// QuasiNewton restarts after a step of almost no gain if the loss has fallen by 1e-8 since the last
// restart. Otherwise it ends.
func TestQuasiNewtonRestartsWhereItGained(t *testing.T) {
	for _, c := range []struct {
		gain, creep float64 // of the first step, of the one after some rejections
		rejections  int
		more        bool
	}{
		{1.5e-8, 1e-11, 3, true}, {.7e-8, 1e-11, 3, false},
		{1e-9, .7e-10, 3, false}, {1e-9, 1.5e-10, 3, true},
		{1e-9, .7e-10, 2, true},
	} {
		script := [][2]float64{{1, 1e-5}, {1 - c.gain, 5e-6}}
		for range c.rejections {
			script = append(script, [2]float64{2, 1e-5})
		}
		p := scripted(append(script, [2]float64{1 - c.gain - c.creep, 1e-5})...)
		steps := Collect(t, QuasiNewton{MaxEvals: 20}, p, []float64{1})
		if last := steps[len(steps)-1]; last.Converged || (last.Evaluations > 3+c.rejections) != c.more {
			t.Errorf("%+v: ends after %d evaluations, converged %v", c, last.Evaluations, last.Converged)
		}
	}
}

// A QuasiNewton step to a bound ends exactly at the bound, in spite of rounding in bound − x.
func TestQuasiNewtonMeetsBoundsExactly(t *testing.T) {
	src := synth.NewStream(1, "exact bounds")
	for range 200 {
		n := 2 + int(4*src.Float64())
		lower, x0 := make([]float64, n), make([]float64, n)
		for i := range n {
			lower[i] = 1e-3 * src.Float64()
			x0[i] = lower[i] + src.Float64()
		}
		p := Problem{Lower: lower, Objective: func(grad, x []float64) (float64, error) {
			var f float64
			for i, v := range x {
				grad[i] = 1 + v
				f += v + v*v/2
			}
			return f, nil
		}}
		steps := Collect(t, QuasiNewton{}, p, x0)
		if last := steps[len(steps)-1]; !last.Converged || !slices.Equal(last.X, lower) || len(steps) > 8 {
			t.Fatalf("from %v ends at %v instead of %v after %d steps", x0, last.X, lower, len(steps))
		}
	}
}

// scripted returns an objective whose successive evaluations return the entries of a script, for
// any x.
func scripted(script ...[2]float64) Problem {
	return Problem{Objective: func(grad, x []float64) (float64, error) {
		now := script[0]
		if len(script) > 1 {
			script = script[1:]
		}
		grad[0] = now[1]
		return now[0], nil
	}}
}

// QuasiNewton accepts a step by the documented rule. An accepted step leads from 1 to .8.
func TestQuasiNewtonAcceptsByTheDocumentedRule(t *testing.T) {
	for _, c := range []struct {
		loss, slope float64 // at .8
		want        bool
	}{
		// The slope predicts a gain of .2. Armijo's rule requires 1e-4 of this gain.
		{1 - 2e-5*1.5, 1, true}, {1 - 2e-5/1.5, 1, false},
		// If the losses differ by less than 1e-14, an accepted step must reduce the slope to .9 of
		// its first value.
		{1 + 6e-15, .5, true}, {1 + 1.4e-14, .5, false},
		{1, .89, true}, {1, .91, false}, {1, -.89, true}, {1, -.91, false},
	} {
		steps := Collect(t, QuasiNewton{MaxEvals: 3}, scripted([2]float64{1, 1}, [2]float64{c.loss, c.slope}, [2]float64{2, 1}), []float64{1})
		// A rejected step becomes shorter by half or more.
		if got := steps[2].X[0] < .9-1e-9; steps[1].X[0] != .8 || got != c.want {
			t.Errorf("a step to loss %v and slope %v: %v, %v; accepted %v, want %v", c.loss, c.slope, steps[1].X, steps[2].X, got, c.want)
		}
	}
}

// A line search ends when its step is 1e-10 of its first step.
func TestQuasiNewtonGivesUpOnALine(t *testing.T) {
	steps := Collect(t, QuasiNewton{}, scripted([2]float64{1, 1}, [2]float64{1e9, 1}), []float64{1})
	last := steps[len(steps)-1]
	if share := (1 - last.X[0]) / .2; last.Converged || math.Abs(share-1e-10) > 1e-3*1e-10 {
		t.Errorf("ends after %d steps at %v of the first step, converged %v", len(steps), share, last.Converged)
	}
}

// The box model's solver reduces the gradient's norm by a factor of 1e10 and then stops.
func TestBoxModelIsSolvedToItsTolerance(t *testing.T) {
	src := synth.NewStream(1, "box model")
	const n = 30
	zeros, bd := make([]float64, n), make([]float64, n)
	vector := func() []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = src.NormFloat64()
		}
		return v
	}
	steep := vector()
	for i := range steep {
		steep[i] = math.Exp(steep[i])
	}
	var largest float64
	for range 300 {
		b := newBFGSMatrix(n, 10)
		b.reset(1+src.Float64(), steep)
		for range 10 {
			s := vector()
			y := make([]float64, n)
			for i := range y {
				y[i] = s[i] * math.Exp(src.NormFloat64())
			}
			b.add(s, y)
		}
		d, g := make([]float64, n), vector()
		newBoxModel(Problem{}, slices.Repeat([]float64{1}, n), math.Inf(1)).minimise(d, zeros, g, b)
		b.multiply(bd, d, b.stepCount)
		var left, all float64
		for i, v := range g {
			left += (v + bd[i]) * (v + bd[i]) / b.diag[i]
			all += v * v / b.diag[i]
		}
		largest = max(largest, math.Sqrt(left/all))
	}
	if !(largest <= 1e-10*1.01 && largest >= .2e-10) {
		t.Errorf("leaves up to %v of the gradient", largest)
	}
}

// CMAES without Tol evaluates only finite points, although its steps shrink by a factor of 1e100.
func TestCMAESWithoutTolKeepsFinite(t *testing.T) {
	serial.Test(t)
	p := Problem{Objective: func(_, x []float64) (float64, error) { return math.Abs(x[0]) + math.Abs(x[1]), nil }}
	steps := Collect(t, CMAES{Source: stream("no Tol"), Sigma: 1, MaxEvals: 20000, Tol: -1}, p, []float64{1, 1})
	last := steps[len(steps)-1]
	if len(steps) != 20000 || !args.AllFinite(last.X) || !(math.Abs(last.X[0]) < 1e-98 && last.X[0] != 0) {
		t.Errorf("ends after %d steps at %v", len(steps), last.X)
	}
}

// Settings of zero are the documented defaults.
func TestDefaultsAreThoseDocumented(t *testing.T) {
	valley := rosenbrock()
	valley.Lower, valley.Upper = []float64{-4, -4, -4}, []float64{4, 4, 4}
	draw := func(src Source, x []float64) {
		for i := range x {
			x[i] = 2*src.Float64() - 1
		}
	}
	src := stream("defaults")
	for _, c := range [][2]Searcher{
		{ProjectedGradient{StepSize: 1e-3}, ProjectedGradient{StepSize: 1e-3, MaxEvals: 1000, Tol: 1e-9}},
		{HeavyBall{StepSize: 1e-4}, HeavyBall{StepSize: 1e-4, Momentum: .9, MaxEvals: 1000, Tol: 1e-9}},
		{Nesterov{StepSize: 1e-3}, Nesterov{StepSize: 1e-3, MaxEvals: 1000, Tol: 1e-9}},
		{Adam{StepSize: .01}, Adam{StepSize: .01, Beta1: .9, Beta2: .999, MaxEvals: 1000, Tol: 1e-9}},
		{AdaptiveGradient{}, AdaptiveGradient{FirstStep: .01, MaxEvals: 1000, Tol: 1e-9}},
		{QuasiNewton{}, QuasiNewton{FirstStep: .2, Memory: 10, MaxEvals: 1000, Tol: 1e-9}},
		{Newton{}, Newton{FirstStep: 1, MaxEvals: 1000, Tol: 1e-9}},
		{CMAES{Source: src}, CMAES{Source: src, Population: 7, MaxEvals: 1000, Tol: 1e-12}},
		{CMAES{Source: src}, CMAES{Source: src, Sigma: .3 * 8}},
		{Bayesian{Source: src, MaxEvals: 15}, Bayesian{Source: src, Initial: 8, MaxEvals: 15, Candidates: 200}},
		{RandomSearch{Source: src, Draw: draw}, RandomSearch{Source: src, Draw: draw, MaxEvals: 100}},
		{MultiStart{Searcher: QuasiNewton{MaxEvals: 5}, Source: src, Draw: draw}, MultiStart{Searcher: QuasiNewton{MaxEvals: 5}, Source: src, Draw: draw, Starts: 10}},
	} {
		got, want := Collect(t, c[0], valley, []float64{-1, 1, -.5}), Collect(t, c[1], valley, []float64{-1, 1, -.5})
		if len(got) != len(want) || !slices.Equal(got[len(got)-1].X, want[len(want)-1].X) {
			t.Errorf("%+v makes %d steps to %v, %+v makes %d to %v", c[0], len(got), got[len(got)-1].X, c[1], len(want), want[len(want)-1].X)
		}
	}
}

// MaxStep limits the distance between evaluations of QuasiNewton and does not change its result.
func TestQuasiNewtonMaxStep(t *testing.T) {
	p := Problem{Lower: []float64{1e-6, 1e-6}, Upper: []float64{1e6, 1e2}, Objective: func(grad, x []float64) (float64, error) {
		a, b := math.Log(x[0])-3, math.Log(x[1])-9
		grad[0], grad[1] = a/math.Hypot(1, a)/x[0], b/math.Hypot(1, b)/x[1]
		return math.Hypot(1, a) + math.Hypot(1, b), nil
	}}
	start := []float64{1e-5, 1e-5}
	furthest := func(most float64) (furthest float64) {
		var seen [][]float64
		steps := Collect(t, LogSpace{QuasiNewton{MaxStep: most}}, p, start)
		for k, step := range steps {
			x := []float64{math.Log(step.X[0]), math.Log(step.X[1])}
			nearest := math.Inf(1)
			for _, y := range seen {
				nearest = min(nearest, floats.Distance(x, y, math.Inf(1)))
			}
			if seen = append(seen, x); k > 0 {
				furthest = max(furthest, nearest)
			}
		}
		if last := steps[len(steps)-1]; !last.Converged || math.Abs(math.Log(last.X[0])-3) > 1e-4 || last.X[1] != 1e2 {
			t.Errorf("MaxStep %v ends at %v, converged: %v", most, last.X, last.Converged)
		}
		return furthest
	}
	if free, short := furthest(0), furthest(1.5); free < 3 || short > 1.5*(1+1e-12) || short < 1.4 {
		t.Errorf("steps reach up to %v, and %v with MaxStep 1.5", free, short)
	}
}

// cubicStep returns the minimum of a cubic, clipped to [.1, .5].
func TestCubicStep(t *testing.T) {
	for root, want := range map[float64]float64{.3: .3, .12: .12, .48: .48, .05: .1, .7: .5} {
		for _, k := range []float64{1, 1e-12, 1e12} {
			f1 := k * (1./3 + (1-root)/2 - root)
			if got := cubicStep(5*k, -root*k, 5*k+f1, 2*(1-root)*k); math.Abs(got-want) > 1e-12 {
				t.Errorf("minimum at %v of a cubic times %v: %v", root, k, got)
			}
		}
	}
}

// QuasiNewton shortens a step to a tenth if the trial's loss or slope is not finite.
func TestQuasiNewtonShortensFailedTrials(t *testing.T) {
	for _, failed := range [][2]float64{{math.Inf(1), 1}, {1, math.Inf(1)}, {1, math.NaN()}} {
		steps := Collect(t, QuasiNewton{MaxEvals: 3}, scripted([2]float64{1, 1}, failed, [2]float64{1, 1}), []float64{1})
		if got := steps[2].X[0]; math.Abs(got-.98) > 1e-15 {
			t.Errorf("after %v the next trial is at %v", failed, got)
		}
	}
}

// The diagonal of the BFGS matrix stays positive if step and change of the gradient are almost
// orthogonal.
func TestCurvatureDiagonalStaysPositive(t *testing.T) {
	c := newBFGSMatrix(2, 3)
	c.reset(2, []float64{1, 1})
	c.add([]float64{1, 1e-9}, []float64{0, 1})
	bs := make([]float64, 2)
	c.multiply(bs, []float64{1, 0}, 1)
	if !(c.diag[0] > 0 && c.diag[1] > 0 && bs[0] > 0) {
		t.Errorf("diagonal %v, curvature %v", c.diag, bs[0])
	}
}

// QuasiNewton converges at a rejected trial whose loss equals the last loss within Tol and whose
// slope predicts no gain.
func TestQuasiNewtonConvergesAtARejectedTrial(t *testing.T) {
	for loss, want := range map[float64]bool{1 + .7e-9: true, 1 + 1.5e-9: false} {
		steps := Collect(t, QuasiNewton{MaxEvals: 3}, scripted([2]float64{1, 1}, [2]float64{loss, 1e-16}, [2]float64{1, 1}), []float64{1})
		if steps[1].Converged != want {
			t.Errorf("a trial of loss %v: converged %v", loss, steps[1].Converged)
		}
	}
}

// The box model's solution satisfies the optimality conditions even if the coordinates reach their
// bounds one by one.
func TestBoxModelMeetsManyBounds(t *testing.T) {
	const n = 40
	b := newBFGSMatrix(n, 3)
	ones, lower, g, d, bd := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		ones[i], lower[i], g[i] = 1, -1+.02*float64(i), 1
	}
	b.reset(1, ones)
	newBoxModel(Problem{Lower: lower}, ones, math.Inf(1)).minimise(d, make([]float64, n), g, b)
	b.multiply(bd, d, 0)
	for i := range n {
		if slope := g[i] + bd[i]; !(d[i] == lower[i] && slope > 0 || math.Abs(slope) < 1e-9) {
			t.Errorf("entry %d is %v above its bound with slope %v", i, d[i]-lower[i], slope)
		}
	}
}

// The first steps by hand, on ½x² from 1.
func TestMomentumFollowsTheDocumentedFormulas(t *testing.T) {
	const s, beta = .1, .7
	heavy, last := []float64{1}, 1.
	for k := range 4 {
		x := heavy[k]
		heavy = append(heavy, x-s*x+beta*(x-last))
		last = x
	}
	// y = x + k/(k+3)·(x − x⁻), x⁺ = y − s·y
	nesterov, x, before := []float64{}, 1., 1.
	for k := range 5 {
		y := x + float64(k)/float64(k+3)*(x-before)
		nesterov = append(nesterov, y)
		x, before = y-s*y, x
	}
	for _, c := range []struct {
		s    Searcher
		want []float64
	}{
		{HeavyBall{StepSize: s, Momentum: beta, MaxEvals: 5}, heavy},
		{Nesterov{StepSize: s, MaxEvals: 5}, nesterov},
	} {
		for k, step := range Collect(t, c.s, parabola(0, 1), []float64{1}) {
			if math.Abs(step.X[0]-c.want[k]) > 1e-14 {
				t.Errorf("%T: step %d is at %v, want %v", c.s, k, step.X[0], c.want[k])
			}
		}
	}
}

// Adam converges if its slope predicts no gain over a step of length StepSize, which may exceed the
// scale of x.
func TestAdamConvergesByItsStepSize(t *testing.T) {
	for step, want := range map[float64]bool{.05: true, .2: false} {
		steps := Collect(t, Adam{StepSize: step, MaxEvals: 1}, scripted([2]float64{1, 1e-8}), []float64{1e-3})
		if steps[0].Converged != want {
			t.Errorf("steps of %v: converged %v", step, steps[0].Converged)
		}
	}
}

// AdaptiveGradient shortens a failed step to a tenth, and computes the next step from this ratio.
func TestAdaptiveGradientShortensFailedTrials(t *testing.T) {
	steps := Collect(t, AdaptiveGradient{MaxEvals: 4}, scripted([2]float64{1, 1}, [2]float64{math.Inf(1), 1}, [2]float64{1, 1}), []float64{1})
	for k, want := range []float64{1, .99, .999, .999 - math.Sqrt(2./3+.1)*.001} {
		if math.Abs(steps[k].X[0]-want) > 1e-15 {
			t.Errorf("step %d is at %v, want %v", k, steps[k].X[0], want)
		}
	}
}

// AdaptiveGradient projects only finite points, even if constant slopes predict a minimum at
// infinity.
func TestAdaptiveGradientProjectsFinitePoints(t *testing.T) {
	p := Problem{
		Objective: func(grad, x []float64) (float64, error) {
			grad[0], grad[1] = 1e-3, 0
			return 1 + 1e-3*x[0], nil
		},
		Project: func(x []float64) {
			if !args.AllFinite(x) {
				t.Errorf("projects %v", x)
			}
			disc(x)
		},
	}
	Collect(t, AdaptiveGradient{MaxEvals: 9}, p, []float64{.5, .1})
}

// The step size of CMAES keeps its order of magnitude if all losses are equal.
func TestCMAESKeepsItsStepSizeWithoutSelection(t *testing.T) {
	p := Problem{Objective: func(_, x []float64) (float64, error) { return 1, nil }}
	steps := Collect(t, CMAES{Source: stream("flat"), Sigma: 1, Population: 8, MaxEvals: 4001, Tol: -1}, p, make([]float64, 5))
	spread := func(generation []Step) float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for _, s := range generation {
			low, high = min(low, s.X[0]), max(high, s.X[0])
		}
		return high - low
	}
	if ratio := spread(steps[3993:]) / spread(steps[1:9]); !(ratio > 1e-3 && ratio < 1e3) {
		t.Errorf("the step size changes by a factor %v", ratio)
	}
}

// The prior of a length scale is log-normal around .5. Problems of up to ten coordinates have one
// length scale for each coordinate.
func TestLengthScalesFollowTheDocumentedPrior(t *testing.T) {
	for n, want := range map[int]int{1: 1, 10: 10, 11: 1, 40: 1} {
		if got := len(newGaussianProcess(n).logLength); got != want {
			t.Errorf("%d coordinates have %d lengths, want %d", n, got, want)
		}
	}
	g := newGaussianProcess(1)
	g.add([]float64{.3}, 1) // one point determines no length
	at := g.posterior()
	g.logLength[0] += 2
	if got := g.posterior() - at; math.Abs(got+2) > 1e-12 {
		t.Errorf("two standard deviations lower the log density by %v, want 2", -got)
	}
}
