package tune

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// overfitted returns data without any relation between features and labels, and a Tuner with tiny
// penalties.
func overfitted() (Tuner, learn.Data) {
	src := synth.NewStream(7, "overfitted")
	d := learn.Data{X: mat.NewDense(30, 20, nil), Y: make([]float64, 30)}
	for i := range d.Y {
		d.Y[i] = 5 + src.NormFloat64()
		for j := range 20 {
			d.Dense().Set(i, j, src.NormFloat64())
		}
	}
	return Tuner{Fixed: map[string]float64{"λ1": 1e-6, "λ2": 1e-6}, Repeats: 1}, d
}

// Tune returns a constant prediction if the tuned model has a higher CV loss, unless KeepWinner is
// set.
func TestTuneTakesTheConstant(t *testing.T) {
	tuner, d := overfitted()
	for _, outer := range []int{0, -1} {
		tuner.OuterFolds = outer
		tuned := mustTune(t, tuner, d)
		if tuned.Choice != ChoseConstant || tuned.Warnings[0].Kind != Worse || !strings.HasPrefix(tuned.Verdict(), "Use a constant prediction") || tuned.Loss != tuned.ConstantLoss || !(tuned.Winner.Loss > tuned.Loss) {
			t.Fatalf("%v", tuned)
		}
		var mean, loss float64
		for i, y := range d.Y {
			mean += y / 30
			loss += (tuned.OutOfFold[i] - y) * (tuned.OutOfFold[i] - y) / 30
		}
		var squares float64
		for i, y := range d.Y {
			e := (tuned.OutOfFold[i]-y)*(tuned.OutOfFold[i]-y) - loss
			squares += e * e / 29 / 30
		}
		var model cvgm.Model
		casetest.OK(t, json.Unmarshal(casetest.Must(json.Marshal(tuned.Model))(t), &model))
		predicted := make([]float64, len(d.Y))
		casetest.OK(t, model.Predict(predicted, d.X))
		p := predicted[3]
		if math.Abs(p-mean) > sumTol || math.Abs(loss-tuned.Loss) > sumTol || math.Abs(tuned.StandardError-math.Sqrt(squares)) > sumTol {
			t.Errorf("predicts %v, the mean is %v; loss %v ± %v, want %v ± %v", p, mean, tuned.Loss, tuned.StandardError, loss, math.Sqrt(squares))
		}
		if outer == 0 && math.Abs(tuned.Risk.Selected.Mean-tuned.Risk.Constant.Mean) > .05*tuned.Risk.Constant.Mean {
			t.Errorf("selected %v, constant %v", tuned.Risk.Selected, tuned.Risk.Constant)
		}
		tuner.KeepWinner = true
		kept := mustTune(t, tuner, d)
		if kept.Choice != ChoseWinner || kept.Warnings[0].Kind != Worse || kept.Loss != tuned.Winner.Loss || kept.Model != kept.Winner.Model {
			t.Errorf("kept: %v", kept)
		}
		tuner.KeepWinner = false
	}
}

