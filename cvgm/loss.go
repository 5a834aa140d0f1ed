package cvgm

import (
	"math"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// A Loss is a cost c(ŷ, y) of predicting ŷ for the label y. The result slope of Eval is ∂c/∂ŷ, or
// NaN if the loss has no derivative at ŷ. If a gradient of the CV loss needs a slope that is NaN,
// the CV returns an error, unless the loss is a [KinkedLoss] and Config.Generalised is set.
type Loss interface {
	Eval(prediction, y float64) (loss, slope float64)
}

// A KinkedLoss is a continuous Loss with kinks in the prediction. At a kink it has one-sided
// slopes. If a prediction is at a kink to working precision, a CV needs Config.Generalised, and
// uses the slope that Kink returns. There is one exception: if the gradient is only with respect to
// the hyperparameters, the derivative of the prediction with respect to each of them may be 0,
// within rounding. In this case the derivative of the loss is 0, too, and Config.Generalised is not
// needed. For example, a validation row may be equal to a support vector at the margin.
type KinkedLoss interface {
	Loss
	// Kink returns the distance from the prediction to the nearest kink, and an element of the
	// subdifferential at that kink. Without a kink the distance is +Inf.
	Kink(prediction, y float64) (distance, slope float64)
}

// A LabelLoss is a Loss with a derivative with respect to the label. A CV needs it for a gradient
// with respect to the labels; see [CV.DataGradient].
type LabelLoss interface {
	Loss
	// LabelSlope returns ∂c/∂y, NaN if it does not exist.
	LabelSlope(prediction, y float64) float64
}

// A prediction is treated as being at a kink of the loss if its distance from the kink is at most
// lossKinkTol times the size of the prediction's terms. The error of a prediction, relative to this
// size, is about 2⁻⁵² times the condition number of the fit's problem, so 1e-10 covers condition
// numbers up to 5e5. By chance, about one prediction in 10¹⁰ is this close to a kink.
const lossKinkTol = 1e-10

// The terms of a kernel machine's prediction are computed only if the prediction is near a kink: if
// the distance is at most nearLossKink·(|prediction| + |label|). This suffices for terms that are
// 1e6 times as large as their sum.
const nearLossKink = 1e-4

// A prediction at a kink is treated as constant if its derivative is at most heldTol times the sum
// of the moduli of the derivative's terms. The relative error of each term is a small multiple of
// 2⁻⁵²·κ, where κ is a condition number. In some 60 problems of a few rows, a symmetry of the data
// made the prediction constant. In these problems the derivative was at most 2⁻⁵¹ times the sum of
// the moduli. A derivative that is smaller than heldTol has at most three correct digits.
const heldTol = 256 * 0x1p-52

// SquaredError is the regression loss (ŷ − y)².
type SquaredError struct{}

// Eval returns (ŷ − y)² and 2(ŷ − y).
func (SquaredError) Eval(prediction, y float64) (loss, slope float64) {
	r := prediction - y
	return r * r, 2 * r
}

// LabelSlope returns 2(y − ŷ).
func (SquaredError) LabelSlope(prediction, y float64) float64 { return 2 * (y - prediction) }

// AbsoluteError is the regression loss |ŷ − y|, in the unit of y. It has a kink at ŷ = y, at which
// its slope is NaN.
type AbsoluteError struct{}

// Eval returns |ŷ − y| and its slope: the sign of ŷ − y, or NaN if ŷ = y.
func (AbsoluteError) Eval(prediction, y float64) (loss, slope float64) {
	r := prediction - y
	if r == 0 {
		return 0, math.NaN()
	}
	return math.Abs(r), math.Copysign(1, r)
}

// LabelSlope returns the sign of y − ŷ, or NaN at ŷ = y.
func (l AbsoluteError) LabelSlope(prediction, y float64) float64 { return labelSlope(l, prediction, y) }

// Kink returns |ŷ − y| and the slope 0, the middle of the subdifferential.
func (AbsoluteError) Kink(prediction, y float64) (distance, slope float64) {
	return math.Abs(prediction - y), 0
}

// HuberLoss is the regression loss ½r² for a residual r = ŷ − y with |r| ≤ Delta, and Delta·(|r| −
// ½Delta) for a larger |r| (Huber 1964). The loss of an outlier grows with its distance, not with
// the squared distance. The slope is continuous, so the loss has no kink.
//
// Delta is in the unit of y, and has no default. If it is not finite or not above 0, [New] and
// [Model.Risk] return an error of kind qpdiff.ErrDomain.
type HuberLoss struct{ Delta float64 }

// Eval returns the loss and max(−Delta, min(ŷ − y, Delta)). It returns NaN for an invalid Delta.
func (l HuberLoss) Eval(prediction, y float64) (loss, slope float64) {
	if !(l.Delta > 0 && args.Finite(l.Delta)) {
		return math.NaN(), math.NaN()
	}
	r := prediction - y
	if size := math.Abs(r); size > l.Delta {
		return l.Delta * (size - .5*l.Delta), math.Copysign(l.Delta, r)
	}
	return .5 * r * r, r
}

// LabelSlope returns max(−Delta, min(y − ŷ, Delta)).
func (l HuberLoss) LabelSlope(prediction, y float64) float64 { return labelSlope(l, prediction, y) }

// check returns an error if Delta is invalid.
func (l HuberLoss) check() error {
	return args.BadIf(!(l.Delta > 0 && args.Finite(l.Delta)), "HuberLoss.Delta", qpdiff.ErrDomain, "give a finite threshold above 0, in the unit of the labels", "is %v", l.Delta)
}

// checkLoss returns an error if a setting of l is invalid.
func checkLoss(l Loss) error {
	if c, ok := l.(interface{ check() error }); ok {
		return c.check()
	}
	return nil
}

// LogisticLoss is the classification loss log(1 + exp(−y·ŷ)) for labels ±1:
// the negative log-likelihood of logistic regression.
type LogisticLoss struct{}

// Eval returns log(1 + exp(−yŷ)) and −y/(1 + exp(yŷ)), without overflow.
func (LogisticLoss) Eval(prediction, y float64) (loss, slope float64) {
	m := y * prediction
	e := math.Exp(-math.Abs(m))
	if m >= 0 {
		return math.Log1p(e), -y * e / (1 + e)
	}
	return math.Log1p(e) - m, -y / (1 + e)
}

// LabelSlope returns −ŷ/(1 + exp(yŷ)).
func (l LogisticLoss) LabelSlope(prediction, y float64) float64 { return labelSlope(l, prediction, y) }

// PoissonLoss is the loss e^ŷ − y + y·(ln y − ŷ) for labels y ≥ 0, which are counts or rates. For y
// = 0 the loss is e^ŷ, and for y < 0 it is NaN. It is half the deviance of the Poisson distribution
// with the expectation e^ŷ. Its minimum is 0, at ŷ = ln y.
type PoissonLoss struct{}

// Eval returns the loss and e^ŷ − y.
func (PoissonLoss) Eval(prediction, y float64) (loss, slope float64) {
	if y > 0 {
		r := prediction - math.Log(y)
		e := math.Expm1(r)
		return y * max(0, e-r), y * e
	}
	if y == 0 {
		e := math.Exp(prediction)
		return e, e
	}
	return math.NaN(), math.NaN()
}

// LabelSlope returns ln y − ŷ or, for y ≤ 0, NaN.
func (PoissonLoss) LabelSlope(prediction, y float64) float64 {
	if y > 0 {
		return math.Log(y) - prediction
	}
	return math.NaN()
}

// labelSlope returns ∂c/∂y of a loss with c(ŷ, y) = c(y, ŷ).
func labelSlope(l Loss, prediction, y float64) float64 {
	_, slope := l.Eval(y, prediction)
	return slope
}

// Hinge is the classification loss max(0, 1 − y·ŷ) for labels ±1. It has a kink at y·ŷ = 1, at
// which its slope is NaN.
type Hinge struct{}

// Eval returns max(0, 1 − yŷ) and its slope: −y if yŷ < 1, 0 if yŷ > 1, and NaN if yŷ = 1.
func (Hinge) Eval(prediction, y float64) (loss, slope float64) {
	switch m := y * prediction; {
	case m < 1:
		return 1 - m, -y
	case m == 1:
		return 0, math.NaN()
	}
	return 0, 0
}

// LabelSlope returns −ŷ, 0 or, at yŷ = 1, NaN.
func (l Hinge) LabelSlope(prediction, y float64) float64 { return labelSlope(l, prediction, y) }

// Kink returns |1/y − ŷ|, and the slope on the side on which the loss is 0. This slope is 0.
func (Hinge) Kink(prediction, y float64) (distance, slope float64) {
	return math.Abs((1 - y*prediction) / y), 0
}

// SquaredHinge is the classification loss max(0, 1 − y·ŷ)² for labels ±1. The paper calls it
// truncated quadratic.
type SquaredHinge struct{}

// Eval returns max(0, 1 − yŷ)² and −2y·max(0, 1 − yŷ).
func (SquaredHinge) Eval(prediction, y float64) (loss, slope float64) {
	l := max(0, 1-y*prediction)
	return l * l, -2 * y * l
}

// LabelSlope returns −2ŷ·max(0, 1 − yŷ).
func (l SquaredHinge) LabelSlope(prediction, y float64) float64 { return labelSlope(l, prediction, y) }

// Exponential is the classification loss exp(−y·ŷ) for labels ±1. It overflows for y·ŷ < −709.
type Exponential struct{}

// Eval returns exp(−yŷ) and −y·exp(−yŷ).
func (Exponential) Eval(prediction, y float64) (loss, slope float64) {
	l := math.Exp(-y * prediction)
	return l, -y * l
}

// LabelSlope returns −ŷ·exp(−yŷ).
func (l Exponential) LabelSlope(prediction, y float64) float64 { return labelSlope(l, prediction, y) }

// ZeroOne is the misclassification loss for labels ±1: 0 if the prediction has the label's sign,
// and otherwise 1. A prediction of zero is wrong for either label. ZeroOne has no useful derivative
// and no generalised derivative, because its CV loss is not even continuous in the hyperparameters.
type ZeroOne struct{}

// Eval returns 0 or 1, and NaN as the slope.
func (ZeroOne) Eval(prediction, y float64) (loss, slope float64) {
	if prediction*y > 0 {
		return 0, math.NaN()
	}
	return 1, math.NaN()
}

// LabelSlope returns NaN.
func (ZeroOne) LabelSlope(prediction, y float64) float64 { return math.NaN() }
