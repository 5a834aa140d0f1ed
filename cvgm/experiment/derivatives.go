package experiment

import (
	"context"
	"errors"
	"math"

	"cvgm/qpdiff"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

func init() {
	register[DerivativesParams]("derivatives", "derivatives of all learners and programs against finite differences")
}

// DerivativesParams are the parameters of the check of derivatives against
// finite differences (Section 3 and supplements A and B of the paper).
type DerivativesParams struct {
	LinearProblem
	C     float64 `help:"weight of the losses of logistic regression and of the kernel machine" range:"(0,∞)" small:"[.3,3]"`
	Gamma float64 `help:"width parameter of the RBF kernel" range:"(0,∞)" small:"[.3,3]"`
	K     int     `help:"cross-validation splits" range:"[1,∞)" small:"[2,6]"`
	P     float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.7,.9]"`
}

// DefaultDerivatives returns parameters of our own: the paper gives none.
func DefaultDerivatives() DerivativesParams {
	return DerivativesParams{LinearProblem: defaultLinearProblem, C: 1, Gamma: 1, K: 32, P: .8}
}

func (DerivativesParams) defaults() any { return DefaultDerivatives() }

// A DerivativeCheck sets the derivative of a scalar of a solution along a
// direction of one input beside central differences of it.
type DerivativeCheck struct {
	Example, Input string
	// VJP and JVP are the derivative from the cotangent's side and from the
	// direction's. JVP is NaN where there is only one way.
	VJP, JVP float64
	// Difference holds (s(h) − s(−h))/2h at each of the steps h of
	// [DerivativeChecks]; NaN where a program that is moved so far has no solution.
	Difference []float64
}

// Errors returns the relative errors of the differences, measured by the
// derivative: 0 where both are 0.
func (c DerivativeCheck) Errors() []float64 {
	errs := make([]float64, len(c.Difference))
	for i, d := range c.Difference {
		errs[i] = c.relative(d)
	}
	return errs
}

// Apart returns the relative difference of JVP from VJP.
func (c DerivativeCheck) Apart() float64 { return c.relative(c.JVP) }

func (c DerivativeCheck) relative(v float64) float64 {
	if v == c.VJP {
		return 0
	}
	return math.Abs(v/c.VJP - 1)
}

// Best returns the number of the step with the lowest error, and that error.
func (c DerivativeCheck) Best() (int, float64) {
	errs := c.Errors()
	i := floats.MinIdx(errs)
	return i, errs[i]
}

// DerivativeChecks is the result of the check.
type DerivativeChecks struct {
	Params DerivativesParams
	Steps  []float64 // h, descending
	Checks []DerivativeCheck
}

// Examples returns the names of the examples in their order.
func (r *DerivativeChecks) Examples() []string {
	var names []string
	for _, c := range r.Checks {
		if len(names) == 0 || names[len(names)-1] != c.Example {
			names = append(names, c.Example)
		}
	}
	return names
}

// checker collects checks of one example.
type checker struct {
	example string
	steps   []float64
	checks  []DerivativeCheck
}

// add compares with differences of value, a function of how far the input is
// moved along the direction.
func (c *checker) add(input string, vjp, jvp float64, value func(t float64) (float64, error)) error {
	check := DerivativeCheck{Example: c.example, Input: input, VJP: vjp, JVP: jvp}
	for _, h := range c.steps {
		var ends [2]float64
		for k, t := range []float64{h, -h} {
			v, err := value(t)
			if errors.Is(err, qpdiff.ErrInfeasible) {
				v, err = math.NaN(), nil
			}
			if ends[k] = v; err != nil {
				return wrap(err, "%s at step %g", input, t)
			}
		}
		check.Difference = append(check.Difference, (ends[0]-ends[1])/(2*h))
	}
	c.checks = append(c.checks, check)
	return nil
}

// Run checks a derivative of each example in each of its inputs.
func (p DerivativesParams) Run(ctx context.Context) (*DerivativeChecks, error) {
	if err := Check(&p); err != nil {
		return nil, err
	}
	r := &DerivativeChecks{Params: p}
	for k := 2; k <= 26; k++ {
		r.Steps = append(r.Steps, math.Pow(10, -float64(k)/2))
	}
	examples := []struct {
		name string
		run  func(c *checker, src *synth.Stream) error
	}{
		{"logistic regression", p.learner(&linear.Logistic{Intercept: linear.UnpenalisedIntercept}, p.classes, false, []float64{p.C}, "C")},
		{"elastic net", p.learner(new(linear.ElasticNet), p.regression, false, []float64{p.Lambda1, p.Lambda2}, "λ1", "λ2")},
		{"support vector machine", p.learner(new(margin.SVM), p.classes, true, []float64{p.Lambda1, p.Lambda2}, "λ1", "λ2")},
		{"kernel machine", p.checkKernelSVM},
		{"learned loss", p.learner(new(margin.LearnedLoss), p.classes, true, []float64{.4, .2, .1, .3, p.Lambda2}, "α1", "α2", "α3", "α4", "λ")},
		{"quadratic program", checkQP},
		{"convex program", checkProgram},
		{"CV loss", p.checkCV},
	}
	checks, err := cells(ctx, len(examples),
		func(i int) string { return examples[i].name },
		func(i int) ([]DerivativeCheck, error) {
			c := &checker{example: examples[i].name, steps: r.Steps}
			err := examples[i].run(c, synth.NewStream(p.Seed, "derivatives of "+c.example))
			return c.checks, err
		})
	for _, c := range checks {
		r.Checks = append(r.Checks, c...)
	}
	return r, err
}
