package normalise

import (
	"slices"
	"testing"

	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// leastSquares returns the solution of smallest norm, as a singular value decomposition does.
func TestLeastSquaresHasTheSmallestNorm(t *testing.T) {
	// tol bounds the difference between two backward stable solutions. This difference is about
	// 2⁻⁵² times the condition number, which is below 1e4 here.
	const tol = 1e-11
	src := synth.NewStream(1, "least squares")
	for _, shape := range [][2]int{{1, 1}, {1, 4}, {30, 8}, {8, 30}, {12, 12}, {60, 40}} {
		for _, dependent := range []bool{false, true} {
			n, m := shape[0], shape[1]
			columns, y := make([][]float64, m), make([]float64, n)
			for j := range columns {
				columns[j] = make([]float64, n)
				for i := range n {
					columns[j][i] = src.NormFloat64()
				}
			}
			if dependent && m > 5 {
				floats.AddScaledTo(columns[3], columns[0], .5, columns[1])
				copy(columns[5], columns[2])
				clear(columns[4])
			}
			for i := range y {
				y[i] = src.NormFloat64()
			}
			var svd mat.SVD
			if !svd.Factorize(mat.NewDense(m, n, slices.Concat(columns...)).T(), mat.SVDThin) {
				t.Fatal("no singular values")
			}
			var want mat.Dense
			svd.SolveTo(&want, mat.NewDense(n, 1, slices.Clone(y)), svd.Rank(interceptRankTol))
			if got := leastSquares(columns, y); !floats.EqualApprox(got, want.RawMatrix().Data, tol*max(1, mat.Norm(&want, 2))) {
				t.Errorf("%v, dependent %t: %v, by singular values %v", shape, dependent, got, want.RawMatrix().Data)
			}
		}
	}
}
