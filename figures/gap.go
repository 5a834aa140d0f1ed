package figures

import (
	"fmt"

	"cvgm/cvgm/experiment/splits"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

func init() {
	register(func(r *splits.GapResult) []Output {
		return []Output{GapTable(r), GapCurves(r)}
	})
}

// GapTable lists the gap between the risk and the CV loss at the end of the search: the risk minus
// the CV loss. It also lists two risks. One is the risk at the end of the search. The other is the
// risk if the nested estimate stops the search.
func GapTable(r *splits.GapResult) *Table {
	p := r.Params
	t := &Table{
		Name: "cv_gap_stopping", Caption: fmt.Sprintf("Over-fitting of the CV loss, over %d data sets", p.DataSets),
		Header: []string{"Hyperparameters", "Risk minus CV loss, at the end", "Risk at the end", "Risk where the monitor stops",
			"Stopped minus end", "Stopped is better", "Lowest risk on the path", "Evaluations until stopped"},
		Note: fmt.Sprintf("Means with 95 %% confidence intervals, on the test examples. The monitor watches a nested estimate from %d outer folds of the same training data, and stops after %d steps without a new lowest value. It returns the step with the lowest value. A search ends after at most %d steps. In practice the lowest risk on the path is unknown.",
			p.Folds, p.Patience, p.Budget),
	}
	for _, g := range r.Problems {
		t.Rows = append(t.Rows, []any{fmt.Sprint(g.Hyperparameters), chart.Estimated(g.Gap, 3), chart.Estimated(g.AtEnd, 3), chart.Estimated(g.Stopped, 3),
			chart.Estimated(g.StoppedMinusEnd.Difference, 3), fmt.Sprintf("%.0f %%", 100*g.StoppedMinusEnd.Wins), chart.Estimated(g.Lowest, 3), chart.Estimated(g.Evaluations, 0)})
	}
	return t
}

// GapCurves shows the CV loss, its nested estimate and the risk along the searches. The panels
// below show the risk minus the CV loss.
func GapCurves(r *splits.GapResult) *Figure {
	p := r.Params
	f := &Figure{Name: "cv_gap", Width: 11 * vg.Inch, Height: 6 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil, nil},
		Caption: fmt.Sprintf("Above: CV loss, risk and nested estimate along the adaptive gradient search, as means over %d data sets. The risk is the loss on fresh examples. The nested estimate is the loss on %d outer folds of the training examples, each left out of a search of its own. Below: the risk minus the CV loss on the same data, with 95 %% confidence intervals: the higher the line, the more the CV loss over-fits. A search that has ended stays at its last value. Ridge regressions of %d examples have a penalty for each group of features, the rings have the weights of a network.",
			p.DataSets, p.Folds, p.Train)}
	for k, g := range r.Problems {
		name, loss := "ridge regression", "squared loss"
		if k == len(p.Groups) {
			name, loss = "rings", "logistic loss"
		}
		const evaluations = "evaluations of the CV loss"
		title := fmt.Sprintf("%s, %d hyperparameters", name, g.Hyperparameters)
		panel := NewPanel(title, title, evaluations, loss).Grid()
		x := chart.OneTo(len(g.CV))
		panel.Line("CV loss", x, g.CV, chart.CVStyle)
		panel.Line("nested estimate", x, g.Nested, Style{Color: Green, Width: 2, Dash: []vg.Length{2, 2}})
		panel.Line("risk", x, g.Risk, Style{Color: Blue, Width: 2})
		over := NewPanel(title+", difference", "", evaluations, loss+", difference").Grid()
		mean, low, high := meansAndEnds(g.Over)
		over.Band("risk minus CV loss", x, low, high, Style{Color: Black, Width: 2})
		over.Line("risk minus CV loss", x, mean, Style{Color: Black, Width: 2})
		over.HLine("no over-fitting", 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{1, 3}})
		f.Panels[0], f.Panels[1] = append(f.Panels[0], panel), append(f.Panels[1], over)
	}
	return f
}
