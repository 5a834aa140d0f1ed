package cvgm

import (
	"errors"
	"math"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"

	"gonum.org/v1/gonum/mat"
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
		{AbsoluteError{}, 3, 1, 2, 1}, {AbsoluteError{}, -1, 1, 2, -1}, {AbsoluteError{}, 2, 2, 0, nan},
		{HuberLoss{Delta: 2}, 2, 1, .5, 1}, {HuberLoss{Delta: 2}, -1, 1, 2, -2}, {HuberLoss{Delta: 2}, 6, 1, 8, 2}, {HuberLoss{Delta: 2}, -4, 1, 8, -2},
		{HuberLoss{Delta: 1e300}, 1.5e154, 0, 1.125e308, 1.5e154}, {HuberLoss{}, 1, 0, nan, nan}, {HuberLoss{Delta: -1}, 1, 0, nan, nan},
	} {
		value, slope := c.loss.Eval(c.prediction, c.y)
		if math.Abs(value-c.value) > 1e-15*c.value || math.Abs(slope-c.slope) > 0 || math.IsNaN(value) != math.IsNaN(c.value) || math.IsNaN(slope) != math.IsNaN(c.slope) {
			t.Errorf("%T(%v, %v) = %v, %v; want %v, %v", c.loss, c.prediction, c.y, value, slope, c.value, c.slope)
		}
	}
}

// The Poisson loss is 0 if the predicted expectation equals the label. For the label 0, it is the
// predicted expectation.
func TestPoissonLossByHand(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ prediction, y, value, slope, label float64 }{
		{0, 1, 0, 0, 0}, {math.Ln2, 2, 0, 0, 0}, {math.Ln2, 0, 2, 2, nan}, {math.Ln2, 1, 1 - math.Ln2, 1, -math.Ln2}, {0, 4, 4*math.Log(4) - 3, -3, math.Log(4)},
		{-800, 2, 2*(math.Ln2+800) - 2, -2, math.Ln2 + 800}, {0, -1, nan, nan, nan},
	} {
		value, slope := PoissonLoss{}.Eval(c.prediction, c.y)
		got, want := []float64{value, slope, PoissonLoss{}.LabelSlope(c.prediction, c.y)}, []float64{c.value, c.slope, c.label}
		for k, v := range want {
			if !(math.Abs(got[k]-v) <= 1e-14*max(1, math.Abs(v))) && (v == v || got[k] == got[k]) {
				t.Errorf("PoissonLoss(%v, %v) = %v; want %v", c.prediction, c.y, got, want)
				break
			}
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

// New and Risk refuse a HuberLoss whose threshold is not positive and finite.
func TestHuberLossNeedsAThreshold(t *testing.T) {
	d := casetest.Regression(1, 12, 2)
	splits := casetest.Must(LeaveOneOut(12))(t)
	c := Config{Data: d, Splits: splits, Loss: HuberLoss{Delta: 1}, Learner: func() learn.Learner { return new(linear.ElasticNet) }}
	cv := casetest.Must(New(c))(t)
	m := casetest.Must(cv.Final([]float64{0, 1}))(t)
	for _, delta := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		for _, l := range []Loss{HuberLoss{delta}, &HuberLoss{delta}} {
			c.Loss = l
			_, err := New(c)
			_, errRisk := m.Risk(l, d)
			for _, err := range []error{err, errRisk} {
				if !errors.Is(err, qpdiff.ErrDomain) || !messageHas(err, "HuberLoss.Delta") {
					t.Errorf("threshold %v: error %v", delta, err)
				}
			}
		}
	}
}

// Eval refuses an absolute error at its kink, a prediction equal to its label. With
// Config.Generalised, the slope there is 0.
func TestAbsoluteErrorAtItsKink(t *testing.T) {
	for _, generalised := range []bool{false, true} {
		cv := atKink(t, func(c *Config) { // θ = 1, so that the first prediction is exact
			c.Data = learn.Data{X: mat.NewDense(3, 1, []float64{1, 2, 3}), Y: []float64{1, 2, 4}}
			c.Splits = []Split{{[]int{0}, []int{1, 2}}}
			c.Loss, c.Generalised = AbsoluteError{}, generalised
		})
		grad, dy := make([]float64, 2), make([]float64, 3)
		_, err := cv.Eval(grad, []float64{0, 0})
		if errors.Is(err, qpdiff.ErrNotDifferentiable) == generalised || cv.Generalised() != generalised {
			t.Errorf("generalised %v: error %v, reported %v", generalised, err, cv.Generalised())
		}
		if !generalised {
			continue
		}
		// The loss is ½·|3θ − 4| beside the kink, and ∂θ/∂λ2 = −1.
		if math.Abs(grad[1]-1.5) > 1e-15 {
			t.Errorf("∂/∂λ2 is %v, want 1.5", grad[1])
		}
		if _, err := cv.DataGradient(nil, dy, []float64{0, 0}); err != nil || dy[1] != 0 || dy[2] != .5 || dy[0] != -1.5 {
			t.Errorf("∂/∂y is %v, want −1.5, 0 and 0.5; error %v", dy, err)
		}
	}
}
