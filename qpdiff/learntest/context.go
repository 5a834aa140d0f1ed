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

// endingContext is a context that ends at a look at it.
type endingContext struct {
	context.Context
	looks, end int // so far; at which it ends, 0: never
}

func newEnding(end int) *endingContext {
	ctx, cancel := context.WithCancel(context.Background()) // whose Done is not nil
	cancel()
	return &endingContext{ctx, 0, end}
}

func (c *endingContext) Err() error {
	if c.looks++; c.end > 0 && c.looks >= c.end {
		return c.Context.Err()
	}
	return nil
}

// Contexts tests a [learn.ContextLearner]: a context that ends, at any look of a Fit at it, ends
// the Fit with its error and leaves θ alone, and the next Fit has the bits of a new learner's,
// from a cold start and a warm one. It does nothing for other learners.
func Contexts(t *testing.T, newLearner func() learn.Learner, c Case) {
	t.Helper()
	l, ok := newLearner().(learn.ContextLearner)
	if !ok {
		return
	}
	fresh, want := fitted(t, newLearner, c)
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
	ends := []int{1, 2, 3, unending.looks / 3, unending.looks / 2, unending.looks - 1, unending.looks}
	slices.Sort(ends)
	for _, end := range slices.Compact(ends) {
		for _, warm := range []bool{false, true} {
			if l.Reset(); warm {
				l.SetContext(context.Background())
				numtest.OK(t, l.Fit(theta, other))
			}
			ctx := newEnding(max(end, 1))
			l.SetContext(ctx)
			endedFit(t, l, c, ctx)
			l.SetContext(context.Background())
			if ctx.looks < ctx.end {
				continue
			}
			numtest.OK(t, l.Fit(theta, c.Hyper))
			g := newGrad(c, 0)
			numtest.OK(t, l.VJP(nil, g, v))
			same := numtest.SameBits(theta, want)
			for i, s := range gradSlices(g) {
				same = same && numtest.SameBits(s, gradSlices(wantGrad)[i])
			}
			if !same {
				t.Errorf("after a fit that ended at look %d of %d (warm: %v), the next fit or its VJP differs from a new learner's", end, unending.looks, warm)
			}
		}
	}
}

// endedFit fits l, whose context ends, unless the fit takes fewer looks.
func endedFit(t *testing.T, l learn.Learner, c Case, ctx *endingContext) {
	t.Helper()
	theta := numtest.NaNs(thetaOf(l, c.Data.Dense().RawMatrix().Cols), 0)
	before := slices.Clone(theta)
	err := l.Fit(theta, c.Hyper)
	if ctx.end > 1 && ctx.looks < ctx.end {
		numtest.OK(t, err)
		return
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Fit with a context that ends at look %d: error %v, want the context's", ctx.end, err)
	}
	if !numtest.SameBits(theta, before) {
		t.Error("a fit that its context ended writes to theta")
	}
	if err := l.VJP(nil, &learn.Grad{}, theta); !errors.Is(err, qpdiff.ErrNotFitted) {
		t.Errorf("VJP after a fit that its context ended: error %v, want one that matches ErrNotFitted", err)
	}
}
