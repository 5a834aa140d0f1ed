package manyhyper_test

import (
	"context"
	"fmt"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/manyhyper"
)

// Many hyperparameters are compared with a single one, for penalties and for a kernel, on data sets
// of 30 rows.
func ExampleGradientMapParams() {
	p := manyhyper.DefaultGradientMap()
	p.DataSets, p.RingsDataSets, p.Evaluations = 4, 2, 30
	p.Penalties.Sizes, p.Penalties.Groups, p.Penalties.Noises = []int{30}, []int{4}, []float64{.3}
	p.Widths.Sizes, p.Widths.Groups, p.Widths.Noises = []int{30}, []int{4}, []float64{1}
	p.Weights.Sizes, p.Weights.Hidden, p.Weights.Noises, p.Weights.Steps = []int{8}, []int{8}, []float64{.2}, 20
	p.Shares = []float64{.9}
	r, err := p.Run(context.Background(), experiment.Hooks{})
	if err != nil {
		panic(err)
	}
	for _, c := range r.Cells[:2] {
		fmt.Printf("%s: CV loss %.2f, test loss %.2f; with one hyperparameter %.2f, %.2f\n", c.Problem, c.ManyCV.Mean, c.Many.Mean, c.OneCV.Mean, c.One.Mean)
	}
	// Output:
	// penalties: CV loss 0.12, test loss 0.23; with one hyperparameter 0.19, 0.35
	// widths of a kernel: CV loss 0.21, test loss 0.31; with one hyperparameter 0.48, 0.52
}
