// Package gram computes the Gram matrices of linear learners for data with many rows. It does not
// copy the rows. If the data have a [learn.Gram] and the learner uses most of its rows, the package
// sums only over the rows that the learner does not use, and subtracts this sum from the Gram.
package gram

import (
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/internal/stop"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// LeastKept is a fraction of a feature's sum of squares. At least this fraction must remain after
// unused rows and the centre are subtracted, so that at most two digits are lost. If less remains,
// the feature's sums are computed again from the centred and scaled rows. They are also computed
// again if the sum of squares is below LeastSquares, because its terms then lose bits to underflow.
const (
	LeastKept    = .01
	LeastSquares = 1e-280
)

// A Maker makes Gram matrices. It holds the scratch for this.
type Maker struct {
	End       *stop.Stop // Make checks it
	sum, size []float64  // Σ c·(x − reference) over the rows x, with the weight c of each row; the sums of squares before the subtraction
	shift     []float64  // the centre minus the reference
	seen      []float64
	work      dense.SquareWork
	lossySum  []int // the features that keep less than the fraction LeastKept of their sum of squares
}

// Entries returns the size of a Maker and of the data's Gram together, as a number of float64
// values, for n features.
func Entries(n float64) float64 { return n*n + 6*n + 2*dense.SquareBlock }

// Make sets the n×n matrix g to the sum of x·xᵀ over the rows x of d, and the vector xty to the sum
// of y·x with the labels y. The rows are centred by d.Centre and scaled by d.Scale, and row i has
// the weight counts[i]. d.X must be a *mat.Dense.
func (m *Maker) Make(g, xty []float64, d *learn.Data, counts []float64) {
	x := d.Dense()
	n := len(xty)
	m.sum, m.size, m.shift = dense.Zeros(m.sum, n), dense.Grow(m.size, n), dense.Zeros(m.shift, n)
	reference := m.start(g, d, counts)
	if d.Centre != nil {
		copy(m.shift, d.Centre)
	}
	if reference != nil {
		floats.Sub(m.shift, reference)
	}
	clear(xty)
	sum, products := dense.Sum{Dst: m.sum, Less: reference}, dense.Sum{Dst: xty, Less: reference}
	total, ySum := 0.0, 0.0
	for i, y := range d.Y {
		c := dense.CountAt(counts, i)
		row := x.RawRowView(i)
		sum.Add(c, row)
		products.Add(c*y, row)
		total += c
		ySum += c * y
	}
	sum.End()
	products.End()
	m.lossySum = m.lossySum[:0]
	for j, shift := range m.shift {
		row := g[j*n : (j+1)*n]
		for k := j; k < n; k++ {
			row[k] += total*shift*m.shift[k] - shift*m.sum[k] - m.shift[k]*m.sum[j]
		}
		if !(row[j] >= max(LeastKept*m.size[j], LeastSquares)) || !dense.Finite(row[j]) {
			m.lossySum = append(m.lossySum, j)
		}
		xty[j] -= shift * ySum
		if d.Scale == nil {
			continue
		}
		for k := j; k < n; k++ {
			row[k] = row[k] / d.Scale[j] / d.Scale[k]
		}
		xty[j] /= d.Scale[j]
	}
	for j := range n {
		for k := range j {
			g[j*n+k] = g[k*n+j]
		}
	}
	m.recompute(g, xty, d, counts)
}

// start sets the upper triangle of g to the sum of (x − reference)·(x − reference)ᵀ over the rows x
// of X. It returns the vector reference, or nil if this vector is 0. It sets m.size to the values
// that the diagonal of g has before rows or the centre are subtracted.
func (m *Maker) start(g []float64, d *learn.Data, counts []float64) (reference []float64) {
	x, n := d.Dense().RawMatrix(), len(m.size)
	all := g
	if paysToSubtract(d, counts) {
		sums, c, err := d.Gram.Sums(m.End.Context())
		if err != nil {
			panic(err) // as Look panics
		}
		all, reference = sums.RawSymmetric().Data, c
		copy(g, all)
		m.work.AddSquares(m.End, g, x, c, func(i int) float64 { return dense.CountAt(counts, i) - d.Gram.Weight(i) })
	} else {
		reference = d.Centre
		clear(g)
		m.work.AddSquares(m.End, g, x, reference, func(i int) float64 { return dense.CountAt(counts, i) })
	}
	for j := range n {
		m.size[j] = all[j*n+j]
	}
	return reference
}

// paysToSubtract reports whether g is computed from d.Gram by subtraction. This requires that no
// row has a larger weight than in d.Gram. It also requires that subtraction is cheaper: the rows to
// subtract must be fewer than the rows with a weight above 0.
func paysToSubtract(d *learn.Data, counts []float64) bool {
	if d.Gram == nil {
		return false
	}
	counting, missing := 0, 0
	for i := range d.Y {
		c, all := dense.CountAt(counts, i), d.Gram.Weight(i)
		if c > all {
			return false
		}
		if c > 0 {
			counting++
		}
		if c < all {
			missing++
		}
	}
	return missing < counting
}

// recompute computes some entries again, from the centred and scaled rows. These are the entries of
// the features in the list lossySum.
func (m *Maker) recompute(g, xty []float64, d *learn.Data, counts []float64) {
	if len(m.lossySum) == 0 {
		return
	}
	x, n := d.Dense(), len(xty)
	for _, j := range m.lossySum {
		clear(g[j*n : (j+1)*n])
		xty[j] = 0
	}
	for i, y := range d.Y {
		c := dense.CountAt(counts, i)
		if c == 0 {
			continue
		}
		m.seen = learner.See(m.seen, d, x.RawRowView(i))
		for _, j := range m.lossySum {
			if v := c * m.seen[j]; v != 0 {
				floats.AddScaled(g[j*n:(j+1)*n], v, m.seen)
				xty[j] += v * y
			}
		}
	}
	for _, j := range m.lossySum {
		for k := range n {
			g[k*n+j] = g[j*n+k]
		}
	}
}
