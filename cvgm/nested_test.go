package cvgm

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/synth"
)

var nestedFolds = []Split{{Train: []int{2, 3}, Val: []int{0, 1}}, {Train: []int{0, 1}, Val: []int{2, 3}}, {Train: []int{1, 3}, Val: []int{0}}}

// NestedScores averages the losses of an example that two folds hold out, and counts the example
// once.
func TestNestedScoresAreMeansOverExamples(t *testing.T) {
	losses := map[int][][]float64{2: {{1, 2}, {10, 10}}, 0: {{3, 6}, {10, 10}}, 1: {{5}, {10}}}
	for _, workers := range []int{1, 3} {
		scores, err := NestedScores(context.Background(), nestedFolds, workers, func(_ context.Context, f Split) ([][]float64, error) {
			return losses[f.Train[0]], nil
		})
		// Candidate 0 has the mean losses 3, 2, 3 and 6, with the mean 3.5 and the variance 3.
		// Candidate 1 has the constant loss 10.
		want := []Score{{3.5, math.Sqrt(3. / 4), 0}, {10, 0, math.Sqrt(3. / 4)}}
		if err != nil || len(scores) != 2 {
			t.Fatal(scores, err)
		}
		for c, w := range want {
			if math.Abs(scores[c].Loss-w.Loss) > 1e-15 || math.Abs(scores[c].Error-w.Error) > 1e-15 || math.Abs(scores[c].Paired-w.Paired) > 1e-15 {
				t.Errorf("candidate %d: %+v, want %+v", c, scores[c], w)
			}
		}
	}
}

// NestedScores returns the standard error of CV.StandardError if each example is in one fold.
func TestNestedScoresAgreeWithTheStandardErrorOfACV(t *testing.T) {
	c := ridgeConfig(casetest.Regression(5, 30, 3))
	alpha := []float64{.02, .1}
	var err error
	if c.Splits, err = KFold(synth.NewStream(1, "folds"), 30, 5); err != nil {
		t.Fatal(err)
	}
	cv, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	loss, err := cv.Eval(nil, alpha)
	if err != nil {
		t.Fatal(err)
	}
	se, err := cv.StandardError()
	if err != nil {
		t.Fatal(err)
	}
	scores, err := NestedScores(context.Background(), c.Splits, 1, func(_ context.Context, f Split) ([][]float64, error) {
		m, err := cv.FinalOn(f.Train, alpha)
		if err != nil {
			return nil, err
		}
		l, err := m.Losses(c.Loss, learn.Data{X: copyRows(c.Data.Dense(), f.Val), Y: sample.Pick(c.Data.Y, f.Val)})
		return [][]float64{l}, err
	})
	const rounding = 1e-10 // of warm and cold fits
	if err != nil || math.Abs(scores[0].Loss-loss) > rounding*loss || math.Abs(scores[0].Error-se) > rounding*se {
		t.Errorf("%+v, want %v ± %v (%v)", scores, loss, se, err)
	}
}

