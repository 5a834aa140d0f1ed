package experiment

import (
	"context"
	"fmt"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/synth"
)

func init() {
	register[AblationParams]("ablation", "the gradient of the CV loss against that of the training loss, all else equal")
}

// AblationParams are the parameters of the comparison of two descents that differ in
// the loss alone: the CV loss, and the loss on the rows that the learner is fitted to.
// Both have the same data, learner, searcher, start and number of steps.
type AblationParams struct {
	Seeds     int `help:"data sets of each size of the rings and of XOR" range:"[2,∞)" small:"[2,3]"`
	PairSeeds int `help:"data sets of each problem with two hyperparameters" range:"[2,∞)" small:"[2,4]"`
	// The rings' network, with steps up to the largest budget.
	Rings AblationRings
	XOR   AblationXOR
	Net   AblationNet
	// The same elastic net with a search that converges.
	NetLog AblationLog
	// The kernel machine's rings are those of the network.
	Machine AblationMachine
}

// AblationRings is a kernel learned for rings of several sizes. Sizes take the place of
// the problem's own.
type AblationRings struct {
	RingsData
	AblationKernel
	Sizes []int `help:"training examples of the rings" range:"[4,∞)" len:"[1,∞)" order:"ascending" small:"[8,20]"`
}

// AblationXOR is a kernel learned for XOR.
type AblationXOR struct {
	XORData
	AblationKernel
	Train int `help:"training examples of XOR" range:"[4,∞)" small:"[8,20]"`
}

// AblationKernel is a kernel learned along either gradient, judged after several numbers
// of steps.
type AblationKernel struct {
	Test     int     `help:"test examples" range:"[1,∞)" small:"[10,50]"`
	Ks       []int   `help:"numbers of cross-validation splits" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[2,8]" full:"64,256"`
	P        float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.7,.9]"`
	C        float64 `help:"weight of the logistic losses against the ridge penalty" range:"(0,∞)" small:"[.1,50]"`
	Hidden   []int   `help:"units of the network's hidden layers" range:"[1,∞)" small:"[2,8]"`
	StepSize float64 `help:"step size of both gradient methods" range:"(0,∞)" small:"[.01,.3]"`
	Budgets  []int   `help:"numbers of steps after which the models are judged" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[1,6]"`
}

func (k AblationKernel) cvgm(splits int) KernelCVGM {
	return KernelCVGM{K: splits, P: k.P, C: k.C, Hidden: k.Hidden, StepSize: k.StepSize, Steps: slices.Max(k.Budgets)}
}

// AblationNet is an elastic net whose two penalties are chosen along either gradient.
type AblationNet struct {
	RegressionData
	PenaltyCVGM
	Budgets []int `help:"evaluations after which the models are judged" range:"[1,∞)" len:"[1,∞)" order:"ascending" small:"[1,6]"`
}

// AblationLog is a search for two hyperparameters by quasi-Newton steps in their
// logarithms, which ends at a minimum or at a bound.
type AblationLog struct {
	Start       float64 `help:"start of both hyperparameters" range:"(0,∞)" small:"[.1,10]"`
	Reach       float64 `help:"the search may go so far from the start, up or down" unit:"factor" range:"(1,1e100]" small:"[10,1000]"`
	Evaluations int     `help:"evaluations after which the models are judged" range:"[1,∞)" small:"[1,6]"`
}

// AblationMachine is a kernel machine on the rings, whose C and γ, the inverse squared
// width of its kernel, are chosen along either gradient.
type AblationMachine struct {
	Train int `help:"training examples of the kernel machine" range:"[4,∞)" small:"[12,20]"`
	AblationLog
}

