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

// lookCounter is a context that counts looks and does not end.
type lookCounter struct {
	context.Context
	looks int
}

func (c *lookCounter) Done() <-chan struct{} { return make(chan struct{}) }

func (c *lookCounter) Err() error {
	c.looks++
	return nil
}

// Fits that almost interpolate take few steps, even if the ℓ1 penalty is very small. The test
// counts how often they check their context, which happens a few times in each step. It switches
// vector units off, so that the count is the same on all processors. With proximal terms of a
// single size, the counts would be 60,000 and 12,000.
func TestElasticNetNearInterpolation(t *testing.T) {
	defer dense.SetVectors(dense.SetVectors(false))
	const rows, n = 60, 900
	d := casetest.RandomData(5, rows, n, false)
	slopes := mat.NewVecDense(n, nil)
	slopes.MulVec(d.X.T(), mat.NewVecDense(rows, d.Y))
	largest := mat.Norm(slopes, math.Inf(1)) / rows
	for l2, most := range map[float64]int{0: 15_000, 1e-7: 6000} {
		for _, part := range []float64{1e-3, 1e-5, 1e-7} {
			e, ctx := new(ElasticNet), &lookCounter{Context: context.Background()}
			numtest.OK(t, e.Load(d))
			e.SetContext(ctx)
			numtest.OK(t, e.Fit(make([]float64, n), []float64{part * largest, l2}))
			if r, err := e.Residual(); !(r <= 1e-13) || err != nil {
				t.Errorf("λ1 at %g of the largest, λ2 = %g: optimality residual %v, error %v", part, l2, r, err)
			}
			if ctx.looks > most {
				t.Errorf("λ1 at %g of the largest, λ2 = %g: %d looks, want at most %d", part, l2, ctx.looks, most)
			}
		}
	}
}
