// Package searches holds the experiments of notebook 06_searches. Two experiments compare several
// searchers: in two dimensions ([SearchesParams]), and in many dimensions
// ([SearchDimensionsParams]). Two further experiments compare random search with one other search:
// with exhaustive search ([FewDimensionsParams]), and with Bayesian optimisation ([RegretParams]).
package searches

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/search"
	"cvgm/synth"
)

// SearchesParams are the parameters of a comparison of searchers. It compares the lowest CV losses
// that they find. The problem is the paper's first experiment.
type SearchesParams struct {
	experiment.RegressionData
	elasticnet.PenaltyCVGM
	DataSets          int     `help:"fresh data sets" range:"[1,∞)" small:"[1,3]"`
	Budget            int     `help:"evaluations of every search but exhaustive search; multi-start spends it at every start" range:"[1,∞)" small:"[2,12]" setting:"random search: %v points, log-uniform"`
	SmallBudget       int     `help:"a smaller number of evaluations at which the searches are compared, too" range:"[1,∞)" small:"[1,8]"`
	Tol               float64 `help:"a search has reached the minimum when its CV loss exceeds it by at most this" range:"(0,∞)" small:"[1e-4,1e-2]" setting:"ends whose CV losses differ by more than %v count as several minima"`
	Starts            int     `help:"starts of the multi-start search, the common start included" range:"[1,∞)" small:"[1,3]"`
	BoxLow            float64 `help:"lower end of the range of grid and random search and of the searches in logarithms" unit:"log10 of the penalty" range:"[-300,300]" below:"BoxHigh" small:"[-5,-2]" setting:"λ1 and λ2 from %v"`
	BoxHigh           float64 `help:"upper end of the range of all searches without gradient" unit:"log10 of the penalty" range:"[-300,300]" small:"[-1,1]" setting:"up to %v"`
	GridPoints        int     `help:"points of the exhaustive search per hyperparameter" range:"[2,∞)" small:"[2,4]" setting:"exhaustive search: %v points per penalty at equal ratios"`
	LongStepSize      float64 `help:"step size of projected gradient, Nesterov and Adam" range:"(0,∞)" small:"[1e-3,1e-1]" setting:"step %v"`
	HeavyBallStepSize float64 `help:"step size of the heavy ball method" range:"(0,∞)" small:"[1e-4,1e-2]"`
	ReferencePoints   int     `help:"points per hyperparameter of the grid from which the true minimum is found" range:"[3,∞)" small:"[3,5]" setting:"grid of %v values of λ1 and of λ2, the lower bound and the others at equal ratios in the box"`
	Refinements       int     `help:"halvings of the grid around each of its local minima" range:"[1,1000]" small:"[1,4]"`
	experiment.SurfaceGrid
	SurfaceDataSet int `help:"number, within the draw, of the data set whose loss surface is kept" range:"[0,∞)" below:"DataSets" small:"[0,2]"`
	experiment.FreshData
}

// DefaultSearches returns the default parameters. The problem is the paper's problem. The budget is
// 100 evaluations, the number of points of each of the paper's two baselines.
func DefaultSearches() SearchesParams {
	p := SearchesParams{
		RegressionData: experiment.PaperRegression, PenaltyCVGM: elasticnet.PaperPenaltyCVGM,
		DataSets: 100, Budget: 100, SmallBudget: 24, Tol: 1e-6, Starts: 10,
		BoxLow: -4, BoxHigh: .5, GridPoints: 10, LongStepSize: .01, HeavyBallStepSize: .002,
		ReferencePoints: 24, Refinements: 18, SurfaceGrid: experiment.DefaultSurface, SurfaceDataSet: 14, // the CV loss of data set 14 has two minima far apart, and the path is long enough to be visible
	}
	p.StartLambda1, p.StartLambda2 = .1, .1
	return p
}

func (SearchesParams) Defaults() any { return DefaultSearches() }

