// Package learntest holds the contracts of learners and kernels as tests that can be run on any
// type: [Learner], [Kinks], [Kernel], [LeaveOneOut], [Contexts] and [Allocations].
package learntest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
)

// Learner tests a learner at two or more cases. The cases should cover all shapes that matter: more
// and fewer examples than features, one feature, and both sides of any size at which the learner's
// code takes another path.
//
// Learner checks the optimality of fits. It compares VJPs with difference quotients to 1e-7. If the
// learner has a JVP, the JVP must be the adjoint of the VJP, in all inputs together and in each
// alone, to 1e-12 of the terms. A VJP must add to its fields and must not change Grad.Generalised.
// The bits of a field must not depend on the other wanted fields. A Fit must overwrite θ. Neither
// Fit nor VJP may write to its inputs. Fits after Reset, and after another data set, must agree
// with the first bit by bit. A context that ends must also end a Fit; see [Contexts].
//
// Bad data must be refused, and so must hyperparameters that are not finite or of a wrong number.
// The errors must be of qpdiff's kinds and must be an [*qpdiff.ArgError]. A negative hyperparameter
// must be refused in the same way, or the learner must solve its problem. A Fit before a Load, and
// a derivative without a fit, must return errors of kind ErrNotFitted. Destinations of the wrong
// length must panic.
//
// Derivatives must not write to the learner, and must not change the next fit. They may run at the
// same time; run the test with -race. Their bits must not depend on earlier derivatives. A learner
// must refuse Data.Rows and Data.Weights by name, or count them as equal rows. In the second case
// VJPs with them must also be correct to 1e-7.
func Learner(t *testing.T, newLearner func() learn.Learner, cases ...Case) {
	t.Helper()
	if len(cases) < 2 {
		t.Fatal("the contract needs at least two cases, of different shapes")
	}
	for i := range cases {
		if cases[i].Residual == nil {
			t.Fatalf("case %q lacks a Residual", cases[i].Name)
		}
		if cases[i].Tol == 0 {
			cases[i].Tol = 1e-13
		}
		if cases[i].Step == 0 {
			cases[i].Step = 1e-3
		}
	}
	for i, c := range cases {
		other := cases[(i+1)%len(cases)]
		t.Run(c.Name, func(t *testing.T) {
			t.Run("optimality", func(t *testing.T) { optimality(t, newLearner, c) })
			t.Run("derivative", func(t *testing.T) { derivative(t, newLearner, c) })
			t.Run("adjoint", func(t *testing.T) { adjoint(t, newLearner, c) })
			t.Run("buffers", func(t *testing.T) { buffers(t, newLearner, c) })
			t.Run("refit", func(t *testing.T) { refit(t, newLearner, c, other) })
			t.Run("contexts", func(t *testing.T) { Contexts(t, newLearner, c) })
			t.Run("refusals", func(t *testing.T) { refusals(t, newLearner, c) })
			t.Run("const", func(t *testing.T) { constant(t, newLearner, c, other) })
			t.Run("counts", func(t *testing.T) { counts(t, newLearner, c) })
		})
	}
}

// Allocations tests that three kinds of calls allocate nothing: warm fits, products with a
// workspace, and loads of the same shape.
func Allocations(t *testing.T, newLearner func() learn.Learner, c Case) {
	t.Helper()
	l, theta := fitted(t, newLearner, c)
	v := numtest.Normals(rand.New(rand.NewPCG(1, 2)), len(theta))
	g, w := newGrad(c, 0), new(qpdiff.Workspace)
	d, dtheta := newGrad(c, 1), make([]float64, len(theta))
	other := slices.Clone(c.Hyper)
	for i := range other {
		other[i] *= 1.01
	}
	step := func(h []float64) {
		numtest.OK(t, l.Fit(theta, h), l.VJP(w, g, v))
		if j, ok := l.(learn.ForwardLearner); ok {
			numtest.OK(t, j.JVP(w, dtheta, d))
		}
	}
	if a := testing.AllocsPerRun(10, func() { step(c.Hyper); step(other) }); a != 0 {
		t.Errorf("warm Fit, VJP and JVP: %v allocations", a)
	}
	if a := testing.AllocsPerRun(10, func() { l.Reset(); step(c.Hyper) }); a != 0 {
		t.Errorf("Fit after Reset, VJP and JVP: %v allocations", a)
	}
	if a := testing.AllocsPerRun(10, func() {
		numtest.OK(t, l.Load(c.Data))
	}); a != 0 {
		t.Errorf("Load of the same shape: %v allocations", a)
	}
}
