package synth_test

import (
	"fmt"

	"cvgm/synth"
)

// The example draws twenty examples of a regression, which are the same on every machine.
func Example() {
	src := synth.NewStream(1, "example")
	d, coef, err := synth.MakeRegression(src, synth.Regression{Samples: 20, Features: 3, Informative: 2, Noise: 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.2f\n%.2f\n", coef, d.Y[:3])
	// Output:
	// [5.58 99.85 0.00]
	// [-21.86 99.33 -146.32]
}
