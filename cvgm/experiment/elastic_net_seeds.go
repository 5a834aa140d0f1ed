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
	methodCVGM = iota
	methodLong
	methodExhaustive
	methodRandom
	methodLeastSquares
	methodTrue
)

// RunSeeds repeats the experiment on Params.Seeds fresh data sets, in parallel.
func (p ElasticNetParams) RunSeeds(ctx context.Context) (*ElasticNetSeeds, error) {
	r := &ElasticNetSeeds{Params: p}
	for _, name := range []string{"CVGM", fmt.Sprintf("CVGM, %d steps", p.LongSteps), "Exhaustive search", "Random search", "Least squares", "True coefficients"} {
		r.Methods = append(r.Methods, ElasticNetMethod{Name: name, Test: make([]float64, p.Seeds), CV: make([]float64, p.Seeds)})
	}
	err := eachCell(ctx, p.Seeds, func(i int) error {
		if err := r.run(ctx, i); err != nil {
			return fmt.Errorf("seed %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	first := &r.Methods[methodCVGM]
	for k := range r.Methods {
		m := &r.Methods[k]
		m.TestMean, m.CVGMLessTest = estimate(m.Test), compare(first.Test, m.Test)
		if k >= methodLeastSquares {
			m.CV = nil
			continue
		}
		m.CVMean, m.CVGMLessCV = estimate(m.CV), compare(first.CV, m.CV)
	}
	return r, nil
}

// run fills slot i of every method.
func (r *ElasticNetSeeds) run(ctx context.Context, i int) error {
	seed := uint64(i)
	c, err := r.Params.newContest(synth.NewStream(seed, "elastic net: data"), synth.NewStream(seed, "elastic net: splits"), 1)
	if err != nil {
		return err
	}
	put := func(method int, lambda []float64, loss float64) error {
		m := &r.Methods[method]
		m.CV[i] = loss
		m.Test[i], err = c.testLoss(lambda)
		return err
	}
	for step, err := range c.gradient(max(r.Params.LongSteps, r.Params.Steps)) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("CVGM: %w", err)
		}
		for method, steps := range map[int]int{methodCVGM: r.Params.Steps, methodLong: r.Params.LongSteps} {
			if step.Evaluations == steps || step.Converged && step.Evaluations < steps {
				if err := put(method, step.X, step.Loss); err != nil {
					return err
				}
			}
		}
	}
	best, err := cvgm.Best(c.exhaustive())
	if err != nil {
		return fmt.Errorf("exhaustive search: %w", err)
	}
	if err := put(methodExhaustive, best.X, best.Loss); err != nil {
		return err
	}
	if best, err = cvgm.Best(c.random(synth.NewStream(seed, "elastic net: random search"))); err != nil {
		return fmt.Errorf("random search: %w", err)
	}
	if err := put(methodRandom, best.X, best.Loss); err != nil {
		return err
	}
	if err := put(methodLeastSquares, leastSquares, math.NaN()); err != nil {
		return err
	}
	r.Methods[methodTrue].Test[i] = linearRisk(c.test, c.coef, func(v float64) float64 { return v })
	return nil
}
