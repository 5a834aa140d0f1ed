package table

import (
	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// A Feature is one of the numbers into which a [Pipeline] turns a row.
type Feature struct {
	Name   string  // see [Encoder.Names]
	Column string  // the column of the file from which the feature is made; the first one of a [KernelEffect]
	Effect *Effect // the effect of the column; nil if it has none
	// Baseline is the level with which the coefficient of a level compares this level: the column's
	// level without a feature; see [Encoder]. It is empty for all other features.
	Baseline string
}

// Features returns the features of the pipeline in the order of its coefficients. If the parts of
// the pipeline do not fit together, it returns an error.
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
			features = append(features, Feature{names[len(features)], c.source(), c.Effect, c.baseline()})
		}
	}
	return features, nil
}

// Coefficients returns the intercept of a linear model and the coefficients of its Features. Up to
// rounding, the decision is intercept + Σ_j coefficients[j]·feature[j], with the features in the
// units of the file. A coefficient is in the unit of the decision divided by the unit of the
// feature. The coefficient of a level is the effect of this level minus the effect of the column's
// baseline, which [Feature] names.
//
// The error is of kind ErrDomain if the model is not linear, for example a kernel machine. It is of
// kind ErrShape if parts do not fit together, and of kind ErrNotFinite if a coefficient overflows.
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
