package tune_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// TuneTable chooses both penalties of an elastic net for a table of house prices, and estimates the
// risk of the model.
func ExampleTuner_TuneTable() {
	houses, err := table.CSV{Target: "price", Missing: table.MissingIsMean}.ReadFile("testdata/houses.csv")
	if err != nil {
		panic(err)
	}
	tuned, err := tune.Tuner{}.TuneTable(context.Background(), houses)
	if err != nil {
		panic(err)
	}
	fmt.Println(tuned.Verdict())
	fmt.Println(tuned.Risk.Comparisons[0])
	fmt.Printf("%s, CV loss %.0f, R² %.2f\n", tuned.Names, tuned.Loss, tuned.Risk.Regression.R2)
	price, err := tuned.Pipeline.PredictRecord(map[string]string{"area": "120", "rooms": "4", "age": "12", "distance": "3.5", "garden": "", "heating": "wood", "floor": "1"})
	fmt.Printf("%.0f %v\n", price, err)
	// Output:
	// Use the tuned model: it is better than a constant prediction; against the default hyperparameters nothing is decided.
	// better than a constant prediction: gain 96 % [95, 98] of a constant's risk
	// [λ1 λ2], CV loss 350, R² 0.96
	// 297 <nil>
}

// A tuned pipeline predicts an interval for the price of a house, also after conversion to JSON.
func ExampleTuner_intervals() {
	houses, err := table.CSV{Target: "price", Missing: table.MissingIsMean}.ReadFile("testdata/houses.csv")
	if err != nil {
		panic(err)
	}
	tuned, err := tune.Tuner{Intervals: true}.TuneTable(context.Background(), houses)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(tuned.Pipeline)
	if err != nil {
		panic(err)
	}
	var pipeline table.Pipeline // of a program that reads the text
	if err := json.Unmarshal(text, &pipeline); err != nil {
		panic(err)
	}
	house := map[string]string{"area": "120", "rooms": "4", "age": "12", "distance": "3.5", "garden": "", "heating": "wood", "floor": "1"}
	price, err := pipeline.PredictRecord(house)
	if err != nil {
		panic(err)
	}
	low, high, err := pipeline.IntervalRecord(house, .9)
	fmt.Printf("%.0f, of ten such houses nine cost %.0f to %.0f, %v\n", price, low, high, err)
	_, _, err = pipeline.IntervalRecord(house, .99)
	fmt.Println(err)
	// Output:
	// 297, of ten such houses nine cost 265 to 328, <nil>
	// cvgm: level is 0.99, above 0.988, the highest level of intervals from 80 independent rows or groups (outside its domain): use a lower level, or more rows or groups
}

// Importance sorts the columns by the increase of the loss after a permutation of their values.
func ExampleTuned_Importance() {
	houses, err := table.CSV{Target: "price", Missing: table.MissingIsMean}.ReadFile("testdata/houses.csv")
	if err != nil {
		panic(err)
	}
	tuned, err := tune.Tuner{OuterFolds: -1}.TuneTable(context.Background(), houses)
	if err != nil {
		panic(err)
	}
	columns, err := tuned.Importance(context.Background(), 0, 1)
	if err != nil {
		panic(err)
	}
	for _, c := range columns[:3] {
		fmt.Printf("%s %.0f %%\n", c.Column, c.Increase.Mean)
	}
	// Output:
	// area 219 %
	// age 7 %
	// distance 6 %
}

// Importance permutes the columns of a group together, here the columns for the size of a house.
func ExampleTuned_Importance_groups() {
	houses, err := table.CSV{Target: "price", Missing: table.MissingIsMean}.ReadFile("testdata/houses.csv")
	if err != nil {
		panic(err)
	}
	tuned, err := tune.Tuner{OuterFolds: -1}.TuneTable(context.Background(), houses)
	if err != nil {
		panic(err)
	}
	size := tune.ColumnGroup{Name: "size", Columns: []string{"area", "rooms"}}
	rest := tune.ColumnGroup{Columns: []string{"age", "distance", "heating"}}
	groups, err := tuned.Importance(context.Background(), 0, 1, size, rest)
	if err != nil {
		panic(err)
	}
	for _, g := range groups {
		fmt.Printf("%s %.0f %%\n", g.Column, g.Increase.Mean)
	}
	// Output:
	// size 177 %
	// age, distance, heating 16 %
}

