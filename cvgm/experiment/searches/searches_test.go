package searches

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/internal/casetest"
	"cvgm/qpdiff/learntest/serial"
)

func quickSearches() SearchesParams {
	p := DefaultSearches()
	p.K, p.Samples, p.DataSets, p.Budget, p.ReferencePoints, p.Refinements, p.SurfacePoints, p.Starts = 24, 100, 3, 40, 12, 14, 6, 4
	p.SurfaceDataSet = 1
	return p
}

func TestSearchesFindNothingBelowTheTrueMinimum(t *testing.T) {
	p := quickSearches()
	r, err := p.Run(context.Background(), experiment.Hooks{})
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
			if last := e[len(e)-1]; !(last > -p.Tol) || (m.Reached[i] > 0) != (last <= p.Tol) {
				t.Errorf("%s, data set %d: ends %v above the minimum, reached at %d", m.Name, i, last, m.Reached[i])
			}
			if k := m.Reached[i]; k > 0 && (e[k-1] > p.Tol || k > 1 && e[k-2] <= p.Tol) {
				t.Errorf("%s, data set %d: not reached at %d first", m.Name, i, k)
			}
		}
		if m.Name == MultiStart && m.Within(math.MaxInt, p.DataSets) != p.DataSets {
			t.Errorf("multi-start reaches %v", m.Reached)
		}
	}
	if n := len(r.Surface.Ends); n != p.Starts || len(r.Surface.EndLoss) != n || len(r.Surface.Path) < 3 || len(r.Surface.CV) != p.SurfacePoints {
		t.Errorf("surface: %d ends, %d points", n, len(r.Surface.Path))
	}
}

// The surface contains the points of the searches that compete.
func TestSearchSurfaceShowsTheSearches(t *testing.T) {
	serial.Test(t)
	p := quickSearches()
	p.DataSets, p.SurfaceDataSet, p.ReferencePoints, p.Refinements = 1, 0, 3, 1
	r, err := p.Run(t.Context(), experiment.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range p.searchers(0) {
		if e.name != QuasiNewton && e.name != MultiStart {
			continue
		}
		s, err := p.setup(0)
		if err != nil {
			t.Fatal(err)
		}
		losses := make(map[[2]float64]float64)
		for step, err := range p.boundedSetup(s, e).Search(t.Context(), e.searcher) {
			if err != nil {
				t.Fatal(err)
			}
			losses[[2]float64(step.X)] = step.Loss
		}
		if e.name == QuasiNewton {
			for _, x := range r.Surface.Path {
				if _, ok := losses[x]; !ok {
					t.Errorf("%v is not on the way of the quasi-Newton search", x)
				}
			}
			continue
		}
		for k, x := range r.Surface.Ends {
			if loss, ok := losses[x]; !ok || loss != r.Surface.EndLoss[k] {
				t.Errorf("start %d: the end %v is not on the way of multi-start, or has not the loss %v", k, x, r.Surface.EndLoss[k])
			}
		}
	}
}

// The quasi-Newton method reaches its target on the paper's problem.
func TestQuasiNewtonReachesTheMinimumOnFourOfFiveSeeds(t *testing.T) {
	p := DefaultSearches()
	p.ReferencePoints, p.Refinements = 16, 16
	type reached struct{ few, all bool }
	data, err := experiment.Cells(context.Background(), experiment.Hooks{}, 5, strconv.Itoa, func(i int) (r reached, err error) {
		s, err := p.setup(i)
		if err != nil {
			return r, err
		}
		lowest, err := p.reference(context.Background(), s)
		if err != nil {
			return r, err
		}
		for _, e := range p.searchers(i) {
			if e.name != QuasiNewton && e.name != MultiStart {
				continue
			}
			for step, err := range p.boundedSetup(s, e).Search(context.Background(), e.searcher) {
				if err != nil {
					return r, err
				}
				at := step.Loss <= lowest.Minimum+p.Tol
				r.few = r.few || at && e.name == QuasiNewton && step.Evaluations <= p.SmallBudget
				r.all = r.all || at && e.name == MultiStart
			}
		}
		return r, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i, r := range data {
		if r.few {
			n++
		}
		if !r.all {
			t.Errorf("data set %d: not reached by multi-start", i)
		}
	}
	if n < 4 {
		t.Errorf("%d of 5 within %d evaluations: %v", n, p.SmallBudget, data)
	}
}

func TestSearchDimensions(t *testing.T) {
	p := DefaultSearchDimensions()
	p.Groups, p.DataSets, p.Budget, p.LongBudget, p.K, p.Rings.K, p.Rings.Hidden = []int{2, 20}, 2, 24, 60, 12, 12, []int{4}
	r := casetest.SameForAnyGOMAXPROCS(t, p.Run)
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
			// The last entry of Improve is the reported loss.
			casetest.Near(t, m.Name, m.Improve[len(m.Improve)-1], m.CVMean.Mean, 1e-12)
		}
	}
}

// BenchmarkSearcher measures whole searches on the paper's problem, including the work between
// evaluations.
func BenchmarkSearcher(b *testing.B) {
	p := DefaultSearches()
	s, err := p.setup(0)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range p.searchers(0) {
		b.Run(e.name, func(b *testing.B) {
			evaluations, spent := 0, time.Duration(0)
			bounded := p.boundedSetup(s, e)
			bounded.Objective = func(gradient, x []float64) (float64, error) {
				defer func(began time.Time) { spent += time.Since(began) }(time.Now())
				return s.CV.Eval(gradient, x)
			}
			for b.Loop() {
				for _, err := range bounded.Search(b.Context(), e.searcher) {
					if err != nil {
						b.Fatal(err)
					}
					evaluations++
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(evaluations), "ns/evaluation")
			b.ReportMetric(spent.Seconds()/b.Elapsed().Seconds(), "evaluating/search")
		})
	}
}

// The search for the reference ends even if the rounding errors of the losses exceed Tol.
func TestReferenceOfLargeLosses(t *testing.T) {
	p := casetest.Drawn[SearchesParams]("searches")
	p.Noise, p.Scale, p.Tol = 1e9, 1, 1e-6
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() {
		_, err := p.Run(ctx, experiment.Hooks{})
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the descent does not end")
	}
}

// aboveChords returns the largest distance above a chord, which is negative for a convex function.
func TestAboveChords(t *testing.T) {
	axis := []float64{0, 1, 3}
	grid := func(f func(x, y float64) float64) [][]float64 {
		z := make([][]float64, len(axis))
		for i, x := range axis {
			for _, y := range axis {
				z[i] = append(z[i], f(x, y))
			}
		}
		return z
	}
	const rounding = 1e-15 // on processors that round a product and a sum together
	// At 1, x² is 1, and its chord from 0 to 3 is 3.
	if got := aboveChords(axis, grid(func(x, y float64) float64 { return x*x + y*y })); math.Abs(got+2) > rounding {
		t.Errorf("a parabola is %v above its chords", got)
	}
	if got := aboveChords(axis, grid(func(x, y float64) float64 { return x*x - y*y })); math.Abs(got-2) > rounding {
		t.Errorf("a saddle is %v above its chords", got)
	}
}
