package linear

import (
	"context"
	"math"
	"testing"

	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"

	"gonum.org/v1/gonum/mat"
)

// errCounter is a context that never ends and counts the calls of Err.
type errCounter struct {
	context.Context
	calls int
}

func (c *errCounter) Done() <-chan struct{} { return make(chan struct{}) }

func (c *errCounter) Err() error {
	c.calls++
	return nil
}

// An elastic net that almost interpolates takes few steps, even for a tiny λ1. The test counts
// calls of Err because each step calls Err a few times. Vector units are off because they change
// the number of steps.
func TestElasticNetNearInterpolation(t *testing.T) {
	defer dense.SetVectors(dense.SetVectors(false))
	const rows, n = 60, 900
	d := casetest.RandomData(5, rows, n, false)
	slopes := mat.NewVecDense(n, nil)
	slopes.MulVec(d.X.T(), mat.NewVecDense(rows, d.Y))
	largest := mat.Norm(slopes, math.Inf(1)) / rows
	// Proximal terms of a single size would need 60,000 and 12,000 calls.
	for l2, most := range map[float64]int{0: 15_000, 1e-7: 6000} {
		for _, part := range []float64{1e-3, 1e-5, 1e-7} {
			e, ctx := new(ElasticNet), &errCounter{Context: context.Background()}
			numtest.OK(t, e.Load(d))
			e.SetContext(ctx)
			numtest.OK(t, e.Fit(make([]float64, n), []float64{part * largest, l2}))
			if r, err := e.Residual(); !(r <= 1e-13) || err != nil {
				t.Errorf("λ1 at %g of the largest, λ2 = %g: optimality residual %v, error %v", part, l2, r, err)
			}
			if ctx.calls > most {
				t.Errorf("λ1 at %g of the largest, λ2 = %g: %d looks, want at most %d", part, l2, ctx.calls, most)
			}
		}
	}
}
