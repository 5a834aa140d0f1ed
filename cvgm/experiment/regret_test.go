package experiment

import (
	"math"
	"testing"

	"cvgm/synth"
)

// The interval holds the median of a skew population in at least 95 of 100 samples, up to
// the scatter of their number, and is infinite where no sample of this size can.
func TestMedianIntervalCoversTheMedian(t *testing.T) {
	const samples, n = 2000, 40
	src := synth.NewStream(3, "medians")
	covered := 0
	for range samples {
		v := make([]float64, n)
		for i := range v {
			v[i] = -math.Log(1 - src.Float64())
		}
		if m := medianOf(v); m.Low <= math.Ln2 && math.Ln2 <= m.High {
			covered++
		}
	}
	if share := float64(covered) / samples; share < .94 || share > .985 {
		t.Errorf("the interval covers the median in %v of the samples", share)
	}
	if m := medianOf([]float64{1, 2, 3, 4, 5}); !math.IsInf(m.High, 1) || m.Median != 3 {
		t.Errorf("%+v", m)
	}
	if m := medianOf([]float64{6, 5, 4, 3, 2, 1}); m.Low != 1 || m.High != 6 || m.Median != 3.5 {
		t.Errorf("%+v", m)
	}
}

// No regret is negative, and with a larger budget random search has no larger one.
func TestRegretsAreOfTheLowestKnown(t *testing.T) {
	p := *drawn[RegretParams](t)
	p.Groups, p.DataSets, p.Budget, p.LongBudget = []int{1, 2}, 6, 6, 40
	short, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.Budget = 60
	long, err := p.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const rounding = 1e-9
	for i, row := range short.Rows {
		for _, m := range []Median{row.Bayesian, row.Random, long.Rows[i].Bayesian, long.Rows[i].Random} {
			if m.Low < 0 || m.N != p.DataSets {
				t.Errorf("%d hyperparameters up to 1e%g: %+v", row.Hyperparameters, row.BoxHigh, m)
			}
		}
		if long.Rows[i].Random.High > row.Random.High+rounding {
			t.Errorf("%d hyperparameters up to 1e%g: random search's regret %+v, with more evaluations %+v", row.Hyperparameters, row.BoxHigh, row.Random, long.Rows[i].Random)
		}
	}
}
