package table

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cvgm/cvgm"
	"cvgm/cvgm/internal/casetest"
	"cvgm/cvgm/internal/spline"
	"cvgm/qpdiff/hostile"
	"cvgm/qpdiff/kernel"
	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
	"cvgm/qpdiff/penalised"
)

var regenVersion = flag.Bool("regen-version", false, "write the pipelines of the latest version to testdata")

// A goldenPipeline holds a pipeline from some version of the package, and its results for some
// rows.
type goldenPipeline struct {
	Rows        string
	Decisions   []float64
	Predictions []float64 `json:",omitempty"`
	Low         []float64 `json:",omitempty"`
	High        []float64 `json:",omitempty"`
	Pipeline    *Pipeline
}

// goldenLevel is the level of the intervals.
const goldenLevel = .8

// predict sets the results of the pipeline for the rows.
func (g *goldenPipeline) predict(t *testing.T) {
	t.Helper()
	table := casetest.Must(g.Pipeline.Read(strings.NewReader(g.Rows)))(t)
	g.Decisions = casetest.Must(g.Pipeline.Decision(table))(t)
	g.Predictions, g.Low, g.High = nil, nil, nil
	var err error
	if g.Pipeline.Model.LogMean {
		g.Predictions = casetest.Must(g.Pipeline.Predict(table))(t)
	}
	if g.Pipeline.Intervals != nil {
		g.Low, g.High, err = g.Pipeline.Interval(table, goldenLevel)
		casetest.OK(t, err)
	}
}

// sameNumbers compares the numbers of two golden pipelines by the function equal.
func (g *goldenPipeline) sameNumbers(h *goldenPipeline, equal func(a, b []float64) bool) bool {
	return equal(g.Decisions, h.Decisions) && equal(g.Predictions, h.Predictions) && equal(g.Low, h.Low) && equal(g.High, h.High)
}

