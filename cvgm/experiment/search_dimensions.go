package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
)

func init() {
	register("search_dimensions", "searchers for the lowest CV loss against the number of hyperparameters", DefaultSearchDimensions)
}

// SearchDimensionsParams are the parameters of the comparison of searchers by
// the number of hyperparameters.
type SearchDimensionsParams struct {
	DimensionProblems
	CMAESSigma float64 `help:"standard deviation of the first points of CMA-ES around the network's initial weights" range:"(0,∞)" small:"[.05,.5]"`
	DataSets   int     `help:"data sets" range:"[1,∞)" small:"[1,3]"`
	Budget     int     `help:"evaluations of every search" range:"[1,∞)" small:"[1,8]"`
	LongBudget int     `help:"evaluations of the quasi-Newton search that the others are measured against" range:"[1,∞)" small:"[1,20]"`
}

// DefaultSearchDimensions returns the default parameters. The rings are the
// paper's.
func DefaultSearchDimensions() SearchDimensionsParams {
	return SearchDimensionsParams{DimensionProblems: defaultDimensionProblems(), CMAESSigma: .1, DataSets: 5, Budget: 100, LongBudget: 300}
}

// SearchDimensionsResult is what Run measures.
type SearchDimensionsResult struct {
	Params     SearchDimensionsParams
	Dimensions []SearchDimension
}

// SearchDimension holds all searchers at one number of hyperparameters.
type SearchDimension struct {
	Hyperparameters int
	Methods         []SearchDimensionMethod
	// Best is the mean of the lowest CV loss known, by any search or by a long
	// run of the quasi-Newton method.
	Best Estimate
}

// SearchDimensionMethod is one searcher at one number of hyperparameters. A
// grid that cannot have two values of each within the budget does not run: its
// fields are empty.
type SearchDimensionMethod struct {
	Name        string
	Evaluations int       // the most spent on a data set
	CV, Test    []float64 // the lowest CV loss on each data set, and the test loss there
	CVMean      Estimate
	Excess      Estimate // CV loss above the lowest known on the same data set
	TestMean    Estimate
	Improve     []float64 // the mean over the data sets of the lowest CV loss within 1, 2, … evaluations
	PerAxis     int       // points of the grid per hyperparameter
	GridNeeded  float64   // evaluations that a grid of two values of each needs
}

var dimensionMethods = []string{"adaptive gradient", SearchQuasiNewton, "CMA-ES", "Bayesian", "random", "exhaustive"}

// Run measures all searchers at all numbers of hyperparameters, the data sets
// in parallel.
func (p SearchDimensionsParams) Run(ctx context.Context) (*SearchDimensionsResult, error) {
	if err := check(&p); err != nil {
		return nil, err
	}
	problems := p.hyperparameters()
	data, err := cellTable(ctx, len(problems), p.DataSets, func(problem, dataSet int) (dimensionCell, error) {
		c, err := p.cell(ctx, problem, dataSet)
		return c, in(err, "%d hyperparameters, data set %d", problems[problem], dataSet)
	})
	if err != nil {
		return nil, err
	}
	r := &SearchDimensionsResult{Params: p}
	for k, n := range problems {
		r.Dimensions = append(r.Dimensions, p.summarise(n, data[k]))
	}
	return r, nil
}

// dimensionCell holds all searches on one data set.
type dimensionCell struct {
	Lowest  float64           // of all of them and of the long search
	Methods []dimensionSearch // in the order of dimensionMethods
}

// dimensionSearch is one search: its lowest CV loss, the test loss there, and
// the lowest CV loss after each evaluation. The last is empty if it did not run.
type dimensionSearch struct {
	CV, Test float64
	Lowest   []float64
}

func (p SearchDimensionsParams) cell(ctx context.Context, problem, dataSet int) (dimensionCell, error) {
	c := dimensionCell{Methods: make([]dimensionSearch, len(dimensionMethods))}
	s, err := p.setup(problem, dataSet, nil)
	if err != nil {
		return c, err
	}
	for k, name := range dimensionMethods {
		searcher := p.searcher(name, problem, dataSet)
		if searcher == nil {
			continue
		}
		if c.Methods[k], err = lowestAlong(ctx, s, searcher); err != nil {
			return c, fmt.Errorf("%s: %w", name, err)
		}
	}
	long, err := cvgm.Best(s.Search(ctx, cvgm.QuasiNewton{MaxEvals: p.LongBudget}))
	c.Lowest = long.Loss
	for _, m := range c.Methods {
		if m.Lowest != nil {
			c.Lowest = min(c.Lowest, m.CV)
		}
	}
	return c, err
}

