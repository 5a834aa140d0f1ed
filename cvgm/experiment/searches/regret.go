package searches

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
	"cvgm/synth"
)

// RegretParams are the parameters of a comparison of Bayesian optimisation with random search. Both
// methods search the logarithms of the penalties in the same box, and both evaluate the same start
// first.
type RegretParams struct {
	RidgeGroups
	NarrowHigh float64 `help:"upper bound of the penalties in the narrow box, that of the paper's grid" unit:"log10 of the penalty" range:"[-300,300]" most:"BoxHigh" small:"[-1,0]"`
	DataSets   int     `help:"data sets" range:"[2,∞)" small:"[2,7]"`
	Budget     int     `help:"evaluations of both searches" range:"[2,∞)" small:"[2,8]" setting:"%v evaluations of each search"`
	LongBudget int     `help:"evaluations of each of the quasi-Newton searches for the lowest CV loss in the box" range:"[1,∞)" small:"[1,20]"`
	experiment.FreshData
}

// DefaultRegret returns parameters with the ridge regressions of DefaultSearchDimensions, but with
// other groups and another start. This start lies inside both boxes. The start of
// DefaultSearchDimensions would be a corner of the narrow box, and this corner often has the lowest
// loss.
func DefaultRegret() RegretParams {
	p := RegretParams{RidgeGroups: DefaultDimensionProblems().RidgeGroups, NarrowHigh: -1, DataSets: 100, Budget: 50, LongBudget: 100}
	p.Groups, p.StartLambda2 = []int{2, 5, 20}, .01
	return p
}

func (RegretParams) Defaults() any { return DefaultRegret() }

func (p RegretParams) Check() error {
	if p.NarrowHigh <= p.BoxLow {
		return experiment.Invalid("NarrowHigh", p.NarrowHigh, fmt.Sprintf("use a value above BoxLow, %v", p.BoxLow))
	}
	return p.RidgeGroups.Check()
}

// RegretResult is the result of Run.
type RegretResult struct {
	Params RegretParams
	Rows   []RegretRow // by number of hyperparameters; for each, the narrow box comes before the wide box
}

// RegretRow holds the regrets in one box of one problem. A regret is the lowest CV loss that a
// search finds, minus the lowest known CV loss in the box. The lowest known CV loss comes from all
// searches: from both methods and from several quasi-Newton searches. The quasi-Newton searches
// begin at the start and at the best points of both methods.
type RegretRow struct {
	Hyperparameters  int
	BoxHigh          float64 // NarrowHigh or BoxHigh of the parameters
	Regrets          RegretsBySet
	Bayesian, Random experiment.Median
	Start            experiment.Median // regret of the start without a search
	BayesianLess     experiment.Median // regret of Bayesian minus random, paired
	StartLess        experiment.Median // regret of the start minus Bayesian, paired
	Wins             float64           // share of the data sets on which Bayesian optimisation has the lower regret; a tie counts as half
}

// RegretsBySet holds, for each data set, the regrets of both searches and of the start.
type RegretsBySet struct{ Bayesian, Random, Start []float64 }

// Run measures all problems and boxes. The data sets run in parallel.
func (p RegretParams) Run(ctx context.Context, hooks experiment.Hooks) (*RegretResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	highs := []float64{p.NarrowHigh, p.BoxHigh}
	measured, err := experiment.CellTable(ctx, hooks, len(p.Groups)*len(highs), p.DataSets,
		func(i, dataSet int) string {
			return fmt.Sprintf("%d hyperparameters up to 1e%g, data set %d", p.Groups[i/len(highs)], highs[i%len(highs)], p.Number(dataSet, p.DataSets))
		},
		func(i, dataSet int) (regretCell, error) {
			return p.measure(ctx, p.Groups[i/len(highs)], highs[i%len(highs)], p.Number(dataSet, p.DataSets))
		})
	if err != nil {
		return nil, err
	}
	r := &RegretResult{Params: p}
	for i, cells := range measured {
		row := RegretRow{Hyperparameters: p.Groups[i/len(highs)], BoxHigh: highs[i%len(highs)]}
		all := &row.Regrets
		for _, c := range cells {
			all.Bayesian, all.Random, all.Start = append(all.Bayesian, c.Bayesian), append(all.Random, c.Random), append(all.Start, c.Start)
		}
		row.Bayesian, row.Random, row.Start = experiment.MedianOf(all.Bayesian), experiment.MedianOf(all.Random), experiment.MedianOf(all.Start)
		row.BayesianLess, row.StartLess = experiment.MedianOf(experiment.Less(all.Bayesian, all.Random)), experiment.MedianOf(experiment.Less(all.Start, all.Bayesian))
		row.Wins = experiment.Compare(all.Bayesian, all.Random).Wins
		r.Rows = append(r.Rows, row)
	}
	return r, nil
}

// regretCell holds the regrets on one data set.
type regretCell struct{ Bayesian, Random, Start float64 }

func (p RegretParams) measure(ctx context.Context, groups int, high float64, dataSet int) (c regretCell, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), fmt.Sprintf("regret, %d hyperparameters: %s", groups, purpose))
	}
	s, err := p.ridge(groups, stream, nil)
	if err != nil {
		return c, err
	}
	s.Upper = slices.Repeat([]float64{math.Pow(10, high)}, groups)
	src := func(purpose string) func() cvgm.Source { return func() cvgm.Source { return stream(purpose) } }
	// The Bayesian search evaluates the start first. For a fair comparison, the points of random
	// search include the start, too.
	if c.Start, err = s.Objective(nil, s.Start); err != nil {
		return c, err
	}
	lowest := c.Start
	starts := [][]float64{s.Start}
	for _, searcher := range []struct {
		loss     *float64
		searcher search.Searcher
	}{
		{&c.Bayesian, search.LogSpace{Searcher: search.Bayesian{Source: src("Bayesian"), MaxEvals: p.Budget}}},
		{&c.Random, search.RandomSearch{Source: src("random"), Draw: search.LogUniform(p.BoxLow, high), MaxEvals: p.Budget - 1}},
	} {
		best, err := search.Best(s.Search(ctx, searcher.searcher))
		if err != nil {
			return c, err
		}
		*searcher.loss, lowest = min(c.Start, best.Loss), min(lowest, best.Loss)
		starts = append(starts, slices.Clone(best.X))
	}
	for _, start := range starts {
		from := *s
		from.Start = start
		best, err := search.Best(from.Search(ctx, search.QuasiNewton{MaxEvals: p.LongBudget}))
		if err != nil {
			return c, err
		}
		lowest = min(lowest, best.Loss)
	}
	c.Bayesian, c.Random, c.Start = c.Bayesian-lowest, c.Random-lowest, c.Start-lowest
	return c, nil
}
