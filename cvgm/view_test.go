package cvgm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"cvgm/cvgm"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A copyingLearner hides that an elastic net reads rows in place.
type copyingLearner struct{ learn.Learner }

func (c copyingLearner) SetGeneralised(on bool) { c.Learner.(learn.KinkedLearner).SetGeneralised(on) }

// viewedData draws rows whose features have many units and offsets, and are partly constant or
// rarely nonzero.
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

// A CV whose learner reads the rows in place gives the same results as with copies of the rows.
func TestViewEqualsCopies(t *testing.T) {
	const tol = 1e-8 // of a λ2 of 1e-2 of the variances, and centres of 1e5 deviations
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 8))
			rows, n := 20+rng.IntN(30), 201+rng.IntN(60)
			if seed%4 == 3 { // many rows
				rows, n = 6003+rng.IntN(1000), 1+rng.IntN(12) // 3 folds of at least 4000 rows to train on
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
			other.Learner = func() learn.Learner { return copyingLearner{new(linear.ElasticNet)} }
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
			// The errors are in units of the columns.
			for j := range n {
				near("dx", mat.Col(nil, j, got.dx), mat.Col(nil, j, want.dx))
			}
		})
	}
}

// The derivative in the rows includes the effect on the means and deviations.
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

// rowsWithSpike returns rows and splits. Feature 1 has the value v in the last two rows, which no
// split uses.
func rowsWithSpike(t *testing.T, v float64) (learn.Data, []cvgm.Split) {
	t.Helper()
	const rows = 6002
	rng := rand.New(rand.NewPCG(1, 36))
	d := learn.Data{X: mat.NewDense(rows, 3, nil), Y: make([]float64, rows)}
	for i := range rows {
		for j := range 3 {
			d.Dense().Set(i, j, rng.NormFloat64())
		}
		d.Y[i] = d.X.At(i, 0) + 3*d.X.At(i, 1) + rng.NormFloat64()
	}
	splits, err := cvgm.KFold(rng, rows-2, 5)
	if err != nil {
		t.Fatal(err)
	}
	d.Dense().Set(rows-2, 1, v)
	d.Dense().Set(rows-1, 1, v)
	return d, splits
}

// Large values in rows that no split uses do not affect the loss.
func TestViewOutlierLeftOut(t *testing.T) {
	value := func(v float64) (float64, error) {
		d, splits := rowsWithSpike(t, v)
		cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
			Learner: func() learn.Learner { return new(linear.ElasticNet) }})
		if err != nil {
			return 0, err
		}
		return cv.Eval(nil, []float64{.01, .01})
	}
	want, err := value(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float64{1e10, 1e14, 1e17, 1e20, 1e30, 1e300, 1.7e308} {
		if got, err := value(v); err != nil || !(math.Abs(got-want) <= 1e-6*want) {
			t.Errorf("with %g in rows of no split the loss is %v instead of %v, error %v", v, got, want, err)
		}
	}
}

// A lasso returns no error for two features that are equal after normalisation, although the
// omitted rows are a thousand times as large.
func TestViewEqualFeaturesBesideLargeRows(t *testing.T) {
	const rows = 6000
	rng := rand.New(rand.NewPCG(2, 36))
	d := learn.Data{X: mat.NewDense(rows, 3, nil), Y: make([]float64, rows)}
	splits, err := cvgm.KFold(rng, rows, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		v := float64(rng.IntN(2000) - 1000)
		d.Dense().SetRow(i, []float64{v, 3 * v, rng.NormFloat64()})
		d.Y[i] = v / 100
	}
	for _, i := range splits[0].Val {
		d.Dense().Set(i, 0, 1000*d.X.At(i, 0))
		d.Dense().Set(i, 1, 1000*d.X.At(i, 1))
	}
	for name, learner := range map[string]func() learn.Learner{
		"copies": func() learn.Learner { return copyingLearner{new(linear.ElasticNet)} },
		"view":   func() learn.Learner { return new(linear.ElasticNet) },
	} {
		cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits[:1], Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring, Learner: learner})
		if err != nil {
			t.Fatal(err)
		}
		if loss, err := cv.Eval(nil, []float64{.1, 0}); err != nil {
			t.Errorf("%s: %v, %v", name, loss, err)
		}
	}
}

