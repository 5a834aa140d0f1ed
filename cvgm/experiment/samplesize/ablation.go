package samplesize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
)

// AblationParams are the parameters of an experiment that compares a descent of the CV loss with
// two rivals. The first rival is a descent of the training loss, the loss on the rows to which the
// learner is fitted. It has the same data, learner, searcher, start and number of steps. The second
// rival is a random search for the lowest CV loss. It uses no gradient.
type AblationParams struct {
	Seeds        int `help:"data sets of each size of the rings and of XOR" range:"[2,∞)" small:"[2,3]" setting:"%v data sets of each size"`
	PairSeeds    int `help:"data sets of each problem with two hyperparameters" range:"[2,∞)" small:"[2,4]"`
	RandomBudget int `help:"the random search is judged after budgets up to this" range:"[0,∞)" small:"[2,4]" setting:"random search with as many evaluations, up to %v, judged at its lowest CV loss"`
	// Rings describes a kernel that is learned for the rings. The number of steps is the largest
	// entry of Budgets.
	Rings AblationRings
	XOR   kernels.AblationXOR
	Net   AblationNet
	// NetLog describes the same elastic net with a search that converges.
	NetLog AblationLog
	// Machine describes a kernel machine. It uses the rings of the learned kernel.
	Machine AblationMachine
	experiment.FreshData
}

// AblationRings describes a kernel that is learned for rings of several sizes. The entries of Sizes
// replace the size of the problem.
type AblationRings struct {
	kernels.RingsData
	kernels.AblationKernel
	Sizes []int `help:"training examples of the rings" range:"[4,∞)" len:"[1,∞)" order:"ascending" small:"[8,20]" setting:"N = %v"`
}

// AblationNet describes an elastic net. Each of the two descents chooses its two penalties.
type AblationNet struct {
	experiment.RegressionData
	elasticnet.PenaltyCVGM
	Budgets []int   `help:"evaluations after which the models are judged" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[1,6]"`
	BoxLow  float64 `help:"lower end of the random search" unit:"log10(λ)" range:"[-300,300]" below:"BoxHigh" small:"[-4,-3]" setting:"random search: log-uniform, λ1 and λ2 from %v"`
	BoxHigh float64 `help:"upper end of the random search" unit:"log10(λ)" range:"[-300,300]" small:"[-1,0]" setting:"up to %v"`
}

// AblationLog describes a search for two hyperparameters. It takes quasi-Newton steps in the
// logarithms of the hyperparameters, and ends at a minimum or at a bound.
type AblationLog struct {
	Start       float64 `help:"start of both hyperparameters" range:"(0,∞)" small:"[.1,10]" setting:"quasi-Newton search in logarithms from %v for both"`
	Reach       float64 `help:"the search may go so far from the start, up or down" unit:"factor" range:"(1,1e100]" small:"[10,1000]" setting:"at most a factor of %v away"`
	Evaluations int     `help:"evaluations after which the models are judged" range:"[1,∞)" small:"[1,6]" setting:"%v evaluations"`
}

// AblationMachine describes a kernel machine on the rings. Each of the two descents chooses two
// hyperparameters, C and γ, where γ is the inverse squared width of the kernel.
type AblationMachine struct {
	Train int `help:"training examples of the kernel machine" range:"[4,∞)" small:"[12,20]" setting:"N = %v"`
	AblationLog
}

// DefaultAblation returns the parameters with the paper's problems. Each problem has two numbers of
// splits: the paper's number, and a quarter of this number. The budgets are near the paper's
// budgets.
func DefaultAblation() AblationParams {
	q, x := kernels.PaperRings(), kernels.DefaultXOR()
	return AblationParams{
		Seeds: 24, PairSeeds: 150, RandomBudget: 100,
		Rings:   AblationRings{RingsData: q.RingsData, AblationKernel: kernels.NewAblationKernel(q.KernelCVGM, 30, 100, 300, 1000), Sizes: []int{8, 20, 60, 200}},
		XOR:     kernels.AblationXOR{XORData: x.XORData, AblationKernel: kernels.NewAblationKernel(x.KernelCVGM, 50), Train: x.Train},
		Net:     AblationNet{RegressionData: experiment.PaperRegression, PenaltyCVGM: elasticnet.PaperPenaltyCVGM, Budgets: []int{99, 1000}, BoxLow: -4, BoxHigh: .5},
		NetLog:  AblationLog{Start: .1, Reach: 1e5, Evaluations: 30},
		Machine: AblationMachine{q.Train, AblationLog{Start: 1, Reach: 1e3, Evaluations: 30}},
	}
}

