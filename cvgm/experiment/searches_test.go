package experiment

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"cvgm/qpdiff"
	"cvgm/synth"

	"github.com/google/go-cmp/cmp/cmpopts"
)

func quickSearches() SearchesParams {
	p := DefaultSearches()
	p.K, p.Samples, p.DataSets, p.Budget, p.TruthPoints, p.TruthZooms, p.SurfacePoints, p.Starts = 24, 100, 3, 40, 12, 14, 6, 4
	p.Picture = 1
	return p
}

func TestSearchesFindNothingBelowTheTrueMinimum(t *testing.T) {
	p := quickSearches()
	r, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, minimum := range r.Minimum {
		if !(minimum > 0) || r.LocalMinima[i] < 1 || r.At[i][0] < p.MinLambda1 || r.At[i][1] < p.MinLambda2 {
			t.Errorf("data set %d: minimum %v at %v, %d local ones", i, minimum, r.At[i], r.LocalMinima[i])
		}
	}
	for _, m := range r.Methods {
		for i, e := range m.Excess {
			if len(e) != m.Evaluations[i] || !slices.IsSortedFunc(e, func(a, b float64) int { return int(math.Copysign(1, b-a)) }) && len(e) > 1 {
				t.Errorf("%s, data set %d: the lowest loss rises, or is missing", m.Name, i)
			}
			if last := e[len(e)-1]; !(last > -p.Reach) || (m.Reached[i] > 0) != (last <= p.Reach) {
				t.Errorf("%s, data set %d: ends %v above the minimum, reached at %d", m.Name, i, last, m.Reached[i])
			}
			if k := m.Reached[i]; k > 0 && (e[k-1] > p.Reach || k > 1 && e[k-2] <= p.Reach) {
				t.Errorf("%s, data set %d: not reached at %d first", m.Name, i, k)
			}
		}
		if m.Name == SearchMultiStart && m.Within(math.MaxInt, p.DataSets) != p.DataSets {
			t.Errorf("multi-start reaches %v", m.Reached)
		}
	}
	if n := len(r.Picture.Ends); n != p.Starts || len(r.Picture.EndLoss) != n || len(r.Picture.Path) < 3 || len(r.Picture.Surface.CV) != p.SurfacePoints {
		t.Errorf("picture: %d ends, %d points", n, len(r.Picture.Path))
	}
}

