package table

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/strictjson"
	"cvgm/cvgm/interval"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

// intervalPipeline returns a pipeline with intervals, for a table in which numbers are missing.
func intervalPipeline(t *testing.T, learner func() learn.Learner, alpha []float64) (*Pipeline, *Table) {
	rows := "a,b,y\n"
	for i := range 24 {
		rows += strings.Join([]string{[]string{"1.5", "", "3", "4.25", "-2"}[i%5], []string{"red", "blue", "green"}[i%7%3], decimal(float64(i*i%11) / 3)}, ",") + "\n"
	}
	table := casetest.Must(CSV{Target: "y", Missing: MissingIsMean}.Read(strings.NewReader(rows)))(t)
	return intervalsOf(t, table, learner, alpha), table
}

// intervalsOf returns a pipeline for a table, with intervals from two halves of the rows.
func intervalsOf(t *testing.T, table *Table, learner func() learn.Learner, alpha []float64) *Pipeline {
	data, encoder, err := table.Data()
	casetest.OK(t, err)
	rows := len(data.Y)
	var halves [2][]int
	for i := range rows {
		halves[i%2] = append(halves[i%2], i)
	}
	cv := casetest.Must(cvgm.New(cvgm.Config{Data: data, Prepare: encoder, Learner: learner, Loss: cvgm.SquaredError{}, Standardise: true, Splits: []cvgm.Split{{Train: halves[0], Val: halves[1]}}}))(t)
	p := casetest.Must(NewPipeline(casetest.Must(cv.Final(alpha))(t)))(t)
	var folds []interval.Fold
	for k := range halves {
		f := interval.Fold{Model: casetest.Must(cv.FinalOn(halves[k], alpha))(t), Spread: interval.Spread{At: []float64{0, 3}, Size: []float64{.1, 1}}}
		for i := range halves[k] {
			f.Scores, f.Weights = append(f.Scores, float64(i*5%12)/7), append(f.Weights, 1)
		}
		folds = append(folds, f)
	}
	p.Intervals = casetest.Must(interval.New(folds, rows))(t)
	return p
}

// A pipeline returns the same intervals, bit for bit, after conversion to JSON.
func TestIntervalsAreTheSameAfterJSON(t *testing.T) {
	net := func() learn.Learner { return new(linear.ElasticNet) }
	plain, table := intervalPipeline(t, net, []float64{.01, .1})
	machine, _ := intervalPipeline(t, func() learn.Learner { return &kernel.Ridge{Intercept: true} }, []float64{.1, .5})
	scaled := casetest.Must(table.WithEffects(Effect{Column: "a", Kind: ScaledEffect}, Effect{Column: "b"}))(t)
	for name, c := range map[string]struct {
		p     *Pipeline
		table *Table
	}{"linear": {plain, table}, "kernel": {machine, table}, "scaled": {intervalsOf(t, scaled, net, []float64{.01, .1}), scaled}} {
		p, table := c.p, c.table
		text := casetest.Must(json.Marshal(p))(t)
		var back Pipeline
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if again := casetest.Must(json.Marshal(back))(t); string(again) != string(text) || !strings.Contains(string(text), `"version":3`) {
			t.Errorf("%s: written again as\n%s, not\n%s", name, again, text)
		}
		low, high, err := p.Interval(table, .9)
		casetest.OK(t, err)
		low2, high2, err := back.Interval(casetest.Must(back.Read(strings.NewReader("b,a\nred,1.5\nblue,\n")))(t), .9)
		if err != nil || !hostile.SameBits(low2, low[:2]) || !hostile.SameBits(high2, high[:2]) {
			t.Errorf("%s: [%v, %v], %v; before [%v, %v]", name, low2, high2, err, low[:2], high[:2])
		}
		l, h, err := back.IntervalRecord(map[string]string{"a": "", "b": "blue"}, .9)
		if err != nil || l != low[1] || h != high[1] {
			t.Errorf("%s: of a record [%v, %v], %v; want [%v, %v]", name, l, h, err, low[1], high[1])
		}
		for fields, level := range map[string]float64{"a": 2, "unknown": .9} {
			if l, h, err := back.IntervalRecord(map[string]string{fields: "1", "b": "blue"}, level); err == nil || l == l || h == h {
				t.Errorf("%s: [%v, %v] with the error %v", name, l, h, err)
			}
		}
		first, second := back.Intervals.Folds[0].Model.Prepared.(*Encoder).code[0], back.Intervals.Folds[1].Model.Prepared.(*Encoder).code[0]
		if first.Mean == second.Mean || name == "scaled" && (first.Centre == second.Centre || first.Deviation == second.Deviation) {
			t.Errorf("%s: the folds have one mean or one scale", name)
		}
		p.Intervals = nil
		if plain := string(casetest.Must(json.Marshal(p))(t)); name != "scaled" && !strings.Contains(plain, `"version":2`) || strings.Contains(plain, "intervals") {
			t.Errorf("%s: without intervals %s", name, plain)
		}
		if _, _, err := p.Interval(table, .9); !errors.Is(err, qpdiff.ErrEmpty) {
			t.Errorf("%s: without intervals %v", name, err)
		}
	}
}

