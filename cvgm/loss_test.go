package cvgm

import (
	"math"
	"testing"
)

func TestLogisticLossNeitherOverflowsNorCancels(t *testing.T) {
	for _, c := range []struct{ prediction, y, loss, slope float64 }{
		{1000, 1, 0, 0}, {1000, -1, 1000, 1}, {-1000, 1, 1000, -1}, {-1000, -1, 0, 0},
		{0, 1, math.Ln2, -.5}, {40, 1, 4.248354255291589e-18, -4.248354255291589e-18},
	} {
		loss, slope := LogisticLoss{}.Eval(c.prediction, c.y)
		if math.Abs(loss-c.loss) > 1e-15*c.loss || math.Abs(slope-c.slope) > 1e-15*math.Abs(c.slope) {
			t.Errorf("LogisticLoss(%v, %v) = %v, %v; want %v, %v", c.prediction, c.y, loss, slope, c.loss, c.slope)
		}
	}
}

func TestSurrogatesByHand(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		loss                        Loss
		prediction, y, value, slope float64
	}{
		{Hinge{}, .5, 1, .5, -1}, {Hinge{}, -2, -1, 0, 0}, {Hinge{}, 3, -1, 4, 1}, {Hinge{}, 1, 1, 0, nan}, {Hinge{}, -1, -1, 0, nan},
		{SquaredHinge{}, .5, 1, .25, -1}, {SquaredHinge{}, 1, 1, 0, 0}, {SquaredHinge{}, 2, -1, 9, 6},
		{Exponential{}, 0, -1, 1, 1}, {Exponential{}, 2, 1, math.Exp(-2), -math.Exp(-2)},
	} {
		value, slope := c.loss.Eval(c.prediction, c.y)
		if value != c.value || math.Abs(slope-c.slope) > 0 || math.IsNaN(slope) != math.IsNaN(c.slope) {
			t.Errorf("%T(%v, %v) = %v, %v; want %v, %v", c.loss, c.prediction, c.y, value, slope, c.value, c.slope)
		}
	}
}

func TestZeroOneHasNoSlope(t *testing.T) {
	for _, c := range []struct{ prediction, y, want float64 }{{2, 1, 0}, {-.1, 1, 1}, {0, 1, 1}, {0, -1, 1}, {-3, -1, 0}} {
		loss, slope := ZeroOne{}.Eval(c.prediction, c.y)
		if loss != c.want || !math.IsNaN(slope) {
			t.Errorf("ZeroOne(%v, %v) = %v, %v", c.prediction, c.y, loss, slope)
		}
	}
}
