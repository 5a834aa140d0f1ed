package figures

import (
	"fmt"
	"math"
	"strings"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

// timingsNote is the note of what is drawn from the record.
func timingsNote(t *experiment.Timings) string {
	return fmt.Sprintf("The fastest of several runs, recorded %s on %s with %d cores.", t.Date, t.Machine.Processor, t.Machine.Cores)
}

// GradientCostTable is the time of a CV loss with and without its gradient, and
// what a second core gains.
func GradientCostTable(t *experiment.Timings) *Table {
	table := &Table{
		Name:    "gradient_cost",
		Caption: "What a gradient costs over an evaluation, and what a second core gains",
		Header:  []string{"CV loss", "First", "Microseconds", "Second", "Microseconds", "Second / first"},
		Note:    timingsNote(t),
	}
	for _, c := range []struct{ what, first, firstName, second, secondName string }{
		{"elastic net, K = 128, cold starts", "value", "cvgm.ElasticNetCold/value", "with gradient", "cvgm.ElasticNetCold/gradient"},
		{"rings, K = 256, warm starts", "value", "cvgm.LearnedKernelStep/rings/value", "with gradient", "cvgm.LearnedKernelStep/rings/step"},
		{"XOR, K = 256, warm starts", "value", "cvgm.LearnedKernelStep/XOR/value", "with gradient", "cvgm.LearnedKernelStep/XOR/step"},
		{"elastic net, K = 128, warm starts", "one core", "cvgm.ElasticNetStep/K=128/workers=1", "two cores", "cvgm.ElasticNetStep/K=128/workers=2"},
		{"elastic net, K = 2048, warm starts", "one core", "cvgm.ElasticNetStep/K=2048/workers=1", "two cores", "cvgm.ElasticNetStep/K=2048/workers=2"},
	} {
		a, b := t.Lowest(c.firstName, "ns/op"), t.Lowest(c.secondName, "ns/op")
		if !math.IsNaN(a + b) {
			table.Rows = append(table.Rows, []any{c.what, c.first, Number{Value: a / 1e3, Digits: 0}, c.second, Number{Value: b / 1e3, Digits: 0}, Number{Value: b / a, Digits: 2}})
		}
	}
	return table
}

// DifferentiationCostTable is the time and the memory of implicit and iterative
// differentiation.
func DifferentiationCostTable(t *experiment.Timings) *Table {
	table := &Table{
		Name:    "differentiation_cost",
		Caption: "A ridge regression of 30 examples and its derivative: time and memory",
		Header:  []string{"Differentiation", "Microseconds", "Bytes"},
		Note:    timingsNote(t),
	}
	for _, name := range []string{"implicit", "iterative/steps=10", "iterative/steps=100", "iterative/steps=1000"} {
		ns, bytes := t.Lowest("cvgm/experiment.Differentiation/"+name, "ns/op"), t.Lowest("cvgm/experiment.Differentiation/"+name, "B/op")
		if !math.IsNaN(ns + bytes) {
			table.Rows = append(table.Rows, []any{strings.NewReplacer("/steps=", ", ").Replace(name) + map[bool]string{true: " steps"}[strings.Contains(name, "steps")],
				Number{Value: ns / 1e3, Digits: 1}, Number{Value: bytes, Digits: 0}})
		}
	}
	return table
}

// SearchesSeconds shows the median distance to the true minimum against time:
// evaluations times the recorded time of an evaluation by each searcher, what
// it does between evaluations included.
func SearchesSeconds(r *experiment.SearchesResult, t *experiment.Timings) *Figure {
	const floor = -10
	p := NewPanel("seconds", "", "milliseconds", "median excess over the minimum")
	p.Grid()
	p.LogAxes(true, true)
	p.ClampLow(floor)
	for _, m := range r.Methods {
		ns := t.Lowest("cvgm/experiment.Searcher/"+strings.ReplaceAll(m.Name, " ", "_"), "ns/evaluation")
		if math.IsNaN(ns) {
			continue
		}
		y := clampedLog10s(m.Median[:min(len(m.Median), r.Params.Budget)], floor)
		x := oneTo(len(y))
		for k := range x {
			x[k] = math.Log10(x[k] * ns / 1e6)
		}
		p.Line(m.Name, x, y, searchStyle(m))
	}
	return &Figure{
		Name: "searches_seconds",
		Caption: fmt.Sprintf("Lowest CV loss found, above the true minimum, against time: medians over the data sets. Values below 1e%d are drawn there. %s",
			floor, strings.TrimSuffix(timingsNote(t), ".")), // captions have no full stop
		Width: 8.5 * vg.Inch, Height: 4.4 * vg.Inch, Legend: LegendRight,
		Panels: [][]*Panel{{p}},
	}
}
