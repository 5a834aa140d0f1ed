// Package inducing chooses the points of a Gaussian basis from the rows of a table. Package portable
// evaluates the basis.
package inducing

import (
	"cmp"
	"math"
	"slices"

	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/portable"
)

// Tol is the largest remainder of k(x, x) at which Choose takes no further point. For every row
// k(x, x) is 1. The kernel of two rows then has an error of at most 1e-10. A smaller bound would
// add features that consist of rounding errors: remainders have errors of about 1e-15, so a feature
// of size 1e-5 has errors of 1e-10.
const Tol = 1e-10

// Two remainders are treated as equal if they differ by less than tieTol times the largest
// remainder. Rows of a grid have equal remainders up to rounding.
const tieTol = 1e-9

// Deviation returns the mean and the standard deviation of the values that are not NaN. They do not
// depend on the order of the values. If all these values are equal up to rounding, the deviation is
// 0 and the mean is one of the values. If there are none, the deviation is 0 and the mean is NaN.
func Deviation(values []float64) (mean, deviation float64) {
	var present []float64
	size := 0.
	for _, v := range values {
		if v == v {
			present, size = append(present, v), max(size, math.Abs(v))
		}
	}
	if present == nil {
		return math.NaN(), 0
	}
	slices.Sort(present)            // rounding errors of sums depend on the order
	_, exponent := math.Frexp(size) // sums of values could overflow
	for i, v := range present {
		present[i] = math.Ldexp(v, -exponent)
	}
	n := normalise.Normaliser{Centre: true, Scale: true}
	if err := n.Fit(present, 1); err != nil || n.Std[0] == normalise.Flat {
		return math.Ldexp(present[0], exponent), 0
	}
	return math.Ldexp(n.Mean[0], exponent), math.Ldexp(n.Std[0], exponent)
}

// Choose returns at most count of the rows, one after another. The method is the pivoted Cholesky
// factorisation of the kernel matrix of the distinct rows (Fine and Scheinberg 2001). Each step
// takes the row with the largest remainder: the part of its kernel k(x, x) that the rows so far do
// not explain. No number may be NaN.
//
// The choice does not depend on the order of rows. Of rows with equal remainders, Choose takes the
// row nearest to the means of the columns, and then the first in sorted order. The argument columns
// has the values of each column. The cost is O(n·count²) for n distinct rows, and the memory
// 8·n·count bytes.
func Choose(columns [][]float64, means, deviations []float64, length float64, count int) (points []float64) {
	rows := distinct(columns, means, deviations)
	kernel := portable.GaussianBasis{Length: length, Deviations: deviations}
	remainder := make([]float64, len(rows))
	for i := range remainder {
		remainder[i] = 1
	}
	var features [][]float64 // of the rows, one list for each feature
	for len(features) < min(count, len(rows)) {
		most := slices.Max(remainder)
		if !(most > Tol) {
			break
		}
		at := slices.IndexFunc(remainder, func(v float64) bool { return v >= most*(1-tieTol) })
		f := make([]float64, len(rows))
		for i, row := range rows {
			f[i] = kernel.Kernel(row, rows[at])
		}
		for _, earlier := range features {
			own := earlier[at]
			for i, v := range earlier {
				f[i] -= float64(own * v)
			}
		}
		root := math.Sqrt(f[at])
		for i := range f {
			f[i] /= root
			remainder[i] -= float64(f[i] * f[i])
		}
		remainder[at] = 0 // also with rounding
		features, points = append(features, f), append(points, rows[at]...)
	}
	return points
}

// distinct returns the distinct rows, in the order in which Choose prefers rows with equal
// remainders.
func distinct(columns [][]float64, means, deviations []float64) (rows [][]float64) {
	d := len(columns)
	for i := range columns[0] {
		row := make([]float64, d, d+1)
		for j, c := range columns {
			row[j] = c[i]
		}
		distance := 0.
		for j, v := range row {
			z := v/deviations[j] - means[j]/deviations[j]
			distance += float64(z * z)
		}
		rows = append(rows, append(row, float64(float32(distance)))) // float32, so that rounding does not decide
	}
	slices.SortFunc(rows, func(a, b []float64) int {
		return cmp.Or(cmp.Compare(a[d], b[d]), slices.Compare(a[:d], b[:d]))
	})
	rows = slices.CompactFunc(rows, slices.Equal)
	for i := range rows {
		rows[i] = rows[i][:d]
	}
	return rows
}
