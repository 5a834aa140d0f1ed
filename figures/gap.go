package figures

import (
	"fmt"
	"strings"

	"cvgm/cvgm/experiment"
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
	f := &Figure{Name: "cv_gap", Width: 11 * vg.Inch, Height: 6.8 * vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{nil, nil},
		Caption: fmt.Sprintf("Above: means over %d data sets along the adaptive gradient search. The risk is the loss on fresh examples. The nested estimate judges searches on %d/%d of the training examples by the fold left out, so it may lie above the risk. Short line: the risk of the step that a monitor of this estimate returns. The number beside it is its difference from the risk at the end, with the 95 %% interval. Below: the gap, risk minus CV loss; the higher, the more the CV loss over-fits.",
			p.DataSets, p.Folds-1, p.Folds)}
	for k, g := range r.Problems {
		name, loss := "ridge regression", "squared loss"
		if k == len(p.Groups) {
			name, loss = "rings", "logistic loss"
		}
		const evaluations = "evaluations of the CV loss"
		title := fmt.Sprintf("%s, %d hyperparameters", name, g.Hyperparameters)
		panel := NewPanel(title, title, evaluations, loss).Grid()
		panel.SharedAxes = loss
		x := chart.OneTo(len(g.CV))
		panel.Line("CV loss", x, g.CV, chart.CVStyle)
		panel.Line("risk", x, g.Risk, Style{Color: Blue, Width: 2.8})
		panel.Line("nested estimate", x, g.Nested, Style{Color: Vermilion, Width: 1.5, Dash: []vg.Length{2, 2}}) // thin, so that the risk below it remains visible
		markLowest(panel, "lowest mean risk", x, g.Risk, nil)
		end := len(x) - 1
		const short = .08 // of the search
		left := x[end] - short*float64(len(x))
		panel.Line("risk with the monitor", []float64{left, x[end]}, []float64{g.Stopped.Mean, g.Stopped.Mean}, Style{Color: Purple, Width: 3})
		panel.NoteAtEnd("with the monitor: "+withMargin(g.StoppedMinusEnd.Difference, 3), x[end], g.Stopped.Mean, g.Stopped.Mean > g.Risk[end])
		over := NewPanel(title+", difference", "gap at the end: "+withMargin(g.Gap, 3), evaluations, loss+", difference").Grid()
		over.SharedAxes = loss + ", difference"
		mean, low, high := meansAndEnds(g.Over)
		over.Band("risk minus CV loss", x, low, high, Style{Color: Black, Width: 2})
		over.Line("risk minus CV loss", x, mean, Style{Color: Black, Width: 2})
		over.HLine("no over-fitting", 0, Style{Color: Grey, Width: 1, Dash: []vg.Length{1, 3}})
		over.RangeX(panel.Axes())
		f.Panels[0], f.Panels[1] = append(f.Panels[0], panel), append(f.Panels[1], over)
	}
	return f
}

// withMargin returns an estimate and its margin for a note or a title.
func withMargin(e experiment.Estimate, digits int) string {
	return strings.ReplaceAll(chart.Estimated(e, digits).String(), "-", "−")
}
