package notebook

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/elasticnet"
	"cvgm/cvgm/experiment/registry"
	"cvgm/notebooks/store"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type testParams struct {
	K      int     `help:"splits" range:"[1,∞)"`
	C      float64 `help:"weight" unit:"kg" range:"(0,∞)"`
	Hidden []int   `help:"units" range:"[1,∞)"`
}

type otherParams struct {
	K   int `help:"splits" range:"[1,∞)"`
	Sub struct {
		Depth int `help:"depth" range:"[0,∞)"`
	}
}

func TestOverride(t *testing.T) {
	p, q := testParams{K: 3, C: 2, Hidden: []int{64}}, otherParams{K: 4}
	err := override(`{"K": "5", "other.K": "6", "C": "1e-3", "Hidden": "8, 9", "Sub.Depth": "4"}`, &p, &q)
	want := otherParams{K: 6}
	want.Sub.Depth = 4
	if diff := cmp.Diff(testParams{5, 1e-3, []int{8, 9}}, p) + cmp.Diff(want, q); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for overrides, words := range map[string][]string{
		`{"Q": "1"}`:              {"no parameter Q", "test:\n  K                  3          [1,∞)        splits\n", "Hidden             64         ", "Sub.Depth ", "weight, in kg"},
		`{"Sub": "1"}`:            {"no parameter Sub"},
		`{"test.Sub": "1"}`:       {"no parameter test.Sub"},
		`{"K": "many", "C": "-"}`: {"C=-: want a finite number\nK=many: want a whole number up to 2147483647\nthe parameters"},
		`{"Hidden": "3,x"}`:       {"Hidden=3,x: want a whole number up to 2147483647, or several"},
		`K=3`:                     {"JSON"},
		`{"help": ""}`:            {"are\ntest:\n", "splits"},
		`{"K": "9", "Q": "1"}`:    {"K                  3 "}, // not the value of -p
	} {
		err := override(overrides, &testParams{K: 3, Hidden: []int{64}}, &otherParams{K: 4})
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v lacks %q", overrides, err, w)
			}
		}
	}
}

// The parameters of every experiment can be set on the command line.
func TestParamsAreSettable(t *testing.T) {
	for _, e := range registry.All() {
		for _, f := range experiment.Fields(e.Params()) {
			for _, name := range []string{f.Name, e.Name + "." + f.Name} {
				if err := override(`{"`+name+`": "1"}`, e.Params()); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

type testResult struct{ Values []float64 }

// runs counts the calls of Run.
var runs int

func (p testParams) Run(context.Context, experiment.Hooks) (*testResult, error) {
	runs++
	return &testResult{[]float64{float64(p.K), 1.0 / 3, math.NaN(), math.Inf(1)}}, nil
}

func TestComputeKeepsResultsByParametersAndSource(t *testing.T) {
	t.Setenv(StoreVar, t.TempDir())
	record := filepath.Join(t.TempDir(), "record")
	t.Setenv(RecordVar, record)
	runs = 0
	var last *testResult
	for _, k := range []int{1, 1, 2, 1} {
		last = Compute(testParams{K: k})
	}
	if runs != 2 {
		t.Errorf("%d runs for two sets of parameters", runs)
	}
	if diff := cmp.Diff(&testResult{[]float64{1, 1.0 / 3, math.NaN(), math.Inf(1)}}, last, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("the stored result differs:\n%s", diff)
	}
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `{"function":`) {
			used = append(used, line)
		}
	}
	if computed := strings.Count(string(text), `{"computed":`); len(used) != 4 || computed != 2 || strings.Count(string(text), `{"computing":`) != 2 {
		t.Fatalf("record:\n%s", text)
	}
	var line struct {
		Function   string
		Parameters struct{ K int }
		Key        string
	}
	if err := json.Unmarshal([]byte(used[2]), &line); err != nil || line.Parameters.K != 2 || len(line.Key) != 64 {
		t.Errorf("record line %+v (%v)", line, err)
	}
}

// The twin of an experiment has other floating-point parameters, and the experiment's own
// parameters do not change.
func TestComputeRunsTheTwinWhereItIsAsked(t *testing.T) {
	t.Setenv(StoreVar, t.TempDir())
	p := twinParams{K: 3, C: 2, At: []float64{1, 0}}
	p.Sub.C = -4
	for _, on := range []string{"", "1"} {
		t.Setenv(TwinVar, on)
		want := twinParams{K: 3, C: 2, At: []float64{1, 0}}
		want.Sub.C = -4
		if on != "" {
			want = twinParams{K: 3, C: 2 + 0x1p-39, At: []float64{1 + 0x1p-40, 0}}
			want.Sub.C = -4 - 0x1p-38
		}
		got := Compute(p)
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s=%q: %s", TwinVar, on, diff)
		}
	}
	if p.At[0] != 1 {
		t.Error("the caller's parameters were moved")
	}
}

type twinParams struct {
	K   int
	C   float64
	At  []float64
	Sub struct{ C float64 }
}

func (p twinParams) Run(context.Context, experiment.Hooks) (*twinParams, error) { return &p, nil }

func TestDamagedEntriesAreNamedAndComputedAgain(t *testing.T) {
	t.Setenv(StoreVar, t.TempDir())
	dir, notes := os.Getenv(StoreVar), filepath.Join(t.TempDir(), "record")
	t.Setenv(RecordVar, notes)
	runs = 0
	Compute(testParams{K: 1})
	entries, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	whole, err := os.ReadFile(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)-3] ^= 1
	for _, damaged := range [][]byte{nil, whole[:10], whole[:len(whole)-1], flipped} {
		if err := os.WriteFile(entries[0], damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		before := runs
		if r := Compute(testParams{K: 1}); r.Values[0] != 1 || runs != before+1 {
			t.Errorf("%d bytes: result %v after %d runs", len(damaged), r, runs-before)
		}
	}
	if text, err := os.ReadFile(notes); err != nil || strings.Count(string(text), `{"note":"the stored result `+entries[0]+` is damaged`) != 4 {
		t.Errorf("notes (%v):\n%s", err, text)
	}
	if after, err := os.ReadFile(entries[0]); err != nil || !cmp.Equal(whole, after) {
		t.Errorf("the entry was not mended (%v)", err)
	}
}

func TestResultsAreUsedWhereTheStoreCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	e := &entry{path: filepath.Join(dir, "file", "entry"), function: "f"}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(dir, "record")
	t.Setenv(RecordVar, notes)
	e.save(e.path, &testResult{})
	e.save(e.path, &testResult{}) // each cell of an experiment does this
	if text, err := os.ReadFile(notes); err != nil || strings.Count(string(text), "the result of f is not kept") != 1 {
		t.Errorf("notes (%v):\n%s", err, text)
	}
	if e.load(e.path, &testResult{}) {
		t.Error("loaded what could not be saved")
	}
}

