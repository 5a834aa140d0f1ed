package hostile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"cvgm/qpdiff"

	"gonum.org/v1/gonum/mat"
)

// Run reports each kind of failure in its own category with the first input that causes it.
func TestRunSeesWhatIsBroken(t *testing.T) {
	kinds := []Kind{
		{Name: "panics", Weight: 1, Run: func(in *Input) { panic("boom") }},
		{Name: "fails", Weight: 1, Run: func(in *Input) { in.Failf("wrong", "%d", 1) }},
		{Name: "stops", Weight: 1, Run: func(in *Input) { in.Stop() }},
		{Name: "lines", Weight: 1, Run: func(in *Input) {
			in.Answer("call", errors.Join(qpdiff.ErrShape, qpdiff.ErrDomain))
			in.Answer("call", nil)
		}},
		{Name: "unknown", Weight: 1, Run: func(in *Input) {
			in.Answer("call", errors.New("unheard of"))
			in.Answer("documented", errors.New("of no kind"), ErrDocumented)
			in.Answer("documented", nil)
		}},
		{Name: "refused", Weight: 1, Run: func(in *Input) { in.Answer("call", fmt.Errorf("no: %w", qpdiff.ErrDomain)) }},
		{Name: "seldom", Weight: 1, Floors: map[string]float64{"call": .9}, Run: func(in *Input) {
			in.Answer("call", nil)
			in.Answer("call", qpdiff.ErrDomain)
		}},
		{Name: "writes", Weight: 1, Run: func(in *Input) {
			var m Memory
			x := mat.NewDense(1, 1, []float64{1})
			m.Matrix(x)
			x.Set(0, 0, math.NaN())
			m.Check(in, "call")
		}},
		{Name: "slope", Weight: 1, Run: func(in *Input) {
			square := func(h float64) (float64, bool) { return (1 + h) * (1 + h), true }
			in.Slope("right", square, 2, 2)
			in.Slope("call", square, 2.1, 2.1)
			in.Slope("kink", func(h float64) (float64, bool) { return math.Abs(h), true }, 1, 1)
			in.Slope("kink nearby", func(h float64) (float64, bool) { return math.Abs(h + 1e-10), true }, 1, 1)
			in.Slope("rounded", func(h float64) (float64, bool) { return 1e-9 * math.Cos(1e13*h), true }, 1e-4, 1e-4)
			in.Slope("wrong beside a kink", func(h float64) (float64, bool) { return math.Abs(h + 1e-10), true }, -1, 1)
		}},
		{Name: "fine", Weight: 1, Run: func(in *Input) { in.Answer("call", nil) }},
	}
	r := newRun("replay")
	for i := range int64(2000) {
		r.runOne(kinds, i)
	}
	got := r.problems(kinds)
	want := []string{
		"fails: wrong (",
		"lines: call: error text is not one line (",
		"panics: panic at ",
		"refused call: only 0 of ",
		"seldom call: only 0.5 of ",
		"slope: call: derivative wrong (",
		"slope: kink: derivative answered at a kink (",
		"slope: wrong beside a kink: derivative answered at a kink (",
		"unknown call: only 0 of ",
		"unknown: call: error of no documented kind (",
		"writes: call writes to its input (",
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("the run reports\n%s", strings.Join(got, "\n"))
	}
	// The replay of a category is the input that shows it.
	for _, p := range got {
		_, replay, shown := strings.Cut(p, "replay ")
		if !shown {
			continue
		}
		var index int64
		fmt.Sscan(replay, &index)
		alone := newRun("replay")
		alone.runOne(kinds, index)
		category, _, _ := strings.Cut(p, " (")
		if found := alone.problems(kinds); len(found) == 0 || !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, category) }) {
			t.Errorf("the input %d of %s shows %q", index, category, found)
		}
	}
}

// Each profile draws values of the kind in its name.
func TestProfiles(t *testing.T) {
	in := &Input{Rand: NewSource(1).Rand}
	for p, seen := range map[Profile]func(v float64) bool{
		Tame:     func(v float64) bool { return math.Abs(v) > 1 },
		Integer:  func(v float64) bool { return v == 0 },
		Scaled:   func(v float64) bool { return math.Abs(v) > 1e4 },
		Wild:     func(v float64) bool { return math.Abs(v) < 1e-120 },
		Extreme:  func(v float64) bool { return math.IsInf(v, 0) },
		Poisoned: math.IsNaN,
	} {
		if values := in.Vector(p, 10000); !slices.ContainsFunc(values, seen) || p <= Wild && !Finite(values) {
			t.Errorf("profile %v draws %v …", p, values[:5])
		}
	}
}
