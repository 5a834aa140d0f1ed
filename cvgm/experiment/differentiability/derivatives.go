// Package differentiability holds the experiments of notebook 05_differentiability. Each experiment
// has a type for its parameters. The experiment of [DerivativesParams] compares derivatives with
// finite differences. [DifferentiabilityLimitsParams] is about points without a derivative.
// [SolutionPathsParams] is about solutions along a hyperparameter. [LearningParams] is about
// hyperparameters that are learned. [UnrolledParams] is about implicit and iterative
// differentiation. [ErrataParams] is about the paper's errors.
package differentiability

import (
	"errors"
	"math"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff"

	"gonum.org/v1/gonum/floats"
)

// DerivativesParams are the parameters of the comparison of derivatives with finite differences
// (Section 3 and supplements A and B of the paper).
type DerivativesParams struct {
	LinearProblem
	C     float64 `help:"weight of the losses of logistic regression and of the kernel machine" range:"(0,∞)" small:"[.3,3]" setting:"C = %v"`
	Gamma float64 `help:"width parameter of the RBF kernel" range:"(0,∞)" small:"[.3,3]" setting:"γ = %v"`
	K     int     `help:"cross-validation splits" range:"[1,∞)" small:"[2,6]" setting:"CV loss of K = %v uniform splits"`
	P     float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.7,.9]" setting:"p = %v"`
}

// DefaultDerivatives returns parameters of our own, because the paper gives none.
func DefaultDerivatives() DerivativesParams {
	return DerivativesParams{LinearProblem: defaultLinearProblem, C: 1, Gamma: 1, K: 32, P: .8}
}

func (DerivativesParams) Defaults() any { return DefaultDerivatives() }

// A DerivativeCheck compares a derivative with central differences. The function is a scalar
// function of a solution. The derivative is along a direction of one input.
type DerivativeCheck struct {
	Example, Input string
	// VJP is the derivative computed in reverse mode, and JVP is the derivative computed in forward
	// mode. JVP is NaN if there is only reverse mode.
	VJP, JVP float64
	// Difference holds the central difference (s(h) − s(−h))/2h for each step h in
	// [DerivativeChecks]. The number s(t) is the value of the scalar function after the input has
	// moved by t times the direction. The difference is NaN if the problem with the moved input has
	// no solution.
	Difference []float64
}

// Errors returns the error of each central difference, relative to the derivative. If both the
// difference and the derivative are 0, the error is 0.
func (c DerivativeCheck) Errors() []float64 {
	errs := make([]float64, len(c.Difference))
	for i, d := range c.Difference {
		errs[i] = c.Relative(d)
	}
	return errs
}

// Apart returns the difference of JVP from VJP, relative to VJP.
func (c DerivativeCheck) Apart() float64 { return c.Relative(c.JVP) }

func (c DerivativeCheck) Relative(v float64) float64 {
	if v == c.VJP {
		return 0
	}
	return math.Abs(v/c.VJP - 1)
}

// Best returns the index of the step with the lowest error, and the error.
func (c DerivativeCheck) Best() (int, float64) {
	errs := c.Errors()
	i := floats.MinIdx(errs)
	return i, errs[i]
}

// DerivativeChecks is the result of the comparison.
type DerivativeChecks struct {
	Params DerivativesParams
	Steps  []float64 // steps h, descending
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

// checker collects the checks of one example.
type checker struct {
	example string
	steps   []float64
	checks  []DerivativeCheck
}

// add adds a check, which compares the derivative with differences of a function. The result of
// value(t) is this function after the input has moved by t along the direction.
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
				return experiment.Wrap(err, "%s at step %g", input, t)
			}
		}
		check.Difference = append(check.Difference, (ends[0]-ends[1])/(2*h))
	}
	c.checks = append(c.checks, check)
	return nil
}
