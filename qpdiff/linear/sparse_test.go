package linear_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/internal/ways"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawRegression draws labels of a sparse linear model with noise, and penalties.
func drawRegression(rng *rand.Rand, x *mat.Dense) (y, hyper []float64) {
	rows, n := x.Dims()
	y = numtest.Normals(rng, rows)
	for i := range y {
		y[i] = .3*y[i] + x.At(i, 0) - x.At(i, n/2)
	}
	return y, []float64{.01 + .3*rng.Float64(), .01 + rng.Float64()}
}

// drawClasses draws classes of a sparse linear model with noise, and a value of C. Rows 0 and 1
// have different classes because learntest.Views gives both rows the weight 1.
func drawClasses(rng *rand.Rand, x *mat.Dense) (y, hyper []float64) {
	rows, n := x.Dims()
	y = numtest.Normals(rng, rows)
	for i := range y {
		y[i] = math.Copysign(1, y[i]+x.At(i, 0)-x.At(i, n/2))
	}
	y[0], y[1] = 1, -1
	if rng.IntN(3) == 0 { // as targets
		for i := range y {
			y[i] *= .5 + rng.Float64()
		}
	}
	return y, []float64{.01 + rng.Float64()}
}

// sparseContract runs learntest.Views with factorisation, with both methods, and with conjugate
// gradients.
func sparseContract(t *testing.T, newLearner func() learn.Learner, draw func(*rand.Rand, *mat.Dense) (y, hyper []float64)) {
	for _, most := range []int{1000, 15, 0} { // 15: penalties decide above 5
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer ways.SetSparseFeatures(ways.SetSparseFeatures(most))
			learntest.Views(t, newLearner, draw)
		})
	}
}

func TestElasticNetSparse(t *testing.T) {
	sparseContract(t, func() learn.Learner { return new(linear.ElasticNet) }, drawRegression)
	t.Run("dense", func(t *testing.T) {
		defer ways.SetGramFeatures(ways.SetGramFeatures(0))
		learntest.Views(t, func() learn.Learner { return new(linear.ElasticNet) }, drawRegression)
	})
	t.Run("many rows", func(t *testing.T) {
		defer ways.SetManyRows(ways.SetManyRows(0))
		learntest.Views(t, func() learn.Learner { return new(linear.ElasticNet) }, drawRegression)
	})
}

func TestLogisticSparse(t *testing.T) {
	for _, intercept := range []linear.Intercept{linear.NoIntercept, linear.UnpenalisedIntercept, linear.PenalisedIntercept} {
		t.Run(fmt.Sprint(intercept), func(t *testing.T) {
			sparseContract(t, func() learn.Learner { return &linear.Logistic{Intercept: intercept} }, drawClasses)
		})
	}
}

func TestSparseLogisticSparse(t *testing.T) {
	for _, intercept := range []bool{false, true} {
		t.Run(fmt.Sprint(intercept), func(t *testing.T) {
			sparseContract(t, func() learn.Learner { return &linear.SparseLogistic{Intercept: intercept} }, func(rng *rand.Rand, x *mat.Dense) (y, hyper []float64) {
				y, _ = drawClasses(rng, x)
				return y, []float64{.01 + .1*rng.Float64(), .01 + rng.Float64()}
			})
		})
	}
}

// A derivative by conjugate gradients returns the error of a cancelled context and leaves the fit
// valid.
func TestSparseDerivativeEndsWithItsContext(t *testing.T) {
	serial.Test(t)
	defer ways.SetSparseFeatures(ways.SetSparseFeatures(0))
	rng := rand.New(rand.NewPCG(3, 3))
	d := learn.Data{X: numtest.DrawStored(rng, 30, 6), Y: make([]float64, 30)}
	for i := range d.Y {
		d.Y[i] = float64(i%2*2 - 1)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, l := range []learn.ContextLearner{new(linear.ElasticNet), new(linear.SparseLogistic), new(linear.Logistic)} {
		_, hyper := l.Dims(6)
		at, v := []float64{.01, .1}[:hyper], []float64{1, 2, 3, 4, 5, 6}
		numtest.OK(t, l.Load(d), l.Fit(make([]float64, 6), at))
		l.SetContext(ended)
		if err := l.VJP(nil, &learn.Grad{Hyper: make([]float64, hyper)}, v); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: error %v, want the context's", l, err)
		}
		l.SetContext(context.Background())
		numtest.OK(t, l.VJP(nil, &learn.Grad{Hyper: make([]float64, hyper)}, v))
	}
}

