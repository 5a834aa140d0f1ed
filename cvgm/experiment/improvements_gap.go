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

// GapParams are the parameters of the question how much the CV loss over-fits
// as the number of hyperparameters grows, and what stopping by a nested
// estimate gains.
type GapParams struct {
	Search   SearchDimensionsParams `help:"the problems: penalties by groups of features, and a network's weights"`
	Groups   []int                  `help:"numbers of groups of features"`
	DataSets int                    `help:"data sets"`
	Steps    int                    `help:"evaluations of every search"`
	Folds    int                    `help:"outer folds of the nested estimate"`
	Patience int                    `help:"steps without a new lowest estimate after which a search is stopped"`
}

// DefaultGap returns the default parameters.
func DefaultGap() GapParams {
	p := GapParams{Search: DefaultSearchDimensions(), Groups: []int{2, 20}, DataSets: 16, Steps: 150, Folds: 5, Patience: 30}
	p.Search.Train = 40
	return p
}

// GapResult is what Run measures.
type GapResult struct {
	Params   GapParams
	Problems []GapProblem
}

// GapProblem is the CV loss, its nested estimate and the true risk along the
// searches on one kind of problem, as means over the data sets.
type GapProblem struct {
	Hyperparameters  int
	CV, Nested, Risk []float64 // by step; a search that has ended stays where it is
	// The risk at the end of the search, where the CV loss is lowest; where the
	// monitor stops it and returns the step of the lowest estimate; and the
	// lowest on the path, which nobody knows.
	AtEnd, Stopped, Lowest Estimate
	// Gap is the risk less the CV loss, at the end.
	Gap         Estimate
	StoppedLess Comparison // the risk where the monitor stops against that at the end
	Evaluations Estimate   // of the search until the monitor stops it
}

// Run watches the searches, in parallel over problems and data sets.
func (p GapParams) Run(ctx context.Context) (*GapResult, error) {
	if p.DataSets < 2 || p.Steps < 1 || p.Folds < 2 || p.Patience < 1 {
		return nil, &qpdiff.ArgError{Arg: "GapParams", Why: qpdiff.ErrDomain,
			Problem: fmt.Sprintf("has DataSets = %d, Steps = %d, Folds = %d, Patience = %d", p.DataSets, p.Steps, p.Folds, p.Patience),
			Remedy:  "use at least two data sets and folds, one step and a patience of one"}
	}
	r := &GapResult{Params: p}
	for _, g := range p.Groups {
		r.Problems = append(r.Problems, GapProblem{Hyperparameters: g})
	}
	r.Problems = append(r.Problems, GapProblem{Hyperparameters: p.Search.Rings.kernel().NumParams()})
	paths := make([][]cvgm.GapStep, len(r.Problems)*p.DataSets)
	err := eachCell(ctx, len(paths), func(cell int) error {
		cell = len(paths) - 1 - cell // the costliest first
		problem, i := cell/p.DataSets, cell%p.DataSets
		var err error
		if paths[cell], err = p.watch(ctx, r.Problems[problem].Hyperparameters, problem == len(p.Groups), i); err != nil {
			return fmt.Errorf("%d hyperparameters, data set %d: %w", r.Problems[problem].Hyperparameters, i, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for k := range r.Problems {
		r.Problems[k].summarise(p, paths[k*p.DataSets:(k+1)*p.DataSets])
	}
	return r, nil
}

// watch runs one search to its end with a nested estimate and the true risk.
func (p GapParams) watch(ctx context.Context, hyperparameters int, rings bool, dataSet int) ([]cvgm.GapStep, error) {
	search := cvgm.AdaptiveGradient{MaxEvals: p.Steps}
	make := func(rows []int) (dimensionProblem, error) {
		if rings {
			return p.Search.rings(dataSet, rows)
		}
		return p.Search.ridge(hyperparameters, dataSet, rows)
	}
	whole, err := make(nil)
	if err != nil {
		return nil, err
	}
	monitor := cvgm.GapMonitor{Risk: func(s cvgm.Step) (float64, error) { return whole.test(s.X) }}
	folds, err := cvgm.KFold(synth.NewStream(uint64(dataSet), "gap: outer folds"), whole.examples, p.Folds)
	if err != nil {
		return nil, err
	}
	for _, f := range folds {
		part, err := make(f.Train)
		if err != nil {
			return nil, err
		}
		monitor.Nested = append(monitor.Nested, cvgm.NestedSearch{
			Steps: search.Search(part.problem, part.start),
			Risk:  func(s cvgm.Step) (float64, error) { return part.risk(s.X, f.Val) },
		})
	}
	var path []cvgm.GapStep
	for s, err := range monitor.Watch(search.Search(whole.problem, whole.start)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		s.X, s.Grad = nil, nil
		path = append(path, s)
	}
	return path, nil
}

func (g *GapProblem) summarise(p GapParams, paths [][]cvgm.GapStep) {
	g.CV, g.Nested, g.Risk = make([]float64, p.Steps), make([]float64, p.Steps), make([]float64, p.Steps)
	n := float64(len(paths))
	var end, stopped, lowest, gap, evaluations []float64
	for _, path := range paths {
		for k := range p.Steps {
			s := path[min(k, len(path)-1)]
			g.CV[k] += s.Loss / n
			g.Nested[k] += s.HeldOut / n
			g.Risk[k] += s.Risk / n
		}
		// As the monitor would with its patience.
		best, last := 0, len(path)
		for k, s := range path {
			if s.Best {
				best = k
			}
			if k-best >= p.Patience {
				last = k + 1
				break
			}
		}
		final := slices.MinFunc(path, func(a, b cvgm.GapStep) int { return int(math.Copysign(1, a.Loss-b.Loss)) })
		end, gap = append(end, final.Risk), append(gap, final.Risk-final.Loss)
		stopped, evaluations = append(stopped, path[best].Risk), append(evaluations, float64(last))
		least := math.Inf(1)
		for _, s := range path {
			least = min(least, s.Risk)
		}
		lowest = append(lowest, least)
	}
	g.AtEnd, g.Stopped, g.Lowest, g.Gap = estimate(end), estimate(stopped), estimate(lowest), estimate(gap)
	g.StoppedLess, g.Evaluations = compare(stopped, end), estimate(evaluations)
}