// DefaultAblation returns the paper's problems with a quarter of its splits, and budgets
// around the paper's. The full size has the paper's splits as well.
func DefaultAblation() AblationParams {
	q, x := paperRings(), DefaultXOR()
	kernel := func(m KernelCVGM, budgets ...int) AblationKernel {
		return AblationKernel{Test: 1000, Ks: []int{64}, P: m.P, C: m.C, Hidden: m.Hidden, StepSize: m.StepSize, Budgets: budgets}
	}
	return AblationParams{
		Seeds: 24, PairSeeds: 60,
		Rings:   AblationRings{RingsData: q.RingsData, AblationKernel: kernel(q.KernelCVGM, 30, 100, 300, 1000), Sizes: []int{8, 20, 60, 200}},
		XOR:     AblationXOR{XORData: x.XORData, AblationKernel: kernel(x.KernelCVGM, 50), Train: x.Train},
		Net:     AblationNet{RegressionData: paperRegression, PenaltyCVGM: paperPenaltyCVGM, Budgets: []int{99, 1000}},
		NetLog:  AblationLog{Start: .1, Reach: 1e5, Evaluations: 30},
		Machine: AblationMachine{q.Train, AblationLog{Start: 1, Reach: 1e3, Evaluations: 30}},
	}
}

func (AblationParams) defaults() any { return DefaultAblation() }

// AblationResult is what Run measures.
type AblationResult struct {
	Params AblationParams
	Rows   []AblationRow // the rings by splits, size and budget, then XOR, elastic net and kernel machine by splits and budget
	Rings  []Comparison  // the two descents over the rings of all sizes, by splits and budget
}

// AblationRow is one problem of one size after one budget. Risks are error rates on the
// test examples, for the elastic net mean squared errors.
type AblationRow struct {
	Problem             string
	Train, K, Budget    int
	Start, CV, Training Estimate
	CVLessTraining      Comparison
	TrainingLessStart   Comparison
	CVLessStart         Comparison
}

// Helps returns "yes" where the descent of the CV loss has the lower risk, "no, harms" where
// it has the higher one, and "not decided" where the interval of the difference contains 0.
func (c AblationRow) Helps() string {
	switch d := c.CVLessTraining.Difference; {
	case d.Mean+d.Margin < 0:
		return "yes"
	case d.Mean-d.Margin > 0:
		return "no, harms"
	}
	return "not decided"
}

// Run measures all problems, in parallel over problems, sizes and data sets.
func (p AblationParams) Run(ctx context.Context) (*AblationResult, error) {
	if err := Check(&p); err != nil {
		return nil, err
	}
	problems := p.problems()
	measured, err := cellTable(ctx, len(problems), max(p.Seeds, p.PairSeeds),
		func(i, seed int) string {
			if seed >= problems[i].seeds {
				return ""
			}
			return fmt.Sprintf("%s of %d examples, K = %d, data set %d", problems[i].name, problems[i].train, problems[i].k, seed)
		},
		func(i, seed int) (ablationCell, error) {
			if seed >= problems[i].seeds {
				return ablationCell{}, nil
			}
			return problems[i].measure(ctx, uint64(seed))
		})
	if err != nil {
		return nil, err
	}
	r := &AblationResult{Params: p}
	pooled := make([]struct{ cv, training []float64 }, len(p.Rings.Ks)*len(p.Rings.Budgets)) // the rings of all sizes
	for i, problem := range problems {
		for k, budget := range problem.budgets {
			row := AblationRow{Problem: problem.name, Train: problem.train, K: problem.k, Budget: budget}
			var before, cv, training []float64 // by data set
			for _, c := range measured[i][:problem.seeds] {
				before, cv, training = append(before, c.Start), append(cv, c.CV[k]), append(training, c.Training[k])
			}
			row.Start, row.CV, row.Training = estimate(before), estimate(cv), estimate(training)
			row.CVLessTraining, row.TrainingLessStart, row.CVLessStart = compare(cv, training), compare(training, before), compare(cv, before)
			r.Rows = append(r.Rows, row)
			if problem.name == ablationRings {
				of := &pooled[i/len(p.Rings.Sizes)*len(p.Rings.Budgets)+k]
				of.cv, of.training = append(of.cv, cv...), append(of.training, training...)
			}
		}
	}
	for _, of := range pooled {
		r.Rings = append(r.Rings, compare(of.cv, of.training))
	}
	return r, nil
}

// The names of the problems in AblationRow.Problem.
const (
	ablationRings   = "rings, learned kernel"
	ablationXOR     = "XOR, learned kernel"
	ablationNet     = "elastic net, two penalties"
	ablationNetLog  = "elastic net, two penalties, quasi-Newton"
	ablationMachine = "rings, kernel machine: C and width"
)

