package differentiability

import (
	"context"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/search"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"
)

// LearningParams are the parameters of searches that learn hyperparameters with the gradient of the
// CV loss.
type LearningParams struct {
	LinearExamples
	Test        int     `help:"test examples" range:"[1,∞)" small:"[20,100]" setting:"%v test examples with right labels"`
	K           int     `help:"cross-validation splits" range:"[1,∞)" small:"[2,6]" setting:"CV loss: logistic loss of K = %v balanced splits"`
	P           float64 `help:"fraction of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.7,.9]" setting:"p = %v"`
	Evaluations int     `help:"evaluations of the CV loss in each search, at most" range:"[1,∞)" small:"[2,10]" setting:"at most %v evaluations in each search"`
	GridPoints  int     `help:"points of the CV loss surfaces per hyperparameter" range:"[2,∞)" small:"[2,4]"`
	Flips       float64 `help:"share of wrong labels where a loss is learned" range:"[0,.5)" small:"[0,.2]" setting:"a share %v of the training labels turned"`
	LossSeeds   int     `help:"data sets on which a loss is learned" range:"[1,∞)" small:"[1,3]"`
}

// DefaultLearning returns parameters of our own, because the paper gives none.
func DefaultLearning() LearningParams {
	return LearningParams{
		LinearExamples: defaultLinearExamples,
		Test:           2000, K: 32, P: .8, Evaluations: 120, GridPoints: 25, Flips: .15, LossSeeds: 48,
	}
}

func (LearningParams) Defaults() any { return DefaultLearning() }

// A LearningRun is one search for hyperparameters with the gradient of the CV loss. It also holds
// the CV loss on a grid around the path of the search.
type LearningRun struct {
	Name  string
	Hyper []string // names of the hyperparameters
	X     [][]float64
	// CVLoss is the CV loss at each point X. TestLoss and Accuracy are measured at each point X,
	// too: they are the test loss and the test accuracy of the learner that is fitted to all
	// training examples.
	CVLoss, TestLoss, Accuracy []float64
	// Axes holds values of each hyperparameter. Surface is the CV loss on the grid of these values.
	// With one hyperparameter, Surface has one column.
	Axes    [][]float64
	Surface [][]float64
	// Lowest is the lowest CV loss on Surface.
	Lowest float64
}

// Last returns the index of the last step.
func (r LearningRun) Last() int { return len(r.CVLoss) - 1 }

// Learning is the result of the experiment.
type Learning struct {
	Params LearningParams
	// Runs holds three searches: for λ1 and λ2 of a support vector machine, for C and γ of a kernel
	// machine, and for C of a logistic regression.
	Runs []LearningRun
	Loss LearnedLosses
}

// LossNames are the names of the four parts of a learned loss.
var LossNames = []string{"hinge", "exponential", "truncated quadratic", "logistic"}

// LearnedLosses compares a learned loss with each of the four losses that it consists of. The data
// sets have wrong labels. The weights of a learned loss are on the simplex. The ridge penalty λ is
// learned in all cases.
type LearnedLosses struct {
	// The following fields describe the search on the first data set, which begins at equal
	// weights. After each step, Alpha holds the weights, Lambda holds the penalty, and CVLoss holds
	// the CV loss.
	Alpha  [][]float64 // [step][loss]
	Lambda []float64
	CVLoss []float64
	// Mean holds the means, over all data sets, of the weights at the end of the search.
	Mean []experiment.Estimate
	// Methods holds six methods: two learned losses, followed by the four single losses. The first
	// learned loss comes from several searches: from equal weights, and from each single loss. It
	// is the result of the search with the lowest CV loss. The second learned loss comes only from
	// the search from equal weights.
	Methods []LossMethod
}

// LossMethod is the result of one loss over all data sets. CV and Test are logistic losses. Error
// is the share of misclassified test examples. The labels of the test examples are correct.
type LossMethod struct {
	Name                                string
	CV, Test, Error                     experiment.Estimate
	TestLosses                          []float64             // for each data set
	LearnedMinusTest, LearnedMinusError experiment.Comparison // the learned loss minus this loss
}

// A learningTask is a learner with its data. It also holds the start and the bounds of the
// hyperparameters to be learned.
type learningTask struct {
	name                string
	hyper               []string
	learner             func() learn.Learner
	train, test         learn.Data
	start, lower, upper []float64
}

