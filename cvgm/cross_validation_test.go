package cvgm

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// elasticNetCV is the setting of the paper's first experiment.
func elasticNetCV(t testing.TB, seed uint64, k int, change func(*Config)) *CV {
	t.Helper()
	d := casetest.Regression(seed, 30, 10)
	splits := casetest.Must(RandomSplits(synth.NewStream(seed, "splits"), 30, k, .95))(t)
	c := Config{Data: d, Splits: splits, Loss: SquaredError{}, Standardise: true, Centring: MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	if change != nil {
		change(&c)
	}
	cv := casetest.Must(New(c))(t)
	return cv
}

// centralDifference is the five-point quotient of f along coordinate i.
func centralDifference(t testing.TB, f search.Objective, x []float64, i int, h float64) float64 {
	t.Helper()
	at := func(step float64) float64 {
		moved := slices.Clone(x)
		moved[i] += step
		v := casetest.Must(f(nil, moved))(t)
		return v
	}
	return (at(-2*h) - 8*at(-h) + 8*at(h) - at(2*h)) / (12 * h)
}

func checkGradient(t *testing.T, f search.Objective, x []float64, h, tol float64) {
	t.Helper()
	grad := make([]float64, len(x))
	casetest.Must(f(grad, x))(t)
	for i, g := range grad {
		want := centralDifference(t, f, x, i, h)
		if math.Abs(g-want) > tol*(1+math.Abs(want)) {
			t.Errorf("gradient %d at %v is %.12g, central differences give %.12g", i, x, g, want)
		}
	}
}

// For standardised features, the paper's least-squares intercept equals the exact unpenalised
// intercept.
func TestFixedLeastSquaresIsExactOnStandardisedFeatures(t *testing.T) {
	published := elasticNetCV(t, 5, 16, func(c *Config) { c.Centring = FixedLeastSquares })
	exact := elasticNetCV(t, 5, 16, nil)
	x := []float64{.02, .03}
	gp, ge := make([]float64, 2), make([]float64, 2)
	lp, errp := published.Eval(gp, x)
	le, erre := exact.Eval(ge, x)
	if errp != nil || erre != nil {
		t.Fatal(errp, erre)
	}
	if math.Abs(lp-le) > 1e-13 || math.Hypot(gp[0]-ge[0], gp[1]-ge[1]) > 1e-12 {
		t.Errorf("published %v %v, exact %v %v", lp, gp, le, ge)
	}
}

// For raw features, MeanCentring gives the intercept that minimises the objective together with θ.
func TestMeanCentringIsOptimal(t *testing.T) {
	d := casetest.Regression(7, 12, 3)
	for i := range d.Y {
		d.Y[i] += 3
		d.Dense().Set(i, 0, d.X.At(i, 0)-2)
	}
	splits := casetest.Must(RandomSplits(synth.NewStream(7, "splits"), 12, 1, .8))(t)
	cv, err := New(Config{Data: d, Splits: splits, Loss: SquaredError{}, Centring: MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	if err != nil {
		t.Fatal(err)
	}
	const l1, l2 = .1, .2
	m := casetest.Must(cv.Final([]float64{l1, l2}))(t)
	objective := func(shift float64) float64 {
		var v float64
		for i, y := range d.Y {
			p := m.Intercept + shift
			for j, w := range m.Theta {
				p += w * (d.X.At(i, j) - m.Mean[j])
			}
			v += (p - y) * (p - y) / (2 * float64(len(d.Y)))
		}
		return v
	}
	if up, here, down := objective(1e-3), objective(0), objective(-1e-3); up <= here || down <= here {
		t.Errorf("objective %v below, %v at, %v above the intercept", down, here, up)
	}
}

func TestNewRefusesBadConfigs(t *testing.T) {
	nan := func(c *Config) { c.Data.X = mat.DenseCopyOf(c.Data.X); c.Data.Dense().Set(4, 2, math.NaN()) }
	for name, c := range map[string]struct {
		change func(*Config)
		kind   error
		split  int // -1: no split is to blame
	}{
		"no splits":        {func(c *Config) { c.Splits = nil }, qpdiff.ErrEmpty, -1},
		"no learner":       {func(c *Config) { c.Learner = nil }, qpdiff.ErrEmpty, -1},
		"no loss":          {func(c *Config) { c.Loss = nil }, qpdiff.ErrEmpty, -1},
		"no data":          {func(c *Config) { c.Data = learn.Data{} }, qpdiff.ErrEmpty, -1},
		"NaN feature":      {nan, qpdiff.ErrNotFinite, -1},
		"Inf label":        {func(c *Config) { c.Data.Y = append([]float64{math.Inf(1)}, c.Data.Y[1:]...) }, qpdiff.ErrNotFinite, -1},
		"missing label":    {func(c *Config) { c.Data.Y = c.Data.Y[1:] }, qpdiff.ErrShape, -1},
		"wrong hyper":      {func(c *Config) { c.Hyper = []float64{1} }, qpdiff.ErrShape, -1},
		"index too large":  {func(c *Config) { c.Splits[2] = Split{[]int{0, 30}, []int{1}} }, qpdiff.ErrDomain, 2},
		"index below zero": {func(c *Config) { c.Splits[1] = Split{[]int{0, 2}, []int{-1}} }, qpdiff.ErrDomain, 1},
		"index twice":      {func(c *Config) { c.Splits[3] = Split{[]int{0, 1}, []int{1}} }, qpdiff.ErrDomain, 3},
		"empty part":       {func(c *Config) { c.Splits[0] = Split{[]int{0, 1}, nil} }, qpdiff.ErrEmpty, 0},
		"learner twice":    {func(c *Config) { l := new(linear.ElasticNet); c.Learner = func() learn.Learner { return l } }, qpdiff.ErrDomain, -1},
		"nil learner":      {func(c *Config) { c.Learner = func() learn.Learner { return nil } }, qpdiff.ErrEmpty, -1},
		"intercept":        {func(c *Config) { c.Centring = 3 }, qpdiff.ErrDomain, -1},
		"no features":      {func(c *Config) { c.Features = &LinearMap{In: 10} }, qpdiff.ErrShape, -1},
		"intercept that depends on the map": {func(c *Config) {
			c.Features, c.Standardise, c.Centring = &LinearMap{In: 10, Out: 2}, false, FixedLeastSquares
		}, qpdiff.ErrDomain, -1},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Data: casetest.Regression(1, 30, 10), Loss: SquaredError{}, Standardise: true,
				Learner: func() learn.Learner { return new(linear.ElasticNet) }}
			config.Splits, _ = RandomSplits(synth.NewStream(1, "splits"), 30, 5, .9)
			c.change(&config)
			_, err := New(config)
			var arg *qpdiff.ArgError
			if !errors.Is(err, c.kind) || !errors.As(err, &arg) || arg.Remedy == "" {
				t.Fatalf("error %v, want an ArgError of kind %v", err, c.kind)
			}
			var split *SplitError
			if errors.As(err, &split) != (c.split >= 0) || split != nil && split.Split != c.split {
				t.Errorf("error %v blames the wrong split, want %d", err, c.split)
			}
		})
	}
}

