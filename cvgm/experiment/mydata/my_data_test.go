package mydata

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/synth"
)

// myFile writes a CSV and returns small parameters for it.
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

// plants is a CSV of 60 rows with two numeric columns and that many kinds, each at a corner.
func plants(kinds int) string {
	src := synth.NewStream(4, "plants")
	text := "length,width,kind\n"
	for i := range 60 {
		k := i % kinds
		text += fmt.Sprintf("%.3f,%.3f,%s\n", float64(k%2)+.3*src.NormFloat64(), 1e3*(float64(k/2)+.3*src.NormFloat64()), []string{"aster", "iris", "rose"}[k])
	}
	return text
}

// rounding allows for another order of sums and other warm starts, as a part of the value.
const rounding = 1e-9

func TestMyDataHouses(t *testing.T) {
	r := runMyData(t, DefaultMyData())
	m := r.Models[0]
	if len(r.Models) != 1 || r.Rows != 80 || r.Dropped != 0 || r.Target != "price" || r.Learner != "elastic net" || r.Houses != houses() || r.Confusion != nil || r.Boundary != nil {
		t.Errorf("%+v", r)
	}
	// Each column has the kind, the missing values and the range of the text.
	if c := r.Columns[2]; c.Name != "age" || !c.Numeric || c.Missing != 5 || c.Low < 0 || c.High > 90 {
		t.Errorf("%+v", c)
	}
	if c := r.Columns[7]; c.Name != "district" || c.Numeric || c.Missing != 3 || !slices.Equal(c.Levels, []string{"centre", "harbour", "north", "south"}) {
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
	sentences := strings.Join(r.Sentences(), "\n")
	for _, want := range []string{"at the defaults", "from 5 outer folds", "Use the tuned model", "better than a constant prediction by", "R² 0."} {
		if !strings.Contains(sentences, want) {
			t.Errorf("no %q in\n%s", want, sentences)
		}
	}
	// The pipeline predicts from the text.
	var pipeline table.Pipeline
	if err := json.Unmarshal([]byte(m.Pipeline), &pipeline); err != nil {
		t.Fatal(err)
	}
	table, err := pipeline.Read(strings.NewReader(houses()))
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
	r, err := p.Run(t.Context())
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
	if all := right + r.Confusion[0][1] + r.Confusion[1][0]; all != 60 || right < 50 || m.ROC.Area < .9 || m.ROC.Area > 1 {
		t.Errorf("%v, area %v", r.Confusion, m.ROC.Area)
	}
	// aster is at low length, so the decision falls along it.
	if last := len(b.Axes[0]) - 1; !(b.Margin[0][0][4] > 0 && b.Margin[0][last][4] < 0) {
		t.Errorf("decisions %v", b.Margin[0])
	}
	// Of two numbers 0 and 1 are classes, and others by Positive alone.
	const text = "x,z,y\n1,5,0\n2,7,1\n3,6,0\n4,8,1\n5,5,0\n6,7,1\n7,2,0\n8,9,1\n9,6,0\n10,8,1\n"
	if r := runMyData(t, myFile(t, text)); !slices.Equal(r.Classes, []string{"0", "1"}) || !slices.ContainsFunc(r.Models[0].Warnings, func(w string) bool { return strings.Contains(w, "0 and 1 alone") }) {
		t.Errorf("%q, %q", r.Classes, r.Models[0].Warnings)
	}
	p = myFile(t, strings.ReplaceAll(strings.ReplaceAll(text, ",1\n", ",2\n"), ",0\n", ",1\n"))
	if r := runMyData(t, p); r.Classes != nil || !slices.ContainsFunc(r.Models[0].Warnings, func(w string) bool { return strings.Contains(w, "set Positive") }) {
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
		right, all := 0, 0
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
		// Of the margins, one at most is above 0.
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
		if (learner == "kernel_svm") != (r.Models[0].Coefficients == nil) || json.Unmarshal([]byte(r.Models[0].Pipeline), new(table.Pipeline)) != nil {
			t.Errorf("%s: coefficients %v, pipeline %q", learner, r.Models[0].Coefficients, r.Models[0].Pipeline)
		}
	}
}

// Errors of files and parameters are one line with a remedy.
func TestMyDataRefuses(t *testing.T) {
	good := "id,x,g,y\na,1,p,2\nb,2,p,3.5\nc,4,q,4\nd,3,q,6.5\ne,7,r,8\nf,6,r,7\n"
	for name, c := range map[string]struct {
		text   string
		change func(p *MyDataParams)
		words  []string
	}{
		"no file":        {good, func(p *MyDataParams) { p.File = "no/such.csv" }, []string{`File is "`, `such.csv" (no such file`, "give the path of a CSV file"}},
		"home":           {good, func(p *MyDataParams) { p.File = "~/x.csv" }, []string{"in place of ~"}},
		"a folder":       {good, func(p *MyDataParams) { p.File = filepath.Dir(p.File) }, []string{"is a directory", "give the path"}},
		"empty":          {"", func(p *MyDataParams) {}, []string{"without a header line", "name the columns"}},
		"header only":    {"x,y\n", func(p *MyDataParams) {}, []string{"no examples"}},
		"three rows":     {"x,y\n1,2\n2,3\n3,5\n", func(p *MyDataParams) {}, []string{"3 usable rows", "give 4"}},
		"no column":      {good, func(p *MyDataParams) { p.Target = "price" }, []string{`CSV.Target is "price", which is no column`, `name one of ["id" "x" "g" "y"]`}},
		"no group":       {good, func(p *MyDataParams) { p.Group, p.Ignore = "house", []string{"id"} }, []string{`CSV.Group is "house"`}},
		"a word":         {"x,y\n1,2\n2,3\n3,five\n4,4\n", func(p *MyDataParams) {}, []string{`"five" in line 4, column "y"`}},
		"ragged":         {"x,y\n1,2\n2,3,4\n", func(p *MyDataParams) {}, []string{"line 3", "wrong number of fields"}},
		"learner":        {good, func(p *MyDataParams) { p.Learner, p.Ignore = "svm", []string{"id"} }, []string{"Learner is svm", `the target "y" is a number`}},
		"word":           {good, func(p *MyDataParams) { p.Learner = "forest" }, []string{`Learner is "forest"`, "{auto,elastic_net"}},
		"comma":          {good, func(p *MyDataParams) { p.Comma = "::" }, []string{`Comma is "::"`, "or tab"}},
		"semicolons":     {"x;y\n1,5;2\n", func(p *MyDataParams) {}, []string{`Comma is ","`, `use ";"`}},
		"tabs":           {"x\ty\n1\t2\n", func(p *MyDataParams) { p.Comma, p.Target = ";", "y" }, []string{`Comma is ";"`, `use "tab"`}},
		"nothing left":   {"x,y\n1,\n2,\n3,\n4,\n", func(p *MyDataParams) {}, []string{"each of the 4 rows", `column "y"`}},
		"folds":          {good, func(p *MyDataParams) { p.OuterFolds = 1 }, []string{"OuterFolds is 1"}},
		"missing":        {"x,y\n1,2\n,3\n3,5\n4,4\n5,6\n", func(p *MyDataParams) { p.Missing = "error" }, []string{`line 3, column "x"`}},
		"positive":       {plants(2), func(p *MyDataParams) { p.Positive = "tulip" }, []string{`CSV.Positive is "tulip"`, `["aster" "iris"]`}},
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
		if _, again := p.Run(t.Context()); again == nil || name != "no file" && name != "home" && again.Error() != err.Error() || name == "word" && !errors.As(again, &arg) {
			t.Errorf("%s: Run: %v", name, again)
		}
	}
}

// The key of a stored result holds the content of the file, as JSON does. Relative paths begin
// in the checkout. Run uses the content that Read has read.
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
	p.Comma = ";"
	keys := map[string]bool{}
	for k, text := range texts {
		write(text)
		read, err := p.Read(root)
		if err != nil {
			t.Fatal(err)
		}
		write(texts[0] + "x;y;z\n") // Run does not see it
		r := runMyData(t, read)
		if want := []int{5, 6}[k]; r.Rows != want || r.Dropped != k || r.Name != "of mine.csv" {
			t.Errorf("%d rows, %d dropped, %q", r.Rows, r.Dropped, r.Name)
		}
		key, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		keys[string(key)] = true
		if len(experiment.Changes(&read)) != 5+1 {
			t.Errorf("%v", experiment.Changes(&read))
		}
		var decoded MyDataParams // as a worker has it: the file is another one by now
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
	tab.Comma = "tab"
	if r := runMyData(t, tab); r.Target != "y" || r.Columns[0].Name != "x" {
		t.Errorf("%+v", r)
	}
}

// A group stays together, a row without group is dropped.
func TestMyDataGroups(t *testing.T) {
	p := myFile(t, "x,g,y\n1,a,2\n2,a,3\n3,b,5\n4,b,4\n5,c,6\n6,c,7\n7,,9\n8,d,8\n")
	p.Group = "g"
	if r := runMyData(t, p); r.Groups != 4 || r.Dropped != 1 || len(r.Columns) != 1 {
		t.Errorf("%+v", r)
	}
}

// Scaling the target scales the predictions, up to rounding, and gives another key.
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

func TestMyDataFiles(t *testing.T) {
	three := &Result{Target: "kind", Classes: []string{"a", "b", "c"}, Models: []Model{{Class: "a", Pipeline: "{}"}, {Class: "b", Pipeline: "{}"}, {Class: "c", Pipeline: "{}"}}}
	two := &Result{Target: "kind", Classes: []string{"a", "b"}, Models: []Model{{Class: "b", Pipeline: "{}"}}}
	one := &Result{Target: "y", Models: []Model{{Pipeline: "{}"}}, Houses: "x,y\n"}
	for r, want := range map[*Result][]string{
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
		{[]float64{1, -1, 1, -1}, []float64{2, 2, 2, 2}, .5, 2}, // ties are one step
		{[]float64{1, -1, 1, -1}, []float64{4, 3, 2, 1}, .75, 5},
		{[]float64{1, -1, 1, -1, 1}, []float64{4, 3, 2, 1, nan}, .75, 5},
		{[]float64{1, 1}, []float64{2, 1}, 0, 3}, // no −1
		{nil, nil, 0, 1},
	} {
		if r := roc(c.y, c.decisions); r.Area != c.area || len(r.FalsePositive) != c.points || len(r.TruePositive) != c.points {
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

// Tables with constant, equal and huge columns, few rows, rare classes and missing values give
// a result or an error of one line.
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
		r, err := p.Run(t.Context())
		if err != nil {
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "%!") {
				t.Errorf("%d: %v", k, err)
			}
			continue
		}
		results++
		for _, s := range r.Sentences() {
			if !strings.HasSuffix(s, ".") || strings.Contains(s, "%!") {
				t.Errorf("%d: %q", k, s)
			}
		}
	}
	if results < 30 {
		t.Errorf("%d of 80 tables have a result", results)
	}
}

// Names of strangers reach neither a terminal nor a notebook but as visible text.
func TestSentencesOfStrangers(t *testing.T) {
	r := &Result{Target: "\x1b]0;owned\x07", Models: []Model{{Class: "a\x1b[31m", Pipeline: "{}"}, {Class: "\u202eb"}, {Warnings: []string{"two\nlines."}}}}
	texts := r.Sentences()
	for _, f := range r.Files() {
		texts = append(texts, f.About)
	}
	for _, text := range texts {
		if text != experiment.Visible(text) {
			t.Errorf("%q", text)
		}
	}
}