// currentGoldens returns pipelines that cover all parts of a pipeline. A key begins with the
// version of the JSON format.
func currentGoldens(t *testing.T) map[string]goldenPipeline {
	shop := func(n int, target string, unknown UnknownRule, categorical ...string) *Table {
		const format = "%d,%02d €"
		var b strings.Builder
		b.WriteString("price;sold;share;weight;town;colour;y\n")
		for i := range n {
			price, colour := fmt.Sprintf("1.%03d,%02d €", 17*i%1000, 7*i%100), []string{"red", "green", "", "blue"}[i%4]
			town := fmt.Sprintf("town %d", i%6)
			if i%2 == 0 {
				town = fmt.Sprintf("hamlet %d", i)
			}
			y := fmt.Sprintf(format, 3+i%7, 13*i%100)
			if target != "" {
				y = fmt.Sprint(target, i*i%2)
			}
			fmt.Fprintf(&b, "%s;%02d.%02d.2024 %02d:30;%d,5%%;%s;%s;%s;%s\n", price, 1+i%28, 1+i%12, i%24, i*7%100, []string{"800 g", "1,25 kg", "2,5 kg"}[i*i%3], town, colour, y)
		}
		c := CSV{Target: "y", Comma: ';', Missing: MissingIsMean, Unknown: unknown, Categorical: categorical, Dates: map[string]string{"sold": "02.01.2006 15:04"}}
		if !slices.Contains(categorical, "weight") {
			c.Numbers = map[string]Number{"weight": {Decimal: ',', Unit: "kg", Units: map[string]float64{"g": .001}}}
		}
		return casetest.Must(c.Read(strings.NewReader(b.String())))(t)
	}
	const rows = "colour;town;weight;share;sold;price\nred;town 1;900 g;12,5%;03.02.2024 11:30;1.234,50 €\n;hamlet 9;;;;\ngreen;town 5;1,5 kg;99%;29.02.2024 23:59;€7\nblue;hamlet 5;2 kg;;31.12.2025 00:00;-1.000.000,25\n"
	net := func() learn.Learner { return new(linear.ElasticNet) }
	few := casetest.Must(shop(60, "", UnknownIsZero, "weight").WithEffects(Effect{Column: "price", Kind: SmoothEffect, Bases: 6, Term: "price"},
		Effect{Column: "colour", Kind: LevelsEffect, Term: "looks"}, Effect{Column: "share", Kind: ScaledEffect, Term: "share"}, Effect{Column: "weight", Term: "weight"}))(t)
	colours := few.Columns[1].Features()
	counts := func() learn.Learner {
		return &penalised.GLM{Loss: penalised.Poisson, Intercept: true, Penalties: []penalised.Penalty{{S: spline.Penalty(6)}, penalised.Ridge(5, colours), penalised.Ridge(5+colours, 1)}}
	}
	bounded, table := intervalPipeline(t, func() learn.Learner { return new(kernel.Ridge) }, []float64{.5, .1})
	scaled := intervalsOf(t, casetest.Must(table.WithEffects(Effect{Column: "a", Kind: ScaledEffect, Term: "a"}, Effect{Column: "b"}))(t), net, []float64{.01, .1})
	const coloured = "b,a\nred,1.5\nblue,\ngreen,-20\n"
	priced := shop(24, "", UnknownIsZero)
	_, encoder, err := priced.Data()
	casetest.OK(t, err)
	_, n := encoder.Dims()
	groups := make([]int, n)
	for j := range groups {
		groups[j] = j % 3
	}
	parcels := func(target func(i int) string) *Table { // letters of both cases, and units in each number
		var b strings.Builder
		b.WriteString("weight,town,y\n")
		for i := range 40 {
			fmt.Fprintf(&b, "%s,%s,%s\n", []string{"800 g", "1.25 kg", "2.5 Kg"}[i*i%7%3], []string{"Bonn", "Ulm", "BONN", "Trier", "bonn"}[i%5], target(i))
		}
		return readTable(t, CSV{Unknown: UnknownIsZero}, b.String())
	}
	const sent = "town,weight\nBonn,900 g\nBoNN,1.5 kg\nULM,2 Kg\ntrier,1 g\n"
	logistic := func() learn.Learner { return &linear.Logistic{Intercept: linear.UnpenalisedIntercept} }
	joint := casetest.Must(shop(60, "", UnknownIsZero, "weight").WithEffects(Effect{Column: "price", Kind: KernelEffect, Bases: 7, Length: .8, Term: "value"},
		Effect{Column: "share", Kind: KernelEffect, Bases: 7, Length: .8, Term: "value"}, Effect{Column: "sold days", Kind: KernelEffect, Bases: 5, Term: "when"},
		Effect{Column: "sold hour", Kind: KernelEffect, Bases: 5, Term: "when"}, Effect{Column: "colour", Kind: LevelsEffect, Term: "looks"}))(t)
	jointCounts := func() learn.Learner {
		return &penalised.GLM{Loss: penalised.Poisson, Intercept: true, Penalties: []penalised.Penalty{penalised.Ridge(0, 7), penalised.Ridge(7, 5), penalised.Ridge(12, colours)}}
	}
	jointBounded := intervalsOf(t, casetest.Must(table.WithEffects(Effect{Column: "a", Kind: KernelEffect, Bases: 3}, Effect{Column: "b"}))(t), net, []float64{.01, .1})
	return map[string]goldenPipeline{
		"version5/kernel":    {Rows: rows, Pipeline: pipelineOf(t, joint, jointCounts, cvgm.SquaredError{}, cvgm.NoCentring, []float64{1, 3, 2})},
		"version5/intervals": {Rows: coloured, Pipeline: jointBounded},
		"version4/numbers":   {Rows: sent, Pipeline: pipelineOf(t, parcels(func(i int) string { return []string{"7 min", "1 h", "30 min", "2 h"}[i*i%7%4] }), net, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})},
		"version4/classes":   {Rows: sent, Pipeline: pipelineOf(t, parcels(func(i int) string { return []string{"yes", "no", "YES"}[i*i%7%3] }), logistic, cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.5})},
		"version3/terms":     {Rows: rows, Pipeline: pipelineOf(t, few, counts, cvgm.SquaredError{}, cvgm.NoCentring, []float64{1, 2, .5})},
		"version3/intervals": {Rows: coloured, Pipeline: bounded},
		"version3/scaled":    {Rows: coloured, Pipeline: scaled},
		"version2/numbers":   {Rows: rows, Pipeline: pipelineOf(t, shop(60, "", UnknownIsZero), net, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})},
		"version2/classes": {Rows: rows, Pipeline: pipelineOf(t, shop(60, "class ", UnknownIsZero), logistic,
			cvgm.LogisticLoss{}, cvgm.NoCentring, []float64{.5})},
		"version2/kernel":     {Rows: rows, Pipeline: pipelineOf(t, shop(24, "class ", UnknownIsZero), func() learn.Learner { return &kernel.SVM{Intercept: true} }, cvgm.SquaredHinge{}, cvgm.NoCentring, []float64{2, .02})},
		"version2/polynomial": {Rows: rows, Pipeline: pipelineOf(t, shop(24, "", UnknownIsZero), func() learn.Learner { return &kernel.Ridge{Kernel: kernel.Polynomial{Degree: 2}} }, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.5, .02, 1})},
		"version2/widths": {Rows: rows, Pipeline: pipelineOf(t, priced, func() learn.Learner {
			return &kernel.Ridge{Kernel: kernel.ARD{Shape: kernel.Matern52, Groups: groups}, Intercept: true}
		},
			cvgm.SquaredError{}, cvgm.NoCentring, []float64{.1, .05, 0, .02})},
		"version2/levels": {Rows: rows, Pipeline: pipelineOf(t, shop(60, "", UnknownIsZero, "town", "weight"), net, cvgm.SquaredError{}, cvgm.MeanCentring, []float64{.01, .1})},
	}
}

