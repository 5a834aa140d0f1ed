package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/sample"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/linear/margin"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// pipelineOf returns the pipeline of a table with a learner.
func pipelineOf(t testing.TB, table *Table, learner func() learn.Learner, loss cvgm.Loss, centring cvgm.Centring, alpha []float64) *Pipeline {
	t.Helper()
	d, encoder, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	splits := casetest.Must(cvgm.KFold(synth.NewStream(3, "pipeline splits"), len(d.Y), 3))(t)
	cv := casetest.Must(cvgm.New(cvgm.Config{Data: d, Prepare: encoder, Splits: splits, Loss: loss, Standardise: true, Centring: centring, Learner: learner}))(t)
	m := casetest.Must(cv.Final(alpha))(t)
	p := casetest.Must(NewPipeline(m))(t)
	return p
}

const fruit = "weight,colour,spots,kind\n" +
	"100,red,1,apple\n,green,2,apple\n120,yellow,?,pear\n130,green,4,pear\n95,red,1,apple\n140,yellow,5,pear\n101,green,0,apple\n" +
	"9,red,1,cherry\n11,red,0,cherry\n"

// fruits is CSV for the texts above.
var fruits = CSV{Target: "kind", Missing: MissingIsMean, Unknown: UnknownIsZero}

func readFruit(t testing.TB, text string) *Table {
	t.Helper()
	table := casetest.Must(fruits.Read(strings.NewReader(text)))(t)
	return table
}

func pearTable(t testing.TB) *Table {
	t.Helper()
	table := casetest.Must(readFruit(t, fruit).Binary("pear"))(t)
	return table
}

func pears(t testing.TB) *Pipeline {
	t.Helper()
	return pipelineOf(t, pearTable(t), func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1})
}

// The predictions of a pipeline equal its model's predictions from features computed by hand.
func TestPipelinePredictsFromTexts(t *testing.T) {
	p := pears(t)
	if diff := cmp.Diff([]string{"not pear", "pear"}, p.Classes); diff != "" || !p.Model.LogOdds {
		t.Error(diff)
	}
	// The mean weight is 88.25, and the mean number of spots is 1.75.
	x := mat.NewDense(4, 4, []float64{
		100, 0, 0, 1, // red is the baseline
		88.25, 1, 0, 1.75,
		120, 0, 1, 3,
		120, 0, 0, 3, // blue is an unknown level
	})
	hand := *p.Model
	hand.Prepared = nil
	want := make([]float64, 4)
	casetest.OK(t, hand.Predict(want, x))
	table := casetest.Must(p.Read(strings.NewReader("comment,spots, colour,weight\nx,1,red, 100\nx,na,green,\nx,3,yellow,1.2e2\nx,3,blue,120\n")))(t)
	decisions := casetest.Must(p.Decision(table))(t)
	if diff := cmp.Diff(want, decisions); diff != "" || table.Y != nil {
		t.Errorf("decisions, by hand against the pipeline's:\n%s", diff)
	}
	y, err1 := p.Predict(table)
	classes, err2 := p.Class(table)
	probabilities, err3 := p.Probability(table)
	casetest.OK(t, err1, err2, err3)
	for i, d := range decisions {
		if (y[i] > 0) != (d > 0) || math.Abs(y[i]) != 1 || classes[i] != map[bool]string{true: "pear", false: "not pear"}[d > 0] ||
			!casetest.Near(probabilities[i], math.Exp(d)/(1+math.Exp(d)), 1e-15) {
			t.Errorf("row %d: decision %v, label %v, class %q, probability %v", i, d, y[i], classes[i], probabilities[i])
		}
	}
	if y[2] < 0 || y[0] > 0 {
		t.Errorf("labels %v", y)
	}
	got, err := p.PredictRecord(map[string]string{"weight": "1.2e2 ", "colour": "yellow", "spots": "3", "more": ""})
	if err != nil || got != y[2] {
		t.Errorf("record: %v, %v", got, err)
	}
}

