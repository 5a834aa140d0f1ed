package learntest_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/casetest"
	"cvgm/qpdiff/internal/numtest"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// weightedLearners lists the learners that accept weights. The objective is a mean over the rows,
// or a sum times C.
var weightedLearners = []struct {
	name  string
	fresh func() learn.ForwardLearner
	hyper []float64
	sum   bool
}{
	{"elastic net", func() learn.ForwardLearner { return new(linear.ElasticNet) }, []float64{.05, .1}, false},
	{"elastic net, working sets", func() learn.ForwardLearner { return casetest.WorkingSets{ForwardLearner: new(linear.ElasticNet)} }, []float64{.05, .1}, false},
	{"Huber", func() learn.ForwardLearner { return new(linear.Huber) }, []float64{.05, .4}, false},
	{"Huber, products", func() learn.ForwardLearner {
		return casetest.WorkingSets{ForwardLearner: &linear.Huber{Intercept: true}}
	}, []float64{.05, .4}, false},
	{"logistic", func() learn.ForwardLearner { return new(linear.Logistic) }, []float64{1.5}, true},
	{"logistic, products", func() learn.ForwardLearner {
		return casetest.WorkingSets{ForwardLearner: &linear.Logistic{Intercept: linear.UnpenalisedIntercept}}
	}, []float64{1.5}, true},
	{"logistic, intercept", func() learn.ForwardLearner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, []float64{1.5}, true},
	{"sparse logistic", func() learn.ForwardLearner { return new(linear.SparseLogistic) }, []float64{.03, .2}, false},
	{"sparse logistic, working sets", func() learn.ForwardLearner { return casetest.WorkingSets{ForwardLearner: new(linear.SparseLogistic)} }, []float64{.03, .2}, false},
	{"SVM", func() learn.ForwardLearner { return new(margin.SVM) }, []float64{.03, .2}, false},
	{"learned loss", func() learn.ForwardLearner { return new(margin.LearnedLoss) }, []float64{.3, .2, .1, .4, .3}, false},
	{"kernel SVM", func() learn.ForwardLearner { return &casetest.Predictions{P: new(kernel.SVM)} }, []float64{.8, .4}, true},
	{"kernel SVM, intercept", func() learn.ForwardLearner { return &casetest.Predictions{P: &kernel.SVM{Intercept: true}} }, []float64{.8, .4}, true},
	{"kernel ridge", func() learn.ForwardLearner { return &casetest.Predictions{P: &kernel.Ridge{Intercept: true}} }, []float64{.1, .4}, false},
}

// An outcome is a fit of a learner and its derivatives.
type outcome struct {
	theta, dtheta []float64
	g             *learn.Grad
}

// fitOutcome returns θ, a VJP, and a JVP along a direction that changes the rows from firstRow on.
func fitOutcome(l learn.ForwardLearner, d learn.Data, hyper []float64, firstRow int) (o outcome, err error) {
	_, n := d.X.Dims()
	p, h := l.Dims(n)
	o = outcome{make([]float64, p), make([]float64, p), casetest.NewGrad(d, h)}
	v, along := make([]float64, p), casetest.NewGrad(d, h)
	for i := range v {
		v[i] = math.Sin(float64(3*i + 1))
	}
	for i := range along.Y[firstRow:] {
		along.Y[firstRow+i] = math.Cos(float64(i))
		along.X.Set(firstRow+i, 0, math.Sin(float64(i)))
	}
	return o, errors.Join(l.Load(d), l.Fit(o.theta, hyper), l.VJP(nil, o.g, v), l.JVP(nil, o.dtheta, along))
}

// wantNear checks that two results differ by at most tol, relative to the largest entry or to
// floor.
func (o outcome) wantNear(t *testing.T, what string, want outcome, tol, floor float64) {
	t.Helper()
	numtest.NearAll(t, what+": theta", o.theta, want.theta, tol, floor)
	numtest.NearAll(t, what+": JVP", o.dtheta, want.dtheta, tol, floor)
	for k, s := range casetest.GradSlices(o.g) {
		numtest.NearAll(t, fmt.Sprint(what, ": block ", k), s, casetest.GradSlices(want.g)[k], tol, floor)
	}
}

