package manyhyper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// LeversParams are the parameters of an experiment that varies the number of hyperparameters. Each
// problem has one kind of hyperparameter, such as the ridge penalty. Its learner has one
// hyperparameter of this kind for all features, or one for each group of neighbouring features. The
// smallest groups have one feature. All hyperparameters are tuned by searches along the exact
// gradient of the CV loss. The searches use two kinds of splits.
type LeversParams struct {
	// Widths has widths of a kernel, on Friedman's function.
	Widths LeverWidths
	// Bands has ridge penalties on bands of coefficients. In one problem, the sizes of the
	// coefficients differ between bands. In another problem, they are equal.
	Bands LeverBands
	// Smooths has penalties of smooth terms, on a sum of known functions.
	Smooths     LeverSmooths
	Folds       int     `help:"folds of one kind of splits, and of the tuner" range:"[2,∞)" small:"[2,4]" setting:"%v folds"`
	Halves      int     `help:"splits of the other kind, which fit fewer rows" range:"[1,∞)" small:"[2,4]" setting:"%v balanced splits"`
	HalfP       float64 `help:"share of the rows that these splits fit" range:"(0,1)" small:"[.4,.6]" setting:"p = %v"`
	Evaluations int     `help:"evaluations of each search at most; several begin at the end of the search of one" range:"[1,∞)" small:"[1,4]" setting:"up to %v evaluations"`
	DataSets    int     `help:"data sets of each problem" range:"[2,∞)" small:"[2,3]" setting:"%v data sets"`
	experiment.FreshData
}

// LeverWidths describes Friedman's function, with numbers of groups of features.
type LeverWidths struct {
	Friedman
	Groups []int `help:"numbers of groups of features, each with its own width; divisors of Features" range:"[2,∞)" len:"[1,∞)" order:"ascending" small:"{2,3,6}"`
}

// LeverBands describes bands of coefficients, with numbers of groups of features.
type LeverBands struct {
	Banded
	Groups []int `help:"numbers of groups of features, each with its own penalty; divisors of Features" range:"[2,∞)" len:"[1,∞)" order:"ascending" small:"{2,3,6}"`
}

// LeverSmooths describes smooth functions, with numbers of groups of features.
type LeverSmooths struct {
	Smooths
	Groups []int `help:"numbers of groups of smooth terms, each with its own penalty; divisors of Features" range:"[2,∞)" len:"[1,∞)" order:"ascending" small:"{2,4,6}"`
}

// DefaultLevers returns two kinds of problems: with 20 features, of which only some have an effect,
// and with an additive model of eight features.
func DefaultLevers() LeversParams {
	return LeversParams{
		Widths:  LeverWidths{Friedman{Train: 80, Test: 1000, Features: 20, Noise: 1}, []int{4, 20}},
		Bands:   LeverBands{Banded{Train: 60, Test: 1000, Features: 20, Bands: 4, Decay: .3, Noise: .7}, []int{4, 20}},
		Smooths: LeverSmooths{Smooths{Train: 100, Test: 1000, Features: 8, Noise: 2}, []int{2, 8}},
		Folds:   10, Halves: 20, HalfP: .5, Evaluations: 100, DataSets: 40,
	}
}

func (LeversParams) Defaults() any { return DefaultLevers() }

func (p LeversParams) Check() error {
	least := min(p.Widths.Train, p.Bands.Train, p.Smooths.Train)
	if p.Folds > least {
		return experiment.Invalid("Folds", p.Folds, fmt.Sprintf("use at most %d, the fewest training examples of a problem", least))
	}
	if _, err := cvgm.TrainRows(least, p.HalfP); err != nil {
		return experiment.Invalid("HalfP", p.HalfP, fmt.Sprintf("use a share that leaves training and validation rows of %d examples", least))
	}
	return experiment.FirstError(
		p.Bands.check("Bands."),
		checkDivisors("Widths.Groups", p.Widths.Groups, p.Widths.Features),
		checkDivisors("Bands.Groups", p.Bands.Groups, p.Bands.Features),
		checkDivisors("Smooths.Groups", p.Smooths.Groups, p.Smooths.Features))
}

// LeversResult is the result of Run.
type LeversResult struct {
	Params   LeversParams
	Problems []Lever
}

// These constants are the indices in LeversResult.Problems.
const (
	LeverOfWidths = iota
	LeverOfBands
	LeverOfEqual
	LeverOfSmooths
)

