package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"
)

// SearchesParams are the parameters of the contest of searchers for the lowest
// CV loss of the paper's first experiment.
type SearchesParams struct {
	ElasticNetParams
	DataSets int     `help:"data sets, drawn as the fresh seeds of the elastic net experiment are"`
	Start    float64 `help:"start of every search, for both penalties"`
	Budget   int     `help:"evaluations of every search but multi-start"`
	Starts   int     `help:"starts of the multi-start search"`
	Reach    float64 `help:"a search has reached the minimum once it is this near to it"`
	Few      int     `help:"evaluations within which few-evaluation searches are to reach it"`

	BoxLow    float64 `help:"lower end of the box of searches in logarithms, as log10"`
	BoxHigh   float64 `help:"upper end of the box of all searches without gradient, as log10"`
	Step      float64 `help:"step size of the gradient methods with constant step"`
	HeavyStep float64 `help:"step size of the heavy ball method"`

	TruthPoints int `help:"points per penalty of the grid from which the true minimum is found"`
	TruthZooms  int `help:"halvings of the grid around each of its local minima, made where it gains nothing any more"`
	Picture     int `help:"data set whose loss surface is kept"`
}

// DefaultSearches returns the parameters of the contest: the paper's problem,
// with a budget in which its two baselines evaluate their 100 points.
func DefaultSearches() SearchesParams {
	return SearchesParams{
		ElasticNetParams: PaperElasticNet(), DataSets: 12, Start: .1, Budget: 100, Starts: 10, Reach: 1e-6, Few: 24,
		BoxLow: -4, BoxHigh: .5, Step: .01, HeavyStep: .002,
		TruthPoints: 24, TruthZooms: 18, Picture: 3,
	}
}

// SearchesResult is what Run measures.
type SearchesResult struct {
	Params SearchesParams
	// Minimum is the lowest CV loss of each data set, At where it is, and
	// LocalMinima how many the grid shows. They are found without gradients,
	// by a dense grid and ever finer ones that walk downhill from each of its
	// local minima.
	Minimum     []float64
	At          [][2]float64
	LocalMinima []int
	Methods     []SearchMethod
	Picture     SearchPicture
}

// SearchMethod is one searcher on all data sets.
type SearchMethod struct {
	Name     string
	Gradient bool // it uses gradients
	// Excess is the lowest CV loss found within 1, 2, … evaluations, less the
	// minimum: [data set][evaluations-1].
	Excess [][]float64
	// Reached is the number of evaluations by which the minimum is reached;
	// 0 where it is not.
	Reached []int
	// Evaluations are those spent until the search ended by itself or by its
	// budget.
	Evaluations []int
	// Median is the median of Excess over the data sets.
	Median []float64
}

// Within counts the data sets in which the minimum is reached within so many
// evaluations, among the first n data sets.
func (m SearchMethod) Within(evaluations, n int) int {
	count := 0
	for _, r := range m.Reached[:n] {
		if r > 0 && r <= evaluations {
			count++
		}
	}
	return count
}

// SearchPicture is one data set's surface with the points of a quasi-Newton
// search and where each of the starts of multi-start ends.
type SearchPicture struct {
	Surface ElasticNetSurface
	Path    [][2]float64
	Ends    [][2]float64
	EndLoss []float64
}

// The names of the searchers that others refer to.
const (
	SearchQuasiNewton = "quasi-Newton"
	SearchMultiStart  = "quasi-Newton, multi-start"
)

