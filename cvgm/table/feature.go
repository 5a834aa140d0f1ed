package table

import (
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// A Feature is one of the numbers into which a [Pipeline] turns a row.
type Feature struct {
	Name   string  // as in [Encoder.Names]
	Column string  // of the file, also of a part of its dates
	Effect *Effect // of the column; nil without
}

// Features returns the features of the pipeline in the order of its coefficients. A pipeline whose
// parts do not fit together is an error.
func (p *Pipeline) Features() ([]Feature, error) {
	e, err := p.encoder()
	if err != nil {
		return nil, err
	}
	names := e.Names()
	features := make([]Feature, 0, len(names))
	for j := range e.columns {
		c := &e.columns[j]
		for range c.Features() {
			features = append(features, Feature{names[len(features)], c.source(), c.Effect})
		}
	}
	return features, nil
}

// Coefficients returns the coefficients of the Features of a linear model, and its intercept.
// Except for rounding, the decision is intercept + Σ coefficients[j]·feature[j], with the features
// in the units of the file. The unit of a coefficient is the decision's unit divided by the
// feature's. For a level, the coefficient is the difference from the column's first level. Errors
// are of kind ErrDomain for a model that is not linear, such as a kernel machine; of kind ErrShape
// for parts that do not fit together; and of kind ErrNotFinite if a coefficient overflows.
func (p *Pipeline) Coefficients() (intercept float64, coefficients []float64, err error) {
	if _, err := p.encoder(); err != nil {
		return 0, nil, err
	}
	m := p.Model
	n := len(m.Mean)
	switch {
	case m.Kernel != nil || m.Predictor != nil:
		return 0, nil, args.Bad("Pipeline.Model", qpdiff.ErrDomain, "train a linear learner", "is not linear in its features")
	case len(m.Std) != n || len(m.Theta) < n || len(m.Theta) > n+1:
		return 0, nil, args.Bad("Pipeline.Model", qpdiff.ErrShape, "keep the parts of a model together",
			"has %d means, %d deviations and %d weights", n, len(m.Std), len(m.Theta))
	}
	intercept = m.Intercept
	if len(m.Theta) > n {
		intercept += m.Theta[n]
	}
	coefficients = make([]float64, n)
	for j, mean := range m.Mean {
		coefficients[j] = m.Theta[j] / m.Std[j]
		intercept -= coefficients[j] * mean
	}
	if !args.Finite(intercept) || !args.AllFinite(coefficients) {
		return 0, nil, args.Bad("Pipeline.Model", qpdiff.ErrNotFinite, "scale the columns", "has coefficients that overflow in the units of the file")
	}
	return intercept, coefficients, nil
}