func (p SearchesParams) Check() error {
	high := math.Pow(10, p.BoxHigh)
	for k, v := range []float64{p.MinLambda1, p.MinLambda2} {
		if v > high {
			return experiment.Invalid(fmt.Sprintf("MinLambda%d", k+1), v, fmt.Sprintf("use at most 10 to the power of BoxHigh, %v", high))
		}
	}
	return nil
}

// Result is the result of Run.
type Result struct {
	Params SearchesParams
	// Minimum holds the lowest CV loss of each data set, and At holds the penalties at this loss.
	//
	// LocalMinima is the number of local minima of the CV loss. Two minima count as different if
	// their losses differ by more than Tol. The minima are found without gradients: first on a
	// dense grid, and then on ever finer grids around each local minimum of the dense grid. The CV
	// loss has a plateau on which all coefficients are zero. This plateau does not count.
	//
	// Above is the largest excess of the CV loss over a chord. For each point of the dense grid, a
	// chord is the line between the losses at two neighbours of the point. If Above is positive,
	// the CV loss is not a convex function of the penalties.
	Minimum     []float64
	At          [][2]float64
	LocalMinima []int
	Above       []float64
	Methods     []Method
	Surface     Surface
}

// Method is one searcher on all data sets.
type Method struct {
	Name     string
	Gradient bool // whether the searcher uses gradients
	// The entry Excess[data set][n−1] is the lowest CV loss within the first n evaluations, minus
	// the minimum of the CV loss.
	Excess [][]float64
	// For each data set, Reached holds the number of evaluations until the search reaches the
	// minimum. It is 0 if the search never reaches the minimum.
	Reached []int
	// For each data set, Evaluations holds the number of evaluations of the search. The search ends
	// by itself, or when its budget is used up.
	Evaluations []int
	// Median holds the median of Excess over the data sets, for each number of evaluations.
	Median []float64
}

// Within returns the number of data sets, among the first n, on which the searcher reaches the
// minimum within the given number of evaluations.
func (m Method) Within(evaluations, n int) int {
	count := 0
	for _, r := range m.Reached[:n] {
		if r > 0 && r <= evaluations {
			count++
		}
	}
	return count
}

// Surface is the CV loss of one data set on a grid of penalties. Path holds the points of the
// quasi-Newton search. Ends holds the lowest point of each search of multi-start, one for each
// start.
type Surface struct {
	experiment.ElasticNetSurface
	Path    [][2]float64
	Ends    [][2]float64
	EndLoss []float64
}

// These constants are the names of searchers to which other code refers.
const (
	PaperStep   = "projected gradient, paper's step"
	QuasiNewton = "quasi-Newton"
	MultiStart  = "quasi-Newton, multi-start"
)

// logSigma is the standard deviation of the first points of CMA-ES in natural logarithms. In
// natural logarithms, a box of four and a half decades has a width of about 10.
const logSigma = 1.5

