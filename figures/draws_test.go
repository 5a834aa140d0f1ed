package figures

import (
	"errors"
	"flag"
	"os"
	"reflect"
	"testing"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/experiment/registry"
	"cvgm/synth"
)

var draws = flag.Int("draws", 3, "random small runs of each experiment")

// Random small runs of every experiment give outputs that are not blank, not clipped and not
// without a legend.
func TestRandomSmallRuns(t *testing.T) {
	for _, e := range registry.All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			src := synth.NewStream(1, "figures of "+e.Name)
			for i := range *draws {
				p := e.Draw(src)
				r, err := e.Run(t.Context(), p)
				if err != nil {
					t.Fatalf("%d: %+v: %v", i, p, err)
				}
				all := Of(r)
				if len(all) == 0 {
					t.Fatalf("a %T has no outputs", r)
				}
				dir := t.TempDir()
				if write(t, dir, all...); t.Failed() {
					t.Fatalf("%d: %+v", i, p)
				}
				files := 0
				for _, o := range all {
					files += map[bool]int{true: 4, false: 3}[reflect.TypeOf(o) == reflect.TypeFor[*Figure]()]
				}
				if written, err := os.ReadDir(dir); err != nil || len(written) != files {
					t.Errorf("%d files instead of %d: %v", len(written), files, err)
				}
			}
		})
	}
}

// Empty lists of parameters, one at a time, give results that can be drawn or that are
// errors.
func TestEmptyListsOfParams(t *testing.T) {
	for _, e := range registry.All() {
		for _, f := range experiment.Fields(e.Params()) {
			p := e.Draw(synth.NewStream(2, "figures of "+e.Name))
			list := reflect.ValueOf(p).Elem().FieldByName(f.Name)
			if !list.IsValid() || list.Kind() != reflect.Slice {
				continue
			}
			list.SetZero()
			r, err := e.Run(t.Context(), p)
			if err != nil {
				t.Logf("%s without %s: %v", e.Name, f.Name, err)
				continue
			}
			survives(t, func() []Output { return Of(r) }, false)
		}
	}
}

// A result without any content gives errors, not panics, as does nil.
func TestEmptyResults(t *testing.T) {
	names := make(map[string]bool)
	for result, of := range drawers {
		survives(t, func() []Output {
			all := of(reflect.New(result.Elem()).Interface())
			for _, o := range all {
				name, caption := o.Describe()
				if names[name] || caption == "" {
					t.Errorf("%v: %q is the name of two outputs, or of one without caption", result, name)
				}
				names[name] = true
			}
			return all
		}, true)
	}
	for _, other := range []any{nil, 3, errors.New("no result")} {
		if all := Of(other); all != nil {
			t.Errorf("%v has the outputs %v", other, all)
		}
	}
}
