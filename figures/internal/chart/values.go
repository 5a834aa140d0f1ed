package chart

import (
	"math"
	"slices"
	"strconv"
)

// Mapped returns f of each entry of v.
func Mapped[T, R any](v []T, f func(T) R) []R {
	all := make([]R, len(v))
	for i, x := range v {
		all[i] = f(x)
	}
	return all
}

// Pick returns the entries of v with the given indices.
func Pick[T any](v []T, places []int) []T { return Mapped(places, func(i int) T { return v[i] }) }

// Log10s returns base-10 logarithms, for the axes of a panel with LogAxes.
func Log10s(v []float64) []float64 { return Mapped(v, math.Log10) }

// ClampedLog10s returns base-10 logarithms. If a logarithm is lower than the number floor or does
// not exist, this number takes its place.
func ClampedLog10s(v []float64, floor float64) []float64 {
	return Mapped(v, func(x float64) float64 { return math.Log10(max(x, math.Pow(10, floor))) })
}

func Floats(v []int) []float64 { return Mapped(v, func(n int) float64 { return float64(n) }) }

func Column(rows [][]float64, k int) []float64 {
	return Mapped(rows, func(row []float64) float64 { return Nth(row, k) })
}

// Nth returns v[i]. If the index i is out of range, it returns the zero value.
func Nth[T any](v []T, i int) (x T) {
	if 0 <= i && i < len(v) {
		x = v[i]
	}
	return x
}

// OneTo returns 1, 2, …, n.
func OneTo(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(i + 1)
	}
	return v
}

// Nearest returns the indices of the sizes that are nearest to part·largest, for each of the given
// parts. The indices are in ascending order, and each index appears once.
func Nearest(sizes []int, largest int, parts ...float64) []int {
	var numbers []int
	if len(sizes) == 0 {
		return nil
	}
	for _, part := range parts {
		away := Floats(sizes)
		for i, size := range away {
			away[i] = math.Abs(size - part*float64(largest))
		}
		numbers = append(numbers, slices.Index(away, slices.Min(away)))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func Drawable(v ...float64) bool {
	return !slices.ContainsFunc(v, func(v float64) bool { return !(math.Abs(v) <= Largest) })
}

// Largest is the largest coordinate that is drawn. If coordinates were larger, the sum of two ends
// of an axis could overflow.
const Largest = 1e300

// FormatFull returns the shortest text from which the same number is read. For NaN it returns "".
func FormatFull(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// FormatExp returns the absolute value of a number as text, with two digits and an exponent.
func FormatExp(v float64) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(math.Abs(v), 'e', 1, 64)
}
