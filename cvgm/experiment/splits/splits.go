// Package splits holds the experiments of notebook 07_splits. [SplitsParams] are the parameters of
// an experiment that varies the number and the size of the splits. [GapParams] are the parameters
// of an experiment that measures the over-fitting of the CV loss.
package splits

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
	"cvgm/synth"

	"gonum.org/v1/gonum/stat"
)

// SplitsParams are the parameters of an experiment on two questions. First, how much does it help
// if each example is in validation equally often ("uniform sampling of splits", Section 4 of the
// paper)? Second, which numbers of splits K and which fractions p of training rows are good?
type SplitsParams struct {
	experiment.RegressionData
	K            int       `help:"cross-validation splits of the sweep over Ps" range:"[1,∞)" small:"[2,8]" setting:"K = %v"`
	P            float64   `help:"fraction of the examples that each split trains on in the sweep over Ks" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.5,.9]" setting:"p = %v"`
	Ks           []int     `help:"numbers of splits" range:"[1,∞)" len:"[1,∞)" small:"[1,8]"`
	Ps           []float64 `help:"fractions of the examples that each split trains on" range:"(0,1)" splits:"Train,Sizes,MinSize" small:"[.5,.9]"`
	Draws        int       `help:"draws of the splits per data set, over which the CV loss scatters" range:"[2,∞)" small:"[2,4]" setting:"%v draws of the splits"`
	DataSets     int       `help:"data sets of the elastic net" range:"[2,∞)" small:"[2,3]"`
	At           float64   `help:"value of both penalties at which CV loss and gradient are compared" range:"[0,∞)" small:"[1e-2,1]" setting:"λ1 = λ2 = %v"`
	Budget       int       `help:"evaluations of the quasi-Newton search for the lowest CV loss" range:"[1,∞)" small:"[1,8]" setting:"tuned by at most %v evaluations of a quasi-Newton search"`
	StartLambda1 float64   `help:"start of that search, weight of the l1 penalty" range:"[0,∞)" small:"[1e-4,1]" setting:"start λ1 = %v"`
	StartLambda2 float64   `help:"start of that search, weight of the squared l2 penalty" range:"[0,∞)" small:"[1e-4,1]" setting:"λ2 = %v"`
	MinLambda1   float64   `help:"lower bound of λ1" range:"[0,∞)" small:"[1e-8,1e-4]" setting:"bounds λ1 ≥ %v"`
	MinLambda2   float64   `help:"lower bound of λ2" range:"[0,∞)" small:"[1e-8,1e-4]" setting:"λ2 ≥ %v"`

	Rings         kernels.RingsProblem
	RingsDataSets int       `help:"data sets of the rings" range:"[2,∞)" small:"[2,3]"`
	StepSizes     []float64 `help:"constant step sizes of the gradient method on the rings" range:"(0,∞)" len:"[1,∞)" order:"ascending" small:"[.01,.3]"`
	experiment.FreshData
}

// DefaultSplits returns the paper's problems with K from 1 to 240.
func DefaultSplits() SplitsParams {
	e := elasticnet.PaperPenaltyCVGM
	p := SplitsParams{
		RegressionData: experiment.PaperRegression, K: e.K, P: e.P,
		Ks: []int{1, 2, 4, 8, 15, 30, 60, 120, 240}, Ps: []float64{.35, .5, .65, .8, .9, .95},
		Draws: 12, DataSets: 100, At: .1, Budget: 40,
		StartLambda1: e.StartLambda1, StartLambda2: e.StartLambda2, MinLambda1: e.MinLambda1, MinLambda2: e.MinLambda2,
		Rings: kernels.PaperRings(), RingsDataSets: 48, StepSizes: []float64{.01, .03, .1, .3, 1},
	}
	p.Samples, p.Rings.K = 530, p.K
	return p
}

func (SplitsParams) Defaults() any { return DefaultSplits() }

// Result is the result of Run.
type Result struct {
	Params SplitsParams
	// ByK and ByP are the sweeps over K and over p for the elastic net. RingsByK and RingsByP are
	// the same sweeps for the rings. The rings have only uniform splits, and their field Test is
	// the share of misclassified test examples.
	ByK, ByP, RingsByK, RingsByP []Setting
	Bayes                        float64 // error of the Bayes rule on the rings; no rule has a lower error
	// RingsByStep compares constant step sizes on the rings, with K and p from Params.Rings. The
	// last entry is the quasi-Newton method with the same number of evaluations.
	RingsByStep []Step
}

