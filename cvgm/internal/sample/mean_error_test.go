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
		// The mean is 1, and 4 or 0 without one of the values, so the jackknife's variance is
		// (9+1)/2.
		"uneven shares": {[]float64{0, 4}, []float64{.75, .25}, math.Sqrt(5), 1},
		// Rounding has increased two shares of ½.
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

// MeanError returns an infinite standard error if the weights count as fewer than leastUnits equal
// units.
func TestMeanErrorOfADominantShare(t *testing.T) {
	const n = 5
	share := (1 + math.Sqrt(1-n*(1-(n-1)/leastUnits))) / n // its units count as leastUnits
	for _, c := range []struct {
		share  float64
		finite bool
	}{{.6, true}, {share - 1e-12, true}, {share + 1e-12, false}, {.999, false}, {1 - 1e-15, false}, {1, false}} {
		deviations, shares := make([]float64, n), make([]float64, n)
		mean := 1 - c.share // of one value 0 and n−1 values 1
		shares[0], deviations[0] = c.share, -c.share*mean
		for u := 1; u < n; u++ {
			shares[u] = mean / (n - 1)
			deviations[u] = shares[u] * c.share
		}
		want := math.Inf(1)
		if c.finite {
			other := shares[1] * c.share / (1 - shares[1])
			want = math.Sqrt((n - 1.) / n * (c.share*c.share + (n-1)*other*other))
		}
		if FewUnits(shares) == c.finite {
			t.Errorf("a share of %v: few units %v", c.share, !c.finite)
		}
		if se, _ := MeanError(deviations, shares); se != want && !(math.Abs(se-want) <= 1e-14) {
			t.Errorf("a share of %v: %v, want %v", c.share, se, want)
		}
	}
}
