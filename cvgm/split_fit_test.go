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
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

// ownSquares is the squared error as a user's own type.
type ownSquares struct{ SquaredError }

// SquaredError gives the same bits and errors as an equal loss that the CV calls for each row.
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

// Triangles of the validation rows change the results only by rounding.
func TestTriangleChangesOnlyRounding(t *testing.T) {
	const rounding = 1e-12 // relative: of well-conditioned data with noise
	for seed := range uint64(12) {
		rng := synth.NewStream(seed, "triangles")
		m := 1 + rng.IntN(16)
		d := casetest.Regression(seed, 40*(m+1), m)
		unit := math.Ldexp(1+rng.Float64(), rng.IntN(40)-20)
		for i := range d.Y {
			d.Y[i] = unit * (d.Y[i] + 3)
		}
		if seed%2 == 0 {
			d.Weights = make([]float64, len(d.Y))
			for i := range d.Weights {
				d.Weights[i] = .1 + rng.Float64()
			}
		}
		c := Config{Data: d, Loss: SquaredError{}, Standardise: seed%3 > 0, Centring: MeanCentring, Learner: func() learn.Learner { return new(linear.ElasticNet) }}
		c.Splits = casetest.Must(KFold(rng, len(d.Y), 4))(t)
		by, rows := casetest.Must(New(c))(t), casetest.Must(New(c))(t)
		for j := range rows.fits {
			if by.fits[j].triangle == nil {
				t.Fatalf("split %d of %d rows and %d features has no triangle", j, len(by.fits[j].valY), m)
			}
			rows.fits[j].triangle = nil
		}
		results := func(cv *CV) []float64 {
			grad, own := make([]float64, 2), make([]float64, len(d.Y))
			loss := casetest.Must(cv.Eval(grad, []float64{.02 * unit, .01}))(t)
			if err := cv.OutOfFold(own); err != nil {
				t.Fatal(err)
			}
			return append([]float64{loss, grad[0], grad[1], casetest.Must(cv.StandardError())(t)}, own...)
		}
		want := results(rows)
		for i, v := range results(by) {
			if size := math.Abs(want[i]); !(math.Abs(v-want[i]) <= rounding*size) || i > 3 && v != want[i] {
				t.Errorf("seed %d: result %d is %v with triangles and %v without", seed, i, v, want[i])
			}
		}
	}
}
