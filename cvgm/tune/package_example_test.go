package tune_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/tune"
)

// One call tunes an elastic net on thirty examples of five features.
func Example() {
	tuned, err := tune.Tuner{OuterFolds: 5}.Tune(context.Background(), noisyLine())
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: CV loss %.2f, default %.2f\nrisk %v\n", tuned.Names, tuned.Loss, tuned.DefaultLoss, tuned.Risk.Tuned)
	// Output:
	// [λ1 λ2]: CV loss 1.26, default 1.33
	// risk 1.453 [0.7286, 2.425]
}
