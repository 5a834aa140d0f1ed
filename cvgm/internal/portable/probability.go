package portable

import (
	"fmt"
	"math"
)

// Logistic returns 1/(1 + exp(−d)), the probability at the log odds d.
func Logistic(d float64) float64 { return 1 / (1 + Exp(-d)) }

// Shares replaces each log odds d by p(d)/Σp, where p(d) = 1/(1 + exp(−d)) and the sum runs over
// all classes. It first divides all p by the largest exp(min(d, 0)), so that they do not all
// underflow.
func Shares(d []float64) {
	top := math.Inf(-1)
	for _, v := range d {
		top = max(top, min(v, 0))
	}
	sum := 0.
	for k, v := range d {
		d[k] = Exp(min(v, 0)-top) / (1 + Exp(-math.Abs(v)))
		sum += d[k]
	}
	for k := range d {
		d[k] /= sum
	}
}

// Softmax replaces each decision d by exp(d)/Σexp, where the sum runs over all classes.
func Softmax(d []float64) {
	top, sum := math.Inf(-1), 0.
	for _, v := range d {
		top = max(top, v)
	}
	for k, v := range d {
		d[k] = Exp(v - top)
		sum += d[k]
	}
	for k := range d {
		d[k] /= sum
	}
}

// Expected returns the prediction of a model whose decision d is the logarithm of an expected
// number.
func Expected(d float64) (float64, error) {
	mean := Exp(d)
	if !Finite(mean) {
		return math.NaN(), fmt.Errorf("e to the power %v overflows: use the decision", d)
	}
	return mean, nil
}
