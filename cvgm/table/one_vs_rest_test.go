package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"

	"gonum.org/v1/gonum/mat"
)

// fruitPipelines returns one pipeline for each class of the fruits.
func fruitPipelines(t testing.TB, learner func() learn.Learner, loss cvgm.Loss, alpha []float64) (*Table, []*Pipeline) {
	t.Helper()
	whole := readFruit(t, fruit)
	var all []*Pipeline
	for _, class := range whole.Classes {
		all = append(all, pipelineOf(t, casetest.Must(whole.Binary(class))(t), learner, loss, cvgm.NoCentring, alpha))
	}
	return whole, all
}

func TestOneVsRest(t *testing.T) {
	whole, pipelines := fruitPipelines(t, func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, []float64{10})
	c := casetest.Must(NewOneVsRest(pipelines))(t)
	text := casetest.Must(json.Marshal(c))(t)
	var back OneVsRest
	casetest.OK(t, json.Unmarshal(text, &back))
	probabilities := casetest.Must(c.Probability(whole))(t)
	if again := casetest.Must(back.Probability(whole))(t); !hostile.SameBits(again.RawMatrix().Data, probabilities.RawMatrix().Data) {
		t.Errorf("after JSON %v", mat.Formatted(again))
	}
	classes := casetest.Must(back.Class(whole))(t)
	right := 0
	for i := range classes {
		var each [3]float64
		sum := 0.0
		for k, p := range pipelines {
			each[k] = casetest.Must(p.Probability(whole))(t)[i]
			sum += each[k]
		}
		for k := range each {
			if got := probabilities.At(i, k); !casetest.Near(got, each[k]/sum, 1e-12) {
				t.Errorf("row %d, class %d: %v instead of %v", i, k, got, each[k]/sum)
			}
		}
		if most := slices.Index(each[:], slices.Max(each[:])); classes[i] != c.Classes()[most] {
			t.Errorf("row %d: %s, probabilities %v", i, classes[i], each)
		}
		if classes[i] == whole.Classes[int(whole.Y[i])] {
			right++
		}
	}
	if got := casetest.Must(c.Accuracy(whole))(t); got != float64(right)/9 || right < 7 {
		t.Errorf("accuracy %v, and %d of 9 right", got, right)
	}
	// A OneVsRest accepts its pipelines in any order of the classes.
	back.Pipelines[0], back.Pipelines[2] = back.Pipelines[2], back.Pipelines[0]
	fresh := casetest.Must(back.Read(strings.NewReader(fruit)))(t)
	if got := casetest.Must(back.Accuracy(fresh))(t); got != float64(right)/9 {
		t.Errorf("accuracy %v in another order", got)
	}
	if got := casetest.Must(back.PredictRecord(map[string]string{"weight": "10", "colour": "red", "spots": "1"}))(t); got != "cherry" {
		t.Errorf("a record is %q", got)
	}
	if _, err := back.Read(strings.NewReader("weight,colour,spots,kind\n1,red,1,plum\n")); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), `"plum"`) {
		t.Errorf("an unknown class: %v", err)
	}
	kinds := map[string]func() json.Unmarshaler{string(text): func() json.Unmarshaler { return new(OneVsRest) }}
	casetest.CheckFormsOfJSON(t, kinds)
}

// Probability returns finite probabilities even if all decisions are far below 0.
func TestProbabilitiesOfSmallDecisions(t *testing.T) {
	whole, pipelines := fruitPipelines(t, func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, []float64{10})
	for k, p := range pipelines {
		p.Model.Intercept = -1e4 + float64(k)
		clear(p.Model.Theta)
	}
	got := casetest.Must((&OneVsRest{Pipelines: pipelines}).Probability(whole))(t)
	for k := range 3 {
		want := math.Exp(float64(k)) / (1 + math.E + math.E*math.E)
		if !casetest.Near(got.At(0, k), want, 1e-9) {
			t.Errorf("class %d: %v instead of %v", k, got.At(0, k), want)
		}
	}
}