// ablationCell holds the risks on one data set: at the start, and by budget along the two
// gradients.
type ablationCell struct {
	Start        float64
	CV, Training []float64
}

// ablationProblem is one problem of one size.
type ablationProblem struct {
	name     string
	seeds    int
	train    int
	k        int // cross-validation splits
	budgets  []int
	searcher func(evaluations int) search.Searcher
	first    int // evaluations before the first step is done
	// setup returns the problem of a data set, with the CV loss as its objective, and the
	// training loss.
	setup func(seed uint64) (*Setup, search.Objective, error)
	risk  cvgm.Loss
}

// measure searches along both gradients.
func (a ablationProblem) measure(ctx context.Context, seed uint64) (c ablationCell, err error) {
	s, training, err := a.setup(seed)
	if err != nil {
		return c, err
	}
	s.Loss = a.risk
	if c.Start, err = s.TestLoss(s.Start); err != nil {
		return c, err
	}
	searcher := a.searcher(slices.Max(a.budgets) + a.first)
	for _, along := range []struct {
		objective search.Objective
		risks     *[]float64
	}{{s.Objective, &c.CV}, {training, &c.Training}} {
		s.Objective = along.objective
		var path [][]float64
		for step, err := range s.Search(ctx, searcher) {
			if err != nil {
				return c, err
			}
			path = append(path, slices.Clone(step.X))
		}
		for _, budget := range a.budgets {
			risk, err := s.TestLoss(atStep(path, budget+a.first-1))
			if err != nil {
				return c, err
			}
			*along.risks = append(*along.risks, risk)
		}
	}
	return c, nil
}

func (p AblationParams) problems() []ablationProblem {
	var all []ablationProblem
	steps := func(m KernelCVGM) func(int) search.Searcher {
		return func(evaluations int) search.Searcher { return gradientDescent(m.StepSize, evaluations-1) }
	}
	for _, k := range p.Rings.Ks {
		rings := p.Rings.cvgm(k)
		for _, n := range p.Rings.Sizes {
			problem := RingsProblem{RingsData: p.Rings.RingsData, Train: n, Test: p.Rings.Test, KernelCVGM: rings}
			all = append(all, ablationProblem{ablationRings, p.Seeds, n, k, p.Rings.Budgets, steps(rings), 1, func(seed uint64) (*Setup, search.Objective, error) {
				s, err := problem.setup(Full, ablationStream(seed, fmt.Sprintf("rings %d", n)), "splits", nil)
				if err != nil {
					return nil, nil, err
				}
				return rings.withTraining(s)
			}, cvgm.ZeroOne{}})
		}
	}
	for _, k := range p.XOR.Ks {
		xor := p.XOR.cvgm(k)
		all = append(all, ablationProblem{ablationXOR, p.Seeds, p.XOR.Train, k, p.XOR.Budgets, steps(xor), 1, func(seed uint64) (*Setup, search.Objective, error) {
			s, err := p.XOR.setup(Full, k, ablationStream(seed, "XOR"))
			if err != nil {
				return nil, nil, err
			}
			return xor.withTraining(s)
		}, cvgm.ZeroOne{}})
	}
	all = append(all,
		ablationProblem{ablationNet, p.PairSeeds, p.Net.Train, p.Net.K, p.Net.Budgets, p.Net.gradient, 0, p.Net.losses, cvgm.SquaredError{}},
		p.NetLog.problem(ablationNetLog, p.PairSeeds, p.Net.Train, p.Net.K, p.Net.losses, cvgm.SquaredError{}))
	for _, k := range p.Rings.Ks {
		losses := func(seed uint64) (*Setup, search.Objective, error) { return p.machine(k, seed) }
		all = append(all, p.Machine.problem(ablationMachine, p.PairSeeds, p.Machine.Train, k, losses, cvgm.ZeroOne{}))
	}
	return all
}

