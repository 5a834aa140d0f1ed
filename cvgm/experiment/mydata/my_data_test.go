package mydata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
	"unicode/utf8"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/cvgm/tune"
	"cvgm/cvgm/tune/assess"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"
)

// myFile writes a CSV, and returns small parameters for this file.
func myFile(t *testing.T, text string) MyDataParams {
	t.Helper()
	p := DefaultMyData()
	p.File = filepath.Join(t.TempDir(), "my data.csv")
	p.CurvePoints, p.SurfacePoints, p.OuterFolds = 9, 4, 0
	if err := os.WriteFile(p.File, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// plants returns a CSV of 60 rows with two numeric columns. Each class is a cluster near a corner
// of a square.
func plants(kinds int) string {
	src := synth.NewStream(4, "plants")
	text := "length,width,kind\n"
	for i := range 60 {
		k := i % kinds
		text += fmt.Sprintf("%.3f,%.3f,%s\n", float64(k%2)+.3*src.NormFloat64(), 1e3*(float64(k/2)+.3*src.NormFloat64()), []string{"aster", "iris", "rose"}[k])
	}
	return text
}

// rounding is a relative tolerance for sums in another order and for other warm starts.
const rounding = 1e-9

func TestMyDataHouses(t *testing.T) {
	r := runMyData(t, DefaultMyData())
	m := r.Models[0]
	if len(r.Models) != 1 || r.Rows != 80 || r.Dropped != 0 || r.Target != "price" || r.Learner != "elastic net" || r.Houses != Houses() || r.Confusion != nil || r.Boundary != nil {
		t.Errorf("%+v", r)
	}
	// Each column has the kind, the missing values and the range of the text.
	if c := r.Columns[2]; c.Name != "age" || c.Kind != "number" || c.Missing != 5 || c.Low < 0 || c.High > 90 {
		t.Errorf("%+v", c)
	}
	if c := r.Columns[7]; c.Name != "district" || c.Kind != "4 levels" || c.Use != "4 features" || c.Missing != 3 || !slices.Equal(c.Levels, []string{"harbour", "centre", "north", "south"}) {
		t.Errorf("%+v", c)
	}
	if !(m.Loss < m.DefaultLoss && m.DefaultLoss < m.ConstantLoss) || m.Risk == nil || !strings.HasPrefix(m.Verdict, "Use the tuned model") || m.LossName != "squared error" {
		t.Errorf("%+v", m)
	}
	for i, c := range m.Curves {
		lowest := slices.Min(c.Loss)
		if c.Hyper != m.Hyper[i].Name || len(c.At) < 41 || lowest < m.Loss-.01*m.StandardError || c.At[0] != m.Hyper[i].Lower || c.At[len(c.At)-1] != m.Hyper[i].Upper {
			t.Errorf("%s: lowest %v, tuned %v: %+v", c.Hyper, lowest, m.Loss, c)
		}
		if at, found := slices.BinarySearch(c.At, c.Tuned); found {
			casetest.Near(t, "the CV loss on the curve of "+c.Hyper, c.Loss[at], m.Loss, rounding*m.Loss)
		}
	}
	if len(m.Surface) != 15 || len(m.Surface[14]) != 15 || len(m.Features) != len(m.Coefficients) || m.Coefficients[slices.Index(m.Features, "area")] < 50 || m.Coefficients[slices.Index(m.Features, "distance")] > -10 {
		t.Errorf("%d rows of the surface; %q %v", len(m.Surface), m.Features, m.Coefficients)
	}
	screen := r.Screen()
	for _, want := range []string{"made-up houses: 80 rows, target price, elastic net\n", "Use the tuned model", "  better than a constant prediction: gain ", "outer folds: RMSE ", "R² 0.", "Hyperparameters: λ1 = ", "CV loss (squared error): tuned ", "Risk with 95 % interval: tuned ", "\n  area               +2.", "No warnings.",
		fmt.Sprintf("  compared with harbour (%d rows)\n", strings.Count(Houses(), "harbour"))} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in\n%s", want, screen)
		}
	}
	doubted := *r
	doubted.Models = slices.Clone(r.Models)
	doubted.Models[0].Doubts = []string{"it may be worse."}
	if screen := doubted.Screen(); !strings.Contains(strings.Join(strings.Fields(screen), " "), m.Verdict+" Warning: it may be worse. better than") {
		t.Errorf("the warning does not follow the verdict:\n%s", screen)
	}
	// The judged predictions come from the outer folds. Their errors are the metrics.
	if j := m.Judged; !j.Nested || j.Regression == nil || len(j.Predictions) != m.Risk.Repeats || len(j.Predictions[0]) != 80 {
		t.Errorf("%+v", j)
	}
	if len(m.FoldCoefficients) != 10 || len(m.FoldCoefficients[9]) != len(m.Coefficients) || len(m.PerUnit) != len(m.Coefficients) {
		t.Errorf("%d folds, %d coefficients, %d in units of the file", len(m.FoldCoefficients), len(m.Coefficients), len(m.PerUnit))
	}
	// The coefficients of the folds are near the coefficients of the model but not equal to them.
	at := slices.Index(m.Features, "area")
	for _, fold := range m.FoldCoefficients {
		if c := m.Coefficients[at]; math.Abs(fold[at]-c) > .2*c || fold[at] == c {
			t.Errorf("coefficients of area %v in a fold, %v of all", fold[at], c)
		}
	}
	// The path has the model's coefficients at the tuned value, in descending order, and 0 at the
	// upper bound.
	path := m.Path
	tuned := slices.Index(path.At, path.Tuned)
	if path.Hyper != "λ1" || tuned < 0 || len(path.At) != 42 || len(path.Features) != pathFeatures || m.Features[path.Features[0]] != "area" || path.Nonzero[40] != 1 || math.Abs(path.Coefficients[0][41]) > rounding*m.Coefficients[at] {
		t.Fatalf("%+v", path)
	}
	for k, j := range path.Features {
		if path.AtTuned[k] != m.Coefficients[j] {
			t.Errorf("%s: %v on the path, %v in the model", m.Features[j], path.AtTuned[k], m.Coefficients[j])
		}
		casetest.Near(t, "the coefficient on the path of "+m.Features[j], path.Coefficients[k][tuned], m.Coefficients[j], rounding*math.Abs(m.Coefficients[at]))
	}
	if n := nonzero(m.Coefficients); path.NonzeroTuned != n || path.Nonzero[tuned] != n {
		t.Errorf("%d and %d coefficients are not 0, in the model %d", path.NonzeroTuned, path.Nonzero[tuned], n)
	}
	// The learning curve ends at the CV loss with all training rows, and is higher for fewer rows.
	if l := m.Learning; len(l.Loss) != 4 || l.Rows[3] != 72 || l.Rows[0] != 9 || !(l.Loss[0] > l.Loss[3]) {
		t.Errorf("%+v", l)
	} else {
		casetest.Near(t, "the CV loss at all rows", l.Loss[3], m.Loss, rounding*m.Loss)
		casetest.Near(t, "the gain of the last rows", l.Gain, l.Loss[2]-l.Loss[3], rounding*m.Loss)
	}
	// The pipeline predicts from texts.
	var pipeline table.Pipeline
	if err := json.Unmarshal([]byte(m.Pipeline), &pipeline); err != nil {
		t.Fatal(err)
	}
	table, err := pipeline.Read(strings.NewReader(Houses()))
	if err != nil {
		t.Fatal(err)
	}
	predictions, err := pipeline.Predict(table)
	if err != nil {
		t.Fatal(err)
	}
	var train float64
	for i, p := range predictions {
		train += (p - m.Y[i]) * (p - m.Y[i]) / 80
	}
	casetest.Near(t, "the training loss of the pipeline", train, m.TrainLoss, rounding*m.TrainLoss)
}

