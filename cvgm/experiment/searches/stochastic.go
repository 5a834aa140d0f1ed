package searches

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

// StochasticParams are the parameters of a comparison of searches for the weights of the rings'
// network. Stochastic CVGM draws new splits at each step, and an outer penalty keeps the weights of
// the network near their initial values. The rivals minimise the CV loss of fixed splits.
type StochasticParams struct {
	Rings       kernels.RingsProblem
	RingsRadius float64   `help:"half the width of the box of the network's weights, around the initial ones" range:"(0,∞)" small:"[.1,2]" setting:"each weight at most %v away from its start"`
	CMAESSigma  float64   `help:"standard deviation of the first points of CMA-ES around the network's initial weights" range:"(0,∞)" small:"[.05,.5]"`
	Budget      int       `help:"evaluations of plain CVGM, CMA-ES and random search, of Rings.K fits each" range:"[1,∞)" small:"[1,4]" setting:"%v evaluations of the searches on fixed splits"`
	Fresh       int       `help:"splits drawn for each step of stochastic CVGM" range:"[1,∞)" small:"[1,3]" setting:"%v fresh splits a step"`
	FreshP      float64   `help:"fraction of the examples that these splits train on" range:"(0,1)" splits:"Rings.Train" small:"[.4,.6]" setting:"p = %v"`
	Steps       int       `help:"steps of stochastic CVGM, by Adam" range:"[1,∞)" small:"[1,4]" setting:"%v steps"`
	StepSize    float64   `help:"size of these steps" range:"(0,∞)" small:"[.01,.1]"`
	OuterFolds  int       `help:"outer folds that choose the weight of the penalty" range:"[2,∞)" most:"Rings.Train" small:"[2,3]" setting:"%v outer folds"`
	Weights     []float64 `help:"weights of the outer penalty" range:"(0,∞)" len:"[1,∞)" order:"ascending" small:"[.1,100]"`
	DataSets    int       `help:"data sets" range:"[2,∞)" small:"[2,3]" setting:"%v data sets"`
	experiment.FreshData
}

// DefaultStochastic returns parameters with the paper's rings and a quarter of the paper's number
// of splits. With so few splits, ten data sets take little time.
func DefaultStochastic() StochasticParams {
	p := StochasticParams{
		Rings: kernels.PaperRings(), RingsRadius: 1, CMAESSigma: .1, Budget: 50,
		Fresh: 2, FreshP: .5, Steps: 100, StepSize: .03, OuterFolds: 3, Weights: []float64{1, 10, 100}, DataSets: 10,
	}
	p.Rings.K = 64
	return p
}

func (StochasticParams) Defaults() any { return DefaultStochastic() }

// Fits returns the number of fits of stochastic CVGM, including the fits for the choice of the
// penalty's weight. A descent of the training loss has as many steps, because each of its steps
// needs one fit.
func (p StochasticParams) Fits() int {
	return p.Fresh * p.Steps * (1 + p.OuterFolds*len(p.Weights))
}

// These constants are the names of the methods of StochasticResult.
const (
	StochasticPlain        = "plain CVGM"
	StochasticCMAES        = "CMA-ES"
	StochasticRandom       = "random search"
	StochasticAlone        = "stochastic CVGM, no penalty"
	StochasticPenalty      = "stochastic CVGM, penalty of lowest nested risk"
	StochasticSimplest     = "stochastic CVGM, penalty by one standard error"
	StochasticTraining     = "training gradient, no penalty"
	StochasticTrainPenalty = "training gradient, penalty of lowest nested risk"
)

// StochasticResult is the result of Run. Risks are mean logistic losses on the test examples.
type StochasticResult struct {
	Params  StochasticParams
	Methods []StochasticMethod
	// Stochastic and Training hold the risk at each weight in Params.Weights. Stochastic belongs to
	// stochastic CVGM, and Training belongs to the descent along the training gradient. No method
	// uses these risks to choose a weight.
	Stochastic, Training []experiment.Estimate
}

// A StochasticMethod is the result of one method over the data sets.
type StochasticMethod struct {
	Name string
	Fits int // number of fits of the learner, on the data set with the most fits
	Risk experiment.Estimate
	// PenaltyLess is the risk of the method StochasticPenalty minus the risk of this method.
	PenaltyLess experiment.Comparison
}

// Find returns the method with the given name. If there is none, the second result is false.
func (r *StochasticResult) Find(name string) (StochasticMethod, bool) {
	k := slices.IndexFunc(r.Methods, func(m StochasticMethod) bool { return m.Name == name })
	if k < 0 {
		return StochasticMethod{}, false
	}
	return r.Methods[k], true
}

