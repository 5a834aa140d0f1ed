package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *searches.DimensionsResult) []Output {
		return []Output{SearchDimensionsTable(r), SearchDimensionsCurves(r)}
	})
}

// SearchDimensionsTable lists the results of each search for each number of hyperparameters.
func SearchDimensionsTable(r *searches.DimensionsResult) *Table {
	p := r.Params
	t := &Table{
		Name: "search_dimensions_reached", Caption: fmt.Sprintf("Lowest CV loss within %d evaluations, by number of hyperparameters", p.Budget),
		Header: []string{"Hyperparameters", "Searcher", "Evaluations", "CV loss", "Above the lowest known", "Test loss there"},
		Note: fmt.Sprintf("Means over %d data sets with 95 %% confidence intervals. Up to %d hyperparameters: ridge regression of %d examples with penalties by groups of %d features (mean squared error); "+
			"%d: the weights of the rings experiment's network (logistic loss). The lowest known CV loss is that of any searcher, or of %d evaluations of the quasi-Newton method. "+
			"A grid is listed only where two values of each hyperparameter are within the budget.",
			p.DataSets, chart.Nth(p.Groups, len(p.Groups)-1), p.Train, p.Features, chart.Nth(r.Dimensions, len(r.Dimensions)-1).Hyperparameters, p.LongBudget),
	}
	for _, d := range r.Dimensions {
		for _, m := range d.Methods {
			row := []any{fmt.Sprint(d.Hyperparameters), m.Name, m.Evaluations, chart.Estimated(m.CVMean, 4), chart.Estimated(m.Excess, 4), chart.Estimated(m.TestMean, 4)}
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

// SearchDimensionsCurves shows the lowest CV loss that each search has found after a number of
// evaluations, minus the lowest known CV loss. There is a panel for each number of hyperparameters.
func SearchDimensionsCurves(r *searches.DimensionsResult) *Figure {
	const floor = -6
	var panels []*Panel
	var grids []string // the numbers of points of those grids that exceed the budget
	for k, d := range r.Dimensions {
		name := fmt.Sprintf("%d hyperparameters", d.Hyperparameters)
		if d.Hyperparameters == 1 {
			name = "1 hyperparameter"
		}
		title := map[bool]string{true: "rings, ", false: "ridge regression, "}[k == len(r.Dimensions)-1] + name
		for _, m := range d.Methods {
			if m.Improve == nil && m.GridNeeded > 0 {
				grids = append(grids, fmt.Sprintf("%s for %d", chart.Typeset(fmt.Sprintf("%.0e", m.GridNeeded)), d.Hyperparameters))
			}
		}
		p := NewPanel(name, title, "evaluations of the CV loss", "CV loss above the lowest known").Grid().LogAxes(true, true).ClampLow(floor)
		for _, m := range d.Methods {
			if m.Improve != nil {
				excess := valuesHeld(m.Improve, r.Params.Budget)
				for i := range excess {
					excess[i] -= d.Best.Mean
				}
				y := untilFloor(chart.ClampedLog10s(excess, floor), floor)
				p.Line(m.Name, Log10s(chart.OneTo(len(y))), y, searchStyles[m.Name])
				if m.Name == searches.QuasiNewton || m.Name == "Bayesian" {
					drawEndInterval(p, m, y, floor)
				}
			}
		}
		panels = append(panels, p)
	}
	caption := fmt.Sprintf("Lowest CV loss found within so many evaluations, minus the lowest known: means over %d data sets. The lowest known comes from all these searches and from %d evaluations of the quasi-Newton method. A whisker beside the end of a line is the 95 %% interval after the last evaluation, for the quasi-Newton method and Bayesian search. The hyperparameters of the ridge regressions are penalties of groups of features, the rings' are the weights of a network. A line ends where it falls to 10%s.",
		r.Params.DataSets, r.Params.LongBudget, chart.Superscript(fmt.Sprint(floor)))
	if grids != nil {
		caption += fmt.Sprintf(" Exhaustive search is left out where two values of each hyperparameter are more points than the budget allows: %s hyperparameters.", strings.Join(grids, ", "))
	}
	return &Figure{Name: "search_dimensions", Width: 11 * vg.Inch, Height: 6.4 * vg.Inch, Legend: LegendInGap, SameAxes: true, Panels: slices.Collect(slices.Chunk(panels, 3)), Caption: caption}
}

// drawEndInterval draws the interval of a search's excess beside the end of its line y. A line that ends
// at the lower end of its axis has no interval.
func drawEndInterval(p *Panel, m searches.DimensionMethod, y []float64, floor float64) {
	last := len(y) - 1
	if last < 0 || !(y[last] > floor) || !(m.Excess.Margin > 0) {
		return
	}
	ends := chart.ClampedLog10s([]float64{m.Excess.Mean - m.Excess.Margin, m.Excess.Mean + m.Excess.Margin}, floor)
	const beside = .06 // so that the line does not hide the interval
	x := []float64{math.Log10(float64(len(y))) + beside}
	style := searchStyles[m.Name]
	style.Unlisted, style.Width, style.Dash = true, 2, nil
	p.Strokes(m.Name+", 95 % interval", x, ends[:1], x, ends[1:], style)
}
