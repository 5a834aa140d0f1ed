package experiment

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/synth"

	"gonum.org/v1/gonum/stat"
)

func init() {
	register("splits", "the number and size of the splits, and balanced against uniform splits", DefaultSplits)
}

// SplitsParams are the parameters of two questions about the splits: the gain
// from having each example in validation equally often ("uniform sampling of
// splits", Section 4 of the paper), and good values of the number of splits K and
// of the fraction p.
type SplitsParams struct {
	RegressionData
	K            int       `help:"cross-validation splits of the sweep over Ps" range:"[1,∞)" small:"[2,8]"`
	P            float64   `help:"fraction of the examples that each split trains on in the sweep over Ks" range:"(0,1)" small:"[.5,.9]"`
	Ks           []int     `help:"numbers of splits" range:"[1,∞)" len:"[1,∞)" small:"[1,8]"`
	Ps           []float64 `help:"fractions of the examples that each split trains on" range:"(0,1)" small:"[.5,.9]"`
	Draws        int       `help:"draws of the splits per data set, over which the CV loss scatters" range:"[2,∞)" small:"[2,4]"`
	DataSets     int       `help:"data sets of the elastic net" range:"[2,∞)" small:"[2,3]"`
	At           float64   `help:"value of both penalties at which CV loss and gradient are compared" range:"[0,∞)" small:"[1e-2,1]"`
	Budget       int       `help:"evaluations of the quasi-Newton search for the lowest CV loss" range:"[1,∞)" small:"[1,8]"`
	StartLambda1 float64   `help:"start of that search, weight of the l1 penalty" range:"[0,∞)" small:"[1e-4,1]"`
	StartLambda2 float64   `help:"start of that search, weight of the squared l2 penalty" range:"[0,∞)" small:"[1e-4,1]"`
	MinLambda1   float64   `help:"lower bound of lambda1" range:"[0,∞)" small:"[1e-8,1e-4]"`
	MinLambda2   float64   `help:"lower bound of lambda2" range:"[0,∞)" small:"[1e-8,1e-4]"`

	Rings         RingsProblem
	RingsDataSets int `help:"data sets of the rings" range:"[2,∞)" small:"[2,3]"`
}

// DefaultSplits returns the paper's problems with K from 1 to 240.
func DefaultSplits() SplitsParams {
	e := paperPenaltyCVGM
	p := SplitsParams{
		RegressionData: paperRegression, K: e.K, P: e.P,
		Ks: []int{1, 2, 4, 8, 15, 30, 60, 120, 240}, Ps: []float64{.2, .35, .5, .65, .8, .9, .95},
		Draws: 12, DataSets: 40, At: .1, Budget: 40,
		StartLambda1: e.StartLambda1, StartLambda2: e.StartLambda2, MinLambda1: e.MinLambda1, MinLambda2: e.MinLambda2,
		Rings: paperRings(), RingsDataSets: 8,
	}
	p.Samples, p.Rings.K = 530, p.K
	return p
}

// SplitsResult is what Run measures.
type SplitsResult struct {
	Params SplitsParams
	// ByK and ByP are the sweeps on the elastic net, RingsByK and RingsByP
	// those on the rings, where only uniform splits are used and Test is the
	// share of test examples classified wrongly.
	ByK, ByP, RingsByK, RingsByP []SplitsSetting
	Bayes                        float64 // the rings' lowest possible share of errors
}

// SplitsSetting is one K and p.
type SplitsSetting struct {
	K                 int
	P                 float64
	Uniform, Balanced SplitsMeasure
	// BalancedMinusUniform compares the test losses with balanced and with uniform
	// splits on the same data.
	BalancedMinusUniform Comparison
	// MinusLast compares the test losses with uniform splits at this setting and
	// at the sweep's last, on the same data.
	MinusLast Comparison
}

// SplitsMeasure holds the measurements with one kind of splits.
type SplitsMeasure struct {
	// LossSD and GradientSD are the standard deviations, over draws of the
	// splits for the same data, of the CV loss and (root of the summed
	// variances) of its gradient, as means over the data sets. On the rings they
	// are not measured, but 0.
	LossSD, GradientSD Estimate
	// Test is the mean of TestLosses.
	Test Estimate
	// TestLosses are the test losses of the models at the lowest CV loss, by data
	// set.
	TestLosses []float64
}

type drawSplits func(src cvgm.Source, n, k int, p float64) ([]cvgm.Split, error)

// splitsCell is one kind of splits at one setting on one data set.
type splitsCell struct{ LossSD, GradientSD, Test float64 }

// splitsTask is one kind of splits at one setting, on several data sets.
type splitsTask struct {
	to       *SplitsMeasure
	dataSets int
	measure  func(dataSet int) (splitsCell, error)
}

