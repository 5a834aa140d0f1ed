package experiment

import (
	"context"
	"errors"
	"math"
	"strconv"
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
		if e := EstimateOf(v); math.Abs(e.Mean-3) <= e.Margin {
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
	e := EstimateOf([]float64{1, 2, 3})
	if e.Mean != 2 || math.Abs(e.Margin-4.302652729749464/math.Sqrt(3)) > 1e-9 || e.N != 3 {
		t.Errorf("%+v", e)
	}
	if e := EstimateOf([]float64{1}); !math.IsNaN(e.Margin) {
		t.Errorf("an interval from one value: %+v", e)
	}
}

func TestCompareCountsTiesHalf(t *testing.T) {
	c := Compare([]float64{1, 2, 3, 4}, []float64{2, 2, 2, 5})
	if c.Wins != .625 || c.Difference.Mean != -.25 {
		t.Errorf("%+v", c)
	}
	// What is within the stopping rules of two searches is a tie, in any units.
	for _, unit := range []float64{1, 1e-9, 1e9} {
		if c := Compare([]float64{unit, unit * (1 - TieTol/3), unit * (1 - 3*TieTol), unit * (1 + 3*TieTol)}, []float64{unit, unit, unit, unit}); c.Wins != .5*(1+1)/4+.25 {
			t.Errorf("units of %g: %+v", unit, c)
		}
	}
}

func TestMedianIsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 8, 2}, 3}} {
		if m := MedianValue(c.v); m != c.want {
			t.Errorf("median of %v is %v", c.v, m)
		}
	}
}

func TestCellsReportProgressAndStops(t *testing.T) {
	var mu sync.Mutex
	seen := make(map[int]bool)
	ctx := WithProgress(context.Background(), func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		seen[done] = total == 20
	})
	if _, err := Cells(ctx, 20, strconv.Itoa, func(int) (int, error) { return 0, nil }); err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 20; k++ {
		if !seen[k] {
			t.Errorf("no report of %d of 20", k)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := Cells(ctx, 1000, strconv.Itoa, func(i int) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		calls++
		cancel()
		return 0, nil
	})
	if !errors.Is(err, context.Canceled) || calls > 200 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// memory is a Keeper that counts.
type memory struct {
	mu     sync.Mutex
	kept   map[int]int
	loaded int
}

func (m *memory) Load(i int, cell any) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.kept[i]
	if ok {
		*cell.(*int) = v
		m.loaded++
	}
	return ok
}

func (m *memory) Keep(i int, cell any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[i] = *cell.(*int)
}

func TestKeptCellsAreNotComputedAgain(t *testing.T) {
	m := &memory{kept: make(map[int]int)}
	ctx := WithKeeper(context.Background(), m)
	broken := errors.New("broken")
	_, err := Cells(ctx, 9, strconv.Itoa, func(i int) (int, error) {
		if i == 4 {
			return 0, broken
		}
		return i * i, nil
	})
	if !errors.Is(err, broken) || len(m.kept) != 8 {
		t.Fatalf("error %v with %d cells kept", err, len(m.kept))
	}
	values, err := Cells(ctx, 9, strconv.Itoa, func(i int) (int, error) {
		if i != 4 {
			t.Errorf("cell %d is computed again", i)
		}
		return i * i, nil
	})
	if err != nil || m.loaded != 8 {
		t.Fatalf("error %v with %d cells loaded", err, m.loaded)
	}
	for i, v := range values {
		if v != i*i {
			t.Errorf("cell %d is %d", i, v)
		}
	}
}

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
		if m := MedianOf(v); m.Low <= math.Ln2 && math.Ln2 <= m.High {
			covered++
		}
	}
	if share := float64(covered) / samples; share < .94 || share > .985 {
		t.Errorf("the interval covers the median in %v of the samples", share)
	}
	if m := MedianOf([]float64{1, 2, 3, 4, 5}); !math.IsInf(m.High, 1) || m.Median != 3 {
		t.Errorf("%+v", m)
	}
	if m := MedianOf([]float64{6, 5, 4, 3, 2, 1}); m.Low != 1 || m.High != 6 || m.Median != 3.5 {
		t.Errorf("%+v", m)
	}
}
