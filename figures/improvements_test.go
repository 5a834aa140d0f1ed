package figures

import (
	"context"
	"os"
	"path/filepath"
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

// Every figure and table of the improvements and of stability draws from a
// small Result.
func TestImprovementsAndStabilityOutputs(t *testing.T) {
	ctx := context.Background()

	ps := experiment.DefaultSearches()
	ps.K, ps.Samples, ps.DataSets, ps.Budget, ps.TruthPoints, ps.TruthZooms, ps.SurfacePoints, ps.Starts, ps.Picture = 8, 60, 2, 30, 6, 6, 5, 2, 1
	searches := ran[*experiment.SearchesResult](t)(ps.Run(ctx))

	pd := experiment.DefaultSearchDimensions()
	pd.Groups, pd.DataSets, pd.Budget, pd.Long, pd.K, pd.Rings.K, pd.Rings.Hidden = []int{1, 20}, 2, 12, 20, 6, 6, []int{4}
	dimensions := ran[*experiment.SearchDimensionsResult](t)(pd.Run(ctx))

	pp := experiment.DefaultSplits()
	pp.Ks, pp.Ps, pp.Draws, pp.DataSets, pp.Samples, pp.RingsDataSets, pp.K = []int{4, 15}, []float64{.8, .9}, 3, 2, 60, 2, 10
	pp.Rings.Steps, pp.Rings.Hidden, pp.Rings.Test = 3, []int{4}, 50
	splits := ran[*experiment.SplitsResult](t)(pp.Run(ctx))

	pg := experiment.DefaultGap()
	pg.Groups, pg.DataSets, pg.Steps, pg.Search.K, pg.Search.Rings.K, pg.Search.Rings.Hidden = []int{2}, 2, 6, 6, 6, []int{4}
	gap := ran[*experiment.GapResult](t)(pg.Run(ctx))

	unrolled := ran[*experiment.UnrolledResult](t)(experiment.DefaultUnrolled().Run(ctx))

	pb := experiment.DefaultStability()
	pb.Samples, pb.Fresh, pb.Steps = 4, 20, []int{1, 5}
	stability := ran[*experiment.StabilityResult](t)(pb.Run(ctx))

	dir := t.TempDir()
	for _, o := range []interface{ Write(dir string) error }{
		SearchesTable(searches), SearchesMinimaTable(searches), SearchesCurves(searches), SearchesSurface(searches),
		SearchDimensionsTable(dimensions), SearchDimensionsCurves(dimensions),
		SplitsTable(splits), SplitsRingsTable(splits), SplitsCurves(splits),
		GapTable(gap), GapCurves(gap), UnrolledTable(unrolled), UnrolledCurves(unrolled),
		StabilityTable(stability), StabilitySweeps(stability), StabilityPath(stability), StabilityPathTable(stability),
	} {
		if err := o.Write(dir); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{
		"searches_minima.csv":           full(searches.Minimum[1]),
		"search_dimensions_reached.csv": full(dimensions.Dimensions[0].Methods[1].CVMean.Mean),
		"splits_elastic_net.csv":        full(splits.ByK[1].Balanced.LossSD.Mean),
		"splits_rings.csv":              full(splits.RingsByP[1].Uniform.Test.Mean),
		"cv_gap_stopping.csv":           full(gap.Problems[1].Stopped.Mean),
		"unrolled_errors.csv":           full(unrolled.ByRate[0].Exact),
		"stability_identity.csv":        full(stability.Learners[2].Parts[0].Delta.Mean),
		"stability_along_path.csv":      full(stability.CVLoss[1]),
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s (%v):\n%s", name, want, err, text)
		}
	}
	for _, s := range UnrolledCurves(unrolled).Panels[0][0].series {
		if last := s.y[len(s.y)-1]; (last > 12) != (s.name == "ηL = 2.1") {
			t.Errorf("%s ends at 1e%.0f: only the divergent rate leaves the axis, and its curve crosses the edge", s.name, last)
		}
	}
	if text := SearchDimensionsTable(dimensions).Markdown(); !strings.Contains(text, "1e+06 needed") {
		t.Errorf("no grid of 20 hyperparameters:\n%s", text)
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{-4, .5, "0.0001 0.001 0.01 0.1 1"}, {-10, 1, "1e-10 1e-8 1e-6 0.0001 0.01 1"}, {-16, 12, "1e-16 1e-12 1e-8 0.0001 1 10000 1e8 1e12"},
		{0, 2, "1 10 100"}, {-1.75, .3, "0.02 0.05 0.1 0.2 0.5 1"}, {-1.5, -.6, "0.05 0.1 0.2"}, {6.5, 7.5, "5e6 1e7 2e7"}} {
		var labels []string
		for _, tick := range (logTicks{}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("ticks from %v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestLowestTickOfAFlooredAxis(t *testing.T) {
	for low, want := range map[float64]string{-10: "≤ 1e-10", -6: "≤ 1e-6", -4: "≤ 0.0001"} {
		ticks := logTicks{floored: true}.Ticks(low, .5)
		if ticks[0].Label != want || strings.Contains(ticks[1].Label, "≤") {
			t.Errorf("the axis from 1e%g begins with %q, %q", low, ticks[0].Label, ticks[1].Label)
		}
	}
}

func TestPanelsShowTheirOwnLegendsBesideThem(t *testing.T) {
	f := &Figure{Width: 8 * vg.Inch, Height: 2 * vg.Inch, Panels: make([][]*Panel, 1)}
	for _, name := range []string{"first", "second"} {
		p := NewPanel(name, "", "x", "y")
		p.LegendWidth = vg.Inch
		p.Line(name+" line", []float64{0, 1}, []float64{0, 1}, Style{})
		f.Panels[0] = append(f.Panels[0], p)
	}
	svg, err := f.SVG()
	if err != nil || strings.Count(string(svg), "first line") != 1 || strings.Count(string(svg), "second line") != 1 {
		t.Errorf("each legend is wanted once (%v)", err)
	}
}