func runMyData(t *testing.T, p MyDataParams) *Result {
	t.Helper()
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestMyDataTwoClasses(t *testing.T) {
	p := myFile(t, plants(2))
	p.Positive = "aster"
	r := runMyData(t, p)
	m, b := r.Models[0], r.Boundary
	if !slices.Equal(r.Classes, []string{"iris", "aster"}) || m.Class != "aster" || r.Learner != "logistic regression" || m.Risk != nil || b == nil || len(b.Margin) != 1 {
		t.Fatalf("%+v", r)
	}
	right := r.Confusion[0][0] + r.Confusion[1][1]
	if all := right + r.Confusion[0][1] + r.Confusion[1][0]; all != 60 || right < 50 || m.Judged.ROC.Area < .9 || m.Judged.ROC.Area > 1 || m.Judged.Nested {
		t.Errorf("%v, area %v", r.Confusion, m.Judged.ROC.Area)
	}
	if at, want := m.Judged.ROC.At, [2]float64{r.Confusion[0][1] / 30, r.Confusion[1][1] / 30}; at != want || m.Judged.Classes.Confusion[1][1] != r.Confusion[1][1] {
		t.Errorf("rates %v at the threshold, want %v", at, want)
	}
	// With a higher threshold, fewer rows are predicted as aster.
	high := p
	high.Threshold = 1e3
	if r := runMyData(t, high); r.Confusion[0][1]+r.Confusion[1][1] != 0 || r.Models[0].Judged.ROC.At != [2]float64{} {
		t.Errorf("%v at a high threshold", r.Confusion)
	}
	// The length of aster is low, so the decision decreases along the length.
	if last := len(b.Axes[0]) - 1; !(b.Margin[0][0][4] > 0 && b.Margin[0][last][4] < 0) {
		t.Errorf("decisions %v", b.Margin[0])
	}
	// A target with the values 0 and 1 has classes. Other numbers are classes only if Positive is
	// set.
	const text = "x,z,y\n1,5,0\n2,7,1\n3,6,0\n4,8,1\n5,5,0\n6,7,1\n7,2,0\n8,9,1\n9,6,0\n10,8,1\n"
	if r := runMyData(t, myFile(t, text)); !slices.Equal(r.Classes, []string{"0", "1"}) || len(r.Columns[2].Choices) != 1 || !strings.Contains(r.Columns[2].Choices[0].Text, "0 and 1 alone") || r.Columns[2].Choices[0].Parameter != "Numeric" {
		t.Errorf("%q, %+v", r.Classes, r.Columns[2])
	}
	p = myFile(t, strings.ReplaceAll(strings.ReplaceAll(text, ",1\n", ",2\n"), ",0\n", ",1\n"))
	if r := runMyData(t, p); r.Classes != nil || !slices.ContainsFunc(r.Models[0].Warnings, func(w string) bool {
		return strings.HasSuffix(w, "as numbers, not as classes. The parameter Positive overrules this choice.")
	}) {
		t.Errorf("%q, %q", r.Classes, r.Models[0].Warnings)
	}
	p.Positive = "1"
	if r := runMyData(t, p); !slices.Equal(r.Classes, []string{"2", "1"}) {
		t.Errorf("%q", r.Classes)
	}
}

func TestMyDataThreeClasses(t *testing.T) {
	for _, learner := range []string{"auto", "kernel_svm"} {
		p := myFile(t, plants(3))
		p.Learner = learner
		r := runMyData(t, p)
		if len(r.Models) != 3 || len(r.Confusion) != 3 || len(r.Boundary.Margin) != 3 || r.Models[2].Class != "rose" || r.Models[0].Surface != nil {
			t.Fatalf("%+v", r)
		}
		right, all := 0., 0.
		for k, row := range r.Confusion {
			for l, n := range row {
				all += n
				if k == l {
					right += n
				}
			}
		}
		if all != 60 || right < 45 {
			t.Errorf("%s: %v", learner, r.Confusion)
		}
		// At each point, at most one margin is above 0.
		for i := range r.Boundary.Axes[0] {
			for j := range r.Boundary.Axes[1] {
				above := 0
				for _, m := range r.Boundary.Margin {
					if m[i][j] > 0 {
						above++
					}
				}
				if above != 1 {
					t.Errorf("%d margins above 0", above)
				}
			}
		}
		if m := r.Multiclass; m == nil || math.Abs(m.Accuracy-right/60) > rounding || math.Abs(m.Majority-1./3) > rounding || (learner == "auto") != (m.Probabilities != nil) {
			t.Errorf("%s: %+v, want the accuracy %v", learner, m, right/60)
		}
		if text := r.Screen(); !strings.Contains(text, "where the largest class has 0.333") {
			t.Errorf("%s: no accuracy beside the largest class in\n%s", learner, text)
		}
		if (learner == "kernel_svm") != (r.Models[0].Coefficients == nil) || (learner == "auto") != (r.Joint != nil) {
			t.Errorf("%s: coefficients %v, joint %v", learner, r.Models[0].Coefficients, r.Joint)
		}
		if learner == "kernel_svm" && json.Unmarshal([]byte(r.Models[0].Pipeline), new(table.Pipeline)) != nil {
			t.Errorf("pipeline %q", r.Models[0].Pipeline)
		}
	}
}

// A multinomial model of three classes reports nested probabilities, log odds as decisions, and one
// file for all classes.
func TestMyDataMultinomial(t *testing.T) {
	p := myFile(t, plants(3))
	p.OuterFolds = 3
	r := runMyData(t, p)
	risk := r.Joint.Risk
	if r.Learner != "multinomial logistic regression" || risk == nil || !risk.Comparisons[0].Better() || len(r.Joint.Curves) != 1 || len(r.Joint.Learning.Rows) == 0 || r.Models[1].Hyper != nil {
		t.Fatalf("%+v", r.Joint)
	}
	for repeat, rows := range risk.OutOfFoldClasses {
		for i, probabilities := range rows {
			for c, m := range r.Models {
				want := math.Log(probabilities[c] / (1 - probabilities[c]))
				if got := m.Judged.Predictions[repeat][i]; math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
					t.Fatalf("row %d, class %d: %v, want %v", i, c, got, want)
				}
			}
		}
	}
	for k, m := range r.Models {
		if m.Judged.Classes.Probabilities == nil || len(m.Coefficients) != 2 || len(m.PerUnit) != 2 || len(m.FoldCoefficients) != 10 || m.Judged.ROC.At != ratesOf(r.Confusion, k) {
			t.Errorf("class %d: %+v", k, m)
		}
	}
	// For each feature, the coefficients of the classes sum to 0.
	for j := range 2 {
		if sum := r.Models[0].Coefficients[j] + r.Models[1].Coefficients[j] + r.Models[2].Coefficients[j]; math.Abs(sum) > 1e-9*math.Abs(r.Models[0].Coefficients[j]) {
			t.Errorf("feature %d: the sum is %v", j, sum)
		}
	}
	files := r.Files()
	var all table.OneVsRest
	if len(files) != 1 || json.Unmarshal([]byte(files[0].Text), &all) != nil || !all.Joint || !strings.Contains(files[0].About, "predicts kind, one of 3 classes") {
		t.Fatalf("%+v", files)
	}
	class, err := all.PredictRecord(map[string]string{"length": "0", "width": "1000"})
	if err != nil || class != "rose" {
		t.Errorf("%q, %v", class, err)
	}
	screen := r.Screen()
	for _, want := range []string{"Use the tuned model", "better than a constant prediction", "log loss", "of 20 rows of rose", "λ[0] =", "rose against the others"} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q in\n%s", want, screen)
		}
	}
}

