package main

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm"
)

// The printed CV loss equals the loss of the printed predictions, which are out of fold.
func TestPredictionsGiveTheLoss(t *testing.T) {
	const rows, folds, rounding = 40, 4, 1e-12
	for name, loss := range map[string]cvgm.Loss{"elastic-net": cvgm.SquaredError{}, "logistic": cvgm.LogisticLoss{}, "svc": cvgm.Hinge{},
		"smooth": cvgm.SquaredError{}, "bands": cvgm.SquaredError{}} {
		t.Run(name, func(t *testing.T) {
			text := new(strings.Builder)
			fmt.Fprintln(text, "a,b,y,fold")
			y := make([]float64, rows)
			for i := range y {
				a, b := math.Sin(float64(7*i)), math.Cos(float64(5*i))
				if y[i] = 2*a - b + math.Sin(float64(i*i)); loss != (cvgm.SquaredError{}) {
					y[i] = math.Copysign(1, y[i])
				}
				fmt.Fprintln(text, strings.Join(strings.Fields(fmt.Sprint(a, b, y[i], (i+1)%folds)), ","))
			}
			r, err := models[name].tuned(strings.NewReader(text.String()))
			if err != nil {
				t.Fatal(err)
			}
			var mean float64 // the folds have equal sizes
			for i, p := range r.Predictions {
				l, _ := loss.Eval(p, y[i])
				mean += l / rows
			}
			if len(r.Predictions) != rows || !(math.Abs(mean-r.Loss) <= rounding*r.Loss) {
				t.Errorf("CV loss %v by the predictions, %v by Tuner", mean, r.Loss)
			}
			if r.Fits != r.Evaluations*folds+1 || len(r.Hyper) != len(r.Names) || !(r.Seconds > 0) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// An evaluation at the tuned hyperparameters has the tuned CV loss.
func TestEvaluationGivesTheTunedLoss(t *testing.T) {
	const rounding = 1e-12
	text := new(strings.Builder)
	fmt.Fprintln(text, "a,b,y,fold")
	for i := range 40 {
		a, b := math.Sin(float64(7*i)), math.Cos(float64(5*i))
		fmt.Fprintf(text, "%v,%v,%v,%d\n", a, b, math.Copysign(1, 2*a-b+math.Sin(float64(i*i))), i%4)
	}
	for _, name := range []string{"elastic-net", "lasso", "logistic"} {
		tuned, err := models[name].tuned(strings.NewReader(text.String()))
		if err != nil {
			t.Fatal(err)
		}
		value, err := models[name].evaluated(strings.NewReader(text.String()), tuned.Hyper, false)
		if err != nil || !(math.Abs(value.Loss-tuned.Loss) <= rounding*tuned.Loss) || value.Gradient != nil {
			t.Errorf("%s: value alone %+v, CV loss %v by Tuner; %v", name, value, tuned.Loss, err)
		}
		r, err := models[name].evaluated(strings.NewReader(text.String()), tuned.Hyper, true)
		if err != nil || !(math.Abs(r.Loss-tuned.Loss) <= rounding*tuned.Loss) || len(r.Gradient) != len(tuned.Hyper) {
			t.Errorf("%s: CV loss %v by an evaluation, %v by Tuner; %v", name, r.Loss, tuned.Loss, err)
		}
		if name == "lasso" && tuned.Hyper[1] != 0 {
			t.Errorf("lasso: %v", tuned.Hyper)
		}
	}
}
