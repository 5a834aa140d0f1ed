package differentiability

import (
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"

	"gonum.org/v1/gonum/floats"
)

// Derivatives by forward and reverse mode agree with each other and with finite differences in five
// draws.
func TestDerivativesMeetDifferences(t *testing.T) {
	for draw := range 5 {
		p := DefaultDerivatives()
		p.Draw = draw
		r, err := p.Run(t.Context(), experiment.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Examples()) != 8 || len(r.Checks) != 37 {
			t.Fatalf("%d checks of %v", len(r.Checks), r.Examples())
		}
		for _, c := range r.Checks {
			// The derivative divides the tolerance, because it may be small by chance.
			if i, e := c.Best(); e > 1e-8/math.Min(1, math.Abs(c.VJP)) {
				t.Errorf("draw %d, %s in %s: %g from the best difference, at step %g", draw, c.Example, c.Input, e, r.Steps[i])
			}
			if d := math.Abs(c.JVP - c.VJP); d > 1e-12*math.Max(1, math.Abs(c.VJP)) {
				t.Errorf("draw %d, %s in %s: JVP and VJP differ by %g", draw, c.Example, c.Input, d)
			}
		}
	}
}

// The check detects a derivative that is wrong by one part in a thousand.
func TestWrongDerivativeLevelsOff(t *testing.T) {
	c := &checker{example: "square", steps: []float64{1e-3, 1e-5, 1e-7}}
	square := func(t float64) (float64, error) { return (1 + t) * (1 + t), nil }
	if err := c.add("t", 2.002, math.NaN(), square); err != nil {
		t.Fatal(err)
	}
	if _, e := c.checks[0].Best(); math.Abs(e-1e-3) > 1e-5 {
		t.Errorf("the error is %g", e)
	}
}

// The solution of the die satisfies the Lagrange conditions.
func TestSolveDie(t *testing.T) {
	alpha := []float64{3, 1, 2, 3, 4, 5, 6}
	x, lambda, nu := solveDie(alpha)
	if d := math.Abs(floats.Sum(x) - 1); d > 1e-15 {
		t.Errorf("probabilities sum to 1 + %g", d)
	}
	if d := floats.Dot(alpha[1:], x) - 3; math.Abs(d) > 1e-14 || lambda <= 0 {
		t.Errorf("the mean is 3 + %g with the multiplier %g", d, lambda)
	}
	for i, v := range x {
		if g := math.Log(v) + 1 + lambda*alpha[1+i] + nu; math.Abs(g) > 1e-14 {
			t.Errorf("face %d has the gradient %g", i+1, g)
		}
	}
}

// Derivatives and differences are 0 for penalties that make all coefficients 0. The experiment on
// kinks refuses penalties without a kink.
func TestExtremePenalties(t *testing.T) {
	p := casetest.Drawn[DerivativesParams]("derivatives")
	p.Lambda1 = 10
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Checks {
		if _, e := c.Best(); math.IsNaN(e) || math.IsNaN(c.Apart()) != math.IsNaN(c.JVP) {
			t.Errorf("%s in %s: best error %v, JVP off by %v", c.Example, c.Input, e, c.Apart())
		}
	}
	for want, change := range map[string]func(p *LinearProblem){
		"elastic net: Lambda1 is 10 ":               func(p *LinearProblem) { p.Lambda1 = 10 },
		"Lambda1 is 5e-324 ":                        func(p *LinearProblem) { p.Lambda1 = 5e-324 },
		"support vector machine: Lambda2 is 1e-09 ": func(p *LinearProblem) { p.Lambda2 = 1e-9 },
	} {
		p := casetest.Drawn[DifferentiabilityLimitsParams]("differentiability_limits")
		change(&p.LinearProblem)
		if _, err := p.Run(t.Context(), experiment.Hooks{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}