// searchers lists the searchers. For a searcher that is marked as logarithmic, the lower bound is
// BoxLow. For the others, the lower bounds are the paper's.
func (p SearchesParams) searchers(dataSet int) []searchEntry {
	stream := func(purpose string) func() cvgm.Source {
		return func() cvgm.Source { return synth.NewStream(uint64(dataSet), "searches: "+purpose) }
	}
	box := elasticnet.SearchBox{GridPoints: p.GridPoints, RandomPoints: p.Budget, BoxLow: p.BoxLow, BoxHigh: p.BoxHigh}
	log := func(s search.Searcher) search.Searcher { return search.LogSpace{Searcher: s} }
	const sigma = .1
	return []searchEntry{
		{PaperStep, true, false, p.Gradient(p.Budget)},
		{"projected gradient", true, false, search.ProjectedGradient{StepSize: p.LongStepSize, MaxEvals: p.Budget}},
		{"heavy ball", true, false, search.HeavyBall{StepSize: p.HeavyBallStepSize, MaxEvals: p.Budget}},
		{"Nesterov", true, false, search.Nesterov{StepSize: p.LongStepSize, MaxEvals: p.Budget}},
		{"Adam", true, false, search.Adam{StepSize: p.LongStepSize, Epsilon: 1e-8, MaxEvals: p.Budget}},
		{"adaptive gradient", true, false, search.AdaptiveGradient{MaxEvals: p.Budget}},
		{QuasiNewton, true, false, search.QuasiNewton{MaxEvals: p.Budget}},
		{MultiStart, true, false, search.MultiStart{Searcher: search.QuasiNewton{MaxEvals: p.Budget}, Source: stream("starts"), Draw: search.LogUniform(p.BoxLow, p.BoxHigh), Starts: p.Starts}},
		{"exhaustive", false, true, box.Exhaustive()},
		{"random", false, true, box.Random(stream("random"))},
		{"Bayesian", false, false, search.Bayesian{Source: stream("Bayesian"), MaxEvals: p.Budget}},
		{"Bayesian in log λ", false, true, log(search.Bayesian{Source: stream("Bayesian in logarithms"), MaxEvals: p.Budget})},
		{"CMA-ES", false, false, search.CMAES{Source: stream("CMA-ES"), Sigma: sigma, MaxEvals: p.Budget}},
		{"CMA-ES in log λ", false, true, log(search.CMAES{Source: stream("CMA-ES in logarithms"), Sigma: logSigma, MaxEvals: p.Budget})},
	}
}

type searchEntry struct {
	name        string
	gradient    bool
	logarithmic bool
	searcher    search.Searcher
}

// setup draws a data set.
func (p SearchesParams) setup(dataSet int) (*experiment.Setup, error) {
	seed := uint64(dataSet)
	return p.PenaltyCVGM.Setup(p.RegressionData, synth.NewStream(seed, "elastic net: data"), synth.NewStream(seed, "elastic net: splits"), 1)
}

// boundedSetup returns the setup s with the bounds that the searcher of an entry needs.
func (p SearchesParams) boundedSetup(s *experiment.Setup, e searchEntry) *experiment.Setup {
	b := *s
	if !e.gradient {
		b.Upper = slices.Repeat([]float64{math.Pow(10, p.BoxHigh)}, 2)
	}
	if e.logarithmic {
		b.Lower = slices.Repeat([]float64{math.Pow(10, p.BoxLow)}, 2)
	}
	return &b
}

// Run runs every searcher on every data set. The data sets run in parallel.
func (p SearchesParams) Run(ctx context.Context, hooks experiment.Hooks) (*Result, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	data, err := experiment.Cells(ctx, hooks, p.DataSets,
		func(i int) string { return fmt.Sprintf("data set %d", p.Number(i, p.DataSets)) },
		func(i int) (searchesCell, error) { return p.cell(ctx, i) })
	if err != nil {
		return nil, err
	}
	r := &Result{Params: p, Surface: data[p.SurfaceDataSet].Surface}
	for _, c := range data {
		r.Minimum, r.At, r.LocalMinima = append(r.Minimum, c.Reference.Minimum), append(r.At, c.Reference.At), append(r.LocalMinima, c.Reference.LocalMinima)
		r.Above = append(r.Above, c.Reference.Above)
	}
	for k, e := range p.searchers(0) {
		m := Method{Name: e.name, Gradient: e.gradient}
		longest := 0
		for _, c := range data {
			s := c.Searches[k]
			m.Excess, m.Reached, m.Evaluations = append(m.Excess, s.Excess), append(m.Reached, s.Reached), append(m.Evaluations, s.Evaluations)
			longest = max(longest, len(s.Excess))
		}
		for n := range longest {
			var column []float64
			for _, e := range m.Excess {
				column = append(column, experiment.AtStep(e, n))
			}
			m.Median = append(m.Median, experiment.MedianValue(column))
		}
		r.Methods = append(r.Methods, m)
	}
	return r, nil
}

