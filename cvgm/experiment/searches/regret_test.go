package searches

import (
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
)

// Regrets are not negative, and the regret of random search does not grow with the budget.
func TestRegretsAreOfTheLowestKnown(t *testing.T) {
	p := *casetest.Drawn[RegretParams]("regret")
	p.Groups, p.DataSets, p.Budget, p.LongBudget = []int{1, 2}, 6, 6, 16
	short, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	p.Budget = 24
	long, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	p.LongBudget = 1 // with a budget of 1, the lowest known loss comes from the two searches
	alone, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	const rounding = 1e-9
	for i, row := range short.Rows {
		for _, m := range []experiment.Median{row.Bayesian, row.Random, long.Rows[i].Bayesian, long.Rows[i].Random, alone.Rows[i].Bayesian, alone.Rows[i].Random} {
			if m.Low < 0 || m.N != p.DataSets {
				t.Errorf("%d hyperparameters up to 1e%g: %+v", row.Hyperparameters, row.BoxHigh, m)
			}
		}
		if long.Rows[i].Random.High > row.Random.High+rounding {
			t.Errorf("%d hyperparameters up to 1e%g: random search's regret %+v, with more evaluations %+v", row.Hyperparameters, row.BoxHigh, row.Random, long.Rows[i].Random)
		}
	}
}
