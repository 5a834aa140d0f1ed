package figures

import (
	"fmt"
	"slices"
	"strings"
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

// Each row of the map has a mark for each cell with its value, by the sign of the clear difference,
// and the mean of the cells.
func TestGradientMapHasAllCells(t *testing.T) {
	cell := func(train int, mean float64) manyhyper.MapCell {
		return manyhyper.MapCell{MapPlace: manyhyper.MapPlace{Problem: manyhyper.MapOfPenalties, Train: train, Hyperparameters: 4, Share: .5, Noise: 1},
			CVLessTraining: experiment.Estimate{Mean: mean, Margin: .1, N: 5}}
	}
	r := &manyhyper.MapResult{Cells: []manyhyper.MapCell{cell(20, -.5), cell(20, .05), cell(80, .25)}, Effects: []manyhyper.MapEffect{
		{Problem: manyhyper.MapOfPenalties, Factor: 0, Level: 20, CVLessTraining: experiment.Estimate{Mean: -.225, Margin: .125, N: 5}},
		{Problem: manyhyper.MapOfPenalties, Factor: 0, Level: 80, CVLessTraining: experiment.Estimate{Mean: .25, Margin: .125, N: 5}},
		{Problem: manyhyper.MapOfPenalties, Factor: 3, Level: 1, CVLessTraining: experiment.Estimate{Mean: -.0625, Margin: .0625, N: 5}}}}
	panel := GradientMap(r).Panels[0][0]
	text := (&Figure{Panels: [][]*Panel{{panel}}}).CSV()
	for _, want := range []string{"clearly better\",-0.5,0", "not clear\",0.05,0", "clearly worse\",0.25,-1", "mean of the cells,-0.225,0", "mean of the cells,0.25,-1", "of the mean,0.375,-1",
		"clearly better\",-0.5,-5", "not clear\",0.05,-5", "clearly worse\",0.25,-5", "mean of the cells,-0.0625,-5"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	var labels []string
	for _, tick := range panel.Plot.Y.Tick.Marker.Ticks(-9, 1) {
		labels = append(labels, tick.Label)
	}
	if want := []string{"20 examples", "80 examples", "", "", "", "noise 1"}; !slices.Equal(labels, want) {
		t.Errorf("labels %q, want %q", labels, want)
	}
}
