package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"
)

// Every figure and table can be drawn from small and unusual results.

func TestSearchesOutputs(t *testing.T) {
	for name, change := range map[string]func(p *searches.SearchesParams){
		"small":          func(p *searches.SearchesParams) {},
		"one evaluation": func(p *searches.SearchesParams) { p.Budget, p.DataSets, p.SurfaceDataSet, p.SmallBudget = 1, 1, 0, 1 },
		"large steps": func(p *searches.SearchesParams) {
			p.LongStepSize, p.HeavyBallStepSize, p.StartLambda1, p.StartLambda2, p.Tol = 5, 5, 3, 3, 1e-2
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := searches.DefaultSearches()
			p.K, p.Samples, p.DataSets, p.Budget, p.ReferencePoints, p.Refinements, p.SurfacePoints, p.Starts, p.SurfaceDataSet = 8, 60, 2, 30, 6, 6, 5, 2, 1
			change(&p)
			r := mustRun[*searches.Result](t)(p.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{"searches_minima": chart.FormatFull(r.Minimum[len(r.Minimum)-1])},
				func(r *searches.Result) Output { return SearchesTime(r, searcherTimings(r)) })
		})
	}
}

func TestSearchDimensionsOutputs(t *testing.T) {
	for name, change := range map[string]func(p *searches.SearchDimensionsParams){
		"small":          func(p *searches.SearchDimensionsParams) {},
		"one evaluation": func(p *searches.SearchDimensionsParams) { p.Budget, p.LongBudget, p.Groups = 1, 1, []int{4} },
	} {
		t.Run(name, func(t *testing.T) {
			p := searches.DefaultSearchDimensions()
			p.Groups, p.DataSets, p.Budget, p.LongBudget, p.K, p.Rings.K, p.Rings.Hidden = []int{1, 20}, 2, 12, 20, 6, 6, []int{4}
			change(&p)
			r := mustRun[*searches.DimensionsResult](t)(p.Run(t.Context(), experiment.Hooks{}))
			testOutputs(t, r, map[string]string{"search_dimensions_reached": chart.FormatFull(r.Dimensions[0].Methods[1].CVMean.Mean)})
			if text := SearchDimensionsTable(r).Markdown(); name == "small" && !strings.Contains(text, "1e+06 needed") {
				t.Errorf("no grid of 20 hyperparameters:\n%s", text)
			}
		})
	}
}

// searcherTimings returns a record with another time for each searcher.
func searcherTimings(r *searches.Result) *claims.Timings {
	timings := &claims.Timings{Benchmarks: make(map[string]map[string]claims.BenchStat)}
	for k, m := range r.Methods {
		timings.Benchmarks["cvgm/experiment/searches.Searcher/"+strings.ReplaceAll(m.Name, " ", "_")] = map[string]claims.BenchStat{"ns/evaluation": {Lowest: float64(1000 * (k + 1))}}
	}
	return timings
}

// Ends of multi-start with the same CV loss belong together. The surface ends where the loss is far
// above its lowest value, but contains all points.
func TestPartsOfTheSearchedSurface(t *testing.T) {
	r := &searches.Result{Params: searches.SearchesParams{Tol: .1}}
	r.Surface.Ends, r.Surface.EndLoss = make([][2]float64, 4), []float64{3, 1, 2.95, 1.05}
	if got := commonEnds(r); len(got) != 2 || !slices.Equal(got[0], []int{1, 3}) || !slices.Equal(got[1], []int{2, 0}) {
		t.Errorf("the ends are grouped as %v", got)
	}
	axes := [][]float64{{1, 2, 3, 4}, {1, 2, 3, 4}}
	loss := [][]float64{{1, 1, 9, 9}, {1, 1, 9, 9}, {1, 9, 9, 9}, {9, 9, 9, 9}}
	for k, c := range []struct {
		point      [2]float64
		rows, cols int
	}{{[2]float64{1, 1}, 4, 3}, {[2]float64{1, 3.5}, 4, 4}} {
		short, rest := withoutSlopes(axes, loss, [][2]float64{c.point})
		if len(short[0]) != c.rows || len(short[1]) != c.cols || len(rest) != c.rows || len(rest[0]) != c.cols {
			t.Errorf("case %d: %d by %d of %v", k, len(short[0]), len(short[1]), rest)
		}
	}
}

// The part of a surface around points contains them, with a margin, and has its own losses.
func TestPartAroundPoints(t *testing.T) {
	axes := [][]float64{{1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100}, {1, 10, 100}}
	loss := make([][]float64, len(axes[0]))
	for i := range loss {
		loss[i] = []float64{float64(i), float64(10 + i), float64(20 + i)}
	}
	part, rest := around(axes, loss, [][2]float64{{.01, 1}, {.1, 100}})
	if !slices.Equal(part[0], []float64{1e-3, 1e-2, 1e-1, 1}) || !slices.Equal(part[1], axes[1]) || len(rest) != 4 || rest[0][2] != 21 {
		t.Errorf("the part %v with the losses %v", part, rest)
	}
	if part, rest := around(axes, loss, nil); len(part[0]) != len(axes[0]) || len(rest) != len(loss) {
		t.Errorf("without points the part is %v", part)
	}
}

// Ends beyond the surface have their own marks, which point to where they lie.
func TestEndsBeyondTheSurface(t *testing.T) {
	p := NewPanel("p", "", "x", "y")
	drawEnds(p, [][]float64{{1, 10}, {1, 10}}, [][2]float64{{2, 2}, {.1, 2}, {.1, .1}, {20, 2}, {2, .1}, {2, 20}})
	var got []string
	for _, s := range p.Series {
		got = append(got, fmt.Sprint(s.Entry.Name, ": ", len(slices.Concat(s.Stretches...))))
	}
	want := []string{"ends of multi-start: 1", "beyond the edge, at smaller λ₁: 2", "beyond the edge, at larger λ₁: 1", "beyond the edge, at smaller λ₂: 1", "beyond the edge, at larger λ₂: 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// A search has an interval at its end, unless its line ends at the lower end of the axis.
func TestIntervalAtTheEndOfASearch(t *testing.T) {
	m := searches.DimensionMethod{Name: searches.QuasiNewton, Excess: experiment.Estimate{Mean: .01, Margin: .005, N: 9}}
	for _, c := range []struct {
		last, margin float64
		series       int
	}{{-2, .005, 1}, {-6, .005, 0}, {-2, math.NaN(), 0}} {
		p := NewPanel("p", "", "x", "y")
		m.Excess.Margin = c.margin
		drawEndInterval(p, m, []float64{-1, c.last}, -6)
		if len(p.Series) != c.series {
			t.Errorf("%+v: %d series", c, len(p.Series))
		}
	}
}