// Errors of files and parameters are one line with a remedy.
func TestMyDataRefuses(t *testing.T) {
	serial.Test(t)
	good := "id,x,g,y\na,1,p,2\nb,2,p,3.5\nc,4,q,4\nd,3,q,6.5\ne,7,r,8\nf,6,r,7\n"
	for name, c := range map[string]struct {
		text   string
		change func(p *MyDataParams)
		words  []string
	}{
		"no file":        {good, func(p *MyDataParams) { p.File = "no/such.csv" }, []string{`File is "`, `such.csv" (no such file`, "give the path of a CSV file"}},
		"home":           {good, func(p *MyDataParams) { p.File = "~/x.csv" }, []string{"in place of ~"}},
		"a folder":       {good, func(p *MyDataParams) { p.File = filepath.Dir(p.File) }, []string{"is a directory", "give the path"}},
		"empty":          {"", func(p *MyDataParams) {}, []string{"no header line", "name the columns"}},
		"header only":    {"x,y\n", func(p *MyDataParams) {}, []string{"no examples"}},
		"three rows":     {"x,y\n1,2\n2,3\n3,5\n", func(p *MyDataParams) {}, []string{"3 usable rows", "give 4"}},
		"no column":      {good, func(p *MyDataParams) { p.Target = "price" }, []string{`Target is "price", which is not a column`, `name one of ["id" "x" "g" "y"]`}},
		"no group":       {good, func(p *MyDataParams) { p.Group, p.Ignore = "house", []string{"id"} }, []string{`Group is "house"`}},
		"a word":         {"x,y\n1,2\n2,3\n3,five\n4,4\n", func(p *MyDataParams) {}, []string{`"five" in line 4, column "y"`}},
		"ragged":         {"x,y\n1,2\n2,3,4\n", func(p *MyDataParams) {}, []string{"line 3", "wrong number of fields"}},
		"learner":        {good, func(p *MyDataParams) { p.Learner, p.Ignore = "svm", []string{"id"} }, []string{"Learner is svm", `the target "y" is a number`}},
		"word":           {good, func(p *MyDataParams) { p.Learner = "forest" }, []string{`Learner is "forest"`, "{auto,elastic_net"}},
		"comma":          {good, func(p *MyDataParams) { p.Comma = "::" }, []string{`Comma is "::"`, "or tab"}},
		"semicolons":     {"x;y\n1,5;2\n", func(p *MyDataParams) { p.Comma = "," }, []string{`Comma is ","`, `use ";"`}},
		"tabs":           {"x\ty\n1\t2\n", func(p *MyDataParams) { p.Comma, p.Target = ";", "y" }, []string{`Comma is ";"`, `use "tab"`}},
		"nothing left":   {"x,y\n1,\n2,\n3,\n4,\n", func(p *MyDataParams) {}, []string{"each of the 4 rows", `column "y"`}},
		"folds":          {good, func(p *MyDataParams) { p.OuterFolds = 1 }, []string{"OuterFolds is 1"}},
		"missing":        {"x,y\n1,2\n,3\n3,5\n4,4\n5,6\n", func(p *MyDataParams) { p.Missing = "error" }, []string{`line 3, column "x"`}},
		"positive":       {plants(2), func(p *MyDataParams) { p.Positive = "tulip" }, []string{`Positive is "tulip"`, `["aster" "iris"]`}},
		"a format":       {good, func(p *MyDataParams) { p.Numbers = []string{"x"} }, []string{`Numbers is "x", without a format`, "price=comma €"}},
		"two units":      {good, func(p *MyDataParams) { p.Numbers = []string{"x=kg g"} }, []string{`Numbers is "x=kg g"`, "g:0.001"}},
		"no layout":      {good, func(p *MyDataParams) { p.Dates = []string{"x="} }, []string{`Dates is "x="`, "sold=02/01/2006"}},
		"a number":       {good, func(p *MyDataParams) { p.Dates = []string{"x=2/1/2006"} }, []string{`holds "1" in line 2, column "x"`, "Dates, Categorical or Ignore"}},
		"no weights":     {good, func(p *MyDataParams) { p.Weights = "w" }, []string{`Weights is "w", which is not a column`}},
		"no name":        {",x,y\n1,2,3\n2,3,3\n3,4,6\n4,5,8\n", func(p *MyDataParams) {}, []string{"(-p Ignore=, does)"}},
		"three classes":  {plants(3), func(p *MyDataParams) { p.Positive = "iris" }, []string{"Positive is set for the 3 classes", "leave it empty"}},
		"another digest": {good, func(p *MyDataParams) { p.Digest = "00" }, []string{"content has changed", "run it again"}},
	} {
		p := myFile(t, c.text)
		c.change(&p)
		_, err := p.Read(t.TempDir())
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q lacks %q", name, err, w)
			}
		}
		var arg *qpdiff.ArgError
		if _, again := p.Run(t.Context(), experiment.Hooks{}); again == nil || name != "no file" && name != "home" && again.Error() != err.Error() || name == "word" && !errors.As(again, &arg) {
			t.Errorf("%s: Run: %v", name, again)
		}
	}
}

