package terms_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"strings"

	"cvgm/cvgm/table"
	"cvgm/cvgm/terms"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"
)

// sites returns a CSV whose target, yield, depends on the rain, the soil and the site.
func sites() string {
	src := synth.NewStream(5, "sites")
	var b strings.Builder
	b.WriteString("rain,acid,clay,sand,noise,site,yield\n")
	for range 120 {
		rain, site := 400+600*src.Float64(), int(8*src.Float64())
		soil := [4]float64{src.NormFloat64(), src.NormFloat64(), src.NormFloat64(), src.NormFloat64()}
		yield := 4*math.Sin(rain/200) + soil[0] - soil[1] + float64(site%4) + .5*src.NormFloat64()
		fmt.Fprintf(&b, "%.0f,%.2f,%.2f,%.2f,%.2f,site %d,%.2f\n", rain, soil[0], soil[1], soil[2], soil[3], site, yield)
	}
	return b.String()
}

// Additive models the yield as a smooth function of rain plus a linear function of two columns.
func ExampleAdditive() {
	t, err := table.ReadCSV(strings.NewReader(sites()), "yield")
	if err != nil {
		log.Fatal(err)
	}
	t, learner, err := terms.Additive(t, penalised.Squared, terms.Smooth("rain"), terms.Linear("acid", "clay"))
	if err != nil {
		log.Fatal(err)
	}
	tuned, err := tune.Tuner{Learner: learner, OuterFolds: -1}.TuneTable(context.Background(), t)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tuned.Names, tuned.Loss < tuned.ConstantLoss/2)
	summaries, err := terms.Summarise(tuned.Pipeline)
	fmt.Printf("%.1f of %d degrees of freedom, %v\n", summaries[0].Freedom, summaries[0].Features, err)
	yield, err := tuned.Pipeline.PredictRecord(map[string]string{"rain": "700", "acid": ".5", "clay": "-1"})
	fmt.Printf("%.1f %v\n", yield, err)
	// Output:
	// [λ(rain)] true
	// 2.7 of 9 degrees of freedom, <nil>
	// 1.4 <nil>
}

// Banded ridge regression has a separate penalty for each group of columns.
func ExampleBand() {
	t, err := table.ReadCSV(strings.NewReader(sites()), "yield")
	if err != nil {
		log.Fatal(err)
	}
	t, learner, err := terms.Additive(t, penalised.Squared, terms.Band("soil", "acid", "clay"), terms.Band("rest", "sand", "noise"))
	if err != nil {
		log.Fatal(err)
	}
	tuned, err := tune.Tuner{Learner: learner, OuterFolds: -1}.TuneTable(context.Background(), t)
	if err != nil {
		log.Fatal(err)
	}
	summaries, err := terms.Summarise(tuned.Pipeline)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range summaries {
		fmt.Printf("%s: %.1f of %d degrees of freedom\n", s.Term, s.Freedom, s.Features)
	}
	// Output:
	// soil: 1.9 of 2 degrees of freedom
	// rest: 0.0 of 2 degrees of freedom
}

// Multiple kernel ridge regression adds a function of acid and clay and a function of rain. Each
// function has its own penalty.
func ExampleKernel() {
	src := synth.NewStream(8, "fields")
	var b strings.Builder
	b.WriteString("rain,acid,clay,yield\n")
	for range 150 {
		rain, acid, clay := 400+600*src.Float64(), 4+4*src.Float64(), 40*src.Float64()
		yield := 2*math.Sin(rain/150) + 3*math.Sin((acid-6)*(clay-20)/10) + .3*src.NormFloat64()
		fmt.Fprintf(&b, "%.0f,%.2f,%.1f,%.2f\n", rain, acid, clay, yield)
	}
	t, err := table.ReadCSV(strings.NewReader(b.String()), "yield")
	if err != nil {
		log.Fatal(err)
	}
	t, learner, err := terms.Additive(t, penalised.Squared, terms.Kernel("soil", "acid", "clay"), terms.Kernel("rain", "rain"))
	if err != nil {
		log.Fatal(err)
	}
	tuned, err := tune.Tuner{Learner: learner, OuterFolds: -1}.TuneTable(context.Background(), t)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: CV loss %.2f, of a constant %.1f\n", tuned.Names, tuned.Loss, tuned.ConstantLoss)
	for _, acid := range []string{"5", "7"} {
		yield, err := tuned.Pipeline.PredictRecord(map[string]string{"rain": "700", "acid": acid, "clay": "35"})
		fmt.Printf("acid %s: %.1f %v\n", acid, yield, err)
	}
	// Output:
	// [λ(soil) λ(rain)]: CV loss 0.13, of a constant 4.5
	// acid 5: -5.0 <nil>
	// acid 7: 1.0 <nil>
}

// Random effects of sites, beside a smooth function.
func ExampleGroups() {
	t, err := table.CSV{Target: "yield", Unknown: table.UnknownIsZero}.Read(strings.NewReader(sites()))
	if err != nil {
		log.Fatal(err)
	}
	t, learner, err := terms.Additive(t, penalised.Squared, terms.Smooth("rain"), terms.Groups("site"))
	if err != nil {
		log.Fatal(err)
	}
	tuned, err := tune.Tuner{Learner: learner, OuterFolds: -1}.TuneTable(context.Background(), t)
	if err != nil {
		log.Fatal(err)
	}
	for _, site := range []string{"site 0", "site 3", "a new one"} {
		yield, err := tuned.Pipeline.PredictRecord(map[string]string{"rain": "700", "site": site})
		fmt.Printf("%s: %.1f %v\n", site, yield, err)
	}
	// Output:
	// site 0: -0.2 <nil>
	// site 3: 1.5 <nil>
	// a new one: 0.5 <nil>
}

// The settings of a term raise the number of splines and fix their range, which an outlier would
// otherwise widen.
func ExampleTerm() {
	rain := terms.Smooth("rain")
	rain.Bases, rain.Low, rain.High = 20, 400, 1000
	t, err := table.ReadCSV(strings.NewReader(sites()), "yield")
	if err != nil {
		log.Fatal(err)
	}
	_, learner, err := terms.Additive(t, penalised.Squared, rain)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(learner.Penalties[0].Name, learner.Penalties[0].S.SymmetricDim(), "features")
	// Output: rain 19 features
}

// The terms of a model with their penalties.
func ExampleSummaries() {
	all := terms.Summaries{
		{Term: "rain", Kind: table.SmoothEffect, Lambda: 12, Features: 9, Freedom: 4.2},
		{Term: "acid", Kind: table.PlainEffect, Features: 1, Freedom: 1},
	}
	fmt.Print(all)
	// Output:
	// rain (smooth): λ = 12, 4.20 of 9 degrees of freedom
	// acid (plain): 1.00 of 1 degrees of freedom
}
