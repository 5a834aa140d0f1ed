package figures

import (
	"fmt"
	"math"
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

// Methods without an outer penalty are at the weight 0. Both gradients also have a point at the
// chosen weight.
func TestOuterPenaltyHasAllMethods(t *testing.T) {
	r := &searches.StochasticResult{Params: searches.DefaultStochastic()}
	risk := func(mean float64) experiment.Estimate { return experiment.Estimate{Mean: mean, Margin: .0625, N: 3} }
	for range r.Params.Weights {
		r.Stochastic, r.Training = append(r.Stochastic, risk(.5)), append(r.Training, risk(.75))
	}
	for k, name := range []string{searches.StochasticAlone, searches.StochasticTraining, searches.StochasticPlain, searches.StochasticCMAES, searches.StochasticRandom, searches.StochasticPenalty, searches.StochasticTrainPenalty} {
		r.Methods = append(r.Methods, searches.StochasticMethod{Name: name, Risk: risk(1 + float64(k)/8)})
	}
	f := OuterPenalty(r)
	for _, want := range []string{"risk,stochastic CVGM,-1.03,1,", "risk,stochastic CVGM,-0.03,0.5,", "risk,stochastic CVGM,2.63", "risk,training gradient,-0.97,1.125,", "risk,training gradient,0.03,0.75,", "risk,training gradient,2.69",
		"risk,plain CVGM,-1.09,1.25,", "risk,random search,-1.15,1.5,", "risk,CMA-ES,-1.21,1.375,", "\"CMA-ES, 95 % interval\",-1.21,1.3125,", "\"CMA-ES, 95 % interval\",-1.21,1.4375,"} {
		if !strings.Contains(f.CSV(), want) {
			t.Errorf("no %s in\n%s", want, f.CSV())
		}
	}
	var labels []string
	for _, tick := range f.Panels[0][0].Plot.X.Tick.Marker.Ticks(-1.3, 2.7) {
		labels = append(labels, tick.Label)
	}
	if want := []string{"0", "1", "10", "100", "chosen"}; !slices.Equal(labels, want) {
		t.Errorf("labels %q, want %q", labels, want)
	}
}

// The lower panels have the estimates minus the functions, on one scale. The errors in the titles are
// larger than the errors of the means, because they include the variance.
func TestAdditiveTermsHasErrors(t *testing.T) {
	e := func(mean float64) []experiment.Estimate {
		return []experiment.Estimate{{Mean: mean, Margin: .25, N: 4}, {Mean: mean + 1, Margin: .25, N: 4}}
	}
	term := func(name string, off float64) manyhyper.AdditiveTerm {
		return manyhyper.AdditiveTerm{Name: name, Places: []float64{0, 1}, Truth: []float64{1, 2}, Fits: [2][]experiment.Estimate{e(1 + off), e(1)}}
	}
	below := AdditiveTerms(&manyhyper.AdditiveResult{Terms: []manyhyper.AdditiveTerm{term("f", .5), term("g", 8)}}).Panels[1]
	text := (&Figure{Panels: [][]*Panel{below}}).CSV()
	for _, want := range []string{"\"f, error\",one penalty,1,0.5,", "\"g, error\",one penalty,0,8,", "\"f, error\",one penalty,1,,,0.25,0.75"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	a, b := below[0].Axes(), below[1].Axes()
	if a.Ymin != b.Ymin || a.Ymax != b.Ymax || b.Ymax < 8 || below[0].Plot.Title.Text != "RMS error: one 0.52, each 0.14" {
		t.Errorf("axes %v and %v, title %q", a, b, below[0].Plot.Title.Text)
	}
}

// Each row of the map has a mark for each cell with its value, by the sign of the clear difference,
// and below them the mean of the cells. A panel with much smaller differences has an x axis of its
// own, and all others have the same axes.
func TestGradientMapHasAllCells(t *testing.T) {
	cell := func(train int, mean float64) manyhyper.MapCell {
		return manyhyper.MapCell{MapPlace: manyhyper.MapPlace{Problem: manyhyper.MapOfPenalties, Train: train, Hyperparameters: 4, Share: .5, Noise: 1},
			CVLessTraining: experiment.Estimate{Mean: mean, Margin: .1, N: 5}, ManyLessOne: experiment.Estimate{Mean: mean / 10, Margin: .01, N: 5}}
	}
	r := &manyhyper.MapResult{Cells: []manyhyper.MapCell{cell(20, -.5), cell(20, .05), cell(80, .25)}, Effects: []manyhyper.MapEffect{
		{Problem: manyhyper.MapOfPenalties, Factor: 0, Level: 20, CVLessTraining: experiment.Estimate{Mean: -.225, Margin: .125, N: 5}},
		{Problem: manyhyper.MapOfPenalties, Factor: 0, Level: 80, CVLessTraining: experiment.Estimate{Mean: .25, Margin: .125, N: 5}},
		{Problem: manyhyper.MapOfPenalties, Factor: 3, Level: 1, CVLessTraining: experiment.Estimate{Mean: -.0625, Margin: .0625, N: 5}}}}
	f := GradientMap(r)
	checkFigure(t, f)
	panel := f.Panels[0][0]
	text := (&Figure{Panels: [][]*Panel{{panel}}}).CSV()
	for _, want := range []string{"cell, better\",-0.5,-0.78", "cell, unclear\",0.05,-0.78", "cell, worse\",0.25,-2.78", "mean of the cells,-0.225,-1.35", "mean of the cells,0.25,-3.35", "of the mean,0.375,-3.35",
		"cell, better\",-0.5,-9.78", "cell, unclear\",0.05,-9.78", "cell, worse\",0.25,-9.78", "mean of the cells,-0.0625,-10.35"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	var labels []string
	for _, tick := range panel.Plot.Y.Tick.Marker.Ticks(-9, 1) {
		labels = append(labels, tick.Label)
	}
	if want := []string{"examples", "20", "", "80", "", "hyperparameters", "", "share of rows fitted", "", "noise", "1"}; !slices.Equal(labels, want) {
		t.Errorf("labels %q, want %q", labels, want)
	}
	small := f.Panels[0][1]
	if axes := small.Axes(); axes.Xmin > -.05 || axes.Xmin < -.1 || axes.Xmax < .025 || !strings.Contains(small.Plot.Title.Text, "(other scale)") {
		t.Errorf("%q of a tenth of the differences: axes %v", small.Plot.Title.Text, axes)
	}
	for _, p := range slices.Concat(f.Panels...) {
		if p == small {
			continue
		}
		if axes := p.Axes(); axes != panel.Axes() || strings.Contains(p.Plot.Title.Text, "scale") || axes.Xmin > -.5 || axes.Xmax < .375 {
			t.Errorf("%s: axes %v", p.Name, axes)
		}
	}
}

// Values that would hide each other are in different lanes, and all others in the lowest lane. No
// lane is near the mean of the row above.
func TestLaneOffsets(t *testing.T) {
	for _, c := range []struct{ values, want []float64 }{
		{nil, nil},
		{[]float64{1, 2, 2.5, 4}, []float64{0, 0, .4, 0}},
		{[]float64{1, 1, 1}, []float64{0, .33, .66}},
		{[]float64{0, .6, 1.2, 1.2}, []float64{0, .33, 0, .66}},
		{[]float64{1, math.NaN(), math.NaN()}, []float64{0, 0, 0}},
	} {
		got := laneOffsets(c.values, 1)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("values %v have the offsets %v, want %v", c.values, got, c.want)
		}
	}
	if many := laneOffsets(make([]float64, 40), 1); slices.Max(many) > .67 || slices.Min(many) != 0 || slices.Max(many) < .6 {
		t.Errorf("40 equal values have the offsets %v", many)
	}
}

// The parts of a bar of the kept map sum to 100 per cent. The ends of all rows of a factor have the
// number of the problem's cells.
func TestKeptGradientMapHasAllCells(t *testing.T) {
	f := KeptGradientMap()
	checkFigure(t, f)
	r := manyhyper.KeptMap()
	for i, problem := range manyhyper.MapProblems {
		for j, d := range mapDifferences {
			rows, total := mapRows(r, problem, d, 1), 0
			for k, row := range rows {
				if row.label == "" || row.isHead {
					continue
				}
				total += len(row.cells)
				var parts [3]float64
				last := 0.
				for _, s := range f.Panels[i][j].Series {
					for _, stroke := range s.Stretches {
						if kind := slices.IndexFunc(mapKinds, func(m mapKind) bool { return m.name == s.Name }); stroke[0][1] == float64(-k) {
							parts[kind], last = stroke[1][0]-stroke[0][0], max(last, stroke[1][0])
						}
					}
				}
				for kind, share := range parts {
					if want := 100 * float64(row.counts[kind]) / float64(len(row.cells)); math.Abs(share-want) > 1e-9 || math.Abs(last-100) > 1e-9 {
						t.Errorf("%s, row %d: %v %% are %s, want %v %%; the bar ends at %v %%", f.Panels[i][j].Name, k, share, mapKinds[kind].name, want, last)
					}
				}
			}
			if want := len(r.CellsOf(problem)) * len(manyhyper.Factors); total != want {
				t.Errorf("%s: %d cells in all rows, want %d", problem, total, want)
			}
		}
	}
	svg, err := f.SVG()
	for _, want := range []string{"mean (cells)", "−0.718 (24)", "−0.757 (48)"} {
		if err != nil || !strings.Contains(string(svg), want) {
			t.Errorf("no %s in the figure (%v)", want, err)
		}
	}
}

// The smaller group of columns has the words "other y scale". All columns have the same x axis, and
// the columns of a group the same y axis.
func TestShareScales(t *testing.T) {
	panels := make([][]*Panel, 2)
	for i := range panels {
		for _, length := range []float64{1, .2, .3} {
			p := NewPanel("", "title", "x", "y")
			p.Line("l", []float64{0, 10 * length}, []float64{1 - length, 1}, Style{})
			panels[i] = append(panels[i], p)
		}
	}
	shareScales(panels)
	a, b, c := panels[0][0].Axes(), panels[0][1].Axes(), panels[1][2].Axes()
	if b != c || a.Xmin != b.Xmin || a.Xmax != b.Xmax || a.Ymin > 0 || b.Ymin < .6 {
		t.Errorf("axes %v, %v and %v", a, b, c)
	}
	for j, want := range []string{"title (other y scale)", "title", "title"} {
		if got := panels[0][j].Plot.Title.Text; got != want {
			t.Errorf("column %d: %s, want %s", j, got, want)
		}
	}
}