// searchers lists the contestants; those in logarithms see a box that begins
// at BoxLow, the others the bounds of the paper.
func (p SearchesParams) searchers(dataSet int) []searchEntry {
	stream := func(purpose string) func() cvgm.Source {
		return func() cvgm.Source { return synth.NewStream(uint64(dataSet), "searches: "+purpose) }
	}
	grid := logspace(p.BoxLow, p.BoxHigh, p.GridPoints)
	log := func(s cvgm.Searcher) cvgm.Searcher { return cvgm.LogSpace{Searcher: s} }
	// A box of four decades and a half is some ten units of the logarithm wide.
	const logSigma, rawSigma = 1.5, .1
	return []searchEntry{
		{"projected gradient, paper's step", true, false, cvgm.ProjectedGradient{StepSize: p.StepSize, MaxEvals: p.Budget}},
		{"projected gradient", true, false, cvgm.ProjectedGradient{StepSize: p.Step, MaxEvals: p.Budget}},
		{"heavy ball", true, false, cvgm.HeavyBall{StepSize: p.HeavyStep, MaxEvals: p.Budget}},
		{"Nesterov", true, false, cvgm.Nesterov{StepSize: p.Step, MaxEvals: p.Budget}},
		{"Adam", true, false, cvgm.Adam{StepSize: p.Step, Epsilon: 1e-8, MaxEvals: p.Budget}},
		{"adaptive gradient", true, false, cvgm.AdaptiveGradient{MaxEvals: p.Budget}},
		{SearchQuasiNewton, true, false, cvgm.QuasiNewton{MaxEvals: p.Budget}},
		{SearchMultiStart, true, false, p.multiStart(dataSet)},
		{"exhaustive", false, true, cvgm.GridSearch{Values: [][]float64{grid, grid}}},
		{"random", false, true, cvgm.RandomSearch{Source: stream("random"), Draw: cvgm.LogUniform(p.BoxLow, p.BoxHigh), MaxEvals: p.Budget}},
		{"Bayesian", false, false, cvgm.Bayesian{Source: stream("Bayesian"), MaxEvals: p.Budget}},
		{"Bayesian in log λ", false, true, log(cvgm.Bayesian{Source: stream("Bayesian in logarithms"), MaxEvals: p.Budget})},
		{"CMA-ES", false, false, cvgm.CMAES{Source: stream("CMA-ES"), Sigma: rawSigma, MaxEvals: p.Budget}},
		{"CMA-ES in log λ", false, true, log(cvgm.CMAES{Source: stream("CMA-ES in logarithms"), Sigma: logSigma, MaxEvals: p.Budget})},
	}
}

type searchEntry struct {
	name        string
	gradient    bool
	logarithmic bool
	searcher    cvgm.Searcher
}

func (p SearchesParams) multiStart(dataSet int) cvgm.MultiStart {
	return cvgm.MultiStart{Searcher: cvgm.QuasiNewton{MaxEvals: p.Budget},
		Source: func() cvgm.Source { return synth.NewStream(uint64(dataSet), "searches: starts") },
		Draw:   cvgm.LogUniform(p.BoxLow, p.BoxHigh), Starts: p.Starts}
}

// problem is the CV loss of a contest with the bounds of an entry.
func (p SearchesParams) problem(c *contest, e searchEntry) cvgm.Problem {
	problem := cvgm.Problem{Objective: c.cv.Eval, Lower: []float64{p.MinLambda1, p.MinLambda2}}
	if !e.gradient {
		high := math.Pow(10, p.BoxHigh)
		problem.Upper = []float64{high, high}
	}
	if e.logarithmic {
		low := math.Pow(10, p.BoxLow)
		problem.Lower = []float64{low, low}
	}
	return problem
}

