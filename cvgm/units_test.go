package cvgm

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/normalise"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// constantColumns returns columns that are constant up to rounding, and columns that vary more.
func constantColumns(n int) (constant, varying [][]float64) {
	fill := func(v float64, f func(i int) float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = v + f(i)
		}
		return x
	}
	same := func(int) float64 { return 0 }
	for _, v := range []float64{0, 1, .1, -.3, 1e9 / 3, .1e-200, 7e200 / 3, 5e-324, -1e-310} {
		constant = append(constant, fill(v, same))
	}
	// The last entry differs by times times the bound on rounding.
	ends := func(v, times float64) []float64 {
		return fill(v, func(i int) float64 {
			if i < n-1 {
				return 0
			}
			return times * float64(n) * 0x1p-52 * v
		})
	}
	for _, v := range []float64{.1, 3e-200, 1e200, -1e3} {
		constant = append(constant, ends(v, .3))
		varying = append(varying, ends(v, 3), ends(v, 100))
	}
	varying = append(varying, fill(0, func(i int) float64 { return float64(i) * 1e-300 }), fill(1e-300, func(i int) float64 { return float64(i % 2) }))
	return constant, varying
}

// A constant column gets the largest float64 as σ and its first entry as mean. A learned feature
// map gives an error instead.
func TestConstantColumns(t *testing.T) {
	for _, n := range []int{1, 2, 29, 1000} {
		constant, varying := constantColumns(n)
		if n == 1 {
			varying = nil
		}
		for _, learned := range []bool{false, true} {
			for _, x := range constant {
				z := normalise.Normaliser{Centre: true, Scale: true, Learned: learned}
				err := z.Fit(x, 1)
				if learned {
					if !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "feature 0") {
						t.Errorf("%d entries %v, learned: error %v", n, x[0], err)
					}
					continue
				}
				if err != nil || z.Std[0] != math.MaxFloat64 || z.Mean[0] != x[0] {
					t.Errorf("%d entries %v: mean %v, deviation %v, error %v", n, x[0], z.Mean[0], z.Std[0], err)
				}
			}
			for _, x := range varying {
				z := normalise.Normaliser{Centre: true, Scale: true, Learned: learned}
				if err := z.Fit(x, 1); err != nil || z.Std[0] == math.MaxFloat64 || !(z.Std[0] > 0) {
					t.Errorf("%d entries from %v to %v: deviation %v, error %v", n, x[0], x[n-1], z.Std[0], err)
				}
			}
		}
		for _, x := range constant[:9] {
			z := normalise.Normaliser{Centre: true}
			if err := z.Fit(x, 1); err != nil || z.Mean[0] != x[0] {
				t.Errorf("%d entries %v, centred only: mean %v, error %v", n, x[0], z.Mean[0], err)
			}
		}
	}
}

