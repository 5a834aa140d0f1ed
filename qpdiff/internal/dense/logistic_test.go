package dense_test

import (
	"testing"

	"cvgm/qpdiff/internal/dense"
	"cvgm/qpdiff/internal/numtest"
)

// The series differ from exp(y) − 1 by at most two units of rounding, up to the end of each branch.
func TestLogisticSeries(t *testing.T) {
	for _, c := range []struct {
		name    string
		f       func(float64) float64
		stopper float64
	}{{"expm1", dense.Expm1, dense.LogisticSeries}, {"expm1Short", dense.Expm1Short, dense.LogisticShortSeries}} {
		worst := 0.0
		for k := range 401 {
			y := c.stopper * float64(k-200) / 200
			if y == 0 {
				continue
			}
			worst = max(worst, numtest.PreciseRelErr(c.f(y), numtest.PreciseExpm1(y)))
		}
		if !(worst <= 2*dense.Eps) {
			t.Errorf("%s: relative error %.3g, in units of eps %.2f", c.name, worst, worst/dense.Eps)
		}
	}
}