func (AblationParams) Defaults() any { return DefaultAblation() }

// AblationResult is the result of Run.
type AblationResult struct {
	Params AblationParams
	Rows   []AblationRow           // first the rings, by splits, size and budget; then XOR, the elastic net and the kernel machine, each by splits and budget
	Rings  []experiment.Comparison // comparison of the two descents over the rings of all sizes, by splits and budget
}

// AblationRow holds the results for one problem, one size and one budget. Risks are error rates on
// the test examples. For the elastic net, they are mean squared errors.
type AblationRow struct {
	Problem             string
	Train, K, Budget    int
	Start, CV, Training experiment.Estimate
	// Random is the risk after a random search with Budget evaluations, at the point of its lowest
	// CV loss. If Budget exceeds RandomBudget, there is no random search, and Random.N is 0.
	Random            experiment.Estimate
	CVLessRandom      experiment.Comparison
	CVLessTraining    experiment.Comparison
	TrainingLessStart experiment.Comparison
	CVLessStart       experiment.Comparison
}

// Run measures all problems. Problems, sizes and data sets run in parallel.
func (p AblationParams) Run(ctx context.Context, hooks experiment.Hooks) (*AblationResult, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	problems := p.problems()
	measured, err := experiment.CellTable(ctx, hooks, len(problems), max(p.Seeds, p.PairSeeds),
		func(i, seed int) string {
			return fmt.Sprintf("%s of %d examples, K = %d, data set %d", problems[i].name, problems[i].train, problems[i].k, p.Number(seed, problems[i].seeds))
		},
		func(i, seed int) (ablationCell, error) {
			if seed >= problems[i].seeds {
				return ablationCell{}, nil
			}
			return problems[i].measure(ctx, uint64(p.Number(seed, problems[i].seeds)), p.RandomBudget)
		})
	if err != nil {
		return nil, err
	}
	r := &AblationResult{Params: p}
	pooled := make([]struct{ cv, training []float64 }, len(p.Rings.Ks)*len(p.Rings.Budgets)) // of the rings of all sizes
	for i, problem := range problems {
		for k, budget := range problem.budgets {
			row := AblationRow{Problem: problem.name, Train: problem.train, K: problem.k, Budget: budget}
			var before, cv, training, random []float64 // for each data set
			for _, c := range measured[i][:problem.seeds] {
				before, cv, training = append(before, c.Start), append(cv, c.CV[k]), append(training, c.Training[k])
				if k < len(c.Random) {
					random = append(random, c.Random[k])
				}
			}
			if random != nil {
				row.Random, row.CVLessRandom = experiment.EstimateOf(random), experiment.Compare(cv, random)
			}
			row.Start, row.CV, row.Training = experiment.EstimateOf(before), experiment.EstimateOf(cv), experiment.EstimateOf(training)
			row.CVLessTraining, row.TrainingLessStart, row.CVLessStart = experiment.Compare(cv, training), experiment.Compare(training, before), experiment.Compare(cv, before)
			r.Rows = append(r.Rows, row)
			if problem.name == kernels.ProblemRings {
				of := &pooled[i/len(p.Rings.Sizes)*len(p.Rings.Budgets)+k]
				of.cv, of.training = append(of.cv, cv...), append(of.training, training...)
			}
		}
	}
	for _, of := range pooled {
		r.Rings = append(r.Rings, experiment.Compare(of.cv, of.training))
	}
	return r, nil
}

// These constants are the names of the other problems in AblationRow.Problem.
const (
	ProblemNet     = "elastic net, two penalties"
	ProblemNetLog  = "elastic net, two penalties, quasi-Newton"
	ProblemMachine = "rings, kernel machine: C and width"
)

// ablationCell holds the risks on one data set. Start is the risk at the start. CV and Training
// hold the risks after the two descents, for each budget. Random holds the risks after random
// search, for each budget up to RandomBudget.
type ablationCell struct {
	Start                float64
	CV, Training, Random []float64
}

// ablationProblem is one problem of one size.
type ablationProblem struct {
	name     string
	seeds    int
	train    int
	k        int // number of cross-validation splits
	budgets  []int
	searcher func(evaluations int) search.Searcher
	first    int // number of evaluations before the first step is complete
	// setup returns the problem of a data set.
	setup func(seed uint64) (*ablationData, error)
	risk  cvgm.Loss
}