// lowestAlong runs a search and tests the model at its lowest CV loss.
func lowestAlong(ctx context.Context, s *Setup, searcher cvgm.Searcher) (m dimensionSearch, err error) {
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

// searcher returns nil where a searcher cannot run.
func (p SearchDimensionsParams) searcher(name string, problem, dataSet int) cvgm.Searcher {
	rings, purpose := p.isRings(problem), name
	if !rings {
		purpose = fmt.Sprint(name, " ", p.Groups[problem])
	}
	src := func() cvgm.Source { return p.stream(problem, dataSet, purpose) }
	switch name {
	case SearchQuasiNewton:
		return cvgm.QuasiNewton{MaxEvals: p.Budget}
	case "CMA-ES":
		if rings {
			return cvgm.CMAES{Source: src, Sigma: p.CMAESSigma, MaxEvals: p.Budget}
		}
		return cvgm.LogSpace{Searcher: cvgm.CMAES{Source: src, Sigma: logSigma, MaxEvals: p.Budget}}
	case "Bayesian":
		if rings {
			return cvgm.Bayesian{Source: src, MaxEvals: p.Budget}
		}
		return cvgm.LogSpace{Searcher: cvgm.Bayesian{Source: src, MaxEvals: p.Budget}}
	case "random":
		draw := cvgm.LogUniform(p.BoxLow, p.BoxHigh)
		if rings {
			draw = func(src cvgm.Source, x []float64) { p.Rings.kernel().Init(x, src) }
		}
		return cvgm.RandomSearch{Source: src, Draw: draw, MaxEvals: p.Budget}
	case "exhaustive":
		if rings || p.perAxis(p.Groups[problem]) < 2 {
			return nil
		}
		return p.grid(p.Groups[problem])
	}
	return cvgm.AdaptiveGradient{MaxEvals: p.Budget}
}

// perAxis returns how many values of each hyperparameter a grid within the
// budget has.
func (p SearchDimensionsParams) perAxis(hyperparameters int) int {
	const rounding = 1e-9 // of the root of a number that is a power
	return int(math.Pow(float64(p.Budget), 1/float64(hyperparameters)) + rounding)
}

func (p SearchDimensionsParams) grid(groups int) cvgm.Searcher {
	const coarse = 5 // a grid of fewer points is better inside the box than on its edges
	n, low, high := p.perAxis(groups), p.BoxLow, p.BoxHigh
	if n < coarse {
		margin := (high - low) / float64(2*n)
		low, high = low+margin, high-margin
	}
	return cvgm.GridSearch{Values: slices.Repeat([][]float64{logspace(low, high, n)}, groups)}
}

// summarise compares the searchers over the data sets.
func (p SearchDimensionsParams) summarise(hyperparameters int, data []dimensionCell) SearchDimension {
	d := SearchDimension{Hyperparameters: hyperparameters}
	var lowest []float64
	for _, c := range data {
		lowest = append(lowest, c.Lowest)
	}
	d.Best = estimate(lowest)
	for k, name := range dimensionMethods {
		m := SearchDimensionMethod{Name: name}
		if name == "exhaustive" {
			m.PerAxis, m.GridNeeded = p.perAxis(hyperparameters), math.Pow(2, float64(hyperparameters))
		}
		if data[0].Methods[k].Lowest == nil {
			d.Methods = append(d.Methods, m)
			continue
		}
		var excess []float64
		for i, c := range data {
			s := c.Methods[k]
			m.CV, m.Test, excess = append(m.CV, s.CV), append(m.Test, s.Test), append(excess, s.CV-lowest[i])
			m.Evaluations = max(m.Evaluations, len(s.Lowest))
		}
		m.CVMean, m.Excess, m.TestMean = estimate(m.CV), estimate(excess), estimate(m.Test)
		for n := range m.Evaluations {
			var sum float64
			for _, c := range data {
				sum += atStep(c.Methods[k].Lowest, n)
			}
			m.Improve = append(m.Improve, sum/float64(len(data)))
		}
		d.Methods = append(d.Methods, m)
	}
	return d
}

// atStep returns the value at index n of those along a search. A search that has
// ended stays at its last.
func atStep[T any](values []T, n int) T { return values[min(n, len(values)-1)] }
