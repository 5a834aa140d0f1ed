package experiment_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
)

func ExampleSearchesParams() {
	p := experiment.DefaultSearches()
	p.DataSets, p.Budget, p.Starts, p.Picture, p.SurfacePoints = 1, 30, 2, 0, 2
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Printf("lowest CV loss %.4f at %.4f\n", r.Minimum[0], r.At[0])
	for _, m := range r.Methods {
		if m.Within(p.Few, p.DataSets) == p.DataSets {
			fmt.Println("reached in", m.Reached, "evaluations by", m.Name)
		}
	}
	// Output:
	// lowest CV loss 2.1185 at [0.2214 0.0000]
	// reached in [13] evaluations by quasi-Newton
	// reached in [13] evaluations by quasi-Newton, multi-start
}

func ExampleSearchDimensionsParams() {
	p := experiment.DefaultSearchDimensions()
	p.Groups, p.DataSets, p.Rings.Hidden, p.Rings.K = []int{20}, 1, []int{4}, 16
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	for _, m := range r.Dimensions[0].Methods {
		if m.Evaluations > 0 {
			fmt.Printf("%s: CV loss %.3f, test loss %.3f\n", m.Name, m.CV[0], m.Test[0])
		} else {
			fmt.Printf("%s: %.0f evaluations needed\n", m.Name, m.GridNeeded)
		}
	}
	// Output:
	// adaptive gradient: CV loss 1.188, test loss 1.428
	// quasi-Newton: CV loss 1.061, test loss 1.376
	// CMA-ES: CV loss 1.178, test loss 1.448
	// Bayesian: CV loss 1.136, test loss 1.517
	// random: CV loss 1.447, test loss 1.448
	// exhaustive: 1048576 evaluations needed
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
	p.Groups, p.DataSets, p.Search.Rings.K = nil, 3, 64
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	g := r.Problems[0]
	fmt.Printf("%d hyperparameters: risk %.2f at the end, %.2f where the monitor stops\n", g.Hyperparameters, g.AtEnd.Mean, g.Stopped.Mean)
	// Output: 322 hyperparameters: risk 0.41 at the end, 0.38 where the monitor stops
}

func ExampleUnrolledParams() {
	r, err := experiment.DefaultUnrolled().Run(context.Background())
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
	p.Samples, p.Ridge, p.ElasticNet, p.Logistic, p.Steps = 200, []float64{.1}, nil, nil, []int{1}
	r, err := p.Run(context.Background())
	if err != nil {
		panic(err)
	}
	s := r.Learners[0].Parts[0]
	fmt.Printf("E[R − R_emp] = %.2f ± %.2f, Δ = %.2f ± %.2f: %v\n", s.Gap.Mean, s.Gap.Margin, s.Delta.Mean, s.Delta.Margin, s.Holds())
	// Output: E[R − R_emp] = 0.73 ± 0.05, Δ = 0.68 ± 0.03: true
}