// A pipeline reads the target of a file, if present, with the classes of its model.
func TestPipelineReadsATargetThatIsThere(t *testing.T) {
	p := pears(t)
	table, err := p.Read(strings.NewReader("weight,colour,spots,kind\n1,red,1,pear\n1,red,1,plum\n1,red,1,apple\n"))
	if err != nil || !slices.Equal(table.Y, []float64{1, -1, -1}) {
		t.Fatalf("%v, %v", table, err)
	}
	if _, err := p.Read(strings.NewReader("weight,colour,spots,kind\n1,red,1,pear\n1,red,1,\n")); err == nil || !strings.Contains(err.Error(), `"" in line 3, column "kind"`) {
		t.Errorf("a missing target: %v", err)
	}
	two := casetest.Must(fruits.Read(strings.NewReader(strings.ReplaceAll(fruit, "cherry", "apple"))))(t)
	q := pipelineOf(t, two, func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1})
	if _, err := q.Read(strings.NewReader("weight,colour,spots,kind\n1,red,1,plum\n")); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), `"plum" in line 2`) {
		t.Errorf("an unknown class: %v", err)
	}
}

func TestPipelineNamesWhatIsWrong(t *testing.T) {
	p := pears(t)
	strict := fruits
	strict.Unknown, strict.Missing = UnknownIsError, MissingDropsRow
	table := casetest.Must(strict.Read(strings.NewReader(fruit)))(t)
	if len(table.Y) != 7 || table.Lines[1] != 5 {
		t.Errorf("%d rows of lines %v", len(table.Y), table.Lines)
	}
	table = casetest.Must(table.Binary("pear"))(t)
	logistic := func() learn.Learner { return new(linear.Logistic) }
	q := pipelineOf(t, table, logistic, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.1})
	guess := pears(t)
	guess.Model.Prepared.(*Encoder).reader.unknown = UnknownIsError
	const header = "weight,colour,spots\n"
	for name, c := range map[string]struct {
		p    *Pipeline
		text string
		want string
	}{
		"no column":                     {p, "weight,spots\n1,1\n", `lacks column "colour"`},
		"text":                          {p, header + "1,red,1\nheavy,red,1\n", `CSV line 3: column "weight" holds "heavy"`},
		"infinite":                      {p, header + "inf,red,1\n", `"weight" holds "inf"`},
		"unknown level":                 {q, header + "1,red,1\n1,blue,1\n", `CSV line 3: column "colour" holds "blue", which is none of the levels ["red" "green" "yellow"]`},
		"missing number":                {q, header + "1,red,\n", `CSV line 2: column "spots" lacks a value`},
		"missing level":                 {q, header + "1,null,1\n", `column "colour" lacks a value`},
		"level not missing in training": {guess, header + "1,,1\n", `column "colour" lacks a value, but every row that the model was trained on has one`},
		"no rows":                       {p, header, "no examples"},
		"nothing":                       {p, "", "no header line"},
		"another comma":                 {p, "weight;colour;spots\n1;red;1\n", `lacks column "weight"`},
		"number of cells":               {p, header + "1,red\n", "line 2"},
	} {
		_, err := c.p.Read(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v lacks %q", name, err, c.want)
		}
	}
	if got, err := q.PredictRecord(map[string]string{"weight": "1", "colour": "red"}); !errors.Is(err, qpdiff.ErrShape) || !math.IsNaN(got) {
		t.Errorf("a record without spots: %v, %v", got, err)
	}
	if got, err := q.PredictRecord(map[string]string{"weight": "1", "colour": "red", "spots": ""}); !errors.Is(err, qpdiff.ErrNotFinite) || !math.IsNaN(got) {
		t.Errorf("a record without a value: %v, %v", got, err)
	}
	other := casetest.Must(ReadCSV(strings.NewReader("weight,colour,spots,kind\n1,red,1,1\n2,blue,1,2\n3,red,2,3\n"), "kind"))(t)
	if _, err := p.Decision(other); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("a table of other levels: %v", err)
	}
	svm := pipelineOf(t, table, func() learn.Learner { return new(margin.SVM) }, cvgm.SquaredHinge{}, cvgm.NoCentring, []float64{.01, .1})
	if _, err := svm.Probability(table); !errors.Is(err, qpdiff.ErrDomain) || svm.Model.LogOdds {
		t.Errorf("the probabilities of an SVM: %v", err)
	}
	number := pipelineOf(t, patientTable(t), func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	if _, err := number.Class(patientTable(t)); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("the class of a number: %v", err)
	}
	for name, broken := range map[string]*Pipeline{
		"zero": {}, "no encoder": {Model: new(cvgm.Model)}, "three classes": {Model: p.Model, Classes: []string{"a", "b", "c"}}, "equal classes": {Model: p.Model, Classes: []string{"a", "a"}},
	} {
		if _, err := broken.Record(nil); !errors.Is(err, qpdiff.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := json.Marshal(broken); err == nil {
			t.Errorf("%s is written as %s", name, text)
		}
	}
	cv := casetest.Must(cvgm.New(cvgm.Config{Data: casetest.Regression(1, 30, 2), Splits: []cvgm.Split{{Train: []int{0, 1, 2}, Val: []int{3}}}, Loss: cvgm.SquaredError{}, Learner: func() learn.Learner { return new(linear.ElasticNet) }}))(t)
	m := casetest.Must(cv.Final([]float64{.1, .1}))(t)
	if _, err := NewPipeline(m); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("a model without a table: %v", err)
	}
}

