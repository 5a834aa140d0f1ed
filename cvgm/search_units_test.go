package cvgm

import (
	"fmt"
	"math"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// unitSearcher makes a searcher whose settings are carried along: f is the
// unit of the loss, x that of the coordinates.
type unitSearcher struct {
	name string
	make func(f, x float64) Searcher
	// own: each coordinate may have a unit of its own.
	own, needsBox bool
}

func unitSearchers() []unitSearcher {
	const budget = 60
	drawn := func(x float64) func(src Source, v []float64) {
		return func(src Source, v []float64) {
			draw(src, v)
			for i := range v {
				v[i] *= x
			}
		}
	}
	return []unitSearcher{
		{name: "ProjectedGradient", make: func(f, x float64) Searcher { return ProjectedGradient{StepSize: .2 * x * x / f, MaxSteps: budget} }},
		{name: "HeavyBall", make: func(f, x float64) Searcher { return HeavyBall{StepSize: .05 * x * x / f, MaxSteps: budget} }},
		{name: "Nesterov", make: func(f, x float64) Searcher { return Nesterov{StepSize: .2 * x * x / f, MaxSteps: budget} }},
		{name: "Adam", make: func(f, x float64) Searcher { return Adam{StepSize: .1 * x, MaxSteps: budget} }, needsBox: true},
		{name: "Adam, Epsilon", make: func(f, x float64) Searcher { return Adam{StepSize: .1 * x, Epsilon: .1 * f / x, MaxSteps: budget} }, needsBox: true},
		{name: "AdaptiveGradient", make: func(f, x float64) Searcher { return AdaptiveGradient{MaxSteps: budget} }},
		{name: "AdaptiveGradient, FirstStep", make: func(f, x float64) Searcher { return AdaptiveGradient{FirstStep: .5, MaxSteps: budget} }},
		{name: "QuasiNewton", make: func(f, x float64) Searcher { return QuasiNewton{MaxSteps: budget} }, needsBox: true},
		{name: "QuasiNewton, FirstStep", make: func(f, x float64) Searcher { return QuasiNewton{FirstStep: 2, MaxSteps: budget} }, needsBox: true},
		{name: "MultiStart", make: func(f, x float64) Searcher {
			return MultiStart{Searcher: QuasiNewton{MaxSteps: budget / 3}, Source: stream("units"), Draw: drawn(x), Starts: 3}
		}, needsBox: true},
		{name: "Bayesian", make: func(f, x float64) Searcher { return Bayesian{Source: stream("units"), MaxSteps: 8} }, own: true, needsBox: true},
		{name: "CMAES", make: func(f, x float64) Searcher { return CMAES{Source: stream("units"), MaxSteps: budget, Tol: .1} }, own: true},
		{name: "CMAES, Sigma", make: func(f, x float64) Searcher {
			return CMAES{Source: stream("units"), Sigma: .2 * x, MaxSteps: budget, Tol: .1}
		}},
		{name: "RandomSearch", make: func(f, x float64) Searcher { return RandomSearch{Source: stream("units"), Draw: drawn(x), Steps: 9} }},
		{name: "Exhaustive", make: func(f, x float64) Searcher {
			return Exhaustive{[][]float64{{0, x, 2 * x}, {-x, x}}}
		}},
		{name: "Logarithmic QuasiNewton", make: func(f, x float64) Searcher { return Logarithmic{QuasiNewton{MaxSteps: budget}} }, own: true, needsBox: true},
		{name: "Logarithmic AdaptiveGradient", make: func(f, x float64) Searcher { return Logarithmic{AdaptiveGradient{MaxSteps: budget}} }, own: true, needsBox: true},
		{name: "Logarithmic Adam", make: func(f, x float64) Searcher { return Logarithmic{Adam{StepSize: .1, MaxSteps: budget}} }, own: true, needsBox: true},
		{name: "Logarithmic CMAES", make: func(f, x float64) Searcher {
			return Logarithmic{CMAES{Source: stream("units"), MaxSteps: budget}}
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

// The same search in other units makes the same steps and ends at the same
// step for the same reason: exactly in units that are powers of two, where
// there is no rounding.
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
					_, logarithmic := s.make(1, 1).(Logarithmic)
					if s.needsBox && p.Project != nil || logarithmic && (k > 1 || k == 1 && (zero || s.name == "Logarithmic CMAES")) || s.name == "Bayesian" && (p.Upper == nil || p.Project != nil) ||
						zero && p.Upper == nil && s.name == "CMAES" || // its scale is then 1
						s.name == "Nesterov" && p.Project != nil { // near the end on a curved boundary rounding restarts it
						continue
					}
					what := fmt.Sprint(s.name, ", set ", k, " from ", x0)
					ones := []float64{1, 1}
					tol := unitTol
					if logarithmic {
						tol = 1e-3 // exp carries the rounding of long steps on
					}
					want := collect(t, s.make(1, 1), p.Problem, x0)
					for _, u := range []float64{0x1p20, 0x1p-20} {
						if logarithmic {
							break
						}
						checkUnits(t, what, s.make(u, 1), p.Problem, x0, u, ones, want, 0)
						checkUnits(t, what, s.make(1, u), p.Problem, x0, 1, []float64{u, u}, want, 0)
					}
					for _, u := range []float64{1e6, 1e-6} {
						checkUnits(t, what, s.make(u, 1), p.Problem, x0, u, ones, want, tol)
						checkUnits(t, what, s.make(1, u), p.Problem, x0, 1, []float64{u, u}, want, tol)
						if s.own && (k == 0 || k == 2 || k == 1 && !zero) {
							checkUnits(t, what, s.make(u, 1), p.Problem, x0, u, []float64{u, 1 / u}, want, tol)
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

// unitTol is how far rounding may take the steps of a search apart that is
// made in other units: errors of 1e-16 grow with each step.
const unitTol = 1e-6

func checkUnits(t *testing.T, what string, s Searcher, p Problem, x0 []float64, f float64, x []float64, want []Step, tol float64) {
	t.Helper()
	p, x0 = inUnits(p, x0, f, x)
	got := collect(t, s, p, x0)
	if len(got) != len(want) || got[len(got)-1].Converged != want[len(want)-1].Converged {
		t.Errorf("%s: in units of %v and %v ends after %d steps, converged %v, instead of %d, %v", what, f, x,
			len(got), got[len(got)-1].Converged, len(want), want[len(want)-1].Converged)
		return
	}
	for k, g := range got {
		off := math.Abs(g.Loss/f-want[k].Loss) / (1 + math.Abs(want[k].Loss))
		for i, v := range g.X {
			off = max(off, math.Abs(v/x[i]-want[k].X[i]))
		}
		if !(off <= tol) {
			t.Errorf("%s: in units of %v and %v step %d is %v off", what, f, x, k, off)
			return
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
		cv, err := New(Config{Data: qpdiff.Data{X: x, Y: labels}, Splits: splits, Loss: SquaredError{}, Generalised: true, Learner: func() Learner { return new(qpdiff.ElasticNet) }})
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
			// search stops early and calls it convergence.
			best := math.Inf(1)
			var last Step
			for _, last = range collect(t, make(unit*unit), problem(unit), []float64{.1 * unit, .1}) {
				best = min(best, last.Loss/(unit*unit)/want.Loss-1)
			}
			if !(best <= .03) || last.Converged && best > 1e-6 || !last.Converged && last.Evaluations < 30 {
				t.Errorf("%s, labels times %v: %v above the loss %v of labels as they are after %d evaluations, converged %v",
					name, unit, best, want.Loss, last.Evaluations, last.Converged)
			}
		}
	}
}
