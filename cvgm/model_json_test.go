package cvgm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// tuned returns a model of every kind that JSON holds.
func tuned(t *testing.T) map[string]*Model {
	t.Helper()
	models := make(map[string]*Model)
	m, err := elasticNetCV(t, 1, 4, nil).Final([]float64{.1, .2})
	if err != nil {
		t.Fatal(err)
	}
	models["elastic net"] = m
	for name, f := range map[string]FeatureMap{"perceptron": &Perceptron{Widths: []int{10, 4, 2}}, "linear map": &LinearMap{In: 10, Out: 3}} {
		cv := elasticNetCV(t, 1, 4, func(c *Config) { c.Features, c.Hyper = f, []float64{.1, .2} })
		params := make([]float64, f.NumParams())
		src := synth.NewStream(3, "model")
		for i := range params {
			params[i] = src.NormFloat64()
		}
		if models[name], err = cv.Final(params); err != nil {
			t.Fatal(err)
		}
	}
	return models
}

func TestModelsPredictTheSameAfterJSON(t *testing.T) {
	x := regression(9, 20, 10).X
	for name, m := range tuned(t) {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(name, err)
		}
		var back Model
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(name, err)
		}
		want, got := make([]float64, 20), make([]float64, 20)
		if err := m.Predict(want, x); err != nil {
			t.Fatal(name, err)
		}
		if err := back.Predict(got, x); err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if diff := cmp.Diff(m.Hyper, back.Hyper); diff != "" || len(back.Hyper) != 2 {
			t.Errorf("%s, hyperparameters:\n%s", name, diff)
		}
	}
}

func TestModelJSONRefusesWhatIsNoModel(t *testing.T) {
	good, err := json.Marshal(tuned(t)["linear map"])
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("%s lacks %s", good, old)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for name, text := range map[string]string{
		"truncated":         string(good[:len(good)/2]),
		"other":             `{"a": 1}`,
		"other version":     edit("model 1", "model 2"),
		"more outputs":      edit(`"linear_map":[10,3]`, `"linear_map":[10,4]`),
		"no inputs":         edit(`"linear_map":[10,3]`, `"linear_map":[0,3]`),
		"narrow perceptron": edit(`"linear_map":[10,3]`, `"perceptron_widths":[10]`),
		"unknown map":       edit(`"linear_map":[10,3]`, `"spline":[10,3]`),
		"longer theta":      edit(`"theta":[`, `"theta":[1,1,`),
		"no deviations":     edit(`"feature_deviation":[`, `"feature_deviations":[`),
		"zero deviation":    edit(`"feature_deviation":[3`, `"feature_deviation":[-3`),
	} {
		m := Model{Intercept: 7}
		if err := json.Unmarshal([]byte(text), &m); err == nil || m.Intercept != 7 {
			t.Errorf("%s: error %v, model %+v", name, err, m)
		}
	}
	if _, err := json.Marshal(&Model{Features: ownMap{}}); err == nil || !strings.Contains(err.Error(), "ownMap") {
		t.Errorf("a map of one's own: %v", err)
	}
	var arg *qpdiff.ArgError
	if err := json.Unmarshal([]byte(edit(`"theta":[`, `"theta":[1,1,`)), new(Model)); !errors.As(err, &arg) {
		t.Errorf("error %v", err)
	}
}

// ownMap is a map that JSON knows nothing of.
type ownMap struct{ FeatureMap }

func (ownMap) Forward([]float64, *mat.Dense) (*mat.Dense, error) { return nil, nil }
