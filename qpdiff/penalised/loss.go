package penalised

import (
	"math"
	"strconv"

	"cvgm/qpdiff"
	"cvgm/qpdiff/internal/check"
	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/learn"
)

// A Loss is the loss of a [GLM] for one row: ℓ(y, η), where y is the label and η is the linear
// prediction.
type Loss int

const (
	// Squared is ½(y − η)².
	Squared Loss = iota
	// Logistic is log(1 + exp(−yη)) for labels y = ±1. Here η is the log odds of the label +1.
	Logistic
	// Poisson is exp(η) − yη for labels y ≥ 0. Here η is the logarithm of the expected y. For counts c
	// with the exposures e, use the rates c/e as labels and the exposures e as weights. The objective
	// is then the negative log-likelihood of Poisson counts c with the expectation e·exp(η), up to a
	// constant.
	Poisson
)

// name returns the name of the loss k for errors. If k is not one of the constants above, name
// returns the number k.
func (k Loss) name() string {
	switch k {
	case Squared:
		return "Squared"
	case Logistic:
		return "Logistic"
	case Poisson:
		return "Poisson"
	}
	return strconv.Itoa(int(k))
}

// derivatives returns three derivatives of the loss ℓ. The result slope is ∂ℓ/∂η, curvature is
// ∂²ℓ/∂η², and slopeY is ∂²ℓ/∂η∂y.
func (k Loss) derivatives(y, eta float64) (slope, curvature, slopeY float64) {
	switch k {
	case Logistic:
		s, rest := 1/(1+math.Exp(y*eta)), 1/(1+math.Exp(-y*eta))
		return -y * s, s * rest, y*eta*s*rest - s
	case Poisson:
		m := math.Exp(eta)
		return m - y, m, -1
	default:
		return eta - y, 1, -1
	}
}

// constant returns the best constant prediction η for labels with the given mean. If no constant is
// best, it returns 0.
func (k Loss) constant(mean float64) float64 {
	switch {
	case k == Squared:
		return mean
	case k == Poisson && mean > 0:
		return math.Log(mean)
	case k == Logistic && math.Abs(mean) < 1:
		return math.Log((1 + mean) / (1 - mean))
	}
	return 0
}

// usualCurvature returns the curvature of the loss in η at the best constant prediction for labels
// with the given mean. There are two exceptions. For Logistic the mean counts as 0. For Poisson
// with the mean 0 the result is 1.
func (k Loss) usualCurvature(mean float64) float64 {
	switch {
	case k == Logistic:
		return .25
	case k == Poisson && mean > 0:
		return mean
	}
	return 1
}

// check returns an error for an unknown loss, or for a label outside the domain of the loss.
func (k Loss) check(d learn.Data) error {
	if k < Squared || k > Poisson {
		return check.ArgErrorf("GLM.Loss", qpdiff.ErrDomain, "use Squared, Logistic or Poisson", "is %d", int(k))
	}
	for i, y := range d.Y {
		if k == Poisson && y < 0 {
			return check.ArgErrorf("Data.Y", qpdiff.ErrDomain, "give counts or rates at or above 0", "holds %v at index %d", y, i)
		}
	}
	return nil
}

// evaluate computes the derivatives of each row's term of the objective at p.eta, the predictions
// of the rows. The term of row i has the weight w[i].
func (k Loss) evaluate(p *point, y, w []float64) {
	for i, eta := range p.eta {
		slope, curvature, slopeY := k.derivatives(y[i], eta)
		p.slope[i], p.curvature[i], p.slopeY[i] = w[i]*slope, w[i]*curvature, w[i]*slopeY
	}
}

// A point holds predictions and derivatives of all rows at one θ. With several outputs, eta and
// slope hold all rows of the first output, then all rows of the second, and so on. curvature has m
// entries for each pair of outputs, in the order of [softmax.pairIndex].
type point struct {
	eta, slope, curvature []float64
	slopeY                []float64 // of one output
}

// grow allocates storage for m rows.
func (p *point) grow(m, outputs int) {
	dense.GrowAll(m*outputs, &p.eta, &p.slope)
	p.curvature = dense.Grow(p.curvature, m*outputs*(outputs+1)/2)
	p.slopeY = dense.Grow(p.slopeY, m)
}
