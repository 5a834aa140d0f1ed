package readings

import (
	"fmt"
	"strings"
	"testing"

	"cvgm/cvgm/experiment/mydata"
	"cvgm/cvgm/tune/assess"
	"cvgm/synth"
)

// numberResult returns a result with rows whose residuals have a given form.
func numberResult(rows int, residual func(prediction, noise float64) float64) *mydata.Result {
	src := synth.NewStream(3, "readings of my data")
	m := mydata.Model{Judged: mydata.Judged{Predictions: [][]float64{nil}}}
	for i := range rows {
		prediction := float64(i) / float64(rows)
		m.Judged.Predictions[0] = append(m.Judged.Predictions[0], prediction)
		m.Y = append(m.Y, prediction+residual(prediction, src.NormFloat64()))
	}
	return &mydata.Result{Models: []mydata.Model{m}}
}

func classResult(auc float64, bins ...assess.Bin) *mydata.Result {
	m := mydata.Model{Class: "yes", Judged: mydata.Judged{Classes: &assess.Classes{AUC: auc}, ROC: mydata.ROC{At: [2]float64{.1, .7}}}}
	if bins != nil {
		m.Judged.Classes.Probabilities = &assess.Probabilities{Calibration: bins}
	}
	return &mydata.Result{Classes: []string{"no", "yes"}, Models: []mydata.Model{m}}
}

func coefficientResult(c []float64, folds ...[]float64) *mydata.Result {
	return &mydata.Result{Models: []mydata.Model{{Features: []string{"area", "age", "door"}, Coefficients: c, FoldCoefficients: folds}}}
}

// manyUncertain returns a result with n uncertain coefficients, of which the last is the largest,
// and one larger coefficient that is certain.
func manyUncertain(n int) *mydata.Result {
	m := mydata.Model{Features: []string{"sure"}, Coefficients: []float64{99}, FoldCoefficients: [][]float64{{98}}}
	for i := range n {
		m.Features, m.Coefficients, m.FoldCoefficients[0] = append(m.Features, fmt.Sprintf("x%d", i)), append(m.Coefficients, float64(i+1)), append(m.FoldCoefficients[0], -1)
	}
	return &mydata.Result{Models: []mydata.Model{m}}
}

func pathResult(nonzero []int, lines ...[]float64) *mydata.Result {
	return &mydata.Result{Models: []mydata.Model{{Features: []string{"area", "age"}, Path: &mydata.Path{
		Hyper: "λ1", At: []float64{.1, 1, 2, 10, 100}, Tuned: 1, Features: []int{1, 0}, Coefficients: lines, Nonzero: nonzero, NonzeroTuned: 2}}}}
}

func learningResult(gain, se float64) *mydata.Result {
	return &mydata.Result{Models: []mydata.Model{{ConstantLoss: 50, Learning: mydata.Learning{Rows: []float64{20, 40}, Loss: []float64{10, 10 - gain}, Gain: gain, GainError: se}}}}
}

