package learn

import (
	"sync"

	"cvgm/qpdiff/internal/dense"

	"gonum.org/v1/gonum/mat"
)

// A Gram is the sum of the squares x_i·x_iᵀ of the rows of a matrix, each as often as it counts.
// Learners of most of these rows take it in place of a sum of their own: see [Data].Gram. The sum
// is made once, for the first that takes it. A Gram is safe for concurrent use.
type Gram struct {
	x       *mat.Dense
	weights []float64
	once    sync.Once
	sums    *mat.SymDense
}

// NewGram returns the Gram of x (N×n), of which row i counts as weights[i] equal rows, or once if
// weights is nil. It keeps references to both, which must not change any more.
func NewGram(x *mat.Dense, weights []float64) *Gram { return &Gram{x: x, weights: weights} }

// Sums returns Σ_i weights_i·x_i·x_iᵀ (n×n). The first call costs N·n² operations and n² numbers.
func (g *Gram) Sums() *mat.SymDense {
	g.once.Do(func() {
		_, n := g.x.Dims()
		sums := make([]float64, n*n)
		dense.AddSquares(sums, g.x.RawMatrix(), g.Weight)
		g.sums = mat.NewSymDense(n, sums)
	})
	return g.sums
}

// Weight returns how often row i counts.
func (g *Gram) Weight(i int) float64 { return dense.CountAt(g.weights, i) }
