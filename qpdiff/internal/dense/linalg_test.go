package dense

import (
	"math"
	"testing"
)

// ldlOf is the factor of the Gram matrix of the rows.
func ldlOf(t *testing.T, rows [][]float64) (a, dinv []float64) {
	t.Helper()
	n := len(rows)
	a, dinv = make([]float64, n*n), make([]float64, n)
	for i, x := range rows {
		for j, y := range rows {
			a[i*n+j] = Dot(x, y)
		}
	}
	if k := LDLFactor(a, dinv, n, n, Eps); k < n {
		t.Fatalf("row %d depends on those before it", k)
	}
	return a, dinv
}

// The largest eigenvalue counts as √n, between its bounds 1 and n; units of the
// rows do not count.
func TestConditionOfIndependentRows(t *testing.T) {
	const n = 16
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, n)
		rows[i][i] = math.Ldexp(1, 5*(i%7)-10)
	}
	a, dinv := ldlOf(t, rows)
	if c := LDLCond(a, dinv, n, n, make([]float64, n), make([]float64, n)); math.Abs(c-4) > 1e-12 {
		t.Errorf("condition %v of %d orthogonal rows instead of 4", c, n)
	}
}

// The row that depends most on those before it is not the one with the smallest
// pivot, nor the last.
func TestMostDependentRow(t *testing.T) {
	a, dinv := ldlOf(t, [][]float64{
		{1e-7, 0, 0, 0, 0},
		{0, 1, 0, 0, 0},
		{1e3, 1e3, 0, .1, 0},
		{0, 0, 1e-6, 0, 1e-9},
		{0, 1, 0, 0, 1},
	})
	const n = 5
	if k := LDLDependent(a, dinv, n, n, make([]float64, n), make([]float64, n)); k != 2 {
		t.Errorf("row %d instead of 2", k)
	}
}
