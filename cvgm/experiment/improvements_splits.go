package experiment

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/qpdiff"
	"cvgm/synth"

	"gonum.org/v1/gonum/floats"
)

// SplitsParams are the parameters of two questions about the splits: what is
// gained when every example stands in validation equally often ("uniform
// sampling of splits", Section 4 of the paper), and how many splits K and which
// fraction p are good.
type SplitsParams struct {
	ElasticNetParams
	Ks       []int     `help:"numbers of splits"`
	Ps       []float64 `help:"fractions of the examples that each split trains on, at the K of the paper"`
	Draws    int       `help:"draws of the splits per data set, over which the CV loss scatters"`
	DataSets int       `help:"data sets"`
	At       float64   `help:"where CV loss and gradient are compared, both penalties"`
	Budget   int       `help:"evaluations of the quasi-Newton search for the lowest CV loss"`

	Rings         RingsParams `help:"the rings experiment, on which K and p are varied too"`
	RingsDataSets int         `help:"data sets of the rings experiment"`
}

// DefaultSplits returns the paper's experiments with K from 1 to 240.
func DefaultSplits() SplitsParams {
	p := SplitsParams{ElasticNetParams: PaperElasticNet(), Ks: []int{1, 2, 4, 8, 15, 30, 60, 120, 240},
		Ps: []float64{.2, .35, .5, .65, .8, .9, .95}, Draws: 12, DataSets: 40, At: .1, Budget: 40,
		Rings: PaperRings(), RingsDataSets: 8}
	p.Samples = 530
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
	// BalancedLess is the test loss with balanced splits less that with uniform
	// ones, on the same data.
	BalancedLess Comparison
	// LessLast is the test loss with uniform splits less that of the sweep's last
	// setting, on the same data.
	LessLast Comparison
}

// SplitsMeasure is what one kind of splits gives.
type SplitsMeasure struct {
	// LossSD and GradientSD are the standard deviations, over draws of the
	// splits for the same data, of the CV loss and (root of the summed
	// variances) of its gradient, as means over the data sets.
	LossSD, GradientSD Estimate
	// Test is the test loss of the model at the lowest CV loss.
	Test   Estimate
	losses []float64
}

type drawSplits func(src cvgm.Source, n, k int, p float64) ([]cvgm.Split, error)

// Run sweeps K and p, in parallel over data sets.
func (p SplitsParams) Run(ctx context.Context) (*SplitsResult, error) {
	if p.DataSets < 2 || p.RingsDataSets < 2 || p.Draws < 2 || len(p.Ks) == 0 {
		return nil, &qpdiff.ArgError{Arg: "SplitsParams", Why: qpdiff.ErrDomain,
			Problem: fmt.Sprintf("has DataSets = %d, RingsDataSets = %d, Draws = %d, Ks %v", p.DataSets, p.RingsDataSets, p.Draws, p.Ks),
			Remedy:  "use at least two of each and some K"}
	}
	r := &SplitsResult{Params: p}
	rule, err := p.Rings.rings().Bayes()
	if err != nil {
		return nil, err
	}
	r.Bayes = 1 - rule.Accuracy
	for _, k := range p.Ks {
		r.ByK = append(r.ByK, SplitsSetting{K: k, P: p.P})
		r.RingsByK = append(r.RingsByK, SplitsSetting{K: k, P: p.Rings.P})
	}
	for _, fraction := range p.Ps {
		r.ByP = append(r.ByP, SplitsSetting{K: p.K, P: fraction})
		r.RingsByP = append(r.RingsByP, SplitsSetting{K: p.K, P: fraction})
	}
	var cells []func() error
	for _, settings := range [][]SplitsSetting{r.RingsByK, r.RingsByP} {
		for s := range settings {
			setting := &settings[s]
			setting.Uniform.losses = make([]float64, p.RingsDataSets)
			for i := range p.RingsDataSets {
				cells = append(cells, func() (err error) {
					setting.Uniform.losses[i], err = p.ringsErrors(ctx, i, setting.K, setting.P)
					return err
				})
			}
		}
	}
	type scatter struct{ loss, gradient []float64 }
	scatters := make(map[*SplitsMeasure]scatter)
	for _, settings := range [][]SplitsSetting{r.ByK, r.ByP} {
		for s := range settings {
			setting := &settings[s]
			for _, kind := range []struct {
				to   *SplitsMeasure
				draw drawSplits
			}{{&setting.Uniform, cvgm.RandomSplits}, {&setting.Balanced, cvgm.BalancedSplits}} {
				kind.to.losses = make([]float64, p.DataSets)
				sd := scatter{make([]float64, p.DataSets), make([]float64, p.DataSets)}
				scatters[kind.to] = sd
				for i := range p.DataSets {
					cells = append(cells, func() (err error) {
						if err := ctx.Err(); err != nil {
							return err
						}
						sd.loss[i], sd.gradient[i], kind.to.losses[i], err = p.measure(i, setting.K, setting.P, kind.draw)
						return err
					})
				}
			}
		}
	}
	if err := eachCell(ctx, len(cells), func(i int) error { return cells[i]() }); err != nil {
		return nil, err
	}
	for to, sd := range scatters {
		to.LossSD, to.GradientSD = estimate(sd.loss), estimate(sd.gradient)
	}
	for _, settings := range [][]SplitsSetting{r.ByK, r.ByP, r.RingsByK, r.RingsByP} {
		for s := range settings {
			setting := &settings[s]
			setting.Uniform.Test = estimate(setting.Uniform.losses)
			setting.LessLast = compare(setting.Uniform.losses, settings[len(settings)-1].Uniform.losses)
			if setting.Balanced.losses != nil {
				setting.Balanced.Test = estimate(setting.Balanced.losses)
				setting.BalancedLess = compare(setting.Balanced.losses, setting.Uniform.losses)
			}
		}
	}
	return r, nil
}

