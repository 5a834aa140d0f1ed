package elasticnet

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/search"
	"cvgm/synth"
)

// ElasticNetSeedsParams are the parameters of the paper's first experiment on fresh data.
type ElasticNetSeedsParams struct {
	experiment.RegressionData
	PenaltyCVGM
	Steps     int `help:"evaluations of the gradient method" range:"[1,∞)" small:"[1,6]" setting:"%v evaluations of CVGM, the last of which counts"`
	LongSteps int `help:"evaluations of the gradient method in its long run" range:"[1,∞)" small:"[1,12]"`
	SearchBox
	WideLow     float64 `help:"lower end of the wide range, searched with as many points" unit:"log10 of the penalty" range:"[-300,300]" below:"WideHigh" small:"[-8,-5]"`
	WideHigh    float64 `help:"upper end of the wide range" unit:"log10 of the penalty" range:"[-300,300]" small:"[.5,2]"`
	Evaluations int     `help:"evaluations of each quasi-Newton search for the CV loss's minimum" range:"[1,∞)" small:"[1,8]"`
	Seeds       int     `help:"fresh data sets" range:"[1,∞)" small:"[1,4]"`
	experiment.FreshData
}

// DefaultElasticNetSeeds returns the parameters of [DefaultElasticNet], with 500 data sets.
func DefaultElasticNetSeeds() ElasticNetSeedsParams {
	return ElasticNetSeedsParams{
		RegressionData: experiment.PaperRegression, PenaltyCVGM: PaperPenaltyCVGM,
		Steps: 99, LongSteps: 1000, SearchBox: paperSearchBox, WideLow: -4, WideHigh: .5, Evaluations: 60, Seeds: 500,
	}
}

func (ElasticNetSeedsParams) Defaults() any { return DefaultElasticNetSeeds() }

// Seeds is the result of the paper's first experiment on fresh data sets from the project's own
// streams. Because there are many data sets, the result shows which differences between the methods
// of Table 1 do not depend on the seed.
type Seeds struct {
	Params  ElasticNetSeedsParams
	Methods []Method // CVGM first
	// Minimum holds the minimum of the CV loss on each data set. Quasi-Newton searches start from
	// (.1, .1) and from the best points of both grids. The minimum is the lowest result of these
	// searches.
	Minimum []Minimum
	// The following fields are shares of the data sets on which a statement holds:
	//
	//   - MinimumOutside: the minimum lies outside the box of the paper's grid.
	//   - MinimumAbove: the minimum exceeds the box's upper end in a penalty.
	//   - OnEdge: the best point of the paper's grid lies on the edge of the grid.
	//   - OnUpper: the best point of the paper's grid lies at the upper end of a penalty.
	//   - WideOnEdge, WideOnUpper: OnEdge and OnUpper for the wide grid.
	MinimumOutside, MinimumAbove, OnEdge, OnUpper, WideOnEdge, WideOnUpper experiment.Estimate
	// WideLess holds differences of losses: the loss in the wide box minus the loss in the paper's
	// box. There are four differences: for the CV loss and the test loss of exhaustive search, and
	// for the CV loss and the test loss of random search.
	WideLess struct{ ExhaustiveCV, ExhaustiveTest, RandomCV, RandomTest experiment.Comparison }
}

// Minimum describes a data set. CV is the lowest CV loss, At holds its penalties, and Test is the
// test loss with these penalties. Grid and Wide are the lowest points of the two grids.
type Minimum struct {
	CV, Test       float64
	At, Grid, Wide [2]float64
}

// Method holds the losses of one method on each data set. The losses of CVGM are at its last point.
// The losses of the other methods are at the point of their lowest CV loss. A baseline without
// hyperparameters has no CV loss.
type Method struct {
	Name          string
	Test, CV      []float64
	TestMean      experiment.Estimate
	CVMean        experiment.Estimate
	CVGMMinusTest experiment.Comparison // CVGM's test loss minus this method's
	CVGMMinusCV   experiment.Comparison
}

