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

// estimate returns the estimate from independent repetitions.
func estimate(v []float64) Estimate {
	n := float64(len(v))
	mean, sd := stat.MeanStdDev(v, nil)
	e := Estimate{Mean: mean, Margin: math.NaN(), N: len(v)}
	if len(v) > 1 {
		e.Margin = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(.975) * sd / math.Sqrt(n)
	}
	return e
}

// deviation returns the standard deviation between the repetitions.
func deviation(e Estimate) float64 {
	n := float64(e.N)
	return e.Margin * math.Sqrt(n) / distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(.975)
}

// difference is that of two means of independent repetitions. Where they share
// their data the interval is too wide.
func difference(a, b Estimate) Estimate {
	return Estimate{Mean: a.Mean - b.Mean, Margin: math.Hypot(a.Margin, b.Margin), N: a.N}
}

// meanOf estimates the mean of several independent means of as many repetitions each.
func meanOf(all []Estimate) Estimate {
	var m Estimate
	for _, e := range all {
		m.Mean, m.Margin, m.N = m.Mean+e.Mean/float64(len(all)), math.Hypot(m.Margin, e.Margin/float64(len(all))), m.N+e.N
	}
	return m
}

// A Comparison is a paired comparison of two methods by a loss.
type Comparison struct {
	Difference Estimate // of the losses, first minus second
	Wins       float64  // share of repetitions in which the first is lower; a tie, see tieTol, counts half
}

// tieTol is the relative difference up to which two losses are a tie. Two searches
// that end at the same point differ by less, because their stopping rules do. Two
// methods on one data set differ by far more.
const tieTol = 1e-6

// compare compares the losses of two methods on the same repetitions.
func compare(first, second []float64) Comparison {
	differences := make([]float64, len(first))
	var wins float64
	for i, a := range first {
		differences[i] = a - second[i]
		switch b := second[i]; {
		case math.Abs(a-b) <= tieTol*math.Abs(b):
			wins += .5
		case a < b:
			wins++
		}
	}
	return Comparison{estimate(differences), wins / float64(len(first))}
}

// fromEnd returns the k-th value from the end, or NaN where there are fewer.
func fromEnd(v []float64, k int) float64 {
	if len(v) < k {
		return math.NaN()
	}
	return v[len(v)-k]
}

// median returns the median, which gonum has for odd numbers of values alone.
func median(v []float64) float64 {
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

// symmetric returns the median as an estimate whose margin is the wider side of the interval.
func (m Median) symmetric() Estimate {
	return Estimate{m.Median, max(m.High-m.Median, m.Median-m.Low), m.N}
}

// medianOf returns the median with the interval between two of the ordered values, the
// narrowest that is symmetric in their ranks.
func medianOf(v []float64) Median {
	n := len(v)
	m := Median{Median: median(v), Low: math.Inf(-1), High: math.Inf(1), N: n}
	s := slices.Sorted(slices.Values(v))
	below := distuv.Binomial{N: float64(n), P: .5}
	for k := 0; 2*k < n && below.CDF(float64(k)) <= .025; k++ {
		m.Low, m.High = s[k], s[n-1-k]
	}
	return m
}

// atStep returns the value at index n of those along a search. A search that has
// ended stays at its last.
func atStep[T any](values []T, n int) T { return values[min(n, len(values)-1)] }

// cosine returns the cosine of the angle between two vectors.
func cosine(a, b []float64) float64 {
	return floats.Dot(a, b) / (floats.Norm(a, 2) * floats.Norm(b, 2))
}
