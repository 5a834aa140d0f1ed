package assess

import (
	"errors"
	"math"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"
)

// sumTol is the largest accepted relative difference, because sums in another order and quantiles
// found by bisection differ by rounding.
const sumTol = 1e-9

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= sumTol*math.Abs(want)) && !(got != got && want != want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Regress agrees with a computation by hand, even in units in which squares overflow or underflow.
func TestRegress(t *testing.T) {
	for _, exponent := range []int{0, -600, 600} {
		unit := math.Ldexp(1, exponent)
		s := Sample{Y: []float64{unit, 3 * unit, 5 * unit, 99 * unit, 7 * unit}, Predictions: []float64{2 * unit, 3 * unit, 3 * unit, math.NaN(), 0}, Weights: []float64{1, 1, 2, 1, 0}}
		r, err := Regress(s)
		if err != nil {
			t.Fatal(err)
		}
		// The errors 1, 0, −2 have the weights 1, 1, 2.
		near(t, "RMSE", r.RMSE, 1.5*unit)
		near(t, "MAE", r.MAE, 1.25*unit)
		near(t, "R²", r.R2, 1-9./(2.5*2.5+.5*.5+2*1.5*1.5))
		twice, err := Regress(s, Sample{Y: s.Y, Predictions: s.Y})
		if err != nil {
			t.Fatal(err)
		}
		near(t, "the mean RMSE of two samples", twice.RMSE, .75*unit)
		near(t, "the mean R² of two samples", twice.R2, (r.R2+1)/2)
	}
	flat, err := Regress(Sample{Y: []float64{2, 2}, Predictions: []float64{2, 3}})
	if err != nil || flat.R2 == flat.R2 || flat.MAE != .5 {
		t.Errorf("equal labels: %v, %v", flat, err)
	}
}

// Classify returns the mean AUC of the folds, because predictions of different folds may have
// different offsets.
func TestClassify(t *testing.T) {
	s := Sample{Y: []float64{-1, 1, -1, 1, 1, -1}, Predictions: []float64{-2, 1, 5, 9, 5, 0}, Folds: [][]int{{0, 1}, {2, 3, 4, 5}}}
	c, err := Classify(0, false, s)
	if err != nil {
		t.Fatal(err)
	}
	if want := ([2][2]float64{{2, 1}, {0, 3}}); c.Confusion != want || c.Probabilities != nil {
		t.Errorf("%+v, want the confusion %v", c, want)
	}
	near(t, "accuracy", c.Accuracy, 5./6)
	near(t, "balanced accuracy", c.Balanced, (1+2./3)/2)
	near(t, "area", c.AUC, (1+3.5/4)/2)
	s.Folds = nil
	pooled, err := Classify(4.5, false, s)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "area of one fold", pooled.AUC, 7.5/9)
	near(t, "accuracy at another threshold", pooled.Accuracy, 4./6)
	s.Weights = []float64{2, 1, 1, 1, 1, 1}
	weighted, err := Classify(0, false, s)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "accuracy with weights", weighted.Accuracy, 6./7)
	near(t, "area with weights", weighted.AUC, 10.5/12)
	one, err := Classify(0, true, Sample{Y: []float64{1, 1}, Predictions: []float64{1, 2}})
	if err != nil || one.AUC == one.AUC || one.Balanced == one.Balanced || one.Accuracy != 1 {
		t.Errorf("one class: %+v, %v", one, err)
	}
}