// ablationData is the problem for one data set. The objective of its Setup is the CV loss.
type ablationData struct {
	*experiment.Setup
	training search.Objective // the training loss
	source   cvgm.Source      // of the random search
	draw     func(src cvgm.Source, x []float64)
}

// measure runs both descents, and random search with budgets up to randomBudget.
func (a ablationProblem) measure(ctx context.Context, seed uint64, randomBudget int) (c ablationCell, err error) {
	s, err := a.setup(seed)
	if err != nil {
		return c, err
	}
	s.Loss = a.risk
	if c.Start, err = s.TestLoss(s.Start); err != nil {
		return c, err
	}
	cv, training, err := Descents(ctx, s.Setup, s.training, a.searcher(slices.Max(a.budgets)+a.first))
	if err != nil {
		return c, err
	}
	for _, along := range []struct {
		path  []search.Step
		risks *[]float64
	}{{cv, &c.CV}, {training, &c.Training}} {
		for _, budget := range a.budgets {
			risk, err := s.TestLoss(experiment.AtStep(along.path, budget+a.first-1).X)
			if err != nil {
				return c, err
			}
			*along.risks = append(*along.risks, risk)
		}
	}
	c.Random, err = a.randomRisks(ctx, s, randomBudget)
	return c, err
}

// Descents runs two searches on the problem s from the same start: one for the lowest CV loss, and
// one for the lowest training loss. It returns the steps of both searches, without gradients.
func Descents(ctx context.Context, s *experiment.Setup, training search.Objective, searcher search.Searcher) (cv, resubstituted []search.Step, err error) {
	other := *s
	other.Objective = training
	for _, along := range []struct {
		*experiment.Setup
		steps *[]search.Step
	}{{s, &cv}, {&other, &resubstituted}} {
		for step, err := range along.Search(ctx, searcher) {
			if err != nil {
				return nil, nil, err
			}
			step.X, step.Grad = slices.Clone(step.X), nil
			*along.steps = append(*along.steps, step)
		}
	}
	return cv, resubstituted, nil
}

// randomRisks returns risks after a random search, for each budget up to limit. The risk for a
// budget is the risk at the point of the lowest CV loss within this budget.
func (a ablationProblem) randomRisks(ctx context.Context, s *ablationData, limit int) (risks []float64, err error) {
	within := slices.DeleteFunc(slices.Clone(a.budgets), func(budget int) bool { return budget > limit })
	if len(within) == 0 {
		return nil, nil
	}
	evaluations, lowest := 0, math.Inf(1)
	var best []float64
	for step, err := range s.Search(ctx, search.RandomSearch{Source: func() cvgm.Source { return s.source }, Draw: s.draw, MaxEvals: slices.Max(within) + a.first}) {
		if err != nil {
			return nil, err
		}
		if evaluations++; step.Loss < lowest {
			lowest, best = step.Loss, slices.Clone(step.X)
		}
		if evaluations == within[len(risks)]+a.first {
			risk, err := s.TestLoss(best)
			if err != nil {
				return nil, err
			}
			risks = append(risks, risk)
		}
	}
	return risks, nil
}

func (p AblationParams) problems() []ablationProblem {
	var all []ablationProblem
	steps := func(m kernels.KernelCVGM) func(int) search.Searcher {
		return func(evaluations int) search.Searcher { return kernels.GradientDescent(m.StepSize, evaluations-1) }
	}
	for _, k := range p.Rings.Ks {
		rings := p.Rings.CVGM(k)
		for _, n := range p.Rings.Sizes {
			problem := kernels.RingsProblem{RingsData: p.Rings.RingsData, Train: n, Test: p.Rings.Test, KernelCVGM: rings}
			all = append(all, ablationProblem{kernels.ProblemRings, p.Seeds, n, k, p.Rings.Budgets, steps(rings), 1, func(seed uint64) (*ablationData, error) {
				stream := kernels.AblationStream(seed, fmt.Sprintf("rings %d", n))
				s, err := problem.Setup(kernels.Full, stream, "splits", nil)
				if err != nil {
					return nil, err
				}
				return withTraining(rings, s, stream("random"))
			}, cvgm.ZeroOne{}})
		}
	}
	for _, k := range p.XOR.Ks {
		xor := p.XOR.CVGM(k)
		all = append(all, ablationProblem{kernels.ProblemXOR, p.Seeds, p.XOR.Train, k, p.XOR.Budgets, steps(xor), 1, func(seed uint64) (*ablationData, error) {
			stream := kernels.AblationStream(seed, "XOR")
			s, err := p.XOR.Setup(kernels.Full, k, stream)
			if err != nil {
				return nil, err
			}
			return withTraining(xor, s, stream("random"))
		}, cvgm.ZeroOne{}})
	}
	all = append(all,
		ablationProblem{ProblemNet, p.PairSeeds, p.Net.Train, p.Net.K, p.Net.Budgets, p.Net.Gradient, 0, p.Net.losses, cvgm.SquaredError{}},
		p.NetLog.problem(ProblemNetLog, p.PairSeeds, p.Net.Train, p.Net.K, p.Net.losses, cvgm.SquaredError{}))
	for _, k := range p.Rings.Ks {
		losses := func(seed uint64) (*ablationData, error) { return p.machine(k, seed) }
		all = append(all, p.Machine.problem(ProblemMachine, p.PairSeeds, p.Machine.Train, k, losses, cvgm.ZeroOne{}))
	}
	return all
}

