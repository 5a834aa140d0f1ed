package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
)

// timingsNote returns a note on recorded times. The note is placed below a figure or table.
func timingsNote(t *claims.Timings) string {
	return fmt.Sprintf("The fastest of several runs, recorded %s on %s with %d cores.", t.Date, t.Machine.Processor, t.Machine.Cores)
}

// NotebookCostTable lists, for each notebook, the command that recomputes its results. It also
// lists the time that this command takes if no result is stored.
func NotebookCostTable(t *claims.Timings) *Table {
	table := &Table{Name: "notebook_costs", Caption: "What is computed again, and how long that takes", Header: []string{"Claims about", "Command", "Minutes"}, Note: timingsNote(t)}
	for _, n := range []struct{ notebook, about string }{
		{"01_elastic_net", "Table 1 and the learning curves of the elastic net"},
		{"02_rings", "the kernel learned for the rings"},
		{"03_sample_size", "accuracy against the number of examples; the training loss's gradient"},
		{"04_xor", "the kernel learned for XOR"},
		{"05_differentiability", "derivatives, implicit against iterative differentiation, learned losses, and the paper's errata"},
		{"06_searches", "searches, and the cost of a gradient"},
		{"07_splits", "splits, and over-fitting of the CV loss"},
		{"08_stability", "stability"},
		{"09_many_hyperparameters", "many hyperparameters, and a map of when the gradient helps"},
	} {
		number, _, _ := strings.Cut(n.notebook, "_")
		row := []any{n.about, Code("./reproduce.sh --force " + number), nil}
		if s := t.Seconds(n.notebook); !math.IsNaN(s) {
			row[2] = Number{Value: s / 60, Digits: 1}
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

// GradientCostTable lists the times of CV losses with gradients and without gradients. It also
// lists the gain from a second core.
func GradientCostTable(t *claims.Timings) *Table {
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

// DifferentiationCostTable lists the time and the memory of implicit and iterative differentiation.
func DifferentiationCostTable(t *claims.Timings) *Table {
	table := &Table{
		Name:    "differentiation_cost",
		Caption: "A ridge regression of 30 examples and its derivative: time and memory",
		Header:  []string{"Differentiation", "Microseconds", "Bytes"},
		Note:    timingsNote(t),
	}
	for _, name := range []string{"implicit", "iterative/steps=10", "iterative/steps=100", "iterative/steps=1000"} {
		ns, bytes := t.Lowest("cvgm/experiment/differentiability.Differentiation/"+name, "ns/op"), t.Lowest("cvgm/experiment/differentiability.Differentiation/"+name, "B/op")
		if !math.IsNaN(ns + bytes) {
			table.Rows = append(table.Rows, []any{strings.NewReplacer("/steps=", ", ").Replace(name) + map[bool]string{true: " steps"}[strings.Contains(name, "steps")],
				Number{Value: ns / 1e3, Digits: 1}, Number{Value: bytes, Digits: 0}})
		}
	}
	return table
}

// SearchesTime shows the median excess over the minimum as a function of time. For each searcher,
// the time is the number of evaluations times the recorded time of one evaluation. The recorded
// time includes the searcher's work between evaluations. Variants of searchers are omitted.
func SearchesTime(r *searches.Result, t *claims.Timings) *Figure {
	p := NewPanel("time", "", "milliseconds", "median excess over the minimum").Grid().LogAxes(true, true).ClampLow(excessFloor)
	p.Direct = true
	for _, m := range r.Methods {
		ns := t.Lowest("cvgm/experiment/searches.Searcher/"+strings.ReplaceAll(m.Name, " ", "_"), "ns/evaluation")
		if math.IsNaN(ns) || slices.Contains([]string{searches.PaperStep, searches.MultiStart, bayesianLog, cmaesLog}, m.Name) {
			continue
		}
		y := chart.ClampedLog10s(m.Median[:min(len(m.Median), r.Params.Budget)], excessFloor)
		x := chart.Mapped(chart.OneTo(len(y)), func(k float64) float64 { return math.Log10(k * ns / 1e6) })
		p.Line(m.Name, x, y, searchStyles[m.Name])
	}
	drawReached(p, r)
	return &Figure{
		Name: "searches_time",
		Caption: fmt.Sprintf("Lowest CV loss found within a time, minus the true minimum: medians over %d data sets of the elastic net, up to %d evaluations. Thin strokes lead from the ends of the lines to their names. %s Left out are the paper's step, multi-start and the searches in logarithms. %s",
			r.Params.DataSets, r.Params.Budget, excessNote(), timingsNote(t)),
		Width: 8.5 * vg.Inch, Height: 4.6 * vg.Inch, Legend: LegendBelow,
		Panels: [][]*Panel{{p}},
	}
}
