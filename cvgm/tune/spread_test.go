package tune

import (
	"math"
	"testing"

	"cvgm/cvgm/internal/sample"
	"cvgm/synth"
)

// The spread of the labels, which scales the threshold of Huber regression, resists outliers and
// equal labels.
func TestSpreadOfLabelsOfWhichMostAreEqual(t *testing.T) {
	src := synth.NewStream(1, "spread")
	for _, equal := range []int{0, 30, 49, 51, 60, 90} {
		y, weights := make([]float64, 100), make(sample.Weights, 100)
		for i := range y {
			if weights[i] = 1; i >= equal {
				y[i] = src.NormFloat64()
			}
		}
		y[99] = 1e6
		for _, w := range []sample.Weights{nil, weights} {
			for _, unit := range []float64{1, 1e-9, 1e9} {
				scaled := make([]float64, len(y))
				for i, v := range y {
					scaled[i] = 7*unit + unit*v
				}
				if got := labelSpread(scaled, w) / unit; got < .05 || got > 2 { // a tenth where nearly half are equal
					t.Errorf("%d equal labels: %v", equal, got)
				}
			}
		}
	}
	for _, y := range [][]float64{{3, 3, 3}, {-3, -3, -3}} {
		if got := labelSpread(y, nil); got != 3 {
			t.Errorf("equal labels: %v", got)
		}
	}
	if got := labelSpread([]float64{0, 0, math.Copysign(0, -1)}, nil); got != 1 {
		t.Errorf("zeros: %v", got)
	}
}
