package notebook

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cvgm/cvgm/experiment"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

type inner struct {
	Hidden []int `help:"units"`
}

type testParams struct {
	inner
	K    int     `help:"splits"`
	C    float64 `help:"weight"`
	Seed uint32  `help:"seed"`
	Fast bool    `help:"speed"`
	Name string  `help:"name"`
	Sub  nested
}

type nested struct {
	inner
	Depth int `help:"depth"`
}

func TestOverride(t *testing.T) {
	p := testParams{inner: inner{[]int{64}}, K: 3, C: 2}
	err := override(&p, `{"K": "5", "C": "1e-3", "Hidden": "8, 9", "Seed": "7", "Fast": "true", "Name": "x", "Sub.Depth": "4", "Sub.Hidden": "3"}`)
	want := testParams{inner: inner{[]int{8, 9}}, K: 5, C: 1e-3, Seed: 7, Fast: true, Name: "x"}
	want.Sub.Depth, want.Sub.Hidden = 4, []int{3}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(testParams{}, nested{}, inner{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for overrides, words := range map[string][]string{
		`{"Q": "1"}`:                 {"no parameter Q", "K                  3          splits", "Hidden             64         units"},
		`{"inner": "1"}`:             {"no parameter inner", "Sub.Depth          0          depth"},
		`{"Sub": "1"}`:               {"Sub=1: that is a group"},
		`{"Sub.Q": "1"}`:             {"no parameter Sub.Q"},
		`{"K.K": "1"}`:               {"no parameter K.K"},
		`{"K": "many", "Seed": "-"}`: {"K=many: want a whole number", "Seed=-: want a whole number that is not negative", "seed"},
		`{"Seed": "4294967296"}`:     {"Seed=4294967296"},
		`{"C": "NaN"}`:               {"C=NaN: want a number"},
		`{"C": "Inf"}`:               {"C=Inf"},
		`{"Fast": "2"}`:              {"want true or false"},
		`{"Hidden": "3,x"}`:          {"Hidden=3,x: want a whole number, or several"},
		`K=3`:                        {"JSON"},
		`{"help": ""}`:               {"are\n  Hidden", "splits"},
		`{"K": "9", "Q": "1"}`:       {"K                  3 "}, // not what was set
	} {
		err := override(&testParams{inner: inner{[]int{64}}, K: 3}, overrides)
		for _, w := range words {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v lacks %q", overrides, err, w)
			}
		}
	}
}

// Every field of every experiment's parameters says what it means, and can be
// set from the command line.
func TestParamsAreDocumentedAndSettable(t *testing.T) {
	for _, p := range []any{new(experiment.ElasticNetParams), new(experiment.RingsParams), new(experiment.XORParams), new(experiment.SampleSizeParams),
		new(experiment.DifferentiabilityParams), new(experiment.SearchesParams), new(experiment.SearchDimensionsParams), new(experiment.SplitsParams), new(experiment.GapParams),
		new(experiment.UnrolledParams), new(experiment.StabilityParams), new(struct{ Splits experiment.SplitsParams })} {
		for _, line := range strings.Split(strings.TrimSpace(describe(reflect.ValueOf(p).Elem())), "\n") {
			name := strings.Fields(line)[0]
			if len(strings.Fields(line)) < 3 {
				t.Errorf("%T.%s has no help", p, name)
			}
			if err := override(p, `{"`+name+`": "1"}`); err != nil {
				t.Errorf("%T.%s: %v", p, name, err)
			}
		}
	}
}

type testResult struct{ Values []float64 }

// runs counts calls of a function like an experiment's.
var runs int

func (p testParams) run(ctx context.Context) (*testResult, error) {
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
		last = Compute(testParams{K: k}, testParams.run)
	}
	if runs != 2 {
		t.Errorf("%d runs for two sets of parameters", runs)
	}
	if diff := cmp.Diff(&testResult{[]float64{1, 1.0 / 3, math.NaN(), math.Inf(1)}}, last, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("the stored result differs:\n%s", diff)
	}
	text, err := os.ReadFile(record)
	if err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("record (%v):\n%s", err, text)
	}
	var line struct {
		Function   string
		Parameters struct{ K int }
		Key        string
	}
	if err := json.Unmarshal([]byte(strings.Split(string(text), "\n")[2]), &line); err != nil || line.Parameters.K != 2 || len(line.Key) != 64 {
		t.Errorf("record line %+v (%v)", line, err)
	}
}

