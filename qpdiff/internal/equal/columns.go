// Package equal finds columns of data that are equal up to their sign. If the penalty is not
// strictly convex, a fit does not determine the separate parameters of such columns. In the limit
// of a vanishing strictly convex penalty, the parameters are equal up to the columns' signs.
package equal

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"cvgm/qpdiff/internal/dense"
)

// entryTol bounds the difference between corresponding entries of equal columns. The bound is
// relative to the largest entry and in units of 2⁻⁵². It allows for the rounding of centring and
// scaling.
const entryTol = 16

// The projection of a column is its product with a random vector. projectionTol bounds the
// difference between the projections of equal columns. For columns scaled to the largest entry 1,
// the bound is projectionTol·2⁻⁵² times the number of rows. It allows for the rounding of the
// entries, of the largest entry, and of the sums.
const projectionTol = 4 * entryTol

// A Matrix has the columns to compare.
type Matrix interface {
	// Project sets size[j] to the largest absolute entry of column j, and sums[j] to the product of
	// column j with a vector. Each call of the function weight returns the next entry of the
	// vector.
	Project(sums, size []float64, weight func() float64)
	// Alike reports whether sign times column k equals column firstCol up to tol. Find makes the
	// calls that have the same firstCol one directly after another.
	Alike(firstCol, k int, sign, tol float64) bool
}

// Columns are the classes of equal columns.
type Columns struct {
	First []int     // for each column, the first column of its class; −1 for a column of zeros
	Sign  []float64 // for each column, the sign of its product with the first column of its class
	Size  []int     // for the first column of a class, the number of columns in the class
}

// Find returns the classes of equal columns of a matrix with n columns and the given number of
// rows. It returns nil if all columns differ and none is zero. It costs one pass over the entries,
// and one comparison for each pair of columns whose products with a random vector are equal.
func Find(rows, n int, m Matrix) *Columns {
	c := &Columns{make([]int, n), make([]float64, n), make([]int, n)}
	sum, size := make([]float64, n), make([]float64, n)
	rng := rand.New(rand.NewPCG(1, 1))
	m.Project(sum, size, func() float64 { return math.Copysign(1+rng.Float64(), rng.Float64()-.5) })
	order := make([]int, 0, n)
	found := false
	for j := range n {
		c.First[j], c.Sign[j], c.Size[j] = j, 1, 1
		if size[j] == 0 {
			c.First[j], c.Size[j], found = -1, 0, true
			continue
		}
		sum[j] /= size[j]
		order = append(order, j)
	}
	slices.SortFunc(order, func(j, k int) int {
		return cmp.Or(cmp.Compare(math.Abs(sum[j]), math.Abs(sum[k])), cmp.Compare(j, k))
	})
	near := projectionTol * dense.Eps * float64(rows)
	for at, j := range order {
		if c.First[j] != j {
			continue
		}
		for _, k := range order[at+1:] {
			if math.Abs(sum[k])-math.Abs(sum[j]) > near {
				break
			}
			sign := dense.Sign(sum[j] * sum[k])
			if c.First[k] != k || !m.Alike(j, k, sign, entryTol*dense.Eps*size[j]) {
				continue
			}
			c.First[k], c.Sign[k], c.Size[k] = j, sign, 0
			c.Size[j]++
			found = true
		}
	}
	if !found {
		return nil
	}
	c.sortClasses()
	return c
}

// sortClasses makes the column with the lowest number the first column of its class.
func (c *Columns) sortClasses() {
	lowest := make([]int, len(c.First))
	for j := range lowest {
		lowest[j] = -1
	}
	sign := slices.Clone(c.Sign)
	for k, j := range c.First {
		if j < 0 {
			continue
		}
		if lowest[j] < 0 {
			lowest[j] = k
		}
	}
	size := make([]int, len(c.Size))
	for k, j := range c.First {
		if j < 0 {
			continue
		}
		f := lowest[j]
		c.First[k], c.Sign[k] = f, sign[k]*sign[f]
		size[f]++
	}
	c.Size = size
}

// Share divides values among equal columns. The vector theta has one value for each class, in the
// entry of the class's first column. Share divides the value of a class equally among the columns
// of the class. Each part gets the sign of its column.
func (c *Columns) Share(theta []float64) {
	for k, j := range slices.Backward(c.First) {
		if j >= 0 && j < k && theta[j] != 0 { // so that no zero becomes −0
			theta[k] = c.Sign[k] * theta[j] / float64(c.Size[j])
		}
	}
	for j, size := range c.Size {
		if size > 1 {
			theta[j] /= float64(size)
		}
	}
}

// Collect is the adjoint of Share. For each class, Collect computes the mean of sign·entry over the
// columns of the class. It stores the mean in the entry of the first column.
func (c *Columns) Collect(dtheta []float64) {
	for k, j := range c.First {
		if j >= 0 && j < k {
			dtheta[j] += c.Sign[k] * dtheta[k]
			dtheta[k] = 0
		}
	}
	for j, size := range c.Size {
		if size > 1 {
			dtheta[j] /= float64(size)
		}
	}
}

// Restrict returns the classes for which the function areEqual confirms equality: areEqual(first,
// k) must be true for the first column and each column k of the class. It returns nil if no class
// remains. The result uses the storage of dst.
func (c *Columns) Restrict(dst *Columns, areEqual func(first, k int) bool) *Columns {
	dst.First, dst.Sign, dst.Size = append(dst.First[:0], c.First...), append(dst.Sign[:0], c.Sign...), append(dst.Size[:0], c.Size...)
	for k, j := range c.First {
		if j >= 0 && !areEqual(j, k) {
			dst.Size[j] = 1
		}
	}
	found := false
	for k, j := range c.First {
		switch {
		case j < 0 && !areEqual(k, k):
			dst.First[k] = k
		case j >= 0 && dst.Size[j] == 1:
			dst.First[k], dst.Sign[k], dst.Size[k] = k, 1, 1
		default:
			found = found || j != k
		}
	}
	if !found {
		return nil
	}
	return dst
}

// Held reports whether column j is zero or equals an earlier column.
func (c *Columns) Held(j int) bool { return c.First[j] != j }

// Copies returns the number of columns in the class of column j. It may be called only if Held is
// false for column j.
func (c *Columns) Copies(j int) int { return max(1, c.Size[j]) }
