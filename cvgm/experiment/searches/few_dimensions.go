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

	"gonum.org/v1/gonum/floats"
)

// FewDimensionsParams are the parameters of a comparison of random search with exhaustive search.
// The number of hyperparameters that affect the CV loss varies. These hyperparameters are the
// penalties of the groups in a ridge regression. All other hyperparameters have no effect.
type FewDimensionsParams struct {
	RidgeGroups
	Hyperparameters int `help:"hyperparameters that both searches choose, those without effect included" range:"[1,6]" small:"[3,4]" setting:"%v penalties"`
	PerAxis         int `help:"values of each hyperparameter in the grid; random search has as many points as the grid" range:"[1,10]" small:"[1,2]" setting:"grid: %v values of each, at the middles of equal parts of the box in logarithms"`
	DataSets        int `help:"data sets" range:"[2,∞)" small:"[2,3]"`
	Points          int `help:"random points at which the slope in each feature's own penalty is taken" range:"[1,∞)" small:"[1,4]" setting:"squared slopes in log λ2, mean over %v log-uniform points of the box"`
	experiment.FreshData
}

// DefaultFewDimensions returns parameters with the ridge regressions of [DefaultSearchDimensions],
// but with other numbers of groups.
func DefaultFewDimensions() FewDimensionsParams {
	p := FewDimensionsParams{RidgeGroups: DefaultDimensionProblems().RidgeGroups, Hyperparameters: 4, PerAxis: 3, DataSets: 40, Points: 30}
	p.Groups = []int{1, 2, 4}
	return p
}

func (FewDimensionsParams) Defaults() any { return DefaultFewDimensions() }

func (p FewDimensionsParams) Check() error {
	if most := slices.Max(append([]int{0}, p.Groups...)); most > p.Hyperparameters {
		return experiment.Invalid("Hyperparameters", p.Hyperparameters, fmt.Sprintf("use at least %d, the largest of Groups", most))
	}
	return p.RidgeGroups.Check()
}

// FewDimensionsResult is the result of Run.
type FewDimensionsResult struct {
	Params FewDimensionsParams
	Points int // the number of points of each search
	Rows   []FewDimensionsRow
	// Carry and CarryEqual describe ridge regressions in which each feature has its own penalty.
	// The influence of a penalty is the mean square of a slope: the slope of the CV loss in the
	// logarithm of the penalty. Consider the fewest penalties whose influences add up to nine
	// tenths of the total. Carry holds, for each data set, the share of these penalties among all
	// penalties. CarryEqual is the value of Carry if all influences are equal.
	Carry      []float64
	CarryEqual float64
}

// FewDimensionsRow compares the searches for one number of hyperparameters that affect the CV loss.
type FewDimensionsRow struct {
	Matter            int
	Random, Grid      []float64 // lowest CV loss for each data set
	RandomLess        experiment.Comparison
	RandomBelow       []float64 // for each data set: 1 if random search has the lower loss, ½ for a tie, otherwise 0
	RandomBelowOfSets experiment.Estimate
}

// fewCell holds the lowest losses of both searches on one data set. A cell without a search holds
// only the field Carry.
type fewCell struct{ Random, Grid, Carry float64 }

