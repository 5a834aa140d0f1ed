package kernels_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
)

// This is the published run of the paper's second experiment with fewer splits and steps.
func ExampleRingsParams() {
	p := kernels.DefaultRings()
	p.K, p.Steps, p.ManifoldSteps = 32, 30, []int{30}
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	for _, v := range []kernels.Variant{kernels.Published, kernels.Detached, kernels.Full} {
		run := r.Run(v)
		fmt.Printf("%-9v CV loss %.3f → %.3f, test accuracy %.2f\n", v, run.CVLoss[0], run.LastLoss(), run.FinalAccuracy())
	}
	// Output:
	// published CV loss 0.742 → 0.374, test accuracy 0.89
	// detached  CV loss 0.743 → 0.716, test accuracy 0.66
	// full      CV loss 0.743 → 0.319, test accuracy 0.88
}

// The squares have another overlap than in the paper.
func ExampleXORParams() {
	p := kernels.DefaultXOR()
	p.Overlap, p.K, p.Steps, p.ManifoldSteps = .1, 32, 10, nil
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("Bayes rule: %.3f over the population, %.3f on the test set\n", r.Bayes.Population, r.Bayes.Test)
	fmt.Printf("CVGM:       %.2f\n", r.Run(kernels.Full).FinalAccuracy())
	// Output:
	// Bayes rule: 0.835 over the population, 0.828 on the test set
	// CVGM:       0.80
}