// A feature that is constant in one split has the weight 0 in this split, and the gradient is the
// derivative of the loss.
func TestOneSplitWithAConstantFeature(t *testing.T) {
	d := casetest.Regression(1, 30, 4)
	for i := range 27 {
		d.Dense().Set(i, 2, .1)
	}
	train := make([]int, 27)
	for i := range train {
		train[i] = i
	}
	splits := []Split{{train, []int{27, 28, 29}}, {append(train[:20:20], 27, 28), []int{25, 26, 29}}}
	config := Config{Data: d, Splits: splits, Loss: SquaredError{}, Standardise: true, Centring: MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	for _, features := range []FeatureMap{nil, &squaresMap{in: 4}} {
		config.Features = features
		cv, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		checkGradient(t, cv.Eval, []float64{.05, .1}, 1e-6, 1e-7)
		if cv.fits[0].theta[2] != 0 || cv.fits[1].theta[2] == 0 {
			t.Errorf("weights %v and %v of the feature that is constant in the first split", cv.fits[0].theta[2], cv.fits[1].theta[2])
		}
		one := config
		one.Data = learn.Data{X: mat.DenseCopyOf(d.Dense().Slice(0, 27, 0, 4)), Y: d.Y[:27]}
		one.Splits = []Split{{train[:20], train[20:]}}
		last, err := New(one)
		if err != nil {
			t.Fatal(err)
		}
		m, err := last.Final([]float64{.05, .1})
		if err != nil {
			t.Fatal(err)
		}
		if m.Mean[2] != .1 || m.Std[2] != math.MaxFloat64 || m.Theta[2] != 0 {
			t.Errorf("the model has mean %v, deviation %v, weight %v", m.Mean[2], m.Std[2], m.Theta[2])
		}
		p := make([]float64, 1)
		if err := m.Predict(p, mat.NewDense(1, 4, []float64{1, 2, 1e5, 4})); err != nil || math.Abs(p[0]) > 1e3 {
			t.Errorf("prediction %v, error %v: the constant feature matters", p, err)
		}
	}
	// The error names a constant feature if a map could learn it.
	config.Features, config.Hyper = &LinearMap{In: 4, Out: 2}, []float64{.05, .1}
	cv, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	var split *SplitError
	_, err = cv.Eval(nil, []float64{1, 2, 3, 4, 0, 0, 1, 0})
	if !errors.As(err, &split) || split.Split != 0 || !errors.Is(err, qpdiff.ErrDomain) || !messageHas(err, "feature 1") {
		t.Errorf("error %v, want that of feature 1 in split 0", err)
	}
}

// The unit of a feature does not change a bit of the results if the feature is constant on the
// training rows of a split.
func TestUnitOfAFeatureThatASplitDoesNotSee(t *testing.T) {
	learners := []struct {
		hyper []float64
		fresh func() learn.Learner
	}{
		{[]float64{.1, .2}, func() learn.Learner { return &kernel.Ridge{Intercept: true} }},
		{[]float64{2, .2}, func() learn.Learner { return &kernel.SVM{Intercept: true} }},
		{[]float64{.1, .5}, func() learn.Learner { return &linear.Huber{Intercept: true} }},
		{[]float64{.05, .1}, func() learn.Learner { return new(linear.ElasticNet) }},
		{[]float64{.5}, func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }},
	}
	const rows, features = 30, 40 // by rows
	all := sample.Complement(nil, rows)
	splits := []Split{{all[:20], all[20:]}, {all[10:], all[:10]}}
	for _, rounding := range []float64{0, 0x1p-52} { // of an entry
		for _, l := range learners {
			var want []float64
			for _, exponent := range []int{0, 12, -300, 300} {
				d := casetest.Regression(2, rows, features)
				for i := range d.Y {
					d.Y[i] = math.Copysign(1, d.Y[i])
					if i < 20 {
						d.Dense().Set(i, 3, .7+rounding*float64(i%2))
					}
					d.Dense().Set(i, 3, math.Ldexp(d.X.At(i, 3), exponent))
				}
				cv := casetest.Must(New(Config{Data: d, Splits: splits, Loss: SquaredError{}, Standardise: true, Learner: l.fresh}))(t)
				grad := make([]float64, len(l.hyper))
				loss := casetest.Must(cv.Eval(grad, l.hyper))(t)
				model := casetest.Must(cv.FinalOn(splits[0].Train, l.hyper))(t)
				got := append(grad, make([]float64, 10)...)
				casetest.OK(t, model.Predict(got[len(l.hyper):], d.Dense().Slice(20, rows, 0, features)))
				if got = append(got, loss); want == nil {
					want = got
				}
				if !slices.Equal(got, want) {
					t.Errorf("%T, the feature times 2^%d: gradient, predictions and CV loss\n%v, want\n%v", l.fresh(), exponent, got, want)
				}
			}
		}
	}
}

// LeastSquaresIntercept ignores a feature only if it depends on the others up to rounding.
//
// For orthogonal u and v of mean 0, the features u + 1 and u + δv give y = v the intercept 1/δ, or
// 0 if the second is ignored. The ratio of their singular values is δ/2.
func TestLeastSquaresInterceptDropsDependentFeatures(t *testing.T) {
	u, v := []float64{1, -1, 1, -1}, []float64{1, 1, -1, -1}
	for _, c := range []struct {
		delta float64
		drop  bool
	}{{6e-12, false}, {6e-13, true}} {
		var x []float64
		for i := range u {
			x = append(x, u[i]+1, u[i]+c.delta*v[i])
		}
		got := normalise.LeastSquaresIntercept(x, 2, v, nil)
		if dropped := math.Abs(got) < 1; dropped != c.drop || !dropped && math.Abs(got*c.delta-1) > .01 {
			t.Errorf("δ = %v: intercept %v", c.delta, got)
		}
	}
}

// LeastSquaresIntercept does not depend on the unit of a feature.
func TestLeastSquaresInterceptUnits(t *testing.T) {
	d := casetest.Regression(1, 20, 3)
	x := d.Dense().RawMatrix().Data
	for i := range x {
		x[i] += float64(3 + i%3)
	}
	want := normalise.LeastSquaresIntercept(x, 3, d.Y, nil)
	for _, power := range []int{-300, -100, -42, 42, 100, 300} {
		scaled := slices.Clone(x)
		for i := 1; i < len(x); i += 3 {
			scaled[i] = math.Ldexp(x[i], power)
		}
		if got := normalise.LeastSquaresIntercept(scaled, 3, d.Y, nil); !(math.Abs(got-want) <= 1e-12*math.Abs(want)) {
			t.Errorf("intercept %v with a feature times 2^%d, want %v", got, power, want)
		}
	}
}