// A Lever holds the searches for one problem. Losses are mean squared errors.
type Lever struct {
	Name     string
	Noise    float64             // variance of the labels' noise; no model has a lower expected test loss
	Constant experiment.Estimate // test loss of the mean of the training labels
	// Rows are the searches. The searches on folds come first, in the order of their number of
	// hyperparameters. The searches on the other splits follow in the same order. The searches of
	// the tuner come last.
	Rows []LeverRow
}

// A LeverRow holds the results of one search over the data sets.
type LeverRow struct {
	Search          string
	Hyperparameters int
	Evaluations     experiment.Estimate // includes the search for one hyperparameter, whose end is the start of this search
	Fits            experiment.Estimate // one for each split and evaluation; for the tuner, N is 0
	CV, Test        experiment.Estimate
	// TestLessOne is the test loss minus the test loss of the table's first row. This row is the
	// search for one hyperparameter on folds.
	TestLessOne experiment.Comparison
	// CVLessOne is the CV loss minus the CV loss with one hyperparameter of the kind, on the same
	// splits. For the tuner, CVLessOne.N is 0.
	CVLessOne experiment.Comparison
}

// Ratio returns the mean test loss of a row divided by the mean test loss with one hyperparameter.
// Its margin is the margin of the paired difference of the two losses, divided by the mean test
// loss with one hyperparameter.
func (l Lever) Ratio(row LeverRow) experiment.Estimate {
	e := row.TestLessOne.Difference.Times(1 / l.Rows[0].Test.Mean)
	e.Mean++
	return e
}

// CVRatio is Ratio for the CV losses on the same splits.
func (l Lever) CVRatio(row LeverRow) experiment.Estimate {
	e := row.CVLessOne.Difference
	e = e.Times(1 / (row.CV.Mean - e.Mean))
	e.Mean++
	return e
}

// These constants are the values of LeverRow.Search.
const (
	SearchFolds  = "folds"
	SearchHalves = "halves"
	SearchTuner  = "tuner"
	SearchNet    = "tuner, elastic net"
)

// lever is a problem with its searches.
type lever struct {
	problem
	noise  float64
	groups []int // numbers of groups, beginning with 1
	net    bool  // whether the tuner also tunes an elastic net
}

// levers lists the problems.
func (p LeversParams) levers() []lever {
	equal := p.Bands.Banded
	equal.Decay = 1
	from1 := func(groups []int) []int { return append([]int{1}, groups...) }
	return []lever{
		{p.Widths.problem("widths of a kernel"), p.Widths.Noise, from1(p.Widths.Groups), false},
		{p.Bands.problem("penalties, sizes differ"), p.Bands.Noise, from1(p.Bands.Groups), true},
		{equal.problem("penalties, one size"), p.Bands.Noise, from1(p.Bands.Groups), true},
		{p.Smooths.problem("smooth terms"), p.Smooths.Noise, from1(p.Smooths.Groups), false},
	}
}

// Run runs the searches on all data sets. Problems and data sets run in parallel.
func (p LeversParams) Run(ctx context.Context, hooks experiment.Hooks) (*LeversResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	levers := p.levers()
	measured, err := experiment.CellTable(ctx, hooks, len(levers), p.DataSets,
		func(i, set int) string {
			return fmt.Sprintf("%s, data set %d", levers[i].name, p.Number(set, p.DataSets))
		},
		func(i, set int) (leverCell, error) {
			return p.measure(ctx, levers[i], uint64(p.Number(set, p.DataSets)))
		})
	if err != nil {
		return nil, err
	}
	r := &LeversResult{Params: p}
	for i, l := range levers {
		r.Problems = append(r.Problems, summary(l, measured[i]))
	}
	return r, nil
}

// leverCell holds the searches on one data set.
type leverCell struct {
	Constant float64
	Searches []leverSearch
}

// A leverSearch is the result of one search on one data set.
type leverSearch struct {
	Name                  string
	Hyper                 int
	CV, Test              float64
	Evaluations, PerEvals int // PerEvals is the number of fits per evaluation; 0: not counted
}

