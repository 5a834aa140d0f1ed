package figures

import (
	"fmt"

	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"
)

func init() {
	register(func(r *searches.FewDimensionsResult) []Output { return []Output{FewDimensionsTable(r)} })
}

// FewDimensionsTable compares random search with exhaustive search. It has a row for each number of
// hyperparameters that affect the CV loss.
func FewDimensionsTable(r *searches.FewDimensionsResult) *Table {
	p := r.Params
	t := &Table{
		Name: "few_dimensions", Caption: fmt.Sprintf("Random and exhaustive search for %d hyperparameters, %d evaluations of each, over %d data sets", p.Hyperparameters, r.Points, p.DataSets),
		Header: []string{"Hyperparameters that matter", "Random minus exhaustive, CV loss", "Random is lower"},
		Note: fmt.Sprintf("Ridge regression with one penalty for each group of features; the other hyperparameters have no effect. The grid has %d values of each. "+
			"Means over the same data sets and splits, with 95 %% confidence intervals; a tie counts half.", p.PerAxis),
	}
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []any{row.Matter, chart.Estimated(row.RandomLess.Difference, 4), fmt.Sprintf("%.0f %%", 100*row.RandomLess.Wins)})
	}
	return t
}