// These constants are the indices in Seeds.Methods.
const (
	CVGM = iota
	Long
	Exhaustive
	Random
	WideExhaustive
	WideRandom
	Start // the start of CVGM
	LeastSquares
	TrueCoefficients
)

func (p ElasticNetSeedsParams) Check() error { return p.CheckLeastSquares() }

// Run repeats the experiment on all data sets, in parallel.
func (p ElasticNetSeedsParams) Run(ctx context.Context, hooks experiment.Hooks) (*Seeds, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	seeds, err := experiment.Cells(ctx, hooks, p.Seeds,
		func(i int) string { return fmt.Sprintf("seed %d", p.Number(i, p.Seeds)) },
		func(i int) (seedLosses, error) { return p.seed(ctx, uint64(p.Number(i, p.Seeds))) })
	if err != nil {
		return nil, err
	}
	r := &Seeds{Params: p}
	for k, name := range []string{"CVGM", fmt.Sprintf("CVGM, %d steps", p.LongSteps), "Exhaustive search", "Random search", "Exhaustive search, wide box", "Random search, wide box", "CVGM's start", "Least squares", "True coefficients"} {
		m := Method{Name: name}
		for _, losses := range seeds {
			m.Test, m.CV = append(m.Test, losses.Test[k]), append(m.CV, losses.CV[k])
		}
		r.Methods = append(r.Methods, m)
	}
	first := &r.Methods[CVGM]
	for k := range r.Methods {
		m := &r.Methods[k]
		m.TestMean, m.CVGMMinusTest = experiment.EstimateOf(m.Test), experiment.Compare(first.Test, m.Test)
		if k >= LeastSquares {
			m.CV = nil
			continue
		}
		m.CVMean, m.CVGMMinusCV = experiment.EstimateOf(m.CV), experiment.Compare(first.CV, m.CV)
	}
	r.summariseBoxes(seeds)
	return r, nil
}

// summariseBoxes computes the fields that hold a share of the data sets, and compares the wide box
// with the paper's box.
func (r *Seeds) summariseBoxes(seeds []seedLosses) {
	paper, wideBox := r.Params.SearchBox, r.Params.wideBox()
	for _, losses := range seeds {
		r.Minimum = append(r.Minimum, losses.Minimum)
	}
	over := func(counted func(m Minimum) bool) experiment.Estimate {
		var shares []float64
		for _, m := range r.Minimum {
			shares = append(shares, shareOf(counted(m)))
		}
		return experiment.ShareOf(shares)
	}
	r.MinimumOutside = over(func(m Minimum) bool { return !paper.isInside(m.At) })
	r.MinimumAbove = over(func(m Minimum) bool { return max(m.At[0], m.At[1]) > math.Pow(10, paper.BoxHigh) })
	r.OnEdge = over(func(m Minimum) bool { return paper.onEdge(m.Grid) })
	r.OnUpper = over(func(m Minimum) bool { return paper.onUpper(m.Grid) })
	r.WideOnEdge = over(func(m Minimum) bool { return wideBox.onEdge(m.Wide) })
	r.WideOnUpper = over(func(m Minimum) bool { return wideBox.onUpper(m.Wide) })
	narrow, wide, less := &r.Methods[Exhaustive], &r.Methods[WideExhaustive], &r.WideLess
	less.ExhaustiveCV, less.ExhaustiveTest = experiment.Compare(wide.CV, narrow.CV), experiment.Compare(wide.Test, narrow.Test)
	narrow, wide = &r.Methods[Random], &r.Methods[WideRandom]
	less.RandomCV, less.RandomTest = experiment.Compare(wide.CV, narrow.CV), experiment.Compare(wide.Test, narrow.Test)
}

// shareOf returns 1 if cond is true, and otherwise 0.
func shareOf(cond bool) float64 {
	if cond {
		return 1
	}
	return 0
}

