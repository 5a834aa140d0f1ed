package differentiability

import (
	"math"
	"slices"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/qpdiff/learntest/serial"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestDifferentiabilityLimits(t *testing.T) {
	serial.Test(t)
	for draw := range 2 {
		p := DefaultDifferentiabilityLimits()
		p.Draw, p.K = draw, 8
		r, err := p.Run(t.Context(), experiment.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		// The kink satisfies the range condition, because ∇_a g = (−1, 0) is −1 times the first
		// column of ∇_z g.
		if r.Range.RangeResidual > 1e-14 || r.Range.Left != 1 || r.Range.Right != 0 || len(r.Range.Weak) != 1 || r.Range.Rule == "" {
			t.Errorf("range: %+v", r.Range)
		}
		for name, k := range map[string]Kink{"elastic net": r.ElasticNet, "machine": r.SVM} {
			if math.Abs(k.Left-k.LeftDifference) > 1e-4*math.Abs(k.Left) || math.Abs(k.Right-k.RightDifference) > 1e-4*math.Abs(k.Left) || k.Left == k.Right {
				t.Errorf("draw %d, %s: slopes %g, %g; differences %g, %g", draw, name, k.Left, k.Right, k.LeftDifference, k.RightDifference)
			}
			if k.Generalised < math.Min(k.Left, k.Right) || k.Generalised > math.Max(k.Left, k.Right) {
				t.Errorf("draw %d, %s: %g is not in the generalised Jacobian of %g and %g", draw, name, k.Generalised, k.Left, k.Right)
			}
			if len(k.Weak) == 0 || k.Refusal == "" {
				t.Errorf("draw %d, %s: no refusal", draw, name)
			}
		}
		v := r.Ridge
		if a := v.Independent[0] / v.IndependentAtZero; math.Abs(a-1) > 1e-5 {
			t.Errorf("with independent features the derivative at λ2 = %g is %g times that at 0", v.Lambda2[0], a)
		}
		// The derivative is inversely proportional to λ2.
		if rate := math.Log(v.Twice[0]/v.Twice[6]) / math.Log(v.Lambda2[6]/v.Lambda2[0]); math.Abs(rate-1) > .01 {
			t.Errorf("with a feature given twice the derivative grows with the power %g", rate)
		}
		least := 1 / float64(p.K*(p.Train-int(p.P*float64(p.Train)))) // one misclassified example in one split
		if slices.Min(r.Loss.ZeroOneJump) < .99*least || slices.Max(r.Loss.LogisticJump) > 1e-6 {
			t.Errorf("draw %d: the losses jump by %g and %g", draw, r.Loss.ZeroOneJump, r.Loss.LogisticJump)
		}
		if r.Loss.Jumps < 5 || r.Primal != -1 || r.Multipliers == "" || v.TwiceRefusal == "" || v.SVMRefusal == "" || r.Loss.Refusal == "" {
			t.Errorf("draw %d: %d jumps, %g, %q, %q, %q, %q", draw, r.Loss.Jumps, r.Primal, r.Multipliers, v.TwiceRefusal, v.SVMRefusal, r.Loss.Refusal)
		}
	}
}

// outsideRange returns the distance of a vector from the range of a matrix.
func TestOutsideRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-1, 1), 6, 6).Draw(t, "v")
		a := mat.NewDense(3, 2, append([]float64{1, 0, 0, 1}, 0, 0))
		if d := outsideRange(a, v[:3]) - math.Abs(v[2]); math.Abs(d) > 1e-14 {
			t.Errorf("off by %g", d)
		}
		b := mat.NewDense(3, 2, v)
		if norm := mat.Norm(b, 2); norm > .1 {
			made := mat.Col(nil, 1, b)
			if d := outsideRange(b, made); d > 1e-10*norm {
				t.Errorf("a column is %g outside", d)
			}
		}
	})
}
