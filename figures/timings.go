package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"cvgm/cvgm/experiment/claims"
	"cvgm/cvgm/experiment/searches"
	"cvgm/figures/internal/chart"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
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

// SearchesTime shows, in a row for each searcher, the times until its median excess over the minimum
// has fallen to three levels. The time is the number of evaluations times the recorded time of one
// evaluation. The recorded time includes the searcher's work between evaluations. Variants of
// searchers are omitted.
func SearchesTime(r *searches.Result, t *claims.Timings) *Figure {
	rows := timedSearches(r, t)
	p := NewPanel("time", "", "milliseconds", "").Grid().LogAxes(true, false)
	marks := []Style{{Color: Black, Glyph: draw.RingGlyph{}, GlyphRadius: 4}, {Color: Black, Glyph: draw.PyramidGlyph{}, GlyphRadius: 4}, {Color: Black, GlyphRadius: 4.5}}
	with, without := Style{Color: Blue, Unlisted: true}, Style{Color: Orange, Dash: []vg.Length{6, 2}, Unlisted: true}
	for i, s := range rows {
		style := map[bool]Style{true: with, false: without}[s.Gradient]
		p.Line(s.Name, Log10s([]float64{s.time(1), s.time(s.evaluations)}), []float64{0 - float64(i), 0 - float64(i)}, style) // never −0
	}
	for k, mark := range marks {
		var x, y []float64
		for i, s := range rows {
			x, y = append(x, math.Log10(s.reached[k])), append(y, 0-float64(i))
		}
		level := chart.Typeset(fmt.Sprintf("%.0e", timeLevels(r)[k]))
		p.Scatter([]string{level + " above the minimum", level, level + ", reached"}[k], x, y, mark)
	}
	p.Rows(3*vg.Inch, chart.Mapped(rows, func(s timedSearch) string {
		if math.IsInf(s.reached[2], 1) {
			return s.Name + ": not reached"
		}
		return fmt.Sprintf("%s: %.2g ms", s.Name, s.reached[2])
	}))
	f := &Figure{Name: "searches_time", Width: 7.5 * vg.Inch, Height: vg.Length(len(rows))*20 + 1.1*vg.Inch, Legend: LegendBelow, Panels: [][]*Panel{{p}},
		Caption: fmt.Sprintf("Time until a search falls to three levels of the excess over the true minimum: medians over %d data sets of the elastic net. A level without a mark is not reached by the last evaluation. At %s the minimum counts as reached; the number beside a name is this time. Left out are the paper's step, multi-start and the searches in logarithms. %s",
			r.Params.DataSets, chart.Typeset(fmt.Sprintf("%g", r.Params.Tol)), timingsNote(t))}
	span := fmt.Sprintf("evaluations 1 to %d", r.Params.Budget)
	f.Entries = append([]LegendEntry{{Name: span + ", with gradients", Style: with}, {Name: span + ", without gradients", Style: without}}, f.LegendEntries()...)
	return f
}

// timeLevels returns the three levels of the excess over the minimum. At the last level, the minimum
// counts as reached.
func timeLevels(r *searches.Result) []float64 {
	return []float64{1e4 * r.Params.Tol, 100 * r.Params.Tol, r.Params.Tol}
}

// timedSearch is a searcher with recorded times.
type timedSearch struct {
	searches.Method
	perEvaluation float64   // time of an evaluation, in milliseconds
	evaluations   int       // of the search
	reached       []float64 // the times until the levels are reached, +Inf if a level is not reached
}

func (s timedSearch) time(evaluations int) float64 { return float64(evaluations) * s.perEvaluation }

// timedSearches returns the searchers with recorded times, except variants. The searchers that reach
// the last level come first, by their times.
func timedSearches(r *searches.Result, t *claims.Timings) (rows []timedSearch) {
	for _, m := range r.Methods {
		ns := t.Lowest("cvgm/experiment/searches.Searcher/"+strings.ReplaceAll(m.Name, " ", "_"), "ns/evaluation")
		if math.IsNaN(ns) || slices.Contains([]string{searches.PaperStep, searches.MultiStart, bayesianLog, cmaesLog}, m.Name) {
			continue
		}
		s := timedSearch{Method: m, perEvaluation: ns / 1e6, evaluations: min(len(m.Median), r.Params.Budget)}
		for _, level := range timeLevels(r) {
			n := slices.IndexFunc(m.Median[:s.evaluations], func(v float64) bool { return v <= level })
			s.reached = append(s.reached, map[bool]float64{true: s.time(n + 1), false: math.Inf(1)}[n >= 0])
		}
		rows = append(rows, s)
	}
	slices.SortStableFunc(rows, func(a, b timedSearch) int {
		return cmp.Or(cmp.Compare(a.reached[2], b.reached[2]), cmp.Compare(a.reached[1], b.reached[1]), cmp.Compare(a.reached[0], b.reached[0]))
	})
	return rows
}