// Weights of 1 change no bit of a result, and Load returns an error for invalid weights.
func TestCounts(t *testing.T) {
	for _, c := range weightedLearners {
		plain := casetest.RandomData(3, 21, 3, true)
		want, err := fitOutcome(c.fresh(), plain, c.hyper, 0)
		ones, flipped := plain, plain
		ones.Weights = slices.Repeat([]float64{1}, 21)
		flipped.X = mat.DenseCopyOf(plain.X.T()).T()
		for _, d := range []learn.Data{ones, flipped} {
			got, err2 := fitOutcome(c.fresh(), d, c.hyper, 0)
			numtest.OK(t, err, err2)
			got.wantNear(t, c.name, want, 0, 0)
		}
		d := plain
		d.Weights = make([]float64, 21)
		for i := range d.Weights {
			d.Weights[i] = math.Exp(math.Sin(float64(i))) * float64(min(i%6, 1))
		}
		want, err = fitOutcome(c.fresh(), d, c.hyper, 0)
		for _, unit := range []float64{1e-6, 1. / 3, 1e6} {
			scaled, hyper := d, slices.Clone(c.hyper)
			scaled.Weights = slices.Clone(d.Weights)
			floats.Scale(unit, scaled.Weights)
			if c.sum {
				hyper[0] /= unit
			}
			got, err2 := fitOutcome(c.fresh(), scaled, hyper, 0)
			numtest.OK(t, err, err2)
			if c.sum {
				got.g.Hyper[0] /= unit
			}
			got.wantNear(t, fmt.Sprintf("%s, unit %g", c.name, unit), want, 1e-10, 0)
		}
		d.Rows = []int{0, 1, 1, 2, 3, 4, 5, 6, 7, 8}
		numtest.OK(t, c.fresh().Load(d))
		for name, change := range map[string]func(d *learn.Data){
			"short weights":   func(d *learn.Data) { d.Weights = d.Weights[1:] },
			"negative weight": func(d *learn.Data) { d.Weights = append([]float64{-1}, ones.Weights[1:]...) },
			"NaN weight":      func(d *learn.Data) { d.Weights = numtest.NaNs(21, 0) },
			"no row counts":   func(d *learn.Data) { d.Weights = make([]float64, 21) },
			"sum not normal":  func(d *learn.Data) { d.Weights = slices.Repeat([]float64{1e-310}, 21) },
			"sum overflows":   func(d *learn.Data) { d.Weights = slices.Repeat([]float64{1e308}, 21) },
			"row too high":    func(d *learn.Data) { d.Rows = []int{0, 21} },
			"row below 0":     func(d *learn.Data) { d.Rows = []int{0, -1} },
			"no rows":         func(d *learn.Data) { d.Rows = []int{} },
			"no X":            func(d *learn.Data) { d.X = nil },
			"nil *mat.Dense":  func(d *learn.Data) { d.X = (*mat.Dense)(nil) },
			"empty X":         func(d *learn.Data) { d.X = new(mat.Dense) },
		} {
			bad := d
			change(&bad)
			var e *qpdiff.ArgError
			if err := c.fresh().Load(bad); !errors.As(err, &e) || !strings.HasPrefix(e.Arg, "Data.") {
				t.Errorf("%s, %s: %v", c.name, name, err)
			}
		}
	}
}

