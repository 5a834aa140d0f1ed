package searches_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/searches"
)

func ExampleSearchesParams() {
	p := searches.DefaultSearches()
	p.DataSets, p.Budget, p.Starts, p.SurfaceDataSet, p.SurfacePoints = 1, 30, 2, 0, 2
	r, err := p.Run(context.Background(), experiment.Hooks{})
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
	p := searches.DefaultSearchDimensions()
	p.Groups, p.DataSets, p.Budget, p.LongBudget, p.K, p.Rings.Hidden, p.Rings.K = []int{20}, 1, 40, 60, 16, []int{4}, 4
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	// If a search has not converged, the digits of its result differ between processors.
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
