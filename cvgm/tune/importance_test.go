package tune

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
	"cvgm/qpdiff/linear"
	"cvgm/synth"
)

// importanceTable returns a table whose target depends on a number and, twice as strongly, on a
// category.
func importanceTable(t *testing.T, unit float64) *table.Table {
	src := synth.NewStream(4, "importance")
	var b strings.Builder
	b.WriteString("a,town,noise,day,y\n")
	for i := range 120 {
		a, town := src.NormFloat64(), i%3
		fmt.Fprintf(&b, "%v,t%d,%v,2024-%02d-%02d,%v\n", unit*a, town, src.NormFloat64(), 1+i%12, 1+i%28, unit*(a+[]float64{-2.5, 0, 2.5}[town]+.3*src.NormFloat64()))
	}
	return casetest.Must(table.CSV{Target: "y"}.Read(strings.NewReader(b.String())))(t)
}

// In a linear model, permuting a feature with variance v and weight w increases the squared error
// by 2w²v.
func TestImportance(t *testing.T) {
	var before []Importance
	for _, unit := range []float64{1, 1e6} {
		tuned := casetest.Must(Tuner{OuterFolds: -1}.TuneTable(t.Context(), importanceTable(t, unit)))(t)
		got := casetest.Must(tuned.Importance(t.Context(), 0, 3))(t)
		if len(got) != 4 || got[0].Column != "town" || got[1].Column != "a" {
			t.Fatalf("%v", got)
		}
		total := 1 + 2.5*2.5*2/3 + .09
		for i, want := range []float64{2 * 2.5 * 2.5 * 2 / 3 / total, 2 / total} {
			if e := got[i].Increase; math.Abs(e.Mean/100-want) > .15*want || !(e.Low < e.Mean && e.Mean < e.High) || e.High-e.Low > .2*e.Mean {
				t.Errorf("%v, and %.0f %% of the squares", got[i], 100*want)
			}
		}
		for _, other := range got[2:] {
			if math.Abs(other.Increase.Mean) > 2 {
				t.Errorf("of no effect: %v", other)
			}
		}
		again := casetest.Must(tuned.Importance(t.Context(), 0, 3))(t)
		other := casetest.Must(tuned.Importance(t.Context(), 0, 4))(t)
		for i := range got {
			if got[i] != again[i] {
				t.Errorf("%v, and again %v", got[i], again[i])
			}
			if unit != 1 && math.Abs(got[i].Increase.Mean-before[i].Increase.Mean) > .05 {
				t.Errorf("%v, in another unit %v", before[i], got[i])
			}
		}
		if other[0] == got[0] {
			t.Errorf("another seed: %v", other[0])
		}
		before = got
	}
}

// The importance of a group of columns with independent effects is the sum of the importances of
// its columns.
func TestImportanceOfGroups(t *testing.T) {
	tuned := casetest.Must(Tuner{OuterFolds: -1}.TuneTable(t.Context(), importanceTable(t, 1)))(t)
	single := map[string]Importance{}
	for _, one := range casetest.Must(tuned.Importance(t.Context(), 0, 3))(t) {
		single[one.Column] = one
	}
	got := casetest.Must(tuned.Importance(t.Context(), 0, 3, ColumnGroup{Columns: []string{"a"}}, ColumnGroup{Name: "place and size", Columns: []string{"town", "a"}}, ColumnGroup{Columns: []string{"noise", "day"}}))(t)
	if len(got) != 3 || got[0].Column != "place and size" || got[1] != single["a"] || got[2].Column != "noise, day" {
		t.Fatalf("%v, single columns %v", got, single)
	}
	if both, sum := got[0].Increase.Mean, single["a"].Increase.Mean+single["town"].Increase.Mean; math.Abs(both-sum) > .1*sum || both == sum {
		t.Errorf("together %v, in sum %v", both, sum)
	}

	src := synth.NewStream(5, "importance")
	text := "a,copy,b,y\n"
	for range 80 {
		a, b := src.NormFloat64(), src.NormFloat64()
		text += fmt.Sprintf("%v,%v,%v,%v\n", a, a, b, 2*a+b+.3*src.NormFloat64())
	}
	tuned = casetest.Must(Tuner{OuterFolds: -1, Learner: &linear.Huber{Intercept: true}}.TuneTable(t.Context(), casetest.Must(table.CSV{Target: "y"}.Read(strings.NewReader(text)))(t)))(t)
	got = casetest.Must(tuned.Importance(t.Context(), 0, 3, ColumnGroup{Columns: []string{"copy"}}, ColumnGroup{Columns: []string{"copy", "a"}}))(t)
	if got[0].Column != "copy, a" || !(got[0].Increase.Low > 1.5*got[1].Increase.High) {
		t.Errorf("%v", got)
	}
}

func TestImportanceRefuses(t *testing.T) {
	tuned := casetest.Must(Tuner{OuterFolds: -1, Learner: new(linear.ElasticNet)}.TuneTable(t.Context(), importanceTable(t, 1)))(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := tuned.Importance(ctx, 0, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	constant := *tuned
	constant.Choice = ChoseConstant
	for name, c := range map[string]struct {
		t       *Tuned
		repeats int
		kind    error
	}{"nil": {nil, 0, qpdiff.ErrEmpty}, "no model": {new(Tuned), 0, qpdiff.ErrEmpty}, "one repeat": {tuned, 1, qpdiff.ErrDomain}, "below 0": {tuned, -1, qpdiff.ErrDomain}, "constant": {&constant, 0, qpdiff.ErrDomain}} {
		if _, err := c.t.Importance(t.Context(), c.repeats, 1); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		columns []string
		kind    error
	}{"no columns": {nil, qpdiff.ErrEmpty}, "unknown": {[]string{"a", "size"}, qpdiff.ErrDomain}, "twice": {[]string{"a", "a"}, qpdiff.ErrDomain}} {
		if _, err := tuned.Importance(t.Context(), 0, 1, ColumnGroup{Columns: []string{"a"}}, ColumnGroup{Columns: c.columns}); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), "groups[1]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
