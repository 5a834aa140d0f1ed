package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/searches"
)

const recordedTimings = `{"machine": {"processor": "Abacus", "cores": 2, "load before": 0.1}, "date": "2018-05-18", "Go": "go1", "runs of each": 3,
"benchmarks": {
 "cvgm.ElasticNetCold/value": {"ns/op": {"lowest": 100000, "median": 120000}},
 "cvgm.ElasticNetCold/gradient": {"ns/op": {"lowest": 150000, "median": 120000}},
 "cvgm.ElasticNetStep/K=128/workers=1": {"ns/op": {"lowest": 1, "median": 1}},
 "cvgm/experiment/differentiability.Differentiation/iterative/steps=100": {"ns/op": {"lowest": 12345, "median": 20000}, "B/op": {"lowest": 9296, "median": 9296}},
 "cvgm/experiment/searches.Searcher/heavy_ball": {"ns/evaluation": {"lowest": 40000, "median": 50000}},
 "cvgm/experiment/searches.Searcher/quasi-Newton,_multi-start": {"ns/evaluation": {"lowest": 40000, "median": 50000}}},
"runs": {"notebooks": {"02_rings": {"results": ["a", "b"], "seconds": 12}, "04_xor": {"results": ["c"], "seconds": 12}}, "results": {"a": 60, "b": 18}}}`

func TestTimingsComeFromTheRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "timings.json")
	if none, err := claims.ReadTimings(path); none != nil || err != nil {
		t.Errorf("without a record: %v, %v", none, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := claims.ReadTimings(path); err == nil {
		t.Error("half a record is taken")
	}
	if err := os.WriteFile(path, []byte(recordedTimings), 0o644); err != nil {
		t.Fatal(err)
	}
	timings, err := claims.ReadTimings(path)
	if err != nil {
		t.Fatal(err)
	}
	costs := NotebookCostTable(timings)
	if text := costs.Markdown(); !strings.Contains(text, "`./reproduce.sh --force 02` | 1.5 |") || !strings.Contains(text, "`./reproduce.sh --force 04` | – |") {
		t.Errorf("costs of the notebooks:\n%s", text)
	}
	paths, err := filepath.Glob("../notebooks/0[1-9]_*.ipynb")
	if err != nil || len(paths) != len(costs.Rows) {
		t.Errorf("%d rows for %d notebooks, %v", len(costs.Rows), len(paths), err)
	}
	cost := GradientCostTable(timings)
	if len(cost.Rows) != 1 || !strings.Contains(cost.Markdown(), "| 100 | with gradient | 150 | 1.50 |") || !strings.Contains(cost.Note, "2018-05-18 on Abacus with 2 cores") {
		t.Errorf("cost of a gradient:\n%s", cost.Markdown())
	}
	if text := DifferentiationCostTable(timings).Markdown(); !strings.Contains(text, "| iterative, 100 steps | 12.3 | 9296 |") {
		t.Errorf("cost of differentiation:\n%s", text)
	}
	p := searches.DefaultSearches()
	r := &searches.Result{Params: p, Methods: []searches.Method{
		{Name: "heavy ball", Gradient: true, Median: []float64{1, 1e-3}}, {Name: searches.MultiStart, Gradient: true, Median: []float64{1}}, {Name: "random", Median: []float64{1}}}}
	// Two evaluations of 40 µs end after .04 and .08 ms. The values are logarithms of milliseconds.
	// Only the first level is reached.
	f := SearchesTime(r, timings)
	for _, want := range []string{"heavy ball,-1.39794", "heavy ball,-1.09691", "above the minimum,-1.09691"} {
		if text := f.CSV(); strings.Count(text, "\n") != 4 || !strings.Contains(text, want) {
			t.Errorf("searches against time, without %q:\n%s", want, text)
		}
	}
	for _, want := range []string{"milliseconds; rows “heavy ball: not reached”", "“heavy ball” from 0.04 to 0.08"} {
		if alt := f.Alt(); !strings.Contains(alt, want) {
			t.Errorf("searches against time in words, without %q: %s", want, alt)
		}
	}
	r.Methods[0].Median = []float64{1e-6}
	rows := timedSearches(r, timings)
	if len(rows) != 1 || rows[0].reached[0] != .04 || rows[0].reached[2] != .04 {
		t.Errorf("a search that begins at the minimum: %+v", rows)
	}
}
