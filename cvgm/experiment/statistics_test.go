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
	// What is within the stopping rules of two searches is a tie, in any units.
	for _, unit := range []float64{1, 1e-9, 1e9} {
		if c := compare([]float64{unit, unit * (1 - tieTol/3), unit * (1 - 3*tieTol), unit * (1 + 3*tieTol)}, []float64{unit, unit, unit, unit}); c.Wins != .5*(1+1)/4+.25 {
			t.Errorf("units of %g: %+v", unit, c)
		}
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
	_, err := keptCells(ctx, 9, func(i int) (int, error) {
		if i == 4 {
			return 0, broken
		}
		return i * i, nil
	})
	if !errors.Is(err, broken) || len(m.kept) != 8 {
		t.Fatalf("error %v with %d cells kept", err, len(m.kept))
	}
	cells, err := keptCells(ctx, 9, func(i int) (int, error) {
		if i != 4 {
			t.Errorf("cell %d is computed again", i)
		}
		return i * i, nil
	})
	if err != nil || m.loaded != 8 {
		t.Fatalf("error %v with %d cells loaded", err, m.loaded)
	}
	for i, v := range cells {
		if v != i*i {
			t.Errorf("cell %d is %d", i, v)
		}
	}
}
