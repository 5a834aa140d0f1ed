package cvgm

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/strictjson"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

// modelsOfEachKind returns one model of each kind that JSON can hold.
func modelsOfEachKind(t *testing.T) map[string]*Model {
	t.Helper()
	models := make(map[string]*Model)
	m := casetest.Must(elasticNetCV(t, 1, 4, nil).Final([]float64{.1, .2}))(t)
	models["elastic net"] = m
	for name, f := range map[string]FeatureMap{"perceptron": &Perceptron{Widths: []int{10, 4, 2}}, "linear map": &LinearMap{In: 10, Out: 3}} {
		cv := elasticNetCV(t, 1, 4, func(c *Config) { c.Features, c.Hyper = f, []float64{.1, .2} })
		params := make([]float64, f.NumParams())
		src := synth.NewStream(3, "model")
		for i := range params {
			params[i] = src.NormFloat64()
		}
		models[name] = casetest.Must(cv.Final(params))(t)
	}
	for name, learner := range map[string]func() learn.Learner{
		"kernel SVM":           func() learn.Learner { return &kernel.SVM{Intercept: true} },
		"kernel ridge":         func() learn.Learner { return &kernel.Ridge{Kernel: kernel.Polynomial{Degree: 2}} },
		"kernel ridge, widths": func() learn.Learner { return &kernel.Ridge{Kernel: kernel.ARD{}} },
		"kernel SVM, groups": func() learn.Learner {
			return &kernel.SVM{Kernel: kernel.ARD{Shape: kernel.Matern32, Groups: []int{0, 0, 0, 0, 0, 0, 1, 1, 1, 1}}}
		},
		"kernel ridge on a linear map": func() learn.Learner { return new(kernel.Ridge) },
	} {
		d := casetest.Regression(1, 30, 10)
		c := Config{Data: d, Splits: []Split{{Train: []int{0, 1}, Val: []int{2}}}, Loss: SquaredError{}, Standardise: true, Learner: learner}
		alpha := []float64{.3, .1}
		switch name {
		case "kernel SVM", "kernel SVM, groups":
			c.Data = signedLabels(c.Data)
			c.Data.Y[0], c.Data.Y[1] = 1, -1
			if name != "kernel SVM" {
				alpha = append(alpha, .2)
			}
		case "kernel ridge, widths":
			alpha = []float64{.3, .1, 0, .2, .1, .1, .1, .3, 0, .1, .01}
		case "kernel ridge":
			alpha, c.Centring = []float64{.3, .1, 1}, MeanCentring
		default:
			c.Features = &LinearMap{In: 10, Out: 3}
			alpha = append(alpha, normalVector(synth.NewStream(4, "model"), c.Features.NumParams())...)
		}
		cv, err := New(c)
		if err != nil {
			t.Fatal(name, err)
		}
		if models[name], err = cv.Final(alpha); err != nil {
			t.Fatal(name, err)
		}
		if m := models[name]; m.Kernel == nil || m.Predictor != nil {
			t.Errorf("%s: kernel %v, predictor %v", name, m.Kernel, m.Predictor)
		}
	}
	return models
}

func TestModelsPredictTheSameAfterJSON(t *testing.T) {
	x := casetest.Regression(9, 20, 10).Dense()
	for name, m := range modelsOfEachKind(t) {
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
		if diff := cmp.Diff(m.Hyper, back.Hyper); diff != "" || len(back.Hyper) < 2 {
			t.Errorf("%s, hyperparameters:\n%s", name, diff)
		}
	}
}