// wideBox returns the wide box, with the same numbers of points as the paper's box.
func (p ElasticNetSeedsParams) wideBox() SearchBox {
	return SearchBox{GridPoints: p.GridPoints, RandomPoints: p.RandomPoints, BoxLow: p.WideLow, BoxHigh: p.WideHigh}
}

// seedLosses holds the losses of all methods on one data set.
type seedLosses struct {
	Test, CV [TrueCoefficients + 1]float64
	Minimum  Minimum
}

// seed runs all methods on the data set of a seed.
func (p ElasticNetSeedsParams) seed(ctx context.Context, seed uint64) (losses seedLosses, err error) {
	s, err := p.Setup(p.RegressionData, synth.NewStream(seed, "elastic net: data"), synth.NewStream(seed, "elastic net: splits"), 1)
	if err != nil {
		return losses, err
	}
	put := func(method int, lambda []float64, loss float64) error {
		var err error
		losses.CV[method] = loss
		losses.Test[method], err = s.TestLoss(lambda)
		return err
	}
	if err := p.descend(ctx, s, put); err != nil {
		return losses, err
	}
	for _, m := range []struct {
		method   int
		name     string
		searcher search.Searcher
	}{
		{Exhaustive, "exhaustive search", p.Exhaustive()},
		{Random, "random search", p.Random(func() cvgm.Source { return synth.NewStream(seed, "elastic net: random search") })},
		{WideExhaustive, "exhaustive search, wide box", p.wideBox().Exhaustive()},
		{WideRandom, "random search, wide box", p.wideBox().Random(func() cvgm.Source { return synth.NewStream(seed, "elastic net: random search, wide box") })},
	} {
		best, err := search.Best(s.Search(ctx, m.searcher))
		if err != nil {
			return losses, fmt.Errorf("%s: %w", m.name, err)
		}
		if err := put(m.method, best.X, best.Loss); err != nil {
			return losses, err
		}
		switch m.method {
		case Exhaustive:
			losses.Minimum.Grid = [2]float64(best.X)
		case WideExhaustive:
			losses.Minimum.Wide = [2]float64(best.X)
		}
	}
	if err := p.minimum(ctx, s, &losses.Minimum); err != nil {
		return losses, experiment.Wrap(err, "minimum of the CV loss")
	}
	losses.Test[TrueCoefficients] = linearRisk(s.Test, s.Coef, asIs)
	return losses, put(LeastSquares, leastSquares, math.NaN())
}

// descend stores the loss of CVGM at its start, after p.Steps steps and after p.LongSteps steps. If
// the descent ends earlier, it stores the loss of the last step instead.
func (p ElasticNetSeedsParams) descend(ctx context.Context, s *experiment.Setup, put func(method int, lambda []float64, loss float64) error) error {
	for step, err := range s.Search(ctx, p.Gradient(max(p.LongSteps, p.Steps))) {
		if err != nil {
			return fmt.Errorf("CVGM: %w", err)
		}
		for method, steps := range map[int]int{Start: 1, CVGM: p.Steps, Long: p.LongSteps} {
			if step.Evaluations == steps || step.Converged && step.Evaluations < steps {
				if err := put(method, step.X, step.Loss); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// minimum sets m to the lowest result of several quasi-Newton searches.
func (p ElasticNetSeedsParams) minimum(ctx context.Context, s *experiment.Setup, m *Minimum) error {
	m.CV = math.Inf(1)
	for _, start := range [][2]float64{{.1, .1}, m.Grid, m.Wide} {
		from := *s
		from.Start = []float64{max(start[0], p.MinLambda1), max(start[1], p.MinLambda2)}
		best, err := search.Best(from.Search(ctx, search.QuasiNewton{MaxEvals: p.Evaluations}))
		if err != nil {
			return err
		}
		if best.Loss < m.CV {
			m.CV, m.At = best.Loss, [2]float64(best.X)
		}
	}
	var err error
	m.Test, err = s.TestLoss(m.At[:])
	return err
}
