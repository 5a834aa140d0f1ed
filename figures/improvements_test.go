package figures

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"
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
	if text := SearchDimensionsTable(dimensions).Markdown(); !strings.Contains(text, "1e+06 needed") {
		t.Errorf("no grid of 20 hyperparameters:\n%s", text)
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{{-4, .5, "0.0001 0.001 0.01 0.1 1"}, {-10, 1, "1e-10 1e-8 1e-6 0.0001 0.01 1"}, {-16, 12, "1e-16 1e-12 1e-8 0.0001 1 10000 1e8 1e12"}} {
		var labels []string
		for _, tick := range (logTicks{}).Ticks(c.low, c.high) {
			labels = append(labels, tick.Label)
		}
		if got := strings.Join(labels, " "); got != c.want {
			t.Errorf("ticks from %v to %v: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}
