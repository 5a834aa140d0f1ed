package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/qpdiff"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/learntest/serial"
	"cvgm/qpdiff/penalised"
)

// triples is a CSV with three columns of numbers. One number is missing.
const triples = "a,b,c,y\n1,20,3,1\n2,50,1,3\n4,,2,2\n3,10,7,4\n0,35,5,2\n5,11,6,1\n"

// kernelsOf returns a table with two kernel effects, and a pipeline of its features.
func kernelsOf(t *testing.T) (*Table, *Pipeline) {
	t.Helper()
	part := casetest.Must(readTable(t, CSV{MissingIn: map[string]MissingRule{"b": MissingIsMean}}, triples).WithEffects(Effect{Column: "a", Kind: KernelEffect, Term: "ab"},
		Effect{Column: "b", Kind: KernelEffect, Term: "ab"}, Effect{Column: "c", Kind: KernelEffect, Term: "c", Length: 2}))(t)
	return part, pipelineOf(t, part, ridgeOfKernels, cvgm.SquaredError{}, cvgm.NoCentring, []float64{.1, .2})
}

// ridgeOfKernels returns a learner for the features of kernelsOf.
func ridgeOfKernels() learn.Learner {
	return &penalised.GLM{Intercept: true, Penalties: []penalised.Penalty{penalised.Ridge(0, 6), penalised.Ridge(6, 6)}}
}

func TestKernelEffectsOfATable(t *testing.T) {
	part, p := kernelsOf(t)
	a, b, c := part.Columns[0], part.Columns[1], part.Columns[2]
	if a.Features() != 6 || b.Features() != 0 || c.Features() != 6 || a.Effect.Bases != 6 || b.Effect.Length != math.Sqrt2 || c.Effect.Length != 2 {
		t.Errorf("effects %+v, %+v, %+v", a.Effect, b.Effect, c.Effect)
	}
	if got := p.Model.Prepared.(*Encoder).Names(); len(got) != 12 || got[5] != "ab kernel 6" || got[6] != "c kernel 1" {
		t.Errorf("names %q", got)
	}
	// An effect of a table may be used again for its rows.
	again := casetest.Must(part.Rows([]int{5, 4, 3, 2, 1, 0}).WithEffects(*a.Effect, *b.Effect, *c.Effect))(t)
	if !sameColumns(again.Columns, part.Columns) {
		t.Error("other columns in another order of the rows")
	}
	fewer := casetest.Must(part.WithEffects(Effect{Column: "a", Kind: KernelEffect, Term: "ab", Bases: 4}, Effect{Column: "b", Kind: KernelEffect, Term: "ab", Bases: 4}, *c.Effect))(t)
	if _, err := p.Decision(fewer); fewer.Columns[0].Features() != 4 || !errors.Is(err, qpdiff.ErrDomain) {
		t.Errorf("another kernel: %v", err)
	}
	for want, effects := range map[string][]Effect{
		"Effect.Length is 0 with Bases 200 for column \"b\", and 2": {{Column: "a", Kind: KernelEffect, Length: 2}, {Column: "b", Kind: KernelEffect}},
		"Effect.Length is 0 with Bases 200 for column \"b\", and 0": {{Column: "a", Kind: KernelEffect, Bases: 9}, {Column: "b", Kind: KernelEffect}},
	} {
		if _, err := part.WithEffects(effects...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, not one with %q", err, want)
		}
	}
}

// If all rows are inducing rows, the features of each row have the norm 1, even if numbers are
// missing.
func TestKernelsOfMissingNumbers(t *testing.T) {
	const tol = 1e-9
	for _, text := range []string{triples, "a,b,y\n1,,1\n,2,2\n3,,4\n,5,3\n"} {
		full := readTable(t, CSV{MissingIn: map[string]MissingRule{"a": MissingIsMean, "b": MissingIsMean}}, text)
		part := casetest.Must(full.WithEffects(Effect{Column: "a", Kind: KernelEffect}, Effect{Column: "b", Kind: KernelEffect}))(t)
		_, e, err := part.Data()
		casetest.OK(t, err)
		fitted := casetest.Must(e.Fit(part.x, nil))(t)
		_, features := e.Dims()
		for i := range part.Y {
			square := 0.
			casetest.OK(t, fitted.(*Encoder).ApplyStored(part.x.RawRowView(i), func(_ int, v float64) { square += v * v }))
			if !(math.Abs(square-1) <= tol) || features != len(part.Y) {
				t.Errorf("row %d: the %d features have the square %v", i, features, square)
			}
		}
	}
}

// A kernel effect returns an error if its features need too much memory or a row lacks a number.
func TestKernelEffectsRefuse(t *testing.T) {
	effects := []Effect{{Column: "a", Kind: KernelEffect}, {Column: "b", Kind: KernelEffect}}
	near := "a,y\n1e15,1\n1000000000000000.5,2\n,4\n1e15,3\n"
	if _, err := readTable(t, CSV{MissingIn: map[string]MissingRule{"a": MissingIsMean}}, near).WithEffects(effects[0]); !errors.Is(err, qpdiff.ErrDomain) || !strings.Contains(err.Error(), "differ from 1e+15 by no more than rounding errors") {
		t.Errorf("constant up to rounding: %v", err)
	}
	table, p := kernelsOf(t)
	table.reader.maxBytes = 8*6*3 + 1
	if _, err := table.WithEffects(effects...); !errors.Is(err, qpdiff.ErrTooLarge) || !strings.Contains(err.Error(), "Effect.Bases needs") {
		t.Errorf("too large: %v", err)
	}
	if _, err := p.Record(map[string]string{"a": "", "b": "3", "c": "4"}); err == nil || !strings.Contains(err.Error(), `"a" lacks a value`) {
		t.Errorf("missing: %v", err)
	}
	table.x.Set(1, 2, math.NaN())
	if _, err := p.Decision(table); err == nil || !strings.Contains(err.Error(), `"c" lacks a value`) {
		t.Errorf("missing in the table: %v", err)
	}
	table.x.Set(1, 2, math.Inf(1))
	if _, err := p.Decision(table); !errors.Is(err, qpdiff.ErrNotFinite) {
		t.Errorf("infinite: %v", err)
	}
}

