package searches

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
)

// SearchDimensionsParams are the parameters of a comparison of searchers for several numbers of
// hyperparameters.
type SearchDimensionsParams struct {
	DimensionProblems
	CMAESSigma float64 `help:"standard deviation of the first points of CMA-ES around the network's initial weights" range:"(0,∞)" small:"[.05,.5]"`
	DataSets   int     `help:"data sets" range:"[1,∞)" small:"[1,3]"`
	Budget     int     `help:"evaluations of every search" range:"[1,∞)" small:"[1,8]" setting:"%v evaluations of each search"`
	LongBudget int     `help:"evaluations of the quasi-Newton search that the others are measured against" range:"[1,∞)" small:"[1,20]" setting:"lowest known: that of all searches and of a quasi-Newton one of %v evaluations"`
	experiment.FreshData
}

// DefaultSearchDimensions returns the default parameters. The rings are the paper's.
func DefaultSearchDimensions() SearchDimensionsParams {
	return SearchDimensionsParams{DimensionProblems: DefaultDimensionProblems(), CMAESSigma: .1, DataSets: 40, Budget: 100, LongBudget: 300}
}

func (SearchDimensionsParams) Defaults() any { return DefaultSearchDimensions() }

// DimensionsResult is the result of Run.
type DimensionsResult struct {
	Params     SearchDimensionsParams
	Dimensions []Dimension
}

// Dimension holds the results of all searchers for one number of hyperparameters.
type Dimension struct {
	Hyperparameters int
	Methods         []DimensionMethod
	// Lowest[i] is the lowest known CV loss of data set i. It is the lowest loss of all searches
	// and of a long run of the quasi-Newton method. All problems other than the rings have the same
	// data set i. Best is the mean of Lowest.
	Lowest []float64
	Best   experiment.Estimate
}

// DimensionMethod holds the results of one searcher for one number of hyperparameters. If the
// budget is too small for a grid with two values of each hyperparameter, the grid search does not
// run, and its results are empty.
type DimensionMethod struct {
	Name        string
	Evaluations int       // the largest number of evaluations on a data set
	CV, Test    []float64 // the lowest CV loss on each data set, and the test loss at this point
	CVMean      experiment.Estimate
	Excess      experiment.Estimate // CV loss minus the lowest known CV loss on the same data set
	TestMean    experiment.Estimate
	Improve     []float64 // lowest CV loss within 1, 2, … evaluations, as means over the data sets
	PerAxis     int       // number of values of each hyperparameter in the grid
	GridNeeded  float64   // evaluations of a grid with two values of each hyperparameter
}

// Run measures all searchers for all numbers of hyperparameters. The data sets run in parallel.
func (p SearchDimensionsParams) Run(ctx context.Context, hooks experiment.Hooks) (*DimensionsResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	problems := p.Hyperparameters()
	data, err := experiment.CellTable(ctx, hooks, len(problems), p.DataSets,
		func(problem, dataSet int) string {
			return fmt.Sprintf("%d hyperparameters, data set %d", problems[problem], p.Number(dataSet, p.DataSets))
		},
		func(problem, dataSet int) (dimensionCell, error) {
			return p.cell(ctx, problem, p.Number(dataSet, p.DataSets))
		})
	if err != nil {
		return nil, err
	}
	r := &DimensionsResult{Params: p}
	for k, n := range problems {
		r.Dimensions = append(r.Dimensions, p.summarise(n, data[k]))
	}
	return r, nil
}

// dimensionCell holds the results of all searches on one data set.
type dimensionCell struct {
	Lowest  float64           // lowest CV loss of all searches and of the long search
	Methods []dimensionSearch // in the order of the searchers
}

// dimensionSearch holds the lowest CV loss of one search, and the test loss at the point with this
// CV loss. Lowest[i] is the lowest CV loss after evaluation i. If the search did not run, Lowest is
// empty.
type dimensionSearch struct {
	CV, Test float64
	Lowest   []float64
}

func (p SearchDimensionsParams) cell(ctx context.Context, problem, dataSet int) (dimensionCell, error) {
	var c dimensionCell
	s, err := p.Setup(problem, dataSet, nil)
	if err != nil {
		return c, err
	}
	c.Lowest = math.Inf(1)
	for _, e := range p.searchers(problem, dataSet) {
		var m dimensionSearch
		if e.searcher != nil {
			if m, err = lowestAlong(ctx, s, e.searcher); err != nil {
				return c, experiment.Wrap(err, "%s", e.name)
			}
			c.Lowest = min(c.Lowest, m.CV)
		}
		c.Methods = append(c.Methods, m)
	}
	long, err := search.Best(s.Search(ctx, search.QuasiNewton{MaxEvals: p.LongBudget}))
	c.Lowest = min(c.Lowest, long.Loss)
	return c, err
}

