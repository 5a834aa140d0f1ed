package table

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// The baseline is the level with the most rows or weight. It does not depend on the order of the
// rows, and of equally frequent levels it is the first in sorted order.
func TestBaselines(t *testing.T) {
	rows := func(levels string) string {
		var b strings.Builder
		b.WriteString("a,w,y\n")
		for i, pair := range strings.Fields(levels) {
			level, weight, _ := strings.Cut(pair, ":")
			b.WriteString(level + "," + weight + "," + decimal(float64(i*i%7)) + "\n")
		}
		return b.String()
	}
	reversed := func(levels string) string {
		all := strings.Fields(levels)
		slices.Reverse(all)
		return strings.Join(all, " ")
	}
	for _, c := range []struct {
		levels          string
		plain, weighted []string // Levels without and with weights
	}{
		{"b:1 a:1 c:1 c:1 a:1 c:1", []string{"c", "a", "b"}, []string{"c", "a", "b"}},
		{"b:9 a:1 c:1 c:1 a:1 c:1", []string{"c", "a", "b"}, []string{"b", "a", "c"}},
		{"b:1 a:2 c:1 b:1", []string{"b", "a", "c"}, []string{"a", "b", "c"}}, // a and b weigh alike
		{"b:.3 a:.1 a:.2 b:.2 a:.2", []string{"a", "b"}, []string{"a", "b"}},  // .1 + .2 + .2 and .3 + .2 differ by rounding
		{"b:0 b:0 b:0 a:1 c:2", []string{"b", "a", "c"}, []string{"c", "a", "b"}},
		{"a:1e308 b:1e308 b:1e308 a:1", []string{"a", "b"}, []string{"b", "a"}},
		{"NA:1 NA:1 NA:1 b:1 b:1 a:1", []string{"b", "a"}, []string{"b", "a"}}, // a missing value is no level
	} {
		for _, text := range []string{rows(c.levels), rows(reversed(c.levels))} {
			missing := map[string]MissingRule{"a": MissingIsMean}
			plain := readTable(t, CSV{Ignore: []string{"w"}, MissingIn: missing}, text)
			weighted := readTable(t, CSV{Weights: "w", MissingIn: missing}, text)
			if got := plain.Columns[0].Levels; !slices.Equal(got, c.plain) {
				t.Errorf("%s: %q instead of %q", c.levels, got, c.plain)
			}
			if got := weighted.Columns[0].Levels; !slices.Equal(got, c.weighted) {
				t.Errorf("%s with weights: %q instead of %q", c.levels, got, c.weighted)
			}
		}
	}
}

// A missing weekday has the features of the most frequent weekday, which is found in the rows with a
// date.
func TestBaselineOfWeekdays(t *testing.T) {
	const text = "day,y\n,7\n,5\n,6\n,3\n2024-01-03,1\n2024-01-10,2\n2024-01-05,3\n2024-02-07,4\n" // Wednesdays and a Friday
	table := readTable(t, CSV{MissingIn: map[string]MissingRule{"day": MissingIsMean}}, text)
	at := slices.IndexFunc(table.Columns, func(c Column) bool { return c.Date.Part == PartWeekday })
	if got := table.Columns[at].Levels; !slices.Equal(got, []string{"Wednesday", "Friday"}) {
		t.Errorf("%q", got)
	}
	for i, want := range []float64{0, 0, 0, 0, 0, 0, 1, 0} {
		if got := table.x.At(i, at); got != want {
			t.Errorf("row %d has the value %v instead of %v", i, got, want)
		}
	}
}

// A pipeline names the baselines, also after it was written as JSON, and predicts the same.
func TestFeaturesNameTheBaseline(t *testing.T) {
	const text = "town,size,y\nUlm,1,3\nBonn,2,5\nUlm,3,4\nTrier,4,1\nUlm,5,9\nBonn,6,2\nUlm,7,7\n"
	table := readTable(t, CSV{Categorical: []string{"town"}, Unknown: UnknownIsZero}, text)
	p := pipelineOf(t, table, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	var read Pipeline
	casetest.OK(t, json.Unmarshal(casetest.Must(json.Marshal(p))(t), &read))
	want := []string{"town=Bonn Ulm", "town=Trier Ulm", "size "}
	for _, q := range []*Pipeline{p, &read} {
		var got []string
		for _, f := range casetest.Must(q.Features())(t) {
			got = append(got, f.Name+" "+f.Baseline)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q instead of %q", got, want)
		}
		own := casetest.Must(q.Decision(table))(t)
		for i, line := range strings.Split(strings.TrimSpace(text), "\n")[1:] {
			fields := strings.Split(line, ",")
			y := casetest.Must(q.PredictRecord(map[string]string{"town": fields[0], "size": fields[1]}))(t)
			if y != own[i] {
				t.Errorf("%q: %v instead of %v", line, y, own[i])
			}
		}
		unknown, ulm := casetest.Must(q.PredictRecord(map[string]string{"town": "Köln", "size": "3"}))(t), casetest.Must(q.PredictRecord(map[string]string{"town": "Ulm", "size": "3"}))(t)
		if unknown != ulm {
			t.Errorf("an unknown town: %v, the baseline: %v", unknown, ulm)
		}
	}
	effects := casetest.Must(table.WithEffects(Effect{Column: "town", Kind: LevelsEffect}))(t)
	all := pipelineOf(t, effects, func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	for _, f := range casetest.Must(all.Features())(t) {
		if f.Baseline != "" {
			t.Errorf("%s has the baseline %q", f.Name, f.Baseline)
		}
	}
}