// The target of the quasi-Newton method, on the paper's problem.
func TestQuasiNewtonReachesTheMinimumOnFourOfFiveSeeds(t *testing.T) {
	p := DefaultSearches()
	p.TruthPoints, p.TruthZooms = 16, 16
	var few, all [5]bool
	err := eachCell(context.Background(), len(few), func(i int) error {
		c, err := p.newContest(synth.NewStream(uint64(i), "elastic net: data"), synth.NewStream(uint64(i), "elastic net: splits"), 1)
		if err != nil {
			return err
		}
		minimum, _, _, err := p.truth(context.Background(), c)
		if err != nil {
			return err
		}
		for _, e := range p.searchers(i) {
			if e.name != SearchQuasiNewton && e.name != SearchMultiStart {
				continue
			}
			for s, err := range e.searcher.Search(p.problem(c, e), []float64{p.Start, p.Start}) {
				if err != nil {
					return err
				}
				reached := s.Loss <= minimum+p.Reach
				few[i] = few[i] || reached && e.name == SearchQuasiNewton && s.Evaluations <= p.Few
				all[i] = all[i] || reached && e.name == SearchMultiStart
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, reached := range few {
		if reached {
			n++
		}
	}
	if n < 4 {
		t.Errorf("%d of 5 within %d evaluations: %v", n, p.Few, few)
	}
	if all != [5]bool{true, true, true, true, true} {
		t.Errorf("multi-start reaches %v", all)
	}
}

func TestSearchDimensions(t *testing.T) {
	p := DefaultSearchDimensions()
	p.Groups, p.DataSets, p.Budget, p.Long, p.K, p.Rings.K, p.Rings.Hidden = []int{2, 20}, 2, 24, 60, 12, 12, []int{4}
	r := sameForAnyGOMAXPROCS(t, p.Run)
	if len(r.Dimensions) != 3 || r.Dimensions[2].Hyperparameters != 4*3+2*5 {
		t.Fatalf("%d dimensions", len(r.Dimensions))
	}
	for _, d := range r.Dimensions {
		for _, m := range d.Methods {
			if m.Name == "exhaustive" {
				if runs := m.CV != nil; runs != (d.Hyperparameters == 2) || runs && m.Evaluations != 16 || m.GridNeeded != math.Pow(2, float64(d.Hyperparameters)) {
					t.Errorf("a grid of %d hyperparameters: %+v", d.Hyperparameters, m)
				}
				continue
			}
			if m.Evaluations < 3 || m.Evaluations > 24 || !(m.Excess.Mean >= 0) || len(m.Improve) != m.Evaluations {
				t.Errorf("%d hyperparameters, %s: %+v", d.Hyperparameters, m.Name, m)
			}
			// What improves is what is reported.
			near(t, m.Name, m.Improve[len(m.Improve)-1], m.CVMean.Mean, 1e-12)
		}
	}
}

func TestSplitsBalancedScatterLess(t *testing.T) {
	p := DefaultSplits()
	p.Ks, p.Ps, p.Draws, p.DataSets, p.Samples, p.RingsDataSets, p.K = []int{15, 16}, []float64{.9}, 8, 4, 60, 2, 20
	p.Rings.Steps, p.Rings.Hidden, p.Rings.Test = 5, []int{4}, 50
	r := sameForAnyGOMAXPROCS(t, p.Run, cmpopts.IgnoreUnexported(SplitsMeasure{}))
	for _, s := range append(r.ByK, r.ByP...) {
		if !(s.Balanced.LossSD.Mean < .7*s.Uniform.LossSD.Mean) || !(s.Balanced.GradientSD.Mean < s.Uniform.GradientSD.Mean) {
			t.Errorf("K = %d, p = %v: %+v", s.K, s.P, s)
		}
		if s.BalancedLess.Difference.N != p.DataSets || !(s.Balanced.Test.Mean > 0) {
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
	p.Groups, p.DataSets, p.Steps, p.Patience, p.Search.K, p.Search.Rings.K, p.Search.Rings.Hidden = []int{2}, 3, 25, 5, 12, 12, []int{8}
	r := sameForAnyGOMAXPROCS(t, p.Run)
	for _, g := range r.Problems {
		if len(g.CV) != 25 || g.CV[0] <= g.CV[24] {
			t.Errorf("%d hyperparameters: CV loss %v", g.Hyperparameters, g.CV)
		}
		if !(g.Lowest.Mean <= g.Stopped.Mean) || !(g.Lowest.Mean <= g.AtEnd.Mean) || !(g.Evaluations.Mean <= 25) {
			t.Errorf("%d hyperparameters: %+v", g.Hyperparameters, g)
		}
	}
}

func TestImprovementsRefuseBadParams(t *testing.T) {
	ctx := context.Background()
	var errs []error
	add := func(err error) { errs = append(errs, err) }
	{
		p := DefaultSearches()
		p.Picture = p.DataSets
		_, err := p.Run(ctx)
		add(err)
	}
	{
		p := DefaultSearchDimensions()
		p.Groups = []int{3}
		_, err := p.Run(ctx)
		add(err)
	}
	{
		p := DefaultSplits()
		p.Draws = 1
		_, err := p.Run(ctx)
		add(err)
	}
	{
		p := DefaultGap()
		p.Patience = 0
		_, err := p.Run(ctx)
		add(err)
	}
	for i, err := range errs {
		if !errors.Is(err, qpdiff.ErrDomain) {
			t.Errorf("%d: error %v", i, err)
		}
	}
}
