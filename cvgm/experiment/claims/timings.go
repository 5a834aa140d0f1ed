package claims

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"cvgm/cvgm/experiment"
)

// Timings are the recorded times of the benchmarks. Tables and figures use these recorded times and
// do not measure times themselves.
type Timings struct {
	Machine struct {
		Processor string
		Cores     int
	}
	Date       string
	RunsOfEach int                             `json:"runs of each"`
	Benchmarks map[string]map[string]BenchStat // by benchmark and unit
	// Runs holds the time, in seconds, of each notebook with stored results, and the time of each
	// result.
	Runs struct {
		Notebooks map[string]struct {
			Results []string
			Seconds float64
		}
		Results map[string]float64
	}
}

// Seconds returns the seconds that a notebook takes if no result is stored. It returns NaN if the
// time is not recorded.
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

// A BenchStat summarises the times of several runs of a benchmark. Low and High are the ends of an
// interval for the median. The interval needs no assumption about the distribution of the times. In
// nine runs, the ends are the second lowest and the second highest time. This interval contains the
// median with a probability of .96, and one slow run does not widen it. In older records, Low and
// High are 0.
type BenchStat struct{ Median, Lowest, Highest, Low, High float64 }

// interval returns the ends of the interval of the median. Older records have only the median and
// the lowest time. The upper end is then as far above the median as the lowest time is below the
// median.
func (b BenchStat) interval() (low, high float64) {
	return cmp.Or(b.Low, b.Lowest), cmp.Or(b.High, b.Highest, 2*b.Median-b.Lowest)
}

// ReadTimings reads the record in the file path. It returns nil if there is no file.
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

// Lowest returns the lowest recorded value of a benchmark, in the given unit, or NaN if there is no
// record. The run with the lowest value is the run that other programs disturbed least.
func (t *Timings) Lowest(benchmark, unit string) float64 {
	if m := t.Benchmarks[benchmark][unit]; m.Lowest > 0 {
		return m.Lowest
	}
	return math.NaN()
}

// medianOf returns the median of a benchmark in the given unit, or NaN if there is no record. The
// Margin of the result is the distance from the median to the farther end of its interval.
func (t *Timings) medianOf(benchmark, unit string) experiment.Estimate {
	m, ok := t.Benchmarks[benchmark][unit]
	if !ok {
		return once(math.NaN())
	}
	low, high := m.interval()
	return experiment.Estimate{Mean: m.Median, Margin: max(high-m.Median, m.Median-low), N: t.RunsOfEach}
}

// estimate returns f(a, b), where a and b are the median times of two benchmarks. The function f
// must be monotone in each time. The Margin of the result is the distance to the farthest value of
// f for times in the intervals of the medians.
func (t *Timings) estimate(first, second string, f func(a, b float64) float64) experiment.Estimate {
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