func TestEvalRefusesBadAlpha(t *testing.T) {
	net := elasticNetCV(t, 1, 4, nil)
	cv := constantCV(t, []float64{1, 2}, 1, SquaredError{}, Split{[]int{0}, []int{1}}) // of a learner that takes any α
	for _, c := range []struct {
		cv    *CV
		alpha []float64
		kind  error
	}{{net, nil, qpdiff.ErrShape}, {net, []float64{1, 2, 3}, qpdiff.ErrShape}, {net, []float64{math.NaN(), 1}, qpdiff.ErrNotFinite},
		{net, []float64{1, math.Inf(1)}, qpdiff.ErrNotFinite}, {net, []float64{-1, 1}, qpdiff.ErrDomain}, {net, []float64{1, -1e-9}, qpdiff.ErrDomain},
		{cv, []float64{math.NaN()}, qpdiff.ErrNotFinite}, {cv, []float64{math.Inf(-1)}, qpdiff.ErrNotFinite}, {cv, nil, qpdiff.ErrShape}} {
		if loss, err := c.cv.Eval(nil, c.alpha); !errors.Is(err, c.kind) || !math.IsNaN(loss) {
			t.Errorf("α = %v: loss %v, error %v, want %v", c.alpha, loss, err, c.kind)
		}
		if _, err := c.cv.Final(c.alpha); !errors.Is(err, c.kind) {
			t.Errorf("Final at α = %v: error %v, want %v", c.alpha, err, c.kind)
		}
	}
}

