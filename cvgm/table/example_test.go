package table_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm"
	"cvgm/cvgm/table"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
	"cvgm/synth"

	"gonum.org/v1/gonum/mat"
)

const flats = `id,rooms,heating,district,price
1,3,gas,A,210
2,5,wood,B,480
3,4,gas,B,330
4,,oil,A,190
5,2,gas,C,150
6,4,wood,C,390
7,3,oil,A,200
8,6,gas,B,520
`

func readFlats() *table.Table {
	tbl, err := table.CSV{
		Target:    "price",
		Ignore:    []string{"id"},
		Group:     "district",
		MissingIn: map[string]table.MissingRule{"rooms": table.MissingIsMean},
		Unknown:   table.UnknownIsZero,
	}.Read(strings.NewReader(flats))
	if err != nil {
		panic(err)
	}
	return tbl
}

func ExampleCSV() {
	tbl := readFlats()
	for _, c := range tbl.Columns {
		fmt.Println(c.Name, c.Kind, c.Levels)
	}
	fmt.Println(tbl.Y, tbl.Groups)
	_, err := table.ReadCSV(strings.NewReader(flats), "price")
	fmt.Println(err)
	// Output:
	// rooms numeric []
	// heating categorical [gas oil wood]
	// [210 480 330 190 150 390 200 520] [0 1 1 0 2 2 0 1]
	// cvgm: CSV lacks a value: "" in line 5, column "rooms" (not finite): fill it in, remove the line, or set CSV.Missing
}

func ExampleColumn() {
	for _, c := range readFlats().Columns {
		switch c.Kind {
		case table.Numeric:
			fmt.Println(c.Name, "holds numbers; missing:", c.Missing)
		case table.Categorical:
			fmt.Println(c.Name, "is one of", c.Levels, "; missing:", c.Missing)
		}
	}
	// Output:
	// rooms holds numbers; missing: mean
	// heating is one of [gas oil wood] ; missing: error
}

// Read converts amounts of money and percentages to numbers. CSV.Numbers determines the decimal
// sign of an ambiguous number such as 1,234.
func ExampleNumber() {
	const text = "price,share,weight,y\n$9.50,12%,\"1,234\",1\n\"$1,200\",7.5%,\"2,500\",2\n"
	for _, numbers := range []map[string]table.Number{nil, {"weight": {Decimal: ',', Unit: "kg"}}} {
		tbl, err := table.CSV{Target: "y", Numbers: numbers}.Read(strings.NewReader(text))
		if err != nil {
			panic(err)
		}
		data, _, err := tbl.Data()
		if err != nil {
			panic(err)
		}
		for j, c := range tbl.Columns {
			fmt.Println(c.Name, c.Number.Unit, mat.Col(nil, j, data.X))
		}
		fmt.Println(len(tbl.Notes), "notes")
	}
	// Output:
	// price $ [9.5 1200]
	// share % [12 7.5]
	// weight  [1234 2500]
	// 1 notes
	// price $ [9.5 1200]
	// share % [12 7.5]
	// weight kg [1.234 2.5]
	// 0 notes
}

// Read replaces a column of dates by one column for each part in which the dates differ.
func ExampleDate() {
	tbl, err := table.ReadCSV(strings.NewReader("sold,price\n30/12/2024,7\n02/01/2025,9\n06/01/2025,8\n"), "price")
	if err != nil {
		panic(err)
	}
	data, _, err := tbl.Data()
	if err != nil {
		panic(err)
	}
	for j, c := range tbl.Columns {
		fmt.Println(c.Name, c.Date.Layout, c.Levels, mat.Col(nil, j, data.X))
	}
	// Output:
	// sold days 2/1/2006 [] [0 3 7]
	// sold year 2/1/2006 [] [2024 2025 2025]
	// sold month 2/1/2006 [01 12] [1 0 0]
	// sold weekday 2/1/2006 [Monday Thursday] [0 1 0]
}

// The dates have two columns: the days since the first date, and the month.
func ExampleDatePart() {
	tbl, err := table.ReadCSV(strings.NewReader("day,y\n1 Mar 2025,1\n5 Apr 2025,2\n"), "y")
	if err != nil {
		panic(err)
	}
	for _, c := range tbl.Columns {
		fmt.Println(c.Name, c.Date.Part == table.PartDays)
	}
	// Output:
	// day days true
	// day month false
}

