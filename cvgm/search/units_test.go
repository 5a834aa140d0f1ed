package search

import (
	"fmt"
	"math"
	"testing"

	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// A unitSearcher makes a searcher whose settings are in the unit f of the loss and the units x of
// the coordinates.
type unitSearcher struct {
	Name string
	Make func(f float64, x []float64) Searcher
	// Own allows a separate unit for each coordinate. Otherwise, all coordinates share one step
	// size and one unit.
	Own, needsBox bool
}

func UnitSearchers() []unitSearcher {
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
		{Name: "ProjectedGradient", Make: func(f float64, x []float64) Searcher {
			return ProjectedGradient{StepSize: .2 * x[0] * x[0] / f, MaxEvals: budget}
		}},
		{Name: "HeavyBall", Make: func(f float64, x []float64) Searcher {
			return HeavyBall{StepSize: .05 * x[0] * x[0] / f, MaxEvals: budget}
		}},
		{Name: "Nesterov", Make: func(f float64, x []float64) Searcher {
			return Nesterov{StepSize: .2 * x[0] * x[0] / f, MaxEvals: budget}
		}},
		{Name: "Adam", Make: func(f float64, x []float64) Searcher { return Adam{StepSize: .1 * x[0], MaxEvals: budget} }, needsBox: true},
		{Name: "Adam, Epsilon", Make: func(f float64, x []float64) Searcher {
			return Adam{StepSize: .1 * x[0], Epsilon: .1 * f / x[0], MaxEvals: budget}
		}, needsBox: true},
		{Name: "AdaptiveGradient", Make: func(f float64, x []float64) Searcher { return AdaptiveGradient{MaxEvals: budget} }},
		{Name: "AdaptiveGradient, FirstStep", Make: func(f float64, x []float64) Searcher { return AdaptiveGradient{FirstStep: .5, MaxEvals: budget} }},
		{Name: "QuasiNewton", Make: func(f float64, x []float64) Searcher { return QuasiNewton{MaxEvals: budget} }, Own: true, needsBox: true},
		{Name: "QuasiNewton, Memory", Make: func(f float64, x []float64) Searcher { return QuasiNewton{Memory: 1, MaxEvals: budget} }, Own: true, needsBox: true},
		{Name: "QuasiNewton, MaxStep", Make: func(f float64, x []float64) Searcher { return QuasiNewton{MaxStep: .01, MaxEvals: budget} }, Own: true, needsBox: true},
		{Name: "QuasiNewton, FirstStep", Make: func(f float64, x []float64) Searcher { return QuasiNewton{FirstStep: 2, MaxEvals: budget} }, Own: true, needsBox: true},
		{Name: "Newton", Make: func(f float64, x []float64) Searcher { return Newton{MaxEvals: budget} }, Own: true, needsBox: true},
		{Name: "Newton, MaxStep", Make: func(f float64, x []float64) Searcher { return Newton{MaxStep: .01, MaxEvals: budget} }, Own: true, needsBox: true},
		{Name: "LogSpace Newton", Make: func(f float64, x []float64) Searcher { return LogSpace{Newton{MaxEvals: budget}} }, Own: true, needsBox: true},
		{Name: "MultiStart", Make: func(f float64, x []float64) Searcher {
			return MultiStart{Searcher: QuasiNewton{MaxEvals: budget / 3}, Source: stream("units"), Draw: drawn(x), Starts: 3}
		}, Own: true, needsBox: true},
		{Name: "Bayesian", Make: func(f float64, x []float64) Searcher { return Bayesian{Source: stream("units"), MaxEvals: 8} }, Own: true, needsBox: true},
		{Name: "CMAES", Make: func(f float64, x []float64) Searcher {
			return CMAES{Source: stream("units"), MaxEvals: budget, Tol: .1}
		}, Own: true},
		{Name: "CMAES, Sigma", Make: func(f float64, x []float64) Searcher {
			return CMAES{Source: stream("units"), Sigma: .2 * x[0], MaxEvals: budget, Tol: .1}
		}},
		{Name: "RandomSearch", Make: func(f float64, x []float64) Searcher {
			return RandomSearch{Source: stream("units"), Draw: drawn(x), MaxEvals: 9}
		}, Own: true},
		{Name: "GridSearch", Make: func(f float64, x []float64) Searcher {
			return GridSearch{[][]float64{{0, x[0], 2 * x[0]}, {-x[1], x[1]}}}
		}, Own: true},
		{Name: "LogSpace QuasiNewton", Make: func(f float64, x []float64) Searcher { return LogSpace{QuasiNewton{MaxEvals: budget}} }, Own: true, needsBox: true},
		{Name: "LogSpace AdaptiveGradient", Make: func(f float64, x []float64) Searcher { return LogSpace{AdaptiveGradient{MaxEvals: budget}} }, Own: true, needsBox: true},
		{Name: "LogSpace Adam", Make: func(f float64, x []float64) Searcher { return LogSpace{Adam{StepSize: .1, MaxEvals: budget}} }, Own: true, needsBox: true},
		{Name: "LogSpace CMAES", Make: func(f float64, x []float64) Searcher {
			return LogSpace{CMAES{Source: stream("units"), MaxEvals: budget}}
		}, Own: true, needsBox: true},
	}
}

