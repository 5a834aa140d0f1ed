package experiment

import (
	"cvgm/synth"
	"math"
	"reflect"
	"strings"
	"testing"
)

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
	if Changes(&testParams{C: 1}) != nil {
		t.Error("a type without defaults has changes")
	}
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