// A row of weight 0 may have any finite features and does not count as an example of its class.
func TestRowsThatDoNotCount(t *testing.T) {
	without := casetest.RandomData(4, 9, 2, true)
	d := learn.Data{X: mat.NewDense(10, 2, nil), Y: append([]float64{-1}, without.Y...), Weights: slices.Repeat([]float64{1}, 10)}
	d.Dense().Slice(1, 10, 0, 2).(*mat.Dense).Copy(without.X)
	d.Dense().SetRow(0, []float64{1e200, -1e308})
	d.Weights[0] = 0
	for _, c := range weightedLearners {
		got, err := fitOutcome(c.fresh(), d, c.hyper, 1)
		want, err2 := fitOutcome(c.fresh(), without, c.hyper, 0)
		if err != nil || err2 != nil {
			t.Errorf("%s: %v, %v", c.name, err, err2)
			continue
		}
		want.g.X, want.g.Y = mat.NewDense(10, 2, append(make([]float64, 2), want.g.X.RawMatrix().Data...)), append([]float64{0}, want.g.Y...)
		got.wantNear(t, c.name, want, 1e-12, 0)
		bad := casetest.CloneData(d)
		bad.Dense().Set(0, 1, math.NaN())
		var e *qpdiff.ArgError
		if err := c.fresh().Load(bad); !errors.Is(err, qpdiff.ErrNotFinite) || !errors.As(err, &e) || e.Arg != "Data.X" {
			t.Errorf("%s, NaN: %v", c.name, err)
		}
	}
	d.Y = append([]float64{-1}, slices.Repeat([]float64{1}, 9)...)
	for _, l := range []learn.Learner{new(margin.SVM), new(margin.LearnedLoss), new(kernel.SVM)} {
		if err := l.Load(d); !errors.Is(err, qpdiff.ErrIllPosed) || !strings.Contains(err.Error(), "label 1 ") {
			t.Errorf("%T, one class counts: %v", l, err)
		}
	}
}

// Copies of a row share the row's cotangents in proportion to their weights.
func TestWeightsOfEqualRows(t *testing.T) {
	d := casetest.RandomData(3, 20, 3, true)
	d.Dense().SetRow(7, d.Dense().RawRowView(2))
	d.Y[7] = d.Y[2]
	d.Weights = slices.Repeat([]float64{1}, 20)
	d.Weights[2], d.Weights[7] = 3, .5
	one := d
	one.Weights = slices.Clone(d.Weights)
	one.Weights[2], one.Weights[7] = 3.5, 0
	for _, c := range weightedLearners {
		both, err := fitOutcome(c.fresh(), d, c.hyper, 20)
		alone, err2 := fitOutcome(c.fresh(), one, c.hyper, 20)
		numtest.OK(t, err, err2)
		got, want := both.g, alone.g
		for row, part := range map[int]float64{2: 3 / 3.5, 7: .5 / 3.5} {
			shared := append([]float64{want.Y[2]}, want.X.RawRowView(2)...)
			floats.Scale(part, shared)
			numtest.NearAll(t, fmt.Sprintf("%s: cotangents of row %d", c.name, row), append([]float64{got.Y[row]}, got.X.RawRowView(row)...), shared, 1e-10, 1)
		}
	}
}

// Two blocks of rows with different features are fitted like separate problems, whatever their
// weights are.
func TestWeightsOfManyDecades(t *testing.T) {
	const rows = 24
	d := casetest.NoisyClasses(6, rows, 4)
	second := d
	d.Weights = make([]float64, rows)
	for i := range rows {
		block := i % 2
		d.Dense().Set(i, 2-2*block, 0)
		d.Dense().Set(i, 3-2*block, 0)
		if block == 1 {
			second.Rows = append(second.Rows, i)
		}
	}
	for _, weight := range []float64{1e-60, 1e-12, 1e12, 1e60} {
		total := 0.0
		for i := range rows {
			d.Weights[i] = []float64{weight, 1}[i%2]
			total += d.Weights[i]
		}
		// Penalties are relative to the total weight, so share rescales the penalties of the second
		// block.
		share := rows / 2 / total
		for _, c := range []struct {
			l, alone    learn.Learner
			hyper, only []float64
			second      []int // the places in hyper of only
			unit        float64
		}{
			{new(linear.Logistic), new(linear.Logistic), []float64{1.5}, []float64{1.5}, []int{0}, 1},
			{&linear.SparseLogistic{Groups: []int{0, 0, 1, 1}}, new(linear.SparseLogistic), []float64{.1, .02 * share, .1, .05 * share}, []float64{.02, .05}, []int{1, 3}, share},
		} {
			theta, reference := make([]float64, 4), make([]float64, 4)
			v := []float64{0, 0, 1, -2}
			g, want := casetest.NewGrad(d, len(c.hyper)), casetest.NewGrad(d, len(c.only))
			numtest.OK(t, c.l.Load(d), c.alone.Load(second), c.l.Fit(theta, c.hyper), c.alone.Fit(reference, c.only), c.l.VJP(nil, g, v), c.alone.VJP(nil, want, v))
			what := fmt.Sprintf("%T, weight %g: ", c.l, weight)
			numtest.NearAll(t, what+"theta", theta[2:], reference[2:], 1e-11, 0)
			for k, at := range c.second {
				numtest.NearAll(t, what+"hyper", []float64{c.unit * g.Hyper[at]}, want.Hyper[k:k+1], 1e-11, 0)
			}
			for i := 1; i < rows; i += 2 {
				numtest.NearAll(t, what+"X and y", append(g.X.RawRowView(i)[2:], g.Y[i]), append(want.X.RawRowView(i)[2:], want.Y[i]), 1e-11, .1)
			}
		}
	}
}

