package cvgm

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/search"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

func ridgeConfig(d learn.Data) Config {
	return Config{Data: d, Loss: SquaredError{}, Standardise: true, Centring: MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }}
}

// mapConfig learns the features of a logistic regression.
func mapConfig() (Config, []float64) {
	phi := &Perceptron{Widths: []int{3, 5, 2}}
	params := make([]float64, phi.NumParams())
	phi.Init(params, rand.New(rand.NewPCG(4, 4)))
	return Config{Data: circleData(7, 30, 3), Loss: LogisticLoss{}, Features: phi, Hyper: []float64{2}, Generalised: true,
		Learner: func() learn.Learner { return new(linear.Logistic) }}, params
}

func splitStream() Source { return synth.NewStream(1, "fresh splits") }

func randomRule(n, k int, p float64) func(src Source) ([]Split, error) {
	return func(src Source) ([]Split, error) { return RandomSplits(src, n, k, p) }
}

// Each evaluation has the bits of a new CV with the splits that the rule draws next.
func TestStochasticHasTheBitsOfNewCVs(t *testing.T) {
	mapped, params := mapConfig()
	for name, c := range map[string]struct {
		c     Config
		alpha []float64
	}{
		"elastic net":  {ridgeConfig(casetest.Regression(1, 20, 3)), []float64{.01, .1}},
		"learned map":  {mapped, params},
		"at once":      {Config{Data: circleData(7, 30, 3), Loss: LogisticLoss{}, Learner: func() learn.Learner { return new(linear.Logistic) }}, []float64{2}},
		"fixed centre": {Config{Data: casetest.Regression(1, 20, 3), Loss: SquaredError{}, Centring: FixedLeastSquares, Learner: func() learn.Learner { return new(linear.ElasticNet) }}, []float64{.01, .1}},
	} {
		rule := randomRule(len(c.c.Data.Y), 3, .7)
		s, err := NewStochastic(c.c, splitStream, rule)
		if err != nil {
			t.Fatal(name, err)
		}
		if s.Dims() != len(c.alpha) {
			t.Errorf("%s: Dims is %d", name, s.Dims())
		}
		for _, threads := range []int{1, 4} {
			before := runtime.GOMAXPROCS(threads)
			s.Restart()
			src := splitStream()
			grad, want := make([]float64, len(c.alpha)), make([]float64, len(c.alpha))
			for k := range 4 {
				fixed := c.c
				if fixed.Splits, err = rule(src); err != nil {
					t.Fatal(err)
				}
				cv, err := New(fixed)
				if err != nil {
					t.Fatal(err)
				}
				loss, err := s.Eval(grad, c.alpha)
				wanted, errWanted := cv.Eval(want, c.alpha)
				if err != nil || errWanted != nil || loss != wanted || !slices.Equal(grad, want) || s.CV().Generalised() != cv.Generalised() {
					t.Errorf("%s, evaluation %d: %v, %v, want %v, %v (%v, %v)", name, k, loss, grad, wanted, want, err, errWanted)
				}
			}
			runtime.GOMAXPROCS(before)
		}
	}
}

// maxBias bounds the error of a mean of 3000 draws, in standard errors. In 1 of 500 random streams,
// one of three means would exceed it. The stream is fixed.
const maxBias = 3.5

// The mean loss and gradient over many draws are the CV loss and its gradient over all splits.
func TestStochasticIsUnbiased(t *testing.T) {
	c := ridgeConfig(casetest.Regression(3, 6, 1))
	alpha := []float64{.01, .3}
	s, err := NewStochastic(c, splitStream, randomRule(6, 1, .5))
	if err != nil {
		t.Fatal(err)
	}
	for set := range 1 << 6 {
		var split Split
		for i := range 6 {
			if set>>i&1 == 1 {
				split.Train = append(split.Train, i)
			} else {
				split.Val = append(split.Val, i)
			}
		}
		if len(split.Train) == 3 {
			c.Splits = append(c.Splits, split)
		}
	}
	all, err := New(c)
	if err != nil || len(c.Splits) != 20 {
		t.Fatal(len(c.Splits), err)
	}
	want, grad := make([]float64, 3), make([]float64, 3)
	if want[2], err = all.Eval(want[:2], alpha); err != nil {
		t.Fatal(err)
	}
	const draws = 3000
	var sum, squares [3]float64
	for range draws {
		if grad[2], err = s.Eval(grad[:2], alpha); err != nil {
			t.Fatal(err)
		}
		for i, v := range grad {
			sum[i] += v / draws
			squares[i] += v * v / draws
		}
	}
	for i, w := range want {
		se := math.Sqrt((squares[i] - sum[i]*sum[i]) / draws)
		if !(math.Abs(sum[i]-w) <= maxBias*se) || !(se < math.Abs(w)/4) {
			t.Errorf("number %d: mean %v ± %v, over all splits %v", i, sum[i], se, w)
		}
	}
}

