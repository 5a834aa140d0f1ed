// Package gram makes the Gram matrices of linear learners of many rows. It takes no copy of the
// rows, and of most rows of a [learn.Gram] it sums the others alone.
package gram

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
)

// leastKept is the least part of the sum of squares of a feature that may be left once other
// rows and the centre have been subtracted: then no more than two digits are lost. A feature of which less
// is left is summed by its own rows, as the learner sees them.
const leastKept = .01

// A Maker makes Gram matrices and holds its work.
type Maker struct {
	sum, size []float64 // Σ c·x; the sums that were subtracted from
	seen      []float64
	few       []int // features of which too little is left
}

// Entries counts the entries that a Maker, and the Gram of the data, hold for n features.
func Entries(n float64) float64 { return n*n + 4*n + 2*dense.SquareBlock }

// Make sets g (n×n) to the sum over the rows of d, as the learner sees them and each as often as it
// counts, of the squares x·xᵀ, and xty to that of y·x. X is a *mat.Dense.
func (m *Maker) Make(g, xty []float64, d *learn.Data, counts []float64) {
	x := d.Dense()
	n := len(xty)
	m.sum, m.size = dense.Zeros(m.sum, n), dense.Grow(m.size, n)
	m.start(g, d, counts)
	clear(xty)
	sum, products := dense.Sum{Dst: m.sum}, dense.Sum{Dst: xty}
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
	m.few = m.few[:0]
	for j := range n {
		centre, scale := view(d, j)
		row := g[j*n : (j+1)*n]
		for k := j; k < n; k++ {
			ck, sk := view(d, k)
			row[k] = (row[k] - centre*m.sum[k] - ck*m.sum[j] + total*centre*ck) / (scale * sk)
		}
		xty[j] = (xty[j] - centre*ySum) / scale
		if !(row[j]*scale*scale >= leastKept*m.size[j]) {
			m.few = append(m.few, j)
		}
	}
	for j := range n {
		for k := range j {
			g[j*n+k] = g[k*n+j]
		}
	}
	m.again(g, xty, d, counts)
}

// view returns the centre and the scale of feature j.
func view(d *learn.Data, j int) (centre, scale float64) {
	scale = 1
	if d.Centre != nil {
		centre = d.Centre[j]
	}
	if d.Scale != nil {
		scale = d.Scale[j]
	}
	return centre, scale
}

// start sets the upper triangle of g to the sum of the rows of X, and size to the entries on its
// diagonal that take part in subtractions.
func (m *Maker) start(g []float64, d *learn.Data, counts []float64) {
	x, n := d.Dense().RawMatrix(), len(m.size)
	sums := func(g []float64) {
		for j := range n {
			m.size[j] = g[j*n+j]
		}
	}
	if !subtracts(d, counts) {
		clear(g)
		dense.AddSquares(g, x, func(i int) float64 { return dense.CountAt(counts, i) })
		sums(g)
		return
	}
	copy(g, d.Gram.Sums().RawSymmetric().Data)
	sums(g)
	dense.AddSquares(g, x, func(i int) float64 { return dense.CountAt(counts, i) - d.Gram.Weight(i) })
}

// subtracts reports whether fewer rows are missing from d.Gram than count. No row may count more
// often than there.
func subtracts(d *learn.Data, counts []float64) bool {
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

// again sums what belongs to the features few by the rows as the learner sees them.
func (m *Maker) again(g, xty []float64, d *learn.Data, counts []float64) {
	if len(m.few) == 0 {
		return
	}
	x, n := d.Dense(), len(xty)
	for _, j := range m.few {
		clear(g[j*n : (j+1)*n])
		xty[j] = 0
	}
	for i, y := range d.Y {
		c := dense.CountAt(counts, i)
		if c == 0 {
			continue
		}
		m.seen = append(m.seen[:0], x.RawRowView(i)...)
		if d.Centre != nil {
			floats.Sub(m.seen, d.Centre)
		}
		if d.Scale != nil {
			floats.Div(m.seen, d.Scale)
		}
		for _, j := range m.few {
			if v := c * m.seen[j]; v != 0 {
				floats.AddScaled(g[j*n:(j+1)*n], v, m.seen)
				xty[j] += v * y
			}
		}
	}
	for _, j := range m.few {
		g[j*n+j] = math.Max(0, g[j*n+j])
		for k := range n {
			g[k*n+j] = g[j*n+k]
		}
	}
}