// Weights of an earlier Load have no effect on later results.
func TestWarmStartsFromOtherWeights(t *testing.T) {
	serial.Test(t)
	plain := casetest.RandomData(8, 16, 3, true)
	plain.Dense().SetRow(5, plain.Dense().RawRowView(2))
	plain.Y[5] = plain.Y[2]
	for _, c := range weightedLearners {
		warm, rng := c.fresh(), rand.New(rand.NewPCG(8, 1))
		for round := range 40 {
			d, hyper := plain, slices.Clone(c.hyper)
			hyper[0] *= .5 + 2*rng.Float64()
			if round%3 != 1 {
				d.Weights = make([]float64, 16)
				for i := range d.Weights {
					d.Weights[i] = max(0, math.Round(math.Exp(3*rng.NormFloat64())-.2))
				}
				d.Weights[0], d.Weights[1] = 1, 1
			}
			if round%3 != 0 {
				d.Rows = append(rng.Perm(16)[:10], 0, 1, 1)
			}
			got, err := fitOutcome(warm, d, hyper, 16)
			want, err2 := fitOutcome(c.fresh(), d, hyper, 16)
			if (err == nil) != (err2 == nil) {
				t.Errorf("%s, round %d: warm %v, cold %v", c.name, round, err, err2)
			} else if err == nil {
				got.wantNear(t, fmt.Sprintf("%s, round %d", c.name, round), want, 1e-9, 1)
			}
		}
	}
}

// For numbers of any size, a learner returns finite results or an error of a documented kind.
func TestExtremes(t *testing.T) {
	serial.Test(t)
	rng := rand.New(rand.NewPCG(18, 5))
	flag := func() bool { return rng.IntN(2) == 0 }
	for _, c := range []struct {
		fresh            func(n int) learn.ForwardLearner
		classes, weights bool
		trials           int
	}{
		{func(n int) learn.ForwardLearner {
			return &linear.ElasticNet{Groups: casetest.DrawGroups(rng, n), Generalised: flag()}
		}, false, true, 20000},
		{func(int) learn.ForwardLearner { return &linear.Huber{Intercept: flag(), Generalised: flag()} }, false, true, 4000},
		{func(int) learn.ForwardLearner { return &linear.Logistic{Intercept: linear.Intercept(rng.IntN(3))} }, false, true, 20000},
		{func(n int) learn.ForwardLearner {
			return &linear.SparseLogistic{Intercept: flag(), Groups: casetest.DrawGroups(rng, n), Generalised: flag()}
		}, false, true, 20000},
		{func(int) learn.ForwardLearner { return &margin.SVM{Generalised: flag()} }, true, true, 20000},
		{func(int) learn.ForwardLearner { return &margin.LearnedLoss{Generalised: flag()} }, true, true, 6000},
		{func(n int) learn.ForwardLearner {
			k := &kernel.SVM{Intercept: flag(), Generalised: flag(), Kernel: []kernel.Kernel{nil, kernel.RBF{}, kernel.Polynomial{Degree: 1}, kernel.Polynomial{}, kernel.ARD{Shape: kernel.Shape(rng.IntN(3))}}[rng.IntN(5)]}
			return &casetest.Predictions{P: k, X: mat.NewDense(5, n, numtest.Extremes(rng, 5*n))}
		}, true, true, 8000},
		{func(n int) learn.ForwardLearner {
			return &casetest.Predictions{P: &kernel.Ridge{Intercept: flag(), Kernel: []kernel.Kernel{nil, kernel.ARD{Shape: kernel.Shape(rng.IntN(3))}}[rng.IntN(2)]}, X: mat.NewDense(5, n, numtest.Extremes(rng, 5*n))}
		}, false, true, 2000},
	} {
		for range numtest.Long(c.trials) {
			rows, n := 1+rng.IntN(4), 1+rng.IntN(4)
			if c.classes {
				rows++
			}
			l := c.fresh(n)
			d := learn.Data{X: mat.NewDense(rows, n, numtest.Extremes(rng, rows*n)), Y: numtest.Extremes(rng, rows)}
			if c.classes || flag() {
				for i := range d.Y {
					d.Y[i] = float64(1 - 2*(i%2))
				}
			}
			if c.weights && flag() {
				d.Weights = sizes(numtest.Extremes(rng, rows))
			}
			p, nh := l.Dims(n)
			checkExtreme(t, l, d, sizes(numtest.Extremes(rng, nh)), numtest.Extremes(rng, p), &learn.Grad{Hyper: numtest.Extremes(rng, nh), X: mat.NewDense(rows, n, numtest.Extremes(rng, rows*n)), Y: numtest.Extremes(rng, rows)})
		}
	}
}