// If features are multiplied by a, labels by b, and hyperparameters accordingly, the CV loss
// changes by the factor b².
func TestUnitsOfFeaturesAndLabels(t *testing.T) {
	type carry func(a, b float64) []float64 // the factors of the hyperparameters
	for _, c := range []struct {
		name    string
		learner func() learn.Learner
		hyper   []float64
		factors carry
		loss    Loss
		classes bool
		newMap  func() FeatureMap
	}{
		{"elastic net", func() learn.Learner { return new(linear.ElasticNet) }, []float64{.05, .1},
			func(a, b float64) []float64 { return []float64{a * b, a * a} }, SquaredError{}, false, nil},
		{"elastic net, l1 only", func() learn.Learner { return new(linear.ElasticNet) }, []float64{.05, 0},
			func(a, b float64) []float64 { return []float64{a * b, a * a} }, SquaredError{}, false, nil},
		{"elastic net, linear map", func() learn.Learner { return new(linear.ElasticNet) }, []float64{.05, .1},
			func(a, b float64) []float64 { return []float64{b, 1, 1 / a} }, SquaredError{}, false, func() FeatureMap { return &LinearMap{In: 4, Out: 2} }},
		{"Huber", func() learn.Learner { return new(linear.Huber) }, []float64{.1, .6},
			func(a, b float64) []float64 { return []float64{a * a, b} }, SquaredError{}, false, nil},
		{"kernel ridge", func() learn.Learner { return new(kernel.Ridge) }, []float64{.05, .3},
			func(a, b float64) []float64 { return []float64{1, 1 / (a * a)} }, SquaredError{}, false, nil},
		{"SVM", func() learn.Learner { return new(margin.SVM) }, []float64{.02, .3},
			func(a, b float64) []float64 { return []float64{a, a * a} }, LogisticLoss{}, true, nil},
		{"learned loss", func() learn.Learner { return new(margin.LearnedLoss) }, []float64{.2, .3, .2, .3, .4},
			func(a, b float64) []float64 { return []float64{1, 1, 1, 1, a * a} }, SquaredHinge{}, true, nil},
		{"logistic", func() learn.Learner { return new(linear.Logistic) }, []float64{2},
			func(a, b float64) []float64 { return []float64{1 / (a * a)} }, LogisticLoss{}, true, nil},
		{"logistic, intercept", func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, []float64{2},
			func(a, b float64) []float64 { return []float64{1 / (a * a)} }, LogisticLoss{}, true, nil},
		{"kernel SVM", func() learn.Learner { return &kernel.SVM{Intercept: true} }, []float64{1.5, .3},
			func(a, b float64) []float64 { return []float64{1, 1 / (a * a)} }, Hinge{}, true, nil},
	} {
		for _, standardise := range []bool{false, true} {
			for _, unit := range [][2]float64{{1e6, 1}, {1e-6, 1}, {1, 1e6}, {1, 1e-6}, {1e6, 1e-6}, {1e-6, 1e6}, {1e6, 1e6}, {1e-6, 1e-6}, {3e4, 7e-5}} {
				a, b := unit[0], unit[1]
				if c.classes {
					b = 1
				}
				for seed := range uint64(3) {
					title := fmt.Sprintf("%s, standardise %v, a %g, b %g, seed %d", c.name, standardise, a, b, seed)
					eval := func(a, b float64) (float64, []float64, []float64) {
						src := synth.NewStream(seed, "units")
						config := Config{Data: casetest.Regression(seed, 24, 4), Loss: c.loss, Learner: c.learner, Standardise: standardise}
						if c.classes {
							config.Data = classData(src, 24, 4)
						} else {
							config.Centring = MeanCentring
						}
						config.Data.Dense().Scale(a, config.Data.X)
						for i := range config.Data.Y {
							config.Data.Y[i] *= b
						}
						if c.newMap != nil {
							config.Features = c.newMap()
						}
						var err error
						config.Splits = casetest.Must(RandomSplits(synth.NewStream(seed, "splits"), 24, 5, .8))(t)
						learned := a
						if standardise {
							learned = 1 // the learner's features have no unit
						}
						alpha := slices.Clone(c.hyper)
						factors := c.factors(learned, b)
						if c.newMap != nil {
							factors = c.factors(a, b)
							for range config.Features.NumParams() {
								alpha = append(alpha, src.NormFloat64())
								factors = append(factors, factors[2])
							}
						}
						for i := range alpha {
							alpha[i] *= factors[i]
						}
						cv, err := New(config)
						if err != nil {
							t.Fatalf("%s: %v", title, err)
						}
						grad := make([]float64, len(alpha))
						loss, err := cv.Eval(grad, alpha)
						if err != nil {
							t.Fatalf("%s: %v", title, err)
						}
						for i := range grad {
							grad[i] *= alpha[i] // in units of the loss alone
						}
						return loss, grad, factors
					}
					want, wantGrad, _ := eval(1, 1)
					got, grad, _ := eval(a, b)
					if !(math.Abs(got/(b*b)-want) <= 1e-11*want) {
						t.Errorf("%s: loss %v, want %v", title, got/(b*b), want)
					}
					for i, w := range wantGrad {
						if g := grad[i] / (b * b); !(math.Abs(g-w) <= 1e-9*(want+math.Abs(w))) {
							t.Errorf("%s: gradient %d is %v, want %v", title, i, g, w)
						}
					}
				}
			}
		}
	}
}
