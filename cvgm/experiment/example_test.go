package experiment_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
)

func ExampleSearchesParams() {
	p := experiment.DefaultSearches()
	p.DataSets, p.Budget, p.Starts, p.SurfaceDataSet, p.SurfacePoints = 1, 30, 2, 0, 2
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Printf("lowest CV loss %.3f at %.3f\n", r.Minimum[0], r.At[0])
	for _, m := range r.Methods {
		if m.Within(p.SmallBudget, p.DataSets) == p.DataSets {
			fmt.Println("reached within", p.SmallBudget, "evaluations by", m.Name)
		}
	}
	// Output:
	// lowest CV loss 2.118 at [0.221 0.000]
	// reached within 24 evaluations by quasi-Newton
	// reached within 24 evaluations by quasi-Newton, multi-start
}

func ExampleSearchDimensionsParams() {
	p := experiment.DefaultSearchDimensions()
	p.Groups, p.DataSets, p.Budget, p.LongBudget, p.K, p.Rings.Hidden, p.Rings.K = []int{20}, 1, 40, 60, 16, []int{4}, 4
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	// Digits of a search that has not converged differ between processors.
	lowest := r.Dimensions[0].Methods[0]
	for _, m := range r.Dimensions[0].Methods {
		if m.Evaluations == 0 {
			fmt.Printf("%s: %.0f evaluations needed\n", m.Name, m.GridNeeded)
		} else if m.CV[0] < lowest.CV[0] {
			lowest = m
		}
	}
	fmt.Println("lowest CV loss:", lowest.Name)
	// Output:
	// exhaustive: 1048576 evaluations needed
	// lowest CV loss: quasi-Newton
}

func ExampleSplitsParams() {
	p := experiment.DefaultSplits()
	p.Ks, p.Ps, p.DataSets, p.RingsDataSets, p.Rings.Steps, p.Rings.Hidden = []int{30}, nil, 5, 2, 2, []int{4}
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	s := r.ByK[0]
	fmt.Printf("K = %d: balanced splits scatter %.1f times less\n", s.K, s.Uniform.LossSD.Mean/s.Balanced.LossSD.Mean)
	// Output: K = 30: balanced splits scatter 5.1 times less
}

func ExampleGapParams() {
	p := experiment.DefaultGap()
	p.Groups, p.DataSets, p.Budget, p.Rings.K = nil, 3, 100, 16
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	g := r.Problems[0]
	fmt.Printf("%d hyperparameters: the risk ends above the CV loss: %v\n", g.Hyperparameters, g.Gap.Mean > 0)
	// Output: 322 hyperparameters: the risk ends above the CV loss: true
}

func ExampleUnrolledParams() {
	p := experiment.DefaultUnrolled()
	p.Conditions = nil // those at which rounding is measured
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	run := r.ByRate[2]
	for k, e := range run.Error() {
		if s := run.Steps[k]; s == 10 || s == 100 {
			fmt.Printf("relative error through %d steps: %.0e\n", s, e)
		}
	}
	// Output:
	// relative error through 10 steps: 1e+00
	// relative error through 100 steps: 5e-05
}

func ExampleStabilityParams() {
	p := experiment.DefaultStability()
	p.DataSets, p.RidgeLambda2, p.ElasticNetLambda1, p.LogisticC, p.PathSteps = 200, []float64{.1}, nil, nil, []int{1}
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	s := r.Learners[0].Parts[0]
	fmt.Printf("E[R − R_emp] = %.2f ± %.2f, Δ = %.2f ± %.2f: %v\n", s.Gap.Mean, s.Gap.Margin, s.Delta.Mean, s.Delta.Margin, s.Holds())
	// Output: E[R − R_emp] = 0.73 ± 0.05, Δ = 0.68 ± 0.03: true
}
