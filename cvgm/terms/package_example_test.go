package terms_test

import (
	"context"
	"fmt"
	"strings"

	"cvgm/cvgm/table"
	"cvgm/cvgm/terms"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/penalised"
)

// The tuner chooses a penalty for the smooth function of rain and a penalty for the effects of
// sites.
func Example() {
	t, err := table.ReadCSV(strings.NewReader(sites()), "yield")
	if err != nil {
		panic(err)
	}
	t, learner, err := terms.Additive(t, penalised.Squared, terms.Smooth("rain"), terms.Groups("site"))
	if err != nil {
		panic(err)
	}
	tuned, err := tune.Tuner{Learner: learner, OuterFolds: -1}.TuneTable(context.Background(), t)
	if err != nil {
		panic(err)
	}
	yield, err := tuned.Pipeline.PredictRecord(map[string]string{"rain": "700", "site": "site 3"})
	fmt.Printf("%s: CV loss %.1f, of a constant %.1f\n", tuned.Names, tuned.Loss, tuned.ConstantLoss)
	fmt.Printf("%.1f %v\n", yield, err)
	// Output:
	// [λ(rain) λ(site)]: CV loss 2.5, of a constant 10.2
	// 1.5 <nil>
}