// A feature that is constant on the training rows of a split does not overflow in a large unit.
func TestViewConstantFeatureInLargeUnit(t *testing.T) {
	const rows = 6000
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 36))
		d := learn.Data{X: mat.NewDense(rows, 2, nil), Y: make([]float64, rows)}
		for i := range rows {
			d.Dense().SetRow(i, []float64{rng.NormFloat64(), 1e160 * rng.NormFloat64()})
			d.Y[i] = d.X.At(i, 0) + rng.NormFloat64()
		}
		splits, err := cvgm.KFold(rng, rows, 5)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range splits[0].Train {
			d.Dense().Set(i, 1, .3e160)
		}
		for name, learner := range map[string]func() learn.Learner{
			"copies": func() learn.Learner { return copyingLearner{new(linear.ElasticNet)} },
			"view":   func() learn.Learner { return new(linear.ElasticNet) },
		} {
			if _, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring, Learner: learner}); err != nil {
				t.Errorf("seed %d, %s: %v", seed, name, err)
			}
		}
	}
}

// Config.Bytes suffices for New if X is neither dense nor sparse.
func TestViewBytesOfOtherMatrix(t *testing.T) {
	const rows = 6000
	rng := rand.New(rand.NewPCG(2, 36))
	x, y := mat.NewDense(2, rows, nil), make([]float64, rows)
	for i := range rows {
		x.Set(0, i, rng.NormFloat64())
		x.Set(1, i, rng.NormFloat64())
		y[i] = rng.NormFloat64()
	}
	splits, err := cvgm.KFold(rng, rows, 4)
	if err != nil {
		t.Fatal(err)
	}
	c := cvgm.Config{Data: learn.Data{X: x.T(), Y: y}, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	c.MaxBytes = c.Bytes()
	if _, err := cvgm.New(c); err != nil {
		t.Errorf("with MaxBytes = Bytes() = %d: %v", c.MaxBytes, err)
	}
}

// Large values in rows that no split uses do not put a prediction at a kink of the loss.
func TestViewKinkBesideOutlier(t *testing.T) {
	for name, learner := range map[string]func() learn.Learner{
		"copies": func() learn.Learner { return copyingLearner{new(linear.ElasticNet)} },
		"view":   func() learn.Learner { return new(linear.ElasticNet) },
	} {
		for _, v := range []float64{1e9, 1e10} {
			d, splits := rowsWithSpike(t, v)
			cv, err := cvgm.New(cvgm.Config{Data: d, Splits: splits, Loss: cvgm.AbsoluteError{}, Standardise: true, Centring: cvgm.MeanCentring, Learner: learner})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cv.Eval(make([]float64, 2), []float64{.01, .01}); err != nil {
				t.Errorf("%s, %g: %v", name, v, err)
			}
		}
	}
}

// Bytes counts only the rows of each split if the splits use few of many rows.
func TestViewBytesOfSmallSplits(t *testing.T) {
	serial.Test(t)
	const rows, n = 20_000, 5
	rng := rand.New(rand.NewPCG(1, 36))
	d := learn.Data{X: mat.NewDense(rows, n, nil), Y: make([]float64, rows)}
	var splits []cvgm.Split
	for range 500 {
		p := rng.Perm(rows)
		splits = append(splits, cvgm.Split{Train: p[:50], Val: p[50:100]})
	}
	c := cvgm.Config{Data: d, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	const before = 13_211_676 // of copies, with the learners
	if bytes := c.Bytes(); bytes > 2*before {
		t.Errorf("%d bytes where copies of the rows take %d", bytes, before)
	}
}
