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
	// Runs holds the seconds of each notebook with stored results, and the seconds of each result.
	Runs struct {
		Notebooks map[string]struct {
			Results []string
			Seconds float64
		}
		Results map[string]float64
	}
}

// Seconds returns the time of a notebook without stored results, or NaN if it is not recorded.
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

// A BenchStat summarises the times of several runs of a benchmark. Low and High are the ends of a
// distribution-free interval of the median. In nine runs they are the second lowest and the second
// highest, which contain the median with a probability of .96, so one slow run does not widen the
// interval. They are 0 in older records.
type BenchStat struct{ Median, Lowest, Highest, Low, High float64 }

// interval returns the ends of the interval of the median. If a record has only the lowest run,
// the highest is assumed to lie as far from the median.
func (b BenchStat) interval() (low, high float64) {
	return cmp.Or(b.Low, b.Lowest), cmp.Or(b.High, b.Highest, 2*b.Median-b.Lowest)
}

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

// Lowest returns a benchmark's lowest measure in a unit, or NaN without a record. Other programs on
// the machine disturbed that run least.
func (t *Timings) Lowest(benchmark, unit string) float64 {
	if m := t.Benchmarks[benchmark][unit]; m.Lowest > 0 {
		return m.Lowest
	}
	return math.NaN()
}

// measure returns the median of a benchmark's measures in a unit, or NaN without a record. The
// margin is the distance to the farther end of the median's interval.
func (t *Timings) measure(benchmark, unit string) experiment.Estimate {
	m, ok := t.Benchmarks[benchmark][unit]
	if !ok {
		return once(math.NaN())
	}
	low, high := m.interval()
	return experiment.Estimate{Mean: m.Median, Margin: max(high-m.Median, m.Median-low), N: t.RunsOfEach}
}

// of estimates f of two benchmarks' times from their medians. f is monotone in each time. The
// margin is the distance to the farthest value that the intervals of both medians allow.
func (t *Timings) of(first, second string, f func(a, b float64) float64) experiment.Estimate {
	a, b := t.Benchmarks[first]["ns/op"], t.Benchmarks[second]["ns/op"]
	if !(a.Median > 0 && b.Median > 0) {
		return once(math.NaN())
	}
	e := experiment.Estimate{Mean: f(a.Median, b.Median), N: t.RunsOfEach}
	aLow, aHigh := a.interval()
	bLow, bHigh := b.interval()
	e.Margin = max(math.Abs(f(aLow, bHigh)-e.Mean), math.Abs(f(aHigh, bLow)-e.Mean))
	return e
}
