package differentiability_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/differentiability"
)

func ExampleUnrolledParams() {
	p := differentiability.DefaultUnrolled()
	p.Conditions = nil // do not measure rounding
	r, err := p.Run(context.Background(), experiment.Hooks{})
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

func ExampleErrataParams() {
	r, err := differentiability.DefaultErrata().Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("slopes at the kink that the range condition allows: %g and %g\n", r.Range.Left, r.Range.Right)
	fmt.Printf("accuracy of the best rule for XOR: %.4f, not %s\n", r.Bayes.XOR, claims.Printed.XOR.Bayes.Paper)
	// Output:
	// slopes at the kink that the range condition allows: 1 and 0
	// accuracy of the best rule for XOR: 0.7222, not .851
}
