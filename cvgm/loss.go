package cvgm

import "math"

// A Loss is a cost c(ŷ, y) of predicting ŷ where the label is y. Slope is
// ∂c/∂ŷ; it is NaN where the loss has no derivative, and a gradient of the CV
// loss that would need it is then refused.
type Loss interface {
	Eval(prediction, y float64) (loss, slope float64)
}

// SquaredError is the regression loss (ŷ − y)².
type SquaredError struct{}

// Eval returns (ŷ − y)² and 2(ŷ − y).
func (SquaredError) Eval(prediction, y float64) (loss, slope float64) {
	r := prediction - y
	return r * r, 2 * r
}

// SoftMargin is the classification loss log(1 + exp(−y·ŷ)) for labels ±1.
type SoftMargin struct{}

// Eval returns log(1 + exp(−yŷ)) and −y/(1 + exp(yŷ)), without overflow.
func (SoftMargin) Eval(prediction, y float64) (loss, slope float64) {
	m := y * prediction
	e := math.Exp(-math.Abs(m))
	if m >= 0 {
		return math.Log1p(e), -y * e / (1 + e)
	}
	return math.Log1p(e) - m, -y / (1 + e)
}

// Hinge is the classification loss max(0, 1 − y·ŷ) for labels ±1. It has a kink
// where y·ŷ = 1: there its slope is NaN.
type Hinge struct{}

// Eval returns max(0, 1 − yŷ) and −y, 0 or, at yŷ = 1, NaN.
func (Hinge) Eval(prediction, y float64) (loss, slope float64) {
	switch m := y * prediction; {
	case m < 1:
		return 1 - m, -y
	case m == 1:
		return 0, math.NaN()
	}
	return 0, 0
}

// TruncatedQuadratic is the classification loss max(0, 1 − y·ŷ)² for labels ±1.
type TruncatedQuadratic struct{}

// Eval returns max(0, 1 − yŷ)² and −2y·max(0, 1 − yŷ).
func (TruncatedQuadratic) Eval(prediction, y float64) (loss, slope float64) {
	l := max(0, 1-y*prediction)
	return l * l, -2 * y * l
}

// Exponential is the classification loss exp(−y·ŷ) for labels ±1. It overflows
// where y·ŷ < −709.
type Exponential struct{}

// Eval returns exp(−yŷ) and −y·exp(−yŷ).
func (Exponential) Eval(prediction, y float64) (loss, slope float64) {
	l := math.Exp(-y * prediction)
	return l, -y * l
}

// ZeroOne is the misclassification loss for labels ±1: 0 where the prediction
// has the label's sign, else 1. A prediction of zero is wrong for either label.
// It has no derivative to descend: its CV loss is not even continuous in the
// hyperparameters.
type ZeroOne struct{}

// Eval returns 0 or 1, and NaN as the slope.
func (ZeroOne) Eval(prediction, y float64) (loss, slope float64) {
	if prediction*y > 0 {
		return 0, math.NaN()
	}
	return 1, math.NaN()
}