// Each sentence on a user's data depends on the result.
func TestReadingsOfMyData(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{MyDataPredictions(numberResult(300, func(_, noise float64) float64 { return noise })), "Half of the 300 rows lie within 0."},
		{MyDataPredictions(numberResult(300, func(_, noise float64) float64 { return noise })), "scatter alike"},
		{MyDataPredictions(numberResult(300, func(p, noise float64) float64 { return p * noise })), "as much in the highest third of the predictions as in the lowest: the errors grow"},
		{MyDataPredictions(numberResult(300, func(p, noise float64) float64 { return (1 - p) * noise })), "as much in the lowest third"},
		{MyDataPredictions(numberResult(300, func(p, noise float64) float64 { return 4*(p-.5)*(p-.5) + .1*noise })), "On average they bend"},
		{MyDataPredictions(numberResult(20, func(_, noise float64) float64 { return noise })), "20 rows are too few"},
		{MyDataPredictions(numberResult(1, func(_, noise float64) float64 { return noise })), "predicts the same for all rows"},
		{MyDataPredictions(&mydata.Result{Models: make([]mydata.Model, 1)}), ""},
		{MyDataPredictions(classResult(.8)), "in 80 % of all pairs. At the threshold it finds 70 % of the rows of “yes”, and wrongly takes 10 % of the other rows for it."},
		{MyDataPredictions(classResult(.8, assess.Bin{Rows: 9, Predicted: .9, Observed: .7}, assess.Bin{Rows: 9, Predicted: .1, Observed: .3})), "too extreme, by 0.2 on average"},
		{MyDataPredictions(classResult(.8, assess.Bin{Rows: 9, Predicted: .6, Observed: .9})), "too cautious, by 0.3 on average"},
		{MyDataPredictions(classResult(.8, assess.Bin{Rows: 9, Predicted: .6, Observed: .62})), "neither too extreme nor too cautious"},
		{MyDataPredictions(&mydata.Result{Classes: []string{"a", "b", "c"}, Models: append(classResult(.8).Models, classResult(.7).Models[0])}), "hardest class to tell from the others is “yes” (AUC 0.7)"},
		{MyDataCoefficients(coefficientResult([]float64{1, -3, 0}, []float64{.5, -4, 0}, []float64{-.5, -2, 0})), "of “age” moves the prediction by -3 (-4 to -2 over the folds), the most of all features. Do not rely on 1 of 2 coefficients (“area”): in some fold they are 0 or have the other sign."},
		{MyDataCoefficients(coefficientResult([]float64{1, -3, 0}, []float64{.5, -4, 0}, []float64{.6, -2, 0})), "the most of all features. Each coefficient that is not 0 has the same sign in every fold."},
		{MyDataCoefficients(manyUncertain(5)), "Do not rely on 5 of 6 coefficients (“x4”, “x3”, “x2”, “x1”, “x0”): in some"},
		{MyDataCoefficients(manyUncertain(8)), "Do not rely on 8 of 9 coefficients (“x7”, “x6”, “x5”, “x4”, “x3” and 3 more): in some"},
		{MyDataCoefficients(coefficientResult(nil)), ""},
		{MyDataPath(pathResult([]int{2, 2, 2, 1, 0}, []float64{5, 4, 2, 0, 0}, []float64{3, 3, 2, 1, 0})), "At the tuned λ1 = 1, 2 of 2 coefficients are not 0; at 10 only the coefficient of “area” is left."},
		{MyDataPath(pathResult([]int{2, 2, 2, 2, 2}, []float64{5, 4, 2, -1, .5}, []float64{3, 3, 2, 1, 1})), "From λ1 = 0.1 to 10, around the tuned 1, the coefficient of “age”, the largest, moves from +5 to -1."},
		{MyDataPath(pathResult(nil)), ""},
		{MyDataPath(coefficientResult(nil)), ""},
		{MyDataLearning(learningResult(2, .5)), "From 20 to 40 training rows the CV loss falls by 2 (4 % of a constant prediction's loss), with a standard error of 0.5. More rows are likely to help."},
		{MyDataLearning(learningResult(.2, .5)), "falls by 0.2 (0.4 % of a constant prediction's loss), with a standard error of 0.5. The change is within 2 standard errors: more rows of this kind promise little."},
		{MyDataLearning(learningResult(.6, .9)), "The change is within 2 standard errors, so it is open whether more rows would help."},
		{MyDataLearning(learningResult(-2, .5)), "rises by 2 (4 % of a constant prediction's loss), with a standard error of 0.5"},
		{MyDataSearch(&mydata.Result{Models: []mydata.Model{{Loss: 1, Curves: []mydata.Curve{{Hyper: "λ2", At: []float64{1, 2, 4}, Loss: []float64{1, 1, 2}}}}}}), "of the tuned one for λ2 up to 2."},
		{MyDataSearch(&mydata.Result{Models: []mydata.Model{{Loss: 1, Curves: []mydata.Curve{{Hyper: "λ2", At: []float64{1, 2, 4}, Loss: []float64{2, 1, 1}}}}}}), "of the tuned one for λ2 from 2 on."},
		{MyDataSearch(&mydata.Result{Models: []mydata.Model{{Loss: 1, Curves: []mydata.Curve{{Hyper: "λ2", At: []float64{1, 2, 4}, Loss: []float64{1, 1, 1}}}}}}), "of the tuned one for all shown values of λ2."},
		{MyDataSearch(&mydata.Result{Models: []mydata.Model{{Loss: 1, Curves: []mydata.Curve{{Hyper: "λ1", At: []float64{1, 2, 4, 8}, Loss: []float64{1.1, 1, 1.001, 2}}}}}}), "within 1 % of the tuned one for λ1 from 2 to 4, a factor of 2."},
	} {
		if !strings.Contains(c.got, c.want) || c.want == "" && c.got != "" {
			t.Errorf("%q lacks %q", c.got, c.want)
		}
	}
	if name := nameOf(strings.Repeat("x", 100) + "\x1b"); len([]rune(name)) != 42 {
		t.Errorf("%q", name)
	}
}
