package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// SearchDimensionsParams are the parameters of the contest of searchers over
// the number of hyperparameters: ridge regression in which every group of
// features has a penalty of its own, and the kernel of the rings experiment.
type SearchDimensionsParams struct {
	Groups      []int   `help:"numbers of groups of features, each with its own penalty; divisors of Features"`
	Train       int     `help:"training examples of the ridge regression"`
	Test        int     `help:"test examples of the ridge regression"`
	Features    int     `help:"features"`
	Informative int     `help:"features with a nonzero coefficient"`
	Noise       float64 `help:"standard deviation of the labels' noise, before Scale"`
	Scale       float64 `help:"labels are divided by this"`
	K           int     `help:"cross-validation splits of the ridge regression"`
	P           float64 `help:"fraction of the examples that each split trains on"`
	Low         float64 `help:"lower bound of the penalties, as log10"`
	High        float64 `help:"upper bound of the penalties, as log10"`
	Start       float64 `help:"start of every search, for all penalties"`

	Rings  RingsParams `help:"the problem whose hyperparameters are a network's weights"`
	Sigma  float64     `help:"standard deviation of the first points of CMA-ES around the initial weights"`
	Radius float64     `help:"half the width of the box around the initial weights in which Bayesian optimisation searches"`

	DataSets int `help:"data sets"`
	Budget   int `help:"evaluations of every search"`
	Long     int `help:"evaluations of the search that the others are measured against"`
}

// DefaultSearchDimensions returns the parameters of the contest.
func DefaultSearchDimensions() SearchDimensionsParams {
	return SearchDimensionsParams{
		Groups: []int{1, 2, 5, 20}, Train: 60, Test: 1000, Features: 20, Informative: 8, Noise: 100, Scale: 100,
		K: 64, P: .9, Low: -4, High: 1, Start: .1,
		Rings: PaperRings(), Sigma: .1, Radius: 1,
		DataSets: 5, Budget: 100, Long: 300,
	}
}

// SearchDimensionsResult is what Run measures.
type SearchDimensionsResult struct {
	Params     SearchDimensionsParams
	Dimensions []SearchDimension
}

// SearchDimension is the contest at one number of hyperparameters.
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

// dimensionProblem is one data set of one dimension.
type dimensionProblem struct {
	problem  cvgm.Problem
	start    []float64
	examples int
	test     func(x []float64) (float64, error)             // risk on the test examples
	risk     func(x []float64, rows []int) (float64, error) // on training examples left out
	searcher func(name string) cvgm.Searcher                // nil where it cannot run
}

// Run measures all searchers at all numbers of hyperparameters, the data sets
// in parallel.
func (p SearchDimensionsParams) Run(ctx context.Context) (*SearchDimensionsResult, error) {
	for _, g := range p.Groups {
		if g < 1 || p.Features%g != 0 {
			return nil, &qpdiff.ArgError{Arg: "Groups", Why: qpdiff.ErrDomain,
				Problem: fmt.Sprintf("holds %d for %d features", g, p.Features), Remedy: "use divisors of the number of features"}
		}
	}
	r := &SearchDimensionsResult{Params: p}
	for _, g := range p.Groups {
		r.Dimensions = append(r.Dimensions, p.dimension(g))
	}
	r.Dimensions = append(r.Dimensions, p.dimension(p.Rings.kernel().NumParams()))
	paths := make([][][][]float64, len(r.Dimensions)) // dimension, method, data set, evaluation
	best := make([][]float64, len(r.Dimensions))
	for d := range paths {
		best[d] = make([]float64, p.DataSets)
		paths[d] = make([][][]float64, len(dimensionMethods))
		for k := range paths[d] {
			paths[d][k] = make([][]float64, p.DataSets)
		}
	}
	err := eachCell(ctx, len(r.Dimensions)*p.DataSets, func(cell int) error {
		// The costliest dimension first.
		d, i := len(r.Dimensions)-1-cell/p.DataSets, cell%p.DataSets
		dim := &r.Dimensions[d]
		var q dimensionProblem
		var err error
		if d < len(p.Groups) {
			q, err = p.ridge(p.Groups[d], i, nil)
		} else {
			q, err = p.rings(i, nil)
		}
		if err != nil {
			return err
		}
		for k := range dim.Methods {
			if paths[d][k][i], err = dim.Methods[k].run(ctx, q, i); err != nil {
				return fmt.Errorf("%d hyperparameters, data set %d, %s: %w", dim.Hyperparameters, i, dim.Methods[k].Name, err)
			}
		}
		long, err := cvgm.Best(cvgm.QuasiNewton{MaxEvals: p.Long}.Search(q.problem, q.start))
		if err != nil {
			return err
		}
		best[d][i] = long.Loss
		return nil
	})
	if err != nil {
		return nil, err
	}
	for d := range r.Dimensions {
		r.Dimensions[d].summarise(best[d], paths[d])
	}
	return r, nil
}

