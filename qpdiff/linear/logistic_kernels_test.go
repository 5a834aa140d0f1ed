package linear

import (
	"math"
	"math/big"
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
)

// bigExpm1 is exp(y) − 1 for |y| ≤ 1, to 400 bits.
func bigExpm1(y float64) *big.Float {
	x, term, sum := numtest.Precise(y), numtest.Precise(1), numtest.Precise(0)
	for k := 1; k < 60; k++ {
		term.Mul(term, x)
		term.Quo(term, numtest.Precise(float64(k)))
		sum.Add(sum, term)
	}
	return sum
}

// bigRelErr is |got − want|/|want|.
func bigRelErr(got float64, want *big.Float) float64 {
	d := numtest.Precise(got)
	d.Sub(d, want)
	d.Quo(d, want)
	v, _ := d.Float64()
	return math.Abs(v)
}

// Every term of the series counts: up to the branches' ends they are exp(y) − 1
// to within two units of rounding.
func TestLogisticSeries(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(float64) float64
		end  float64
	}{{"expm1", expm1, logisticSeries}, {"expm1Short", expm1Short, logisticShortSeries}} {
		worst := 0.0
		for k := range 401 {
			y := c.end * float64(k-200) / 200
			if y == 0 {
				continue
			}
			worst = max(worst, bigRelErr(c.f(y), bigExpm1(y)))
		}
		if !(worst <= 2*dense.Eps) {
			t.Errorf("%s: relative error %.3g, in units of eps %.2f", c.name, worst, worst/dense.Eps)
		}
	}
}