// Two passes over a search make the same steps, because a search restarts the stream.
func TestStochasticSearchesRepeat(t *testing.T) {
	c, params := mapConfig()
	s, err := NewStochastic(c, splitStream, randomRule(30, 2, .7))
	if err != nil {
		t.Fatal(err)
	}
	steps := search.Adam{StepSize: .05, MaxEvals: 12}.Search(s.Problem(), params)
	first, err := search.Average(steps, 6)
	if err != nil {
		t.Fatal(err)
	}
	second, err := search.Average(steps, 6)
	if err != nil || !slices.Equal(first.X, second.X) || first.Loss != second.Loss || !first.Random {
		t.Errorf("%v, then %v (%v)", first.Loss, second.Loss, err)
	}
	if _, err := search.Best(search.QuasiNewton{}.Search(s.Problem(), params)); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("a quasi-Newton search: %v", err)
	}
	if _, err := s.CV().Final(first.X); err != nil {
		t.Error(err)
	}
}

// The unit of the labels is the unit of the loss, squared.
func TestStochasticIsIndependentOfUnits(t *testing.T) {
	d := casetest.Regression(1, 20, 3)
	scaled := d
	scaled.Y = slices.Clone(d.Y)
	for i := range scaled.Y {
		scaled.Y[i] *= 0x1p10
	}
	var losses [2]float64
	for k, d := range []learn.Data{d, scaled} {
		c := ridgeConfig(d)
		s, err := NewStochastic(c, splitStream, randomRule(20, 2, .8))
		if err != nil {
			t.Fatal(err)
		}
		if losses[k], err = s.Eval(nil, []float64{0, .1}); err != nil {
			t.Fatal(err)
		}
	}
	if math.Abs(losses[1]/0x1p20/losses[0]-1) > 1e-12 {
		t.Errorf("losses %v", losses)
	}
}

func TestStochasticRefusesHostileInput(t *testing.T) {
	c := ridgeConfig(casetest.Regression(1, 20, 3))
	fixed := c
	fixed.Splits = []Split{{Train: []int{0, 1}, Val: []int{2}}}
	rule := randomRule(20, 2, .8)
	broken := errors.New("broken")
	ruleOf := func(splits ...Split) func(Source) ([]Split, error) {
		return func(Source) ([]Split, error) { return splits, nil }
	}
	for name, b := range map[string]struct {
		c      Config
		source func() Source
		draw   func(Source) ([]Split, error)
		want   error
	}{
		"no configuration":   {Config{}, splitStream, rule, qpdiff.ErrEmpty},
		"fixed splits":       {fixed, splitStream, rule, qpdiff.ErrDomain},
		"no source":          {c, nil, rule, qpdiff.ErrEmpty},
		"a nil source":       {c, func() Source { return nil }, rule, qpdiff.ErrEmpty},
		"no rule":            {c, splitStream, nil, qpdiff.ErrEmpty},
		"a rule that fails":  {c, splitStream, func(Source) ([]Split, error) { return nil, broken }, broken},
		"no splits":          {c, splitStream, ruleOf(), qpdiff.ErrEmpty},
		"an index too large": {c, splitStream, ruleOf(Split{Train: []int{0, 20}, Val: []int{1}}), qpdiff.ErrDomain},
		"no validation":      {c, splitStream, ruleOf(Split{Train: []int{0, 1}}), qpdiff.ErrEmpty},
		"p of 1":             {c, splitStream, randomRule(20, 2, 1), qpdiff.ErrDomain},
	} {
		if _, err := NewStochastic(b.c, b.source, b.draw); !errors.Is(err, b.want) {
			t.Errorf("%s: %v, want %v", name, err, b.want)
		}
	}
	// Later draws of the rule return other numbers and sizes of splits, and then an error.
	calls := 0
	s, err := NewStochastic(c, splitStream, func(src Source) ([]Split, error) {
		if calls++; calls > 4 {
			return nil, broken
		}
		return RandomSplits(src, 20, calls, .3+.1*float64(calls))
	})
	if err != nil {
		t.Fatal(err)
	}
	grad := make([]float64, 2)
	for range 3 {
		if loss, err := s.Eval(grad, []float64{.01, .1}); err != nil || !(loss > 0) {
			t.Fatal(loss, err)
		}
	}
	if loss, err := s.Eval(grad, []float64{.01, .1}); !errors.Is(err, broken) || loss == loss || !messageHas(err, "cvgm: draw 4 of the splits: ") {
		t.Errorf("loss %v, error %v", loss, err)
	}
	if s.CV() == nil || s.Dims() != 2 {
		t.Error("no CV after a draw that failed")
	}
	s, err = NewStochastic(c, splitStream, rule)
	if err != nil {
		t.Fatal(err)
	}
	for name, alpha := range map[string][]float64{"short": {1}, "NaN": {math.NaN(), 1}, "negative": {-1, 1}} {
		if loss, err := s.Eval(nil, alpha); err == nil || loss == loss {
			t.Errorf("%s α: %v, %v", name, loss, err)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.EvalContext(ended, nil, []float64{.01, .1}); !errors.Is(err, context.Canceled) {
		t.Errorf("after its context: %v", err)
	}
}
