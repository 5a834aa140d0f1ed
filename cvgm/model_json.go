package cvgm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"cvgm/qpdiff"
)

// modelJSON is how a Model is written. Numbers are written so that they read
// back the same.
type modelJSON struct {
	Format    string    `json:"format"`
	Hyper     []float64 `json:"hyperparameters"`
	Theta     []float64 `json:"theta"`
	Intercept float64   `json:"intercept"`
	Mean      []float64 `json:"feature_mean"`
	Std       []float64 `json:"feature_deviation"`
	Features  *mapJSON  `json:"feature_map,omitempty"`
	Params    []float64 `json:"feature_map_parameters,omitempty"`
}

type mapJSON struct {
	Perceptron []int `json:"perceptron_widths,omitempty"`
	Linear     []int `json:"linear_map,omitempty"` // inputs, outputs
}

const modelFormat = "cvgm model 1"

// modelKeys are the keys of a model's JSON text, by the key of the object that
// they belong to, and whether they are required.
var modelKeys = map[string]map[string]bool{
	"": {"format": true, "hyperparameters": true, "theta": true, "intercept": true, "feature_mean": true, "feature_deviation": true,
		"feature_map": false, "feature_map_parameters": false},
	"feature_map": {"perceptron_widths": false, "linear_map": false},
}

// MarshalJSON writes a linear model, with the hyperparameters it was tuned to,
// its standardisation and its feature map if that is a Perceptron or a
// LinearMap. Other maps and kernel methods, whose prediction needs the training
// data, are refused, and so is a model whose parts do not fit together or are
// not finite.
func (m Model) MarshalJSON() ([]byte, error) {
	if m.Predictor != nil {
		return nil, fmt.Errorf("cvgm: a model of %T cannot be written as JSON: its prediction needs the training data; save those and fit again", m.Predictor)
	}
	out := modelJSON{Format: modelFormat, Hyper: m.Hyper, Theta: m.Theta, Intercept: m.Intercept, Mean: m.Mean, Std: m.Std, Params: m.Params}
	if out.Hyper == nil {
		out.Hyper = []float64{} // null is not read back
	}
	switch f := m.Features.(type) {
	case nil:
	case *Perceptron:
		out.Features = &mapJSON{Perceptron: f.Widths}
	case *LinearMap:
		out.Features = &mapJSON{Linear: []int{f.In, f.Out}}
	default:
		return nil, fmt.Errorf("cvgm: a feature map of type %T cannot be written as JSON: save Model.Params and the rest by yourself", f)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. Text that makes no model is an
// error, a *qpdiff.ArgError where a part is missing, unknown, repeated or null,
// or where the parts do not fit together; then m is left as it was.
func (m *Model) UnmarshalJSON(text []byte) error {
	var in modelJSON
	// The format comes first, so that another version is not called damaged.
	var version struct {
		Format *string `json:"format"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return fmt.Errorf("cvgm: not a model: %w", err)
	}
	if version.Format == nil || *version.Format != modelFormat {
		got := "missing"
		if version.Format != nil {
			got = fmt.Sprintf("%q", *version.Format)
		}
		return badArg("format", qpdiff.ErrDomain, "read the text of a model that MarshalJSON wrote", "is %s instead of %q", got, modelFormat)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a number out of range is found below
	if err := checkKeys(d, ""); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("cvgm: not a model: %w", err)
	}
	read := Model{Hyper: in.Hyper, Theta: in.Theta, Intercept: in.Intercept, Mean: in.Mean, Std: in.Std, Params: in.Params}
	if in.Features != nil {
		w, l := in.Features.Perceptron, in.Features.Linear
		switch {
		case (w != nil) == (l != nil):
			return badArg("feature_map", qpdiff.ErrShape, "give either perceptron_widths or linear_map", "has both or neither of the two")
		case w != nil:
			if len(w) < 2 || slices.Min(w) < 1 || slices.Max(w) > 1<<20 {
				return badArg("perceptron_widths", qpdiff.ErrShape, "give at least two widths of at least one unit", "are %v", w)
			}
			read.Features = &Perceptron{Widths: w}
		default:
			if len(l) != 2 || min(l[0], l[1]) < 1 || max(l[0], l[1]) > 1<<20 {
				return badArg("linear_map", qpdiff.ErrShape, "give inputs and outputs", "is %v", l)
			}
			read.Features = &LinearMap{In: l[0], Out: l[1]}
		}
	}
	if err := read.check(); err != nil {
		return err
	}
	*m = read
	return nil
}

// checkKeys reads one value of valid JSON, which belongs to key, and reports keys that
// are unknown, repeated or missing, and nulls. encoding/json accepts all of
// them, and keys in another case.
func checkKeys(d *json.Decoder, key string) error {
	where := cmp.Or(key, "model")
	switch token, _ := d.Token(); token {
	case nil:
		return badArg(where, qpdiff.ErrDomain, "give numbers", "holds null")
	case json.Delim('['):
		for d.More() {
			if err := checkKeys(d, key); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		known, seen := modelKeys[key], map[string]bool{}
		for d.More() {
			name, _ := d.Token()
			k := name.(string)
			if _, ok := known[k]; !ok {
				return badArg(where, qpdiff.ErrDomain, "remove the key, or correct its name", "has the unknown key %q", k)
			}
			if seen[k] {
				return badArg(where, qpdiff.ErrDomain, "remove one of them", "has the key %q twice", k)
			}
			seen[k] = true
			if err := checkKeys(d, k); err != nil {
				return err
			}
		}
		var missing []string
		for k, required := range known {
			if required && !seen[k] {
				missing = append(missing, k)
			}
		}
		if slices.Sort(missing); len(missing) > 0 {
			return badArg(where, qpdiff.ErrShape, "add what is missing", "lacks %s", strings.Join(missing, ", "))
		}
	default:
		return nil
	}
	_, err := d.Token() // the closing delimiter
	return err
}
