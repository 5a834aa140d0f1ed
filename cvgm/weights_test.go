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
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/smooth"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// weightedResult holds the results of a CV and its final model.
type weightedResult struct {
	loss, risk  float64
	grad        []float64
	dx          *mat.Dense
	dy          []float64
	model       *Model
	predictions []float64 // of the model, in the rows of the data
	outOfFold   []float64
}

// evaluateWeighted evaluates c at alpha.
func evaluateWeighted(t *testing.T, title string, c Config, alpha []float64) weightedResult {
	t.Helper()
	cv, err := New(c)
	if err != nil {
		t.Fatal(title, err)
	}
	rows, n := c.Data.X.Dims()
	r := weightedResult{grad: make([]float64, len(alpha)), dx: mat.NewDense(rows, n, nil), dy: make([]float64, rows),
		predictions: make([]float64, rows), outOfFold: make([]float64, rows)}
	if r.loss, err = cv.Eval(r.grad, alpha); err != nil {
		t.Fatal(title, err)
	}
	if err := cv.OutOfFold(r.outOfFold); err != nil {
		t.Fatal(title, err)
	}
	if c.Centring == FixedLeastSquares && !c.Standardise {
		r.dx, r.dy = mat.NewDense(rows, n, nil), make([]float64, rows) // no derivative
	} else if _, err = cv.DataGradient(r.dx, r.dy, alpha); err != nil {
		t.Fatal(title, err)
	}
	if r.model, err = cv.Final(alpha); err != nil {
		t.Fatal(title, err)
	}
	if r.risk, err = r.model.Risk(c.Loss, c.Data); err != nil {
		t.Fatal(title, err)
	}
	if err := r.model.Predict(r.predictions, c.Data.Dense()); err != nil {
		t.Fatal(title, err)
	}
	return r
}

// all returns the numbers of r.
func (r weightedResult) all() []float64 {
	return slices.Concat([]float64{r.loss, r.risk, r.model.Intercept}, r.grad, r.dx.RawMatrix().Data, r.dy, r.model.Theta, r.model.Mean, r.model.Std, r.predictions, r.outOfFold)
}

// eachWeighable calls f with a Config and hyperparameters α for each learner that accepts weights.
func eachWeighable(t *testing.T, f func(title string, c Config, alpha []float64, sum bool)) {
	t.Helper()
	const rows, raw = 20, 3
	maps := []func() FeatureMap{func() FeatureMap { return nil }, func() FeatureMap { return &LinearMap{In: raw, Out: 2} }}
	for _, l := range configLearners {
		for k, newMap := range maps {
			for intercept := NoCentring; intercept <= MeanCentring; intercept++ {
				for _, standardise := range []bool{false, true} {
					if l.even || l.classes && intercept != NoCentring || intercept == FixedLeastSquares && k > 0 && !standardise {
						continue
					}
					src := synth.NewStream(uint64(k)+7, "weights")
					c := Config{Data: classData(src, rows, raw), Loss: LogisticLoss{}, Features: newMap(), Learner: l.learner,
						Standardise: standardise, Centring: intercept, Generalised: true}
					if !l.classes {
						for i := range c.Data.Y {
							c.Data.Y[i] += src.NormFloat64()
						}
						c.Loss = SquaredError{}
					}
					c.Splits = casetest.Must(BalancedSplits(src, rows, 4, .7))(t)
					alpha := l.hyperOf(raw)
					if k > 0 {
						alpha = append(l.hyperOf(2), normalVector(src, 2*raw)...)
					}
					objectiveIsSum := strings.HasPrefix(l.name, "logistic") || strings.HasPrefix(l.name, "kernel SVM")
					f(fmt.Sprintf("%s, %T, intercept %d, standardise %v", l.name, c.Features, intercept, standardise), c, alpha, objectiveIsSum)
				}
			}
		}
	}
}

// weightedTol bounds the difference between two equal fits, which add their terms in different
// orders, relative to the largest number.
const weightedTol = 1e-9

func compareWeighted(t *testing.T, what string, got, want []float64) {
	t.Helper()
	size := 1.0
	for _, v := range want {
		if v == v {
			size = max(size, math.Abs(v))
		}
	}
	for i, v := range want {
		if got[i] != got[i] != (v != v) || math.Abs(got[i]-v) > weightedTol*size {
			t.Errorf("%s: entry %d is %v instead of %v", what, i, got[i], v)
			return
		}
	}
}

