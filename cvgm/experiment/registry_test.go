package experiment

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cvgm/qpdiff"
	"cvgm/synth"
)

var draws = flag.Int("draws", 3, "random small runs of each experiment")

// Random small parameters of every experiment run, and give a result of their
// own, by which claims can be judged.
func TestRandomSmallRuns(t *testing.T) {
	for _, e := range All() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			src := synth.NewStream(1, "small runs of "+e.Name)
			for i := range *draws {
				p := e.Draw(src)
				r, err := e.Run(t.Context(), p)
				if err != nil || reflect.ValueOf(r).IsNil() {
					t.Fatalf("%d: %+v: %v", i, p, err)
				}
				claimsOf(r) // without a panic
			}
		})
	}
}

// claimsOf returns the claims that one result bears on.
func claimsOf(result any) []Claim {
	var all Results
	v := reflect.ValueOf(&all).Elem()
	for i := range v.NumField() {
		if r := reflect.ValueOf(result); v.Field(i).Type() == r.Type() {
			v.Field(i).Set(r)
		}
	}
	return Claims(all)
}

// The changes of parameters are what sets them, from the defaults; defaults have none.
func TestChangesSetTheDefaults(t *testing.T) {
	for _, e := range All() {
		src := synth.NewStream(1, "changes of "+e.Name)
		for range 5 {
			p, q := e.Draw(src), e.Params()
			if changes := Changes(q); changes != nil {
				t.Errorf("%s: the defaults have the changes %v", e.Name, changes)
			}
			changes := Changes(p)
			for _, c := range changes {
				if err := Set(q, c.Name, c.Value); err != nil || c.Value == c.Default {
					t.Errorf("%s: %+v: %v", e.Name, c, err)
				}
			}
			if !reflect.DeepEqual(p, q) || !slices.Equal(changes, Changes(reflect.ValueOf(p).Elem().Interface())) {
				t.Errorf("%s: %v of %+v gives %+v", e.Name, changes, p, q)
			}
		}
	}
	if Changes(&testParams{C: 1}) != nil {
		t.Error("a type without defaults has changes")
	}
}

