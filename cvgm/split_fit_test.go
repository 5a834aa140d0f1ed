package cvgm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
)

// ownSquares is the squared error as a user's own type.
type ownSquares struct{ SquaredError }

// The squared error has the same bits, and the same errors, as an equal loss that is called for each
// row: with and without weights, and for numbers of validation rows that are no multiple of four.
func TestSquaredErrorWithoutCalls(t *testing.T) {
	serial.Test(t)
	for v := 1; v <= 9; v++ {
		for _, weighted := range []bool{false, true} {
			for _, size := range []float64{1, 1e155} { // squares of 1e155 overflow
				d := casetest.Regression(uint64(v), 20+v, 3)
				floats.Scale(size, d.Y[20:])
				s := Split{}
				for i := range d.Y {
					if i < 20 {
						s.Train = append(s.Train, i)
					} else {
						s.Val = append(s.Val, i)
					}
					if weighted {
						d.Weights = append(d.Weights, float64(1+i%3))
					}
				}
				var losses []float64
				var grads [][]float64
				var errs []string
				for _, loss := range []Loss{SquaredError{}, ownSquares{}} {
					cv := casetest.Must(New(Config{Data: d, Splits: []Split{s}, Loss: loss, Standardise: true, Centring: MeanCentring, Workers: 1,
						Learner: func() learn.Learner { return new(linear.ElasticNet) }}))(t)
					grad := make([]float64, 2)
					value, err := cv.Eval(grad, []float64{.01, .1})
					losses, grads, errs = append(losses, value), append(grads, grad), append(errs, fmt.Sprint(err))
				}
				if errs[0] != errs[1] || (errs[0] == "<nil>") != (size == 1) || size == 1 && (math.Float64bits(losses[0]) != math.Float64bits(losses[1]) || !slices.Equal(grads[0], grads[1])) {
					t.Errorf("%d rows, weights %v, size %g: %v, %v, %q", v, weighted, size, losses, grads, errs)
				}
			}
		}
	}
}