// problem returns the problem whose data and losses another function gives, with the
// start, the bounds and the searcher of l.
func (l AblationLog) problem(name string, seeds, train, k int, losses func(uint64) (*Setup, search.Objective, error), risk cvgm.Loss) ablationProblem {
	searcher := func(evaluations int) search.Searcher {
		return search.LogSpace{Searcher: search.QuasiNewton{MaxEvals: evaluations}}
	}
	return ablationProblem{name, seeds, train, k, []int{l.Evaluations}, searcher, 0, func(seed uint64) (*Setup, search.Objective, error) {
		s, training, err := losses(seed)
		if err != nil {
			return nil, nil, err
		}
		s.Start = slices.Repeat([]float64{l.Start}, 2)
		s.Lower, s.Upper = slices.Repeat([]float64{l.Start / l.Reach}, 2), slices.Repeat([]float64{l.Start * l.Reach}, 2)
		return s, training, nil
	}, risk}
}

// ablationStream returns the streams of one data set by purpose.
func ablationStream(seed uint64, problem string) func(purpose string) *synth.Stream {
	return func(purpose string) *synth.Stream { return synth.NewStream(seed, "ablation, "+problem+": "+purpose) }
}

// withTraining returns s, and the training loss of its kernel.
func (m KernelCVGM) withTraining(s *Setup) (*Setup, search.Objective, error) {
	d, splits := resubstitution(s.Train)
	cv, err := m.loss(m.kernel(), Full.learner, s.Loss, d, splits)
	if err != nil {
		return nil, nil, err
	}
	return s, cv.Eval, nil
}

// resubstitution returns d twice, one below the other, and the split that trains on the
// first and validates on the second: its CV loss is the training loss of d.
func resubstitution(d learn.Data) (learn.Data, []cvgm.Split) {
	n := len(d.Y)
	rows := make([]int, 2*n)
	var split cvgm.Split
	for i := range n {
		rows[i], rows[n+i] = i, i
		split.Train, split.Val = append(split.Train, i), append(split.Val, n+i)
	}
	return pick(d, rows), []cvgm.Split{split}
}

// setup draws data, splits and initial weights for one variant of the gradient.
func (p AblationXOR) setup(v Variant, splits int, stream func(purpose string) *synth.Stream) (*Setup, error) {
	train, errTrain := synth.MakeXOR(stream("training squares"), stream("training data"), p.Train, p.xor())
	test, errTest := synth.MakeXOR(stream("test squares"), stream("test data"), p.Test, p.xor())
	if err := firstError(errTrain, errTest); err != nil {
		return nil, err
	}
	m := p.cvgm(splits)
	s := &Setup{Train: rows(train, 0, p.Train), Test: rows(test, 0, p.Test), Loss: cvgm.LogisticLoss{}}
	phi := m.kernel()
	s.Start = make([]float64, phi.NumParams())
	phi.Init(s.Start, stream("weights"))
	return s, m.use(s, v, s.Train, stream("splits"))
}

// losses draws data and splits of an elastic net.
func (p AblationNet) losses(seed uint64) (*Setup, search.Objective, error) {
	stream := ablationStream(seed, "elastic net")
	s, err := p.PenaltyCVGM.setup(p.RegressionData, stream("data"), stream("splits"), 1)
	if err != nil {
		return nil, nil, err
	}
	d, splits := resubstitution(s.Train)
	training, err := elasticNetCV(d, splits, cvgm.FixedLeastSquares, 1)
	if err != nil {
		return nil, nil, err
	}
	return s, training.Eval, nil
}

// machine draws rings and k splits for a kernel machine.
func (p AblationParams) machine(k int, seed uint64) (*Setup, search.Objective, error) {
	stream, m := ablationStream(seed, "kernel machine"), p.Machine
	s, err := p.Rings.draw(stream("training data"), stream("test data"), m.Train, p.Rings.Test)
	if err != nil {
		return nil, nil, err
	}
	splits, err := cvgm.RandomSplits(stream("splits"), m.Train, k, p.Rings.P)
	if err != nil {
		return nil, nil, err
	}
	loss := func(d learn.Data, splits []cvgm.Split) (*cvgm.CV, error) {
		return cvgm.New(cvgm.Config{
			Data: d, Splits: splits, Loss: cvgm.SquaredHinge{}, Workers: 1, Generalised: true,
			Learner: func() learn.Learner { return &kernel.SVM{Intercept: true, Generalised: true} },
		})
	}
	if s.CV, err = loss(s.Train, splits); err != nil {
		return nil, nil, err
	}
	training, err := loss(resubstitution(s.Train))
	if err != nil {
		return nil, nil, err
	}
	return s, training.Eval, nil
}
