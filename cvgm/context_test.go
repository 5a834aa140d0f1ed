package cvgm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
)

// expiringContext is a context that ends at call number end of Err.
type expiringContext struct {
	context.Context
	looks, end int
}

func (c *expiringContext) Err() error {
	if c.looks++; c.looks >= c.end {
		return c.Context.Err()
	}
	return nil
}

// Evaluations and final fits end during a fit if their context is cancelled. Later evaluations
// return the same results as a new CV.
func TestContextEndsFits(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	const folds = 4
	for name, c := range map[string]struct {
		learner func() learn.Learner
		n       int
		alpha   []float64
		least   int // looks
		load    int // likewise, of New
	}{
		"batches":           {func() learn.Learner { return new(linear.ElasticNet) }, 3, []float64{.01, .1}, folds, 2 * folds},
		"one by one":        {func() learn.Learner { return new(linear.ElasticNet) }, 20, []float64{.01, .1}, 4 * folds, 2 * folds},
		"all rows first":    {func() learn.Learner { return new(linear.Logistic) }, 4, []float64{2}, 4 * folds, 1 + 2*folds},
		"folds at once":     {func() learn.Learner { return new(penalised.GLM) }, 4, []float64{.1}, folds + 1, 0},
		"kernel predicting": {func() learn.Learner { return &kernel.Ridge{Intercept: true} }, 4, []float64{.1, .1}, 20 * folds, 0},
	} {
		d := circleData(7, 40, c.n)
		splits, err := KFold(rand.New(rand.NewPCG(1, 1)), len(d.Y), folds)
		if err != nil {
			t.Fatal(err)
		}
		config := Config{Data: d, Splits: splits, Learner: c.learner, Loss: LogisticLoss{}, Workers: 1}
		cv, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		grad := make([]float64, len(c.alpha))
		want, err := cv.Eval(grad, c.alpha)
		if err != nil {
			t.Fatal(name, err)
		}
		for end := 1; ; end = end*5/4 + 1 {
			cv.Reset()
			ctx := &expiringContext{ended, 0, end}
			loss, err := cv.EvalContext(ctx, grad, c.alpha)
			if ctx.looks < end {
				if err != nil || loss != want {
					t.Errorf("%s: %v, %v at a context that does not end, want %v", name, loss, err, want)
				}
				if ctx.looks < c.least {
					t.Errorf("%s: %d looks", name, ctx.looks)
				}
				break
			}
			if !errors.Is(err, context.Canceled) || loss == loss {
				t.Errorf("%s: loss %v, error %v where the context ends at look %d", name, loss, err, end)
			}
			cv.Reset()
			if again, err := cv.Eval(grad, c.alpha); err != nil || again != want {
				t.Errorf("%s: %v, %v after an evaluation that ended at look %d, want %v", name, again, err, end, want)
			}
		}
		for end := 1; ; end = end*5/4 + 1 {
			ctx := &expiringContext{ended, 0, end}
			again, err := NewContext(ctx, config)
			if ctx.looks >= end {
				if again != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("%s: error %v of a CV whose context ends at look %d", name, err, end)
				}
				continue
			}
			if err != nil || ctx.looks < c.load {
				t.Fatalf("%s: error %v of a CV after %d looks at its context, want %d", name, err, ctx.looks, c.load)
			}
			ctx.end = 0 // ends no later call
			if loss, err := again.Eval(nil, c.alpha); err != nil || loss != want {
				t.Errorf("%s: %v, %v, want %v", name, loss, err, want)
			}
			break
		}
		for _, end := range []int{1, 2, 3, math.MaxInt} {
			m, err := cv.FinalContext(&expiringContext{ended, 0, end}, splits[0].Train, c.alpha)
			if end < math.MaxInt && (m != nil || !errors.Is(err, context.Canceled)) || end == math.MaxInt && err != nil {
				t.Errorf("%s: model %v, error %v with a context that ends at look %d", name, m, err, end)
			}
		}
	}
}

// An evaluation loads the single splits again if a context ended their first load.
func TestContextEndsLoadsOfSplits(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		learner func() learn.Learner
		alpha   []float64
	}{
		"GLM":          {func() learn.Learner { return new(penalised.GLM) }, []float64{.1}},
		"kernel ridge": {func() learn.Learner { return new(kernel.Ridge) }, []float64{.1, .1}},
	} {
		d := circleData(7, 12, 3)
		splits, err := KFold(rand.New(rand.NewPCG(1, 2)), len(d.Y), len(d.Y))
		if err != nil {
			t.Fatal(err)
		}
		config := Config{Data: d, Splits: splits, Learner: c.learner, Loss: LogisticLoss{}, Workers: 1}
		dy, bad := make([]float64, len(d.Y)), slices.Repeat([]float64{-1}, len(c.alpha)) // no split fits
		fresh := func() *CV {
			cv, err := New(config)
			if err != nil {
				t.Fatal(name, err)
			}
			return cv
		}
		want, err := fresh().DataGradient(nil, dy, c.alpha)
		if err != nil {
			t.Fatal(name, err)
		}
		looks := math.MaxInt
		for end := 1; end <= looks; end++ {
			cv, ctx := fresh(), &expiringContext{ended, 0, end}
			_, failure := cv.EvalContext(ctx, nil, bad)
			if ctx.looks < end {
				looks = ctx.looks
			}
			if loss, err := cv.DataGradient(nil, dy, c.alpha); err != nil || loss != want {
				t.Errorf("%s: %v, %v after an evaluation whose context ended at look %d (%v), want %v", name, loss, err, end, failure, want)
			}
		}
		if looks < 2*len(splits) {
			t.Errorf("%s: %d looks", name, looks)
		}
	}
}
