package experiment

import (
	"bytes"
	"context"
	"encoding/gob"
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

func TestMedianIsTheMiddle(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 8, 2}, 3}} {
		if m := median(c.v); m != c.want {
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
	if _, err := cells(ctx, 20, strconv.Itoa, func(int) (int, error) { return 0, nil }); err != nil {
		t.Fatal(err)
	}
	for k := 1; k <= 20; k++ {
		if !seen[k] {
			t.Errorf("no report of %d of 20", k)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	_, err := cells(ctx, 1000, strconv.Itoa, func(i int) (int, error) {
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
	_, err := cells(ctx, 9, strconv.Itoa, func(i int) (int, error) {
		if i == 4 {
			return 0, broken
		}
		return i * i, nil
	})
	if !errors.Is(err, broken) || len(m.kept) != 8 {
		t.Fatalf("error %v with %d cells kept", err, len(m.kept))
	}
	values, err := cells(ctx, 9, strconv.Itoa, func(i int) (int, error) {
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

// encoded is a Keeper that stores cells as a run that is interrupted does.
type encoded struct {
	mu     sync.Mutex
	cells  map[int][]byte
	loaded int
}

func (e *encoded) Load(i int, cell any) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	kept, ok := e.cells[i]
	if ok {
		e.loaded++
		ok = gob.NewDecoder(bytes.NewReader(kept)).Decode(cell) == nil
	}
	return ok
}

func (e *encoded) Keep(i int, cell any) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(cell); err != nil {
		panic(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cells[i] = b.Bytes()
}

func TestResultsAreTheSameFromKeptCells(t *testing.T) {
	for _, e := range All() {
		p := e.Draw(synth.NewStream(1, "kept cells of "+e.Name))
		k := &encoded{cells: make(map[int][]byte)}
		ctx := WithKeeper(t.Context(), k)
		var results [2]bytes.Buffer
		for i := range results {
			r, err := e.Run(ctx, p)
			if err != nil {
				t.Fatalf("%s: %v with %+v", e.Name, err, p)
			}
			if err := gob.NewEncoder(&results[i]).Encode(r); err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
		}
		if k.loaded != len(k.cells) {
			t.Errorf("%s: %d of %d cells loaded", e.Name, k.loaded, len(k.cells))
		}
		if !bytes.Equal(results[0].Bytes(), results[1].Bytes()) {
			t.Errorf("%s: another result from kept cells, with %+v", e.Name, p)
		}
	}
}
