package experiment_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/kernels"
	"cvgm/cvgm/experiment/registry"
	"cvgm/qpdiff"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/synth"
)

// Setting the reported changes on the defaults reproduces the parameters.
func TestChangesSetTheDefaults(t *testing.T) {
	serial.Test(t)
	for _, e := range registry.All() {
		src := synth.NewStream(1, "changes of "+e.Name)
		for range 5 {
			p, q := e.Draw(src), e.Params()
			if changes := experiment.Changes(q); changes != nil {
				t.Errorf("%s: the defaults have the changes %v", e.Name, changes)
			}
			changes := experiment.Changes(p)
			for _, c := range changes {
				if err := experiment.Set(q, c.Name, c.Value); err != nil || c.Value == c.Default {
					t.Errorf("%s: %+v: %v", e.Name, c, err)
				}
			}
			if !reflect.DeepEqual(p, q) || !slices.Equal(changes, experiment.Changes(reflect.ValueOf(p).Elem().Interface())) {
				t.Errorf("%s: %v of %+v gives %+v", e.Name, changes, p, q)
			}
		}
	}
}

// Every parameter has a help text and a range that contains the default and the small values.
func TestParamsAreDescribed(t *testing.T) {
	for _, e := range registry.All() {
		names := make(map[string]bool)
		var larger []string // the fields that the tags below and most name
		_ = experiment.EachField(e.Params(), func(name string, v reflect.Value, tag reflect.StructTag) error {
			name = e.Name + " " + name
			if names[name] {
				t.Errorf("%s: two parameters have this name", name)
			}
			names[name] = true
			for _, other := range []string{tag.Get("below"), tag.Get("most")} {
				if other != "" {
					larger = append(larger, name[:strings.LastIndexAny(name, " .")+1]+other)
				}
			}
			if phrase, has := tag.Lookup("setting"); has && strings.Count(phrase, "%v") != 1 {
				t.Errorf("%s: the phrase %q does not hold one %%v", name, phrase)
			}
			if tag.Get("help") == "" || tag.Get("range") == "" {
				t.Errorf("%s has no help or no range", name)
				return nil
			}
			if experiment.IsText(v.Type()) {
				words, small := experiment.WordsOf(tag.Get("range"))
				drawn, _ := experiment.WordsOf(tag.Get("small"))
				for _, w := range drawn {
					if tag.Get("small") != "" && (!small || !slices.Contains(words, w)) {
						t.Errorf("%s: the small value %q is not in the range", name, w)
					}
				}
				return nil
			}
			allowed := experiment.DomainOf(tag.Get("range"))
			if small := tag.Get("small"); small != "" {
				d := experiment.DomainOf(small)
				if ends := append(slices.Clone(d.Listed), d.Low, d.High); d.Listed == nil && (math.IsInf(d.High-d.Low, 0) || !allowed.Contains(d.Low) || !allowed.Contains(d.High)) {
					t.Errorf("%s: the small values %v are not in the range %s", name, ends, tag.Get("range"))
				}
			}
			return nil
		})
		for _, name := range larger {
			if !names[name] {
				t.Errorf("there is no parameter %s, which bounds another", name)
			}
		}
		if err := experiment.Check(e.Params()); err != nil {
			t.Errorf("%s: the defaults are refused: %v", e.Name, err)
		}
	}
}

