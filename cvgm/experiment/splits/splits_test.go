package splits

import (
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/cvgm/experiment/kernels"

	"gonum.org/v1/gonum/floats"
)

// The shares are ratios of standard deviations for each data set. The sweep over step sizes ends
// with the quasi-Newton method.
func TestSplitsSharesAndSteps(t *testing.T) {
	p := *casetest.Drawn[SplitsParams]("splits")
	p.Ks, p.Ps, p.DataSets, p.Draws = []int{15}, []float64{.9}, 4, 4
	p.Rings = kernels.PaperRings()
	p.Rings.K, p.Rings.Steps, p.Rings.Test, p.RingsDataSets, p.StepSizes = 16, 30, 50, 3, []float64{1e-4, .1}
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	s := r.ByK[0]
	ratios := make([]float64, p.DataSets)
	floats.DivTo(ratios, s.Balanced.LossSDs, s.Uniform.LossSDs)
	if s.LossShare != experiment.RatioOf(ratios) || !(s.GradientShare.Mean > 0) || s.GradientShare.N != p.DataSets {
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

// Searches over a network's weights continue beyond the kinks of its units.
func TestSearchesOverWeightsStepOverKinks(t *testing.T) {
	p := casetest.Drawn[GapParams]("gap")
	p.Budget = 108
	if _, err := p.Run(t.Context(), experiment.Hooks{}); err != nil {
		t.Error(err)
	}
}

func TestSplitsBalancedScatterLess(t *testing.T) {
	p := DefaultSplits()
	p.Ks, p.Ps, p.Draws, p.DataSets, p.Samples, p.RingsDataSets, p.K = []int{15, 16}, []float64{.9}, 8, 4, 60, 2, 20
	p.Rings.Steps, p.Rings.Hidden, p.Rings.Test, p.Rings.K = 5, []int{4}, 50, 20
	r := casetest.SameForAnyGOMAXPROCS(t, p.Run)
	for _, s := range append(r.ByK, r.ByP...) {
		if !(s.Balanced.LossSD.Mean < .7*s.Uniform.LossSD.Mean) || !(s.Balanced.GradientSD.Mean < s.Uniform.GradientSD.Mean) {
			t.Errorf("K = %d, p = %v: %+v", s.K, s.P, s)
		}
		if s.BalancedMinusUniform.Difference.N != p.DataSets || !(s.Balanced.Test.Mean > 0) {
			t.Errorf("K = %d: %+v", s.K, s)
		}
	}
	for _, s := range append(r.RingsByK, r.RingsByP...) {
		if !(s.Uniform.Test.Mean > 0 && s.Uniform.Test.Mean < 1) || s.Uniform.Test.N != 2 {
			t.Errorf("rings, K = %d, p = %v: %+v", s.K, s.P, s.Uniform)
		}
	}
}

func TestGapFollowsTheSearches(t *testing.T) {
	p := DefaultGap()
	p.Groups, p.DataSets, p.Budget, p.Patience, p.K, p.Rings.K, p.Rings.Hidden = []int{2}, 3, 25, 5, 12, 12, []int{8}
	r := casetest.SameForAnyGOMAXPROCS(t, p.Run)
	for _, g := range r.Problems {
		if len(g.CV) != 25 || g.CV[0] <= g.CV[24] {
			t.Errorf("%d hyperparameters: CV loss %v", g.Hyperparameters, g.CV)
		}
		if !(g.Lowest.Mean <= g.Stopped.Mean) || !(g.Lowest.Mean <= g.AtEnd.Mean) || !(g.Evaluations.Mean <= 25) {
			t.Errorf("%d hyperparameters: %+v", g.Hyperparameters, g)
		}
	}
}

// The search is stopped Patience steps after the step with the lowest estimate.
func TestGapStopsWhereAMonitorDoes(t *testing.T) {
	p := DefaultGap()
	p.Groups, p.DataSets, p.Budget, p.Patience, p.K, p.Samples = []int{20}, 2, 40, 4, 12, 200
	c, err := p.watch(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.setStop(p.Patience); err != nil || c.Watched == len(c.Path) || c.Watched != c.Best.Evaluations+p.Patience || c.Best.Risk != c.Path[c.Best.Evaluations-1].Risk {
		t.Errorf("of %d steps %d are watched, the best is %+v (%v)", len(c.Path), c.Watched, c.Best, err)
	}
	for _, s := range c.Path[:c.Watched] {
		if s.HeldOut < c.Best.HeldOut {
			t.Errorf("the best is %v, step %d has %v", c.Best.HeldOut, s.Evaluations, s.HeldOut)
		}
	}
}
