package experiment

import (
	"testing"

	"gonum.org/v1/gonum/floats"
)

// The share of the scatter is that by data set, and a sweep of step sizes on the rings ends
// with the quasi-Newton method. A tiny step leaves the CV loss higher than a useful one and
// never lets it rise.
func TestSplitsSharesAndSteps(t *testing.T) {
	p := *drawn[SplitsParams](t)
	p.Ks, p.Ps, p.DataSets, p.Draws = []int{15}, []float64{.9}, 4, 4
	p.Rings = paperRings()
	p.Rings.K, p.Rings.Steps, p.Rings.Test, p.RingsDataSets, p.StepSizes = 16, 30, 50, 3, []float64{1e-4, .1}
	r, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := r.ByK[0]
	ratios := make([]float64, p.DataSets)
	floats.DivTo(ratios, s.Balanced.LossSDs, s.Uniform.LossSDs)
	if s.LossShare != estimate(ratios) || !(s.GradientShare.Mean > 0) || s.GradientShare.N != p.DataSets {
		t.Errorf("shares %+v and %+v, by data set %v", s.LossShare, s.GradientShare, ratios)
	}
	if len(r.RingsByStep) != 3 || r.RingsByStep[2].StepSize != 0 || r.RingsByStep[2].MinusLast.Difference.Mean != 0 {
		t.Fatalf("%+v", r.RingsByStep)
	}
	tiny, useful := r.RingsByStep[0], r.RingsByStep[1]
	if !(tiny.CV.Mean > useful.CV.Mean) || tiny.Rises.Mean != 0 || !(tiny.MinusLast.Difference.Mean > 0) {
		t.Errorf("tiny step %+v, useful step %+v", tiny, useful)
	}
	if e := shares([]float64{1, 2}, []float64{0, 4}); e.Mean != .5 || e.N != 1 {
		t.Errorf("%+v", e)
	}
}