// Describe describes a file before a model is fitted, even if values are missing.
func ExampleDescription() {
	const text = "id,sold,weight,town,price\nA-1,2025-03-04,1.2 kg,Bonn,$9.50\nA-2,2025-04-06,800 g,Ulm,$7\nA-3,2025-04-07,,Bonn,\"$1,200\"\nA-4,2025-03-08,2 kg,Ulm,\n"
	d, err := table.CSV{Target: "price"}.Describe(strings.NewReader(text))
	if err != nil {
		panic(err)
	}
	fmt.Print(d)
	// Output:
	// 3 rows, and 1 left out that lack a value
	// column  kind                     missing  values       use
	// sold    dates from 4 March 2025  0                     days: 1 feature, month: 1 feature, weekday: 2 features
	// weight  number in g              1        800 to 1200  an error, as values are missing: set CSV.Missing
	// town    2 levels                 0                     1 feature
	// id      text                     0                     left out
	// price   number in $              0        7 to 1200    target
	// Column "id" has 3 different texts in 3 rows and is left out as an identifier. CSV.Categorical overrules this choice.
	// Column "weight" holds the units g (1), kg (1): all become g. CSV.Numbers overrules this choice.
}

func ExampleDescribed() {
	tbl, err := table.CSV{Target: "y", Weights: "n", Group: "g"}.Read(strings.NewReader("x,g,n,y\n1,a,1,no\n2,b,3,yes\n4,a,2,no\n"))
	if err != nil {
		panic(err)
	}
	for _, c := range tbl.Describe().Columns {
		fmt.Println(c.Name, "|", c.Kind, "|", c.Use)
	}
	// Output:
	// x | number | 1 feature
	// y | 2 classes | target, one of ["no" "yes"]
	// n | number | weights of the rows
	// g | 2 groups | groups of rows that stay together
}

// Three pipelines, each for one class against the others, are joined into one.
func ExampleOneVsRest() {
	tbl, err := table.ReadCSV(strings.NewReader("weight,colour,kind\n100,red,apple\n120,green,pear\n9,red,cherry\n11,red,cherry\n110,green,pear\n90,red,apple\n"), "kind")
	if err != nil {
		panic(err)
	}
	var pipelines []*table.Pipeline
	for _, class := range tbl.Classes {
		binary, err := tbl.Binary(class)
		if err != nil {
			panic(err)
		}
		data, encoder, err := binary.Data()
		if err != nil {
			panic(err)
		}
		cv, err := cvgm.New(cvgm.Config{Data: data, Prepare: encoder, Splits: []cvgm.Split{{Train: []int{0, 1, 2}, Val: []int{3, 4, 5}}}, Loss: cvgm.LogisticLoss{},
			Standardise: true, Learner: func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }})
		if err != nil {
			panic(err)
		}
		model, err := cv.Final([]float64{10})
		if err != nil {
			panic(err)
		}
		pipeline, err := table.NewPipeline(model)
		if err != nil {
			panic(err)
		}
		pipelines = append(pipelines, pipeline)
	}
	fruits, err := table.NewOneVsRest(pipelines)
	if err != nil {
		panic(err)
	}
	accuracy, err := fruits.Accuracy(tbl)
	if err != nil {
		panic(err)
	}
	fresh, err := fruits.Record(map[string]string{"weight": "10", "colour": "red"})
	if err != nil {
		panic(err)
	}
	classes, err := fruits.Class(fresh)
	if err != nil {
		panic(err)
	}
	probabilities, err := fruits.Probability(fresh)
	fmt.Println(accuracy, classes, fruits.Classes(), err)
	fmt.Printf("%.2f\n", mat.Row(nil, 0, probabilities))
	// Output:
	// 1 [cherry] [apple cherry pear] <nil>
	// [0.08 0.91 0.01]
}

// One model, with one penalty, predicts three classes.
func ExampleNewJoint() {
	tbl, err := table.ReadCSV(strings.NewReader("weight,colour,kind\n100,red,apple\n120,green,pear\n9,red,cherry\n11,red,cherry\n110,green,pear\n90,red,apple\n"), "kind")
	if err != nil {
		panic(err)
	}
	data, encoder, err := tbl.ClassData()
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: data, Prepare: encoder, Splits: []cvgm.Split{{Train: []int{0, 1, 2}, Val: []int{3, 4, 5}}}, Loss: cvgm.LogisticLoss{},
		Standardise: true, Learner: func() learn.Learner { return &penalised.Multinomial{Classes: len(tbl.Classes), Intercept: true} }})
	if err != nil {
		panic(err)
	}
	models, err := cv.FinalClasses(context.Background(), []int{0, 1, 2, 3, 4, 5}, []float64{.1})
	if err != nil {
		panic(err)
	}
	fruits, err := table.NewJoint(models)
	if err != nil {
		panic(err)
	}
	fresh, err := fruits.Record(map[string]string{"weight": "10", "colour": "red"})
	if err != nil {
		panic(err)
	}
	probabilities, err := fruits.Probability(fresh)
	fmt.Println(fruits.Classes(), err)
	fmt.Printf("%.2f\n", mat.Row(nil, 0, probabilities))
	// Output:
	// [apple cherry pear] <nil>
	// [0.05 0.95 0.01]
}