// Run varies how many hyperparameters affect the CV loss. For each number, it compares the two
// searches. The data sets run in parallel.
func (p FewDimensionsParams) Run(ctx context.Context, hooks experiment.Hooks) (*FewDimensionsResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	problems := len(p.Groups)
	measured, err := experiment.CellTable(ctx, hooks, problems+1, p.DataSets, func(i, dataSet int) string {
		dataSet = p.Number(dataSet, p.DataSets)
		if i == problems {
			return fmt.Sprintf("what single penalties carry, data set %d", dataSet)
		}
		return fmt.Sprintf("%d that matter, data set %d", p.Groups[i], dataSet)
	}, func(i, dataSet int) (c fewCell, err error) {
		dataSet = p.Number(dataSet, p.DataSets)
		if i == problems {
			c.Carry, err = p.carry(dataSet)
		} else {
			c, err = p.searches(ctx, p.Groups[i], dataSet)
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	r := &FewDimensionsResult{Params: p, Points: p.RandomPoints()}
	for i, matter := range p.Groups {
		row := FewDimensionsRow{Matter: matter}
		for _, c := range measured[i] {
			row.Random, row.Grid = append(row.Random, c.Random), append(row.Grid, c.Grid)
		}
		row.RandomBelow = experiment.Wins(row.Random, row.Grid)
		row.RandomLess, row.RandomBelowOfSets = experiment.Compare(row.Random, row.Grid), experiment.ShareOf(row.RandomBelow)
		r.Rows = append(r.Rows, row)
	}
	for _, c := range measured[problems] {
		r.Carry = append(r.Carry, c.Carry)
	}
	r.CarryEqual = carries(slices.Repeat([]float64{1}, p.Features))
	return r, nil
}

// RandomPoints returns the number of points of random search. It equals the number of points of the
// grid.
func (p FewDimensionsParams) RandomPoints() int {
	n := 1
	for range p.Hyperparameters {
		n *= p.PerAxis
	}
	return n
}

func (p FewDimensionsParams) stream(dataSet int) func(purpose string) *synth.Stream {
	return func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "few dimensions: "+purpose)
	}
}

// searches runs both searches on a problem in which only the first nActive hyperparameters affect
// the CV loss. The data and the splits are the same for every nActive.
func (p FewDimensionsParams) searches(ctx context.Context, nActive, dataSet int) (c fewCell, err error) {
	s, err := p.ridge(nActive, p.stream(dataSet), nil)
	if err != nil {
		return c, err
	}
	lossOf := s.Objective
	s.Objective = func(_, x []float64) (float64, error) { return lossOf(nil, x[:nActive]) }
	s.Start = slices.Repeat([]float64{p.StartLambda2}, p.Hyperparameters)
	s.Lower, s.Upper = nil, nil
	margin := (p.BoxHigh - p.BoxLow) / float64(2*p.PerAxis) // with this margin, the values of the grid are the middles of PerAxis equal parts of the box
	var values []float64
	for k := range p.PerAxis {
		values = append(values, math.Pow(10, p.BoxLow+margin*float64(2*k+1)))
	}
	for _, searcher := range []struct {
		lowest   *float64
		searcher search.Searcher
	}{
		{&c.Random, search.RandomSearch{Source: func() cvgm.Source { return p.stream(dataSet)("random") }, Draw: search.LogUniform(p.BoxLow, p.BoxHigh), MaxEvals: p.RandomPoints()}},
		{&c.Grid, search.GridSearch{Values: slices.Repeat([][]float64{values}, p.Hyperparameters)}},
	} {
		best, err := search.Best(s.Search(ctx, searcher.searcher))
		if err != nil {
			return c, err
		}
		*searcher.lowest = best.Loss
	}
	return c, nil
}

// carry returns Carry for a data set.
func (p FewDimensionsParams) carry(dataSet int) (float64, error) {
	s, err := p.ridge(p.Features, p.stream(dataSet), nil)
	if err != nil {
		return 0, err
	}
	src, draw := p.stream(dataSet)("slopes"), search.LogUniform(p.BoxLow, p.BoxHigh)
	x, slope, squares := make([]float64, p.Features), make([]float64, p.Features), make([]float64, p.Features)
	for range p.Points {
		draw(src, x)
		if _, err := s.Objective(slope, x); err != nil {
			return 0, err
		}
		floats.Mul(slope, x) // the slope in the logarithm
		floats.Mul(slope, slope)
		floats.Add(squares, slope)
	}
	return carries(squares), nil
}

// carries returns a share of the entries of v. It is the smallest number of entries that add up to
// nine tenths of the sum of v, divided by the number of all entries.
func carries(v []float64) float64 {
	const most = .9 * (1 - 1e-12) // below .9, because the sum of equal numbers is rounded
	sorted := slices.Sorted(slices.Values(v))
	total, sum := floats.Sum(v), 0.
	for n := len(sorted); n > 0; n-- {
		if sum += sorted[n-1]; sum >= most*total {
			return float64(len(sorted)-n+1) / float64(len(sorted))
		}
	}
	return 1
}