// A fit by factorisation after a fit by conjugate gradients, or the reverse, has the solution of a
// new learner.
func TestSparseChangesWay(t *testing.T) {
	serial.Test(t)
	defer ways.SetSparseFeatures(ways.SetSparseFeatures(100))
	rng := rand.New(rand.NewPCG(2, 38))
	x := numtest.DrawStored(rng, 200, 60)
	y, _ := drawClasses(rng, x.Seen(nil, nil))
	d := learn.Data{X: x, Y: y}
	for _, c := range []struct {
		fresh  func() learn.Learner
		hypers [2][]float64 // by conjugate gradients, by a factor
	}{
		{func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, [2][]float64{{.1}, {1e9}}},
		{func() learn.Learner { return new(linear.ElasticNet) }, [2][]float64{{.001, .1}, {.001, 0}}},
		{func() learn.Learner { return &linear.SparseLogistic{Intercept: true} }, [2][]float64{{.001, .1}, {.001, 0}}},
	} {
		l := c.fresh()
		p, _ := l.Dims(60)
		numtest.OK(t, l.Load(d))
		var want [2][]float64
		for k := range 6 {
			got, hyper := make([]float64, p), c.hypers[k%2]
			numtest.OK(t, l.Fit(got, hyper))
			if want[k%2] == nil {
				one := c.fresh()
				want[k%2] = make([]float64, p)
				numtest.OK(t, one.Load(d), one.Fit(want[k%2], hyper))
			}
			if off := floats.Distance(got, want[k%2], 2) / floats.Norm(want[k%2], 2); !(off <= 1e-11) {
				t.Errorf("%T, fit %d: off by %v", l, k, off)
			}
		}
	}
}

// A lasso on dependent categorical columns has the same solution by factorisation as by conjugate
// gradients.
func TestDependentSparseColumns(t *testing.T) {
	serial.Test(t)
	const rows, levels = 400, 20
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 39))
		columns := 2 + rng.IntN(2)
		x := numtest.DrawStored(rng, rows, columns*levels)
		d := learn.Data{X: x, Y: numtest.Normals(rng, rows), Scale: make([]float64, columns*levels)}
		for i := range x.Index {
			x.Index[i], x.Value[i] = nil, nil
			for c := range columns {
				x.Index[i], x.Value[i] = append(x.Index[i], c*levels+rng.IntN(levels)), append(x.Value[i], 1)
			}
		}
		for j := range d.Scale { // in equal units both columns may be as good
			d.Scale[j] = 1 + rng.Float64()
		}
		hyper := []float64{math.Exp(-6 - 6*rng.Float64()), 0}
		for _, fresh := range []func() learn.Learner{
			func() learn.Learner { return new(linear.ElasticNet) },
			func() learn.Learner { return new(linear.SparseLogistic) },
		} {
			fit := func(most int) []float64 {
				defer ways.SetSparseFeatures(ways.SetSparseFeatures(most))
				l, theta := fresh(), make([]float64, columns*levels)
				numtest.OK(t, l.Load(d), l.Fit(theta, hyper))
				return theta
			}
			want, got := fit(columns*levels), fit(0)
			if off := floats.Distance(got, want, math.Inf(1)); off > 1e-9*floats.Norm(want, math.Inf(1)) {
				t.Errorf("%T, seed %d: off by %v", fresh(), seed, off)
			}
			for i, y := range d.Y {
				d.Y[i] = math.Copysign(1, y)
			}
		}
	}
}

