package cvgm

import (
	"encoding/json"
	"fmt"
	"slices"

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
	Dev       []float64 `json:"feature_deviation"`
	Features  *mapJSON  `json:"feature_map,omitempty"`
	Params    []float64 `json:"feature_map_parameters,omitempty"`
}

type mapJSON struct {
	Perceptron []int   `json:"perceptron_widths,omitempty"`
	Linear     *[2]int `json:"linear_map,omitempty"` // inputs, outputs
}

const modelFormat = "cvgm model 1"

// MarshalJSON writes a linear model, with the hyperparameters it was tuned to,
// its standardisation and its feature map if that is a Perceptron or a
// LinearMap. Other maps and kernel methods, whose prediction needs the training
// data, are refused.
func (m *Model) MarshalJSON() ([]byte, error) {
	out := modelJSON{Format: modelFormat, Hyper: m.Hyper, Theta: m.Theta, Intercept: m.Intercept, Mean: m.Mean, Dev: m.Dev, Params: m.Params}
	if m.Decider != nil {
		return nil, fmt.Errorf("cvgm: a model of %T cannot be written as JSON: its prediction needs the training data; save those and fit again", m.Decider)
	}
	switch f := m.Features.(type) {
	case nil:
	case *Perceptron:
		out.Features = &mapJSON{Perceptron: f.Widths}
	case *LinearMap:
		out.Features = &mapJSON{Linear: &[2]int{f.In, f.Out}}
	default:
		return nil, fmt.Errorf("cvgm: a feature map of type %T cannot be written as JSON: save Model.Params and the rest by yourself", f)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote. Text that makes no model is an
// error, a *qpdiff.ArgError where the sizes of its parts do not match.
func (m *Model) UnmarshalJSON(text []byte) error {
	var in modelJSON
	if err := json.Unmarshal(text, &in); err != nil {
		return fmt.Errorf("cvgm: not a model: %w", err)
	}
	if in.Format != modelFormat {
		return fmt.Errorf("cvgm: not a model: its format is %q instead of %q", in.Format, modelFormat)
	}
	read := Model{Hyper: in.Hyper, Theta: in.Theta, Intercept: in.Intercept, Mean: in.Mean, Dev: in.Dev, Params: in.Params}
	if in.Features != nil {
		switch {
		case in.Features.Perceptron != nil:
			w := in.Features.Perceptron
			if len(w) < 2 || slices.Min(w) < 1 || slices.Max(w) > 1<<20 {
				return badArg("perceptron_widths", qpdiff.ErrShape, "give at least two widths of at least one unit", "are %v", w)
			}
			read.Features = &Perceptron{Widths: w}
		case in.Features.Linear != nil:
			l := *in.Features.Linear
			if min(l[0], l[1]) < 1 || max(l[0], l[1]) > 1<<20 {
				return badArg("linear_map", qpdiff.ErrShape, "give inputs and outputs", "is %v", l)
			}
			read.Features = &LinearMap{In: l[0], Out: l[1]}
		default:
			return badArg("feature_map", qpdiff.ErrShape, "use perceptron_widths or linear_map", "is of no known kind")
		}
		_, out := read.Features.Dims()
		if out != len(read.Mean) || read.Features.NumParams() != len(read.Params) {
			return badArg("feature_map", qpdiff.ErrShape, "keep the parts of a model together",
				"has %d outputs and %d parameters where the model has %d features and %d parameters",
				out, read.Features.NumParams(), len(read.Mean), len(read.Params))
		}
	}
	if n := len(read.Mean); n == 0 || len(read.Dev) != n || len(read.Theta) < n || len(read.Theta) > n+1 {
		return badArg("theta", qpdiff.ErrShape, "keep the parts of a model together",
			"has %d entries for %d means and %d deviations", len(read.Theta), n, len(read.Dev))
	}
	for j, d := range read.Dev {
		if !(d > 0) {
			return badArg("feature_deviation", qpdiff.ErrDomain, "deviations are positive", "is %v for feature %d", d, j)
		}
	}
	*m = read
	return nil
}