// Run sweeps K and p, in parallel over data sets.
func (p SplitsParams) Run(ctx context.Context) (*SplitsResult, error) {
	if err := check(&p); err != nil {
		return nil, err
	}
	rule, err := p.Rings.rings().Bayes()
	if err != nil {
		return nil, err
	}
	r := &SplitsResult{Params: p, Bayes: 1 - rule.Accuracy}
	for _, k := range p.Ks {
		r.ByK = append(r.ByK, SplitsSetting{K: k, P: p.P})
		r.RingsByK = append(r.RingsByK, SplitsSetting{K: k, P: p.Rings.P})
	}
	for _, fraction := range p.Ps {
		r.ByP = append(r.ByP, SplitsSetting{K: p.K, P: fraction})
		r.RingsByP = append(r.RingsByP, SplitsSetting{K: p.Rings.K, P: fraction})
	}
	var tasks []splitsTask
	sweeps := [][]SplitsSetting{r.RingsByK, r.RingsByP, r.ByK, r.ByP}
	const ringsSweeps = 2
	for k, sweep := range sweeps {
		for i := range sweep {
			s := &sweep[i]
			if k < ringsSweeps {
				tasks = append(tasks, splitsTask{&s.Uniform, p.RingsDataSets, func(i int) (splitsCell, error) { return p.measureRings(ctx, i, s.K, s.P) }})
				continue
			}
			tasks = append(tasks,
				splitsTask{&s.Uniform, p.DataSets, func(i int) (splitsCell, error) { return p.measure(ctx, i, s.K, s.P, cvgm.RandomSplits) }},
				splitsTask{&s.Balanced, p.DataSets, func(i int) (splitsCell, error) { return p.measure(ctx, i, s.K, s.P, cvgm.BalancedSplits) }})
		}
	}
	var all []func() (splitsCell, error)
	for _, t := range tasks {
		for i := range t.dataSets {
			all = append(all, func() (splitsCell, error) { return t.measure(i) })
		}
	}
	measured, err := cells(ctx, len(all), func(i int) (splitsCell, error) { return all[i]() })
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		t.to.summarise(measured[:t.dataSets])
		measured = measured[t.dataSets:]
	}
	for _, sweep := range sweeps {
		for i := range sweep {
			s := &sweep[i]
			s.MinusLast = compare(s.Uniform.TestLosses, sweep[len(sweep)-1].Uniform.TestLosses)
			if s.Balanced.TestLosses != nil {
				s.BalancedMinusUniform = compare(s.Balanced.TestLosses, s.Uniform.TestLosses)
			}
		}
	}
	return r, nil
}

// summarise sets the means over the data sets.
func (m *SplitsMeasure) summarise(data []splitsCell) {
	var loss, gradient []float64
	for _, c := range data {
		loss, gradient, m.TestLosses = append(loss, c.LossSD), append(gradient, c.GradientSD), append(m.TestLosses, c.Test)
	}
	m.LossSD, m.GradientSD, m.Test = estimate(loss), estimate(gradient), estimate(m.TestLosses)
}

// measure measures, on one data set, the scatter of the CV loss and of its
// gradient over draws of the splits, and the test loss at the lowest CV loss of
// the first draw.
func (p SplitsParams) measure(ctx context.Context, dataSet, k int, fraction float64, draw drawSplits) (c splitsCell, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "splits: "+purpose)
	}
	s := &Setup{Loss: cvgm.SquaredError{}, Start: []float64{p.StartLambda1, p.StartLambda2}, Lower: []float64{p.MinLambda1, p.MinLambda2}}
	if s.Train, s.Test, s.Coef, err = p.draw(stream("data")); err != nil {
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
		// The same intercept as with FixedLeastSquares, found faster.
		if s.CV, err = elasticNetCV(s.Train, splits, cvgm.MeanCentring, 1); err != nil {
			return c, err
		}
		loss, err := s.CV.Eval(grad, at)
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
		best, err := cvgm.Best(s.Search(ctx, cvgm.QuasiNewton{MaxEvals: p.Budget}))
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

// measureRings sets Test to the share of test examples that CVGM's model gets
// wrong.
func (p SplitsParams) measureRings(ctx context.Context, dataSet, k int, fraction float64) (c splitsCell, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "splits, rings: "+purpose)
	}
	rings := p.Rings
	rings.K, rings.P = k, fraction
	s, err := rings.setup(Full, stream, fmt.Sprint("K = ", k, ", p = ", fraction), nil)
	if err != nil {
		return c, err
	}
	x, err := lastPoint(s.Search(ctx, rings.gradient()))
	if err != nil {
		return c, err
	}
	metrics, err := s.evaluate(x)
	c.Test = 1 - metrics.Accuracy
	return c, err
}