func (p SearchDimensionsParams) dimension(hyperparameters int) SearchDimension {
	d := SearchDimension{Hyperparameters: hyperparameters}
	for _, name := range dimensionMethods {
		d.Methods = append(d.Methods, SearchDimensionMethod{Name: name, CV: make([]float64, p.DataSets), Test: make([]float64, p.DataSets)})
	}
	grid := &d.Methods[len(d.Methods)-1]
	grid.GridNeeded = math.Pow(2, float64(hyperparameters))
	if grid.PerAxis = int(math.Pow(float64(p.Budget), 1/float64(hyperparameters)) + 1e-9); grid.PerAxis < 2 {
		grid.CV, grid.Test = nil, nil
	}
	return d
}

// run fills slot i and returns the lowest CV loss after each evaluation.
func (m *SearchDimensionMethod) run(ctx context.Context, q dimensionProblem, i int) ([]float64, error) {
	searcher := q.searcher(m.Name)
	if m.CV == nil || searcher == nil {
		return nil, nil
	}
	var path []float64
	best := cvgm.Step{Loss: math.Inf(1)}
	for step, err := range searcher.Search(q.problem, q.start) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if step.Loss < best.Loss {
			best = step
			best.X = slices.Clone(step.X)
		}
		path = append(path, best.Loss)
	}
	m.CV[i] = best.Loss
	var err error
	m.Test[i], err = q.test(best.X)
	return path, err
}

func (d *SearchDimension) summarise(best []float64, paths [][][]float64) {
	for _, m := range d.Methods {
		for i, v := range m.CV {
			best[i] = min(best[i], v)
		}
	}
	d.Best = estimate(best)
	for k := range d.Methods {
		m := &d.Methods[k]
		if m.CV == nil {
			continue
		}
		excess := make([]float64, len(best))
		for i, v := range m.CV {
			excess[i] = v - best[i]
			m.Evaluations = max(m.Evaluations, len(paths[k][i]))
		}
		m.CVMean, m.Excess, m.TestMean = estimate(m.CV), estimate(excess), estimate(m.Test)
		for n := range m.Evaluations {
			var sum float64
			for _, path := range paths[k] {
				sum += path[min(n, len(path)-1)]
			}
			m.Improve = append(m.Improve, sum/float64(len(best)))
		}
	}
}

// ridge makes a ridge regression with as many penalties as groups of features,
// on the rows given of the training examples; nil: all.
func (p SearchDimensionsParams) ridge(groups, dataSet int, rows []int) (dimensionProblem, error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "search dimensions: "+purpose)
	}
	var q dimensionProblem
	d, coef, err := synth.MakeRegression(stream("data"), synth.Regression{Samples: p.Train + p.Test, Features: p.Features, Informative: p.Informative, Noise: p.Noise})
	if err != nil {
		return q, err
	}
	train, test, err := ElasticNetParams{Train: p.Train, Samples: p.Train + p.Test, Scale: p.Scale}.divide(d, coef)
	if err != nil {
		return q, err
	}
	q.examples = p.Train
	all := train
	train = pick(train, rows)
	splits, err := cvgm.RandomSplits(stream("splits"), len(train.Y), p.K, p.P)
	if err != nil {
		return q, err
	}
	cv, err := cvgm.New(cvgm.Config{Data: train, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true,
		Centring: cvgm.MeanCentring, Workers: 1,
		Learner: func() qpdiff.Learner { return &qpdiff.ElasticNet{PerFeature: true} }})
	if err != nil {
		return q, err
	}
	// The learner has one λ1 per feature, all zero, then one λ2 per feature.
	n := p.Features
	hyper, grad := make([]float64, 2*n), make([]float64, 2*n)
	spread := func(x []float64) []float64 {
		for j := range n {
			hyper[n+j] = x[j*groups/n]
		}
		return hyper
	}
	low, high := math.Pow(10, p.Low), math.Pow(10, p.High)
	q.problem.Objective = func(g, x []float64) (float64, error) {
		if g == nil {
			return cv.Eval(nil, spread(x))
		}
		loss, err := cv.Eval(grad, spread(x))
		clear(g)
		for j := range n {
			g[j*groups/n] += grad[n+j]
		}
		return loss, err
	}
	q.risks(func(x []float64) (*cvgm.Model, error) { return cv.Final(spread(x)) }, cvgm.SquaredError{}, all, test)
	for range groups {
		q.start = append(q.start, p.Start)
		q.problem.Lower, q.problem.Upper = append(q.problem.Lower, low), append(q.problem.Upper, high)
	}
	q.searcher = func(name string) cvgm.Searcher {
		src := func() cvgm.Source { return stream(fmt.Sprint(name, " ", groups)) }
		switch name {
		case "CMA-ES":
			return cvgm.LogSpace{Searcher: cvgm.CMAES{Source: src, Sigma: 1.5, MaxEvals: p.Budget}}
		case "Bayesian":
			return cvgm.LogSpace{Searcher: cvgm.Bayesian{Source: src, MaxEvals: p.Budget}}
		case "random":
			return cvgm.RandomSearch{Source: src, Draw: cvgm.LogUniform(p.Low, p.High), MaxEvals: p.Budget}
		case "exhaustive":
			perAxis := int(math.Pow(float64(p.Budget), 1/float64(groups)) + 1e-9)
			values := make([][]float64, groups)
			for j := range values {
				values[j] = logspace(p.Low, p.High, perAxis)
				if perAxis < 5 {
					// A coarse grid is better inside the box than on its edges.
					values[j] = logspace(p.Low+(p.High-p.Low)/float64(2*perAxis), p.High-(p.High-p.Low)/float64(2*perAxis), perAxis)
				}
			}
			return cvgm.GridSearch{Values: values}
		}
		return gradientSearcher(name, p.Budget)
	}
	return q, nil
}