// Run refuses a value outside its range before it computes anything. The error names the parameter,
// the value and the range.
func TestRunRefusesWhatIsOutOfRange(t *testing.T) {
	serial.Test(t)
	for _, e := range registry.All() {
		_ = experiment.EachField(e.Params(), func(name string, v reflect.Value, tag reflect.StructTag) error {
			var values []string
			if experiment.IsText(v.Type()) {
				if _, set := experiment.WordsOf(tag.Get("range")); !set {
					return nil
				}
				values = []string{"no such word"}
			}
			allowed := experiment.Domain{Low: math.Inf(-1), High: math.Inf(1)}
			if values == nil {
				allowed = experiment.DomainOf(tag.Get("range"))
			}
			if !math.IsInf(allowed.Low, 0) {
				below := allowed.Low - 1
				if allowed.LowOpen {
					below = allowed.Low
				}
				values = append(values, fmt.Sprint(below))
			}
			if !math.IsInf(allowed.High, 0) {
				values = append(values, fmt.Sprint(2*allowed.High+1)) // adding 1 would not change 1e50
			}
			for _, value := range values {
				p := e.Params()
				if err := experiment.Set(p, name, value); err != nil {
					continue // Set refuses negative seeds
				}
				var arg *qpdiff.ArgError
				if _, err := e.Run(t.Context(), experiment.Hooks{}, p); !errors.As(err, &arg) || !strings.HasPrefix(arg.Arg, name) || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), tag.Get("range")) {
					t.Errorf("%s with %s = %s: error %v", e.Name, name, value, err)
				}
			}
			return nil
		})
	}
}

// Check refuses a fraction that leaves no training rows or no validation rows.
func TestFractionsWithoutRowsAreRefused(t *testing.T) {
	seen := 0
	for _, e := range registry.All() {
		for _, f := range experiment.Fields(e.Params()) {
			if name := f.Name[strings.LastIndex(f.Name, ".")+1:]; !slices.Contains([]string{"P", "Ps", "RivalP"}, name) {
				continue
			}
			seen++
			own := e.Params()
			if err := experiment.Set(own, f.Name, "1e-12"); err != nil {
				t.Fatal(err)
			}
			want := f.Name + " is 1e-12"
			if err := experiment.Check(own); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error is %v, want one with %q", e.Name, err, want)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d fractions were tried", seen)
	}
	own := kernels.DefaultRings()
	own.Train, own.P = 10, .999
	if err := experiment.Check(own); err != nil {
		t.Errorf("one validation row: %v", err)
	}
}

// Every check of a parameter group is reached from its Params. If two embedded groups have a method
// Check, Go promotes neither, so the Params must call both.
func TestChecksOfGroupsAreReached(t *testing.T) {
	type checked interface{ Check() error }
	var groups func(v reflect.Value) int
	groups = func(v reflect.Value) int {
		n := 0
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Struct {
				if _, ok := f.Interface().(checked); ok {
					n++
				} else {
					n += groups(f)
				}
			}
		}
		return n
	}
	for _, e := range registry.All() {
		v := reflect.ValueOf(e.Params()).Elem()
		if _, ok := v.Interface().(checked); !ok && groups(v) > 0 {
			t.Errorf("%s: a group of its parameters has a check that nobody calls", e.Name)
		}
	}
}

func TestExperimentsStopWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range registry.All() {
		if _, err := e.Run(ctx, experiment.Hooks{}, e.Params()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// A cancelled experiment ends within a descent and within the draws of discarded data sets.
func TestExperimentsStopWithinACell(t *testing.T) {
	seen := map[string]int{}
	for _, e := range registry.All() {
		for _, long := range []string{"DiscardedSets", "Steps"} {
			p := e.Draw(synth.NewStream(1, "a long "+e.Name))
			if experiment.Set(p, long, fmt.Sprint(experiment.MaxCount)) != nil {
				continue
			}
			seen[long]++
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := e.Run(ctx, experiment.Hooks{}, p); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %s: %v", e.Name, long, err)
			}
		}
	}
	if seen["DiscardedSets"] < 3 || seen["Steps"] < 6 {
		t.Errorf("experiments that were tried: %v", seen)
	}
}

// countingContext is a context that counts the calls of Err.
type countingContext struct {
	context.Context
	n atomic.Int64
}

func (l *countingContext) Err() error {
	l.n.Add(1)
	return l.Context.Err()
}

// Experiments without cells check their context at least once for each point, step or data set.
func TestLongPartsLookAtTheirContext(t *testing.T) {
	for _, c := range []struct {
		name, param string
		few, many   int
	}{
		{"solution_paths", "PathPoints", 2, 52},
		{"unrolled", "UnrolledSteps", 1, 51},
		{"differentiability_limits", "DataSets", 1, 3},
		{"stability", "Train", 8, 14},
	} {
		e, err := registry.Lookup(c.name)
		if err != nil {
			t.Fatal(err)
		}
		seen := func(value int) int {
			p := e.Draw(synth.NewStream(1, "long parts of "+e.Name))
			set(t, p, c.param, value)
			ctx := &countingContext{Context: t.Context()}
			if _, err := e.Run(ctx, experiment.Hooks{}, p); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			return int(ctx.n.Load())
		}
		if few, many := seen(c.few), seen(c.many); many-few < c.many-c.few {
			t.Errorf("%s looks %d times at its context with %s = %d, and %d times with %d", c.name, few, c.param, c.few, many, c.many)
		}
	}
}

// An experiment that ends with an error has no result.
func TestNoResultBesideAnError(t *testing.T) {
	for _, e := range registry.All() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r, err := e.Run(ctx, experiment.Hooks{}, e.Params()); err == nil || !reflect.ValueOf(r).IsNil() {
			t.Errorf("%s: %v beside %v", e.Name, r, err)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, e := range registry.All() {
		if found, err := registry.Lookup(e.Name); found != e || err != nil {
			t.Errorf("%s: %v, %v", e.Name, found, err)
		}
		if registry.Of(e.Params()) != e || registry.Of(reflect.ValueOf(e.Params()).Elem().Interface()) != e {
			t.Errorf("%s is not found by its parameters", e.Name)
		}
	}
	if _, err := registry.Lookup("x"); err == nil || !strings.Contains(err.Error(), "elastic_net, ") {
		t.Errorf("error %v", err)
	}
	if _, err := registry.All()[0].Run(t.Context(), experiment.Hooks{}, 3); err == nil {
		t.Error("parameters of another type are taken")
	}
}

// encodingKeeper is a Keeper that stores cells in encoded form, like an interrupted run.
type encodingKeeper struct {
	mu     sync.Mutex
	cells  map[int][]byte
	loaded int
}

func (e *encodingKeeper) Load(i int, cell any) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	kept, ok := e.cells[i]
	if ok {
		e.loaded++
		ok = gob.NewDecoder(bytes.NewReader(kept)).Decode(cell) == nil
	}
	return ok
}

func (e *encodingKeeper) Keep(i int, cell any) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(cell); err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cells[i] = b.Bytes()
}

// withoutCells lists the experiments that have no cells or, like my_data, report the progress of a
// tuner.
var withoutCells = []string{"differentiability_limits", "elastic_net", "errata", "my_data", "solution_paths"}

// Experiments report each cell once and return the same result from stored cells.
func TestResultsAreTheSameFromKeptCells(t *testing.T) {
	for _, e := range registry.All() {
		p := e.Draw(synth.NewStream(1, "kept cells of "+e.Name))
		k := &encodingKeeper{cells: make(map[int][]byte)}
		var results [2]bytes.Buffer
		for i := range results {
			var reports, cells atomic.Int64
			r, err := e.Run(t.Context(), experiment.Hooks{Keeper: k, Progress: func(_, total int) {
				reports.Add(1)
				cells.Store(int64(total))
			}}, p)
			if err != nil {
				t.Fatalf("%s: %v with %+v", e.Name, err, p)
			}
			tunes, without := e.Name == "my_data", slices.Contains(withoutCells, e.Name)
			if without != (len(k.cells) == 0) || tunes != (cells.Load() != int64(len(k.cells))) || tunes != (reports.Load() != cells.Load()) {
				t.Errorf("%s: %d reports of %d cells, of which %d are kept", e.Name, reports.Load(), cells.Load(), len(k.cells))
			}
			if err := gob.NewEncoder(&results[i]).Encode(r); err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
		}
		if k.loaded != len(k.cells) {
			t.Errorf("%s: %d of %d cells loaded", e.Name, k.loaded, len(k.cells))
		}
		if !bytes.Equal(results[0].Bytes(), results[1].Bytes()) {
			t.Errorf("%s: another result from kept cells, with %+v", e.Name, p)
		}
	}
}
