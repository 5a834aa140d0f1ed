package table

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
)

// fruitPipelines returns a pipeline for each class of the fruits.
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
	// The target of a file may be in any order of the classes.
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

// Decisions that are all far below 0 have probabilities, too.
func TestProbabilitiesOfSmallDecisions(t *testing.T) {
	whole, pipelines := fruitPipelines(t, func() learn.Learner { return new(linear.Logistic) }, cvgm.LogisticLoss{}, []float64{10})
	for k, p := range pipelines {
		p.Model.Intercept = -1e4 + float64(k)
		clear(p.Model.Theta)
	}
	got := casetest.Must((&OneVsRest{pipelines}).Probability(whole))(t)
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
		"none": nil, "two": pipelines[:2], "a class twice": {pipelines[0], pipelines[1], pipelines[1]}, "nil": {pipelines[0], nil, pipelines[1]}, "another table": {pipelines[0], pipelines[1], parcelPipeline(t)},
	} {
		if _, err := NewOneVsRest(parts); !errors.Is(err, qpdiff.ErrShape) && !errors.Is(err, qpdiff.ErrEmpty) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := json.Marshal(OneVsRest{parts}); err == nil {
			t.Errorf("%s is written", name)
		}
	}
	var none *OneVsRest
	if _, err := none.Class(whole); !errors.Is(err, qpdiff.ErrShape) {
		t.Error(err)
	}
	text := string(casetest.Must(json.Marshal(c))(t))
	for old, other := range map[string]string{`"format":"cvgm one`: `"format":"cvgm two`, `"version":1,"pipelines"`: `"version":9,"pipelines"`, `"pipelines":[`: `"more":1,"pipelines":[`, `"theta":[`: `"theta":[1,`} {
		if err := unmarshalClasses(strings.Replace(text, old, other, 1)); err == nil {
			t.Errorf("%s in place of %s is read", other, old)
		}
	}
}

func unmarshalClasses(text string) error { return json.Unmarshal([]byte(text), new(OneVsRest)) }