// stochasticCell holds the results of the methods on one data set.
type stochasticCell struct {
	Methods              []stochasticRun
	Stochastic, Training []float64 // risk at each weight of the penalty
}

// stochasticRun is the result of one method on one data set.
type stochasticRun struct {
	Name string
	Fits int
	Risk float64
}

func (c *stochasticCell) add(name string, fits int, risk float64) {
	c.Methods = append(c.Methods, stochasticRun{name, fits, risk})
}

// Run measures all methods. The data sets run in parallel.
func (p StochasticParams) Run(ctx context.Context, hooks experiment.Hooks) (*StochasticResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	number := func(i int) int { return 1 + p.Number(i, p.DataSets) } // from 1, as in the trial at full size
	cells, err := experiment.Cells(ctx, hooks, p.DataSets,
		func(i int) string { return fmt.Sprintf("data set %d", number(i)) },
		func(i int) (stochasticCell, error) { return p.cell(ctx, number(i)) })
	if err != nil {
		return nil, err
	}
	r := &StochasticResult{Params: p}
	risks := func(k int) []float64 {
		return experiment.Column(cells, func(c stochasticCell) float64 { return c.Methods[k].Risk })
	}
	first := slices.IndexFunc(cells[0].Methods, func(m stochasticRun) bool { return m.Name == StochasticPenalty })
	for k, m := range cells[0].Methods {
		fits := slices.Max(experiment.Column(cells, func(c stochasticCell) float64 { return float64(c.Methods[k].Fits) }))
		r.Methods = append(r.Methods, StochasticMethod{m.Name, int(fits), experiment.EstimateOf(risks(k)), experiment.Compare(risks(first), risks(k))})
	}
	for w := range p.Weights {
		r.Stochastic = append(r.Stochastic, experiment.EstimateOf(experiment.Column(cells, func(c stochasticCell) float64 { return c.Stochastic[w] })))
		r.Training = append(r.Training, experiment.EstimateOf(experiment.Column(cells, func(c stochasticCell) float64 { return c.Training[w] })))
	}
	return r, nil
}

// cell runs all methods on one data set.
func (p StochasticParams) cell(ctx context.Context, dataSet int) (c stochasticCell, err error) {
	problems := DimensionProblems{Rings: p.Rings, RingsRadius: p.RingsRadius}
	s, err := problems.Setup(0, dataSet, nil)
	if err != nil {
		return c, err
	}
	names := map[string]string{QuasiNewton: StochasticPlain, "CMA-ES": StochasticCMAES, "random": StochasticRandom}
	for _, e := range (SearchDimensionsParams{DimensionProblems: problems, CMAESSigma: p.CMAESSigma, Budget: p.Budget}).searchers(0, dataSet) {
		name, ok := names[e.name]
		if !ok {
			continue
		}
		m, err := lowestAlong(ctx, s, e.searcher)
		if err != nil {
			return c, experiment.Wrap(err, "%s", name)
		}
		c.add(name, len(m.Lowest)*p.Rings.K, m.Test)
	}
	fresh := func(ctx context.Context, d learn.Data, weight float64) (*cvgm.Model, error) {
		return p.stochastic(ctx, s, dataSet, d, weight)
	}
	alone, err := risk(ctx, s, fresh, 0)
	if err != nil {
		return c, experiment.Wrap(err, "%s", StochasticAlone)
	}
	c.add(StochasticAlone, p.Fresh*p.Steps, alone)
	chosen, err := p.penalised(ctx, s, dataSet, &c.Stochastic, fresh)
	if err != nil {
		return c, experiment.Wrap(err, "%s", StochasticPenalty)
	}
	c.add(StochasticPenalty, p.Fits(), chosen[0])
	c.add(StochasticSimplest, p.Fits(), chosen[1])
	training := func(steps int) fitter {
		return func(ctx context.Context, d learn.Data, weight float64) (*cvgm.Model, error) {
			return p.training(ctx, s, d, weight, steps)
		}
	}
	if alone, err = risk(ctx, s, training(p.Fits()), 0); err != nil {
		return c, experiment.Wrap(err, "%s", StochasticTraining)
	}
	c.add(StochasticTraining, p.Fits(), alone)
	if chosen, err = p.penalised(ctx, s, dataSet, &c.Training, training(p.Fresh*p.Steps)); err != nil {
		return c, experiment.Wrap(err, "%s", StochasticTrainPenalty)
	}
	c.add(StochasticTrainPenalty, p.Fits(), chosen[0])
	return c, nil
}

// A fitter fits a model to examples. Its argument is the weight of the outer penalty.
type fitter func(ctx context.Context, d learn.Data, weight float64) (*cvgm.Model, error)

