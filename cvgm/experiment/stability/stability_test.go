package stability

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

func quickStability() StabilityParams {
	p := DefaultStability()
	p.DataSets, p.FreshExamples, p.PathSteps = 150, 60, []int{1, 99}
	p.RidgeLambda2, p.ElasticNetLambda1, p.LogisticC = []float64{.03, 1}, []float64{.1}, []float64{.1}
	return p
}

func TestStabilityIdentityHolds(t *testing.T) {
	r, err := quickStability().Run(context.Background(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	settings := r.Settings()
	if len(settings) != 6 || len(r.Path) != 2 || len(r.Steps) != 2 || len(r.CVLoss) != 2 {
		t.Fatalf("%d settings, %d on the path", len(settings), len(r.Path))
	}
	for _, s := range settings {
		// The tolerance is four standard errors. One case in 16,000 exceeds it by chance.
		if !(math.Abs(s.Difference.Mean) < 2*s.Difference.Margin) {
			t.Errorf("at %v the gap is %v, Δ is %v", s.Hyper, s.Gap, s.Delta)
		}
		// The test is meaningful only if both sides are far from zero.
		if !(s.Delta.Mean > 3*s.Delta.Margin) || !(s.Difference.Margin < .4*s.Delta.Mean) {
			t.Errorf("at %v the identity is not put to the test: %+v", s.Hyper, s)
		}
	}
	casetest.Near(t, "CV loss where the path begins", r.CVLoss[0], 1.8945312, 1e-6)
	casetest.Near(t, "test loss at step 99", r.TestLoss[1], 1.077971, 1e-6)
}

// fitOnceRidge is a ridge regression whose later fits return the parameters of the first fit.
type fitOnceRidge struct {
	linear.ElasticNet
	first []float64
}

func (f *fitOnceRidge) Fit(theta, hyper []float64) error {
	if f.first == nil {
		if err := f.ElasticNet.Fit(theta, hyper); err != nil {
			return err
		}
		f.first = slices.Clone(theta)
	}
	copy(theta, f.first)
	return nil
}

// The comparison can fail: without refits, Δ is zero, but the gap is not.
func TestStabilityIdentityFailsWithoutRefits(t *testing.T) {
	p := quickStability()
	from := Population{Coef: []float64{1, -1, .5, 0, 0}, Noise: 1}
	parts, _, err := p.measure(context.Background(), experiment.Hooks{}, []stabilityCase{
		{[]float64{0, .1}, from, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}},
		{[]float64{0, .1}, from, func() learn.Learner { return new(fitOnceRidge) }, cvgm.SquaredError{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !parts[0].Holds() || parts[1].Holds() || parts[1].Delta.Mean != 0 {
		t.Errorf("with refits %+v, without %+v", parts[0], parts[1])
	}
}

func TestStabilityIsTheSameForAnyGOMAXPROCS(t *testing.T) {
	p := quickStability()
	p.DataSets = 20
	casetest.SameForAnyGOMAXPROCS(t, p.Run)
}

func TestStabilityRefusesBadParams(t *testing.T) {
	for name, change := range map[string]func(*StabilityParams){
		"one data set":     func(p *StabilityParams) { p.DataSets = 1 },
		"no fresh":         func(p *StabilityParams) { p.FreshExamples = 0 },
		"no steps":         func(p *StabilityParams) { p.PathSteps = nil },
		"step 0":           func(p *StabilityParams) { p.PathSteps = []int{0, 3} },
		"steps descending": func(p *StabilityParams) { p.PathSteps = []int{3, 1} },
		"negative penalty": func(p *StabilityParams) { p.RidgeLambda2 = []float64{-1} },
	} {
		p := quickStability()
		change(&p)
		if _, err := p.Run(context.Background(), experiment.Hooks{}); !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// CVGM raises Δ from an over-regularised start and lowers Δ from a start with almost no penalty,
// while the CV loss falls.
func TestStabilityFromSeveralStarts(t *testing.T) {
	p := *casetest.Drawn[StabilityParams]("stability")
	d := DefaultStability()
	p.PublishedRegression, p.PenaltyCVGM = d.PublishedRegression, d.PenaltyCVGM
	p.Seed, p.K, p.StepSize = 0, 32, 2e-3
	p.DataSets, p.StartsLambda1, p.StartsLambda2, p.StartsSteps = 30, []float64{1e-3, .6}, []float64{1e-3, .6}, 60
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for i, sign := range []float64{-1, 1} {
		s := r.Starts[i]
		if !(s.CVLoss[1] < s.CVLoss[0]) || !(sign*s.DeltaChange.Mean > s.DeltaChange.Margin) {
			t.Errorf("from %v: CV loss %v, change of Δ %+v", s.Start.Hyper, s.CVLoss, s.DeltaChange)
		}
		if want := s.End.Delta.Mean - s.Start.Delta.Mean; math.Abs(s.DeltaChange.Mean-want) > 1e-12 {
			t.Errorf("from %v: change of Δ %v, between the ends %v", s.Start.Hyper, s.DeltaChange.Mean, want)
		}
	}
	p.StartsLambda2 = p.StartsLambda2[:1]
	if _, err := p.Run(t.Context(), experiment.Hooks{}); err == nil || !strings.Contains(err.Error(), "StartsLambda2") {
		t.Errorf("starts of two numbers of penalties: %v", err)
	}
}
