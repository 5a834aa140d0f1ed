package search

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// Adam is the method of Kingma and Ba (2015), with a projection P after each step. The vector a is
// the running mean of the gradients, and b is the running mean of the squares of their entries.
// Step k leads from x to
//
//	x⁺ = P(x − s·â/(√b̂ + ε)),   â = a/(1 − β1ᵏ),  b̂ = b/(1 − β2ᵏ).
//
// In these formulas s is StepSize, β1 is Beta1, β2 is Beta2, and ε is Epsilon. Adam requires a box.
// It scales each entry of a step separately, so over another set it would not stop at the minimum.
// With a constant s, x does not converge to a minimum: the distance of x from the minimum stays
// about as long as a step.
type Adam struct {
	StepSize     float64 // s > 0, about the change of each entry of x in a step; required
	Beta1, Beta2 float64 // below 1; zero: .9 and .999
	// Epsilon is in units of the gradient. Zero: for each entry, Epsilon is 1e-8 times the largest
	// absolute value of this entry in all gradients so far.
	Epsilon  float64
	MaxEvals int     // evaluations at most; zero: 1000
	Tol      float64 // of the test of convergence; see [Searcher]. Zero: 1e-9
}

// Search starts at the projection of x0 and yields every iterate.
func (m Adam) Search(p Problem, x0 []float64) iter.Seq2[Step, error] {
	beta1, beta2, epsilon := cmp.Or(m.Beta1, .9), cmp.Or(m.Beta2, .999), m.Epsilon
	settings := args.First(p.box("Adam"), checkStep("Adam", m.StepSize), checkShare("Adam.Beta1", beta1), checkShare("Adam.Beta2", beta2),
		args.BadIf(!(epsilon >= 0), "Adam.Epsilon", qpdiff.ErrDomain, "use a small positive number, or zero for the default", "is %v", epsilon))
	return search(p, x0, cmp.Or(m.MaxEvals, 1000), true, settings, func(w *searchRun) {
		a, b := make([]float64, len(x0)), make([]float64, len(x0))
		top, reach := make([]float64, len(x0)), slices.Repeat([]float64{m.StepSize}, len(x0))
		power1, power2 := 1., 1.
		for w.eval() {
			if !w.yieldStep(w.converged(reach, m.Tol)) {
				return
			}
			power1 *= beta1
			power2 *= beta2
			for i, g := range w.Grad {
				a[i] = beta1*a[i] + (1-beta1)*g
				b[i] = beta2*b[i] + (1-beta2)*g*g
				top[i] = max(top[i], math.Abs(g))
				if top[i] > 0 { // else it rests
					w.X[i] -= m.StepSize * a[i] / (1 - power1) / (math.Sqrt(b[i]/(1-power2)) + cmp.Or(epsilon, 1e-8*top[i]))
				}
			}
			p.project(w.X)
		}
	})
}
