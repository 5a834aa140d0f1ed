package figures

import (
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"
)

func init() {
	register(func(r *searches.FewDimensionsResult) []Output { return []Output{FewDimensionsTable(r)} })
	register(func(r *searches.RegretResult) []Output { return []Output{RegretTable(r)} })
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

// RegretTable compares Bayesian optimisation with random search. It lists medians of their regrets.
func RegretTable(r *searches.RegretResult) *Table {
	p := r.Params
	t := &Table{
		Name: "search_regret", Caption: fmt.Sprintf("Regret of Bayesian optimisation and of random search after %d evaluations, over %d data sets", p.Budget, p.DataSets),
		Header: []string{"Hyperparameters", "Penalties", "Bayesian, median", "Random, median", "Start, median", "Bayesian minus random, median", "Bayesian is lower"},
		Note: "Ridge regression with one penalty for each group of features. The regret is the lowest CV loss found minus the lowest known in the same box. " +
			"Medians, in brackets distribution-free confidence intervals of at least 95 %; the difference is taken on the same data. A tie counts half.",
	}
	text := func(m experiment.Median) string { return fmt.Sprintf("%.2g [%.2g, %.2g]", m.Median, m.Low, m.High) }
	for _, row := range r.Rows {
		t.Rows = append(t.Rows, []any{row.Hyperparameters, fmt.Sprintf("1e%g to 1e%g", p.BoxLow, row.BoxHigh), text(row.Bayesian), text(row.Random), text(row.Start), text(row.BayesianLess), fmt.Sprintf("%.0f %%", 100*row.Wins)})
	}
	return t
}
