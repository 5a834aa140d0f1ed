package cvgm

import (
	"fmt"
	"math"
	"testing"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// unitSearcher makes a searcher whose settings are carried along: f is the
// unit of the loss, x those of the coordinates.
type unitSearcher struct {
	name string
	make func(f float64, x []float64) Searcher
	// own: each coordinate may have a unit of its own. The others are left out
	// there: a step size has one unit, and AdaptiveGradient has one step size.
	own, needsBox bool
}

func unitSearchers() []unitSearcher {
	const budget = 60
	drawn := func(x []float64) func(src Source, v []float64) {
		return func(src Source, v []float64) {
			draw(src, v)
			for i := range v {
				v[i] *= x[i%len(x)]
			}
		}
	}
	return []unitSearcher{
		{name: "ProjectedGradient", make: func(f float64, x []float64) Searcher {
			return ProjectedGradient{StepSize: .2 * x[0] * x[0] / f, MaxEvals: budget}
		}},
		{name: "HeavyBall", make: func(f float64, x []float64) Searcher {
			return HeavyBall{StepSize: .05 * x[0] * x[0] / f, MaxEvals: budget}
		}},
		{name: "Nesterov", make: func(f float64, x []float64) Searcher {
			return Nesterov{StepSize: .2 * x[0] * x[0] / f, MaxEvals: budget}
		}},
		{name: "Adam", make: func(f float64, x []float64) Searcher { return Adam{StepSize: .1 * x[0], MaxEvals: budget} }, needsBox: true},
		{name: "Adam, Epsilon", make: func(f float64, x []float64) Searcher {
			return Adam{StepSize: .1 * x[0], Epsilon: .1 * f / x[0], MaxEvals: budget}
		}, needsBox: true},
		{name: "AdaptiveGradient", make: func(f float64, x []float64) Searcher { return AdaptiveGradient{MaxEvals: budget} }},
		{name: "AdaptiveGradient, FirstStep", make: func(f float64, x []float64) Searcher { return AdaptiveGradient{FirstStep: .5, MaxEvals: budget} }},
		{name: "QuasiNewton", make: func(f float64, x []float64) Searcher { return QuasiNewton{MaxEvals: budget} }, own: true, needsBox: true},
		{name: "QuasiNewton, Memory", make: func(f float64, x []float64) Searcher { return QuasiNewton{Memory: 1, MaxEvals: budget} }, own: true, needsBox: true},
		{name: "QuasiNewton, FirstStep", make: func(f float64, x []float64) Searcher { return QuasiNewton{FirstStep: 2, MaxEvals: budget} }, own: true, needsBox: true},
		{name: "MultiStart", make: func(f float64, x []float64) Searcher {
			return MultiStart{Searcher: QuasiNewton{MaxEvals: budget / 3}, Source: stream("units"), Draw: drawn(x), Starts: 3}
		}, own: true, needsBox: true},
		{name: "Bayesian", make: func(f float64, x []float64) Searcher { return Bayesian{Source: stream("units"), MaxEvals: 8} }, own: true, needsBox: true},
		{name: "CMAES", make: func(f float64, x []float64) Searcher {
			return CMAES{Source: stream("units"), MaxEvals: budget, Tol: .1}
		}, own: true},
		{name: "CMAES, Sigma", make: func(f float64, x []float64) Searcher {
			return CMAES{Source: stream("units"), Sigma: .2 * x[0], MaxEvals: budget, Tol: .1}
		}},
		{name: "RandomSearch", make: func(f float64, x []float64) Searcher {
			return RandomSearch{Source: stream("units"), Draw: drawn(x), MaxEvals: 9}
		}, own: true},
		{name: "GridSearch", make: func(f float64, x []float64) Searcher {
			return GridSearch{[][]float64{{0, x[0], 2 * x[0]}, {-x[1], x[1]}}}
		}, own: true},
		{name: "LogSpace QuasiNewton", make: func(f float64, x []float64) Searcher { return LogSpace{QuasiNewton{MaxEvals: budget}} }, own: true, needsBox: true},
		{name: "LogSpace AdaptiveGradient", make: func(f float64, x []float64) Searcher { return LogSpace{AdaptiveGradient{MaxEvals: budget}} }, own: true, needsBox: true},
		{name: "LogSpace Adam", make: func(f float64, x []float64) Searcher { return LogSpace{Adam{StepSize: .1, MaxEvals: budget}} }, own: true, needsBox: true},
		{name: "LogSpace CMAES", make: func(f float64, x []float64) Searcher {
			return LogSpace{CMAES{Source: stream("units"), MaxEvals: budget}}
		}, own: true, needsBox: true},
	}
}

// inUnits measures a problem and its start in units of f and x.
func inUnits(p Problem, x0 []float64, f float64, x []float64) (Problem, []float64) {
	scaled := func(v []float64) []float64 {
		if v == nil {
			return nil
		}
		w := make([]float64, len(v))
		for i := range v {
			w[i] = v[i] * x[i]
		}
		return w
	}
	q := Problem{Lower: scaled(p.Lower), Upper: scaled(p.Upper)}
	at, project := make([]float64, len(x)), p.Project
	if project != nil {
		q.Project = func(v []float64) {
			for i := range v {
				at[i] = v[i] / x[i]
			}
			project(at)
			copy(v, scaled(at))
		}
	}
	objective := p.Objective
	q.Objective = func(grad, v []float64) (float64, error) {
		for i := range v {
			at[i] = v[i] / x[i]
		}
		loss, err := objective(grad, at)
		for i := range grad {
			grad[i] *= f / x[i]
		}
		return loss * f, err
	}
	return q, scaled(x0)
}

// The same search in other units makes the same steps and ends with the same
// verdict: exactly in units that are powers of two, where there is no rounding.
func TestSearchersAreIndependentOfUnits(t *testing.T) {
	src := synth.NewStream(1, "units")
	round := func() unitProblem {
		k := 1 + src.Float64()
		q := quadratic{1 + src.Float64(), 0, .5 + src.Float64(), [2]float64{3*src.Float64() - 1, 3*src.Float64() - 1}}
		q.a12 = src.Float64() - .5
		offset := math.Floor(2 * src.Float64())
		return unitProblem{x0: []float64{.2 + src.Float64(), .2 + src.Float64()}, Problem: Problem{Objective: func(grad, x []float64) (float64, error) {
			// A quadratic to some power, at or above zero.
			f, err := q.eval(grad, x)
			f++
			for i := range grad {
				grad[i] *= k * math.Pow(f, k-1) / 8
			}
			return (math.Pow(f, k) - 1 + offset) / 8, err
		}}}
	}
	ones := []float64{1, 1}
	for range 4 {
		p := round()
		for k, set := range []Problem{
			{Lower: boxLower, Upper: boxUpper},
			{Lower: []float64{1e-3, 1e-3}},
			{Lower: []float64{-2, -3}, Upper: []float64{2, 3}},
			{},
			{Project: disc},
		} {
			p.Lower, p.Upper, p.Project = set.Lower, set.Upper, set.Project
			for _, zero := range []bool{false, true} {
				x0 := p.x0
				if zero {
					x0 = make([]float64, 2)
				}
				for _, s := range unitSearchers() {
					_, logarithmic := s.make(1, ones).(LogSpace)
					switch {
					case s.needsBox && p.Project != nil, s.name == "Bayesian" && p.Upper == nil, logarithmic && k > 1:
						continue // the searcher refuses the set
					case s.name == "CMAES" && zero && k >= 3:
						continue // nothing has a unit: neither start, nor bounds, nor a slope
					case logarithmic && k == 1:
						continue // one step over many orders of magnitude is no smaller than its rounding
					}
					what := fmt.Sprint(s.name, ", set ", k, " from ", x0)
					want := collect(t, s.make(1, ones), p.Problem, x0)
					for _, u := range []float64{0x1p20, 0x1p-20, 1e6, 1e-6} {
						tol := unitTol
						if _, e := math.Frexp(u); u == math.Ldexp(.5, e) {
							if logarithmic { // its logarithms are rounded
								continue
							}
							tol = 0
						}
						checkUnits(t, what, s.make(u, ones), p.Problem, x0, u, ones, want, tol)
						checkUnits(t, what, s.make(1, []float64{u, u}), p.Problem, x0, 1, []float64{u, u}, want, tol)
						// From 0 without bounds of its own a coordinate has the
						// scale of the others; a disc has one unit.
						if s.own && (k == 0 || k == 2 || k == 1 && !zero) {
							checkUnits(t, what, s.make(u, []float64{u, 1 / u}), p.Problem, x0, u, []float64{u, 1 / u}, want, unitTol)
						}
					}
				}
			}
		}
	}
}

type unitProblem struct {
	Problem
	x0 []float64
}

const (
	// unitTol is how far rounding may take the steps of a search apart that is
	// made in other units: errors of 1e-16 grow with each step.
	unitTol = 1e-6
	// nearEnd is how far above the end of a search its losses are compared step
	// by step. Below, changes of the loss and of slopes drown in rounding, which
	// chooses the way; only the end is compared.
	nearEnd = 1e-8
)

func checkUnits(t *testing.T, what string, s Searcher, p Problem, x0 []float64, f float64, x []float64, want []Step, tol float64) {
	t.Helper()
	p, x0 = inUnits(p, x0, f, x)
	compareUnits(t, what, collect(t, s, p, x0), want, f, x, tol)
}

// compareUnits compares the steps of a search in units of f and x with those in
// units of 1.
func compareUnits(t *testing.T, what string, got, want []Step, f float64, x []float64, tol float64) {
	t.Helper()
	last, end := got[len(got)-1], want[len(want)-1]
	if last.Converged != end.Converged || tol == 0 && len(got) != len(want) {
		t.Errorf("%s: in units of %v and %v ends after %d steps, converged %v, instead of %d, %v", what, f, x,
			len(got), last.Converged, len(want), end.Converged)
		return
	}
	check := func(k int, got, want Step) bool {
		off := math.Abs(got.Loss/f-want.Loss) / (1 + math.Abs(want.Loss))
		for i, v := range got.X {
			off = max(off, math.Abs(v/x[i]-want.X[i])/(1+math.Abs(want.X[i])))
		}
		if !(off <= tol) {
			t.Errorf("%s: in units of %v and %v step %d is %v off", what, f, x, k, off)
			return false
		}
		return true
	}
	if tol > 0 && end.Converged {
		check(-1, last, end)
	}
	for k, w := range want {
		// Beside the minimum rounding decides what the next step is.
		if tol > 0 && end.Converged && math.Abs(w.Loss-end.Loss) <= nearEnd*(1+math.Abs(end.Loss)) {
			break
		}
		if k >= len(got) {
			t.Errorf("%s: in units of %v and %v ends after %d steps, before the loss is near its end", what, f, x, len(got))
			return
		}
		if !check(k, got[k], w) {
			return
		}
	}
}

// Features times a and labels times b change no search over a CV loss, with
// hyperparameters, start and bounds carried to the equivalent problem.
func TestSearchesOverCVLossesAreIndependentOfUnits(t *testing.T) {
	const n, m = 40, 5
	for _, c := range []struct {
		name    string
		learner func() learn.Learner
		loss    Loss
		classes bool
		x0      []float64
		factors func(a, b float64) []float64 // of the hyperparameters
	}{
		{"elastic net", func() learn.Learner { return new(linear.ElasticNet) }, SquaredError{}, false, []float64{.1, .1}, func(a, b float64) []float64 { return []float64{a * b, a * a} }},
		{"ridge", func() learn.Learner { return &linear.ElasticNet{Groups: linear.PerFeature(m)} }, SquaredError{}, false, []float64{.1, .1, .1, .1, .1},
			func(a, b float64) []float64 { return []float64{a * a, a * a, a * a, a * a, a * a} }},
		{"SVM", func() learn.Learner { return new(margin.SVM) }, LogisticLoss{}, true, []float64{.1, .1}, func(a, b float64) []float64 { return []float64{a, a * a} }},
		{"logistic", func() learn.Learner { return new(linear.Logistic) }, LogisticLoss{}, true, []float64{1}, func(a, b float64) []float64 { return []float64{1 / (a * a)} }},
		{"RBF kernel", func() learn.Learner { return &kernel.SVM{Kernel: kernel.RBF{}} }, LogisticLoss{}, true, []float64{1, .2}, func(a, b float64) []float64 { return []float64{1, 1 / (a * a)} }},
	} {
		src := synth.NewStream(1, "units of a CV loss: "+c.name)
		x, y := mat.NewDense(n, m, nil), make([]float64, n)
		for i := range n {
			for j := range m {
				x.Set(i, j, src.NormFloat64())
			}
			y[i] = x.At(i, 0) - 2*x.At(i, 1) + 2*src.NormFloat64()
			if c.classes {
				y[i] = sign(y[i])
			}
		}
		splits, err := RandomSplits(src, n, 8, .8)
		if err != nil {
			t.Fatal(err)
		}
		problem := func(a, b float64, factors []float64) (Problem, []float64) {
			d := learn.Data{X: mat.NewDense(n, m, nil), Y: make([]float64, n)}
			d.X.Scale(a, x)
			for i, v := range y {
				d.Y[i] = b * v
			}
			cv, err := New(Config{Data: d, Splits: splits, Loss: c.loss, Generalised: true, Learner: c.learner})
			if err != nil {
				t.Fatal(err)
			}
			objective := cv.Eval
			if c.name == "ridge" { // all λ1 are 0
				full, grad := make([]float64, 2*m), make([]float64, 2*m)
				objective = func(g, v []float64) (float64, error) {
					copy(full[m:], v)
					loss, err := cv.Eval(grad, full)
					copy(g, grad[m:])
					return loss, err
				}
			}
			p := Problem{Objective: objective, Generalised: cv.Generalised, Lower: make([]float64, len(c.x0)), Upper: make([]float64, len(c.x0))}
			x0 := make([]float64, len(c.x0))
			for i, v := range c.x0 {
				p.Lower[i], p.Upper[i], x0[i] = 1e-3*v*factors[i], 1e3*v*factors[i], v*factors[i]
			}
			return p, x0
		}
		ones := c.factors(1, 1)
		p, x0 := problem(1, 1, ones)
		wants := map[string][]Step{}
		for _, unit := range [][2]float64{{1e6, 1}, {1e-6, 1}, {1, 1e6}, {1, 1e-6}, {1e6, 1e-6}} {
			a, b := unit[0], unit[1]
			if c.classes && b != 1 {
				continue
			}
			factors := c.factors(a, b)
			for _, s := range unitSearchers() {
				switch {
				case s.name == "GridSearch", s.name == "RandomSearch", s.name == "MultiStart":
					continue // their points are those of another problem
				case !s.own && (c.name == "elastic net" || c.name == "SVM" || c.name == "RBF kernel"):
					continue // the hyperparameters have different units
				}
				if wants[s.name] == nil {
					wants[s.name] = collect(t, s.make(1, ones), p, x0)
				}
				q, z := problem(a, b, factors)
				what := fmt.Sprintf("%s, %s, features times %v, labels times %v", c.name, s.name, a, b)
				compareUnits(t, what, collect(t, s.make(b*b, factors), q, z), wants[s.name], b*b, factors, unitTol)
			}
		}
	}
}

// Labels in another unit, which is one of the first penalty alone, do not make a
// search stop early.
func TestSearchOverAnElasticNetDoesNotStopEarlyInOtherUnits(t *testing.T) {
	src := synth.NewStream(1, "elastic net units")
	const n, m = 80, 7
	x, y := mat.NewDense(n, m, nil), make([]float64, n)
	for i := range n {
		for j := range m {
			x.Set(i, j, src.NormFloat64())
		}
		y[i] = x.At(i, 0) - 2*x.At(i, 1) + 2*src.NormFloat64()
	}
	splits, err := RandomSplits(src, n, 16, .8)
	if err != nil {
		t.Fatal(err)
	}
	problem := func(unit float64) Problem {
		labels := make([]float64, n)
		for i, v := range y {
			labels[i] = v * unit
		}
		cv, err := New(Config{Data: learn.Data{X: x, Y: labels}, Splits: splits, Loss: SquaredError{}, Generalised: true, Learner: func() learn.Learner { return new(linear.ElasticNet) }})
		if err != nil {
			t.Fatal(err)
		}
		return Problem{Objective: cv.Eval, Generalised: cv.Generalised, Lower: []float64{1e-3 * unit, 1e-3}}
	}
	for name, make := range map[string]func(f float64) Searcher{
		"QuasiNewton":       func(float64) Searcher { return QuasiNewton{} },
		"AdaptiveGradient":  func(float64) Searcher { return AdaptiveGradient{} },
		"HeavyBall":         func(float64) Searcher { return HeavyBall{StepSize: .002} },
		"ProjectedGradient": func(float64) Searcher { return ProjectedGradient{StepSize: .02} },
	} {
		want, err := Best(make(1).Search(problem(1), []float64{.1, .1}))
		if err != nil {
			t.Fatal(err)
		}
		for _, unit := range []float64{1e-4, 1e4} {
			// One step size for penalties of different units is slow, but no
			// search stops early and calls it convergence. QuasiNewton has one for
			// each.
			best := math.Inf(1)
			var last Step
			for _, last = range collect(t, make(unit*unit), problem(unit), []float64{.1 * unit, .1}) {
				best = min(best, last.Loss/(unit*unit)/want.Loss-1)
			}
			enough := .03
			if name == "QuasiNewton" {
				enough = 1e-6
			}
			if !(best <= enough) || last.Converged && best > 1e-6 || !last.Converged && last.Evaluations < 30 {
				t.Errorf("%s, labels times %v: %v above the loss %v of labels as they are after %d evaluations, converged %v",
					name, unit, best, want.Loss, last.Evaluations, last.Converged)
			}
		}
	}
}
