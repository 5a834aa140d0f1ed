package interval

import (
	"math"

	"cvgm/cvgm/internal/args"
)

// errorsAt holds predictions in ascending order, with the absolute value and the weight of the
// error of each prediction.
type errorsAt struct{ at, size, weight []float64 }

// A trend is the mean size of the errors as a function of the prediction. The logarithm of the
// trend is a quadratic function. The spread is shrunk towards the trend. A spread that is shrunk
// towards one constant would be too large for predictions with small errors, and too small for
// predictions with large errors. Intervals would contain too many labels in the first case, and too
// few labels in the second case.
type trend struct {
	low, high float64 // of the predictions
	// centre is the mean of the predictions, and unit is their standard deviation. Both are measured
	// on a scale on which low is 0 and high is 1.
	centre, unit float64
	beta         [3]float64
	mean         float64 // the mean of the errors, the unit of the sizes
}

const (
	// A trend is shrunk towards a constant, and a spread is shrunk towards the trend. In both cases,
	// the target of the shrinkage has the weight priorErrors, where each error has the weight 1.
	priorErrors = 5
	// The constant maxWidth is a distance from the mean prediction, in standard deviations of the
	// predictions. Beyond this distance, the trend is constant.
	maxWidth = 2
	// trendSteps bounds the Newton steps of a fit. A fit usually takes seven.
	trendSteps = 50
	// A fit ends when a step changes each coefficient of the trend's logarithm by less than
	// trendTol.
	trendTol = 1e-6
)

// fitTrend fits a trend to errors, in ascending order of their predictions. At least two
// predictions must differ. The parameter mean is the mean of the errors. The trend μ minimises
// Σw(e/μ + log μ) over the errors e with weights w. This sum is the negative log-likelihood of
// exponential distributions with the means μ. The slope b₁ and the bend b₂ of log μ have the
// penalty ½·priorErrors·(b₁² + b₂²).
func fitTrend(e errorsAt, mean float64) trend {
	n := len(e.at)
	t := trend{low: e.at[0], high: e.at[n-1], unit: 1, mean: mean}
	var total, squares float64
	for i, at := range e.at {
		if w := e.weight[i]; w > 0 {
			d := t.positionOf(at) - t.centre
			total += w
			t.centre += w / total * d
			squares += w * d * (t.positionOf(at) - t.centre)
		}
	}
	if squares > 0 {
		t.unit = math.Sqrt(squares / total)
	}
	value, gradient := t.slope(e)
	for range trendSteps {
		step, ok := solve(t.curvature(e), gradient)
		if !ok {
			break
		}
		before, next := t, math.Inf(1)
		for share := 1.; !(next <= value) && share > trendTol; share /= 2 {
			for k := range t.beta {
				t.beta[k] = before.beta[k] - share*step[k]
			}
			next, gradient = t.slope(e)
		}
		if !(next <= value) {
			return before
		}
		if value = next; max(math.Abs(step[0]), math.Abs(step[1]), math.Abs(step[2])) < trendTol {
			break
		}
	}
	return t
}

// solve returns h⁻¹g by elimination, or false if h is not positive definite.
func solve(h [3][3]float64, g [3]float64) (x [3]float64, ok bool) {
	for k := range h {
		if !(h[k][k] > 0) {
			return x, false
		}
		for i := k + 1; i < len(h); i++ {
			f := h[i][k] / h[k][k]
			for l := k; l < len(h); l++ {
				h[i][l] -= f * h[k][l]
			}
			g[i] -= f * g[k]
		}
	}
	for k := len(h) - 1; k >= 0; k-- {
		x[k] = g[k]
		for l := k + 1; l < len(h); l++ {
			x[k] -= h[k][l] * x[l]
		}
		x[k] /= h[k][k]
	}
	return x, true
}

// slope returns the objective of fitTrend and its gradient.
func (t trend) slope(e errorsAt) (value float64, gradient [3]float64) {
	for i, at := range e.at {
		x := t.powers(at)
		log := t.log(x)
		ratio := e.size[i] / t.mean / math.Exp(log)
		value += e.weight[i] * (ratio + log)
		for k, v := range x {
			gradient[k] += e.weight[i] * (1 - ratio) * v
		}
	}
	for k, b := range t.beta[1:] {
		value += priorErrors / 2. * b * b
		gradient[1+k] += priorErrors * b
	}
	if !args.Finite(value) {
		return math.Inf(1), gradient
	}
	return value, gradient
}

// curvature returns the second derivatives of the objective.
func (t trend) curvature(e errorsAt) (h [3][3]float64) {
	for i, at := range e.at {
		x := t.powers(at)
		weight := e.weight[i] * (e.size[i] / t.mean / math.Exp(t.log(x)))
		for k := range x {
			for l := range x {
				h[k][l] += weight * x[k] * x[l]
			}
		}
	}
	for k := 1; k < len(t.beta); k++ {
		h[k][k] += priorErrors
	}
	return h
}

// positionOf maps a prediction to its position on a linear scale, which is 0 at the lowest
// prediction and 1 at the highest.
func (t trend) positionOf(at float64) float64 {
	if length := t.high - t.low; args.Finite(length) {
		return (at - t.low) / length
	}
	return (at/2 - t.low/2) / (t.high/2 - t.low/2)
}

// powers returns three functions of the prediction. The logarithm of the trend is a linear
// combination of these functions.
func (t trend) powers(at float64) [3]float64 {
	x := min(max((t.positionOf(at)-t.centre)/t.unit, -maxWidth), maxWidth)
	return [3]float64{1, x, x*x - 1}
}

// log returns log(trend/mean error) at the prediction whose powers it takes.
func (t trend) log(powers [3]float64) float64 {
	return t.beta[0]*powers[0] + t.beta[1]*powers[1] + t.beta[2]*powers[2]
}

// sizeAt returns the size of the errors at a prediction.
func (t trend) sizeAt(at float64) float64 { return t.mean * math.Exp(t.log(t.powers(at))) }
