package claims

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"cvgm/cvgm/experiment"
)

// Timings are the recorded timings of the benchmarks. Tables and figures read them from the
// record, and measure no time themselves.
type Timings struct {
	Machine struct {
		Processor string
		Cores     int
	}
	Date       string
	RunsOfEach int                             `json:"runs of each"`
	Benchmarks map[string]map[string]BenchStat // by benchmark and unit
	// Runs holds the seconds that each notebook takes with stored results, and the seconds that
	// each result takes.
	Runs struct {
		Notebooks map[string]struct {
			Results []string
			Seconds float64
		}
		Results map[string]float64
	}
}

// Seconds returns the time that a notebook takes if no result is stored, or NaN if it is not
// recorded.
func (t *Timings) Seconds(notebook string) float64 {
	n, ok := t.Runs.Notebooks[notebook]
	if !ok {
		return math.NaN()
	}
	for _, result := range n.Results {
		seconds, ok := t.Runs.Results[result]
		if !ok {
			return math.NaN()
		}
		n.Seconds += seconds
	}
	return n.Seconds
}

// A BenchStat summarises the times of several runs of a benchmark.
type BenchStat struct{ Median, Lowest, Highest float64 }

// ReadTimings reads a record. It returns nil if there is none.
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

// Lowest returns a benchmark's lowest measure in a unit, from the run that other programs on
// the machine disturbed least, or NaN if there is no record.
func (t *Timings) Lowest(benchmark, unit string) float64 {
	if m := t.Benchmarks[benchmark][unit]; m.Lowest > 0 {
		return m.Lowest
	}
	return math.NaN()
}

// measure returns the median of a benchmark's measures in a unit, with the distance of the
// farthest run as margin; NaN if there is no record.
func (t *Timings) measure(benchmark, unit string) experiment.Estimate {
	m, ok := t.Benchmarks[benchmark][unit]
	if !ok {
		return once(math.NaN())
	}
	return experiment.Estimate{Mean: m.Median, Margin: max(m.Highest-m.Median, m.Median-m.Lowest), N: t.RunsOfEach}
}

// nanoseconds returns a benchmark's median time with its lowest and its highest, or NaN without
// a record. If a record lacks the highest, it is assumed to lie as far from the median as the
// lowest.
func (t *Timings) nanoseconds(benchmark string) BenchStat {
	m := t.Benchmarks[benchmark]["ns/op"]
	if !(m.Median > 0) {
		m.Median = math.NaN()
	}
	m.Highest = cmp.Or(m.Highest, 2*m.Median-m.Lowest)
	return m
}

// of estimates f of two benchmarks' times from their medians. f is monotone in each. The
// margin reaches to the farthest value that the runs allow: the runs from the lowest
// to the highest hold the median of as many as seven with a probability of .98.
func (t *Timings) of(first, second string, f func(a, b float64) float64) experiment.Estimate {
	a, b := t.nanoseconds(first), t.nanoseconds(second)
	e := experiment.Estimate{Mean: f(a.Median, b.Median), N: t.RunsOfEach}
	e.Margin = max(math.Abs(f(a.Lowest, b.Highest)-e.Mean), math.Abs(f(a.Highest, b.Lowest)-e.Mean))
	return e
}