// oldExpTol is the largest accepted difference for kernel machines of version 1, which called
// math.Exp.
const oldExpTol = 1e-14

// Pipelines from earlier versions of the package return the same predictions, bit for bit, on every
// processor.
func TestPipelinesOfEarlierVersions(t *testing.T) {
	current := currentGoldens(t)
	if *regenVersion {
		latest := fmt.Sprintf("version%d/", pipelineVersion)
		casetest.OK(t, os.MkdirAll("testdata/"+latest, 0o755))
		for name, g := range current {
			if strings.HasPrefix(name, latest) {
				g.predict(t)
				casetest.OK(t, os.WriteFile("testdata/"+name+".json", append(casetest.Must(json.MarshalIndent(g, "", "\t"))(t), '\n'), 0o644))
			}
		}
	}
	paths := casetest.Must(filepath.Glob("testdata/version*/*.json"))(t)
	for name := range current {
		if path := "testdata/" + name + ".json"; !slices.Contains(paths, path) {
			t.Errorf("%s is not there: write it with -regen-version", path)
		}
	}
	read := map[string]int{}
	for _, path := range paths {
		read[filepath.Dir(path)]++
		var g goldenPipeline
		casetest.OK(t, json.Unmarshal(casetest.Must(os.ReadFile(path))(t), &g))
		got, equal := g, hostile.SameBits
		if filepath.Dir(path) == "testdata/version1" && g.Pipeline.Model.Kernel != nil {
			equal = func(a, b []float64) bool {
				return slices.EqualFunc(a, b, func(a, b float64) bool { return casetest.Near(a, b, oldExpTol) })
			}
		}
		if got.predict(t); !got.sameNumbers(&g, equal) {
			t.Errorf("%s: %v, %v in [%v, %v] instead of %v, %v in [%v, %v]", path, got.Decisions, got.Predictions, got.Low, got.High, g.Decisions, g.Predictions, g.Low, g.High)
		}
		again := casetest.Must(json.Marshal(g.Pipeline))(t)
		back := goldenPipeline{Rows: g.Rows, Pipeline: new(Pipeline)}
		casetest.OK(t, json.Unmarshal(again, back.Pipeline))
		if back.predict(t); !back.sameNumbers(&got, hostile.SameBits) {
			t.Errorf("%s: %v in [%v, %v] after the current version, not %v in [%v, %v]", path, back.Decisions, back.Low, back.High, got.Decisions, got.Low, got.High)
		}
		if v, ok := strings.CutPrefix(filepath.Dir(path), "testdata/version"); !ok || v != "1" && !bytes.Contains(again, []byte(`"version":`+v)) {
			t.Errorf("%s is written in another version", path)
		}
	}
	for v := 1; v <= pipelineVersion; v++ {
		if dir := fmt.Sprintf("testdata/version%d", v); read[dir] < 2 {
			t.Errorf("%d pipelines in %s", read[dir], dir)
		}
	}
}

// The stored pipelines contain each key of the versions that the package writes.
func TestGoldensHaveAllKeys(t *testing.T) {
	var all []byte
	for _, path := range casetest.Must(filepath.Glob("testdata/version[2345]/*.json"))(t) {
		all = append(all, casetest.Must(os.ReadFile(path))(t)...)
	}
	for object, keys := range pipelineKeys(fmt.Sprint(pipelineVersion)) {
		for key := range keys {
			if !bytes.Contains(all, []byte(fmt.Sprintf("%q:", key))) && key != "class_of_others" {
				t.Errorf("no stored pipeline has the key %q of %q", key, object)
			}
		}
	}
}
