package sample

import (
	"math"
	"testing"
)

func TestMeanError(t *testing.T) {
	for name, test := range map[string]struct {
		values, shares []float64
		se, freedom    float64
	}{
		// The deviations −2, −1, 0, 3 have the sum of squares 14.
		"equal shares": {[]float64{1, 2, 3, 6}, []float64{.25, .25, .25, .25}, math.Sqrt(14. / 3 / 4), 3},
		// The mean is 1. Without the first value it is 4, and without the second 0. So the variance
		// is (9+1)/2.
		"uneven shares": {[]float64{0, 4}, []float64{.75, .25}, math.Sqrt(5), 1},
		// Two halves that rounding raised.
		"two halves":   {[]float64{0, 4}, []float64{.5 + 0x1p-53, .5 + 0x1p-53}, 2, 1},
		"a share of 0": {[]float64{0, 7, 4}, []float64{.75, 0, .25}, math.Sqrt(5), 1},
		// (1/4 + 2/16)²/(1/16 + 2/256) − 1 = 1.
		"one half": {[]float64{1, 1, 1}, []float64{.5, .25, .25}, 0, 1},
		// (1/9 + 6/81)²/(1/81 + 6/6561) − 1
		"one third":  {[]float64{2, 2, 2, 2, 2, 2, 2}, []float64{1. / 3, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9, 1. / 9}, 0, 15*15./(81+6) - 1},
		"one unit":   {[]float64{3}, []float64{1}, math.Inf(1), 1},
		"all in one": {[]float64{3, 5}, []float64{1, 0}, math.Inf(1), 1},
	} {
		var mean float64
		for u, s := range test.shares {
			mean += s * test.values[u]
		}
		deviations := make([]float64, len(test.values))
		for u, s := range test.shares {
			deviations[u] = s * (test.values[u] - mean)
		}
		const rounding = 1e-14
		se, freedom := MeanError(deviations, test.shares)
		if se != test.se && !(math.Abs(se-test.se) <= rounding) || math.Abs(freedom-test.freedom) > 100*rounding {
			t.Errorf("%s: standard error %v with %v degrees of freedom, want %v with %v", name, se, freedom, test.se, test.freedom)
		}
	}
}

// A unit with nearly the whole weight has the standard error that the other units give it, also if 1
// minus its share has no digits left: the mean of the others differs from its value by 1.
func TestMeanErrorOfADominantShare(t *testing.T) {
	for _, weight := range []float64{1e3, 1e9, 1e15, 1e18, 1e300} {
		const n = 5
		deviations, shares := make([]float64, n), make([]float64, n)
		total := weight + n - 1
		mean := (n - 1) / total // of one value 0 and n−1 values 1
		shares[0], deviations[0] = weight/total, -weight/total*mean
		for u := 1; u < n; u++ {
			shares[u], deviations[u] = 1/total, (1-mean)/total
		}
		// Without the first unit, the mean rises to 1. The other changes are below 1/weight.
		want := math.Sqrt((n-1.)/n) * (1 - mean)
		if se, _ := MeanError(deviations, shares); !(math.Abs(se-want) <= 2/weight/weight+1e-14) {
			t.Errorf("a weight of %v: %v, want %v", weight, se, want)
		}
	}
}