// searchesCell holds the results on one data set.
type searchesCell struct {
	Reference reference
	Searches  []searchOutcome // in the order of the searchers
	Surface   Surface         // of data set Params.SurfaceDataSet; empty for the others
}

// searchOutcome is the result of one search on one data set; see Method.
type searchOutcome struct {
	Excess               []float64
	Reached, Evaluations int
}

func (p SearchesParams) cell(ctx context.Context, dataSet int) (c searchesCell, err error) {
	number := p.Number(dataSet, p.DataSets)
	s, err := p.setup(number)
	if err != nil {
		return c, err
	}
	if c.Reference, err = p.reference(ctx, s); err != nil {
		return c, err
	}
	for _, e := range p.searchers(number) {
		start := 0
		if multi, ok := e.searcher.(search.MultiStart); ok {
			draw := multi.Draw
			multi.Draw = func(src cvgm.Source, x []float64) {
				start++
				draw(src, x)
			}
			e.searcher = multi
		}
		var o searchOutcome
		lowest := math.Inf(1)
		s.CV.Reset()
		for step, err := range p.boundedSetup(s, e).Search(ctx, e.searcher) {
			if err != nil {
				return c, fmt.Errorf("%s: %w", e.name, err)
			}
			lowest = min(lowest, step.Loss)
			o.Excess = append(o.Excess, lowest-c.Reference.Minimum)
			o.Evaluations = step.Evaluations
			if o.Reached == 0 && lowest <= c.Reference.Minimum+p.Tol {
				o.Reached = step.Evaluations
			}
			if dataSet == p.SurfaceDataSet {
				c.Surface.add(e.name, step, start)
			}
		}
		c.Searches = append(c.Searches, o)
	}
	if dataSet == p.SurfaceDataSet {
		c.Surface.ElasticNetSurface, err = p.Evaluate(ctx, s, false)
	}
	return c, err
}

// add records a step of a search on the data set that the surface shows. The argument start is the
// index, from 0, of the point from which the search started.
func (s *Surface) add(name string, step search.Step, start int) {
	x := [2]float64(step.X)
	switch {
	case name == QuasiNewton:
		s.Path = append(s.Path, x)
	case name != MultiStart:
	case start == len(s.Ends):
		s.Ends, s.EndLoss = append(s.Ends, x), append(s.EndLoss, step.Loss)
	case step.Loss < s.EndLoss[start]:
		s.Ends[start], s.EndLoss[start] = x, step.Loss
	}
}

// A reference holds the lowest CV loss of a data set as Minimum. The other fields are entries of
// [Result] for this data set.
type reference struct {
	Minimum     float64
	At          [2]float64
	LocalMinima int
	Above       float64
}

// The method reference searches the box for the lowest CV loss. It evaluates a grid of zero and
// powers of ten. From each local minimum of this grid, it then descends on ever finer grids.
func (p SearchesParams) reference(ctx context.Context, s *experiment.Setup) (r reference, err error) {
	eval := func(x [2]float64) float64 {
		loss := math.NaN()
		if err == nil {
			loss, err = s.CVLoss(ctx, p.feasible(x))
		}
		return loss
	}
	axis := append([]float64{0}, experiment.Logspace(p.BoxLow, p.BoxHigh, p.ReferencePoints-1)...)
	z, err := experiment.OnGrid(ctx, [][]float64{axis, axis}, func(ctx context.Context, x []float64) (float64, error) {
		return s.CVLoss(ctx, p.feasible([2]float64(x)))
	})
	if err != nil {
		return r, err
	}
	r.Minimum = math.Inf(1)
	var ends []float64
	plateau := z[len(axis)-1][len(axis)-1]
	for i, x := range axis {
		for j, y := range axis {
			if !lowestAround(z, i, j) {
				continue
			}
			lowest, at := p.descend(eval, z[i][j], [2]float64{x, y}, [2]float64{spacing(axis, i), spacing(axis, j)})
			known := func(v float64) bool { return math.Abs(v-lowest) <= p.Tol }
			if !known(plateau) && !slices.ContainsFunc(ends, known) {
				ends = append(ends, lowest)
			}
			if lowest < r.Minimum {
				r.Minimum, r.At = lowest, [2]float64(p.feasible(at))
			}
		}
	}
	r.LocalMinima, r.Above = max(1, len(ends)), aboveChords(axis, z)
	return r, err
}

