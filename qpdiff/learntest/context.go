package learntest

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/learn"
)

// endingContext is a context that ends at check number endAt.
type endingContext struct {
	context.Context
	// checks is the number of checks that have been made. endAt is the number of the check at which
	// the context ends, or 0 if the context never ends.
	checks, endAt int
}

func newEnding(endAt int) *endingContext {
	ctx, cancel := context.WithCancel(context.Background()) // so that Done is not nil
	cancel()
	return &endingContext{ctx, 0, endAt}
}

func (c *endingContext) Err() error {
	if c.checks++; c.endAt > 0 && c.checks >= c.endAt {
		return c.Context.Err()
	}
	return nil
}

// Contexts tests a [learn.ContextLearner]. It ends a context during a Load, Fit or VJP, at
// different checks of the context. The call must then end with the error of the context. After such
// an error from Load, the learner must have no data. After such an error from Fit, the learner must
// have no fit, and θ must be unchanged. After such an error from VJP, the fit must remain. The next
// calls must give the same bits as the same calls of a new learner, whether they start cold or
// warm. Contexts does nothing if the learner is not a ContextLearner.
func Contexts(t *testing.T, newLearner func() learn.Learner, c Case) {
	t.Helper()
	l, ok := newLearner().(learn.ContextLearner)
	if !ok {
		return
	}
	fresh, want := fittedLearner(t, newLearner, c)
	v := numtest.Normals(rand.New(rand.NewPCG(1, 2)), len(want))
	wantGrad := newGrad(c, 0)
	numtest.OK(t, fresh.VJP(nil, wantGrad, v))
	other := slices.Clone(c.Hyper)
	for i := range other {
		other[i] *= 1.5
	}
	numtest.OK(t, l.Load(c.Data))
	theta, unending := make([]float64, len(want)), newEnding(0)
	l.SetContext(unending)
	numtest.OK(t, l.Fit(theta, c.Hyper))
	if !numtest.SameBits(theta, want) {
		t.Error("a context that does not end changes the fit")
	}
	as := contextCase{c, other, v, want, wantGrad}
	for _, end := range endChecks(unending.checks) {
		for _, warm := range []bool{false, true} {
			if l.Reset(); warm {
				l.SetContext(context.Background())
				numtest.OK(t, l.Fit(theta, other))
			}
			ctx := newEnding(end)
			l.SetContext(ctx)
			endedFit(t, l, c, ctx)
			l.SetContext(context.Background())
			if ctx.checks < ctx.endAt {
				continue
			}
			if !as.sameBits(t, l, nil, true) {
				t.Errorf("after a fit that ended at look %d of %d (warm: %v), the next fit or its VJP differs from a new learner's", end, unending.checks, warm)
			}
		}
	}
	endedLoads(t, newLearner().(learn.ContextLearner), as)
	endedVJPs(t, newLearner().(learn.ContextLearner), as)
}

// endChecks returns the numbers of the checks at which the tests end a context. The parameter
// checks is the number of checks that the whole call makes.
func endChecks(checks int) []int {
	all := []int{1, 2, 3, checks / 3, checks / 2, checks - 1, checks}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(end int) bool { return end < 1 || end > max(1, checks) })
}

// contextCase is a case with the results of a new learner.
type contextCase struct {
	Case
	otherHyper []float64 // hyperparameters of another fit
	v          []float64 // cotangent
	theta      []float64
	grad       *learn.Grad
}

// sameBits reports whether the learner l gives the same bits as the results in c. Before the call,
// l must have data. If the parameter fit is true, l first makes a new fit.
func (c *contextCase) sameBits(t *testing.T, l learn.Learner, w *qpdiff.Workspace, fit bool) bool {
	t.Helper()
	theta := c.theta
	if fit {
		theta = make([]float64, len(c.theta))
		numtest.OK(t, l.Fit(theta, c.Hyper))
	}
	g := newGrad(c.Case, 0)
	numtest.OK(t, l.VJP(w, g, c.v))
	same := numtest.SameBits(theta, c.theta)
	for i, s := range gradSlices(g) {
		same = same && numtest.SameBits(s, gradSlices(c.grad)[i])
	}
	return same
}

// endedLoads is the part of [Contexts] that tests Load. The learner l is new.
func endedLoads(t *testing.T, l learn.ContextLearner, c contextCase) {
	t.Helper()
	unending, theta := newEnding(0), make([]float64, len(c.theta))
	l.SetContext(unending)
	numtest.OK(t, l.Load(c.Data))
	if unending.checks == 0 {
		t.Error("Load does not look at the context")
	}
	for _, end := range endChecks(unending.checks) {
		for _, warm := range []bool{false, true} {
			l.SetContext(context.Background())
			numtest.OK(t, l.Load(c.Data))
			if l.Reset(); warm {
				numtest.OK(t, l.Fit(theta, c.otherHyper))
			}
			l.SetContext(newEnding(end))
			if err := l.Load(c.Data); !errors.Is(err, context.Canceled) {
				t.Errorf("Load with a context that ends at look %d of %d: error %v, want the context's", end, unending.checks, err)
			}
			l.SetContext(context.Background())
			if err := l.Fit(theta, c.Hyper); !errors.Is(err, qpdiff.ErrNotFitted) {
				t.Errorf("Fit after a Load that its context ended: error %v, want one that matches ErrNotFitted", err)
			}
			numtest.OK(t, l.Load(c.Data))
			if !c.sameBits(t, l, nil, true) {
				t.Errorf("after a Load that ended at look %d of %d (warm: %v), the next fit or its VJP differs from a new learner's", end, unending.checks, warm)
			}
		}
	}
}

// endedVJPs is the part of [Contexts] that tests VJP. The learner l is new.
func endedVJPs(t *testing.T, l learn.ContextLearner, c contextCase) {
	t.Helper()
	unending, theta := newEnding(0), make([]float64, len(c.theta))
	numtest.OK(t, l.Load(c.Data))
	numtest.OK(t, l.Fit(theta, c.Hyper))
	l.SetContext(unending)
	numtest.OK(t, l.VJP(nil, newGrad(c.Case, 0), c.v))
	if unending.checks == 0 {
		return
	}
	for _, end := range endChecks(unending.checks) {
		var w qpdiff.Workspace
		l.SetContext(newEnding(end))
		if err := l.VJP(&w, newGrad(c.Case, 0), c.v); !errors.Is(err, context.Canceled) {
			t.Errorf("VJP with a context that ends at look %d of %d: error %v, want the context's", end, unending.checks, err)
		}
		l.SetContext(context.Background())
		if !c.sameBits(t, l, &w, false) {
			t.Errorf("after a VJP that ended at look %d of %d, the next one differs from a new learner's", end, unending.checks)
		}
	}
}

// endedFit calls Fit of l with a context that ends, and checks the error. If Fit makes fewer than
// ctx.endAt checks, it must succeed.
func endedFit(t *testing.T, l learn.Learner, c Case, ctx *endingContext) {
	t.Helper()
	theta := numtest.NaNs(thetaOf(l, c.Data.Dense().RawMatrix().Cols), 0)
	before := slices.Clone(theta)
	err := l.Fit(theta, c.Hyper)
	if ctx.endAt > 1 && ctx.checks < ctx.endAt {
		numtest.OK(t, err)
		return
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Fit with a context that ends at look %d: error %v, want the context's", ctx.endAt, err)
	}
	if !numtest.SameBits(theta, before) {
		t.Error("a fit that its context ended writes to theta")
	}
	if err := l.VJP(nil, &learn.Grad{}, theta); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("VJP after a fit that its context ended: error %v, want one that matches ErrNotFitted", err)
	}
}
