package cvgm

import (
	"errors"
	"math"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"
)

// circleData draws n examples of two classes that a circle divides, up to noise.
func circleData(seed uint64, n, features int) learn.Data {
	src := synth.NewStream(seed, "test classes")
	d := learn.Data{X: normalMatrix(src, n, features), Y: make([]float64, n)}
	for i := range d.Y {
		row := d.Dense().RawRowView(i)
		r := 0.0
		for _, v := range row {
			r += v * v
		}
		d.Y[i] = math.Copysign(1, r-float64(features)+.5*row[0]+src.NormFloat64()/2)
	}
	return d
}

func classifierCV(t testing.TB, seed uint64, k int, learner func() learn.Learner, change func(*Config)) *CV {
	t.Helper()
	d := circleData(seed, 40, 2)
	splits := casetest.Must(RandomSplits(synth.NewStream(seed, "splits"), 40, k, .7))(t)
	c := Config{Data: d, Splits: splits, Loss: LogisticLoss{}, Learner: learner}
	if change != nil {
		change(&c)
	}
	cv := casetest.Must(New(c))(t)
	return cv
}

// New names the split that has only one class, or the label that the classifier refuses.
func TestClassifierErrorsNameTheSplit(t *testing.T) {
	d := circleData(1, 10, 2)
	for i := range d.Y {
		d.Y[i] = math.Copysign(1, float64(i)-4.5)
	}
	splits := []Split{{Train: []int{1, 2, 8, 9}, Val: []int{0, 5}}, {Train: []int{0, 1, 2, 3}, Val: []int{9}}}
	for _, learner := range []func() learn.Learner{
		func() learn.Learner { return new(margin.SVM) },
		func() learn.Learner { return new(kernel.SVM) },
	} {
		_, err := New(Config{Data: d, Splits: splits, Loss: LogisticLoss{}, Learner: learner})
		var split *SplitError
		var arg *qpdiff.ArgError
		if !errors.As(err, &split) || split.Split != 1 || !errors.As(err, &arg) || arg.Arg != "Data.Y" || !errors.Is(err, qpdiff.ErrIllPosed) {
			t.Errorf("one class: %v", err)
		}
	}
}
