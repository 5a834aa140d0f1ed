package experiment

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"

	"cvgm/synth"
)

func TestEstimateCoversTheMeanNineteenTimesInTwenty(t *testing.T) {
	src := synth.NewStream(1, "estimate")
	const trials, n = 4000, 6
	covered := 0
	for range trials {
		v := make([]float64, n)
		for i := range v {
			v[i] = 3 + src.NormFloat64()
		}
		if e := estimate(v); math.Abs(e.Mean-3) <= e.Margin {
			covered++
		}
	}
	// Three standard deviations of a binomial share around 95 %.
	if share := float64(covered) / trials; math.Abs(share-.95) > 3*math.Sqrt(.95*.05/trials) {
		t.Errorf("intervals cover the mean in %v of the trials", share)
	}
}

func TestEstimateByHand(t *testing.T) {
	// sd = 1, so the margin is t(.975; 2)/√3.
	e := estimate([]float64{1, 2, 3})
	if e.Mean != 2 || math.Abs(e.Margin-4.302652729749464/math.Sqrt(3)) > 1e-9 || e.N != 3 {
		t.Errorf("%+v", e)
	}
	if e := estimate([]float64{1}); !math.IsNaN(e.Margin) {
		t.Errorf("an interval from one value: %+v", e)
	}
}

func TestCompareCountsTiesHalf(t *testing.T) {
	c := compare([]float64{1, 2, 3, 4}, []float64{2, 2, 2, 5})
	if c.Wins != .625 || c.Difference.Mean != -.25 {
		t.Errorf("%+v", c)
	}
}

func TestEachCellReportsProgressAndStops(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[int]bool)
	ctx := WithProgress(context.Background(), func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		seen[done] = total == 20
	})
	if err := eachCell(ctx, 20, func(int) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 20; k++ {
		if !seen[k] {
			t.Errorf("no report of %d of 20", k)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	err := eachCell(ctx, 1000, func(i int) error {
		mu.Lock()
		defer mu.Unlock()
		calls++
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || calls > 200 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}