// aboveChords compares the value at each point of a grid with chords. A chord is the line between
// the values at two neighbours of the point, along one of the two axes. The function returns the
// largest excess of a value over its chord. For a strictly convex function, the result is negative.
func aboveChords(axis []float64, z [][]float64) float64 {
	most := math.Inf(-1)
	for k := 1; k+1 < len(axis); k++ {
		share := (axis[k] - axis[k-1]) / (axis[k+1] - axis[k-1])
		for i := range axis {
			most = max(most, z[i][k]-z[i][k-1]-share*(z[i][k+1]-z[i][k-1]), z[k][i]-z[k-1][i]-share*(z[k+1][i]-z[k-1][i]))
		}
	}
	return most
}

// feasible returns x within the lower bounds: coordinates below the bounds are moved to the bounds.
func (p SearchesParams) feasible(x [2]float64) []float64 {
	return []float64{max(x[0], p.MinLambda1), max(x[1], p.MinLambda2)}
}

// descend moves from a local minimum of a grid to the lowest point that it finds on ever finer
// grids.
func (p SearchesParams) descend(eval func([2]float64) float64, lowest float64, at, spacing [2]float64) (float64, [2]float64) {
	const (
		half    = 2   // number of points of a grid on each side of its centre, for each hyperparameter
		tolPart = 100 // a gain below Tol/tolPart counts as almost nothing
	)
	try := func(x, y float64) bool {
		x, y = max(x, 0), max(y, 0)
		v := eval([2]float64{x, y})
		if !(v < lowest) {
			return false
		}
		lowest, at = v, [2]float64{x, y}
		return true
	}
	for refined := 0; refined < p.Refinements; {
		centre, before := at, lowest
		for a := -half; a <= half; a++ {
			for b := -half; b <= half; b++ {
				try(centre[0]+spacing[0]*float64(a)/half, centre[1]+spacing[1]*float64(b)/half)
			}
		}
		// Along a kink of the loss, steps from grid to grid would be short. The step is therefore
		// doubled as long as the loss decreases. The grid is refined only if the step gains almost
		// nothing.
		for dx, dy := at[0]-centre[0], at[1]-centre[1]; dx != 0 || dy != 0; dx, dy = 2*dx, 2*dy {
			if !try(at[0]+dx, at[1]+dy) {
				break
			}
		}
		if !(lowest < before-p.Tol/tolPart) {
			spacing[0], spacing[1] = spacing[0]/2, spacing[1]/2
			refined++
		}
	}
	return lowest, at
}

// lowestAround reports whether the value at (i, j) is a local minimum of the grid z. None of the
// eight neighbours may have a lower value, and no earlier neighbour may have an equal value. So a
// plateau counts at most once.
func lowestAround(z [][]float64, i, j int) bool {
	for a := max(i-1, 0); a <= min(i+1, len(z)-1); a++ {
		for b := max(j-1, 0); b <= min(j+1, len(z)-1); b++ {
			if z[a][b] < z[i][j] || z[a][b] == z[i][j] && (a < i || a == i && b < j) {
				return false
			}
		}
	}
	return true
}

// spacing returns the larger of the distances from axis[i] to its two neighbours.
func spacing(axis []float64, i int) float64 {
	var s float64
	if i > 0 {
		s = axis[i] - axis[i-1]
	}
	if i+1 < len(axis) {
		s = max(s, axis[i+1]-axis[i])
	}
	return s
}