func gradientSearcher(name string, budget int) cvgm.Searcher {
	if name == SearchQuasiNewton {
		return cvgm.QuasiNewton{MaxEvals: budget}
	}
	return cvgm.AdaptiveGradient{MaxEvals: budget}
}

// risks sets how models are judged.
func (q *dimensionProblem) risks(final func(x []float64) (*cvgm.Model, error), loss cvgm.Loss, train, test qpdiff.Data) {
	on := func(x []float64, d qpdiff.Data) (float64, error) {
		model, err := final(x)
		if err != nil {
			return 0, err
		}
		return model.Risk(loss, d)
	}
	q.test = func(x []float64) (float64, error) { return on(x, test) }
	q.risk = func(x []float64, rows []int) (float64, error) { return on(x, pick(train, rows)) }
}

// pick copies the rows of d; nil stands for all.
func pick(d qpdiff.Data, rows []int) qpdiff.Data {
	if rows == nil {
		return d
	}
	_, n := d.X.Dims()
	p := qpdiff.Data{X: mat.NewDense(len(rows), n, nil), Y: make([]float64, len(rows))}
	for i, row := range rows {
		p.X.SetRow(i, d.X.RawRowView(row))
		p.Y[i] = d.Y[row]
	}
	return p
}

// rings makes the rings problem, whose hyperparameters are a network's weights,
// on the rows given of the training examples; nil: all.
func (p SearchDimensionsParams) rings(dataSet int, rows []int) (dimensionProblem, error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "search dimensions, rings: "+purpose)
	}
	f, err := p.Rings.fresh(stream, "splits", rows)
	if err != nil {
		return dimensionProblem{}, err
	}
	q := dimensionProblem{examples: p.Rings.Train, start: f.start}
	q.problem.Objective = f.loss.Eval
	q.risks(f.loss.cv.Final, cvgm.LogisticLoss{}, f.train, f.test)
	lower, upper := slices.Clone(q.start), slices.Clone(q.start)
	for i := range lower {
		lower[i] -= p.Radius
		upper[i] += p.Radius
	}
	q.problem.Lower, q.problem.Upper = lower, upper
	q.searcher = func(name string) cvgm.Searcher {
		src := func() cvgm.Source { return stream(name) }
		switch name {
		case "CMA-ES":
			return cvgm.CMAES{Source: src, Sigma: p.Sigma, MaxEvals: p.Budget}
		case "Bayesian":
			return cvgm.Bayesian{Source: src, MaxEvals: p.Budget}
		case "random":
			return cvgm.RandomSearch{Source: src, Draw: func(src cvgm.Source, x []float64) { p.Rings.kernel().Init(x, src) }, MaxEvals: p.Budget}
		case "exhaustive":
			return nil
		}
		return gradientSearcher(name, p.Budget)
	}
	return q, nil
}

// freshRings is the rings experiment on data, splits and weights of its own.
type freshRings struct {
	train, test qpdiff.Data
	loss        *kernelLoss
	start       []float64
}

// fresh draws from one stream per purpose; the splits' is named by the caller.
// The CV loss is that of the rows given of the training examples; nil: all.
func (p RingsParams) fresh(stream func(purpose string) *synth.Stream, splits string, rows []int) (*freshRings, error) {
	train, err := synth.MakeRings(stream("training data"), p.Train, p.rings())
	if err != nil {
		return nil, err
	}
	test, err := synth.MakeRings(stream("test data"), p.Test, p.rings())
	if err != nil {
		return nil, err
	}
	f := &freshRings{train: qpdiff.Data{X: train.X, Y: train.Y}, test: qpdiff.Data{X: test.X, Y: test.Y}}
	part := pick(f.train, rows)
	drawn, err := cvgm.RandomSplits(stream(splits), len(part.Y), p.K, p.P)
	if err != nil {
		return nil, err
	}
	if f.loss, err = p.newKernelLoss(Full, part, drawn); err != nil {
		return nil, err
	}
	phi := p.kernel()
	f.start = make([]float64, phi.NumParams())
	phi.Init(f.start, stream("weights"))
	return f, nil
}
