package qpdiff

import (
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestForEachCallsEveryItemOnceAndReportsTheLowestFailure(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 7, 64} {
		for _, n := range []int{0, 1, 2, 63, 1000} {
			calls := make([]atomic.Int32, n)
			err := ForEach(workers, n, func(i int) error {
				calls[i].Add(1)
				if i%10 == 7 {
					return fmt.Errorf("item %d", i)
				}
				return nil
			})
			for i := range calls {
				if c := calls[i].Load(); c != 1 {
					t.Fatalf("workers=%d n=%d: item %d called %d times", workers, n, i, c)
				}
			}
			want := "<nil>"
			if n > 7 {
				want = "item 7"
			}
			if got := fmt.Sprint(err); got != want {
				t.Errorf("workers=%d n=%d: error %v, want %v", workers, n, got, want)
			}
		}
	}
}

// An idle goroutine of ForEach serves the next call of ForEach, and ends soon if there is no call.
func TestHelpersServeTheNextCallAndEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	const calls = 1000
	before, created := runtime.NumGoroutine(), goroutinesCreated()
	for range calls {
		noFailure(t, ForEach(2, 2, func(int) error { return nil }))
	}
	if n := goroutinesCreated() - created; n >= calls {
		t.Errorf("%d calls have started %d goroutines: none served twice", calls, n)
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// Nested and simultaneous calls of ForEach wait only for their own items.
func TestForEachWithinForEach(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for range 50 {
		var sums [20]int64
		noFailure(t, ForEach(0, len(sums), func(i int) error {
			var sum atomic.Int64
			err := ForEach(0, 30, func(k int) error {
				sum.Add(int64(i * k))
				return nil
			})
			sums[i] = sum.Load()
			return err
		}))
		for i, got := range sums {
			if want := int64(435 * i); got != want {
				t.Fatalf("item %d: sum %d, want %d", i, got, want)
			}
		}
	}
}

// ForEach works in a synctest bubble, even if a goroutine of another bubble serves the call.
func TestForEachInABubble(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	items := func() error { return ForEach(4, 8, func(int) error { return nil }) }
	done := make(chan error)
	go func() {
		var err error
		for range 300 {
			if e := items(); e != nil {
				err = e
			}
		}
		done <- err
	}()
	for range 30 {
		synctest.Test(t, func(t *testing.T) { noFailure(t, items()) })
	}
	noFailure(t, <-done)
}

func TestForEachHasAsManyGoroutinesAsProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	var running, most atomic.Int64
	noFailure(t, ForEach(8, 64, func(int) error {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Microsecond)
		running.Add(-1)
		return nil
	}))
	if most.Load() > 2 {
		t.Errorf("%d items at a time on 2 processors", most.Load())
	}
}

func noFailure(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func goroutinesCreated() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
