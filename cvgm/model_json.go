package cvgm

import (
	"encoding/json"
	"fmt"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/strictjson"
	"cvgm/qpdiff"
	"cvgm/qpdiff/kernel"

	"gonum.org/v1/gonum/mat"
)

// modelJSON is the JSON form of a Model. Reading returns exactly the numbers that were written.
type modelJSON struct {
	Format    string    `json:"format"`
	Hyper     []float64 `json:"hyperparameters"`
	Theta     []float64 `json:"theta"`
	Intercept float64   `json:"intercept"`
	Mean      []float64 `json:"feature_mean"`
	Std       []float64 `json:"feature_deviation"`
	Features  *mapJSON  `json:"feature_map,omitempty"`
	Params    []float64 `json:"feature_map_parameters,omitempty"`

	Kernel *kernelJSON `json:"kernel_machine,omitempty"`
}

type mapJSON struct {
	Perceptron []int `json:"perceptron_widths,omitempty"`
	Linear     []int `json:"linear_map,omitempty"` // inputs, outputs
}

// kernelJSON is a kernel.Model.
type kernelJSON struct {
	Kernel   string      `json:"kernel"`           // kernelRBF, kernelPolynomial or kernelARD
	Degree   int         `json:"degree,omitempty"` // of a polynomial; 0: 3
	Shape    string      `json:"shape,omitempty"`  // of an ARD kernel
	Groups   []int       `json:"groups,omitempty"` // of an ARD kernel's features
	Params   []float64   `json:"kernel_parameters"`
	Rows     [][]float64 `json:"rows"`
	Coef     []float64   `json:"coefficients"`
	Constant float64     `json:"constant"`
}

const (
	kernelRBF        = "rbf"
	kernelPolynomial = "polynomial"
	kernelARD        = "ard"
)

const modelFormat = "cvgm model 1"

// modelKeys holds the keys of each object in the JSON text of a model. The key of the map is the
// name of the object. The value of a key is true if the key is required.
var modelKeys = map[string]map[string]bool{
	"model": {"format": true, "hyperparameters": true, "theta": true, "intercept": true, "feature_mean": true, "feature_deviation": true,
		"feature_map": false, "feature_map_parameters": false, "kernel_machine": false, strictjson.ChecksumKey: false},
	"feature_map":    {"perceptron_widths": false, "linear_map": false},
	"kernel_machine": {"kernel": true, "degree": false, "shape": false, "groups": false, "kernel_parameters": true, "rows": true, "coefficients": true, "constant": true},
}