// Each parameter for columns sets the library's field of the same effect.
func TestMyDataColumnParameters(t *testing.T) {
	const text = ",code,price,weight,sold,w,kind,y\n" +
		"1,10,\"1,5 €\",1200 g,03/04/2025,1,0,0\n2,20,\"2,5 €\",1.5 kg,04/04/2025,2,1,1\n3,10,\"4,0 €\",800 g,05/05/2025,1,0,0\n4,30,-,2 kg,06/06/2025,1,1,1\n" +
		"5,20,\"1,0 €\",700 g,07/06/2025,2,0,0\n6,10,\"3,5 €\",1.7 kg,08/07/2025,1,1,1\n7,20,\"2,0 €\",900 g,09/08/2025,1,0,0\n8,30,\"5,5 €\",2.2 kg,10/09/2025,0,1,1\n"
	p := myFile(t, text)
	for name, value := range map[string]string{
		"Ignore": ",kind", "Numeric": "y", "Categorical": "code", "Numbers": "price=comma €,weight=kg g:0.001", "Dates": "sold=02/01/2006", "Weights": "w", "MissingTexts": "-", "Target": "y", "Learner": "elastic_net",
	} {
		if err := experiment.Set(&p, name, value); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, c := range runMyData(t, p).Columns {
		got = append(got, fmt.Sprintf("%s: %s, %d, %s, %d", c.Name, c.Kind, c.Missing, c.Use, len(c.Choices)))
	}
	want := []string{"code: 3 levels, 0, 2 features, 0", "price: number in €, 1, 1 feature, the mean for a missing value, 0", "weight: number in kg, 0, 1 feature, the mean for a missing value, 0",
		"sold: dates from 3 April 2025, 0, days: 1 feature, month: 5 features, weekday: 5 features, 0", "y: number, 0, target, 0", "w: number, 0, weights of the rows, 0"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// A warning names the parameter that overrules a choice if the file does not determine it.
func TestMyDataWarnsOfUncertainColumns(t *testing.T) {
	text := "id,street,sold,y\n"
	for i := range 24 {
		text += fmt.Sprintf("%d,%d Elm Street %c,%02d/%02d/2025,%d\n", 101+i, i, 'A'+i, 1+i%12, 1+i%11, i%7)
	}
	r := runMyData(t, myFile(t, text))
	warnings := strings.Join(r.warnings(), "\n")
	if c := r.Columns[0].Choices; len(c) != 1 || c[0].Parameter != "Ignore" {
		t.Errorf("%+v", r.Columns[0])
	}
	for _, want := range []string{`"id" seems to number the rows, and is read as a feature. The parameter Ignore overrules this choice.`, `"street" has 24 different texts in 24 rows and is left out as an identifier. The parameter Categorical overrules this choice.`, `which may begin with the day or the month: this one is read as 2 January 2025 in the format "1/2/2006", not as 1 February 2025 in the format "2/1/2006". The parameter Dates overrules this choice.`} {
		if strings.Count(warnings, want) != 1 {
			t.Errorf("no %q in\n%s", want, warnings)
		}
	}
}

// The key of a stored result depends on the content of the file, which Run takes from Read.
// Relative paths begin in the checkout.
func TestMyDataRead(t *testing.T) {
	root := t.TempDir()
	p := DefaultMyData()
	p.File, p.Ignore, p.CurvePoints, p.SurfacePoints, p.OuterFolds = "of mine.csv", []string{"id"}, 3, 2, 0
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(root, p.File), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	texts := []string{"id;x;y\na;1;2\nb;2;3.5\nc;4;4\nd;3;6.5\ne;7;8\n", "id;x;y\na;1;2\nb;2;3.5\nc;4;4\nd;3;6.5\ne;7;9\n\"f\ng\";NA;7\nh;6;\n"}
	keys := map[string]bool{}
	for k, text := range texts {
		write(text)
		read, err := p.Read(root)
		if err != nil {
			t.Fatal(err)
		}
		write(texts[0] + "x;y;z\n") // Run does not use the new text
		r := runMyData(t, read)
		if want := []int{5, 6}[k]; r.Rows != want || r.Dropped != k || r.Name != "of mine.csv" {
			t.Errorf("%d rows, %d dropped, %q", r.Rows, r.Dropped, r.Name)
		}
		key, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		keys[string(key)] = true
		if len(experiment.Changes(&read)) != 5 {
			t.Errorf("%v", experiment.Changes(&read))
		}
		var decoded MyDataParams // the parameters of a worker; the file has changed by now
		if err := json.Unmarshal(key, &decoded); err != nil {
			t.Fatal(err)
		}
		if _, err := decoded.Read(root); err == nil {
			t.Error("a changed file is taken for the old one")
		}
	}
	if len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
	tab := myFile(t, "\ufeffx\ty\n1\t2\n2\t3\n3\t5\n4\t4\n5\t6\n")
	for _, comma := range []string{"", "tab"} {
		tab.Comma = comma
		if r := runMyData(t, tab); r.Target != "y" || r.Columns[0].Name != "x" {
			t.Errorf("Comma %q: %+v", comma, r)
		}
	}
}

// The rows of a group stay together. A row without a group is dropped.
func TestMyDataGroups(t *testing.T) {
	p := myFile(t, "x,g,y\n1,a,2\n2,a,3\n3,b,5\n4,b,4\n5,c,6\n6,c,7\n7,,9\n8,d,8\n")
	p.Group = "g"
	if r := runMyData(t, p); r.Groups != 4 || r.Dropped != 1 || len(r.Columns) != 3 || r.Columns[2].Kind != "4 groups" {
		t.Errorf("%+v", r)
	}
}

// Scaling the target scales the predictions and changes the key.
func TestMyDataScaled(t *testing.T) {
	p := DefaultMyData()
	p.CurvePoints, p.SurfacePoints, p.OuterFolds = 2, 2, 0
	read, err := p.Read("")
	if err != nil {
		t.Fatal(err)
	}
	a, b := runMyData(t, read), runMyData(t, read.Scaled(4))
	if read.Scaled(4).Digest == read.Digest || reflect.DeepEqual(a, b) {
		t.Error("the result is taken for the same one")
	}
	casetest.Near(t, "the scaled CV loss", b.Models[0].Loss, 16*a.Models[0].Loss, rounding*b.Models[0].Loss)
}

// checkScreen checks the numbers of lines and letters of a result's screen.
func checkScreen(t *testing.T, r *Result) {
	t.Helper()
	text := r.Screen()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > ScreenLines || !strings.HasSuffix(text, "\n") {
		t.Errorf("%d lines:\n%.2000s", len(lines), text)
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > ScreenColumns {
			t.Errorf("%d letters: %s", n, line)
		}
		if trimmed := strings.TrimLeft(line, " "); trimmed != experiment.Visible(trimmed) && !strings.Contains(trimmed, "  ") {
			t.Errorf("%q", line)
		}
	}
}

// Long names, many classes and many warnings fit on one screen.
func TestScreenOfManyThings(t *testing.T) {
	r := &Result{Name: strings.Repeat("name ", 500), Target: strings.Repeat("W", 3000)}
	for k := range 20 {
		m := Model{Class: fmt.Sprint(strings.Repeat("class ", 100), k), Verdict: strings.Repeat("long sentence ", 100) + "."}
		for j := range 30 {
			m.Hyper = append(m.Hyper, Hyper{Name: "λ" + strings.Repeat("x", j), Tuned: 1})
			m.Features, m.Coefficients, m.PerUnit = append(m.Features, strings.Repeat("ü", 10*j)), append(m.Coefficients, float64(j)), append(m.PerUnit, float64(j))
			m.Warnings = append(m.Warnings, strings.Repeat("w", j)+strings.Repeat(" warning", 90))
		}
		r.Models, r.Classes, r.Confusion = append(r.Models, m), append(r.Classes, m.Class), append(r.Confusion, make([]float64, 20))
	}
	checkScreen(t, r)
	r.Models = r.Models[:1]
	checkScreen(t, r)
	if text := r.Screen(); !strings.Contains(text, "more warnings are in the notebook") && !strings.HasSuffix(text, "…\n") {
		t.Errorf("nothing tells of the rest:\n%s", text)
	}
}

// A warning that the tuned model is or may be worse follows the verdict. Other warnings come last.
func TestScreenWarnsBesideTheVerdict(t *testing.T) {
	one := Model{Class: "a", Verdict: "Use A.", Doubts: []string{"A may be worse."}, LossName: "l"}
	other := Model{Class: "b", Verdict: "Use B.", Warnings: []string{"W."}}
	joint := one
	joint.Class = ""
	for want, r := range map[string]*Result{
		"Use A.\nWarning: A may be worse.\nPredictions":              {Models: []Model{one}},
		"a against the others. Use A.\n  Warning: A may be worse.\n": {Models: []Model{one, other}},
		"Use A.\nWarning: A may be worse.\nHyper":                    {Models: []Model{{Class: "a"}, {Class: "b"}}, Joint: &joint},
	} {
		m := &r.Models[0]
		m.Judged.Regression = new(assess.Regression)
		text := r.Screen()
		last := "\nNo other warnings.\n"
		if len(r.Searched()) > 1 {
			last = "\nWarning: b: W.\n"
		}
		if !strings.Contains(text, want) || !strings.HasSuffix(text, last) || strings.Count(text, "may be worse") != 1 {
			t.Errorf("no %q, or not at the end %q, in\n%s", want, last, text)
		}
	}
	if text := (&Result{Models: []Model{{Verdict: "Use A."}}}).Screen(); !strings.HasSuffix(text, "\nNo warnings.\n") {
		t.Error(text)
	}
}

func TestMyDataFiles(t *testing.T) {
	three := &Result{Target: "kind", Classes: []string{"a", "b", "c"}, Models: []Model{{Class: "a", Pipeline: "{}"}, {Class: "b", Pipeline: "{}"}, {Class: "c", Pipeline: "{}"}}}
	two := &Result{Target: "kind", Classes: []string{"a", "b"}, Models: []Model{{Class: "b", Pipeline: "{}"}}}
	one := &Result{Target: "y", Models: []Model{{Pipeline: "{}"}}, Houses: "x,y\n"}
	joint := &Result{Target: "kind", Classes: three.Classes, Models: make([]Model, 3), Joint: &Model{Pipeline: "{}"}}
	for r, want := range map[*Result][]string{
		joint: {"my_data_pipeline.json predicts kind, one of 3 classes"},
		three: {`my_data_pipeline_1.json tells "a" from the other classes of kind.`, `my_data_pipeline_2.json tells "b"`, `my_data_pipeline_3.json tells "c"`},
		two:   {`my_data_pipeline.json tells "b", which is +1, from "a" in kind.`},
		one:   {"my_data_pipeline.json predicts y.", "houses.csv holds"},
	} {
		files := r.Files()
		if len(files) != len(want) {
			t.Fatalf("%+v", files)
		}
		for i, f := range files {
			if !strings.HasPrefix(f.About, want[i]) || !strings.HasPrefix(f.About, f.Name+" ") || f.Text == "" {
				t.Errorf("%+v, want %s", f, want[i])
			}
		}
	}
}

func TestROC(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		y, decisions []float64
		area         float64
		points       int
	}{
		{[]float64{1, 1, -1, -1}, []float64{4, 3, 2, 1}, 1, 5},
		{[]float64{1, 1, -1, -1}, []float64{1, 2, 3, 4}, 0, 5},
		{[]float64{1, -1, 1, -1}, []float64{2, 2, 2, 2}, .5, 2}, // equal decisions make one step
		{[]float64{1, -1, 1, -1}, []float64{4, 3, 2, 1}, .75, 5},
		{[]float64{1, -1, 1, -1, 1}, []float64{4, 3, 2, 1, nan}, .75, 5},
		{[]float64{1, 1}, []float64{2, 1}, 0, 3}, // no label −1
		{nil, nil, 0, 1},
	} {
		if r := roc(c.y, nil, 2.5, c.decisions); r.Area != c.area || len(r.FalsePositive) != c.points || len(r.TruePositive) != c.points {
			t.Errorf("%v for %v: %+v", c.decisions, c.y, r)
		}
	}
}

func TestMyDataIsTheSameOnAnyCores(t *testing.T) {
	for _, learner := range []string{"auto", "kernel_svm"} {
		p := myFile(t, plants(3))
		p.Learner, p.OuterFolds = learner, 2
		casetest.SameForAnyGOMAXPROCS(t, p.Run)
	}
}

// expiringContext is a context that ends at call number end of Err.
type expiringContext struct {
	context.Context
	looks atomic.Int64
	end   int64
}

func (c *expiringContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *expiringContext) Err() error {
	if c.looks.Add(1) >= c.end {
		return context.Canceled
	}
	return nil
}

// A run returns the error of a context that ends at any point of the run, and does not report it as
// a failed fit.
func TestMyDataEndsWithItsContext(t *testing.T) {
	for kinds, learner := range map[int]string{2: "sparse_logistic", 3: "auto"} {
		p := myFile(t, plants(kinds))
		p.Learner, p.Seconds, p.CurvePoints = learner, 0, 3
		runs := 0
		step := int64(11) // tenths
		if testing.Short() {
			step = 20
		}
		for end := int64(1); ; end = end*step/10 + 1 {
			ctx := &expiringContext{Context: t.Context(), end: end}
			_, err := p.Run(ctx, experiment.Hooks{})
			if ctx.looks.Load() < end {
				if err != nil {
					t.Errorf("%s: %v at a context that does not end", learner, err)
				}
				break
			}
			if runs++; !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v after look %d of a context that ended at look %d", learner, err, ctx.looks.Load(), end)
			}
		}
		if runs < 8 {
			t.Errorf("%s: the context ended in %d runs", learner, runs)
		}
	}
}

// Run returns a result or an error of one line for hostile tables.
func TestMyDataHostileTables(t *testing.T) {
	src := synth.NewStream(9, "hostile tables")
	learners := []string{"auto", "elastic_net", "huber", "logistic", "sparse_logistic", "svm", "kernel_svm", "kernel_ridge"}
	results := 0
	for k := range 80 {
		rows, columns := 4+int(16*src.Float64()), 1+int(4*src.Float64())
		scale := math.Pow(10, 300*(src.Float64()-.5)*float64(k%2)+8*src.Float64()-4)
		kinds := make([]int, columns+1)
		var header []string
		for j := range kinds {
			kinds[j] = int(6 * src.Float64())
			header = append(header, fmt.Sprintf("c%d", j))
		}
		text := strings.Join(header, ",") + "\n"
		for i := range rows {
			var fields []string
			for _, kind := range kinds {
				v := map[int]string{0: fmt.Sprint(scale * src.NormFloat64()), 1: "3", 2: fmt.Sprint(i % 2), 3: []string{"a", "b", "c"}[int(3*src.Float64())], 4: "rare", 5: fmt.Sprint(i)}[kind]
				if kind == 4 && i < 2 {
					v = "other"
				}
				if src.Float64() < .05 {
					v = ""
				}
				fields = append(fields, v)
			}
			text += strings.Join(fields, ",") + "\n"
		}
		p := myFile(t, text)
		p.CurvePoints, p.SurfacePoints, p.Learner = 3, 2, learners[k%len(learners)]
		p.Missing = []string{"mean", "drop"}[k%2]
		r, err := p.Run(t.Context(), experiment.Hooks{})
		if err != nil {
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "%!") {
				t.Errorf("%d: %v", k, err)
			}
			continue
		}
		results++
		if s := r.Screen(); strings.Contains(s, "%!") || strings.Contains(s, "NaN") {
			t.Errorf("%d: %s", k, s)
		}
		checkScreen(t, r)
	}
	if results < 30 {
		t.Errorf("%d of 80 tables have a result", results)
	}
}