// An example of weight w counts as w equal examples in all results, and an example of weight 0 does
// not count.
func TestWeightsCountExamples(t *testing.T) {
	eachWeighable(t, func(title string, c Config, alpha []float64, _ bool) {
		rows, n := c.Data.X.Dims()
		c.Data.Weights = make([]float64, rows)
		repeated := c
		repeated.Data = learn.Data{}
		var x []float64
		copies := make([][]int, rows)
		for i := range rows {
			c.Data.Weights[i] = float64((i*5 + 1) % 4) // 1, 2, 3, 0, …
			for range int(c.Data.Weights[i]) {
				copies[i] = append(copies[i], len(repeated.Data.Y))
				x, repeated.Data.Y = append(x, c.Data.Dense().RawRowView(i)...), append(repeated.Data.Y, c.Data.Y[i])
			}
		}
		repeated.Data.X = mat.NewDense(len(repeated.Data.Y), n, x)
		repeated.Splits = nil
		each := func(examples []int) (all []int) {
			for _, i := range examples {
				all = append(all, copies[i]...)
			}
			return all
		}
		for _, s := range c.Splits {
			repeated.Splits = append(repeated.Splits, Split{each(s.Train), each(s.Val)})
		}
		got, want := evaluateWeighted(t, title, c, alpha), evaluateWeighted(t, title, repeated, alpha)
		compareWeighted(t, title+": loss, risk and intercept", []float64{got.loss, got.risk, got.model.Intercept}, []float64{want.loss, want.risk, want.model.Intercept})
		compareWeighted(t, title+": gradient", got.grad, want.grad)
		compareWeighted(t, title+": model", slices.Concat(got.model.Theta, got.model.Mean, got.model.Std), slices.Concat(want.model.Theta, want.model.Mean, want.model.Std))
		dx, dy := mat.NewDense(rows, n, nil), make([]float64, rows)
		for i, all := range copies {
			for _, k := range all {
				floats.Add(dx.RawRowView(i), want.dx.RawRowView(k))
				dy[i] += want.dy[k]
				compareWeighted(t, fmt.Sprint(title, ": predictions for example ", i), []float64{got.predictions[i], got.outOfFold[i]}, []float64{want.predictions[k], want.outOfFold[k]})
			}
			if len(all) == 0 && got.outOfFold[i] == got.outOfFold[i] {
				t.Errorf("%s: example %d of weight 0 has the prediction %v", title, i, got.outOfFold[i])
			}
		}
		compareWeighted(t, title+": dx", got.dx.RawMatrix().Data, dx.RawMatrix().Data)
		compareWeighted(t, title+": dy", got.dy, dy)
	})
}

// Weights of 1 give the same bits as no weights.
func TestWeightsOfOneGiveTheSameBits(t *testing.T) {
	eachWeighable(t, func(title string, c Config, alpha []float64, _ bool) {
		want := evaluateWeighted(t, title, c, alpha).all()
		c.Data.Weights = slices.Repeat([]float64{1}, len(c.Data.Y))
		got := evaluateWeighted(t, title, c, alpha).all()
		for i, v := range want {
			if math.Float64bits(got[i]) != math.Float64bits(v) && (v == v || got[i] == got[i]) {
				t.Errorf("%s: entry %d is %v with weights of 1, %v without", title, i, got[i], v)
				return
			}
		}
	})
}

// A common factor of all weights changes no result if C is divided by the factor in objectives of
// the form C·sum.
func TestWeightsOfAnyUnit(t *testing.T) {
	eachWeighable(t, func(title string, c Config, alpha []float64, sum bool) {
		rows := len(c.Data.Y)
		c.Data.Weights = make([]float64, rows)
		for i := range c.Data.Weights {
			c.Data.Weights[i] = math.Exp(math.Sin(float64(i)))
		}
		c.Data.Weights[4] = 0
		want := evaluateWeighted(t, title, c, alpha).all()
		for _, unit := range []float64{1e-6, 1. / 3, 1e6} {
			scaled, at := c, slices.Clone(alpha)
			scaled.Data.Weights = slices.Clone(c.Data.Weights)
			floats.Scale(unit, scaled.Data.Weights)
			if sum {
				at[0] /= unit
			}
			got := evaluateWeighted(t, title, scaled, at).all()
			if sum {
				got[3] /= unit // the derivative in C
			}
			compareWeighted(t, fmt.Sprint(title, ", unit ", unit), got, want)
		}
	})
}