// MarshalJSON writes a linear model, or a kernel machine and its support rows if the kernel is a
// kernel.RBF, kernel.ARD or kernel.Polynomial. It writes the tuned hyperparameters, the
// standardisation, and the feature map if it is a Perceptron or a LinearMap. The text ends with a
// checksum of the values. For any other kernel, map or predictor, and for a model whose parts do
// not fit together or are not finite, MarshalJSON returns an error.
func (m Model) MarshalJSON() ([]byte, error) {
	if m.Predictor != nil {
		return nil, fmt.Errorf("cvgm: a model of %T cannot be written as JSON: its prediction needs the training data; save those and fit again", m.Predictor)
	}
	if m.Prepared != nil {
		return nil, fmt.Errorf("cvgm: a model with prepared columns (%T) cannot be written as JSON by itself: write the Pipeline", m.Prepared)
	}
	out := modelJSON{Format: modelFormat, Hyper: m.Hyper, Theta: m.Theta, Intercept: m.Intercept, Mean: m.Mean, Std: m.Std, Params: m.Params}
	for _, list := range []*[]float64{&out.Hyper, &out.Theta} {
		if *list == nil {
			*list = []float64{} // null is not read back
		}
	}
	if m.Kernel != nil {
		var err error
		if out.Kernel, err = writeKernel(m.Kernel); err != nil {
			return nil, err
		}
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
	return strictjson.WithChecksum(out)
}

// UnmarshalJSON reads the text that MarshalJSON writes. If the text does not describe a model,
// UnmarshalJSON returns an error and does not change m. The error is a *qpdiff.ArgError if a part
// is missing, unknown, repeated or null, if parts do not fit together, or if the checksum is
// missing or wrong. The text may differ from the text of MarshalJSON in spaces, escapes, the order
// of keys, and the form of numbers with the same float64 value.
func (m *Model) UnmarshalJSON(text []byte) error {
	var in modelJSON
	// The format is checked first. Otherwise the text of another version would be reported as
	// damaged.
	var version struct {
		Format *string `json:"format"`
	}
	const remedy = "read the text of a model that MarshalJSON wrote"
	if err := json.Unmarshal(text, &version); err != nil {
		return fmt.Errorf("cvgm: not a model (%w): %s", err, remedy)
	}
	switch {
	case version.Format == nil:
		return args.Bad("format", qpdiff.ErrDomain, remedy, "is missing instead of %q", modelFormat)
	case *version.Format != modelFormat:
		return args.Bad("format", qpdiff.ErrDomain, remedy, "is %q instead of %q", *version.Format, modelFormat)
	}
	if err := strictjson.Read(text, modelKeys, "model", &in); err != nil {
		return err
	}
	read := Model{Hyper: in.Hyper, Theta: in.Theta, Intercept: in.Intercept, Mean: in.Mean, Std: in.Std, Params: in.Params}
	if in.Features != nil {
		w, l := in.Features.Perceptron, in.Features.Linear
		switch {
		case (w != nil) == (l != nil):
			return args.Bad("feature_map", qpdiff.ErrShape, "give either perceptron_widths or linear_map", "has both or neither of the two")
		case w != nil:
			if len(w) < 2 || slices.Min(w) < 1 || slices.Max(w) > 1<<20 {
				return args.Bad("perceptron_widths", qpdiff.ErrShape, "give at least two widths of at least one unit", "are %v", w)
			}
			read.Features = &Perceptron{Widths: w}
		default:
			if len(l) != 2 || min(l[0], l[1]) < 1 || max(l[0], l[1]) > 1<<20 {
				return args.Bad("linear_map", qpdiff.ErrShape, "give inputs and outputs", "is %v", l)
			}
			read.Features = &LinearMap{In: l[0], Out: l[1]}
		}
	}
	if in.Kernel != nil {
		var err error
		if read.Kernel, err = in.Kernel.readJSON(); err != nil {
			return err
		}
	}
	// The checksum is checked last, because the other errors are more precise.
	if err := args.First(read.check(), strictjson.Verify(text)); err != nil {
		return err
	}
	*m = read
	return nil
}

// shapes are the shapes of ARD kernels.
var shapes = []kernel.Shape{kernel.Gaussian, kernel.Matern32, kernel.Matern52}

// writeKernel returns the JSON form of k.
func writeKernel(k *kernel.Model) (*kernelJSON, error) {
	out := &kernelJSON{Params: append([]float64{}, k.Params...), Rows: [][]float64{}, Coef: append([]float64{}, k.Coef...), Constant: k.Intercept}
	switch kernel := k.Kernel.(type) {
	case nil, kernel.RBF:
		out.Kernel = kernelRBF
	case kernel.Polynomial:
		out.Kernel, out.Degree = kernelPolynomial, kernel.Degree
	case kernel.ARD:
		out.Kernel, out.Shape, out.Groups = kernelARD, kernel.Shape.String(), kernel.Groups
	default:
		return nil, fmt.Errorf("cvgm: a kernel of type %T cannot be written as JSON: save Model.Kernel and the rest by yourself", kernel)
	}
	if k.X != nil {
		for i := range k.X.RawMatrix().Rows {
			out.Rows = append(out.Rows, k.X.RawRowView(i))
		}
	}
	return out, nil
}

// readJSON returns the kernel machine.
func (k *kernelJSON) readJSON() (*kernel.Model, error) {
	m := &kernel.Model{Params: k.Params, Coef: k.Coef, Intercept: k.Constant}
	ard := k.Shape != "" || k.Groups != nil
	switch {
	case k.Kernel == kernelRBF && k.Degree == 0 && !ard:
		m.Kernel = kernel.RBF{}
	case k.Kernel == kernelPolynomial && !ard:
		m.Kernel = kernel.Polynomial{Degree: k.Degree}
	case k.Kernel == kernelARD && k.Degree == 0:
		shape := slices.IndexFunc(shapes, func(s kernel.Shape) bool { return s.String() == k.Shape })
		if shape < 0 {
			return nil, args.Bad("shape", qpdiff.ErrDomain, fmt.Sprintf("give one of %v", shapes), "is %q", k.Shape)
		}
		m.Kernel = kernel.ARD{Shape: shapes[shape], Groups: k.Groups}
	default:
		return nil, args.Bad("kernel", qpdiff.ErrDomain, "give rbf, polynomial with a degree, or ard with a shape", "is %q with the degree %d and the shape %q", k.Kernel, k.Degree, k.Shape)
	}
	for i, row := range k.Rows {
		if n := len(k.Rows[0]); len(row) != n || n == 0 {
			return nil, args.Bad("rows", qpdiff.ErrShape, "give rows of one length above 0", "has %d entries in row %d and %d in the first", len(row), i, n)
		}
	}
	if len(k.Rows) > 0 {
		m.X = mat.NewDense(len(k.Rows), len(k.Rows[0]), slices.Concat(k.Rows...))
	}
	return m, nil
}