// Run learns the hyperparameters.
func (p LearningParams) Run(ctx context.Context, hooks experiment.Hooks) (*Learning, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	src := p.stream("learning")
	rings, err := kernels.PaperRings().Examples(src, src, p.Train, p.Test)
	if err != nil {
		return nil, err
	}
	separable, separableTest := p.classes(src, p.Train), p.classes(src, p.Test)
	tasks := []learningTask{
		{
			"support vector machine", []string{"λ1", "λ2"}, func() learn.Learner { return &margin.SVM{Generalised: true} }, separable, separableTest,
			[]float64{.1, 3}, []float64{1e-4, 1e-3}, []float64{.3, 10},
		},
		{
			"kernel machine", []string{"C", "γ"}, func() learn.Learner { return &kernel.SVM{Intercept: true, Generalised: true} }, rings.Train, rings.Test,
			[]float64{.1, 5}, []float64{1e-2, 1e-2}, []float64{100, 10},
		},
		{
			"logistic regression", []string{"C"}, func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }, separable, separableTest,
			[]float64{100}, []float64{1e-3}, []float64{100},
		},
	}
	r := &Learning{Params: p}
	label := func(i int) string {
		if i < len(tasks) {
			return fmt.Sprintf("%s, data set %d", tasks[i].name, p.Draw)
		}
		return fmt.Sprintf("learned loss, data set %d", p.Number(i-len(tasks), p.LossSeeds))
	}
	results, err := experiment.Cells(ctx, hooks, len(tasks)+p.LossSeeds, label, func(i int) (c learningCell, err error) {
		if i < len(tasks) {
			c.Run, err = p.learn(ctx, tasks[i])
		} else {
			c.Losses, err = p.learnLosses(ctx, p.Number(i-len(tasks), p.LossSeeds))
		}
		return c, err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range results[:len(tasks)] {
		r.Runs = append(r.Runs, c.Run)
	}
	r.Loss = summariseLosses(results[len(tasks):])
	return r, nil
}

// learningCell is the result of one task, or of learned losses on one data set.
type learningCell struct {
	Run    LearningRun
	Losses []lossFit
}

// lossFit is the result of one loss on one data set.
type lossFit struct {
	Alpha           [][]float64
	CVLoss          []float64
	CV, Test, Error float64
	End             []float64
}

// setup draws the splits and makes the CV whose loss the search minimises. The CV uses one
// goroutine, because tasks run in parallel.
func (p LearningParams) setup(src synth.Source, learner func() learn.Learner, train, test learn.Data) (*experiment.Setup, error) {
	splits, err := cvgm.BalancedSplits(src, len(train.Y), p.K, p.P)
	if err != nil {
		return nil, err
	}
	s := &experiment.Setup{Train: train, Test: test, Loss: cvgm.LogisticLoss{}}
	s.CV, err = cvgm.New(cvgm.Config{Data: train, Splits: splits, Learner: learner, Loss: s.Loss, Workers: 1})
	return s, err
}

func (p LearningParams) learn(ctx context.Context, t learningTask) (LearningRun, error) {
	r := LearningRun{Name: t.name, Hyper: t.hyper}
	s, err := p.setup(p.stream("splits of the "+t.name), t.learner, t.train, t.test)
	if err != nil {
		return r, err
	}
	s.Start, s.Lower, s.Upper = t.start, t.lower, t.upper
	// The search is in logarithms, because the start is orders of magnitude away from the minimum.
	searcher := search.LogSpace{Searcher: search.Adam{StepSize: .15, Epsilon: 1e-8, MaxEvals: p.Evaluations}}
	for step, err := range s.Search(ctx, searcher) {
		if err != nil {
			return r, err
		}
		on, err := s.Evaluate(step.X)
		if err != nil {
			return r, err
		}
		r.X = append(r.X, slices.Clone(step.X))
		r.CVLoss, r.TestLoss, r.Accuracy = append(r.CVLoss, step.Loss), append(r.TestLoss, on.Loss), append(r.Accuracy, on.Accuracy)
	}
	for k := range t.lower {
		r.Axes = append(r.Axes, experiment.Logspace(math.Log10(t.lower[k]), math.Log10(t.upper[k]), p.GridPoints))
	}
	if r.Surface, err = experiment.OnGrid(ctx, r.Axes, s.CVLoss); err != nil {
		return r, err
	}
	r.Lowest = slices.Min(slices.Concat(r.Surface...))
	return r, nil
}

// learnLosses measures one data set. It learns the weights of the losses by searches from equal
// weights and from each single loss. For each single loss alone, it also learns the penalty.
func (p LearningParams) learnLosses(ctx context.Context, seed int) ([]lossFit, error) {
	src := synth.NewStream(firstSeed, fmt.Sprintf("learned losses, data set %d", seed))
	train, test := p.classes(src, p.Train), p.classes(src, p.Test)
	for i := range train.Y {
		if src.Float64() < p.Flips {
			train.Y[i] = -train.Y[i]
		}
	}
	s, err := p.setup(src, func() learn.Learner { return &margin.LearnedLoss{Generalised: true} }, train, test)
	if err != nil {
		return nil, err
	}
	searcher := func(project func(alpha []float64), start []float64) (f lossFit, err error) {
		problem := search.Problem{Objective: experiment.Objective(ctx, s.CV), Project: func(x []float64) {
			project(x[:len(LossNames)])
			x[len(LossNames)] = math.Max(x[len(LossNames)], 1e-2)
		}}
		best := search.Step{Loss: math.Inf(1)}
		from := slices.Clone(start)
		problem.Project(from)
		// The first step has the length .05 in every search.
		searcher := search.AdaptiveGradient{FirstStep: .05 / slices.Max(from), MaxEvals: p.Evaluations, Tol: 1e-7}
		for step, err := range experiment.Until(ctx, searcher.Search(problem, start)) {
			if err != nil {
				return f, err
			}
			x := slices.Clone(step.X)
			f.Alpha, f.CVLoss = append(f.Alpha, x), append(f.CVLoss, step.Loss)
			if step.Loss < best.Loss {
				best.Loss, best.X = step.Loss, x
			}
		}
		on, err := s.Evaluate(best.X)
		f.CV, f.Test, f.Error, f.End = best.Loss, on.Loss, 1-on.Accuracy, best.X
		return f, err
	}
	centre := []float64{.25, .25, .25, .25, .1}
	fromCentre, err := searcher(search.Simplex, centre)
	if err != nil {
		return nil, err
	}
	learned := fromCentre
	fits := []lossFit{{}, fromCentre}
	for corner := range LossNames {
		single, err := searcher(func(alpha []float64) {
			clear(alpha)
			alpha[corner] = 1
		}, centre)
		if err != nil {
			return nil, err
		}
		fits = append(fits, single)
		again, err := searcher(search.Simplex, single.End)
		if err != nil {
			return nil, err
		}
		if again.CV < learned.CV {
			learned = again
		}
	}
	fits[0] = learned
	return fits, nil
}

func summariseLosses(cells []learningCell) LearnedLosses {
	var l LearnedLosses
	first := cells[0].Losses[1]
	for _, x := range first.Alpha {
		l.Alpha, l.Lambda = append(l.Alpha, x[:4]), append(l.Lambda, x[4])
	}
	l.CVLoss = first.CVLoss
	column := func(method int, value func(lossFit) float64) []float64 {
		var v []float64
		for _, c := range cells {
			v = append(v, value(c.Losses[method]))
		}
		return v
	}
	for k := range LossNames {
		l.Mean = append(l.Mean, experiment.EstimateOf(column(0, func(f lossFit) float64 { return f.End[k] })))
	}
	test := func(f lossFit) float64 { return f.Test }
	missed := func(f lossFit) float64 { return f.Error }
	for m, name := range append([]string{"learned", "learned, from equal weights alone"}, LossNames...) {
		l.Methods = append(l.Methods, LossMethod{
			Name: name,
			CV:   experiment.EstimateOf(column(m, func(f lossFit) float64 { return f.CV })),
			Test: experiment.EstimateOf(column(m, test)), Error: experiment.EstimateOf(column(m, missed)), TestLosses: column(m, test),
			LearnedMinusTest: experiment.Compare(column(0, test), column(m, test)), LearnedMinusError: experiment.Compare(column(0, missed), column(m, missed)),
		})
	}
	return l
}