// If the levels of a column need too much memory, the error names the column.
func TestTableOfTooManyLevels(t *testing.T) {
	serial.Test(t)
	var text strings.Builder
	text.WriteString("code,x,y\n")
	for i := range 50_000 {
		fmt.Fprintf(&text, "c%d,%d,%d\n", i/2, i%7, i%5)
	}
	table := readTable(t, CSV{MaxBytes: 1 << 30, Categorical: []string{"code"}}, text.String())
	d, encoder, err := table.Data()
	casetest.OK(t, err)
	c := cvgm.Config{Data: d, Prepare: encoder, Splits: casetest.Must(cvgm.KFold(synth.NewStream(1, "levels"), len(d.Y), 2))(t), Loss: cvgm.SquaredError{}, MaxBytes: 1 << 30}
	c.Learner = func() learn.Learner { return new(linear.Huber) }
	if _, err := cvgm.New(c); !errors.Is(err, qpdiff.ErrTooLarge) || !strings.Contains(err.Error(), `24999 of them of column "code"`) {
		t.Error(err)
	}
	c.Learner = func() learn.Learner { return new(linear.ElasticNet) }
	if _, err := cvgm.New(c); err != nil {
		t.Errorf("stored features: %v", err)
	}
	defer sample.SetDenseFeatures(sample.SetDenseFeatures(25_000))
	if _, _, err := table.Data(); !errors.Is(err, qpdiff.ErrTooLarge) || !strings.Contains(err.Error(), `24999 of them of column "code"`) {
		t.Error(err)
	}
}

// A pipeline rejects a table that differs only in a level for missing values.
func TestPipelineRefusesATableWithAnotherLevelOfMissing(t *testing.T) {
	const text = "a,b,y\n1,u,1\n2,v,2\n3,u,4\n4,v,3\n"
	whole, lacking := readTable(t, CSV{Missing: MissingIsMean}, text), readTable(t, CSV{Missing: MissingIsMean}, text+"5,,2\n")
	for name, c := range map[string]struct{ own, other *Table }{"without it": {whole, lacking}, "with it": {lacking, whole}} {
		p := pipelineOf(t, c.own, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
		if _, err := p.Predict(c.other); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("a model %s: error %v for the other's table", name, err)
		}
		if _, err := p.Predict(c.own); err != nil {
			t.Errorf("a model %s: %v for its own table", name, err)
		}
	}
}