func TestModelJSONRefusesWhatIsNoModel(t *testing.T) {
	good := casetest.Must(json.Marshal(modelsOfEachKind(t)["linear map"]))(t)
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
		"null":              "null",
		"null in a list":    edit(`"theta":[`, `"theta":[null,`),
		"null list":         edit(`"hyperparameters":[0.1,0.2]`, `"hyperparameters":null`),
		"null map":          edit(`{"linear_map":[10,3]}`, `null`),
		"no intercept":      edit(`"intercept":`, `"feature_map_parameters":[],"interception":`),
		"no hyper":          edit(`"hyperparameters":[0.1,0.2],`, ``),
		"two maps":          edit(`"linear_map":[10,3]`, `"linear_map":[10,3],"perceptron_widths":[10,3]`),
		"no map":            edit(`"linear_map":[10,3]`, ``),
		"three dimensions":  edit(`"linear_map":[10,3]`, `"linear_map":[10,3,1]`),
		"huge map":          edit(`"linear_map":[10,3]`, `"linear_map":[4294967296,3]`),
		"key twice":         edit(`"intercept":`, `"intercept":1,"intercept":`),
		"key in two cases":  edit(`"intercept":`, `"Intercept":1,"intercept":`),
		"map's key twice":   edit(`"linear_map":[10,3]`, `"linear_map":[10,2],"linear_map":[10,3]`),
		"number too large":  edit(`"theta":[`, `"theta":[1e999,`),
		"NaN":               edit(`"theta":[`, `"theta":[NaN,`),
		"trailing text":     string(good) + "1",
		"list":              `["format"]`,
		"params only":       edit(`"feature_map":{"linear_map":[10,3]},`, ``),
	} {
		m := Model{Intercept: 7}
		err := json.Unmarshal([]byte(text), &m)
		if err == nil || m.Intercept != 7 {
			t.Errorf("%s: error %v, model %+v", name, err, m)
		}
		if err := m.UnmarshalJSON([]byte(text)); err == nil || m.Intercept != 7 || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), strictjson.ChecksumKey) {
			t.Errorf("%s: error %v, model %+v", name, err, m)
		}
	}
	if _, err := json.Marshal(&Model{Features: ownMap{}}); err == nil || !strings.Contains(err.Error(), "ownMap") {
		t.Errorf("a map of one's own: %v", err)
	}
	for _, text := range []string{edit(`"theta":[`, `"theta":[1,1,`), edit(`"format"`, `"form"`), edit(`model 1`, `model 2`)} {
		var arg *qpdiff.ArgError
		if err := json.Unmarshal([]byte(text), new(Model)); !errors.As(err, &arg) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// A text of a kernel machine that describes no valid model is an error.
func TestModelJSONRefusesWhatIsNoKernelMachine(t *testing.T) {
	models := modelsOfEachKind(t)
	good, groups := casetest.Must(json.Marshal(models["kernel ridge"]))(t), casetest.Must(json.Marshal(models["kernel SVM, groups"]))(t)
	for _, change := range [][2]string{
		{`"kernel":"polynomial"`, `"kernel":"polynomial","shape":"Gaussian"`}, {`"kernel":"polynomial"`, `"kernel":"polynomial","groups":[0]`},
		{`"kernel":"polynomial"`, `"kernel":"spline"`}, {`"kernel":"polynomial"`, `"kernel":"rbf"`}, {`"degree":2`, `"degree":-2`},
		{`"kernel_parameters":[`, `"kernel_parameters":[1,`}, {`"kernel_parameters":[0.1`, `"kernel_parameters":[-0.1`},
		{`"rows":[[`, `"rows":[[1,`}, {`"rows":[`, `"rows":[[],`}, {`"rows":[`, `"rows":[[1,2,3,4,5,6,7,8,9,0],`}, {`"rows":[`, `"rows":[1,`},
		{`"coefficients":[`, `"coefficients":[1,`}, {`"coefficients":[`, `"coefficients":[1e999,`}, {`"constant":0`, `"constant":null`}, {`"constant":0`, `"constants":0`},
		{`"feature_mean":[`, `"feature_mean":[1,`},
	} {
		refusesChanged(t, good, change[0], change[1])
	}
	for _, change := range [][2]string{
		{`"kernel":"ard"`, `"kernel":"rbf"`}, {`"kernel":"ard"`, `"kernel":"ard","degree":2`}, {`"shape":"Matern32",`, ``}, {`"Matern32"`, `"Matern"`},
		{`"groups":[0,`, `"groups":[`}, {`"groups":[0,0`, `"groups":[0,2`}, {`"groups":[0,0`, `"groups":[0,-1`}, {`"groups":[0,0`, `"groups":[0,0.5`},
		{`"kernel_parameters":[`, `"kernel_parameters":[1,`}, {`"kernel_parameters":[0.1`, `"kernel_parameters":[-0.1`},
	} {
		refusesChanged(t, groups, change[0], change[1])
	}
	if _, err := json.Marshal(&Model{Kernel: &kernel.Model{Kernel: ownKernel{}}}); err == nil || !strings.Contains(err.Error(), "ownKernel") {
		t.Errorf("a kernel of one's own: %v", err)
	}
	if _, err := json.Marshal(&Model{Predictor: new(kernel.SVM)}); err == nil || !strings.Contains(err.Error(), "kernel.SVM") {
		t.Errorf("a predictor of one's own: %v", err)
	}
}

// refusesChanged fails unless the text is refused if oldText is replaced by newText.
func refusesChanged(t *testing.T, text []byte, oldText, newText string) {
	t.Helper()
	if !strings.Contains(string(text), oldText) {
		t.Fatalf("%s lacks %s", text, oldText)
	}
	m := Model{Intercept: 7}
	if err := m.UnmarshalJSON([]byte(strings.Replace(string(text), oldText, newText, 1))); err == nil || m.Intercept != 7 || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), strictjson.ChecksumKey) {
		t.Errorf("%s: error %v, model %+v", newText, err, m)
	}
}

type ownKernel struct{ kernel.Kernel }

// A Model has the same JSON as a pointer, as a value and within other values. An invalid model is
// not written.
func TestModelsMarshalByValue(t *testing.T) {
	for name, m := range modelsOfEachKind(t) {
		m.Hyper = nil // of a learner without any
		want := casetest.Must(json.Marshal(m))(t)
		for i, v := range []any{*m, []Model{*m}, map[string]any{"model": *m}, struct{ M Model }{*m}} {
			got, err := json.Marshal(v)
			if err != nil || !strings.Contains(string(got), string(want)) {
				t.Errorf("%s, value %d: %s, error %v; want %s", name, i, got, err, want)
			}
		}
		var back Model
		if err := json.Unmarshal(want, &back); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := json.Marshal(Model{}); err == nil {
		t.Errorf("an empty model is written as %s", text)
	}
}

// ownMap is a map that has no JSON form, and that breaks its contract.
type ownMap struct{ FeatureMap }

func (ownMap) Dims() (in, out int) { return 1, 1 }
func (ownMap) NumParams() int      { return 1 }
func (ownMap) Forward(_ []float64, x *mat.Dense) (*mat.Dense, error) {
	rows, _ := x.Dims()
	return mat.NewDense(rows, 1, slices.Repeat([]float64{math.NaN()}, rows)), nil
}

func TestModelJSONIsChecked(t *testing.T) {
	kinds := map[string]func() json.Unmarshaler{}
	for _, m := range modelsOfEachKind(t) {
		text := casetest.Must(json.Marshal(m))(t)
		kinds[string(text)] = func() json.Unmarshaler { return new(Model) }
	}
	casetest.CheckChangedJSON(t, kinds)
	casetest.CheckFormsOfJSON(t, kinds)
}