func TestZeroOneLossIsEvaluatedButNotDescended(t *testing.T) {
	cv := elasticNetCV(t, 1, 4, func(c *Config) { c.Loss = ZeroOne{} })
	x := []float64{.1, .1}
	if loss, err := cv.Eval(nil, x); err != nil || loss < 0 || loss > 1 {
		t.Errorf("loss %v, error %v", loss, err)
	}
	for _, generalised := range []bool{false, true} {
		cv := elasticNetCV(t, 1, 4, func(c *Config) { c.Loss, c.Generalised = ZeroOne{}, generalised })
		if _, err := cv.Eval(make([]float64, 2), x); !errors.Is(err, qpdiff.ErrNotDifferentiable) {
			t.Errorf("error %v, want one that matches ErrNotDifferentiable", err)
		}
	}
}

// BenchmarkElasticNetStep times a step of the paper's first experiment: a small change of λ, the
// value and the gradient.
func BenchmarkElasticNetStep(b *testing.B) {
	for _, k := range []int{128, 2048} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("K=%d/workers=%d", k, workers), func(b *testing.B) {
				cv := elasticNetCV(b, 3, k, func(c *Config) { c.Workers = workers })
				benchmarkEval(b, cv, true, false)
				reportElasticNetWork(b, cv)
			})
		}
	}
}

// BenchmarkElasticNetRows has 96 validation rows in each split, so predictions and slopes take most
// of the time.
func BenchmarkElasticNetRows(b *testing.B) {
	cv := elasticNetCV(b, 3, 128, func(c *Config) {
		c.Workers, c.Data = 1, casetest.Regression(3, 1920, 10)
		c.Splits = casetest.Must(RandomSplits(synth.NewStream(3, "splits"), 1920, 128, .95))(b)
	})
	benchmarkEval(b, cv, true, false)
	reportElasticNetWork(b, cv)
}

// BenchmarkElasticNetCold compares value and gradient without warm fits.
func BenchmarkElasticNetCold(b *testing.B) {
	for _, gradient := range []bool{false, true} {
		b.Run(map[bool]string{false: "value", true: "gradient"}[gradient], func(b *testing.B) {
			benchmarkEval(b, elasticNetCV(b, 3, 128, func(c *Config) { c.Workers = 1 }), gradient, true)
		})
	}
}

// reportElasticNetWork reports the least work of a step in which no support changes. It counts a
// factorisation of the active system, two solves, the slopes and the products with the validation
// rows. It counts one read of the Gram matrix and the rows.
func reportElasticNetWork(b *testing.B, cv *CV) {
	var operations, bytes float64
	p := float64(cv.features)
	for j := range cv.fits {
		f := &cv.fits[j]
		a, rows := 0., float64(len(f.split.Val))
		for _, v := range f.theta {
			if v != 0 {
				a++
			}
		}
		operations += a*a*a/3 + 2*2*a*a + 2*p*p + 2*2*rows*p
		bytes += 8 * (p*p + rows*p)
	}
	b.ReportMetric(operations, "operations/op")
	b.ReportMetric(bytes, "moved-B/op")
}

func benchmarkEval(b *testing.B, cv *CV, gradient, cold bool) {
	x := []float64{1e-2, 1e-4}
	var grad []float64
	if gradient {
		grad = make([]float64, 2)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x[0] = 1e-2 + 1e-5*float64(i%50)
		x[1] = 1e-4 + 1e-5*float64(i%50)
		if cold {
			cv.Reset()
		}
		if _, err := cv.Eval(grad, x); err != nil {
			b.Fatal(err)
		}
	}
}

