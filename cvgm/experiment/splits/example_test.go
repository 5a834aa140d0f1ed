package splits_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/splits"
)

func ExampleSplitsParams() {
	p := splits.DefaultSplits()
	p.Ks, p.Ps, p.DataSets, p.RingsDataSets, p.Rings.Steps, p.Rings.Hidden = []int{30}, nil, 5, 2, 2, []int{4}
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	s := r.ByK[0]
	fmt.Printf("K = %d: balanced splits scatter %.1f times less\n", s.K, s.Uniform.LossSD.Mean/s.Balanced.LossSD.Mean)
	// Output: K = 30: balanced splits scatter 5.1 times less
}

func ExampleGapParams() {
	p := splits.DefaultGap()
	p.Groups, p.DataSets, p.Budget, p.Rings.K = nil, 3, 100, 16
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	g := r.Problems[0]
	fmt.Printf("%d hyperparameters: the risk ends above the CV loss: %v\n", g.Hyperparameters, g.Gap.Mean > 0)
	// Output: 322 hyperparameters: the risk ends above the CV loss: true
}
