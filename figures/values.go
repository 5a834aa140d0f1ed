package figures

import (
	"math"
	"slices"
	"strconv"
)

// mapped returns f of each entry.
func mapped[T, R any](v []T, f func(T) R) []R {
	all := make([]R, len(v))
	for i, x := range v {
		all[i] = f(x)
	}
	return all
}

// pick returns the entries of v at the places.
func pick[T any](v []T, places []int) []T { return mapped(places, func(i int) T { return v[i] }) }

// Log10s returns the base-10 logarithms that a panel with LogAxes plots.
func Log10s(v []float64) []float64 { return mapped(v, math.Log10) }

// clampedLog10s returns base-10 logarithms, and floor for values whose logarithm
// is lower or that have none.
func clampedLog10s(v []float64, floor float64) []float64 {
	return mapped(v, func(x float64) float64 { return math.Log10(max(x, math.Pow(10, floor))) })
}

func floats(v []int) []float64 { return mapped(v, func(n int) float64 { return float64(n) }) }

func column(rows [][]float64, k int) []float64 {
	return mapped(rows, func(row []float64) float64 { return nth(row, k) })
}

// nth returns v[i], or the zero value where v has no such entry.
func nth[T any](v []T, i int) (x T) {
	if 0 <= i && i < len(v) {
		x = v[i]
	}
	return x
}

// oneTo returns 1, 2, …, n.
func oneTo(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i + 1)
	}
	return v
}

// nearest returns the numbers of the sizes that are nearest to parts of the largest, in
// ascending order and each once.
func nearest(sizes []int, largest int, parts ...float64) []int {
	var numbers []int
	if len(sizes) == 0 {
		return nil
	}
	for _, part := range parts {
		away := floats(sizes)
		for i, size := range away {
			away[i] = math.Abs(size - part*float64(largest))
		}
		numbers = append(numbers, slices.Index(away, slices.Min(away)))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func drawable(v ...float64) bool {
	return !slices.ContainsFunc(v, func(v float64) bool { return !(math.Abs(v) <= largest) })
}

// largest is the largest coordinate drawn. Beyond it sums of axis ends overflow.
const largest = 1e300

// formatFull returns a number in as few digits as read back the same, and nothing
// for NaN.
func formatFull(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// formatExp returns the size of a number with two digits and an exponent.
func formatExp(v float64) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(math.Abs(v), 'e', 1, 64)
}