// A Step is the result of the gradient method on the rings with one constant step size.
type Step struct {
	StepSize  float64               // 0: the quasi-Newton method
	CV, Test  experiment.Estimate   // CV loss at the end of the search, and share of misclassified test examples
	Rises     experiment.Estimate   // share of the steps in which the CV loss rises
	MinusLast experiment.Comparison // CV loss minus the CV loss of the quasi-Newton method, on the same data
}

// Setting holds the results for one pair of K and p.
type Setting struct {
	K                 int
	P                 float64
	Uniform, Balanced Measure
	// BalancedMinusUniform compares the two kinds of splits by test loss: the loss with balanced
	// splits minus the loss with uniform splits, paired by data set.
	BalancedMinusUniform experiment.Comparison
	// MinusLast compares this setting with the last setting of the sweep: on each data set, its
	// test loss minus the test loss of the last setting. Both losses are with uniform splits.
	MinusLast experiment.Comparison
	// LossShare and GradientShare are means of ratios over the data sets. Each ratio is a standard
	// deviation with balanced splits, divided by the standard deviation with uniform splits.
	// LossShare is about the CV loss, and GradientShare is about its gradient. Data sets with a
	// denominator of 0 are omitted.
	LossShare, GradientShare experiment.Estimate
}

// Measure holds the results with one kind of splits.
type Measure struct {
	// LossSD and GradientSD describe the variation between draws of the splits for the same data.
	// On one data set, the standard deviation of the CV loss is taken, and a standard deviation of
	// the gradient: the square root of the summed variances of its entries. LossSD and GradientSD
	// are the means of these standard deviations over the data sets. For the rings, both are 0,
	// because they are not measured.
	LossSD, GradientSD experiment.Estimate
	// Test is the mean of TestLosses.
	Test experiment.Estimate
	// TestLosses holds one test loss for each data set: the test loss of the model at the lowest CV
	// loss.
	TestLosses []float64
	// LossSDs and GradientSDs are the standard deviations for each data set.
	LossSDs, GradientSDs []float64
}

type drawSplits func(src cvgm.Source, n, k int, p float64) ([]cvgm.Split, error)

// splitsCell holds the results of one kind of splits, at one setting and on one data set.
type splitsCell struct{ LossSD, GradientSD, Test, CV, Rises float64 }

// A splitsTask measures one kind of splits at one setting, on several data sets.
type splitsTask struct {
	name     string
	done     func(data []splitsCell)
	dataSets int
	measure  func(dataSet int) (splitsCell, error)
}

// Run measures the sweeps over K and p. The data sets run in parallel.
func (p SplitsParams) Run(ctx context.Context, hooks experiment.Hooks) (*Result, error) {
	if err := experiment.Check(&p); err != nil {
		return nil, err
	}
	rule, err := p.Rings.Rings().Bayes()
	if err != nil {
		return nil, err
	}
	r := &Result{Params: p, Bayes: 1 - rule.Accuracy}
	for _, k := range p.Ks {
		r.ByK = append(r.ByK, Setting{K: k, P: p.P})
		r.RingsByK = append(r.RingsByK, Setting{K: k, P: p.Rings.P})
	}
	for _, fraction := range p.Ps {
		r.ByP = append(r.ByP, Setting{K: p.K, P: fraction})
		r.RingsByP = append(r.RingsByP, Setting{K: p.Rings.K, P: fraction})
	}
	losses := make([][]float64, len(p.StepSizes)+1)
	if err := p.measureTasks(ctx, hooks, slices.Concat(p.sweepTasks(ctx, r), p.stepTasks(ctx, r, losses))); err != nil {
		return nil, err
	}
	for i := range r.RingsByStep {
		r.RingsByStep[i].MinusLast = experiment.Compare(losses[i], losses[len(losses)-1])
	}
	for _, sweep := range r.sweeps() {
		for i := range sweep {
			s := &sweep[i]
			s.LossShare = shares(s.Balanced.LossSDs, s.Uniform.LossSDs)
			s.GradientShare = shares(s.Balanced.GradientSDs, s.Uniform.GradientSDs)
			s.MinusLast = experiment.Compare(s.Uniform.TestLosses, sweep[len(sweep)-1].Uniform.TestLosses)
			if s.Balanced.TestLosses != nil {
				s.BalancedMinusUniform = experiment.Compare(s.Balanced.TestLosses, s.Uniform.TestLosses)
			}
		}
	}
	return r, nil
}

