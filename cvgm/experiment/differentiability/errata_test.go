package differentiability

import (
	"math"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"
)

func TestErrata(t *testing.T) {
	serial.Test(t)
	for draw := range 2 {
		p := DefaultErrata()
		p.Draw = draw
		r, err := p.Run(t.Context(), experiment.Hooks{})
		if err != nil {
			t.Fatal(err)
		}
		if j := r.Jacobian; j.CompleteError > 1e-8 || j.PrintedError < .05 || j.Cosine > .99 {
			t.Errorf("draw %d: errors %g, %g, cosine %g", draw, j.CompleteError, j.PrintedError, j.Cosine)
		}
		if l := r.Labels; l.ZeroSlope != 0 || l.ZeroMoves > 1e-12 || l.SignMoves < .01 || l.Refusal == "" {
			t.Errorf("draw %d: labels %+v", draw, l)
		}
		if e := r.Program; math.Abs(e.SVM) > 1e-12 || math.Abs(e.ElasticNet-p.Lambda2) > 1e-12 || e.Difference > 1e-12 || e.Slope > 1e-12 {
			t.Errorf("draw %d: programs %+v", draw, e)
		}
		if k := r.Loss; k.Left != 1 || k.Right != 0 || k.Refusal == "" { // because θ = min(a, 1)
			t.Errorf("slopes of a learned loss %+v", k)
		}
		// The densities of |r| are equal at a radius within 1e-5 of 1.5. The tails of r below 0
		// cause the difference.
		if b := r.Bayes; math.Abs(b.Radius-1.5) > 1e-5 || math.Abs(b.Origin-.5) > 1e-15 {
			t.Errorf("radius %v, accuracy %v", b.Radius, b.Origin)
		}
		if b := r.Bayes; math.Abs(b.XOR-13./18) > 1e-15 || b.XORCoded != .851 || b.XORTest != .708 || b.RingsTest != .915 {
			t.Errorf("accuracies %+v", b)
		}
	}
}

// The accuracy of the half-plane agrees with a simulation, whose standard error is 1e-3.
func TestHalfPlane(t *testing.T) {
	serial.Test(t)
	offset, rate := HalfPlane(kernels.PaperRings().RingsData)
	d, err := synth.MakeRings(synth.NewStream(1, "half-plane"), 200000, synth.Rings{})
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, y := range d.Y {
		if (d.X.At(i, 0)-offset)*y > 0 {
			right++
		}
	}
	if got := float64(right) / float64(len(d.Y)); math.Abs(got-rate) > 4e-3 {
		t.Errorf("x₁ > %g: %g by quadrature, %g by simulation", offset, rate, got)
	}
}