// A gain is the mean difference over the rows with both losses.
func TestMeanDifference(t *testing.T) {
	nan := math.NaN()
	if mean, se := meanDifference([]float64{1, 4, nan, 9}, []float64{0, 1, 5, 7}, nil); mean != 2 || math.Abs(se-math.Sqrt(1./3)) > 1e-15 {
		t.Errorf("%v ± %v", mean, se)
	}
	// The jackknife's variance is (1/16+9/16)/2, because the mean is 2 without the first row and 1
	// without the last.
	for _, unit := range []float64{1, 1e-300, 1e300} {
		weights := []float64{unit, 0, 3 * unit}
		if mean, se := meanDifference([]float64{1, 4, 9}, []float64{0, 1, 7}, weights); math.Abs(mean-1.75) > 1e-15 || math.Abs(se-math.Sqrt(10./32)) > 1e-15 {
			t.Errorf("%v ± %v", mean, se)
		}
	}
}

// The final descent begins after the last leap. Its window contains the tuned point.
func TestFinalDescent(t *testing.T) {
	tuned := &tune.Tuned{Searched: []learn.Hyperparameter{{Name: "a", Lower: 1e-4, Upper: 1e4}, {Name: "b", Lower: 1e-4, Upper: 1e4}}}
	tuned.Path = []tune.Step{
		{Hyper: []float64{1, 1}, Loss: 1}, {Hyper: []float64{1, 1}, Loss: 9, Start: 1}, {Hyper: []float64{2, 2}, Loss: 8, Start: 1},
		{Hyper: []float64{1, 1}, Loss: 9, Start: 2}, {Hyper: []float64{1e-3, 1}, Loss: 8, Start: 2}, {Hyper: []float64{2e-3, 2}, Loss: 7, Start: 2},
		{Hyper: []float64{1e3, 1e3}, Loss: 20, Start: 2}, {Hyper: []float64{3e-3, 3}, Loss: 6, Start: 2}, {Hyper: []float64{3e-3, 0}, Loss: 5.9, Start: 2},
	}
	want := [][]float64{{1e-3, 1}, {2e-3, 2}, {3e-3, 3}}
	got := finalDescent(tuned)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	m := &Model{Descent: got, Hyper: []Hyper{{Lower: 1e-4, Upper: 1e4, Tuned: 3e-3}, {Lower: 1e-4, Upper: 1e4}}}
	axes := window(m, 5)
	if a, b := axes[0], axes[1]; len(a) != 5 || !(a[0] < 1e-3 && a[4] > 3e-3 && a[4] < 1) || !(b[0] > 1e-4 && b[0] < 1 && b[4] > 3 && b[4] < 1e4) {
		t.Errorf("axes %v", axes)
	}
}

