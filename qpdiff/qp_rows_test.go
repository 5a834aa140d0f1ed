package qpdiff

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// A row of zeros asks for 0 ≤ h or 0 = b, exactly and in any units, also where
// the working set of the problem before holds the row.
func TestQPRowsOfZeros(t *testing.T) {
	for _, b := range []float64{1, -1, 1e-200, -1e-200} {
		q := QP{Q: mat.NewDense(2, 2, []float64{1, 0, 0, 1}), P: []float64{1, 1},
			A: mat.NewDense(2, 2, []float64{1, 1, 1, 2}), B: []float64{1, 0}}
		var s Solution
		if err := s.Solve(&q); err != nil {
			t.Fatal(err)
		}
		q.A, q.B = mat.NewDense(2, 2, []float64{1, 1, 0, 0}), []float64{1, b}
		if err := s.Solve(&q); !errors.Is(err, ErrInfeasible) {
			t.Errorf("0 = %v: %v", b, err)
		} else if c := s.Certificate; c.Nu[0] != 0 || math.Abs(c.Nu[1]*b+1) > 1e-15 {
			t.Errorf("0 = %v: the certificate is %+v", b, c)
		}
		q.B[1] = 0
		if err := s.Solve(&q); err != nil {
			t.Errorf("0 = 0: %v", err)
		}
	}
}
