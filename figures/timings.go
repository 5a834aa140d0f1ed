package figures

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"cvgm/cvgm/experiment"

	"gonum.org/v1/plot/vg"
)

// Timings are the recorded timings of the benchmarks. No timing is made where a
// table or a figure is: what states one draws it from the record.
type Timings struct {
	Machine struct {
		Processor string
		Cores     int
	}
	Date       string
	Benchmarks map[string]map[string]Measure // by benchmark and unit
}

// A Measure is what several runs of a benchmark took.
type Measure struct{ Median, Lowest float64 }

// ReadTimings reads a record. Where there is none it returns nil.
func ReadTimings(path string) (*Timings, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := new(Timings)
	if err := json.Unmarshal(text, t); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// lowest returns a benchmark's lowest measure in a unit, that of the run least
// disturbed by others on the machine, and false where none is recorded.
func (t *Timings) lowest(benchmark, unit string) (float64, bool) {
	m, ok := t.Benchmarks[benchmark][unit]
	return m.Lowest, ok && m.Lowest > 0
}

func (t *Timings) note() string {
	return fmt.Sprintf("The fastest of several runs, recorded %s on %s with %d cores.", t.Date, t.Machine.Processor, t.Machine.Cores)
}

// GradientCostTable is the time of a CV loss with and without its gradient, and
// what a second core gains.
func GradientCostTable(t *Timings) *Table {
	table := &Table{
		Name:    "gradient_cost",
		Caption: "What a gradient costs over an evaluation, and what a second core gains",
		Header:  []string{"CV loss", "First", "Microseconds", "Second", "Microseconds", "Second / first"},
		Note:    t.note(),
	}
	for _, c := range []struct{ what, first, firstName, second, secondName string }{
		{"elastic net, K = 128, cold starts", "value", "cvgm.ElasticNetCold/value", "with gradient", "cvgm.ElasticNetCold/gradient"},
		{"rings, K = 256, warm starts", "value", "cvgm.LearnedKernelStep/rings/value", "with gradient", "cvgm.LearnedKernelStep/rings/step"},
		{"XOR, K = 256, warm starts", "value", "cvgm.LearnedKernelStep/XOR/value", "with gradient", "cvgm.LearnedKernelStep/XOR/step"},
		{"elastic net, K = 128, warm starts", "one core", "cvgm.ElasticNetStep/K=128/workers=1", "two cores", "cvgm.ElasticNetStep/K=128/workers=2"},
		{"elastic net, K = 2048, warm starts", "one core", "cvgm.ElasticNetStep/K=2048/workers=1", "two cores", "cvgm.ElasticNetStep/K=2048/workers=2"},
	} {
		a, okA := t.lowest(c.firstName, "ns/op")
		b, okB := t.lowest(c.secondName, "ns/op")
		if okA && okB {
			table.Rows = append(table.Rows, []any{c.what, c.first, Number{Value: a / 1e3, Digits: 0}, c.second, Number{Value: b / 1e3, Digits: 0}, Number{Value: b / a, Digits: 2}})
		}
	}
	return table
}

// DifferentiationCostTable is the time and the memory of implicit and iterative
// differentiation.
func DifferentiationCostTable(t *Timings) *Table {
	table := &Table{
		Name:    "differentiation_cost",
		Caption: "A ridge regression of 30 examples and its derivative: time and memory",
		Header:  []string{"Differentiation", "Microseconds", "Bytes"},
		Note:    t.note(),
	}
	for _, name := range []string{"implicit", "iterative/steps=10", "iterative/steps=100", "iterative/steps=1000"} {
		ns, okTime := t.lowest("cvgm/experiment.Differentiation/"+name, "ns/op")
		bytes, okBytes := t.lowest("cvgm/experiment.Differentiation/"+name, "B/op")
		if okTime && okBytes {
			table.Rows = append(table.Rows, []any{strings.NewReplacer("/steps=", ", ").Replace(name) + map[bool]string{true: " steps"}[strings.Contains(name, "steps")],
				Number{Value: ns / 1e3, Digits: 1}, Number{Value: bytes, Digits: 0}})
		}
	}
	return table
}

// SearchesSeconds shows the median distance to the true minimum against time:
// evaluations times the recorded time of an evaluation by each searcher, what
// it does between evaluations included.
func SearchesSeconds(r *experiment.SearchesResult, t *Timings) *Figure {
	const floor = -10
	p := NewPanel("seconds", "", "milliseconds", "median excess over the minimum")
	p.Grid()
	p.LogAxes(true, true)
	p.Floored()
	for _, m := range r.Methods {
		ns, ok := t.lowest("cvgm/experiment.Searcher/"+strings.ReplaceAll(m.Name, " ", "_"), "ns/evaluation")
		if !ok {
			continue
		}
		var x, y []float64
		for k := range min(len(m.Median), r.Params.Budget) {
			x = append(x, math.Log10(float64(k+1)*ns/1e6))
			y = append(y, math.Log10(max(m.Median[k], math.Pow(10, floor))))
		}
		style := searchStyles[m.Name]
		if !m.Gradient {
			style.Width = 1
		}
		p.Line(m.Name, x, y, style)
	}
	return &Figure{
		Name: "searches_seconds",
		Caption: fmt.Sprintf("Lowest CV loss found, above the true minimum, against time: medians over the data sets. Values below 1e%d are drawn there. %s",
			floor, strings.TrimSuffix(t.note(), ".")), // captions have no full stop
		Width: 8.5 * vg.Inch, Height: 4.4 * vg.Inch, LegendWidth: 2.3 * vg.Inch,
		Panels: [][]*Panel{{p}},
	}
}
