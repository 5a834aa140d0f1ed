package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

func ran[R any](t *testing.T) func(R, error) R {
	return func(r R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// Every figure and table of the improvements and of stability draws from small and
// odd Results.

func TestSearchesOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.SearchesParams){
		"small":          func(p *experiment.SearchesParams) {},
		"one evaluation": func(p *experiment.SearchesParams) { p.Budget, p.DataSets, p.SurfaceDataSet, p.SmallBudget = 1, 1, 0, 1 },
		"large steps": func(p *experiment.SearchesParams) {
			p.LongStepSize, p.HeavyBallStepSize, p.StartLambda1, p.StartLambda2, p.Tol = 5, 5, 3, 3, 1e-2
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultSearches()
			p.K, p.Samples, p.DataSets, p.Budget, p.ReferencePoints, p.Refinements, p.SurfacePoints, p.Starts, p.SurfaceDataSet = 8, 60, 2, 30, 6, 6, 5, 2, 1
			change(&p)
			r := ran[*experiment.SearchesResult](t)(p.Run(t.Context()))
			timings := &experiment.Timings{Benchmarks: make(map[string]map[string]experiment.BenchStat)}
			for k, m := range r.Methods {
				timings.Benchmarks["cvgm/experiment.Searcher/"+strings.ReplaceAll(m.Name, " ", "_")] = map[string]experiment.BenchStat{"ns/evaluation": {Lowest: float64(1000 * (k + 1))}}
			}
			testOutputs(t, r, map[string]string{"searches_minima": formatFull(r.Minimum[len(r.Minimum)-1])},
				func(r *experiment.SearchesResult) Output { return SearchesSeconds(r, timings) })
		})
	}
}

func TestSearchDimensionsOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.SearchDimensionsParams){
		"small":          func(p *experiment.SearchDimensionsParams) {},
		"one evaluation": func(p *experiment.SearchDimensionsParams) { p.Budget, p.LongBudget, p.Groups = 1, 1, []int{4} },
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultSearchDimensions()
			p.Groups, p.DataSets, p.Budget, p.LongBudget, p.K, p.Rings.K, p.Rings.Hidden = []int{1, 20}, 2, 12, 20, 6, 6, []int{4}
			change(&p)
			r := ran[*experiment.SearchDimensionsResult](t)(p.Run(t.Context()))
			testOutputs(t, r, map[string]string{"search_dimensions_reached": formatFull(r.Dimensions[0].Methods[1].CVMean.Mean)})
			if text := SearchDimensionsTable(r).Markdown(); name == "small" && !strings.Contains(text, "1e+06 needed") {
				t.Errorf("no grid of 20 hyperparameters:\n%s", text)
			}
		})
	}
}

func TestSplitsOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.SplitsParams){
		"small":       func(p *experiment.SplitsParams) {},
		"one setting": func(p *experiment.SplitsParams) { p.Ks, p.Ps = []int{3, 3}, []float64{.5, .5} },
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultSplits()
			p.Ks, p.Ps, p.Draws, p.DataSets, p.Samples, p.RingsDataSets, p.K = []int{4, 15}, []float64{.8, .9}, 3, 2, 60, 2, 10
			p.Rings.Steps, p.Rings.Hidden, p.Rings.Test = 3, []int{4}, 50
			change(&p)
			r := ran[*experiment.SplitsResult](t)(p.Run(t.Context()))
			testOutputs(t, r, map[string]string{
				"splits_elastic_net": formatFull(r.ByK[1].Balanced.LossSD.Mean),
				"splits_rings":       formatFull(r.RingsByP[1].Uniform.Test.Mean),
			})
		})
	}
}

func TestGapOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.GapParams){
		"small":    func(p *experiment.GapParams) {},
		"one step": func(p *experiment.GapParams) { p.Budget, p.Patience, p.Groups = 1, 1, nil },
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultGap()
			p.Groups, p.DataSets, p.Budget, p.K, p.Rings.K, p.Rings.Hidden = []int{2}, 2, 6, 6, 6, []int{4}
			change(&p)
			r := ran[*experiment.GapResult](t)(p.Run(t.Context()))
			testOutputs(t, r, map[string]string{"cv_gap_stopping": formatFull(r.Problems[len(r.Problems)-1].Stopped.Mean)})
		})
	}
}

func TestUnrolledOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.UnrolledParams){
		"default":   func(p *experiment.UnrolledParams) {},
		"one step":  func(p *experiment.UnrolledParams) { p.UnrolledSteps, p.Penalties = []int{1}, []float64{3} },
		"divergent": func(p *experiment.UnrolledParams) { p.UnrolledSteps, p.Rates = []int{2, 40, 4000}, []float64{2.5, 30} },
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultUnrolled()
			change(&p)
			r := ran[*experiment.UnrolledResult](t)(p.Run(t.Context()))
			testOutputs(t, r, map[string]string{"unrolled_errors": formatFull(r.ByRate[0].Exact)})
			for _, s := range UnrolledCurves(r).Panels[0][0].series {
				points := slices.Concat(s.stretches...)
				if last := points[len(points)-1][1]; name == "default" && (last > 12) != (s.name == "ηL = 2.1") {
					t.Errorf("%s ends at 1e%.0f: only the divergent rate ends beyond 1e12", s.name, last)
				}
			}
			header := UnrolledTable(r).Header
			if last := fmt.Sprintf("%d steps", p.UnrolledSteps[len(p.UnrolledSteps)-1]); header[len(header)-1] != last {
				t.Errorf("the last column is %q, want %q", header[len(header)-1], last)
			}
		})
	}
}

func TestStabilityOutputs(t *testing.T) {
	for name, change := range map[string]func(p *experiment.StabilityParams){
		"small": func(p *experiment.StabilityParams) {},
		"one setting": func(p *experiment.StabilityParams) {
			p.StreamSeed, p.DataSets, p.RidgeLambda2, p.ElasticNetLambda1, p.LogisticC, p.PathSteps = 8, 2, []float64{7}, []float64{2}, []float64{9}, []int{1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := experiment.DefaultStability()
			p.DataSets, p.FreshExamples, p.PathSteps = 4, 20, []int{1, 5}
			change(&p)
			r := ran[*experiment.StabilityResult](t)(p.Run(t.Context()))
			testOutputs(t, r, map[string]string{
				"stability_identity":   formatFull(r.Learners[2].Parts[0].Delta.Mean),
				"stability_along_path": formatFull(r.CVLoss[len(r.CVLoss)-1]),
			})
		})
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{-4, .5, "0.0001 0.001 0.01 0.1 1"}, {-10, 1, "1e-10 1e-8 1e-6 1e-4 1e-2 1"}, {-16, 12, "1e-16 1e-12 1e-8 1e-4 1 1e4 1e8 1e12"},
		{0, 2, "1 10 100"}, {-1.75, .3, "0.02 0.05 0.1 0.2 0.5 1"}, {-1.5, -.6, "0.05 0.1 0.2"}, {6.5, 7.5, "5e6 1e7 2e7"}} {
		var labels []string
		for _, tick := range (logTicks{7, math.Inf(-1)}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("ticks from %v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestLowestTickOfAFlooredAxis(t *testing.T) {
	for low, want := range map[float64]string{-10: "≤ 1e-10", -6: "≤ 1e-6", -4: "≤ 0.0001"} {
		ticks := logTicks{7, low}.Ticks(low, .5)
		if ticks[0].Label != want || strings.Contains(ticks[1].Label, "≤") {
			t.Errorf("the axis from 1e%g begins with %q, %q", low, ticks[0].Label, ticks[1].Label)
		}
	}
}

// A common legend lists each name once.
func TestACommonLegendListsEachNameOnce(t *testing.T) {
	for _, place := range []LegendPlace{LegendRight, LegendBelow} {
		f := &Figure{Width: 8 * vg.Inch, Height: 2 * vg.Inch, Legend: place, Panels: make([][]*Panel, 1)}
		for _, name := range []string{"first", "second"} {
			p := NewPanel(name, "", "x", "y")
			p.Line(name+" line", []float64{0, 1}, []float64{0, 1}, Style{})
			p.HLine("level", .5, Style{})
			f.Panels[0] = append(f.Panels[0], p)
		}
		svg, err := f.SVG()
		for _, name := range []string{"first line", "second line", "level"} {
			if err != nil || strings.Count(string(svg), name) != 1 {
				t.Errorf("%q is wanted once (%v)", name, err)
			}
		}
	}
}