// A pipeline rejects damaged intervals and the intervals of another pipeline.
func TestIntervalsRefusals(t *testing.T) {
	net := func() learn.Learner { return new(linear.ElasticNet) }
	p, table := intervalPipeline(t, net, []float64{.01, .1})
	scaled := casetest.Must(table.WithEffects(Effect{Column: "a", Kind: ScaledEffect}, Effect{Column: "b"}))(t)
	plain := string(casetest.Must(json.Marshal(p))(t))
	withScale := string(casetest.Must(json.Marshal(intervalsOf(t, scaled, net, []float64{.01, .1})))(t))
	for name, c := range map[string][3]string{
		"no units":        {`"units":24`, `"units":0`, "Units is 0"},
		"an unknown key":  {`"units":24`, `"units":24,"level":1`, `unknown key "level"`},
		"two means":       {`"means":[`, `"means":[1,`, "fold 0: means are 2 instead of 1"},
		"no mean":         {`"means":[`, `"means":[],"means_":[`, `unknown key`},
		"a score below 0": {`"scores":[0,`, `"scores":[-1,`, "Scores holds -1"},
		"a weight less":   {`"weights":[`, `"weights":[0.5,`, "Weights has 13 entries"},
		"no spread":       {`"spread_size":[`, `"spread_size":[1,`, "3 sizes at 2 predictions"},
		"another model":   {`"theta":[`, `"theta":[1,1,1,1,1,`, "model of fold 0"},
		"null":            {`"folds":[`, `"folds":null,"x":[`, ""},
		"two scales":      {`"scales":[`, `"scales":[{"centre":1,"deviation":1},`, "fold 0: scales are 2 instead of 1"},
		"no scales":       {`"scales":[`, `"scales":[],"scales_":[`, `unknown key`},
		"no deviation":    {`"deviation":`, `"deviation":-`, "fold 0: deviation of column \"a\" is -"},
		"a scale alone":   {`"means":[`, `"scales":[{"centre":1,"deviation":1}],"means":[`, "fold 0: scales are 1 instead of 0"},
	} {
		text := plain
		if strings.HasSuffix(name, "scales") || name == "no deviation" {
			text = withScale
		}
		first := strings.Index(text, `"intervals"`)
		changed := text[:first] + strings.Replace(text[first:], c[0], c[1], 1)
		back := Pipeline{Target: "before"}
		if err := back.UnmarshalJSON([]byte(changed)); changed == text || err == nil || back.Target != "before" || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: %v lacks %q", name, err, c[2])
		}
	}
	// Each pipeline combines parts of two pipelines.
	other := pipelineOf(t, patientTable(t), func() learn.Learner { return new(linear.ElasticNet) }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})
	mixed := Pipeline{Model: other.Model, Target: other.Target, Intervals: p.Intervals}
	if _, err := json.Marshal(mixed); !errors.Is(err, qpdiff.ErrShape) {
		t.Errorf("intervals of another pipeline: %v", err)
	}
	if _, _, err := p.Interval(patientTable(t), .9); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("another table: %v", err)
	}
	if _, _, err := p.Interval(table, .97); !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("24 rows at .97: %v", err)
	}
	if err := strictjson.Verify([]byte(plain)); err != nil {
		t.Error(err)
	}
}