func ExampleNote() {
	tbl, err := table.ReadCSV(strings.NewReader("weight,y\n1.2 kg,1\n800 g,2\n2 kg,3\n"), "y")
	if err != nil {
		panic(err)
	}
	for _, note := range tbl.Notes {
		fmt.Println(note)
	}
	// Output: Column "weight" holds the units g (1), kg (2): all become kg. CSV.Numbers overrules this choice.
}

func ExampleMissingRule() {
	const text = "a,y\n1,1\n?,2\n6,3\n"
	for _, rule := range []table.MissingRule{table.MissingIsError, table.MissingDropsRow, table.MissingIsMean} {
		tbl, err := table.CSV{Target: "y", Missing: rule}.Read(strings.NewReader(text))
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(rule, tbl.Y)
	}
	// Output:
	// cvgm: CSV lacks a value: "?" in line 3, column "a" (not finite): fill it in, remove the line, or set CSV.Missing
	// drop row [1 3]
	// mean [1 2 3]
}

// Binary turns the target of a table into one class against the others.
func ExampleTable() {
	tbl, err := table.ReadCSV(strings.NewReader("weight,kind\n100,apple\n120,pear\n9,cherry\n11,cherry\n"), "kind")
	if err != nil {
		panic(err)
	}
	pears, err := tbl.Rows([]int{1, 2, 3}).Binary("pear")
	if err != nil {
		panic(err)
	}
	fmt.Println(tbl.Classes, tbl.Y)
	fmt.Println(pears.Classes, pears.Y, pears.Lines)
	// Output:
	// [apple cherry pear] [0 2 1 1]
	// [not pear pear] [1 -1 -1] [3 4 5]
}

// The encoder replaces a missing number by the mean over the training rows.
func ExampleEncoder() {
	data, encoder, err := readFlats().Data()
	if err != nil {
		panic(err)
	}
	fitted, err := encoder.Fit(data.Dense().Slice(0, 4, 0, 2).(*mat.Dense), nil)
	if err != nil {
		panic(err)
	}
	features := make([]float64, len(encoder.Names()))
	if err := fitted.Apply(features, data.Dense().RawRowView(3)); err != nil {
		panic(err)
	}
	fmt.Println(encoder.Names(), features)
	// Output: [rooms heating=oil heating=wood] [4 1 0]
}

