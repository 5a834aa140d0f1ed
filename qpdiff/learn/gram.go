package learn

import (
	"context"
	"sync"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/stop"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Gram is the weighted sum of (x_i − c)·(x_i − c)ᵀ over the rows x_i of a matrix, where c is the
// weighted mean of the rows. A learner that uses most of these rows can compute the sum over its
// own rows from the Gram: see the field Gram of [Data]. The Gram computes its sum when a learner
// first needs it, and then stores the sum. A Gram is safe for concurrent use.
type Gram struct {
	x       *mat.Dense
	weights []float64
	mutex   sync.Mutex
	centre  []float64
	sums    *mat.SymDense // nil before the first Sums
}

// NewGram returns the Gram of the matrix x (N×n). Row i has the weight weights[i], or 1 if weights
// is nil. The Gram keeps references to x and weights, so the caller must not change them
// afterwards.
func NewGram(x *mat.Dense, weights []float64) *Gram { return &Gram{x: x, weights: weights} }

// Sums returns the sum (n×n) and the mean c. The caller must not change these results. If squares
// overflow, the results contain infinities or NaN. The first call costs N·n² operations and
// allocates n² numbers. If the context ctx ends, Sums returns the error of ctx, and the next call
// computes the sum anew. A nil ctx never ends.
func (g *Gram) Sums(ctx context.Context) (sums *mat.SymDense, c []float64, err error) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.sums == nil {
		if err := g.add(ctx); err != nil {
			return nil, nil, err
		}
	}
	return g.sums, g.centre, nil
}

// add computes centre and sums.
func (g *Gram) add(ctx context.Context) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = stop.Recovered(value)
		}
	}()
	var end stop.Stop
	end.Watch(ctx)
	rows, n := g.x.Dims()
	g.centre = make([]float64, n)
	total, mean := 0.0, dense.Sum{Dst: g.centre}
	for i := range rows {
		w := g.Weight(i)
		mean.Add(w, g.x.RawRowView(i))
		total += w
	}
	mean.End()
	floats.Scale(1/total, g.centre)
	for j, v := range g.centre {
		if !dense.Finite(v) {
			g.centre[j] = 0
		}
	}
	all := make([]float64, n*n)
	new(dense.SquareWork).AddSquares(&end, all, g.x.RawMatrix(), g.centre, g.Weight)
	g.sums = mat.NewSymDense(n, all)
	return nil
}

// Weight returns the weight of row i.
func (g *Gram) Weight(i int) float64 { return dense.CountAt(g.weights, i) }