// The function sizes replaces the entries of s by their absolute values.
func sizes(s []float64) []float64 {
	for i, v := range s {
		s[i] = math.Abs(v)
	}
	return s
}

// checkExtreme fails the test if a result is not finite or if an error is not of a documented kind.
func checkExtreme(t *testing.T, l learn.ForwardLearner, d learn.Data, hyper, v []float64, u *learn.Grad) {
	t.Helper()
	check := func(what string, err error, values ...[]float64) bool {
		t.Helper()
		if err != nil && casetest.KindOf(err) == err || err == nil && slices.ContainsFunc(slices.Concat(values...), func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
			t.Fatalf("%T, %s: %v, error %v, at X %v, y %v, weights %v, hyper %v", l, what, values, err, d.Dense().RawMatrix().Data, d.Y, d.Weights, hyper)
		}
		return err == nil
	}
	theta := make([]float64, len(v))
	if !check("Load", l.Load(d)) || !check("Fit", l.Fit(theta, hyper), theta) {
		return
	}
	r, err := l.(learn.VerifiedLearner).Residual()
	check("Residual", err, []float64{r})
	all := casetest.NewGrad(d, len(hyper))
	for _, g := range []*learn.Grad{{Hyper: all.Hyper}, {X: all.X}, {Y: all.Y}, casetest.NewGrad(d, len(hyper))} {
		check("VJP", l.VJP(nil, g, v), casetest.GradSlices(g)...)
	}
	for _, w := range []*learn.Grad{u, {Hyper: u.Hyper}, {X: u.X}, {Y: u.Y}} {
		check("JVP", l.JVP(nil, theta, w), theta)
	}
}

// FuzzLearners does the work of TestExtremes with data and hyperparameters from a fuzzer.
func FuzzLearners(f *testing.F) {
	for k := range weightedLearners {
		f.Add(uint8(k), uint64(1), uint8(10), uint8(3), false, 1., .3, .2, .1, .4, .1)
		f.Add(uint8(k), uint64(2), uint8(3), uint8(7), true, 30., 1e-6, 1e3, 0., 0., 1e-3)
		f.Add(uint8(k), uint64(3), uint8(2), uint8(1), true, 1e155, 1e6, math.NaN(), -1., math.Inf(1), 0.)
	}
	f.Fuzz(func(t *testing.T, k uint8, seed uint64, rows, n uint8, grid bool, scale, h0, h1, h2, h3, h4 float64) {
		l := weightedLearners[int(k)%len(weightedLearners)].fresh()
		d := casetest.ClassData(seed, 2+int(rows%30), 1+int(n%8))
		if grid { // ties
			for i, v := range d.Dense().RawMatrix().Data {
				d.Dense().RawMatrix().Data[i] = math.Round(v)
			}
		}
		d.Dense().Scale(scale, d.X)
		p, nh := l.Dims(1 + int(n%8))
		checkExtreme(t, l, d, []float64{h0, h1, h2, h3, h4}[:nh], numtest.Ones(p), casetest.NewGrad(d, nh))
	})
}