// lowestAlong runs a search. It then evaluates the test loss of the model at the point of lowest CV
// loss.
func lowestAlong(ctx context.Context, s *experiment.Setup, searcher search.Searcher) (m dimensionSearch, err error) {
	m.CV = math.Inf(1)
	var x []float64
	for step, err := range s.Search(ctx, searcher) {
		if err != nil {
			return m, err
		}
		if step.Loss < m.CV {
			m.CV, x = step.Loss, slices.Clone(step.X)
		}
		m.Lowest = append(m.Lowest, m.CV)
	}
	m.Test, err = s.TestLoss(x)
	return m, err
}

// searchers lists the searchers. If a searcher cannot run, its entry is nil.
func (p SearchDimensionsParams) searchers(problem, dataSet int) []searchEntry {
	src := func(name string) func() cvgm.Source {
		if !p.isRings(problem) {
			name = fmt.Sprint(name, " ", p.Groups[problem])
		}
		return func() cvgm.Source { return p.stream(problem, dataSet, name) }
	}
	log := func(s search.Searcher) search.Searcher { return search.LogSpace{Searcher: s} }
	sigma, draw, grid := logSigma, search.LogUniform(p.BoxLow, p.BoxHigh), search.Searcher(nil)
	if p.isRings(problem) {
		log = func(s search.Searcher) search.Searcher { return s }
		sigma, draw = p.CMAESSigma, func(src cvgm.Source, x []float64) { p.Rings.Kernel().Init(x, src) }
	} else if p.perAxis(p.Groups[problem]) > 1 {
		grid = p.grid(p.Groups[problem])
	}
	return []searchEntry{
		{name: "adaptive gradient", searcher: search.AdaptiveGradient{MaxEvals: p.Budget}},
		{name: QuasiNewton, searcher: search.QuasiNewton{MaxEvals: p.Budget}},
		{name: "CMA-ES", searcher: log(search.CMAES{Source: src("CMA-ES"), Sigma: sigma, MaxEvals: p.Budget})},
		{name: "Bayesian", searcher: log(search.Bayesian{Source: src("Bayesian"), MaxEvals: p.Budget})},
		{name: "random", searcher: search.RandomSearch{Source: src("random"), Draw: draw, MaxEvals: p.Budget}},
		{name: "exhaustive", searcher: grid},
	}
}

// perAxis returns the largest number of values for each hyperparameter such that the grid fits the
// budget.
func (p SearchDimensionsParams) perAxis(hyperparameters int) int {
	const rounding = 1e-9 // allowance: the root of a power should be a whole number
	return int(math.Pow(float64(p.Budget), 1/float64(hyperparameters)) + rounding)
}

func (p SearchDimensionsParams) grid(groups int) search.Searcher {
	const coarse = 5 // a grid with fewer values is better inside the box than on its edges
	n, low, high := p.perAxis(groups), p.BoxLow, p.BoxHigh
	if n < coarse {
		margin := (high - low) / float64(2*n)
		low, high = low+margin, high-margin
	}
	return search.GridSearch{Values: slices.Repeat([][]float64{experiment.Logspace(low, high, n)}, groups)}
}

// summarise compares the searchers over the data sets.
func (p SearchDimensionsParams) summarise(hyperparameters int, data []dimensionCell) Dimension {
	d := Dimension{Hyperparameters: hyperparameters}
	for _, c := range data {
		d.Lowest = append(d.Lowest, c.Lowest)
	}
	d.Best = experiment.EstimateOf(d.Lowest)
	for k, e := range p.searchers(0, 0) {
		m := DimensionMethod{Name: e.name}
		if e.name == "exhaustive" {
			m.PerAxis, m.GridNeeded = p.perAxis(hyperparameters), math.Pow(2, float64(hyperparameters))
		}
		if data[0].Methods[k].Lowest == nil {
			d.Methods = append(d.Methods, m)
			continue
		}
		for _, c := range data {
			s := c.Methods[k]
			m.CV, m.Test = append(m.CV, s.CV), append(m.Test, s.Test)
			m.Evaluations = max(m.Evaluations, len(s.Lowest))
		}
		m.CVMean, m.Excess, m.TestMean = experiment.EstimateOf(m.CV), experiment.EstimateOf(experiment.Less(m.CV, d.Lowest)), experiment.EstimateOf(m.Test)
		for n := range m.Evaluations {
			var sum float64
			for _, c := range data {
				sum += experiment.AtStep(c.Methods[k].Lowest, n)
			}
			m.Improve = append(m.Improve, sum/float64(len(data)))
		}
		d.Methods = append(d.Methods, m)
	}
	return d
}
