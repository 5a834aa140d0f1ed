package experiment

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/synth"
)

func init() {
	register("elastic_net_seeds", "Table 1 repeated on fresh data sets", DefaultElasticNetSeeds)
}

// ElasticNetSeedsParams are the parameters of the paper's first experiment on
// fresh data.
type ElasticNetSeedsParams struct {
	RegressionData
	PenaltyCVGM
	Steps     int `help:"evaluations of the gradient method" range:"[1,∞)" small:"[1,6]"`
	LongSteps int `help:"evaluations of the gradient method in its long run" range:"[1,∞)" small:"[1,12]"`
	SearchBox
	Seeds int `help:"fresh data sets" range:"[1,∞)" small:"[1,4]"`
}

// DefaultElasticNetSeeds returns the parameters of [DefaultElasticNet], and 200
// data sets.
func DefaultElasticNetSeeds() ElasticNetSeedsParams {
	return ElasticNetSeedsParams{
		RegressionData: paperRegression, PenaltyCVGM: paperPenaltyCVGM,
		Steps: 99, LongSteps: 1000, SearchBox: paperSearchBox, Seeds: 200,
	}
}

// ElasticNetSeeds is the paper's first experiment repeated on fresh data sets,
// with streams of our own: what of Table 1 is the method, and what the seed.
type ElasticNetSeeds struct {
	Params  ElasticNetSeedsParams
	Methods []ElasticNetMethod // CVGM first
}

// ElasticNetMethod is what one method reaches on each data set: at its last
// point for CVGM, else at its point of lowest CV loss. A baseline that no CV
// loss belongs to has none.
type ElasticNetMethod struct {
	Name          string
	Test, CV      []float64
	TestMean      Estimate
	CVMean        Estimate
	CVGMMinusTest Comparison // CVGM's test loss against this method's
	CVGMMinusCV   Comparison
}

// The order of ElasticNetSeeds.Methods.
const (
	ElasticNetCVGM = iota
	ElasticNetLong
	ElasticNetExhaustive
	ElasticNetRandom
	ElasticNetLeastSquares
	ElasticNetTrue
)

func (p ElasticNetSeedsParams) check() error { return p.checkLeastSquares() }

// Run repeats the experiment on the data sets, in parallel.
func (p ElasticNetSeedsParams) Run(ctx context.Context) (*ElasticNetSeeds, error) {
	if err := check(&p); err != nil {
		return nil, err
	}
	seeds, err := cells(ctx, p.Seeds, func(i int) (seedLosses, error) {
		losses, err := p.seed(ctx, uint64(i))
		return losses, wrap(err, "seed %d", i)
	})
	if err != nil {
		return nil, err
	}
	r := &ElasticNetSeeds{Params: p}
	for k, name := range []string{"CVGM", fmt.Sprintf("CVGM, %d steps", p.LongSteps), "Exhaustive search", "Random search", "Least squares", "True coefficients"} {
		m := ElasticNetMethod{Name: name}
		for _, losses := range seeds {
			m.Test, m.CV = append(m.Test, losses.Test[k]), append(m.CV, losses.CV[k])
		}
		r.Methods = append(r.Methods, m)
	}
	first := &r.Methods[ElasticNetCVGM]
	for k := range r.Methods {
		m := &r.Methods[k]
		m.TestMean, m.CVGMMinusTest = estimate(m.Test), compare(first.Test, m.Test)
		if k >= ElasticNetLeastSquares {
			m.CV = nil
			continue
		}
		m.CVMean, m.CVGMMinusCV = estimate(m.CV), compare(first.CV, m.CV)
	}
	return r, nil
}

// seedLosses are the losses of all methods on one data set.
type seedLosses struct{ Test, CV [ElasticNetTrue + 1]float64 }

// seed runs all methods on the data set of one seed.
func (p ElasticNetSeedsParams) seed(ctx context.Context, seed uint64) (losses seedLosses, err error) {
	s, err := p.setup(p.RegressionData, synth.NewStream(seed, "elastic net: data"), synth.NewStream(seed, "elastic net: splits"), 1)
	if err != nil {
		return losses, err
	}
	put := func(method int, lambda []float64, loss float64) error {
		var err error
		losses.CV[method] = loss
		losses.Test[method], err = s.TestLoss(lambda)
		return err
	}
	for step, err := range s.Search(ctx, p.gradient(max(p.LongSteps, p.Steps))) {
		if err != nil {
			return losses, fmt.Errorf("CVGM: %w", err)
		}
		for method, steps := range map[int]int{ElasticNetCVGM: p.Steps, ElasticNetLong: p.LongSteps} {
			if step.Evaluations == steps || step.Converged && step.Evaluations < steps {
				if err := put(method, step.X, step.Loss); err != nil {
					return losses, err
				}
			}
		}
	}
	for _, m := range []struct {
		method   int
		name     string
		searcher cvgm.Searcher
	}{
		{ElasticNetExhaustive, "exhaustive search", p.exhaustive()},
		{ElasticNetRandom, "random search", p.random(func() cvgm.Source { return synth.NewStream(seed, "elastic net: random search") })},
	} {
		best, err := cvgm.Best(s.Search(ctx, m.searcher))
		if err != nil {
			return losses, fmt.Errorf("%s: %w", m.name, err)
		}
		if err := put(m.method, best.X, best.Loss); err != nil {
			return losses, err
		}
	}
	losses.Test[ElasticNetTrue] = linearRisk(s.Test, s.Coef, asIs)
	return losses, put(ElasticNetLeastSquares, leastSquares, math.NaN())
}