// Names from the user's file reach a terminal or a notebook only as visible text.
func TestSentencesOfStrangers(t *testing.T) {
	r := &Result{Target: "\x1b]0;owned\x07", Models: []Model{{Class: "a\x1b[31m", Pipeline: "{}"}, {Class: "\u202eb"}, {Warnings: []string{"two\nlines."}}}}
	checkScreen(t, r)
	texts := strings.FieldsFunc(r.Screen(), unicode.IsSpace)
	for _, f := range r.Files() {
		texts = append(texts, f.About)
	}
	for _, text := range texts {
		if text != experiment.Visible(text) {
			t.Errorf("%q", text)
		}
	}
}

// A warning names only parameters of my data as such: Tuner.Splits, which is none, needs a program.
func TestDatesNeedAProgram(t *testing.T) {
	var b strings.Builder
	b.WriteString("sold,y\n")
	for i := range 30 {
		fmt.Fprintf(&b, "2024-%02d-%02d,%d\n", 1+i/10, 1+i%10*2, i*i%11)
	}
	screen := strings.Join(strings.Fields(runMyData(t, myFile(t, b.String())).Screen()), " ")
	if want := `Warning: Column "sold" holds dates, but the folds are random`; !strings.Contains(screen, want) || !strings.Contains(screen, "set Tuner.Splits to cvgm.TimeSplits in a program of your own.") {
		t.Error(screen)
	}
}