// ringsSweeps is the number of sweeps on the rings. The first varies K, and the second varies p.
// The cells of these sweeps come first, one sweep after the other.
const ringsSweeps = 2

func (r *Result) sweeps() [][]Setting {
	return [][]Setting{r.RingsByK, r.RingsByP, r.ByK, r.ByP}
}

// sweepTasks returns the tasks that measure the settings of the sweeps.
func (p SplitsParams) sweepTasks(ctx context.Context, r *Result) []splitsTask {
	var tasks []splitsTask
	for k, sweep := range r.sweeps() {
		of := func(problem string, s *Setting, kind string) string {
			return fmt.Sprintf("%s, sweep over %s, K = %d, p = %g, %s splits", problem, []string{"K", "p"}[k%2], s.K, s.P, kind)
		}
		for i := range sweep {
			s := &sweep[i]
			if k < ringsSweeps {
				tasks = append(tasks, splitsTask{of("rings", s, "uniform"), s.Uniform.summarise, p.RingsDataSets, func(i int) (splitsCell, error) { return p.measureRings(ctx, i, s.K, s.P, p.Rings.Gradient()) }})
				continue
			}
			tasks = append(tasks,
				splitsTask{of("elastic net", s, "uniform"), s.Uniform.summarise, p.DataSets, func(i int) (splitsCell, error) { return p.measure(ctx, i, s.K, s.P, cvgm.RandomSplits) }},
				splitsTask{of("elastic net", s, "balanced"), s.Balanced.summarise, p.DataSets, func(i int) (splitsCell, error) { return p.measure(ctx, i, s.K, s.P, cvgm.BalancedSplits) }})
		}
	}
	return tasks
}

// stepTasks returns the tasks that set RingsByStep. Each task stores its CV loss in the entry
// losses[step size][data set].
func (p SplitsParams) stepTasks(ctx context.Context, r *Result, losses [][]float64) []splitsTask {
	var tasks []splitsTask
	for i, size := range append(slices.Clone(p.StepSizes), 0) {
		searcher, name := search.Searcher(search.QuasiNewton{MaxEvals: p.Rings.Steps + 1}), "rings, quasi-Newton"
		if size > 0 {
			searcher, name = kernels.GradientDescent(size, p.Rings.Steps), fmt.Sprintf("rings, step size %g", size)
		}
		r.RingsByStep = append(r.RingsByStep, Step{StepSize: size})
		tasks = append(tasks, splitsTask{name, func(data []splitsCell) {
			var test, rises []float64
			for _, c := range data {
				losses[i], test, rises = append(losses[i], c.CV), append(test, c.Test), append(rises, c.Rises)
			}
			s := &r.RingsByStep[i]
			s.CV, s.Test, s.Rises = experiment.EstimateOf(losses[i]), experiment.EstimateOf(test), experiment.EstimateOf(rises)
		}, p.RingsDataSets, func(k int) (splitsCell, error) {
			return p.measureRings(ctx, k, p.Rings.K, p.Rings.P, searcher)
		}})
	}
	return tasks
}

// measureTasks measures all tasks on all of their data sets.
func (p SplitsParams) measureTasks(ctx context.Context, hooks experiment.Hooks, tasks []splitsTask) error {
	n := 0
	for _, t := range tasks {
		n += t.dataSets
	}
	// taskOf returns the task to which cell i belongs, and the number of the cell's data set.
	taskOf := func(i int) (task, dataSet int) {
		for ; i >= tasks[task].dataSets; task++ {
			i -= tasks[task].dataSets
		}
		return task, p.Number(i, tasks[task].dataSets)
	}
	measured, err := experiment.Cells(ctx, hooks, n, func(i int) string {
		task, dataSet := taskOf(i)
		return fmt.Sprintf("%s, data set %d", tasks[task].name, dataSet)
	}, func(i int) (splitsCell, error) {
		task, dataSet := taskOf(i)
		return tasks[task].measure(dataSet)
	})
	if err != nil {
		return err
	}
	for _, t := range tasks {
		t.done(measured[:t.dataSets])
		measured = measured[t.dataSets:]
	}
	return nil
}

