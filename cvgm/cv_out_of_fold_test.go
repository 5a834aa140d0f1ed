package cvgm

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// constantCV is a CV whose fits predict theta for all rows.
func constantCV(t testing.TB, y []float64, theta float64, loss Loss, splits ...Split) *CV {
	t.Helper()
	x := mat.NewDense(len(y), 1, slices.Repeat([]float64{1}, len(y)))
	cv, err := New(Config{Data: learn.Data{X: x, Y: y}, Splits: splits, Loss: loss,
		Learner: func() learn.Learner { return &stubLearner{theta: []float64{theta}} }})
	if err != nil {
		t.Fatal(err)
	}
	return cv
}

// StandardError uses the losses 1, 9 and 4 of three examples. Example 1 counts once, although two
// splits validate on it.
func TestStandardErrorByHand(t *testing.T) {
	cv := constantCV(t, []float64{1, 3, 2, 7}, 0, SquaredError{}, Split{[]int{3}, []int{0, 1}}, Split{[]int{0, 3}, []int{2, 1}})
	casetest.Must(cv.Eval(nil, []float64{2}))(t)
	const mean = 14. / 3
	want := math.Sqrt(((1-mean)*(1-mean) + (9-mean)*(9-mean) + (4-mean)*(4-mean)) / (2 * 3))
	if got, err := cv.StandardError(); err != nil || math.Abs(got-want) > 1e-14 {
		t.Errorf("standard error %v, error %v, want %v", got, err, want)
	}
	dst := make([]float64, 4)
	if err := cv.OutOfFold(dst); err != nil || !slices.Equal(dst[:3], make([]float64, 3)) || dst[3] == dst[3] {
		t.Errorf("predictions %v, error %v", dst, err)
	}
}

// OutOfFold returns the mean prediction of the models whose splits validate on the example.
func TestOutOfFoldPredictsAsModelsOfTheSplits(t *testing.T) {
	splits := casetest.Must(RandomSplits(synth.NewStream(1, "splits"), 30, 6, .8))(t)
	cv := elasticNetCV(t, 3, 1, func(c *Config) { c.Splits = splits })
	alpha := []float64{.02, .03}
	casetest.Must(cv.Eval(make([]float64, 2), alpha))(t)
	got, want, counts := make([]float64, 30), make([]float64, 30), make([]float64, 30)
	casetest.OK(t, cv.OutOfFold(got))
	d := cv.c.Data
	for _, s := range splits {
		train := learn.Data{X: mat.NewDense(len(s.Train), 10, nil)}
		for i, row := range s.Train {
			train.Dense().SetRow(i, d.Dense().RawRowView(row))
			train.Y = append(train.Y, d.Y[row])
		}
		each := casetest.Must(RandomSplits(synth.NewStream(1, "not used"), len(s.Train), 1, .5))(t)
		c := cv.c
		c.Data, c.Splits = train, each
		one := casetest.Must(New(c))(t)
		m := casetest.Must(one.Final(alpha))(t)
		p := make([]float64, 30)
		casetest.OK(t, m.Predict(p, d.Dense()))
		for _, row := range s.Val {
			want[row] += p[row]
			counts[row]++
		}
	}
	for i, c := range counts {
		if c == 0 != math.IsNaN(got[i]) || c > 0 && math.Abs(got[i]-want[i]/c) > 1e-10 {
			t.Errorf("example %d of %v splits: prediction %v, want %v", i, c, got[i], want[i]/c)
		}
	}
}

// For constant predictions, the mean square of the standard error equals the variance of the CV
// loss over many data sets.
func TestStandardErrorIsTheDeviationOfTheLoss(t *testing.T) {
	src := synth.NewStream(5, "standard error")
	const n, draws = 20, 4000
	var squares, deviations float64
	folds := casetest.Must(KFold(src, n, 5))(t)
	for range draws {
		cv := constantCV(t, normalVector(src, n), 0, SquaredError{}, folds...)
		loss := casetest.Must(cv.Eval(nil, []float64{2}))(t)
		e := casetest.Must(cv.StandardError())(t)
		squares += e * e / draws
		deviations += (loss - 1) * (loss - 1) / draws
	}
	// Both numbers are near 2/n, with relative errors of about 3 %.
	if ratio := squares / deviations; ratio < .85 || ratio > 1.15 {
		t.Errorf("mean square of the standard error %v, of the deviation %v", squares, deviations)
	}
}