// A pipeline with kernels makes the same predictions after conversion to JSON. Faulty JSON causes
// an error.
func TestKernelsInJSON(t *testing.T) {
	table, p := kernelsOf(t)
	good := string(casetest.Must(json.Marshal(p))(t))
	var back Pipeline
	casetest.OK(t, json.Unmarshal([]byte(good), &back))
	if want, got := casetest.Must(p.Decision(table))(t), casetest.Must(back.Decision(table))(t); !hostile.SameBits(want, got) || !strings.Contains(good, `"version":5`) {
		t.Errorf("%v, not %v", got, want)
	}
	points := regexp.MustCompile(`"points":\[[^\]]*\]`).FindAllString(good, -1)
	if len(points) != 3 {
		t.Fatalf("%q", points)
	}
	for name, c := range map[string]struct{ old, new, want string }{
		"version 4":         {`"version":5`, `"version":4`, `unknown key`},
		"no points":         {"," + points[1], "", "effect of column"},
		"empty points":      {points[2], `"points":[]`, "Effect.Bases is 0"},
		"fewer points":      {points[1], `"points":[1,2,3]`, "not of one kernel"},
		"equal points":      {points[2], `"points":[1,2,3,4,3,5]`, `"c" are not distinct`},
		"points in text":    {points[2], `"points":["1"]`, "json"},
		"a number of bases": {points[2], points[2] + `,"bases":6`, "effect of column"},
		"another length":    {`"length":1.4142135623730951`, `"length":1.5`, "not of one kernel"},
		"no length":         {`"length":2,`, ``, "effect of column"},
		"length 0":          {`"length":2`, `"length":0`, "length of column"},
		"a negative length": {`"length":2`, `"length":-2`, "length of column"},
		"no deviation":      {`"deviation":2.160246899469287,`, ``, "effect of column"},
		"deviation 0":       {`"deviation":2.160246899469287`, `"deviation":0`, "deviation of column"},
		"another term":      {`"term":"c"`, `"term":"ab"`, "6 outputs where the model has 12 features"},
		"a smooth's low":    {points[2], points[2] + `,"low":6`, "effect of column"},
		"too many points":   {points[2], `"points":[` + strings.Repeat("1,", MostKernelBases) + `1]`, "Effect.Bases is 1001"},
		"another kind":      {`"kind":"kernel","term":"c"`, `"kind":"scaled","term":"c"`, "effect of column"},
		"features":          {`"term":"c"`, `"term":"c","x":1`, `unknown key "x"`},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		if err := json.Unmarshal([]byte(bad), new(Pipeline)); bad == good || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v lacks %q", name, err, c.want)
		}
	}
	kinds := map[string]func() json.Unmarshaler{good: func() json.Unmarshaler { return new(Pipeline) }}
	casetest.CheckChangedJSON(t, kinds)
	casetest.CheckFormsOfJSON(t, kinds)
}

// Reading a pipeline from JSON allocates memory in proportion to the length of the text.
func TestManyPointsInASmallText(t *testing.T) {
	serial.Test(t)
	const most = 40 // bytes for each byte of the text
	_, p := kernelsOf(t)
	good := string(casetest.Must(json.Marshal(p))(t))
	points := make([]string, MostKernelBases)
	for i := range points {
		points[i] = fmt.Sprint(i)
	}
	column := fmt.Sprintf(`{"name":"more","kind":"numeric","missing":"error","effect":{"kind":"kernel","term":"more","deviation":1e-3,"length":1,"points":[%s]}},`, strings.Join(points, ","))
	text := strings.Replace(good, `"columns":[`, `"columns":[`+column, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := json.Unmarshal([]byte(text), new(Pipeline))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, qpdiff.ErrShape) || !strings.Contains(err.Error(), "1012 outputs where the model has 12 features") || used > most*uint64(len(text)) {
		t.Errorf("%d bytes for a text of %d: %v", used, len(text), err)
	}
}

// WriteGo writes each kernel basis only once, even if the models of the intervals have different
// column means.
func TestBasesInAGoFile(t *testing.T) {
	part, _ := kernelsOf(t)
	p := intervalsOf(t, part, ridgeOfKernels, []float64{.1, .2})
	var back Pipeline
	casetest.OK(t, json.Unmarshal(casetest.Must(json.Marshal(p))(t), &back))
	for _, p := range []*Pipeline{p, &back} {
		var code strings.Builder
		casetest.OK(t, p.WriteGo(&code, "model"))
		if columns, bases := strings.Count(code.String(), "Columns: columns"), strings.Count(code.String(), "newGaussianBasis(")-1; columns != 3 || bases != 2 { // and the function
			t.Errorf("%d lists of columns have %d bases", columns, bases)
		}
	}
}
