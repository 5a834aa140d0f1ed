package kernel

import (
	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/learner"
	"cvgm/qpdiff/learn"

	"gonum.org/v1/gonum/mat"
)

// A Model is the prediction function of a fitted kernel machine, without its training data,
//
//	f(x) = Σ_i Coef_i·k(x_i, x) + Intercept
//
// with the rows x_i of X. For an [SVM] they are the support vectors, and for a [Ridge] the training
// rows with a weight above 0. The methods of a Model may be called concurrently.
type Model struct {
	Kernel    Kernel     // nil: RBF
	Params    []float64  // of the kernel
	X         *mat.Dense // one row for each coefficient; nil without any
	Coef      []float64
	Intercept float64
}

// Check returns an error for the first defect of the Model m: a field that is not finite, is
// outside its domain, or does not fit the other fields. The error is an ArgError of kind ErrShape,
// ErrNotFinite or ErrDomain.
func (m *Model) Check() error { return learner.Named(m, m.check()) }

func (m *Model) check() error {
	rows, n := 0, 0
	if m.X != nil {
		rows, n = m.X.Dims()
	}
	if rows != len(m.Coef) {
		return check.ArgErrorf("Model.Coef", qpdiff.ErrShape, "give one coefficient per row of X", "has %d entries for the %d rows of X", len(m.Coef), rows)
	}
	kernel := orRBF(m.Kernel)
	if rows > 0 {
		if err := checkFeatures(kernel, n); err != nil {
			return err
		}
		if want := kernel.NumParams(n); want != len(m.Params) {
			return check.ArgErrorf("Model.Params", qpdiff.ErrShape, "give the kernel's parameters", "has %d entries instead of %d", len(m.Params), want)
		}
	}
	const remedy = "use the model of a fit that succeeded"
	for _, err := range []error{check.Finite("Model.Params", remedy, m.Params), check.Finite("Model.Coef", remedy, m.Coef),
		check.Finite("Model.Intercept", remedy, []float64{m.Intercept}), check.FiniteRows("Model.X", remedy, m.X)} {
		if err != nil {
			return err
		}
	}
	if rows == 0 {
		return nil
	}
	return kernel.Check(m.Params)
}

// Predict writes the prediction f(x) for each row of x to dst, with the same bits as the Predict of
// the learner. It returns the errors of Check. If x cannot be used, it returns an ArgError of kind
// ErrShape or ErrNotFinite. If a value overflows, the error is of kind ErrNotFinite, and the
// entries of dst for this row and all later rows are undefined.
func (m *Model) Predict(dst []float64, x *mat.Dense) (err error) {
	defer learner.Name(m, &err)
	if err := m.check(); err != nil {
		return err
	}
	if x == nil {
		return checkColumns(x, 0)
	}
	if m.X != nil {
		if err := checkColumns(x, m.X.RawMatrix().Cols); err != nil {
			return err
		}
	}
	check.Length("dst", dst, x.RawMatrix().Rows)
	if err := check.FiniteRows("x", "remove or impute the entry", x); err != nil {
		return err
	}
	kernel := orRBF(m.Kernel)
	for t := range dst {
		f := m.Intercept
		for i, c := range m.Coef {
			f += float64(c * kernel.Eval(m.Params, m.X.RawRowView(i), x.RawRowView(t))) // the same bits on each processor
		}
		if dst[t] = f; !dense.Finite(f) {
			return check.ArgErrorf("x", qpdiff.ErrNotFinite, "scale the features or change the kernel's parameters", "has a row %d whose prediction is %v", t, f)
		}
	}
	return nil
}

// A Machine is a Predictor whose prediction function is a [Model].
type Machine interface {
	learn.Predictor
	// Model returns a copy of the prediction function of the last Fit.
	Model() (*Model, error)
	// PredictionSize returns the sum of the absolute values of the terms in f(x), where f is the
	// prediction function of the last Fit. The rounding error of f(x) is proportional to this size.
	PredictionSize(x []float64) float64
}
