package experiment

import (
	"context"
	"math"
	"slices"
)

// SurfaceGrid is the grid of penalties on which a loss surface is evaluated.
type SurfaceGrid struct {
	SurfacePoints int     `help:"points of the loss surfaces per hyperparameter" range:"[2,∞)" small:"[2,5]"`
	SurfaceLow    float64 `help:"lower end of the surfaces" unit:"log10 of the penalty" range:"[-300,300]" below:"SurfaceHigh" small:"[-5,-2]"`
	SurfaceHigh   float64 `help:"upper end of the surfaces" unit:"log10 of the penalty" range:"[-300,300]" small:"[-1,1]"`
}

var DefaultSurface = SurfaceGrid{SurfacePoints: 46, SurfaceLow: -4, SurfaceHigh: .5}

// ElasticNetSurface holds two losses on a grid of penalties (λ1, λ2). The searches minimise the CV
// loss, and the test loss measures their results.
type ElasticNetSurface struct {
	Lambda1, Lambda2 []float64   // values of the grid, ascending
	CV, Test         [][]float64 // the entry [i][j] is at (Lambda1[i], Lambda2[j]); Test is nil if it was not requested
}

// Evaluate evaluates the CV loss on the grid. If wantTest is true, it also evaluates the test loss.
// The evaluations change the warm starts of a search, and thus change the results of the search by
// rounding errors. To compute a surface during a search, use a separate Setup. After ctx is done,
// Evaluate returns ctx's error.
func (g SurfaceGrid) Evaluate(ctx context.Context, s *Setup, wantTest bool) (ElasticNetSurface, error) {
	axis := Logspace(g.SurfaceLow, g.SurfaceHigh, g.SurfacePoints)
	e := ElasticNetSurface{Lambda1: axis, Lambda2: axis}
	var err error
	if e.CV, err = OnGrid(ctx, [][]float64{axis, axis}, s.CVLoss); err == nil && wantTest {
		e.Test, err = OnGrid(ctx, [][]float64{axis, axis}, func(_ context.Context, x []float64) (float64, error) { return s.TestLoss(x) })
	}
	return e, err
}

// OnGrid returns the values of f at the points of a grid. The value [i][j] is f at (axes[0][i],
// axes[1][j]). If there is only one axis, the result has one column. After an error, the remaining
// values are missing.
func OnGrid(ctx context.Context, axes [][]float64, f func(ctx context.Context, x []float64) (float64, error)) ([][]float64, error) {
	others := [][]float64{nil} // the second coordinate, or none
	if len(axes) == 2 {
		others = slices.Collect(slices.Chunk(axes[1], 1))
	}
	var z [][]float64
	for _, first := range axes[0] {
		var row []float64
		for _, other := range others {
			if err := ctx.Err(); err != nil {
				return z, err
			}
			v, err := f(ctx, append([]float64{first}, other...))
			if err != nil {
				return z, err
			}
			row = append(row, v)
		}
		z = append(z, row)
	}
	return z, nil
}

// Logspace returns n numbers from 10^low to 10^high with equal ratios.
func Logspace(low, high float64, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Pow(10, low+(high-low)*float64(i)/float64(n-1))
	}
	return v
}
