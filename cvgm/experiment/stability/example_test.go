package stability_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/stability"
)

func ExampleStabilityParams() {
	p := stability.DefaultStability()
	p.DataSets, p.RidgeLambda2, p.ElasticNetLambda1, p.LogisticC, p.PathSteps = 200, []float64{.1}, nil, nil, []int{1}
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	s := r.Learners[0].Parts[0]
	fmt.Printf("E[R − R_emp] = %.2f ± %.2f, Δ = %.2f ± %.2f: %v\n", s.Gap.Mean, s.Gap.Margin, s.Delta.Mean, s.Delta.Margin, s.Holds())
	// Output: E[R − R_emp] = 0.73 ± 0.05, Δ = 0.68 ± 0.03: true
}
