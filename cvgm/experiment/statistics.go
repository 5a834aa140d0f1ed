package experiment

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Estimate is the mean of independent repetitions of a measurement.
type Estimate struct {
	Mean   float64
	Margin float64 // half of the 95 % confidence interval, by Student's t; NaN for fewer than two
	N      int
}

// EstimateOf returns the estimate from independent repetitions.
func EstimateOf(v []float64) Estimate {
	n := float64(len(v))
	mean, sd := stat.MeanStdDev(v, nil)
	e := Estimate{Mean: mean, Margin: math.NaN(), N: len(v)}
	if len(v) > 1 {
		e.Margin = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(.975) * sd / math.Sqrt(n)
	}
	return e
}

// Deviation returns the standard deviation between the repetitions.
func Deviation(e Estimate) float64 {
	n := float64(e.N)
	return e.Margin * math.Sqrt(n) / distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(.975)
}

// Difference is that of two means of independent repetitions. Where they share
// their data the interval is too wide.
func Difference(a, b Estimate) Estimate {
	return Estimate{Mean: a.Mean - b.Mean, Margin: math.Hypot(a.Margin, b.Margin), N: a.N}
}

// MeanOf estimates the mean of several independent means of as many repetitions each.
func MeanOf(all []Estimate) Estimate {
	var m Estimate
	for _, e := range all {
		m.Mean, m.Margin, m.N = m.Mean+e.Mean/float64(len(all)), math.Hypot(m.Margin, e.Margin/float64(len(all))), m.N+e.N
	}
	return m
}

// A Comparison is a paired comparison of two methods by a loss.
type Comparison struct {
	Difference Estimate // of the losses, first minus second
	Wins       float64  // share of repetitions in which the first is lower; a tie, see TieTol, counts half
}

// TieTol is the relative difference up to which two losses are a tie. Two searches
// that end at the same point differ by less, because their stopping rules do. Two
// methods on one data set differ by far more.
const TieTol = 1e-6

// Compare compares the losses of two methods on the same repetitions.
func Compare(first, second []float64) Comparison {
	differences := make([]float64, len(first))
	var wins float64
	for i, a := range first {
		differences[i] = a - second[i]
		switch b := second[i]; {
		case math.Abs(a-b) <= TieTol*math.Abs(b):
			wins += .5
		case a < b:
			wins++
		}
	}
	return Comparison{EstimateOf(differences), wins / float64(len(first))}
}

// FromEnd returns the k-th value from the end, or NaN where there are fewer.
func FromEnd(v []float64, k int) float64 {
	if len(v) < k {
		return math.NaN()
	}
	return v[len(v)-k]
}

// MedianValue returns the median, which gonum has for odd numbers of values alone.
func MedianValue(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// A Median is the median of independent repetitions.
type Median struct {
	Median    float64
	Low, High float64 // confidence interval of at least 95 %, without any assumption; infinite for fewer than six
	N         int
}

// MedianOf returns the median with the interval between two of the ordered values, the
// narrowest that is symmetric in their ranks.
func MedianOf(v []float64) Median {
	n := len(v)
	m := Median{Median: MedianValue(v), Low: math.Inf(-1), High: math.Inf(1), N: n}
	s := slices.Sorted(slices.Values(v))
	below := distuv.Binomial{N: float64(n), P: .5}
	for k := 0; 2*k < n && below.CDF(float64(k)) <= .025; k++ {
		m.Low, m.High = s[k], s[n-1-k]
	}
	return m
}

// AtStep returns the value at index n of those along a search. A search that has
// ended stays at its last.
func AtStep[T any](values []T, n int) T { return values[min(n, len(values)-1)] }

// Cosine returns the cosine of the angle between two vectors.
func Cosine(a, b []float64) float64 {
	return floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
}