// A column of 1,000 levels has 999 features, of which a row stores at most one.
func Example_storedFeatures() {
	var text strings.Builder
	text.WriteString("size,street,price\n")
	for i := range 2000 {
		fmt.Fprintf(&text, "%d,street %03d,%d\n", 1+i%7, i%1000, 100+i%13)
	}
	tbl, err := table.CSV{Target: "price", Categorical: []string{"street"}}.Read(strings.NewReader(text.String()))
	if err != nil {
		panic(err)
	}
	data, encoder, err := tbl.Data()
	if err != nil {
		panic(err)
	}
	var stores cvgm.StoredPreparer = encoder
	_, features := stores.Dims()
	fmt.Println(features, "features, stored in a row at most", stores.MostStored())
	fitted, err := stores.Fit(data.Dense(), nil)
	if err != nil {
		panic(err)
	}
	err = fitted.(cvgm.StoredPrepared).ApplyStored(data.Dense().RawRowView(500), func(j int, v float64) {
		fmt.Println(encoder.Names()[j], v)
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// 1000 features, stored in a row at most 2
	// size 4
	// street=street 500 1
}

// A fitted pipeline predicts from records after conversion to JSON.
func ExamplePipeline() {
	tbl := readFlats()
	data, encoder, err := tbl.Data()
	if err != nil {
		panic(err)
	}
	splits, err := cvgm.GroupedKFold(synth.NewStream(1, "example flats"), tbl.Groups, 3) // the rows of a district stay together
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: data, Prepare: encoder, Splits: splits, Loss: cvgm.SquaredError{}, Standardise: true, Centring: cvgm.MeanCentring,
		Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	if err != nil {
		panic(err)
	}
	model, err := cv.Final([]float64{.01, .1})
	if err != nil {
		panic(err)
	}
	pipeline, err := table.NewPipeline(model)
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(pipeline)
	if err != nil {
		panic(err)
	}

	var read table.Pipeline // in another program
	if err := json.Unmarshal(text, &read); err != nil {
		panic(err)
	}
	price, err := read.PredictRecord(map[string]string{"rooms": "4", "heating": "wood"})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.0f\n", price)
	fresh, err := read.Read(strings.NewReader("heating,rooms\ngas,3\nsolar,?\n"))
	if err != nil {
		panic(err)
	}
	prices, err := read.Predict(fresh)
	fmt.Printf("%.0f %v\n", prices, err)
	// Output:
	// 389
	// [240 311] <nil>
}

// UnknownRule determines the prediction for a level that no training row has.
func ExampleUnknownRule() {
	for _, rule := range []table.UnknownRule{table.UnknownIsError, table.UnknownIsZero} {
		tbl, err := table.CSV{Target: "y", Unknown: rule}.Read(strings.NewReader("colour,y\nred,1\nblue,2\nred,1\n"))
		if err != nil {
			panic(err)
		}
		pipeline := fitTwo(tbl)
		y, err := pipeline.PredictRecord(map[string]string{"colour": "green"})
		fmt.Printf("%v: %.1f %v\n", rule, y, err)
	}
	// Output:
	// error: NaN cvgm: record: column "colour" holds "green", which is none of the levels ["red" "blue"] (outside its domain): correct it, or train with UnknownIsZero
	// zero: 1.0 <nil>
}

// fitTwo fits an almost unpenalised elastic net.
func fitTwo(tbl *table.Table) *table.Pipeline {
	data, encoder, err := tbl.Data()
	if err != nil {
		panic(err)
	}
	cv, err := cvgm.New(cvgm.Config{Data: data, Prepare: encoder, Splits: []cvgm.Split{{Train: []int{0, 1}, Val: []int{2}}}, Loss: cvgm.SquaredError{},
		Centring: cvgm.MeanCentring, Learner: func() learn.Learner { return new(linear.ElasticNet) }})
	if err != nil {
		panic(err)
	}
	m, err := cv.Final([]float64{0, 1e-9})
	if err != nil {
		panic(err)
	}
	p, err := table.NewPipeline(m)
	if err != nil {
		panic(err)
	}
	return p
}

// maxScaler divides a column by its largest absolute value in the training rows.
type maxScaler struct{ largest float64 }

func (maxScaler) Dims() (in, out int) { return 1, 1 }

func (maxScaler) Fit(train *mat.Dense, _ []float64) (cvgm.Prepared, error) {
	return maxScaler{mat.Norm(train, math.Inf(1))}, nil
}

func (s maxScaler) Apply(dst, row []float64) error {
	dst[0] = row[0] / s.largest
	return nil
}

// A user-defined preparer is fitted only to the training rows of each split.
func ExamplePreparer() {
	var prepare cvgm.Preparer = maxScaler{}
	cv, err := cvgm.New(cvgm.Config{
		Data:    learn.Data{X: mat.NewDense(3, 1, []float64{1, 2, 4}), Y: []float64{1, 2, 4}},
		Prepare: prepare,
		Splits:  []cvgm.Split{{Train: []int{0, 1}, Val: []int{2}}},
		Learner: func() learn.Learner { return new(linear.ElasticNet) },
		Loss:    cvgm.SquaredError{},
	})
	if err != nil {
		panic(err)
	}
	m, err := cv.Final([]float64{0, 1e-9})
	if err != nil {
		panic(err)
	}
	feature := make([]float64, 1)
	fmt.Println(m.Prepared.Apply(feature, []float64{6}), feature)
	// Output: <nil> [1.5]
}

func ExampleReadCSV() {
	tbl, err := table.ReadCSV(strings.NewReader("rooms,heating,price\n3,gas,210\n5,wood,480\n4,gas,330\n"), "price")
	if err != nil {
		panic(err)
	}
	_, encoder, err := tbl.Data()
	fmt.Println(encoder.Names(), tbl.Y, err)
	// Output: [rooms heating=wood] [210 480 330] <nil>
}
