package experiment

import (
	"context"
	"fmt"
	"math"

	"cvgm/cvgm"
	"cvgm/synth"
)

// ElasticNetSeeds is the paper's first experiment repeated on fresh data sets,
// with streams of our own: what of Table 1 is the method, and what the seed.
type ElasticNetSeeds struct {
	Params  ElasticNetParams
	Methods []ElasticNetMethod // CVGM first
}

// ElasticNetMethod is what one method reaches on each data set: at its last
// point for CVGM, else at its point of lowest CV loss. A baseline that no CV
// loss belongs to has none.
type ElasticNetMethod struct {
	Name         string
	Test, CV     []float64
	TestMean     Estimate
	CVMean       Estimate
	CVGMLessTest Comparison // CVGM's test loss against this method's
	CVGMLessCV   Comparison
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

// RunSeeds repeats the experiment on Params.Seeds fresh data sets, in parallel.
func (p ElasticNetParams) RunSeeds(ctx context.Context) (*ElasticNetSeeds, error) {
	seeds, err := keptCells(ctx, p.Seeds, func(i int) (seedLosses, error) {
		losses, err := p.seed(ctx, uint64(i))
		if err != nil {
			err = fmt.Errorf("seed %d: %w", i, err)
		}
		return losses, err
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
		m.TestMean, m.CVGMLessTest = estimate(m.Test), compare(first.Test, m.Test)
		if k >= ElasticNetLeastSquares {
			m.CV = nil
			continue
		}
		m.CVMean, m.CVGMLessCV = estimate(m.CV), compare(first.CV, m.CV)
	}
	return r, nil
}

// seedLosses are the losses of all methods on one data set.
type seedLosses struct{ Test, CV [ElasticNetTrue + 1]float64 }

// seed runs all methods on the data set of one seed.
func (p ElasticNetParams) seed(ctx context.Context, seed uint64) (losses seedLosses, err error) {
	c, err := p.newContest(synth.NewStream(seed, "elastic net: data"), synth.NewStream(seed, "elastic net: splits"), 1)
	if err != nil {
		return losses, err
	}
	put := func(method int, lambda []float64, loss float64) error {
		var err error
		losses.CV[method] = loss
		losses.Test[method], err = c.testLoss(lambda)
		return err
	}
	for step, err := range c.gradient(max(p.LongSteps, p.Steps)) {
		if err == nil {
			err = ctx.Err()
		}
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
	best, err := cvgm.Best(c.exhaustive())
	if err != nil {
		return losses, fmt.Errorf("exhaustive search: %w", err)
	}
	if err := put(ElasticNetExhaustive, best.X, best.Loss); err != nil {
		return losses, err
	}
	source := func() cvgm.Source { return synth.NewStream(seed, "elastic net: random search") }
	if best, err = cvgm.Best(c.random(source)); err != nil {
		return losses, fmt.Errorf("random search: %w", err)
	}
	if err := put(ElasticNetRandom, best.X, best.Loss); err != nil {
		return losses, err
	}
	if err := put(ElasticNetLeastSquares, leastSquares, math.NaN()); err != nil {
		return losses, err
	}
	losses.Test[ElasticNetTrue] = linearRisk(c.test, c.coef, func(v float64) float64 { return v })
	return losses, nil
}