// hostileStored draws sparse data with extreme units and weights, and with constant or empty
// columns.
func hostileStored(rng *rand.Rand) (d learn.Data) {
	rows, n := 1+rng.IntN(30), 1+rng.IntN(40)
	x := numtest.DrawStored(rng, rows, n)
	kind, unit := make([]int, n), make([]float64, n)
	d.Centre, d.Scale = make([]float64, n), make([]float64, n)
	for j := range n {
		kind[j], unit[j] = rng.IntN(6), math.Exp2(float64(rng.IntN(81)-40))
		d.Scale[j] = unit[j] * (.5 + rng.Float64())
		if rng.IntN(2) == 0 {
			d.Centre[j] = unit[j] * rng.NormFloat64()
		}
		if kind[j] == 0 && rng.IntN(2) == 0 {
			d.Centre[j] = 3 * unit[j] // of a constant column
		}
	}
	for i := range x.Index {
		x.Index[i], x.Value[i] = slices.Clone(x.Index[i]), slices.Clone(x.Value[i])
		kept := 0
		for k, j := range x.Index[i] {
			v := x.Value[i][k]
			switch kind[j] {
			case 1:
				continue
			case 2:
				v = 1
			}
			x.Index[i][kept], x.Value[i][kept] = j, v*unit[j]
			kept++
		}
		x.Index[i], x.Value[i] = x.Index[i][:kept], x.Value[i][:kept]
		for j, k := range kind {
			if k == 0 { // a constant column, all stored
				at := slices.Index(x.Index[i], j)
				if at < 0 {
					x.Index[i], x.Value[i], at = append(x.Index[i], j), append(x.Value[i], 0), len(x.Index[i])
				}
				x.Value[i][at] = 3 * unit[j]
			}
		}
	}
	d.X, d.Y = x, numtest.Normals(rng, rows)
	for i, y := range d.Y {
		d.Y[i] = math.Copysign(1, y)
	}
	if rng.IntN(2) == 0 {
		d.Weights = make([]float64, rows)
		for i := range d.Weights {
			d.Weights[i] = math.Exp(5 * rng.NormFloat64())
		}
		if rng.IntN(4) == 0 { // a row that decides
			d.Weights[rng.IntN(rows)] = 1e12
		}
		if rows > 1 {
			d.Weights[rng.IntN(rows)] = 0
		}
	}
	return d
}

// A fit of hostile sparse data equals the fit of their dense copy, or both fail.
func TestSparseHostile(t *testing.T) {
	serial.Test(t)
	const tol = 1e-5 // of θ: losses of weight 1e9 and more leave it open to rounding by that
	for _, most := range []int{1000, 15, 0} {
		defer ways.SetSparseFeatures(ways.SetSparseFeatures(most))
		fits := 0
		for seed := range uint64(numtest.Long(1500)) {
			rng := rand.New(rand.NewPCG(seed, 38))
			d := hostileStored(rng)
			seen := d
			seen.X, seen.Centre, seen.Scale = d.X.(*numtest.Stored).Seen(d.Centre, d.Scale), nil, nil
			lasso := []float64{math.Exp(-8 * rng.Float64()), math.Exp(-12 * rng.Float64())}
			if rng.IntN(5) == 0 {
				lasso[rng.IntN(2)] = 0
			}
			for _, c := range []struct {
				l, reference learn.Learner
				hyper        []float64
			}{
				{&linear.Logistic{Intercept: linear.Intercept(seed % 3)}, &linear.Logistic{Intercept: linear.Intercept(seed % 3)}, []float64{math.Exp(6 * rng.NormFloat64())}},
				{&linear.SparseLogistic{Intercept: seed%2 == 0}, &linear.SparseLogistic{Intercept: seed%2 == 0}, lasso},
			} {
				name := fmt.Sprintf("%T %d at %v, factors up to %d", c.l, seed, c.hyper, most)
				_, n := d.X.Dims()
				p, h := c.l.Dims(n)
				theta, want := make([]float64, p), make([]float64, p)
				err, wantErr := c.l.Load(d), c.reference.Load(seen)
				if err == nil {
					err = c.l.Fit(theta, c.hyper)
				}
				if wantErr == nil {
					wantErr = c.reference.Fit(want, c.hyper)
				}
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s: %v, and on the dense copy %v", name, err, wantErr)
				}
				for l, failed := range map[learn.Learner]error{c.l: err, c.reference: wantErr} {
					if failed != nil {
						continue
					}
					if r, err := l.(learn.VerifiedLearner).Residual(); err != nil || !(r <= 1e-11) {
						t.Errorf("%s: residual %v, error %v", name, r, err)
					}
				}
				if err != nil || wantErr != nil {
					continue
				}
				size := 1e-6 // beside labels of size 1
				for _, v := range want {
					size = max(size, math.Abs(v))
				}
				for j, v := range theta {
					if !(math.Abs(v-want[j]) <= tol*size) {
						t.Errorf("%s: θ is %v at %d, and %v on the dense copy, of %v", name, v, j, want[j], size)
						break
					}
				}
				g := &learn.Grad{Hyper: make([]float64, h), Stored: make([]float64, d.Stored()), Y: make([]float64, len(d.Y))}
				v := numtest.Normals(rng, p)
				err, wantErr = c.l.VJP(nil, g, v), c.reference.VJP(nil, &learn.Grad{Hyper: make([]float64, h)}, v)
				if (err == nil) != (wantErr == nil) {
					t.Errorf("%s: VJP: %v, and on the dense copy %v", name, err, wantErr)
				}
				fits++
			}
		}
		if fits < numtest.Long(2500) {
			t.Error(fits, "fits")
		}
	}
}

