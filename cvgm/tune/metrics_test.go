package tune

import (
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
)

// sumTol is the largest accepted relative difference between sums in different orders.
const sumTol = 1e-9

// The estimated risk equals the squared RMSE for regression, and the log loss for logistic
// regression.
func TestTuneMetrics(t *testing.T) {
	d := houseData(60)
	tuned := mustTune(t, Tuner{Repeats: 1}, d)
	r := tuned.Risk
	if r.Classes != nil || r.Regression == nil {
		t.Fatalf("%+v", r)
	}
	if m := r.Regression; math.Abs(m.RMSE*m.RMSE-r.Tuned.Mean) > sumTol*r.Tuned.Mean || !(m.MAE < m.RMSE) || !(m.R2 > .5 && m.R2 < 1) {
		t.Errorf("%v at a risk of %v", m, r.Tuned)
	}
	if !strings.Contains(tuned.String(), "R² 0.") {
		t.Errorf("no R² in\n%v", tuned)
	}
	middle := slices.Sorted(slices.Values(d.Y))[20]
	for i, y := range d.Y {
		d.Y[i] = math.Copysign(1, y-middle)
	}
	for _, test := range []struct {
		name  string
		tuner Tuner
		odds  bool
	}{{"logistic", Tuner{Repeats: 1}, true}, {"balanced", Tuner{Balanced: true, Repeats: 1}, true}, {"svm", Tuner{Learner: &margin.SVM{}, Starts: 1, Repeats: 1}, false}} {
		r := mustTune(t, test.tuner, d).Risk
		m := r.Classes
		if m == nil || r.Regression != nil || (m.Probabilities != nil) != test.odds {
			t.Fatalf("%s: %+v", test.name, r)
		}
		if test.name == "logistic" && math.Abs(m.Probabilities.LogLoss-r.Tuned.Mean) > sumTol*r.Tuned.Mean {
			t.Errorf("log loss %v at a risk of %v", m.Probabilities, r.Tuned)
		}
		if c := m.Confusion; c[0][0]+c[0][1]+c[1][0]+c[1][1] != 60 || !(m.AUC > .7) || !(m.Accuracy > .65) {
			t.Errorf("%s: %v", test.name, m)
		}
	}
	all := mustTune(t, Tuner{Threshold: -1e6, Repeats: 2}, d).Risk.Classes
	if all.Confusion[0][0] != 0 || all.Confusion[1][0] != 0 || all.Balanced != .5 {
		t.Errorf("below the threshold: %v", all)
	}
	if _, err := (Tuner{Threshold: math.NaN()}).Tune(t.Context(), d); err == nil || !strings.Contains(err.Error(), "Tuner.Threshold") {
		t.Errorf("threshold NaN: %v", err)
	}
}

// pinball is the loss of the quantile .9.
type pinball struct{}

func (pinball) Eval(prediction, y float64) (loss, slope float64) {
	if r := y - prediction; r > 0 {
		return .9 * r, -.9
	}
	return .1 * (prediction - y), .1
}

// doubledSquares is twice the squared error.
type doubledSquares struct{}

func (doubledSquares) Eval(prediction, y float64) (loss, slope float64) {
	loss, slope = cvgm.SquaredError{}.Eval(prediction, y)
	return 2 * loss, 2 * slope
}

// Tune warns if the learner minimises another loss than the validation loss.
func TestTuneWarnsOfAnotherLoss(t *testing.T) {
	for _, test := range []struct {
		tuner Tuner
		want  bool
	}{
		{Tuner{}, false}, {Tuner{Loss: doubledSquares{}}, false}, {Tuner{Loss: pinball{}}, true}, {Tuner{Loss: cvgm.AbsoluteError{}}, true},
		{Tuner{Learner: &linear.Huber{Intercept: true}}, false}, {Tuner{Learner: &linear.Huber{Intercept: true}, Loss: cvgm.HuberLoss{Delta: 1}}, false},
		{Tuner{Learner: &linear.Huber{Intercept: true}, Loss: cvgm.SquaredError{}}, true},
		{Tuner{Learner: new(absoluteLearner), Loss: cvgm.HuberLoss{Delta: 1}}, false}, {Tuner{Learner: new(absoluteLearner), Loss: cvgm.SquaredError{}}, true},
	} {
		test.tuner.OuterFolds, test.tuner.MaxEvals = -1, 2
		if tuned := mustTune(t, test.tuner, houseData(40)); slices.Contains(tuned.kinds(), OtherLoss) != test.want {
			t.Errorf("%T and %T: warnings %v", test.tuner.Learner, test.tuner.Loss, tuned.Warnings)
		}
	}
}
