// Package learntest tests whether a learner or a kernel satisfies its contract. Its tests can be
// run on any type that implements the interfaces: [Learner], [Kinks], [Kernel], [LeaveOneOut],
// [Contexts] and [Allocations].
package learntest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
)

// Learner tests a learner at two or more cases. One case should have more examples than features,
// another should have fewer examples than features, and another should have a single feature. If
// the learner's code takes another path above some size, there should be cases below and above this
// size.
//
// Learner checks the optimality of fits. If the learner has a method Residual, the result must be
// at most the Tol of the case. Without a fit, the result must be NaN, with an error of kind
// ErrNotFitted. VJPs must agree with difference quotients to 1e-7. If the learner has a JVP, the
// JVP must be the adjoint of the VJP, to 1e-12 of the size of the terms. This is tested for all
// inputs together, and for each input alone. A VJP must add to the fields of its Grad and must not
// change Grad.Generalised. The bits of a field must not depend on which other fields are nil. A Fit
// must overwrite θ. Neither Fit nor VJP may write to its inputs. A Fit after Reset, or after
// another data set, must give the same bits as the first Fit. A Fit must end if the learner's
// context ends; see [Contexts].
//
// Load must return an error for bad data. Fit must return an error for a wrong number of
// hyperparameters, and for hyperparameters that are not finite. These errors must be
// [*qpdiff.ArgError] values, with the kinds of package qpdiff. For a negative hyperparameter, Fit
// must return such an error or solve the problem. A Fit before a Load, and a derivative before a
// Fit, must return errors of kind ErrNotFitted. A destination of the wrong length must cause a
// panic.
//
// Derivatives must not write to the learner, and must not change the next fit. Several derivatives
// must be able to run at the same time; to test this, run the test with -race. With both -race and
// -short, Learner leaves out most checks if the learner starts no goroutine. The bits of a
// derivative must not depend on earlier derivatives. If Data.Rows or Data.Weights is not nil, a
// learner has two choices. Either Load returns an error that names the field, or the learner must
// treat a row of weight w like w equal rows, and its VJPs must also be correct to 1e-7.
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
			var p serial.Probe
			run := func(name string, by func(*testing.T, func(*testing.T)), check func(t *testing.T)) {
				t.Run(name, func(t *testing.T) { by(t, check) })
			}
			run("optimality", p.First, func(t *testing.T) { optimality(t, newLearner, c) })
			run("adjoint", p.First, func(t *testing.T) { adjoint(t, newLearner, c) })
			run("buffers", p.First, func(t *testing.T) { buffers(t, newLearner, c) })
			run("derivative", p.Then, func(t *testing.T) { derivative(t, newLearner, c) })
			run("refit", p.Then, func(t *testing.T) { refit(t, newLearner, c, other) })
			run("contexts", p.Then, func(t *testing.T) { Contexts(t, newLearner, c) })
			run("refusals", p.Then, func(t *testing.T) { refusals(t, newLearner, c) })
			run("counts", p.Then, func(t *testing.T) { testCounts(t, newLearner, c) })
			t.Run("const", func(t *testing.T) { onlyRead(t, newLearner, c, other) })
		})
	}
}

// Allocations tests that three kinds of calls allocate nothing: a warm Fit, a VJP or JVP with a
// workspace, and a Load of data with the same shape as the last data.
func Allocations(t *testing.T, newLearner func() learn.Learner, c Case) {
	t.Helper()
	l, theta := fittedLearner(t, newLearner, c)
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
