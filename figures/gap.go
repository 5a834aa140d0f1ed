package figures

import (
	"fmt"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *experiment.GapResult) []Output {
		return []Output{GapTable(r), GapCurves(r)}
	})
}

// GapTable is what the CV loss promises, what is true, and what stopping by
// the nested estimate gives.
func GapTable(r *experiment.GapResult) *Table {
	p := r.Params
	t := &Table{
		Name: "cv_gap_stopping", Caption: fmt.Sprintf("Over-fitting of the CV loss, over %d data sets", p.DataSets),
		Header: []string{"Hyperparameters", "Risk less CV loss, at the end", "Risk at the end", "Risk where the monitor stops",
			"Stopped less end", "Stopped is better", "Lowest risk on the path", "Evaluations until stopped"},
		Note: fmt.Sprintf("Means with 95 %% confidence intervals, on the test examples. The monitor watches a nested estimate from %d outer folds of the same training data, stops after %d steps without a new lowest one and returns the step of the lowest; the end is after at most %d steps. Nobody knows the lowest risk on the path.",
			p.Folds, p.Patience, p.Budget),
	}
	for _, g := range r.Problems {
		t.Rows = append(t.Rows, []any{fmt.Sprint(g.Hyperparameters), estimated(g.Gap, 3), estimated(g.AtEnd, 3), estimated(g.Stopped, 3),
			estimated(g.StoppedMinusEnd.Difference, 3), fmt.Sprintf("%.0f %%", 100*g.StoppedMinusEnd.Wins), estimated(g.Lowest, 3), estimated(g.Evaluations, 0)})
	}
	return t
}

// GapCurves shows CV loss, nested estimate and true risk along the searches.
func GapCurves(r *experiment.GapResult) *Figure {
	f := &Figure{Name: "cv_gap", Width: 11 * vg.Inch, Height: 3.4 * vg.Inch, Legend: LegendRight, Panels: [][]*Panel{nil},
		Caption: "CV loss, nested estimate and true risk along the search: means over the data sets"}
	for _, g := range r.Problems {
		title := fmt.Sprintf("%d hyperparameters", g.Hyperparameters)
		p := NewPanel(title, title, "steps", "loss").Grid()
		x := oneTo(len(g.CV))
		p.Line("CV loss", x, g.CV, Style{Color: Orange, Width: 2, Dash: []vg.Length{6, 3}})
		p.Line("nested estimate", x, g.Nested, Style{Color: Green, Width: 2, Dash: []vg.Length{2, 2}})
		p.Line("true risk", x, g.Risk, Style{Color: Blue, Width: 2})
		f.Panels[0] = append(f.Panels[0], p)
	}
	return f
}