// measure returns, for one data set, the scatter of the CV loss and of its
// gradient over draws of the splits, and the test loss where the CV loss of the
// first draw is lowest.
func (p SplitsParams) measure(dataSet, k int, fraction float64, draw drawSplits) (lossSD, gradientSD, test float64, err error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "splits: "+purpose)
	}
	d, coef, err := synth.MakeRegression(stream("data"), synth.Regression{Samples: p.Samples, Features: p.Features, Informative: p.Informative, Noise: p.Noise})
	if err != nil {
		return 0, 0, 0, err
	}
	c := &contest{params: p.ElasticNetParams}
	if c.train, c.test, err = p.divide(d, coef); err != nil {
		return 0, 0, 0, err
	}
	src := stream(fmt.Sprint("K = ", k, ", p = ", fraction))
	at := []float64{p.At, p.At}
	losses, grads := make([]float64, p.Draws), make([][]float64, len(at))
	for j := range grads {
		grads[j] = make([]float64, p.Draws)
	}
	grad := make([]float64, len(at))
	for i := range p.Draws {
		splits, err := draw(src, p.Train, k, fraction)
		if err != nil {
			return 0, 0, 0, err
		}
		// The same intercept as in the contest, found faster.
		if err := c.use(splits, cvgm.MeanCentring, 1); err != nil {
			return 0, 0, 0, err
		}
		if losses[i], err = c.cv.Eval(grad, at); err != nil {
			return 0, 0, 0, err
		}
		for j, g := range grad {
			grads[j][i] = g
		}
		if i > 0 {
			continue
		}
		best, err := cvgm.Best(c.search(cvgm.QuasiNewton{MaxEvals: p.Budget}))
		if err != nil {
			return 0, 0, 0, err
		}
		if test, err = c.testLoss(best.X); err != nil {
			return 0, 0, 0, err
		}
	}
	for _, g := range grads {
		gradientSD += variance(g)
	}
	return math.Sqrt(variance(losses)), math.Sqrt(gradientSD), test, nil
}

// ringsErrors returns the share of test examples that CVGM's model gets wrong.
func (p SplitsParams) ringsErrors(ctx context.Context, dataSet, k int, fraction float64) (float64, error) {
	stream := func(purpose string) *synth.Stream {
		return synth.NewStream(uint64(dataSet), "splits, rings: "+purpose)
	}
	rings := p.Rings
	rings.K, rings.P = k, fraction
	f, err := rings.fresh(stream, fmt.Sprint("K = ", k, ", p = ", fraction), nil)
	if err != nil {
		return 0, err
	}
	for step, err := range rings.search(f.loss, f.start) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0, err
		}
		if step.Evaluations <= rings.Steps {
			continue
		}
		model, err := f.loss.cv.Final(step.X)
		if err != nil {
			return 0, err
		}
		on, err := Judge(model, f.test)
		return 1 - on.Accuracy, err
	}
	return 0, nil
}

// variance is the unbiased one.
func variance(v []float64) float64 {
	mean := floats.Sum(v) / float64(len(v))
	var s float64
	for _, x := range v {
		s += (x - mean) * (x - mean)
	}
	return s / float64(len(v)-1)
}
