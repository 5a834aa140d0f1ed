package sample

import (
	"math"

	"cvgm/cvgm/internal/args"
)

// A Triangle takes the place of many rows with few features when sums of squared errors are
// computed. It has only one row more than there are features. Let A be the matrix of the features
// and labels, with each row multiplied by the square root of its weight. The triangle is the R of A
// = QR, computed by Householder reflections. Then ‖A·v‖ = ‖R·v‖ for each v. The rounding errors of
// both norms are of the size ε·Σ_j ‖a_j‖·|v_j|, for the columns a_j of A.
type Triangle struct {
	m int
	// For each even i, r stores the pair of the rows i and i+1. Of both rows, it stores only the
	// entries in the columns i, i+1, …. The last column is the label. If the number of rows is odd, a
	// row of zeros follows.
	r     []float64
	total float64 // weight of the rows
}

const (
	triangleMost = 16 // features: with more, the reduction costs more than it saves
	triangleRows = 8  // rows for each row of the triangle, from which it pays
	// rows that are reduced together
	triangleBlock = 128
)

// TriangleEntries returns the number of entries of a [Triangle] for this number of rows and of
// features, or 0 if the triangle costs more than it saves.
func TriangleEntries(rows, m int) int {
	if m > triangleMost || rows < triangleRows*(m+1) {
		return 0
	}
	pairs := m/2 + 1
	return 2 * pairs * (m + 2 - pairs)
}

// Reduce sets t to the triangle of the rows of x, each with m entries, and of the labels y −
// intercept. It reports whether all entries are finite; if they are not, t is undefined.
func (t *Triangle) Reduce(x []float64, m int, y []float64, intercept float64, weights Weights) bool {
	t.m, t.total = m, weights.Total(len(y))
	entry := func(i, j int) float64 {
		v := y[i] - intercept
		if j < m {
			v = x[i*m+j]
		}
		return v * math.Sqrt(weights.At(i))
	}
	columns, powers := make([][]float64, m+1), make([]int, m+1)
	for j := range columns {
		largest := 0.0
		for i := range y {
			largest = max(largest, math.Abs(entry(i, j)))
		}
		_, powers[j] = math.Frexp(largest)
		columns[j] = make([]float64, m+1+min(triangleBlock, len(y))) // the triangle, then a block of rows
	}
	for from := 0; from < len(y); from += triangleBlock {
		some := min(triangleBlock, len(y)-from)
		for j, column := range columns {
			block := column[m+1:]
			for k := range some {
				block[k] = math.Ldexp(entry(from+k, j), -powers[j]) // at most 1: squares cannot overflow
			}
			clear(block[some:])
		}
		for i := range columns {
			reflectColumns(columns[i:], i)
		}
	}
	t.r = t.r[:0]
	for i := range len(columns) + len(columns)%2 {
		for j := i &^ 1; j <= m; j++ {
			v := 0.0
			if i <= j {
				v = math.Ldexp(columns[j][i], powers[j])
			}
			t.r = append(t.r, v)
		}
	}
	return args.AllFinite(t.r)
}

// If the square of a column's remaining length is below leastTriangle, the remainder is set to
// zero. Smaller squares may have lost digits to underflow. The remainder is negligible, because
// columns have lengths of about 1 at the start.
const leastTriangle = 1e-290

// reflectColumns applies a Householder reflection to entry i and the later entries of all columns.
// In the first column, the reflection sets all entries after entry i to zero.
func reflectColumns(columns [][]float64, i int) {
	v := columns[0][i:]
	square := dot(v, v)
	if square < leastTriangle {
		clear(v)
		return
	}
	length := math.Copysign(math.Sqrt(square), -v[0])
	first := v[0] - length
	v[0] = first
	scale := 1 / (length * first) // −2/vᵀv
	for _, column := range columns[1:] {
		u := column[i:]
		by := dot(u, v) * scale
		for k, w := range v {
			u[k] += float64(by * w) // the same bits on each processor
		}
	}
	v[0] = length
}

// dot returns uᵀv, with the same bits on each processor. It computes four independent partial sums,
// because a processor can compute these in parallel.
func dot(u, v []float64) float64 {
	var a, b, c, d float64
	k := 0
	for u = u[:len(v)]; k+4 <= len(v); k += 4 {
		a += float64(u[k] * v[k])
		b += float64(u[k+1] * v[k+1])
		c += float64(u[k+2] * v[k+2])
		d += float64(u[k+3] * v[k+3])
	}
	for ; k < len(v); k++ {
		a += float64(u[k] * v[k])
	}
	return (a + b) + (c + d)
}

// Loss returns the weighted mean of the squared errors of the predictions θᵀx. If slopes is not nil,
// Loss sets it to the derivatives of the mean in θ.
func (t *Triangle) Loss(theta, slopes []float64) float64 {
	m, sum, rest := t.m, 0.0, t.r
	clear(slopes)
	for i := 0; i <= m; i += 2 {
		weights := theta[i:m]
		n := len(weights)
		a, b := rest[:n], rest[n+1:][:n]
		e, f := -rest[n], -rest[2*n+1]
		rest = rest[2*n+2:]
		for j, w := range weights {
			e += float64(w * a[j])
			f += float64(w * b[j])
		}
		if sum += float64(e*e) + float64(f*f); slopes == nil {
			continue
		}
		e, f = 2*e/t.total, 2*f/t.total
		out := slopes[i:m]
		for j, v := range a[:len(out)] {
			out[j] += float64(e*v) + float64(f*b[j])
		}
	}
	return sum / t.total
}