// For LossShare and GradientShare, shares returns the mean of num[i]/denom[i] over the data sets i.
// It omits data sets for which denom[i] is 0.
func shares(num, denom []float64) experiment.Estimate {
	var ratios []float64
	for i, v := range num {
		if denom[i] > 0 {
			ratios = append(ratios, v/denom[i])
		}
	}
	if ratios == nil {
		return experiment.Estimate{}
	}
	return experiment.RatioOf(ratios)
}

// summarise sets the means over the data sets.
func (m *Measure) summarise(data []splitsCell) {
	var loss, gradient []float64
	for _, c := range data {
		loss, gradient, m.TestLosses = append(loss, c.LossSD), append(gradient, c.GradientSD), append(m.TestLosses, c.Test)
	}
	m.LossSDs, m.GradientSDs = loss, gradient
	m.LossSD, m.GradientSD, m.Test = experiment.EstimateOf(loss), experiment.EstimateOf(gradient), experiment.EstimateOf(m.TestLosses)
}

// measure finds how much the CV loss and its gradient vary on one data set if the splits are drawn
// again. It also finds the test loss of the model at the lowest CV loss of the first draw.
func (p SplitsParams) measure(ctx context.Context, dataSet, k int, fraction float64, draw drawSplits) (c splitsCell, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "splits: "+purpose)
	}
	s := &experiment.Setup{Loss: cvgm.SquaredError{}, Start: []float64{p.StartLambda1, p.StartLambda2}, Lower: []float64{p.MinLambda1, p.MinLambda2}}
	if s.Train, s.Test, s.Coef, err = p.Examples(stream("data")); err != nil {
		return c, err
	}
	src := stream(fmt.Sprint("K = ", k, ", p = ", fraction))
	at, grad := []float64{p.At, p.At}, make([]float64, 2)
	var losses []float64
	var grads [2][]float64
	for i := range p.Draws {
		splits, err := draw(src, p.Train, k, fraction)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return c, err
		}
		// MeanCentring gives the same intercept as FixedLeastSquares, and is faster.
		if s.CV, err = elasticnet.NewCV(s.Train, splits, cvgm.MeanCentring, 1); err != nil {
			return c, err
		}
		loss, err := s.CV.EvalContext(ctx, grad, at)
		if err != nil {
			return c, err
		}
		losses = append(losses, loss)
		for j, g := range grad {
			grads[j] = append(grads[j], g)
		}
		if i > 0 {
			continue
		}
		best, err := search.Best(s.Search(ctx, search.QuasiNewton{MaxEvals: p.Budget}))
		if err != nil {
			return c, err
		}
		if c.Test, err = s.TestLoss(best.X); err != nil {
			return c, err
		}
	}
	c.LossSD, c.GradientSD = stat.StdDev(losses, nil), math.Sqrt(stat.Variance(grads[0], nil)+stat.Variance(grads[1], nil))
	return c, nil
}

// measureRings runs a search and sets three fields of its result. Test is the share of test
// examples that the model misclassifies. CV is the CV loss at the end. Rises is the share of the
// steps in which the CV loss rises.
func (p SplitsParams) measureRings(ctx context.Context, dataSet, k int, fraction float64, searcher search.Searcher) (c splitsCell, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "splits, rings: "+purpose)
	}
	rings := p.Rings
	rings.K, rings.P = k, fraction
	s, err := rings.Setup(kernels.Full, stream, fmt.Sprint("K = ", k, ", p = ", fraction), nil)
	if err != nil {
		return c, err
	}
	var x []float64
	steps, rises := 0, 0
	for step, err := range s.Search(ctx, searcher) {
		if err != nil {
			return c, err
		}
		if steps++; steps > 1 && step.Loss > c.CV {
			rises++
		}
		x, c.CV = append(x[:0], step.X...), step.Loss
	}
	c.Rises = float64(rises) / float64(max(steps-1, 1))
	metrics, err := s.Evaluate(x)
	c.Test = 1 - metrics.Accuracy
	return c, err
}
