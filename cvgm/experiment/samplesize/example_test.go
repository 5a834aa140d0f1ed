package samplesize_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/samplesize"
)

// The example has two sizes and three seeds.
func ExampleSampleSizeParams() {
	p := samplesize.DefaultSampleSize()
	p.MinSize, p.MaxSize, p.SizeStep, p.Seeds, p.K, p.Steps = 20, 60, 40, 3, 32, 30
	p.DecaySteps, p.LongSteps = 30, 100 // for networks that the example does not print
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	for _, k := range []int{samplesize.SizeBayes, samplesize.SizeCVGMFull, samplesize.SizeLogistic} {
		m := r.Methods[k]
		fmt.Printf("%-20s N = %d: %.2f, N = %d: %.2f\n", m.Name, r.Sizes[0], m.Mean[0].Mean, r.Sizes[1], m.Mean[1].Mean)
	}
	// Output:
	// Bayes rule           N = 20: 0.90, N = 60: 0.90
	// CVGM, full gradient  N = 20: 0.79, N = 60: 0.89
	// logistic regression  N = 20: 0.53, N = 60: 0.53
}