// inUnits converts a problem and its start to the unit f of the loss and the units x of the
// coordinates.
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
	if p.Hessian != nil {
		q.Hessian = func(h *mat.SymDense) error {
			err := p.Hessian(h)
			for i := range x {
				for j := i; j < len(x); j++ {
					h.SetSym(i, j, h.At(i, j)*f/x[i]/x[j])
				}
			}
			return err
		}
	}
	return q, scaled(x0)
}

// Each search makes the same steps in other units. In units that are powers of two, the steps agree
// to the last bit.
func TestSearchersAreIndependentOfUnits(t *testing.T) {
	serial.Test(t)
	src := synth.NewStream(1, "units")
	round := func() unitProblem {
		k := 1 + src.Float64()
		q := quadratic{1 + src.Float64(), 0, .5 + src.Float64(), [2]float64{3*src.Float64() - 1, 3*src.Float64() - 1}}
		q.a12 = src.Float64() - .5
		offset := math.Floor(2 * src.Float64())
		// A quadratic to some power, at or above zero.
		var f float64
		slopes := mat.NewVecDense(2, nil)
		p := Problem{Objective: func(grad, x []float64) (loss float64, err error) {
			f, err = q.eval(slopes.RawVector().Data, x)
			f++
			for i := range grad {
				grad[i] = slopes.AtVec(i) * k * math.Pow(f, k-1) / 8
			}
			return (math.Pow(f, k) - 1 + offset) / 8, err
		}, Hessian: func(h *mat.SymDense) error {
			err := q.hessian(h)
			h.ScaleSym(k*math.Pow(f, k-1)/8, h)
			h.SymRankOne(h, k*(k-1)*math.Pow(f, k-2)/8, slopes)
			return err
		}}
		return unitProblem{p, []float64{.2 + src.Float64(), .2 + src.Float64()}}
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
				for _, s := range UnitSearchers() {
					_, logarithmic := s.Make(1, ones).(LogSpace)
					switch {
					case s.needsBox && p.Project != nil, s.Name == "Bayesian" && p.Upper == nil, logarithmic && k > 1:
						continue // the searcher refuses the set
					case s.Name == "CMAES" && zero && k >= 3:
						continue // nothing has a unit: neither start, nor bounds, nor a slope
					case logarithmic && k == 1:
						continue // one step over many orders of magnitude is no smaller than its own rounding error
					}
					what := fmt.Sprint(s.Name, ", set ", k, " from ", x0)
					want := Collect(t, s.Make(1, ones), p.Problem, x0)
					for _, u := range []float64{0x1p20, 0x1p-20, 1e6, 1e-6} {
						tol := UnitTol
						if _, e := math.Frexp(u); u == math.Ldexp(.5, e) {
							if logarithmic { // its logarithms are rounded
								continue
							}
							tol = 0
						}
						checkUnits(t, what, s.Make(u, ones), p.Problem, x0, u, ones, want, tol)
						checkUnits(t, what, s.Make(1, []float64{u, u}), p.Problem, x0, 1, []float64{u, u}, want, tol)
						// Discs, and coordinates that start at 0 without bounds, are excluded here,
						// because they allow only one unit for all coordinates.
						if s.Own && (k == 0 || k == 2 || k == 1 && !zero) {
							checkUnits(t, what, s.Make(u, []float64{u, 1 / u}), p.Problem, x0, u, []float64{u, 1 / u}, want, UnitTol)
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
	// UnitTol bounds the difference between the steps in two systems of units, in which rounding
	// errors grow with each step.
	UnitTol = 1e-6
	// nearEnd ends the comparison of steps, because rounding determines the steps near the minimum.
	// It is relative to 1 + |loss|.
	nearEnd = 1e-8
)

func checkUnits(t *testing.T, what string, s Searcher, p Problem, x0 []float64, f float64, x []float64, want []Step, tol float64) {
	t.Helper()
	p, x0 = inUnits(p, x0, f, x)
	CompareUnits(t, what, Collect(t, s, p, x0), want, f, x, tol)
}

// CompareUnits compares the steps of a search in the units f and x with its steps in units of 1.
func CompareUnits(t *testing.T, what string, got, want []Step, f float64, x []float64, tol float64) {
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
		// Beside the minimum rounding decides the next step.
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
