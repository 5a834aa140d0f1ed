package normalise

import (
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/sample"

	"gonum.org/v1/gonum/floats"
)

// A feature counts as a linear combination of other features if its remainder is at most
// interceptRankTol times the length of the longest feature. The remainder is the part of the
// feature that the others do not explain. Exactly dependent features have remainders of about
// 1e-15. If features are dependent only up to the rounding errors of the data, the remainders are
// up to 1e-13.
const interceptRankTol = 1e-12

// LeastSquaresIntercept fits y to the rows of x by weighted least squares, with an intercept, and
// returns the intercept ȳ − x̄ᵀθ. If several θ fit equally well, it takes the θ of smallest norm.
// Before it computes this norm, it divides each centred feature by a power of two, so that the
// largest entry of the feature is between ½ and 1. If the fit fails, the result is NaN.
func LeastSquaresIntercept(x []float64, m int, y []float64, weights sample.Weights) float64 {
	n := len(y)
	z := Normaliser{Centre: true, Weights: weights}
	if z.Fit(x, m) != nil {
		return math.NaN()
	}
	centred := slices.Clone(x)
	z.Apply(centred)
	if !args.AllFinite(centred) {
		return math.NaN()
	}
	yc, mean := slices.Clone(y), weights.Mean(y)
	floats.AddConst(-mean, yc)
	for i := range n {
		root := math.Sqrt(weights.At(i))
		yc[i] *= root
		floats.Scale(root, centred[i*m:(i+1)*m])
	}
	scaleColumns(centred, z.Mean)
	columns := make([][]float64, m)
	for j := range columns {
		columns[j] = make([]float64, n)
		for i := range n {
			columns[j][i] = centred[i*m+j]
		}
	}
	return mean - floats.Dot(z.Mean, leastSquares(columns, yc))
}

// scaleColumns divides each column of x by a power of two, so that the largest absolute entry of
// the column is between ½ and 1. It divides mean[j] by the power of column j.
func scaleColumns(x, mean []float64) {
	m := len(mean)
	for j := range mean {
		largest := 0.0
		for i := j; i < len(x); i += m {
			largest = max(largest, math.Abs(x[i]))
		}
		_, power := math.Frexp(largest)
		for i := j; i < len(x); i += m {
			x[i] = math.Ldexp(x[i], -power)
		}
		mean[j] = math.Ldexp(mean[j], -power)
	}
}

// leastSquares returns the θ of smallest norm that minimises ‖Σθ_j·columns[j] − y‖. It overwrites
// the columns and y. The method is modified Gram-Schmidt orthogonalisation (Björck 1967). Each step
// takes the column with the largest remainder. The method ends when all remainders consist of
// rounding errors.
func leastSquares(columns [][]float64, y []float64) []float64 {
	var rows [][]float64 // the rows of R. With the directions Q, the columns are QR and the projection of y is Qc
	var c []float64
	first := 0.0
	for range min(len(columns), len(y)) {
		next, largest := 0, 0.0
		for j, x := range columns {
			if squares := floats.Dot(x, x); squares > largest {
				next, largest = j, squares
			}
		}
		length := math.Sqrt(largest)
		first = max(first, length)
		if length <= interceptRankTol*first {
			break
		}
		direction := slices.Clone(columns[next])
		floats.Scale(1/length, direction)
		row := make([]float64, len(columns))
		for j, x := range columns {
			row[j] = removeAlong(x, direction)
		}
		clear(columns[next])
		rows, c = append(rows, row), append(c, removeAlong(y, direction))
	}
	// R is triangular except for the order of its columns. If the columns are dependent, R has more
	// columns than rows. The loop makes the rows of R orthogonal, from the last row to the first,
	// and adds a multiple of each to θ.
	theta := make([]float64, len(columns))
	for k, row := range slices.Backward(rows) {
		squares := floats.Dot(row, row)
		floats.AddScaled(theta, c[k]/squares, row)
		for i, r := range rows[:k] {
			f := floats.Dot(r, row) / squares
			floats.AddScaled(r, -f, row)
			c[i] -= f * c[k]
		}
	}
	return theta
}

// removeAlong subtracts from x its projection on a direction of length 1, and returns the length of
// the projection.
func removeAlong(x, direction []float64) float64 {
	length := floats.Dot(direction, x)
	floats.AddScaled(x, -length, direction)
	return length
}