// risk fits a model to all training examples, and returns the risk of the model on the test
// examples.
func risk(ctx context.Context, s *experiment.Setup, fit fitter, weight float64) (float64, error) {
	m, err := fit(ctx, s.Train, weight)
	if err != nil {
		return 0, err
	}
	return m.Risk(s.Loss, s.Test)
}

// For each weight of the penalty, penalised appends the risk to risks. It also returns the risks at
// two of these weights. The first weight has the lowest nested risk. The second is the largest
// weight whose nested risk is within one standard error of the lowest.
func (p StochasticParams) penalised(ctx context.Context, s *experiment.Setup, dataSet int, risks *[]float64, fit fitter) (twoRisks [2]float64, err error) {
	for _, w := range p.Weights {
		at, err := risk(ctx, s, fit, w)
		if err != nil {
			return twoRisks, err
		}
		*risks = append(*risks, at)
	}
	folds, err := cvgm.KFold(synth.NewStream(uint64(dataSet), "stochastic CVGM: outer folds"), len(s.Train.Y), p.OuterFolds)
	if err != nil {
		return twoRisks, err
	}
	scores, err := cvgm.NestedScores(ctx, folds, 1, func(ctx context.Context, f cvgm.Split) ([][]float64, error) {
		var losses [][]float64
		for _, w := range slices.Backward(p.Weights) { // with the largest weight, the model is the simplest
			m, err := fit(ctx, experiment.Pick(s.Train, f.Train), w)
			if err != nil {
				return nil, err
			}
			l, err := m.Losses(s.Loss, experiment.Pick(s.Train, f.Val))
			if err != nil {
				return nil, err
			}
			losses = append(losses, l)
		}
		return losses, nil
	})
	if err != nil {
		return twoRisks, err
	}
	for errors := range twoRisks {
		c, err := cvgm.Simplest(scores, float64(errors))
		if err != nil {
			return twoRisks, err
		}
		twoRisks[errors] = (*risks)[len(p.Weights)-1-c]
	}
	return twoRisks, nil
}

// config returns the configuration of the CV loss of the examples d, without splits.
func (p StochasticParams) config(d learn.Data) cvgm.Config {
	m := p.Rings.KernelCVGM
	return cvgm.Config{Data: d, Learner: kernels.Full.Learner, Loss: cvgm.LogisticLoss{}, Features: m.Kernel(), Hyper: []float64{m.C}, Workers: 1, Generalised: true}
}

// descend runs Adam on the objective plus a penalty, and returns the mean of the last half of the
// points. The penalty measures the distance of the weights from the start, in units of the root
// mean square of the weights at the start.
func (p StochasticParams) descend(ctx context.Context, s *experiment.Setup, problem search.Problem, weight float64, steps int) ([]float64, error) {
	problem.Lower, problem.Upper = s.Lower, s.Upper
	size := floats.Norm(s.Start, 2) / math.Sqrt(float64(len(s.Start)))
	problem = problem.Plus(weight, search.SquaredDistance(s.Start, size))
	at, err := search.Average(experiment.Until(ctx, search.Adam{StepSize: p.StepSize, MaxEvals: steps, Tol: -1}.Search(problem, s.Start)), max(1, steps/2))
	return at.X, err
}

// stochastic fits a model to the examples d by stochastic CVGM with one weight of the penalty.
func (p StochasticParams) stochastic(ctx context.Context, s *experiment.Setup, dataSet int, d learn.Data, weight float64) (*cvgm.Model, error) {
	c, err := cvgm.NewStochastic(p.config(d), func() cvgm.Source { return synth.NewStream(uint64(dataSet), "stochastic CVGM: fresh splits") },
		func(src cvgm.Source) ([]cvgm.Split, error) {
			return cvgm.RandomSplits(src, len(d.Y), p.Fresh, p.FreshP)
		})
	if err != nil {
		return nil, err
	}
	x, err := p.descend(ctx, s, c.Problem(), weight, p.Steps)
	if err != nil {
		return nil, err
	}
	return c.CV().Final(x)
}

// training fits a model to the examples d. It descends the training loss plus the outer penalty,
// which has the given weight.
func (p StochasticParams) training(ctx context.Context, s *experiment.Setup, d learn.Data, weight float64, steps int) (*cvgm.Model, error) {
	twice, splits := experiment.Resubstitution(d)
	c := p.config(twice)
	c.Splits = splits
	cv, err := cvgm.New(c)
	if err != nil {
		return nil, err
	}
	x, err := p.descend(ctx, s, search.Problem{Objective: experiment.Objective(ctx, cv)}, weight, steps)
	if err != nil {
		return nil, err
	}
	return cv.FinalOn(splits[0].Train, x)
}