// A fit that succeeds from a cold start also succeeds from a warm start. This warm start leads to a
// face at which rounding would leave no digits.
func TestWarmStartAnswersWhereColdDoes(t *testing.T) {
	cv, err := New(Config{
		Data: learn.Data{
			X: mat.NewDense(10, 2, []float64{
				-0.31358498609225915, 1.1363088890371764, 0.33035566537503835, 0.3835843628120432, -0.56061993068308, 0.8880920071310137,
				1.0120883273770183, 0.4226210743759061, 1.4211383192458371, 0.06294324478020175, 0.5146722374779293, 0.002203529215818012,
				1.9064935431175662, -0.603344318544897, -1.4211383192458371, -0.06294324478020175, -0.017073075038129992, 1.0062972173657247,
				0.5571894804376261, -1.4341094914912689}),
			Y: []float64{-1, -1, 1, -1, 1, -1, 1, -1, -1, 1},
		},
		Splits:      []Split{{Train: []int{3, 6, 7, 1, 4, 9, 0}, Val: []int{5, 8, 2}}},
		Features:    &LinearMap{In: 2, Out: 2},
		Standardise: true,
		Loss:        AbsoluteError{},
		Learner:     func() learn.Learner { return new(margin.LearnedLoss) },
	})
	if err != nil {
		t.Fatal(err)
	}
	far := []float64{0.3509299081470284, 0, 2.540937921879596e+205, 7.91441596372982, 0.012223587240609709, -0.46908084588952165, 1.1570412887469772, 0.02836047913529871, -0.49953695013942334}
	near := []float64{0.05955600020947885, 0.09129053679856725, 2.090098401720987, 0.1400445209297932, 0.052255891553142114, -1.8945229509887296, -1.2321185938863948, 0.9757299943775115, 0.9224016411076841}
	want := casetest.Must(cv.Eval(nil, far))(t)
	casetest.Must(cv.Eval(nil, near))(t)
	if got, err := cv.Eval(nil, far); err != nil || math.Abs(got-want) > 1e-6*want {
		t.Errorf("warm %v, %v; cold %v", got, err, want)
	}
}

// Results have the same bits for any number of goroutines, and after Reset.
func TestResultsDoNotDependOnWorkers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	weights := make([]float64, 30)
	for i := range weights {
		weights[i] = 1 + math.Sin(float64(i))
	}
	kinked := func(c *Config) {
		c.Generalised, c.Splits = true, nil
		for k := range 64 {
			c.Splits = append(c.Splits, Split{[]int{k % 4, (k + 1) % 4}, []int{(k + 2) % 4}})
		}
	}
	for name, c := range map[string]struct {
		cv    func(workers int) *CV
		alpha [][]float64
		kinks []bool
	}{
		"elastic net": {func(n int) *CV { return elasticNetCV(t, 11, 128, func(c *Config) { c.Workers = n }) }, [][]float64{{.01, 1e-4}, {.02, .03}, {.01, 1e-3}}, make([]bool, 3)},
		"weighted": {func(n int) *CV {
			return elasticNetCV(t, 11, 64, func(c *Config) { c.Workers, c.Data.Weights = n, weights })
		}, [][]float64{{.02, .03}}, make([]bool, 1)},
		"kinks at 2, 9 and 16": {func(n int) *CV { return atKink(t, func(c *Config) { kinked(c); c.Workers = n }) },
			[][]float64{{2, 1}, {9, 1}, {1, 1}, {16, 1}, {3, 1}}, []bool{true, true, false, true, false}},
	} {
		var want []float64
		for _, procs := range []int{1, 2, 7, 64} {
			runtime.GOMAXPROCS(procs)
			for _, cv := range []*CV{c.cv(0), c.cv(procs)} {
				for range 2 {
					var got []float64
					for k, alpha := range c.alpha {
						grad, predictions := make([]float64, 2), make([]float64, len(cv.c.Data.Y))
						loss, err := cv.Eval(grad, alpha)
						e, err2 := cv.StandardError()
						casetest.OK(t, err, err2, cv.OutOfFold(predictions))
						if cv.Generalised() != c.kinks[k] {
							t.Errorf("%s at %v: generalised is %v", name, alpha, cv.Generalised())
						}
						got = slices.Concat(got, grad, []float64{loss, e}, predictions)
					}
					if want == nil {
						want = got
					}
					if !hostile.SameBits(got, want) {
						t.Errorf("%s, %d processors: %v instead of %v", name, procs, got, want)
					}
					cv.Reset()
				}
			}
		}
	}
}
