// Package sparse holds the columns of sparse data, centred, scaled and weighted for the learners.
package sparse

import (
	"math"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Columns are the columns of a matrix A of M rows and N columns with the entries
//
//	a_ij = ρ_i·(x_ij − centre_j)/scale_j
//
// The entries of A are computed from the stored entries of x. The centres are not subtracted from
// the stored entries, so that A takes no more memory than x. In the product a_jᵀv of column j with
// a vector v, the centre contributes one term, a multiple of Σ_i ρ_i·v_i. The products of all
// columns with v share this sum: see Along and Spread.
//
// Consider the rows with ρ_i > 0. If x stores entries of a column for more than half of these rows,
// the column is kept whole: all its entries a_ij are stored. In any other column the centre is
// implicit. If the weights are equal, the term of the centre is at most as large as the stored
// part, so products lose no digits. If a few rows have almost all of the weight, this term may be
// larger, and products lose digits in proportion.
type Columns struct {
	M, N  int
	Root  []float64 // ρ_i; 0 for a row of weight 0
	Total float64   // Σρ²

	start       []int // for each column, the index of its first entry; in the last position, the number of entries
	row         []int32
	value       []float64 // ρ_i·x_ij/scale_j, or a_ij in a whole column
	shift       []float64 // centre_j/scale_j, 0 for a whole column; nil without centres
	rowSum      []float64 // Σ_i ρ_i·value_ij
	wholeColumn []bool

	// Scratch of Load: the next free position of each column, and the position of each row in the
	// columns that are kept whole.
	nextFree, rowPlace []int
}

// Load sets c to the columns of the data d. d.X must be a sparse matrix that was checked before.
// The parameter root holds the factors ρ_i of the rows.
func (c *Columns) Load(d learn.Data, root []float64) {
	x := d.X.(mat.RowNonZeroDoer)
	c.M, c.N = d.X.Dims()
	c.Root = append(c.Root[:0], root...)
	c.Total = floats.Dot(root, root)
	c.setLayout(d, x)
	stored := c.start[c.N]
	c.row, c.value = dense.Grow(c.row, stored), dense.Grow(c.value, stored)
	c.nextFree = append(c.nextFree[:0], c.start[:c.N]...)
	for j, whole := range c.wholeColumn {
		if !whole {
			continue
		}
		at, rest := c.start[j], -d.Centre[j]/Scale(d, j)
		for i, r := range root { // the value of the entries that x does not store; the stored entries of x replace it below
			if r != 0 {
				c.row[at+c.rowPlace[i]], c.value[at+c.rowPlace[i]] = int32(i), r*rest
			}
		}
	}
	for i, r := range root {
		if r == 0 {
			continue
		}
		x.DoRowNonZero(i, func(_, j int, v float64) {
			if c.wholeColumn[j] {
				c.value[c.start[j]+c.rowPlace[i]] = r * ((v - d.Centre[j]) / Scale(d, j))
				return
			}
			c.row[c.nextFree[j]], c.value[c.nextFree[j]] = int32(i), r*(v/Scale(d, j))
			c.nextFree[j]++
		})
	}
	c.sum(d)
}

// setLayout determines which columns are kept whole, and the place at which each column is stored.
func (c *Columns) setLayout(d learn.Data, x mat.RowNonZeroDoer) {
	c.start, c.wholeColumn = dense.Grow(c.start, c.N+1), dense.Grow(c.wholeColumn, c.N)
	clear(c.start)
	counting := 0
	c.rowPlace = dense.Grow(c.rowPlace, c.M)
	for i, r := range c.Root {
		if r != 0 {
			c.rowPlace[i] = counting
			counting++
			x.DoRowNonZero(i, func(_, j int, _ float64) { c.start[j+1]++ })
		}
	}
	for j := range c.N {
		if c.wholeColumn[j] = d.Centre != nil && 2*c.start[j+1] > counting; c.wholeColumn[j] {
			c.start[j+1] = counting
		}
		c.start[j+1] += c.start[j]
	}
}

// sum sets shift and along.
func (c *Columns) sum(d learn.Data) {
	c.shift, c.rowSum = c.shift[:0], dense.Grow(c.rowSum, c.N)
	for j := range c.N {
		if d.Centre != nil {
			shift := 0.0
			if !c.wholeColumn[j] {
				shift = d.Centre[j] / Scale(d, j)
			}
			c.shift = append(c.shift, shift)
		}
		row, value := c.column(j)
		sum := 0.0
		for k, i := range row {
			sum += c.Root[i] * value[k]
		}
		c.rowSum[j] = sum
	}
}

// Scale returns the scale of feature j.
func Scale(d learn.Data, j int) float64 {
	if d.Scale == nil {
		return 1
	}
	return d.Scale[j]
}

// column returns the rows and values of the kept entries of column j.
func (c *Columns) column(j int) ([]int32, []float64) {
	from, to := c.start[j], c.start[j+1]
	return c.row[from:to], c.value[from:to]
}

// Shift returns centre_j/scale_j. If column j is kept whole, or if the data have no centres, it
// returns 0.
func (c *Columns) Shift(j int) float64 {
	if len(c.shift) == 0 {
		return 0
	}
	return c.shift[j]
}

// Stored returns how many entries are kept.
func (c *Columns) Stored() int { return len(c.value) }

// Along returns Σ_i ρ_i·v_i. The products of all columns with v use this sum; see Dot.
func (c *Columns) Along(v []float64) float64 {
	if len(c.shift) == 0 {
		return 0
	}
	return floats.Dot(c.Root, v)
}

// Dot returns a_jᵀv; rowSum is Along(v).
func (c *Columns) Dot(j int, v []float64, rowSum float64) float64 {
	row, value := c.column(j)
	sum := 0.0
	for k, i := range row {
		sum += value[k] * v[i]
	}
	return sum - c.Shift(j)*rowSum
}

// DotRest returns a_jᵀ(v − multiple·ρ); rowSum is Along(v − multiple·ρ).
func (c *Columns) DotRest(j int, v []float64, multiple, rowSum float64) float64 {
	return c.Dot(j, v, rowSum) - multiple*c.rowSum[j]
}

// AlongColumn returns Along(a_j).
func (c *Columns) AlongColumn(j int) float64 { return c.rowSum[j] - c.Shift(j)*c.Total }

// Add adds the stored part of t·a_j to dst, where a_j is column j. For the implicit part, some
// multiple of ρ must be subtracted, and Add returns this multiple. After several calls of Add, call
// Spread once with the sum of the results.
func (c *Columns) Add(dst []float64, t float64, j int) (spread float64) {
	row, value := c.column(j)
	for k, i := range row {
		dst[i] += t * value[k]
	}
	return t * c.Shift(j)
}

// Spread subtracts multiple·ρ from dst.
func (c *Columns) Spread(dst []float64, multiple float64) {
	if multiple != 0 {
		floats.AddScaled(dst, -multiple, c.Root)
	}
}

// Square returns a_jᵀa_j.
func (c *Columns) Square(j int) float64 {
	_, value := c.column(j)
	s := c.Shift(j)
	return floats.Dot(value, value) - s*(2*c.rowSum[j]-s*c.Total)
}

// Squares adds Σ_i w_i·a_ij² to dst_j for each column j. The weights w must not be negative.
func (c *Columns) Squares(dst, w []float64) {
	all := 0.0
	for i, r := range c.Root {
		all += w[i] * r * r
	}
	for j := range c.N {
		s, restSum, sum := c.Shift(j), all, 0.0 // restSum: the part of the sum over rows without a kept entry
		row, value := c.column(j)
		for k, i := range row {
			r := c.Root[i]
			v := value[k] - s*r
			sum += w[i] * v * v
			restSum -= w[i] * r * r
		}
		dst[j] += sum + s*s*max(0, restSum)
	}
}

// RowSquares sets dst_i to Σ_j a_ij² over the first n columns.
func (c *Columns) RowSquares(dst []float64, n int) {
	clear(dst)
	all := 0.0
	for j := range n {
		s := c.Shift(j)
		all += s * s
		row, value := c.column(j)
		for k, i := range row {
			r := c.Root[i]
			v := value[k] - s*r
			dst[i] += v*v - s*s*r*r
		}
	}
	for i, r := range c.Root {
		dst[i] = max(0, dst[i]+all*r*r)
	}
}

// Sizes sets dst_j to the sum of the absolute terms in the product of column j with w, for w ≥ 0.
// This sum is at least Σ_i w_i·|a_ij|.
func (c *Columns) Sizes(dst, w []float64) {
	all := dense.AbsDot(w, c.Root)
	for j := range c.N {
		row, value := c.column(j)
		sum := math.Abs(c.Shift(j)) * all
		for k, i := range row {
			sum += w[i] * math.Abs(value[k])
		}
		dst[j] = sum
	}
}

// FitSizes sets dst to the sums of the absolute terms of Av.
func (c *Columns) FitSizes(dst, v []float64) {
	clear(dst)
	spread := 0.0
	for j, t := range v[:c.N] {
		if t = math.Abs(t); t == 0 {
			continue
		}
		row, value := c.column(j)
		for k, i := range row {
			dst[i] += t * math.Abs(value[k])
		}
		spread += t * math.Abs(c.Shift(j))
	}
	for i, r := range c.Root {
		dst[i] += spread * math.Abs(r)
	}
}

// Largest sets dst_j to an upper bound of |a_ij| over the rows i.
func (c *Columns) Largest(dst []float64) {
	most := dense.Largest(c.Root)
	for j := range c.N {
		s := c.Shift(j)
		row, value := c.column(j)
		size := math.Abs(s) * most
		for k, i := range row {
			size = max(size, math.Abs(value[k]-s*c.Root[i]))
		}
		dst[j] = size
	}
}

// Combine sets dst to a sum of multiples of columns. Each i contributes v_i times a column; its
// index is names[set[i]], or set[i] if names is nil.
func (c *Columns) Combine(dst, v []float64, set, names []int) {
	clear(dst)
	spread := 0.0
	for i, j := range set {
		if names != nil {
			j = names[j]
		}
		if v[i] != 0 {
			spread += c.Add(dst, v[i], j)
		}
	}
	c.Spread(dst, spread)
}

// Times sets dst to Av.
func (c *Columns) Times(dst, v []float64) {
	clear(dst)
	spread := 0.0
	for j, t := range v[:c.N] {
		if t != 0 {
			spread += c.Add(dst, t, j)
		}
	}
	c.Spread(dst, spread)
}

// AddTransposed adds scale·Aᵀu to dst.
func (c *Columns) AddTransposed(dst []float64, scale float64, u []float64) {
	along := c.Along(u)
	for j := range c.N {
		dst[j] += scale * c.Dot(j, u, along)
	}
}

// Product returns a_jᵀa_k, the product of columns j and k. The vector dense must hold the kept
// entries of column j, and 0 in all other rows.
func (c *Columns) Product(j, k int, dense []float64) float64 {
	s, t := c.Shift(j), c.Shift(k)
	return c.Dot(k, dense, c.rowSum[j]) - s*c.rowSum[k] + s*t*c.Total
}

// Clear sets dst to 0 in the rows in which column j has a kept entry.
func (c *Columns) Clear(dst []float64, j int) {
	row, _ := c.column(j)
	for _, i := range row {
		dst[i] = 0
	}
}

// Gram sets both triangles of g to the products a_jᵀa_k of columns j and k, for all j and k that
// columns lists. The slice named fit is scratch of M entries.
func (c *Columns) Gram(g []float64, columns []int, fit []float64) {
	clear(fit)
	n := len(columns)
	for p, j := range columns {
		c.Add(fit, 1, j)
		for q, k := range columns[:p+1] {
			v := c.Product(j, k, fit)
			g[p*n+q], g[q*n+p] = v, v
		}
		c.Clear(fit, j)
	}
}

// AddRoots adds the column of an intercept. The entries of this column are the ρ_i.
func (c *Columns) AddRoots() {
	for i, r := range c.Root {
		if r != 0 {
			c.row, c.value = append(c.row, int32(i)), append(c.value, r)
		}
	}
	c.start, c.wholeColumn = append(c.start, len(c.value)), append(c.wholeColumn, true)
	c.rowSum = append(c.rowSum, c.Total)
	if len(c.shift) > 0 {
		c.shift = append(c.shift, 0)
	}
	c.N++
}

// Take sets c to some columns of src, with each row i multiplied by roots[i]. The slice columns
// lists the copied columns in ascending order. All other columns of c are zero.
func (c *Columns) Take(src *Columns, columns []int, roots []float64) {
	c.M, c.N = src.M, src.N
	c.Root = dense.Grow(c.Root, c.M)
	floats.MulTo(c.Root, src.Root, roots)
	c.Total = floats.Dot(c.Root, c.Root)
	c.start, c.row, c.value = append(c.start[:0], 0), c.row[:0], c.value[:0]
	c.shift, c.rowSum = dense.Zeros(c.shift, len(src.shift)), dense.Zeros(c.rowSum, c.N)
	next := 0
	for j := range c.N {
		if dense.IsNext(columns, &next, j) {
			row, value := src.column(j)
			sum := 0.0
			for k, i := range row {
				v := roots[i] * value[k]
				sum += c.Root[i] * v
				c.row, c.value = append(c.row, i), append(c.value, v)
			}
			c.rowSum[j] = sum
			if len(src.shift) > 0 {
				c.shift[j] = src.shift[j]
			}
		}
		c.start = append(c.start, len(c.row))
	}
}

// Entries returns the size of the Columns of rows×n data, as a number of float64 values. The
// parameter nonzeros is the number of non-zero entries of the data. The zeros of a column are
// stored only if they are fewer than the column's non-zero entries.
func Entries(rows, n, nonzeros float64) float64 {
	return 1.5*(2*nonzeros+n) + 5.5*n + rows
}

// TakenEntries returns the same size for the result of Take, after AddRoots has added a column to
// src.
func TakenEntries(rows, n, stored float64) float64 { return 1.25*1.5*(2*stored+n+rows) + 4*n + rows }