func TestOneVsRestRefuses(t *testing.T) {
	whole, pipelines := fruitPipelines(t, func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, []float64{10})
	for _, p := range pipelines {
		p.Model.LogOdds = false
	}
	c := casetest.Must(NewOneVsRest(pipelines))(t)
	if _, err := c.Probability(whole); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("probabilities without log odds: %v", err)
	}
	for name, parts := range map[string][]*Pipeline{
		"two": pipelines[:2], "a class twice": {pipelines[0], pipelines[1], pipelines[1]}, "nil": {pipelines[0], nil, pipelines[1]}, "another table": {pipelines[0], pipelines[1], parcelPipeline(t)},
	} {
		if _, err := NewOneVsRest(parts); !errors.Is(err, qpdiff.ErrShape) && !errors.Is(err, qpdiff.ErrEmpty) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := json.Marshal(OneVsRest{Pipelines: parts}); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	if _, err := NewOneVsRest(nil); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("no pipelines: %v", err)
	}
	var none *OneVsRest
	if _, err := none.Class(whole); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Error(err)
	}
	blind := casetest.Must(c.Read(strings.NewReader("weight,colour,spots\n100,red,1\n")))(t)
	if _, err := c.Accuracy(blind); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("accuracy without a target: %v", err)
	}
	blind.Y, blind.Classes = []float64{1}, []string{"apple", "pear"}
	if _, err := c.Accuracy(blind); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("accuracy on two classes: %v", err)
	}
	text := string(casetest.Must(json.Marshal(c))(t))
	for old, other := range map[string]string{`"format":"cvgm one`: `"format":"cvgm two`, `"version":1,"pipelines"`: `"version":9,"pipelines"`, `"pipelines":[`: `"more":1,"pipelines":[`, `"theta":[`: `"theta":[1,`} {
		if err := unmarshalClasses(strings.Replace(text, old, other, 1)); err == nil {
			t.Errorf("%s in place of %s is read", other, old)
		}
	}
}

// jointModels returns the models of one multinomial fit to a table of several classes.
func jointModels(t testing.TB, whole *Table, alpha float64) []*cvgm.Model {
	t.Helper()
	d, encoder, err := whole.ClassData()
	casetest.OK(t, err)
	rows := make([]int, len(d.Y))
	for i := range rows {
		rows[i] = i
	}
	cv := casetest.Must(cvgm.New(cvgm.Config{Data: d, Prepare: encoder, Splits: []cvgm.Split{{Train: rows[1:], Val: rows[:1]}}, Loss: cvgm.LogisticLoss{}, Standardise: true,
		Learner: func() learn.Learner { return &penalised.Multinomial{Classes: len(whole.Classes), Intercept: true} }}))(t)
	return casetest.Must(cv.FinalClasses(t.Context(), rows, []float64{alpha}))(t)
}

func jointOf(t testing.TB, whole *Table, alpha float64) *OneVsRest {
	t.Helper()
	return casetest.Must(NewJoint(jointModels(t, whole, alpha)))(t)
}