// If Tune chooses a constant prediction for a table of classes, the pipeline predicts the larger
// class.
func TestTuneTakesTheConstantOfClasses(t *testing.T) {
	src := synth.NewStream(5, "classes")
	text := "x,level,kind\n"
	for i := range 40 {
		text += []string{"0,a,", "1,b,", "2,a,", "3,b,"}[int(4*src.Float64())] + map[bool]string{true: "rare\n", false: "usual\n"}[i%6 == 0]
	}
	rows := casetest.Must(table.ReadCSV(strings.NewReader(text), "kind"))(t)
	tuned, err := Tuner{Fixed: map[string]float64{"C": 1e6}, Learner: &linear.Logistic{Intercept: linear.UnpenalisedIntercept}, Repeats: 1}.TuneTable(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if tuned.Choice != ChoseConstant {
		t.Fatalf("%v", tuned)
	}
	for _, class := range casetest.Must(tuned.Pipeline.Class(rows))(t) {
		if class != "usual" {
			t.Errorf("class %q", class)
		}
	}
	if p := casetest.Must(tuned.Pipeline.Probability(rows))(t); slices.Min(p) != slices.Max(p) {
		t.Errorf("probabilities %v", p)
	}
}

// A constant model does not have the degrees of freedom of the tuned model.
func TestTuneTakesTheConstantOfDegreesOfFreedom(t *testing.T) {
	tuner, d := overfitted()
	tuner.Learner, tuner.Fixed, tuner.OuterFolds = &penalised.GLM{Intercept: true}, map[string]float64{"λ[0]": 1e-6}, -1
	if tuned := mustTune(t, tuner, d); tuned.Choice != ChoseConstant || tuned.Model.Freedom != nil || tuned.Winner.Model.Freedom == nil {
		t.Errorf("%v", tuned)
	}
}

// Tune replaces the tuned model only if a CV loss or an interval shows the model to be worse.
func TestTuneChoice(t *testing.T) {
	compare := func(name string, mean, reach float64) assess.Comparison {
		return assess.Comparison{With: name, Percent: Estimate{Mean: mean, Low: mean - reach, High: mean + reach}}
	}
	for name, test := range map[string]struct {
		loss, byDefault, constant float64 // CV losses
		ofConstant, ofDefault     [2]float64
		lower                     bool // the default's risk is below the constant's
		want                      Choice
		doubt                     bool
	}{
		"better":                             {1, 2, 3, [2]float64{-10, 5}, [2]float64{-10, 5}, true, ChoseWinner, false},
		"not decided":                        {1, 2, 3, [2]float64{-1, 5}, [2]float64{-1, 5}, true, ChoseWinner, false},
		"rounding":                           {1, 2, 3, [2]float64{1e-9, 5}, [2]float64{1e-9, 5}, true, ChoseWinner, false},
		"above the constant":                 {1, 2, 3, [2]float64{1, 5}, [2]float64{-1, 5}, true, ChoseWinner, true},
		"above the default":                  {1, 2, 3, [2]float64{-1, 5}, [2]float64{1, 5}, true, ChoseWinner, true},
		"worse than the constant":            {1, 2, 3, [2]float64{10, 5}, [2]float64{-1, 5}, true, ChoseConstant, false},
		"worse than the default":             {1, 2, 3, [2]float64{-1, 5}, [2]float64{10, 5}, true, ChoseDefault, false},
		"default above constant":             {1, 4, 3, [2]float64{-1, 5}, [2]float64{10, 5}, true, ChoseConstant, false},
		"CV loss above":                      {3.1, 4, 3, [2]float64{-1, 5}, [2]float64{-1, 5}, true, ChoseConstant, false},
		"CV loss above by nothing":           {3 + 1e-12, 4, 3, [2]float64{-1, 5}, [2]float64{-1, 5}, true, ChoseWinner, false},
		"worse than both":                    {1, 2, 3, [2]float64{10, 5}, [2]float64{10, 5}, true, ChoseDefault, false},
		"worse than both, constant is lower": {1, 2, 3, [2]float64{10, 5}, [2]float64{10, 5}, false, ChoseConstant, false},
	} {
		w := &tuning{result: &Tuned{Loss: test.loss, DefaultLoss: test.byDefault, ConstantLoss: test.constant, Risk: &Risk{
			Comparisons: []assess.Comparison{compare(constantName, test.ofConstant[0], test.ofConstant[1]), compare(defaultName, test.ofDefault[0], test.ofDefault[1])},
		}}}
		if w.result.Risk.Default.Mean = 1; !test.lower {
			w.result.Risk.Default.Mean = -1
		}
		w.result.Risk.Constant.Mean = 2 * w.result.Risk.Default.Mean // above 1, below −1
		if got, why := w.result.best(); got != test.want || (why != "") != (test.doubt || test.want != ChoseWinner) {
			t.Errorf("%s: choice %v, %q", name, got, why)
		}
		kept := w.result.Verdict() // as with KeepWinner
		if w.result.Choice = test.want; test.want != ChoseWinner && strings.NewReplacer(", which Model is", "", ", with which Model is fitted", "").Replace(w.result.Verdict()) != kept {
			t.Errorf("%s: %q, but %q with KeepWinner", name, w.result.Verdict(), kept)
		}
	}
}

// If nothing decides between tuning and the defaults, the verdict names both when the defaults have
// the lower estimated risk. The warning gives the same reason, directly below the verdict.
func TestVerdictNamesBothModels(t *testing.T) {
	better := assess.Comparison{With: constantName, Percent: Estimate{Mean: -88, Low: -99, High: -76}}
	for _, test := range []struct {
		mean, reach float64
		want        string
	}{
		{-5, 1, "Use the tuned model: it is better than a constant prediction and than the default hyperparameters.\n  better"},
		{-1, 5, "Use the tuned model: it is better than a constant prediction; against the default hyperparameters nothing is decided.\n  better"},
		{1e-9, 5, "Use the tuned model: it is better than a constant prediction; against the default hyperparameters nothing is decided.\n  better"},
		{1, 5, "Use the tuned model or the default hyperparameters: nothing decides between them, and the defaults have the lower estimated risk.\n" +
			"warning: The tuned model may be worse than the default hyperparameters: gain -1 % [-6, 4] of a constant's risk.\n  better"},
		{10, 5, "Use the default hyperparameters: the tuned model is worse.\n" +
			"warning: Tuning is worse than the default hyperparameters: gain -10 % [-15, -5] of a constant's risk. Model is the tuned one, because KeepWinner is set.\n  better"},
	} {
		byDefault := assess.Comparison{With: defaultName, Percent: Estimate{Mean: test.mean, Low: test.mean - test.reach, High: test.mean + test.reach}}
		w := &tuning{result: &Tuned{Loss: 1, DefaultLoss: 2, ConstantLoss: 3, Risk: &Risk{Comparisons: []assess.Comparison{better, byDefault}}}}
		w.KeepWinner = true
		w.warn(AtBound, "Another warning.")
		casetest.OK(t, w.chooseModel())
		if got := w.result.String(); !strings.HasPrefix(got, test.want) || !strings.HasSuffix(got, "\nwarning: Another warning.\n") {
			t.Errorf("%v ± %v:\n%s\nwant\n%s", test.mean, test.reach, got, test.want)
		}
	}
}

// If the default hyperparameters replace the winner, Tuned.Loss is their CV loss.
func TestTuneTakesTheDefault(t *testing.T) {
	w := beginTuning(t, Tuner{OuterFolds: -1}, houseData(40))
	tuned := casetest.Must(w.run())(t)
	worse := assess.Comparison{With: defaultName, Percent: Estimate{Mean: 3, Low: 1, High: 5}}
	tuned.Risk = &Risk{Comparisons: []assess.Comparison{worse}}
	casetest.OK(t, w.chooseModel())
	if tuned.Choice != ChoseDefault || !slices.Equal(tuned.Model.Hyper, tuned.DefaultHyper) || math.Abs(tuned.Loss-tuned.DefaultLoss) > sumTol*tuned.Loss || !strings.HasPrefix(tuned.Verdict(), "Use the default hyperparameters") {
		t.Errorf("%v", tuned)
	}
	if tuned.Winner.Loss >= tuned.Loss || tuned.Winner.Model == tuned.Model || slices.Equal(tuned.Winner.Hyper, tuned.Hyper) {
		t.Errorf("winner %+v", tuned.Winner)
	}
	w = beginTuning(t, Tuner{OuterFolds: -1}, houseData(40))
	tuned = casetest.Must(w.run())(t)
	tuned.Risk, tuned.DefaultHyper = &Risk{Comparisons: []assess.Comparison{worse}}, []float64{-1, -1}
	casetest.OK(t, w.chooseModel())
	if tuned.Choice != ChoseWinner || tuned.Warnings[0].Kind != Worse || !strings.Contains(tuned.Warnings[0].Text, "cannot be fitted") {
		t.Errorf("of a default that fails: %v", tuned)
	}
}

// A sentence on two losses shows as many digits as distinguish them.
func TestDistinguishedNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b  float64
		wants string
	}{
		{2, 1, "2 1"}, {10.9504, 10.9501, "10.9504 10.9501"}, {1.23456789, 1.23456788, "1.23456789 1.23456788"}, {3, 3, "3 3"}, {12345, 1, "1.234e+04 1"}, {math.Inf(1), 5, "+Inf 5"},
	} {
		a, b := distinctTexts(c.a, c.b)
		if got := a + " " + b; got != c.wants {
			t.Errorf("%q, want %q", got, c.wants)
		}
	}
}