// Classify returns the log loss, the Brier score and the calibration of probabilities, even for
// very large log odds.
func TestProbabilities(t *testing.T) {
	const n = 4000
	src := synth.NewStream(3, "log odds")
	s := Sample{Y: make([]float64, n), Predictions: make([]float64, n)}
	var logLoss, brier float64
	for i := range n {
		s.Predictions[i] = 2 * src.NormFloat64()
		p := 1 / (1 + math.Exp(-s.Predictions[i]))
		if s.Y[i] = -1; src.Float64() < p {
			s.Y[i] = 1
		}
		of := map[float64]float64{1: p, -1: 1 - p}[s.Y[i]]
		logLoss -= math.Log(of) / n
		brier += (1 - of) * (1 - of) / n
	}
	c, err := Classify(0, true, s)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Probabilities; math.Abs(p.LogLoss-logLoss) > sumTol || math.Abs(p.Brier-brier) > sumTol || len(p.Calibration) != maxBins {
		t.Fatalf("%+v, want %v and %v", p, logLoss, brier)
	}
	rows := 0
	for _, b := range c.Probabilities.Calibration {
		rows += b.Rows
		if scatter := 4 * math.Sqrt(.25/float64(b.Rows)); math.Abs(b.Predicted-b.Observed) > scatter {
			t.Errorf("predicted %v, observed %v of %d", b.Predicted, b.Observed, b.Rows)
		}
	}
	if rows != n {
		t.Errorf("%d rows in bins", rows)
	}
	for i := range s.Predictions {
		s.Predictions[i] += 2 // odds that are too high
	}
	off, err := Classify(0, true, s)
	if err != nil || off.Probabilities.Calibration[4].Predicted-off.Probabilities.Calibration[4].Observed < .2 {
		t.Errorf("shifted odds: %+v, %v", off.Probabilities, err)
	}
	far, err := Classify(0, true, Sample{Y: []float64{1, -1}, Predictions: []float64{-1e4, -1e4}})
	if err != nil || far.Probabilities.LogLoss != 5e3 || far.Probabilities.Brier != .5 {
		t.Errorf("far odds: %+v, %v", far.Probabilities, err)
	}
}

// Each error names its field and has its kind.
func TestRefusals(t *testing.T) {
	y, inf := []float64{1, -1}, math.Inf(1)
	for name, test := range map[string]struct {
		samples []Sample
		kind    error
	}{
		"none":             {nil, qpdiff.ErrEmpty},
		"no predictions":   {[]Sample{{Y: y}}, qpdiff.ErrShape},
		"few weights":      {[]Sample{{Y: y, Predictions: y, Weights: y[:1]}}, qpdiff.ErrShape},
		"negative weights": {[]Sample{{Y: y, Predictions: y, Weights: y}}, qpdiff.ErrDomain},
		"infinite":         {[]Sample{{Y: y, Predictions: []float64{1, inf}}}, qpdiff.ErrNotFinite},
		"label NaN":        {[]Sample{{Y: []float64{math.NaN(), 1}, Predictions: y}}, qpdiff.ErrNotFinite},
		"fold's row":       {[]Sample{{Y: y, Predictions: y, Folds: [][]int{{2}}}}, qpdiff.ErrDomain},
		"no row":           {[]Sample{{Y: y, Predictions: []float64{math.NaN(), math.NaN()}}}, qpdiff.ErrEmpty},
		"the second":       {[]Sample{{Y: y, Predictions: y}, {Y: y}}, qpdiff.ErrShape},
	} {
		if _, err := Regress(test.samples...); !errors.Is(err, test.kind) {
			t.Errorf("%s: Regress: %v", name, err)
		}
		if _, err := Classify(0, true, test.samples...); !errors.Is(err, test.kind) {
			t.Errorf("%s: Classify: %v", name, err)
		}
	}
	if _, err := Classify(0, true, Sample{Y: []float64{1, 0}, Predictions: y}); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("label 0: %v", err)
	}
	if _, err := Classify(inf, true, Sample{Y: y, Predictions: y}); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("threshold: %v", err)
	}
}

// Metrics that the rows do not determine are left out of the text.
func TestTextsWithoutNaN(t *testing.T) {
	classes, err := Classify(0, true, Sample{Y: []float64{1, 1}, Predictions: []float64{2, -1}})
	if text := classes.String(); err != nil || strings.Contains(text, "NaN") || text != "accuracy 0.5, log loss 0.72, Brier score 0.274; of label −1 0 right and 0 wrong, of label +1 1 right and 1 wrong" {
		t.Errorf("%q, %v", text, err)
	}
	many := Multiclass{Accuracy: .5, Majority: 1, Balanced: math.NaN()}
	if text := many.String(); text != "accuracy 0.5 where the largest class has 1" {
		t.Error(text)
	}
}
