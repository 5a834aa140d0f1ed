package tune_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/tune"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

// The example tunes an elastic net for data in which only one of five features has an effect.
func Example() {
	random := synth.NewStream(1, "example data")
	d := learn.Data{X: mat.NewDense(30, 5, nil), Y: make([]float64, 30)}
	for i := range d.Y {
		for j := range 5 {
			d.Dense().Set(i, j, random.NormFloat64())
		}
		d.Y[i] = 3*d.X.At(i, 0) - 2 + random.NormFloat64()
	}
	tuned, err := tune.Tuner{OuterFolds: 5}.Tune(context.Background(), d)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s: CV loss %.2f, default %.2f\nrisk %v\n", tuned.Names, tuned.Loss, tuned.DefaultLoss, tuned.Risk.Tuned)
	// Output:
	// [λ1 λ2]: CV loss 1.26, default 1.33
	// risk 1.453 [0.7456, 2.394]
}
