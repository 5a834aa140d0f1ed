package splits

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/searches"
	"cvgm/cvgm/search"
	"cvgm/synth"
)

// GapParams are the parameters of two measurements. The first measurement shows how the
// over-fitting of the CV loss grows with the number of hyperparameters. The second shows how much a
// search gains if a nested estimate of the risk decides when it stops.
type GapParams struct {
	searches.DimensionProblems
	DataSets int `help:"data sets" range:"[2,∞)" small:"[2,3]"`
	Budget   int `help:"evaluations of every search" range:"[1,∞)" small:"[1,8]"`
	Folds    int `help:"outer folds of the nested estimate" range:"[2,∞)" small:"[3,4]"`
	Patience int `help:"evaluations without a new lowest estimate after which a search is stopped" range:"[1,∞)" small:"[1,5]"`
	experiment.FreshData
}

// DefaultGap returns the default parameters.
func DefaultGap() GapParams {
	p := GapParams{DimensionProblems: searches.DefaultDimensionProblems(), DataSets: 40, Budget: 150, Folds: 5, Patience: 30}
	p.Groups, p.Samples, p.Train = []int{2, 20}, 1040, 40
	return p
}

func (GapParams) Defaults() any { return DefaultGap() }

func (p GapParams) Check() error {
	if most := min(p.Train, p.Rings.Train); p.Folds > most {
		return experiment.Invalid("Folds", p.Folds, fmt.Sprintf("use at most as many as training examples, %d", most))
	}
	return p.DimensionProblems.Check()
}

// GapResult is the result of Run.
type GapResult struct {
	Params   GapParams
	Problems []GapProblem
}

// GapProblem holds means over the data sets of one kind of problem. Along each search, three
// quantities are measured: the CV loss, its nested estimate and the true risk.
type GapProblem struct {
	Hyperparameters  int
	CV, Nested, Risk []float64 // by step; a search that has ended keeps its last values
	// Over is the risk minus the CV loss for each step.
	Over []experiment.Estimate
	// AtEnd, Stopped and Lowest are the risks at three points of the search. AtEnd is the risk at
	// the end of the search, at which the CV loss is lowest. Stopped is the risk at the step with
	// the lowest nested estimate. A monitor returns this step when it stops the search. Lowest is
	// the lowest risk of all steps; in practice, the step with the lowest risk is unknown.
	AtEnd, Stopped, Lowest experiment.Estimate
	// Gap is the risk minus the CV loss at the end.
	Gap             experiment.Estimate
	StoppedMinusEnd experiment.Comparison // the risks Stopped minus AtEnd
	Evaluations     experiment.Estimate   // of the search, until the monitor stops it
}

// Run runs and monitors the searches. Problems and data sets run in parallel.
func (p GapParams) Run(ctx context.Context, hooks experiment.Hooks) (*GapResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	problems := p.Hyperparameters()
	data, err := experiment.CellTable(ctx, hooks, len(problems), p.DataSets,
		func(problem, dataSet int) string {
			return fmt.Sprintf("%d hyperparameters, data set %d", problems[problem], p.Number(dataSet, p.DataSets))
		},
		func(problem, dataSet int) (gapCell, error) {
			c, err := p.watch(ctx, problem, p.Number(dataSet, p.DataSets))
			if err == nil {
				err = c.setStop(p.Patience)
			}
			return c, err
		})
	if err != nil {
		return nil, err
	}
	r := &GapResult{Params: p}
	for k, n := range problems {
		r.Problems = append(r.Problems, p.summarise(n, data[k]))
	}
	return r, nil
}

// gapCell is the result of one search. Path holds the steps of the search without their slices.
// Best is the step that a monitor with the patience GapParams.Patience returns. Watched is the
// number of steps after which this monitor stops the search.
type gapCell struct {
	Path    []cvgm.GapStep
	Best    cvgm.GapStep
	Watched int
}

// watch runs one search to its end. It records the nested estimate and the true risk along the
// search.
func (p GapParams) watch(ctx context.Context, problem, dataSet int) (c gapCell, err error) {
	searcher := search.AdaptiveGradient{MaxEvals: p.Budget}
	whole, err := p.Setup(problem, dataSet, nil)
	if err != nil {
		return c, err
	}
	monitor := cvgm.GapMonitor{Risk: func(s search.Step) (float64, error) { return whole.TestLoss(s.X) }}
	folds, err := cvgm.KFold(synth.NewStream(uint64(dataSet), "gap: outer folds"), len(whole.Train.Y), p.Folds)
	if err != nil {
		return c, err
	}
	for _, f := range folds {
		part, err := p.Setup(problem, dataSet, f.Train)
		if err != nil {
			return c, err
		}
		heldOut := experiment.Pick(whole.Train, f.Val)
		monitor.Nested = append(monitor.Nested, cvgm.NestedSearch{
			Steps: part.Search(ctx, searcher),
			Risk:  func(s search.Step) (float64, error) { return part.Risk(s.X, heldOut) },
		})
	}
	for s, err := range monitor.Watch(whole.Search(ctx, searcher)) {
		if err != nil {
			return c, err
		}
		s.X, s.Grad = nil, nil
		c.Path = append(c.Path, s)
	}
	return c, nil
}

// setStop sets Best and Watched to the results of a monitor with the given patience.
func (c *gapCell) setStop(patience int) error {
	monitor := cvgm.GapMonitor{Patience: patience, HeldOut: func(search.Step) (float64, error) { return c.Path[c.Watched].HeldOut, nil }}
	for s, err := range monitor.Watch(func(yield func(search.Step, error) bool) {
		for k := 0; k < len(c.Path) && yield(c.Path[k].Step, nil); k++ {
		}
	}) {
		if err != nil {
			return err
		}
		if s.Best || c.Watched == 0 {
			c.Best = c.Path[c.Watched]
		}
		c.Watched++
	}
	return nil
}

func (p GapParams) summarise(hyperparameters int, data []gapCell) GapProblem {
	g := GapProblem{Hyperparameters: hyperparameters, CV: make([]float64, p.Budget), Nested: make([]float64, p.Budget), Risk: make([]float64, p.Budget)}
	n := float64(len(data))
	var end, stopped, lowest, gap, evaluations []float64
	over := make([][]float64, p.Budget)
	for _, c := range data {
		for k := range p.Budget {
			s := experiment.AtStep(c.Path, k)
			over[k] = append(over[k], s.Risk-s.Loss)
			g.CV[k] += s.Loss / n
			g.Nested[k] += s.HeldOut / n
			g.Risk[k] += s.Risk / n
		}
		final := slices.MinFunc(c.Path, func(a, b cvgm.GapStep) int { return cmp.Compare(a.Loss, b.Loss) })
		end, gap = append(end, final.Risk), append(gap, final.Risk-final.Loss)
		stopped, evaluations = append(stopped, c.Best.Risk), append(evaluations, float64(c.Watched))
		lowest = append(lowest, slices.MinFunc(c.Path, func(a, b cvgm.GapStep) int { return cmp.Compare(a.Risk, b.Risk) }).Risk)
	}
	for _, differences := range over {
		g.Over = append(g.Over, experiment.EstimateOf(differences))
	}
	g.AtEnd, g.Stopped, g.Lowest, g.Gap = experiment.EstimateOf(end), experiment.EstimateOf(stopped), experiment.EstimateOf(lowest), experiment.EstimateOf(gap)
	g.StoppedMinusEnd, g.Evaluations = experiment.Compare(stopped, end), experiment.EstimateOf(evaluations)
	return g
}