// For the decisions d_k of joint models, Probability returns exp(d_k)/Σ_j exp(d_j), also after
// conversion to JSON.
func TestJoint(t *testing.T) {
	whole := readFruit(t, fruit)
	models := jointModels(t, whole, .1)
	c := casetest.Must(NewJoint(models))(t)
	if !slices.Equal(c.Classes(), whole.Classes) {
		t.Errorf("classes %q instead of %q", c.Classes(), whole.Classes)
	}
	got := casetest.Must(c.Probability(whole))(t)
	right := 0
	for i, y := range whole.Y {
		var odds [3]float64
		sum := 0.0
		for k, m := range models {
			d := make([]float64, len(whole.Y))
			casetest.OK(t, m.Predict(d, whole.x))
			odds[k] = math.Exp(d[i])
			sum += odds[k]
		}
		for k := range odds {
			if !casetest.Near(got.At(i, k), odds[k]/sum, 1e-12) {
				t.Errorf("row %d, class %d: %v instead of %v", i, k, got.At(i, k), odds[k]/sum)
			}
		}
		if slices.Index(odds[:], slices.Max(odds[:])) == int(y) {
			right++
		}
	}
	if accuracy := casetest.Must(c.Accuracy(whole))(t); accuracy != float64(right)/9 || right < 8 {
		t.Errorf("accuracy %v, and %d of 9 right", accuracy, right)
	}
	text := casetest.Must(json.Marshal(c))(t)
	var back OneVsRest
	casetest.OK(t, json.Unmarshal(text, &back))
	fresh := casetest.Must(back.Read(strings.NewReader(fruit)))(t)
	if again := casetest.Must(back.Probability(fresh))(t); !back.Joint || !hostile.SameBits(again.RawMatrix().Data, got.RawMatrix().Data) {
		t.Errorf("after JSON %v", mat.Formatted(again))
	}
	casetest.CheckFormsOfJSON(t, map[string]func() json.Unmarshaler{string(text): func() json.Unmarshaler { return new(OneVsRest) }})
	for _, p := range c.Pipelines {
		p.Model.Intercept -= 1e4 // all decisions are far below 0
	}
	small := casetest.Must(c.Probability(whole))(t)
	for i, p := range small.RawMatrix().Data {
		if !casetest.Near(p, got.RawMatrix().Data[i], 1e-9) {
			t.Errorf("probability %v instead of %v at small decisions", p, got.RawMatrix().Data[i])
		}
	}
}

func TestJointRefuses(t *testing.T) {
	whole := readFruit(t, fruit)
	models := jointModels(t, whole, .1)
	one := parcelPipeline(t).Model
	for name, parts := range map[string][]*cvgm.Model{
		"none": nil, "two": models[:2], "nil": {models[0], nil, models[2]}, "a number": {one, one, one}, "another table": {models[0], models[1], one},
	} {
		if _, err := NewJoint(parts); !errors.Is(err, qpdiff.ErrShape) && !errors.Is(err, qpdiff.ErrEmpty) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := pearTable(t).ClassData(); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "use Data") {
		t.Errorf("two classes: %v", err)
	}
	blind := casetest.Must(casetest.Must(NewJoint(models))(t).Read(strings.NewReader("weight,colour,spots\n100,red,1\n")))(t)
	if _, _, err := blind.ClassData(); !errors.Is(err, qpdiff.ErrEmpty) {
		t.Errorf("without a target: %v", err)
	}
}

// goldenClasses holds a OneVsRest from some version of the package, and its probabilities for some
// rows.
type goldenClasses struct {
	Rows          string
	Probabilities []float64
	Classes       *OneVsRest
}

// Models of several classes from earlier versions of the package return the same probabilities, bit
// for bit.
func TestClassesOfEarlierVersions(t *testing.T) {
	const rows = "spots,weight,colour\n1,10,red\n?,,green\n4,150,yellow\n"
	for version := 1; version <= jointVersion; version++ {
		path := fmt.Sprintf("testdata/classes%d.json", version)
		if *regenVersion && version == jointVersion {
			g := goldenClasses{Rows: rows, Classes: jointOf(t, readFruit(t, fruit), .1)}
			g.Probabilities = casetest.Must(g.Classes.Probability(casetest.Must(g.Classes.Read(strings.NewReader(rows)))(t)))(t).RawMatrix().Data
			casetest.OK(t, os.WriteFile(path, append(casetest.Must(json.MarshalIndent(g, "", "\t"))(t), '\n'), 0o644))
		}
		var g goldenClasses
		casetest.OK(t, json.Unmarshal(casetest.Must(os.ReadFile(path))(t), &g))
		got := casetest.Must(g.Classes.Probability(casetest.Must(g.Classes.Read(strings.NewReader(g.Rows)))(t)))(t)
		if !hostile.SameBits(got.RawMatrix().Data, g.Probabilities) {
			t.Errorf("%s: %v instead of %v", path, got.RawMatrix().Data, g.Probabilities)
		}
		if again := casetest.Must(json.Marshal(g.Classes))(t); !strings.Contains(string(again), fmt.Sprintf(`"cvgm one against the rest","version":%d`, version)) {
			t.Errorf("%s is written in another version", path)
		}
	}
}

func unmarshalClasses(text string) error { return json.Unmarshal([]byte(text), new(OneVsRest)) }