// The twin of an experiment has other real parameters, in place and in number
// those of the experiment, whose own stay.
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
		got := Compute(p, twinParams.run)
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

func (p twinParams) run(context.Context) (*twinParams, error) { return &p, nil }

func TestDamagedEntriesAreNamedAndComputedAgain(t *testing.T) {
	t.Setenv(StoreVar, t.TempDir())
	dir, notes := os.Getenv(StoreVar), filepath.Join(t.TempDir(), "record")
	t.Setenv(RecordVar, notes)
	runs = 0
	Compute(testParams{K: 1}, testParams.run)
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
		if r := Compute(testParams{K: 1}, testParams.run); r.Values[0] != 1 || runs != before+1 {
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
	e.save(e.path, &testResult{}) // as each cell does
	if text, err := os.ReadFile(notes); err != nil || strings.Count(string(text), "the result of f is not kept") != 1 {
		t.Errorf("notes (%v):\n%s", err, text)
	}
	if e.load(e.path, &testResult{}) {
		t.Error("loaded what could not be saved")
	}
}

func TestEntriesKeepCells(t *testing.T) {
	s := &store{t.TempDir(), func(string) (string, error) { return "s", nil }}
	const run = "cvgm/cvgm/experiment.RingsParams.Run"
	e, err := s.entry(run, testParams{})
	if err != nil {
		t.Fatal(err)
	}
	var k experiment.Keeper = e
	v := 1.5
	k.Keep(3, &v)
	var got float64
	if k.Load(2, &got) || !k.Load(3, &got) || got != 1.5 {
		t.Errorf("loaded %v", got)
	}
	other, err := s.entry(run, testParams{K: 1})
	if err != nil || other.Load(3, &got) {
		t.Errorf("other parameters find the same cell (%v)", err)
	}
}

func TestParamsSaysThatItWasOverridden(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	t.Setenv(RecordVar, record)
	t.Setenv(ParamsVar, `{"K": "9"}`)
	if p := Params(testParams{K: 3}); p.K != 9 {
		t.Errorf("K is %d", p.K)
	}
	if text, err := os.ReadFile(record); err != nil || string(text) != `{"overrides":{"K":"9"}}`+"\n" {
		t.Errorf("record %q (%v)", text, err)
	}
}

// The source of a notebook's own functions is not part of the key, so their
// results would go stale unseen.
func TestOnlyResultsOfTheModuleAreKept(t *testing.T) {
	t.Setenv(StoreVar, t.TempDir())
	s, err := openStore()
	if err != nil {
		t.Fatal(err)
	}
	for function, kept := range map[string]bool{
		"main.run": false, "main.main.func1": false, "cvgm/cvgm/experiments.Run": false, "gonum.org/v1/gonum/floats.Sum": false,
		"cvgm/cvgm.Run": true, "cvgm/cvgm/experiment.RingsParams.Run": true,
	} {
		if _, err := s.entry(function, testParams{}); (err == nil) != kept {
			t.Errorf("%s: %v", function, err)
		}
	}
}

// The key depends on the source that the function reaches.
func TestKeysDependOnSource(t *testing.T) {
	keys := map[string]bool{}
	for _, hash := range []string{"a", "b"} {
		s := &store{t.TempDir(), func(string) (string, error) { return hash, nil }}
		e, err := s.entry("cvgm/cvgm/experiment.RingsParams.Run", testParams{})
		if err != nil {
			t.Fatal(err)
		}
		keys[e.key] = true
	}
	if len(keys) != 2 {
		t.Error("other source has the same key")
	}
}
