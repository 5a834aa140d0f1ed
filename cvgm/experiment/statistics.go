package experiment

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is the mean of independent repetitions of a measurement.
type Estimate struct {
	Mean   float64
	Margin float64 // half of the 95 % confidence interval, by Student's t; NaN for fewer than two
	N      int
}

func estimate(v []float64) Estimate {
	n := float64(len(v))
	mean, sd := stat.MeanStdDev(v, nil)
	e := Estimate{Mean: mean, Margin: math.NaN(), N: len(v)}
	if len(v) > 1 {
		e.Margin = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(.975) * sd / math.Sqrt(n)
	}
	return e
}

// Comparison is a paired comparison of two methods by a loss.
type Comparison struct {
	Difference Estimate // of the losses, first less second
	Wins       float64  // share of repetitions in which the first is lower; a tie, see tieTol, counts half
}

// tieTol is the part of a loss by which two searches may differ that end at the same
// point: what their stopping rules leave, far below what a data set makes of two
// methods.
const tieTol = 1e-6

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