// Before an evaluation has returned a loss, the methods return an error.
func TestExamplesNeedAnEvaluation(t *testing.T) {
	cv := elasticNetCV(t, 3, 4, nil)
	dst := make([]float64, 30)
	check := func(when string, fitted bool) {
		t.Helper()
		e, err := cv.StandardError()
		if errors.Is(err, qpdiff.ErrNotFitted) == fitted || math.IsNaN(e) == fitted {
			t.Errorf("%s: standard error %v, error %v", when, e, err)
		}
		if err := cv.OutOfFold(dst); errors.Is(err, qpdiff.ErrNotFitted) == fitted {
			t.Errorf("%s: OutOfFold gives the error %v", when, err)
		}
	}
	check("before the first Eval", false)
	x := []float64{.1, .1}
	cv.Eval(nil, x)
	check("after Eval", true)
	cv.Eval(nil, []float64{-1, 0})
	check("after an error", false)
	cv.Eval(make([]float64, 2), x)
	check("after a gradient", true)
	cv.Reset()
	check("after Reset", false)
	casetest.Must(cv.DataGradient(nil, dst, x))(t)
	check("after DataGradient", true)

	defer func() {
		if recover() == nil {
			t.Error("OutOfFold accepts a slice that is too short")
		}
	}()
	cv.OutOfFold(dst[1:])
}

func TestStandardErrorOfExtremeLosses(t *testing.T) {
	pair := Split{[]int{2}, []int{0, 1}}
	for name, c := range map[string]struct {
		loss  Loss
		y     []float64
		split Split
		want  float64
		err   error
	}{
		"one example":  {SquaredError{}, []float64{1, 2, 3}, Split{[]int{0, 1}, []int{2}}, 0, qpdiff.ErrShape},
		"equal losses": {SquaredError{}, []float64{1, -1, 3}, pair, 0, nil},
		"large":        {SquaredError{}, []float64{1e154, 0, 3}, pair, .5e308, nil},
		"small":        {SquaredError{}, []float64{1e-150, 0, 3}, pair, .5e-300, nil},
		"opposite":     {product{}, []float64{1.7e308, -1.7e308, 3}, pair, 1.7e308, nil},
		"far apart":    {product{}, []float64{1.7e308, -1.7e308, 3, -1.7e308, -1}, Split{[]int{2}, []int{0, 1, 3, 4}}, 0, qpdiff.ErrNotFinite},
	} {
		theta := 0.0
		if c.loss == (product{}) {
			theta = 1
		}
		cv := constantCV(t, c.y, theta, c.loss, c.split)
		if _, err := cv.Eval(nil, []float64{2}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := cv.StandardError()
		if !errors.Is(err, c.err) || err == nil && !(math.Abs(got-c.want) <= 1e-14*c.want) || err != nil && !math.IsNaN(got) {
			t.Errorf("%s: standard error %v, error %v, want %v and %v", name, got, err, c.want, c.err)
		}
		if err != nil && !strings.Contains(err.Error(), "standard error") {
			t.Errorf("%s: error %v does not name the standard error", name, err)
		}
	}
}

// product is the loss ŷ·y, which may be negative.
type product struct{}

func (product) Eval(prediction, y float64) (loss, slope float64) { return prediction * y, y }

// Eval stores the losses and predictions for these methods, and allocates nothing for this.
func TestEvalDoesNotAllocate(t *testing.T) {
	cv := elasticNetCV(t, 3, 8, func(c *Config) { c.Workers = 1 })
	x, grad := []float64{.02, .03}, make([]float64, 2)
	if a := testing.AllocsPerRun(10, func() { cv.Eval(grad, x) }); a != 0 {
		t.Errorf("Eval allocates %v times", a)
	}
}
