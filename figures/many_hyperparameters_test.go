package figures

import (
	"fmt"
	"slices"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
	"cvgm/cvgm/experiment/searches"
)

// Each column has the test loss of a remedy, divided by the loss of a single hyperparameter tuned
// on folds.
func TestManyHyperparametersGains(t *testing.T) {
	row := func(search string, hyperparameters int, test, cv float64) manyhyper.LeverRow {
		less := func(v float64) experiment.Comparison {
			return experiment.Comparison{Difference: experiment.Estimate{Mean: v, Margin: .2, N: 5}}
		}
		return manyhyper.LeverRow{Search: search, Hyperparameters: hyperparameters, CV: experiment.Estimate{Mean: cv, N: 5},
			Test: experiment.Estimate{Mean: test, N: 5}, TestLessOne: less(test - 4), CVLessOne: less(cv - 2)}
	}
	table := ManyHyperparametersGains(&manyhyper.LeversResult{Problems: []manyhyper.Lever{{Name: "p", Constant: experiment.Estimate{Mean: 9}, Rows: []manyhyper.LeverRow{
		row(manyhyper.SearchFolds, 1, 4, 2), row(manyhyper.SearchFolds, 3, 1, 1.5), row(manyhyper.SearchFolds, 8, 3, 1),
		row(manyhyper.SearchHalves, 1, 5, 3), row(manyhyper.SearchHalves, 3, 6, 3), row(manyhyper.SearchHalves, 8, 7, 3),
		row(manyhyper.SearchTuner, 8, 2, 1)}}}})
	want := "[p 4.000 9.000 8 0.75 ± 0.05 1.25 ± 0.05 1.75 ± 0.05 0.50 ± 0.05 0.25 ± 0.05 3 0.50 ± 0.10]"
	if got := fmt.Sprint(table.Rows[0]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// All methods have their names beside their lines.
func TestOuterPenaltyNamesItsLines(t *testing.T) {
	r := &searches.StochasticResult{Params: searches.DefaultStochastic()}
	for range r.Params.Weights {
		r.Stochastic, r.Training = append(r.Stochastic, experiment.Estimate{Mean: 1, Margin: .1, N: 3}), append(r.Training, experiment.Estimate{Mean: 2, Margin: .1, N: 3})
	}
	want := []string{"stochastic CVGM", "training gradient", searches.StochasticPlain, searches.StochasticAlone}
	for _, name := range want[2:] {
		r.Methods = append(r.Methods, searches.StochasticMethod{Name: name, Risk: experiment.Estimate{Mean: 3}})
	}
	var got []string
	for _, l := range OuterPenalty(r).Panels[0][0].DirectLabels() {
		got = append(got, l.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("names beside the lines: %q, want %q", got, want)
	}
}