func TestEntriesKeepCells(t *testing.T) {
	dir := t.TempDir()
	const run = "cvgm/cvgm/experiment.RingsParams.Run"
	open := func(p testParams) *entry {
		e, err := newEntry(dir, run, "s", p)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := open(testParams{})
	var k experiment.Keeper = first
	v := 1.5
	k.Keep(3, &v)
	j, err := store.NewJournal(store.Shards(first.path), "worker.", first.key, first.params)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := store.Encode(new(float64))
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Add(store.Record{Kind: store.KindCell, Cell: 4, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	again, three, four := open(testParams{}), 0., 1.
	if again.Load(2, &three) || !again.Load(3, &three) || !again.Load(4, &four) || three != 1.5 || four != 0 {
		t.Errorf("loaded %v and, of a worker, %v", three, four)
	}
	if open(testParams{K: 1}).Load(3, &three) {
		t.Error("other parameters find the same cell")
	}
	again.close(true)
	if open(testParams{}).Load(3, &three) {
		t.Error("the cells outlive the result that they are part of")
	}
}

// A run computes only the cells that no earlier run has stored, and its files have the bytes of an
// uninterrupted run.
func TestComputeUsesKeptCells(t *testing.T) {
	p := elasticnet.DefaultElasticNetSeeds()
	p.Seeds, p.Steps, p.LongSteps = 5, 2, 3
	var want []byte
	for _, kept := range []int{0, 3} {
		dir := t.TempDir()
		t.Setenv(StoreVar, dir)
		function := reflect.TypeOf(p).PkgPath() + "." + reflect.TypeOf(p).Name() + ".Run"
		e := Must(newEntry(dir, function, Must(module().Function(function)), p))
		if _, err := p.Run(t.Context(), experiment.Hooks{Keeper: keepFirst{e, kept}}); err != nil {
			t.Fatal(err)
		}
		e.close(false)
		counted := new(counter)
		Must(p.Run(t.Context(), experiment.Hooks{Keeper: countKept{Must(newEntry(dir, function, Must(module().Function(function)), p)), counted}}))
		if counted.n != p.Seeds-kept {
			t.Errorf("%d of %d cells are computed, %d were kept", counted.n, p.Seeds, kept)
		}
		Compute(p)
		files := Must(os.ReadDir(dir))
		data := Must(os.ReadFile(e.path))
		if len(files) != 1 || want != nil && !bytes.Equal(want, data) {
			t.Errorf("%d kept cells: other bytes, or the store has other files: %v", kept, files)
		}
		want = data
	}
}

// keepFirst stores only the first n cells.
type keepFirst struct {
	experiment.Keeper
	n int
}

func (k keepFirst) Keep(i int, cell any) {
	if i < k.n {
		k.Keeper.Keep(i, cell)
	}
}

type counter struct {
	mu sync.Mutex
	n  int
}

// countKept counts the computed cells, and stores none.
type countKept struct {
	experiment.Keeper
	c *counter
}

func (k countKept) Keep(int, any) {
	k.c.mu.Lock()
	defer k.c.mu.Unlock()
	k.c.n++
}

func TestParamsOverrides(t *testing.T) {
	t.Setenv(ParamsVar, `{"K": "9"}`)
	p := testParams{K: 3, C: 1, Hidden: []int{2}}
	if Params(&p); p.K != 9 {
		t.Errorf("K is %d", p.K)
	}
}

// Results of functions in a notebook are not stored, because the key does not depend on their
// source.
func TestOnlyResultsOfTheModuleAreKept(t *testing.T) {
	for function, kept := range map[string]bool{
		"main.run": false, "main.main.func1": false, "cvgm/cvgm/experiments.Run": false, "gonum.org/v1/gonum/floats.Sum": false,
		"cvgm/cvgm.Run": true, "cvgm/cvgm/experiment.RingsParams.Run": true,
	} {
		if _, err := module().Function(function); (err == nil) != kept {
			t.Errorf("%s: %v", function, err)
		}
	}
}

// The key depends on the source that the function reaches.
func TestKeysDependOnSource(t *testing.T) {
	keys := map[string]bool{}
	for _, hash := range []string{"a", "b"} {
		e, err := newEntry("", "cvgm/cvgm/experiment.RingsParams.Run", hash, testParams{})
		if err != nil {
			t.Fatal(err)
		}
		keys[e.key] = true
	}
	if len(keys) != 2 {
		t.Error("other source has the same key")
	}
}
