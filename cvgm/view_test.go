package cvgm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A copying learner hides that an elastic net reads rows in place.
type copying struct{ learn.Learner }

func (c copying) SetGeneralised(on bool) { c.Learner.(learn.KinkedLearner).SetGeneralised(on) }

// viewedData draws rows of so many features, some far from zero, in far units, constant or rare.
func viewedData(rng *rand.Rand, rows, n int) learn.Data {
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	for j := range n {
		offset, unit := []float64{0, 10, 1e5}[rng.IntN(3)], math.Pow(10, 6*rng.Float64()-3)
		kind := rng.IntN(8)
		for i := range rows {
			v := offset + rng.NormFloat64()
			switch {
			case kind == 0:
				v = offset
			case kind == 1 && rng.IntN(5) > 0:
				v = 0
			}
			d.Dense().Set(i, j, v*unit)
			if j%40 == 1 || n < 40 {
				d.Y[i] += v - offset
			}
		}
	}
	if rng.IntN(2) == 0 {
		d.Weights = make([]float64, rows)
		for i := range rows {
			d.Weights[i] = float64(rng.IntN(4))
		}
		d.Weights[0] = 0
		for j := range n { // in a row that does not count
			d.Dense().Set(0, j, 1e307)
		}
	}
	return d
}

// A CV whose learner reads the rows in place gives what it gives with copies of the rows.
func TestViewEqualsCopies(t *testing.T) {
	const tol = 1e-8 // of a λ2 of 1e-2 of the variances, and centres of 1e5 deviations
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 8))
			rows, n := 20+rng.IntN(30), 201+rng.IntN(60)
			if seed%4 == 3 { // many rows; a split has not so many that the learner of copies has the same way
				rows, n = 4000+rng.IntN(1000), 1+rng.IntN(12)
			}
			d := viewedData(rng, rows, n)
			splits, err := cvgm.KFold(rng, rows, 3)
			if err != nil {
				t.Fatal(err)
			}
			c := cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Generalised: true, Standardise: true,
				Centring: []cvgm.Centring{cvgm.MeanCentring, cvgm.FixedLeastSquares, cvgm.NoCentring}[rng.IntN(3)],
				Learner:  func() learn.Learner { return new(linear.ElasticNet) }}
			other := c
			other.Learner = func() learn.Learner { return copying{new(linear.ElasticNet)} }
			alpha := []float64{.05 + .2*rng.Float64(), .01 + rng.Float64()}
			near := func(name string, got, want []float64) {
				t.Helper()
				if size := 1e-3 + floats.Norm(want, math.Inf(1)); !(floats.Distance(got, want, math.Inf(1)) <= tol*size) {
					t.Errorf("%s: off by %.2g of %.2g", name, floats.Distance(got, want, math.Inf(1)), size)
				}
			}
			var results [2]struct {
				grad, dy, out, predictions []float64
				dx                         *mat.Dense
				loss                       float64
			}
			for k, c := range []cvgm.Config{c, other} {
				r := &results[k]
				cv, err := cvgm.New(c)
				if err != nil {
					t.Fatal(err)
				}
				r.grad, r.dy, r.out, r.predictions = make([]float64, 2), make([]float64, rows), make([]float64, rows), make([]float64, rows)
				r.dx = mat.DenseCopyOf(d.X)
				if r.loss, err = cv.Eval(r.grad, alpha); err != nil {
					t.Fatal(err)
				}
				if err := cv.OutOfFold(r.out); err != nil {
					t.Fatal(err)
				}
				if _, err := cv.DataGradient(nil, r.dy, alpha); err != nil {
					t.Fatal(err)
				}
				if _, err := cv.DataGradient(r.dx, nil, alpha); err != nil { // a column that is constant on a split
					r.dx.Zero()
				}
				m, err := cv.Final(alpha)
				if err != nil {
					t.Fatal(err)
				}
				if d.Weights == nil {
					if err := m.Predict(r.predictions, d.X); err != nil {
						t.Fatal(err)
					}
				}
			}
			got, want := results[0], results[1]
			near("loss", []float64{got.loss}, []float64{want.loss})
			near("gradient", got.grad, want.grad)
			near("dy", got.dy, want.dy)
			if d.Weights == nil {
				near("predictions out of fold", got.out, want.out)
			}
			near("predictions", got.predictions, want.predictions)
			// In units of the columns.
			for j := range n {
				near("dx", mat.Col(nil, j, got.dx), mat.Col(nil, j, want.dx))
			}
		})
	}
}

// The derivative in the rows goes through the means and deviations.
func TestViewDataGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	const rows, n, tol = 30, 210, 1e-5
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	for i := range rows {
		for j := range n {
			d.Dense().Set(i, j, 3+2*rng.NormFloat64())
		}
		d.Y[i] = d.X.At(i, 0) - d.X.At(i, 7) + .3*rng.NormFloat64()
	}
	splits, err := cvgm.KFold(rng, rows, 3)
	if err != nil {
		t.Fatal(err)
	}
	value := func(d learn.Data, dx *mat.Dense) float64 {
		cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
			Learner: func() learn.Learner { return new(linear.ElasticNet) }})
		if err != nil {
			t.Fatal(err)
		}
		loss, err := cv.DataGradient(dx, nil, []float64{.1, .2})
		if err != nil {
			t.Fatal(err)
		}
		return loss
	}
	dx := mat.NewDense(rows, n, nil)
	value(d, dx)
	const h = 1e-5
	for _, at := range [][2]int{{0, 0}, {3, 7}, {10, 100}, {29, 0}} {
		moved := d
		moved.X = mat.DenseCopyOf(d.X)
		moved.Dense().Set(at[0], at[1], d.X.At(at[0], at[1])+h)
		up := value(moved, nil)
		moved.Dense().Set(at[0], at[1], d.X.At(at[0], at[1])-h)
		if q, got := (up-value(moved, nil))/(2*h), dx.At(at[0], at[1]); !(math.Abs(q-got) <= tol*dx.Norm(math.Inf(1))) {
			t.Errorf("at %v: derivative %v, quotient %v", at, got, q)
		}
	}
}