// Every parameter has a help and a range that holds its default and its small
// values.
func TestParamsAreDescribed(t *testing.T) {
	for _, e := range All() {
		names := make(map[string]bool)
		var larger []string // what tags name
		_ = eachField(e.Params(), func(name string, v reflect.Value, tag reflect.StructTag) error {
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
			if tag.Get("help") == "" || tag.Get("range") == "" {
				t.Errorf("%s has no help or no range", name)
				return nil
			}
			if isText(v.Type()) {
				words, small := wordsOf(tag.Get("range"))
				drawn, _ := wordsOf(tag.Get("small"))
				for _, w := range drawn {
					if tag.Get("small") != "" && (!small || !slices.Contains(words, w)) {
						t.Errorf("%s: the small value %q is not in the range", name, w)
					}
				}
				return nil
			}
			allowed := domainOf(tag.Get("range"))
			if small := tag.Get("small"); small != "" {
				d := domainOf(small)
				if ends := append(slices.Clone(d.listed), d.low, d.high); d.listed == nil && (math.IsInf(d.high-d.low, 0) || !allowed.contains(d.low) || !allowed.contains(d.high)) {
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
		if err := Check(e.Params()); err != nil {
			t.Errorf("%s: the defaults are refused: %v", e.Name, err)
		}
	}
}

// A value outside its range is refused at once by name, value and range.
func TestRunRefusesWhatIsOutOfRange(t *testing.T) {
	for _, e := range All() {
		_ = eachField(e.Params(), func(name string, v reflect.Value, tag reflect.StructTag) error {
			var values []string
			if isText(v.Type()) {
				if _, set := wordsOf(tag.Get("range")); !set {
					return nil
				}
				values = []string{"no such word"}
			}
			allowed := domain{low: math.Inf(-1), high: math.Inf(1)}
			if values == nil {
				allowed = domainOf(tag.Get("range"))
			}
			if !math.IsInf(allowed.low, 0) {
				below := allowed.low - 1
				if allowed.lowOpen {
					below = allowed.low
				}
				values = append(values, fmt.Sprint(below))
			}
			if !math.IsInf(allowed.high, 0) {
				values = append(values, fmt.Sprint(2*allowed.high+1)) // adding 1 does not change 1e50
			}
			for _, value := range values {
				p := e.Params()
				if err := Set(p, name, value); err != nil {
					continue // a seed below 0 is no number for Set
				}
				var arg *qpdiff.ArgError
				if _, err := e.Run(t.Context(), p); !errors.As(err, &arg) || !strings.HasPrefix(arg.Arg, name) || !strings.Contains(err.Error(), value) || !strings.Contains(err.Error(), tag.Get("range")) {
					t.Errorf("%s with %s = %s: error %v", e.Name, name, value, err)
				}
			}
			return nil
		})
	}
}

// A group's check is that of the Params that embed it, or is called by theirs: of
// two groups' checks Go promotes none.
// A fraction that leaves no training or no validation rows is refused before anything
// runs, in every experiment that splits.
func TestFractionsWithoutRowsAreRefused(t *testing.T) {
	seen := 0
	for _, e := range All() {
		for _, f := range Fields(e.Params()) {
			if name := f.Name[strings.LastIndex(f.Name, ".")+1:]; !slices.Contains([]string{"P", "Ps", "RivalP"}, name) {
				continue
			}
			seen++
			own := e.Params()
			if err := Set(own, f.Name, "1e-12"); err != nil {
				t.Fatal(err)
			}
			want := f.Name + " is 1e-12"
			if err := Check(own); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error is %v, want one with %q", e.Name, err, want)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d fractions were tried", seen)
	}
	own := DefaultRings()
	own.Train, own.P = 10, .999
	if err := Check(own); err != nil {
		t.Errorf("one validation row: %v", err)
	}
}

func TestChecksOfGroupsAreReached(t *testing.T) {
	type checked interface{ check() error }
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
	for _, e := range All() {
		v := reflect.ValueOf(e.Params()).Elem()
		if _, ok := v.Interface().(checked); !ok && groups(v) > 0 {
			t.Errorf("%s: a group of its parameters has a check that nobody calls", e.Name)
		}
	}
}

func TestExperimentsStopWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range All() {
		if _, err := e.Run(ctx, e.Params()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}

// What draws data until it has thrown away as many sets as parameters ask for ends, too,
// when it is interrupted.
func TestExperimentsStopWhileTheyDraw(t *testing.T) {
	seen := 0
	for _, e := range All() {
		p := e.Params()
		if Set(p, "DiscardedSets", fmt.Sprint(maxCount)) != nil {
			continue
		}
		seen++
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := e.Run(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	if seen < 3 {
		t.Errorf("%d experiments were tried", seen)
	}
}

func TestLookup(t *testing.T) {
	for _, e := range All() {
		if found, err := Lookup(e.Name); found != e || err != nil {
			t.Errorf("%s: %v, %v", e.Name, found, err)
		}
		if Of(e.Params()) != e || Of(reflect.ValueOf(e.Params()).Elem().Interface()) != e {
			t.Errorf("%s is not found by its parameters", e.Name)
		}
	}
	if _, err := Lookup("x"); err == nil || !strings.Contains(err.Error(), "elastic_net, ") {
		t.Errorf("error %v", err)
	}
	if _, err := All()[0].Run(t.Context(), 3); err == nil {
		t.Error("parameters of another type are taken")
	}
}

type group struct {
	K    int `help:"splits" range:"[1,∞)" small:"[2,6]"`
	Seed uint32
}

type testParams struct {
	group
	C      float64
	Hidden []int
	Sub    group
	File   string   `help:"a file" range:"text"`
	Word   string   `help:"a word" range:"{a,b}"`
	Names  []string `help:"names" range:"text"`
	Digest string   `param:"-"`
	own    string
}

func TestSet(t *testing.T) {
	var p testParams
	p.own = "left alone"
	for name, text := range map[string]string{"K": "5", "C": "1e-3", "Hidden": "8, 9", "Seed": "7", "Sub.K": "4", "File": "/a b/[1],2.csv", "Word": "b", "Names": "no, first name"} {
		if err := Set(&p, name, text); err != nil {
			t.Error(err)
		}
	}
	if want := (testParams{group: group{5, 7}, C: 1e-3, Hidden: []int{8, 9}, Sub: group{K: 4}, File: "/a b/[1],2.csv", Word: "b", Names: []string{"no", "first name"}, own: "left alone"}); !reflect.DeepEqual(p, want) {
		t.Errorf("%+v", p)
	}
	for name, c := range map[string]struct{ text, want string }{
		"Q": {"1", "no parameter Q"}, "Digest": {"1", "no parameter Digest"}, "own": {"1", "no parameter own"}, "group": {"1", "no parameter group"}, "Sub": {"1", "no parameter Sub"}, "Sub.Q": {"1", "no parameter Sub.Q"},
		"K": {"many", "K=many: want a whole number"}, "Seed": {"4294967296", "Seed=4294967296: want a whole number from 0 to 4294967295"},
		"C": {"NaN", "C=NaN: want a finite number"}, "Hidden": {"3,x", "Hidden=3,x: want a whole number up to 2147483647, or several"},
	} {
		if err := Set(&p, name, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v lacks %q", name, c.text, err, c.want)
		}
	}
	if err := Check(struct {
		Word string `range:"{a,b}"`
	}{"c"}); err == nil || !strings.Contains(err.Error(), `Word is "c" (outside its domain): use a word of {a,b}`) {
		t.Errorf("a word out of its range: %v", err)
	}
	if f := Fields(&p); f[6].Value != p.File || f[8].Value != "no,first name" || len(f) != 9 {
		t.Errorf("%+v", f)
	}
	if err := Set(&p, "Names", ""); err != nil || p.Names != nil {
		t.Errorf("an empty list is %q, %v", p.Names, err)
	}
	if f := Fields(&p); f[0] != (Field{Name: "K", Value: "5", Help: "splits", Range: "[1,∞)"}) || f[3].Value != "8,9" || f[4].Name != "Sub.K" {
		t.Errorf("%+v", f)
	}
}

func TestDomains(t *testing.T) {
	src := synth.NewStream(1, "domains")
	for tag, c := range map[string]struct{ in, out []float64 }{
		"[1,∞)": {[]float64{1, 1e300}, []float64{.5, math.NaN()}}, "(0,1)": {[]float64{.5}, []float64{0, 1}},
		"[0,.5)": {[]float64{0}, []float64{.5}}, "{1,2,5}": {[]float64{1, 5}, []float64{3}}, "(-∞,2]": {[]float64{2, -9}, []float64{2.1}},
	} {
		d := domainOf(tag)
		for _, v := range c.in {
			if !d.contains(v) {
				t.Errorf("%s lacks %v", tag, v)
			}
		}
		for _, v := range c.out {
			if d.contains(v) {
				t.Errorf("%s contains %v", tag, v)
			}
		}
	}
	for _, tag := range []string{"[1,6]", "[1e-6,1]", "{1,2,5}", "[-2,2]"} {
		d, whole := domainOf(tag), tag == "[1,6]"
		seen := make(map[float64]bool)
		for range 1000 {
			v := d.draw(src, whole)
			if seen[v] = true; !d.contains(v) || whole && v != math.Trunc(v) {
				t.Errorf("%s gives %v", tag, v)
			}
		}
		if want := map[string]int{"[1,6]": 6, "{1,2,5}": 3}[tag]; want > 0 && len(seen) != want {
			t.Errorf("%s gives %d values", tag, len(seen))
		}
	}
}

// A full size is larger than the default, and what the experiment accepts; the default size
// is below it and the full size is not.
func TestFullSizes(t *testing.T) {
	seen := 0
	for _, e := range All() {
		p, q := e.Params(), e.Params()
		SetFull(q)
		if err := Check(q); err != nil {
			t.Errorf("%s: the full size is refused: %v", e.Name, err)
		}
		want := make(map[string]bool)
		for _, f := range Fields(p) {
			if f.Full != "" {
				want[f.Name] = true
			}
		}
		if below := BelowFull(p); HasFull(p) != (len(want) > 0) || len(below) != len(want) || slices.ContainsFunc(below, func(f Field) bool { return !want[f.Name] }) {
			t.Errorf("%s: of %v the defaults are below the full size in %v", e.Name, want, below)
		}
		if below := BelowFull(q); below != nil {
			t.Errorf("%s: the full size is below itself: %v", e.Name, below)
		}
		var names []string
		for _, c := range Changes(q) {
			names = append(names, c.Name)
		}
		if len(names) != len(want) {
			t.Errorf("%s: the full size changes %v, not %v", e.Name, names, want)
		}
		seen += len(want)
	}
	if seen == 0 {
		t.Error("no experiment has a full size")
	}
}

// The cells of a run are among those of one with more in all parameters that have a full
// size, bit by bit, and no two cells have one label.
func TestCellsAreAmongThoseOfTheFullSize(t *testing.T) {
	for _, e := range All() {
		if !HasFull(e.Params()) {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			run := func(p any) map[string]string {
				found := make(map[string]string)
				ctx := WithCells(t.Context(), func(label string, cell any) {
					if found[label] != "" {
						t.Errorf("two cells are %s", label)
					}
					found[label] = fmt.Sprintf("%x", reflect.ValueOf(cell).Elem().Interface())
				})
				if _, err := e.Run(ctx, p); err != nil {
					t.Fatal(err)
				}
				return found
			}
			p := e.Draw(synth.NewStream(2, "full size of "+e.Name))
			some := run(p)
			more := 0
			_ = eachField(p, func(_ string, v reflect.Value, tag reflect.StructTag) error {
				switch {
				case tag.Get("full") == "":
				case v.Kind() == reflect.Slice:
					largest := v.Index(v.Len() - 1).Int()
					v.Set(reflect.Append(v, reflect.ValueOf(int(largest)+1)))
					more++
				default:
					v.SetInt(v.Int() + 1)
					more++
				}
				return nil
			})
			full := run(p)
			if more == 0 || len(some) == 0 || len(full) <= len(some) {
				t.Fatalf("%d cells, and %d with %d larger parameters", len(some), len(full), more)
			}
			for label, value := range some {
				if full[label] != value {
					t.Errorf("%s: %s, at the larger size %s", label, value, full[label])
				}
			}
		})
	}
}