func TestNestedScoresRefuseHostileInput(t *testing.T) {
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	of := func(losses ...[]float64) func(context.Context, Split) ([][]float64, error) {
		return func(_ context.Context, f Split) ([][]float64, error) {
			out := make([][]float64, len(losses))
			for c, l := range losses {
				out[c] = l[:min(len(l), len(f.Val))]
			}
			return out, nil
		}
	}
	calls := 0
	for name, c := range map[string]struct {
		ctx    context.Context
		folds  []Split
		losses func(context.Context, Split) ([][]float64, error)
		want   error
	}{
		"no folds":      {context.Background(), nil, of([]float64{1, 2}), qpdiff.ErrEmpty},
		"no function":   {context.Background(), nestedFolds, nil, qpdiff.ErrEmpty},
		"no candidates": {context.Background(), nestedFolds, of(), qpdiff.ErrShape},
		"short losses":  {context.Background(), nestedFolds, of([]float64{1}), qpdiff.ErrShape},
		"one example":   {context.Background(), nestedFolds[2:], of([]float64{1}), qpdiff.ErrShape},
		"NaN":           {context.Background(), nestedFolds, of([]float64{1, math.NaN()}), qpdiff.ErrNotFinite},
		"overflow":      {context.Background(), nestedFolds, of([]float64{math.MaxFloat64, math.MaxFloat64}, []float64{-math.MaxFloat64, -math.MaxFloat64}), qpdiff.ErrNotFinite},
		"an error":      {context.Background(), nestedFolds, func(context.Context, Split) ([][]float64, error) { return nil, broken }, broken},
		"ended":         {ended, nestedFolds, of([]float64{1, 2}), context.Canceled},
		"another number of candidates": {context.Background(), nestedFolds, func(_ context.Context, f Split) ([][]float64, error) {
			calls++
			return slices.Repeat([][]float64{make([]float64, len(f.Val))}, calls), nil
		}, qpdiff.ErrShape},
	} {
		if _, err := NestedScores(c.ctx, c.folds, 1, c.losses); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestSimplestIsWithinTheErrorsOfTheLowest(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	score := func(loss, paired float64) Score { return Score{Loss: loss, Paired: paired} }
	scores := []Score{score(5, .1), score(3.2, .2), score(3, .1), score(2.9, 0), score(2.9, 0), score(4, 9)}
	for _, c := range []struct {
		scores []Score
		errors float64
		want   int
		err    error
	}{
		{scores, 0, 3, nil}, {scores, .99, 3, nil}, {scores, 1.01, 2, nil}, {scores, 1.6, 1, nil}, {scores, 1e9, 0, nil},
		{scores[:1], 1, 0, nil},
		{[]Score{score(inf, 0), score(1, 0)}, 1, 1, nil}, {[]Score{score(inf, 1e300), score(1, 0)}, 1e9, 1, nil},
		{[]Score{score(2, inf), score(1, .5)}, 0, 0, qpdiff.ErrNotFinite},
		{[]Score{score(inf, 1)}, 1, 0, qpdiff.ErrNotFinite},
		{[]Score{score(nan, 1), score(1, 1)}, 1, 0, qpdiff.ErrNotFinite},
		{[]Score{score(-inf, 1), score(1, 1)}, 1, 0, qpdiff.ErrNotFinite},
		{[]Score{score(1, nan)}, 1, 0, qpdiff.ErrNotFinite},
		{[]Score{score(1, -1)}, 1, 0, qpdiff.ErrNotFinite},
		{nil, 1, 0, qpdiff.ErrEmpty},
		{scores, -1, 0, qpdiff.ErrDomain}, {scores, nan, 0, qpdiff.ErrDomain}, {scores, inf, 0, qpdiff.ErrDomain},
	} {
		got, err := Simplest(c.scores, c.errors)
		if got != c.want || !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%v within %v errors: %d, %v; want %d, %v", c.scores, c.errors, got, err, c.want, c.err)
		}
	}
	// The unit of the loss changes nothing.
	for _, u := range []float64{1e-6, 1e6} {
		scaled := slices.Clone(scores)
		for i := range scaled {
			scaled[i].Loss *= u
			scaled[i].Paired *= u
		}
		if got, err := Simplest(scaled, 1.6); got != 1 || err != nil {
			t.Errorf("in units of %v: %d, %v", u, got, err)
		}
	}
}

// The weighted mean of the losses is the risk.
func TestLossesSumToTheRisk(t *testing.T) {
	c := ridgeConfig(casetest.Regression(5, 12, 3))
	c.Splits = []Split{{Train: []int{0, 1, 2, 3, 4, 5}, Val: []int{6}}}
	cv, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cv.Final([]float64{0, .1})
	if err != nil {
		t.Fatal(err)
	}
	d := c.Data
	d.Weights = []float64{1, 2, 0, 4, 1, 1, 1, 1, 1, 1, 1, 1}
	losses, err := m.Losses(SquaredError{}, d)
	if err != nil {
		t.Fatal(err)
	}
	predictions, want := make([]float64, 12), make([]float64, 12)
	if err := m.Predict(predictions, d.X); err != nil {
		t.Fatal(err)
	}
	var mean, total float64
	for i, p := range predictions {
		if d.Weights[i] > 0 {
			want[i] = (p - d.Y[i]) * (p - d.Y[i])
		}
		mean += d.Weights[i] * losses[i]
		total += d.Weights[i]
	}
	const rounding = 1e-14
	for i := range want {
		if math.Abs(losses[i]-want[i]) > rounding*want[i] {
			t.Errorf("losses %v, want %v", losses, want)
		}
	}
	risk, err := m.Risk(SquaredError{}, d)
	if err != nil || math.Abs(risk-mean/total) > rounding*risk {
		t.Errorf("risk %v, want %v (%v)", risk, mean/total, err)
	}
	if reflect.DeepEqual(losses, make([]float64, 12)) {
		t.Error("no losses")
	}
	d.Y = slices.Clone(d.Y)
	d.Y[3] = 1e200
	if _, err := m.Losses(SquaredError{}, d); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Error(err)
	}
}