// Run runs every searcher on every data set, the data sets in parallel.
func (p SearchesParams) Run(ctx context.Context) (*SearchesResult, error) {
	if p.DataSets < 1 || p.Budget < 1 || p.TruthPoints < 3 || p.TruthZooms < 1 || p.Picture < 0 || p.Picture >= p.DataSets {
		return nil, &qpdiff.ArgError{Arg: "SearchesParams", Why: qpdiff.ErrDomain,
			Problem: fmt.Sprintf("has DataSets = %d, Budget = %d, TruthPoints = %d, TruthZooms = %d, Picture = %d", p.DataSets, p.Budget, p.TruthPoints, p.TruthZooms, p.Picture),
			Remedy:  "use positive numbers, at least 3 points, and a picture of one of the data sets"}
	}
	r := &SearchesResult{Params: p, Minimum: make([]float64, p.DataSets), At: make([][2]float64, p.DataSets), LocalMinima: make([]int, p.DataSets)}
	for _, e := range p.searchers(0) {
		r.Methods = append(r.Methods, SearchMethod{Name: e.name, Gradient: e.gradient,
			Excess: make([][]float64, p.DataSets), Reached: make([]int, p.DataSets), Evaluations: make([]int, p.DataSets)})
	}
	err := eachCell(ctx, p.DataSets, func(i int) error {
		if err := r.run(ctx, i); err != nil {
			return fmt.Errorf("data set %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for k := range r.Methods {
		m := &r.Methods[k]
		longest := 0
		for _, e := range m.Excess {
			longest = max(longest, len(e))
		}
		column := make([]float64, p.DataSets)
		for n := range longest {
			for i, e := range m.Excess {
				column[i] = e[min(n, len(e)-1)] // a search that has ended stays
			}
			m.Median = append(m.Median, median(column))
		}
	}
	return r, nil
}

// run fills slot i of every method.
func (r *SearchesResult) run(ctx context.Context, i int) error {
	p := r.Params
	seed := uint64(i)
	c, err := p.newContest(synth.NewStream(seed, "elastic net: data"), synth.NewStream(seed, "elastic net: splits"), 1)
	if err != nil {
		return err
	}
	if r.Minimum[i], r.At[i], r.LocalMinima[i], err = p.truth(ctx, c); err != nil {
		return err
	}
	for k, e := range p.searchers(i) {
		m := &r.Methods[k]
		lowest := math.Inf(1)
		c.cv.Reset()
		for step, err := range e.searcher.Search(p.problem(c, e), []float64{p.Start, p.Start}) {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", e.name, err)
			}
			lowest = min(lowest, step.Loss)
			m.Excess[i] = append(m.Excess[i], lowest-r.Minimum[i])
			m.Evaluations[i] = step.Evaluations
			if m.Reached[i] == 0 && lowest <= r.Minimum[i]+p.Reach {
				m.Reached[i] = step.Evaluations
			}
		}
	}
	if i == p.Picture {
		return r.picture(ctx, c)
	}
	return nil
}

// truth finds the lowest CV loss within the box: on a grid of zero and powers
// of ten, then on ever finer grids around each of its local minima.
func (p SearchesParams) truth(ctx context.Context, c *contest) (lowest float64, at [2]float64, minima int, err error) {
	axis := append([]float64{0}, logspace(p.BoxLow, p.BoxHigh, p.TruthPoints-1)...)
	eval := func(x, y float64) (float64, error) {
		return c.cv.Eval(nil, []float64{max(x, p.MinLambda1), max(y, p.MinLambda2)})
	}
	z := make([][]float64, len(axis))
	for i, x := range axis {
		if err := ctx.Err(); err != nil {
			return 0, at, 0, err
		}
		for _, y := range axis {
			v, err := eval(x, y)
			if err != nil {
				return 0, at, 0, err
			}
			z[i] = append(z[i], v)
		}
	}
	lowest = math.Inf(1)
	for i := range axis {
		for j := range axis {
			if !lowestAround(z, i, j) {
				continue
			}
			minima++
			best, x, y := z[i][j], axis[i], axis[j]
			width, height := spacing(axis, i), spacing(axis, j)
			for zooms := 0; zooms < p.TruthZooms; {
				cx, cy, before := x, y, best
				const half = 2
				for a := -half; a <= half; a++ {
					for b := -half; b <= half; b++ {
						tx, ty := max(cx+width*float64(a)/half, 0), max(cy+height*float64(b)/half, 0)
						v, err := eval(tx, ty)
						if err != nil {
							return 0, at, 0, err
						}
						if v < best {
							best, x, y = v, tx, ty
						}
					}
				}
				// The loss has creases, along which a grid would creep: the move
				// is doubled as long as that helps, and the grid made finer only
				// where it gains next to nothing.
				for dx, dy := x-cx, y-cy; dx != 0 || dy != 0; dx, dy = 2*dx, 2*dy {
					tx, ty := max(x+dx, 0), max(y+dy, 0)
					v, err := eval(tx, ty)
					if err != nil {
						return 0, at, 0, err
					}
					if !(v < best) {
						break
					}
					best, x, y = v, tx, ty
				}
				if best > before-p.Reach/100 {
					width, height = width/2, height/2
					zooms++
				}
			}
			if best < lowest {
				lowest, at = best, [2]float64{max(x, p.MinLambda1), max(y, p.MinLambda2)}
			}
		}
	}
	return lowest, at, minima, nil
}

// lowestAround reports whether none of the eight neighbours is lower, and none
// of those before it as low: a plateau counts once at most.
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

// spacing returns the larger distance from axis[i] to a neighbour.
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

func (r *SearchesResult) picture(ctx context.Context, c *contest) error {
	p := r.Params
	var err error
	if r.Picture.Surface, err = c.surface(ctx); err != nil {
		return err
	}
	problem := p.problem(c, searchEntry{gradient: true})
	start := []float64{p.Start, p.Start}
	for step, err := range (cvgm.QuasiNewton{MaxEvals: p.Budget}).Search(problem, start) {
		if err != nil {
			return err
		}
		r.Picture.Path = append(r.Picture.Path, [2]float64(step.X))
	}
	multi := p.multiStart(int(p.Picture))
	src := multi.Source()
	for range p.Starts {
		best, err := cvgm.Best(multi.Searcher.Search(problem, start))
		if err != nil {
			return err
		}
		r.Picture.Ends, r.Picture.EndLoss = append(r.Picture.Ends, [2]float64(best.X)), append(r.Picture.EndLoss, best.Loss)
		multi.Draw(src, start)
	}
	return nil
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}