// measure runs the searches on one data set.
func (p LeversParams) measure(ctx context.Context, l lever, set uint64) (c leverCell, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(set, "many hyperparameters, "+l.name+": "+purpose)
	}
	train, test := l.draw(stream)
	c.Constant = constantLoss(train, test)
	folds, errFolds := cvgm.KFold(stream("folds"), len(train.Y), p.Folds)
	halves, errHalves := cvgm.BalancedSplits(stream("halves"), len(train.Y), p.Halves, p.HalfP)
	if err := experiment.FirstError(errFolds, errHalves); err != nil {
		return c, err
	}
	for _, on := range []struct {
		name   string
		splits []cvgm.Split
	}{{SearchFolds, folds}, {SearchHalves, halves}} {
		var one search.Step // the end of the search for one hyperparameter of the kind
		for _, groups := range l.groups {
			s, err := l.setup(groups, train, test, on.splits)
			if err != nil {
				return c, err
			}
			if one.X != nil {
				s.Start = l.spreadOver(one.X, groups)
			}
			best, risk, err := p.endOfSearch(ctx, s)
			if err != nil {
				return c, experiment.Wrap(err, "%s, %d groups", on.name, groups)
			}
			c.Searches = append(c.Searches, leverSearch{on.name, len(best.X), best.Loss, risk, one.Evaluations + best.Evaluations, len(on.splits)})
			if one.X == nil {
				one = best
			}
		}
	}
	tuned, err := p.tuned(ctx, SearchTuner, l.learner(l.groups[len(l.groups)-1]), train, test)
	if c.Searches = append(c.Searches, tuned); err == nil && l.net {
		tuned, err = p.tuned(ctx, SearchNet, new(linear.ElasticNet), train, test)
		c.Searches = append(c.Searches, tuned)
	}
	return c, err
}

// endOfSearch returns the end of the search, and the test loss there.
func (p LeversParams) endOfSearch(ctx context.Context, s *experiment.Setup) (best search.Step, risk float64, err error) {
	if best, err = search.Best(s.Search(ctx, searcher(p.Evaluations))); err != nil {
		return best, 0, err
	}
	risk, err = s.TestLoss(best.X)
	return best, risk, err
}

// tuned runs the search of a tuner. Except for the number of folds, the tuner has its default
// settings.
func (p LeversParams) tuned(ctx context.Context, name string, l learn.Learner, train, test learn.Data) (leverSearch, error) {
	t, err := tune.Tuner{Learner: l, Folds: p.Folds, OuterFolds: -1, Workers: 1}.Tune(ctx, train)
	if err != nil {
		return leverSearch{}, experiment.Wrap(err, "%s", name)
	}
	risk, err := t.Model.Risk(cvgm.SquaredError{}, test)
	return leverSearch{Name: name, Hyper: len(t.Searched), CV: t.Loss, Test: risk, Evaluations: t.Evaluations}, err
}

// constantLoss returns the test loss of the mean of the training labels.
func constantLoss(train, test learn.Data) float64 {
	return meanSquare(slices.Repeat([]float64{stat.Mean(train.Y, nil)}, len(test.Y)), test.Y)
}

// meanSquare returns the mean squared error of predictions.
func meanSquare(predicted, y []float64) float64 {
	d := floats.Distance(predicted, y, 2)
	return d * d / float64(len(y))
}

// summary compares the searches over the data sets.
func summary(l lever, cells []leverCell) Lever {
	out := Lever{Name: l.name, Noise: l.noise * l.noise, Constant: experiment.EstimateOf(experiment.Column(cells, func(c leverCell) float64 { return c.Constant }))}
	test := func(k int) []float64 {
		return experiment.Column(cells, func(c leverCell) float64 { return c.Searches[k].Test })
	}
	cv := func(k int) []float64 {
		return experiment.Column(cells, func(c leverCell) float64 { return c.Searches[k].CV })
	}
	one := 0 // index of the search for one hyperparameter on the same splits
	for k, s := range cells[0].Searches {
		if s.Name != cells[0].Searches[one].Name {
			one = k
		}
		row := LeverRow{Search: s.Name, Hyperparameters: s.Hyper, CV: experiment.EstimateOf(cv(k)), Test: experiment.EstimateOf(test(k)),
			Evaluations: experiment.EstimateOf(experiment.Column(cells, func(c leverCell) float64 { return float64(c.Searches[k].Evaluations) })),
			TestLessOne: experiment.Compare(test(k), test(0))}
		if s.PerEvals > 0 {
			row.Fits = row.Evaluations.Times(float64(s.PerEvals))
			row.CVLessOne = experiment.Compare(cv(k), cv(one))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Find returns, of the rows with the given search, the row with the most hyperparameters. It
// returns false if the search is missing.
func (l Lever) Find(name string) (LeverRow, bool) {
	k := slices.IndexFunc(l.Rows, func(r LeverRow) bool { return r.Search == name })
	if k < 0 {
		return LeverRow{Test: experiment.Estimate{Mean: math.NaN()}}, false
	}
	for k+1 < len(l.Rows) && l.Rows[k+1].Search == name {
		k++
	}
	return l.Rows[k], true
}