// Kernel ridge regression with a width for each feature leaves out features without effect.
func ExampleTuned_Widths() {
	text := "catch,depth,swell,moon,depart\n"
	source := synth.NewStream(1, "catch")
	for range 60 {
		depth, swell, moon, depart := 40*source.Float64(), 3*source.Float64(), source.Float64(), 24*source.Float64()
		catch := 20*math.Sin(depth/5) - 5*swell + source.NormFloat64()
		text += fmt.Sprintf("%.1f,%.1f,%.1f,%.2f,%.1f\n", catch, depth, swell, moon, depart)
	}
	trips, err := table.ReadCSV(strings.NewReader(text), "catch")
	if err != nil {
		panic(err)
	}
	learner := &kernel.Ridge{Kernel: kernel.ARD{Shape: kernel.Matern52}, Intercept: true}
	tuned, err := tune.Tuner{Learner: learner, OuterFolds: -1, KeepWinner: true}.TuneTable(context.Background(), trips)
	if err != nil {
		panic(err)
	}
	for _, w := range tuned.Widths() {
		fmt.Println(w.Features, "in the model:", !math.IsInf(w.Length, 1))
	}
	// Output:
	// [depth] in the model: true
	// [swell] in the model: true
	// [moon] in the model: false
	// [depart] in the model: false
}

// A ridge regression, with calls of a function after each evaluation.
func ExampleTuner() {
	d, _, err := synth.MakeRegression(synth.NewStream(1, "example data"), synth.Regression{Samples: 30, Features: 5, Informative: 1, Noise: 10})
	if err != nil {
		panic(err)
	}
	evaluations := 0
	tuned, err := tune.Tuner{
		Learner:    &linear.ElasticNet{},
		Fixed:      map[string]float64{"λ1": 0},
		OuterFolds: -1,
		Progress:   func(p tune.Progress) { evaluations = p.Evaluations },
	}.Tune(context.Background(), learn.Data{X: d.X, Y: d.Y})
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(tuned.Model)
	fmt.Println(tuned.Names, tuned.Hyper[0], tuned.Loss < tuned.ConstantLoss, evaluations == tuned.Evaluations, len(text) > 0, err)
	// Output: [λ1 λ2] 0 true true true <nil>
}

// The pipeline of TuneClasses predicts one of three classes for a record.
func ExampleTuner_TuneClasses() {
	text := "petal,sepal,kind\n"
	for i := range 45 {
		text += fmt.Sprintf("%d,%d,%s\n", i%3*6+i%11, i%5+i%3, []string{"iris", "rose", "lily"}[i%3])
	}
	flowers, err := table.ReadCSV(strings.NewReader(text), "kind")
	if err != nil {
		panic(err)
	}
	var tuned *tune.TunedClasses
	tuned, err = tune.Tuner{OuterFolds: 3, Repeats: 1}.TuneClasses(context.Background(), flowers)
	if err != nil {
		panic(err)
	}
	m := tuned.Metrics
	fmt.Printf("accuracy above %.2f: %v; log loss below ln 3: %v\n", m.Majority, m.Accuracy > m.Majority, m.Probabilities.LogLoss < math.Log(3))
	pipeline, err := tuned.Pipeline()
	if err != nil {
		panic(err)
	}
	class, err := pipeline.PredictRecord(map[string]string{"petal": "14", "sepal": "5"})
	fmt.Println(pipeline.Classes(), class, err)
	// Output:
	// accuracy above 0.33: true; log loss below ln 3: true
	// [iris lily rose] lily <nil>
}
