package cvgm

import (
	"context"
	"errors"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// aloneNet hides that nets may be fitted together.
type aloneNet struct{ learn.KinkedLearner }

func newAloneNet() learn.Learner { return aloneNet{new(linear.ElasticNet)} }

// Splits that are evaluated together have the same bits and errors as splits evaluated one by one.
func TestBatchesDoNotChangeResults(t *testing.T) {
	for _, k := range []int{1, 3, 4, 9, 37} {
		for _, change := range map[string]func(*Config){
			"plain":    func(*Config) {},
			"map":      func(c *Config) { c.Features = &LinearMap{In: 10, Out: 4} },
			"weighted": func(c *Config) { c.Data.Weights = slices.Repeat([]float64{1, 2, 3}, 10) },
			"absolute": func(c *Config) { c.Loss = AbsoluteError{} },
		} {
			alone := elasticNetCV(t, 3, k, func(c *Config) { change(c); c.Learner = newAloneNet })
			if size := alone.batchSize(); size != 1 {
				t.Fatalf("%d nets together, of a type that has no batches", size)
			}
			for workers := range 4 {
				checkSameEvaluations(t, alone, elasticNetCV(t, 3, k, func(c *Config) { change(c); c.Workers = workers }))
			}
			alone.Reset()
		}
	}
}

// checkSameEvaluations compares the values, gradients and errors of two CVs along a path.
func checkSameEvaluations(t *testing.T, singly, together *CV) {
	t.Helper()
	singly.Reset()
	x := make([]float64, singly.Dims())
	for i := range x {
		x[i] = .1 + .05*float64(i)
	}
	for step := range 6 {
		x[0], x[1] = []float64{.01, .012, .5, .3, 0, .2}[step], []float64{1e-3, 1e-3, 2, .1, .1, 0}[step]
		want, got := make([]float64, len(x)), make([]float64, len(x))
		if step == 2 { // value alone
			want, got = nil, nil
		}
		wantLoss, wantErr := singly.Eval(want, x)
		loss, err := together.Eval(got, x)
		var one, other *SplitError
		if errors.As(err, &one) != errors.As(wantErr, &other) || one != nil && one.Split != other.Split || one == nil && (loss != wantLoss || !slices.Equal(got, want)) {
			t.Errorf("step %d: loss %v, gradient %v, error %v; one by one %v, %v, %v", step, loss, got, err, wantLoss, want, wantErr)
		}
	}
}

// A batch ends when its context ends, and reports its first split.
func TestBatchIsCancelled(t *testing.T) {
	cv := elasticNetCV(t, 3, 9, func(c *Config) { c.Workers = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cv.EvalContext(ctx, nil, []float64{.1, .1})
	if one := new(SplitError); !errors.Is(err, context.Canceled) || !errors.As(err, &one) || one.Split != 0 {
		t.Errorf("error %v", err)
	}
}

// Learners of several types are evaluated one by one.
func TestMixedLearnersAreNotBatched(t *testing.T) {
	made := 0
	mixed := elasticNetCV(t, 3, 9, func(c *Config) {
		c.Learner = func() learn.Learner {
			if made++; made%3 == 0 {
				return newAloneNet()
			}
			return new(linear.ElasticNet)
		}
	})
	if size := mixed.batchSize(); size != 1 {
		t.Errorf("%d together", size)
	}
	checkSameEvaluations(t, elasticNetCV(t, 3, 9, nil), mixed)
}

// Derivatives in the data also exist after splits are fitted together.
func TestBatchesDataGradient(t *testing.T) {
	cv, alone := elasticNetCV(t, 3, 9, nil), elasticNetCV(t, 3, 9, func(c *Config) { c.Learner = newAloneNet })
	x := []float64{.02, .1}
	gradient := func(cv *CV) (*mat.Dense, []float64) {
		dx, dy := mat.NewDense(30, 10, nil), make([]float64, 30)
		casetest.Must(cv.DataGradient(dx, dy, x))(t)
		return dx, dy
	}
	dx, dy := gradient(cv)
	if wantX, wantY := gradient(alone); !mat.Equal(dx, wantX) || !slices.Equal(dy, wantY) {
		t.Errorf("derivatives differ from those one by one")
	}
}
