package figures

import (
	"fmt"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *experiment.SearchDimensionsResult) []Output {
		return []Output{SearchDimensionsTable(r), SearchDimensionsCurves(r)}
	})
}

// SearchDimensionsTable is the contest over the number of hyperparameters.
func SearchDimensionsTable(r *experiment.SearchDimensionsResult) *Table {
	p := r.Params
	t := &Table{
		Name: "search_dimensions_reached", Caption: fmt.Sprintf("Lowest CV loss within %d evaluations, by number of hyperparameters", p.Budget),
		Header: []string{"Hyperparameters", "Searcher", "Evaluations", "CV loss", "Above the lowest known", "Test loss there"},
		Note: fmt.Sprintf("Means over %d data sets with 95 %% confidence intervals. Up to %d hyperparameters: ridge regression of %d examples with penalties by groups of %d features (mean squared error); "+
			"%d: the weights of the rings experiment's network (logistic loss). The lowest known CV loss is that of any searcher, or of %d evaluations of the quasi-Newton method. "+
			"A grid stands only where two values of each hyperparameter are within the budget.",
			p.DataSets, nth(p.Groups, len(p.Groups)-1), p.Train, p.Features, nth(r.Dimensions, len(r.Dimensions)-1).Hyperparameters, p.LongBudget),
	}
	for _, d := range r.Dimensions {
		for _, m := range d.Methods {
			row := []any{fmt.Sprint(d.Hyperparameters), m.Name, m.Evaluations, estimated(m.CVMean, 4), estimated(m.Excess, 4), estimated(m.TestMean, 4)}
			if m.Name == "exhaustive" {
				row[1] = fmt.Sprintf("exhaustive, %d values of each", m.PerAxis)
				if m.CV == nil {
					row = []any{row[0], "exhaustive, 2 values of each", fmt.Sprintf("%.2g needed", m.GridNeeded), nil, nil, nil}
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// SearchDimensionsCurves shows the lowest CV loss found, above the lowest known,
// against evaluations for each number of hyperparameters.
func SearchDimensionsCurves(r *experiment.SearchDimensionsResult) *Figure {
	const floor = -6
	var panels []*Panel
	for _, d := range r.Dimensions {
		title := fmt.Sprintf("%d hyperparameters", d.Hyperparameters)
		if d.Hyperparameters == 1 {
			title = "1 hyperparameter"
		}
		p := NewPanel(title, title, "evaluations", "CV loss above the lowest known").Grid().LogAxes(true, true).ClampLow(floor)
		for _, m := range d.Methods {
			if m.Improve != nil {
				excess := held(m.Improve, r.Params.Budget)
				for k := range excess {
					excess[k] -= d.Best.Mean
				}
				p.Line(m.Name, Log10s(oneTo(len(excess))), clampedLog10s(excess, floor), searchStyles[m.Name])
			}
		}
		panels = append(panels, p)
	}
	half := (len(panels) + 1) / 2
	return &Figure{Name: "search_dimensions", Width: 11 * vg.Inch, Height: 6 * vg.Inch, Legend: LegendRight, SameAxes: true, Panels: [][]*Panel{panels[:half], panels[half:]},
		Caption: fmt.Sprintf("Lowest CV loss found, above the lowest known: means over the data sets. Values below 1e%d are drawn there", floor)}
}