// Weighted means, standard deviations and least squares equal those of repeated rows, even if
// squares overflow.
func TestWeightedNormalisation(t *testing.T) {
	x, y := []float64{1, 5, 2, -1, 4, 3, 7, 7}, []float64{1, 2, 0, 4}
	weights := []float64{1, 3, 2, 1}
	var long, longY []float64
	for i, w := range weights {
		for range int(w) {
			long, longY = append(long, x[2*i:2*i+2]...), append(longY, y[i])
		}
	}
	for _, unit := range []float64{1, 0x1p600, 0x1p-600} {
		a, b := slices.Clone(x), slices.Clone(long)
		floats.Scale(unit, a)
		floats.Scale(unit, b)
		z, want := normalise.Normaliser{Centre: true, Scale: true, Weights: weights}, normalise.Normaliser{Centre: true, Scale: true}
		casetest.OK(t, z.Fit(a, 2), want.Fit(b, 2))
		for j := range 2 {
			if math.Abs(z.Mean[j]-want.Mean[j]) > 1e-15*unit*7 || math.Abs(z.Std[j]-want.Std[j]) > 1e-15*unit*7 {
				t.Errorf("unit %g: mean %v, deviation %v, want %v and %v", unit, z.Mean[j], z.Std[j], want.Mean[j], want.Std[j])
			}
		}
		if got, want := normalise.LeastSquaresIntercept(a, 2, y, weights), normalise.LeastSquaresIntercept(b, 2, longY, nil); unit == 1 && math.Abs(got-want) > 1e-13 {
			t.Errorf("intercept %v, want %v", got, want)
		}
	}
}

// StandardError is the standard error of the weighted mean over the examples.
func TestWeightedStandardError(t *testing.T) {
	folds := casetest.Must(KFold(synth.NewStream(1, "folds"), 30, 5))(t)
	errorOf := func(weights []float64) float64 {
		t.Helper()
		cv := elasticNetCV(t, 3, 1, func(c *Config) { c.Splits, c.Data.Weights = folds, weights })
		casetest.Must(cv.Eval(nil, []float64{.02, .03}))(t)
		e := casetest.Must(cv.StandardError())(t)
		return e
	}
	want := errorOf(nil)
	for _, unit := range []float64{1e-6, 1, 1e6} {
		if got := errorOf(slices.Repeat([]float64{unit}, 30)); math.Abs(got-want) > 1e-12*want {
			t.Errorf("equal weights %v: %v, want %v", unit, got, want)
		}
	}

	cv := constantCV(t, []float64{1, 3, 2, 7}, 0, SquaredError{}, Split{[]int{3}, []int{0, 1, 2}})
	cv.c.Data.Weights = []float64{2e307, 6e307, 0, 2e307} // which the stub does not use, and whose products with losses overflow
	c := cv.c
	cv = casetest.Must(New(c))(t)
	loss, err := cv.Eval(nil, []float64{2})
	if err != nil || math.Abs(loss-7) > 1e-14 {
		t.Errorf("loss %v, error %v, want (1 + 3·9)/4", loss, err)
	}
	// The mean is 7, or 9 without the first example, or 1 without the second: ((9 − 7)² + (1 −
	// 7)²)/2.
	if got, err := cv.StandardError(); err != nil || math.Abs(got-math.Sqrt(20)) > 1e-14 {
		t.Errorf("standard error %v, error %v", got, err)
	}
	c.Data.Weights = []float64{1, 9, 0, 1} // few units
	cv = casetest.Must(New(c))(t)
	casetest.Must(cv.Eval(nil, []float64{2}))(t)
	if got, err := cv.StandardError(); err != nil || !math.IsInf(got, 1) {
		t.Errorf("standard error %v, error %v", got, err)
	}
}

func TestWeightsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		weights []float64
		change  func(*Config)
		kind    error
		split   int // −1: no split is to blame
		part    string
	}{
		"validation": {[]float64{1, 1, 1, 0, 0, 1}, nil, qpdiff.ErrDomain, 1, "Config.Data.Weights are 0 on all 2 validation rows"},
		"training":   {[]float64{0, 0, 1, 1, 1, 0}, nil, qpdiff.ErrDomain, 1, "Config.Data.Weights are 0 on all 3 training rows"},
		"negative":   {[]float64{1, 1, 1, 1, -1, 1}, nil, qpdiff.ErrDomain, -1, "Data.Weights holds -1 at index 4"},
		"NaN":        {[]float64{1, math.NaN(), 1, 1, 1, 1}, nil, qpdiff.ErrDomain, -1, "Data.Weights holds NaN at index 1"},
		"short":      {[]float64{1, 1}, nil, qpdiff.ErrShape, -1, "Data.Weights has 2 entries"},
		"all 0":      {make([]float64, 6), nil, qpdiff.ErrDomain, -1, "count 0 rows"},
		"smooth.Learner": {[]float64{1, 2, 1, 1, 1, 1}, func(c *Config) {
			c.Learner = func() learn.Learner { return &smooth.Learner{Objective: ridge()} }
		}, qpdiff.ErrDomain, 0, "Data.Weights is not nil, which smooth.Learner cannot use"},
	} {
		k := Config{Data: learn.Data{X: mat.NewDense(6, 1, []float64{1, 2, 4, 3, 5, 7}), Y: []float64{1, 0, 2, 3, 1, 4}, Weights: c.weights}, Loss: SquaredError{},
			Splits: []Split{{[]int{2, 3}, []int{4, 0}}, {[]int{0, 1, 5}, []int{3, 4}}}, Learner: func() learn.Learner { return new(linear.ElasticNet) }}
		if c.change != nil {
			c.change(&k)
		}
		_, err := New(k)
		var split *SplitError
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.part) || errors.As(err, &split) != (c.split >= 0) || split != nil && split.Split != c.split {
			t.Errorf("%s: error %v lacks %q or blames another split than %d", name, err, c.part, c.split)
		}
	}
}

// The features and labels of an example of weight 0 may be anything finite.
func TestExamplesOfWeightZeroAreAbsent(t *testing.T) {
	c := Config{Data: casetest.Regression(3, 20, 3), Loss: SquaredError{}, Standardise: true, Centring: MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	c.Splits = casetest.Must(KFold(synth.NewStream(1, "splits"), 20, 4))(t)
	c.Data.Weights = slices.Repeat([]float64{1}, 20)
	c.Data.Weights[7], c.Data.Weights[12] = 0, 0
	alpha := []float64{.05, .1}
	want := evaluateWeighted(t, "as drawn", c, alpha)
	c.Data.X, c.Data.Y = mat.DenseCopyOf(c.Data.X), slices.Clone(c.Data.Y)
	c.Data.Dense().SetRow(7, []float64{1e300, -1e300, 1e-300})
	c.Data.Y[12] = 1e300
	got := evaluateWeighted(t, "far away", c, alpha)
	if got.loss != want.loss || !slices.Equal(got.grad, want.grad) || !slices.Equal(got.dy, want.dy) || !mat.Equal(got.dx, want.dx) || !slices.Equal(got.model.Theta, want.model.Theta) {
		t.Errorf("loss %v, gradient %v, want %v and %v", got.loss, got.grad, want.loss, want.grad)
	}
}

// Weights cause no additional allocations in Eval, even if each Eval loads the learners again.
func TestWeightedEvalDoesNotAllocate(t *testing.T) {
	serial.Test(t)
	eachWeighable(t, func(title string, c Config, alpha []float64, _ bool) {
		if c.Centring == FixedLeastSquares && !c.Standardise {
			return
		}
		c.Workers = 1
		allocations := func() float64 {
			cv, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			grad := make([]float64, len(alpha))
			return testing.AllocsPerRun(3, func() {
				if _, err := cv.Eval(grad, alpha); err != nil {
					t.Fatal(title, err)
				}
			})
		}
		c.Data.Weights = nil
		want := allocations()
		c.Data.Weights = make([]float64, len(c.Data.Y))
		for i := range c.Data.Weights {
			c.Data.Weights[i] = 1 + float64(i%3)
		}
		if got := allocations(); got > want {
			t.Errorf("%s: %v allocations, %v without weights", title, got, want)
		}
	})
}

func TestBalancedWeights(t *testing.T) {
	y := []float64{1, -1, 1, 1, 0, math.Copysign(0, -1), 1, 1, 2.5}
	w := casetest.Must(BalancedWeights(y))(t)
	totals := map[float64]float64{}
	for i, v := range y {
		totals[v] += w[i]
	}
	if len(totals) != 4 || math.Abs(sample.Sum(0, w)-9) > 1e-14 {
		t.Errorf("weights %v", w)
	}
	for class, total := range totals {
		if math.Abs(total-9./4) > 1e-14 {
			t.Errorf("class %v has the total %v", class, total)
		}
	}
	if w, err := BalancedWeights([]float64{3, 3}); err != nil || !slices.Equal(w, []float64{1, 1}) {
		t.Errorf("one class: %v, %v", w, err)
	}
	if _, err := BalancedWeights(nil); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("no labels: %v", err)
	}
	if _, err := BalancedWeights([]float64{1, math.NaN()}); !errors.Is(err, qpdiff.ErrNotFinite) || !strings.Contains(err.Error(), "NaN at index 1") {
		t.Errorf("NaN: %v", err)
	}
}