// Load rejects a sparse X with invalid entries or labels.
func TestSparseLogisticRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		value float64
		y     []float64
		kind  error
	}{
		{"an entry that is NaN", math.NaN(), []float64{1, -1, 1}, qpdiff.ErrNotFinite},
		{"a product that overflows", 1e300, []float64{1e20, -1, 1}, qpdiff.ErrNotFinite},
		{"squares of labels that overflow", 1, []float64{1e200, -1, 1}, qpdiff.ErrNotFinite},
		{"the label 0", 1, []float64{1, 0, 1}, qpdiff.ErrDomain},
		{"one class", 1, []float64{1, 1, 1}, qpdiff.ErrIllPosed},
		{"too few labels", 1, []float64{1, -1}, qpdiff.ErrShape},
	} {
		x := &numtest.Stored{Rows: 3, Columns: 2, Index: [][]int{{0}, {}, {1}}, Value: [][]float64{{c.value}, {}, {1}}}
		for _, l := range []learn.Learner{&linear.Logistic{Intercept: linear.UnpenalisedIntercept}, &linear.SparseLogistic{Intercept: true}} {
			if err := l.Load(learn.Data{X: x, Y: c.y}); !errors.Is(err, c.kind) {
				t.Errorf("%T, %s: %v, want %v", l, c.name, err, c.kind)
			}
		}
	}
}

// Load rejects a sparse X if one of its rows contains a column twice or an unknown column.
func TestWrongVisits(t *testing.T) {
	for name, columns := range map[string][]int{"twice": {0, 0}, "beyond the last": {2}, "before the first": {-1}} {
		x := &numtest.Stored{Rows: 2, Columns: 2, Index: [][]int{{0, 1}, columns}, Value: [][]float64{{1, 2}, {3, 4}}}
		for _, l := range []learn.Learner{new(linear.ElasticNet), new(linear.Logistic), new(linear.SparseLogistic), new(linear.Huber)} {
			if err := l.Load(learn.Data{X: x, Y: []float64{1, -1}}); !errors.Is(err, qpdiff.ErrDomain) {
				t.Errorf("%T, a column %s: error %v", l, name, err)
			}
		}
	}
}

// Scale removes any unit of the features without overflow, even for many rows.
func TestElasticNetScaleOfManyRows(t *testing.T) {
	const rows = 4000
	for _, e := range []float64{-170, -162, -161, -160, -158, -150, 0, 150, 152, 153, 154, 155, 160} {
		rng := rand.New(rand.NewPCG(1, 36))
		unit := math.Pow(10, e)
		x, seen, y := mat.NewDense(rows, 2, nil), mat.NewDense(rows, 2, nil), make([]float64, rows)
		for i := range rows {
			for j := range 2 {
				seen.Set(i, j, rng.NormFloat64())
				x.Set(i, j, unit*seen.At(i, j))
			}
			y[i] = seen.At(i, 0) + rng.NormFloat64()
		}
		fit := func(d learn.Data) ([]float64, error) {
			l, theta := new(linear.ElasticNet), make([]float64, 2)
			if err := l.Load(d); err != nil {
				return nil, err
			}
			return theta, l.Fit(theta, []float64{.01, .01})
		}
		want, err := fit(learn.Data{X: seen, Y: y})
		if err != nil {
			t.Fatal(err)
		}
		got, err := fit(learn.Data{X: x, Y: y, Scale: []float64{unit, unit}})
		if err != nil || !floats.EqualApprox(got, want, 1e-9) {
			t.Errorf("unit 1e%v: θ is %v instead of %v, error %v", e, got, want, err)
		}
	}
}

// Load returns an ArgError if the number of a Gram's weights differs from the number of rows.
func TestElasticNetGramOfOtherWeights(t *testing.T) {
	const rows = 4000
	rng := rand.New(rand.NewPCG(1, 36))
	x := mat.NewDense(rows, 2, numtest.Normals(rng, 2*rows))
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panics: %v", r)
		}
	}()
	err := new(linear.ElasticNet).Load(learn.Data{X: x, Y: numtest.Normals(rng, rows), Gram: learn.NewGram(x, []float64{1, 1})})
	if arg := new(qpdiff.ArgError); !errors.As(err, &arg) {
		t.Errorf("error %v", err)
	}
}
