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

// Learner tests a learner at cases, at least two, that should cover all shapes that matter: more
// and fewer examples than features, one feature, and both sides of any size at which the learner's
// code takes another path.
//
// It checks optimality. It compares VJPs with difference quotients to 1e-7. The JVP, if the learner
// has one, must be the adjoint of the VJP in all inputs and in each alone, to 1e-12 of the terms.
// VJPs must add, must not change Grad.Generalised, and must give the bits of a field whatever
// others are wanted. Fits must overwrite. Neither may write to its inputs. Refits after Reset and
// after another data set must agree bit by bit. A context that ends must also end a Fit, see
// [Contexts].
//
// Bad data must be refused, and so must hyperparameters that are not finite or of another number,
// by errors of qpdiff's kinds that are an [*qpdiff.ArgError]. A negative hyperparameter must be
// refused in the same way or solved for. A Fit before a Load, and a derivative without a fit, must
// be errors of kind ErrNotFitted. Destinations of the wrong length must panic.
//
// Derivatives must not write to the learner, may run at the same time (run the test with -race),
// and must not change the next fit. Their bits must not depend on earlier derivatives. Data.Rows and Data.Weights must be refused by name, or count as
// equal rows do, again with VJPs that are correct to 1e-7.
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