// problem returns a problem with the start, the bounds and the searcher of l. The function losses
// draws the data of a seed, and returns them with their CV loss and their training loss.
func (l AblationLog) problem(name string, seeds, train, k int, losses func(uint64) (*ablationData, error), risk cvgm.Loss) ablationProblem {
	searcher := func(evaluations int) search.Searcher {
		return search.LogSpace{Searcher: search.QuasiNewton{MaxEvals: evaluations}}
	}
	return ablationProblem{name, seeds, train, k, []int{l.Evaluations}, searcher, 0, func(seed uint64) (*ablationData, error) {
		s, err := losses(seed)
		if err != nil {
			return nil, err
		}
		s.Start = slices.Repeat([]float64{l.Start}, 2)
		s.Lower, s.Upper = slices.Repeat([]float64{l.Start / l.Reach}, 2), slices.Repeat([]float64{l.Start * l.Reach}, 2)
		s.draw = search.LogUniform(math.Log10(l.Start/l.Reach), math.Log10(l.Start*l.Reach))
		return s, nil
	}, risk}
}

// withTraining returns the problem s together with the training loss of its kernel. For random
// search, each draw is a set of initial weights of the network.
func withTraining(m kernels.KernelCVGM, s *experiment.Setup, random cvgm.Source) (*ablationData, error) {
	d, splits := experiment.Resubstitution(s.Train)
	phi := m.Kernel()
	cv, err := m.Loss(phi, kernels.Full.Learner, s.Loss, d, splits)
	if err != nil {
		return nil, err
	}
	return &ablationData{s, cv.Eval, random, func(src cvgm.Source, x []float64) { phi.Init(x, src) }}, nil
}

// losses draws data and splits for an elastic net.
func (p AblationNet) losses(seed uint64) (*ablationData, error) {
	stream := kernels.AblationStream(seed, "elastic net")
	s, err := p.PenaltyCVGM.Setup(p.RegressionData, stream("data"), stream("splits"), 1)
	if err != nil {
		return nil, err
	}
	d, splits := experiment.Resubstitution(s.Train)
	training, err := elasticnet.NewCV(d, splits, cvgm.FixedLeastSquares, 1)
	if err != nil {
		return nil, err
	}
	return &ablationData{s, training.Eval, stream("random"), search.LogUniform(p.BoxLow, p.BoxHigh)}, nil
}

// machine draws rings and k splits for a kernel machine.
func (p AblationParams) machine(k int, seed uint64) (*ablationData, error) {
	stream, m := kernels.AblationStream(seed, "kernel machine"), p.Machine
	s, err := p.Rings.Examples(stream("training data"), stream("test data"), m.Train, p.Rings.Test)
	if err != nil {
		return nil, err
	}
	splits, err := cvgm.RandomSplits(stream("splits"), m.Train, k, p.Rings.P)
	if err != nil {
		return nil, err
	}
	loss := func(d learn.Data, splits []cvgm.Split) (*cvgm.CV, error) {
		return cvgm.New(cvgm.Config{
			Data: d, Splits: splits, Loss: cvgm.SquaredHinge{}, Workers: 1, Generalised: true,
			Learner: func() learn.Learner { return &kernel.SVM{Intercept: true, Generalised: true} },
		})
	}
	if s.CV, err = loss(s.Train, splits); err != nil {
		return nil, err
	}
	training, err := loss(experiment.Resubstitution(s.Train))
	if err != nil {
		return nil, err
	}
	return &ablationData{s, training.Eval, stream("random"), nil}, nil
}
