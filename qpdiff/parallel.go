package qpdiff

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// ForEach calls f(0) … f(n-1), shared among at most the given number of goroutines (zero or
// less: GOMAXPROCS). It calls every f, whatever errors the others return, and returns the error
// of the lowest index that failed. If calls write to different memory, the results do not
// depend on the number of goroutines. This is the project's one way to run in parallel.
func ForEach(workers, n int, f func(i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	if workers <= 1 {
		_, err := runItems(0, n, f)
		return err
	}
	// Items are handed out in runs, small enough to even out items of unequal
	// cost and large enough that handing out costs nothing.
	run := max(1, n/(8*workers))
	var taken atomic.Int64
	next := func() int { return int(taken.Add(int64(run))) - run }
	var wg sync.WaitGroup
	var mu sync.Mutex
	lowest, failure := n, error(nil)
	work := func() {
		for start := next(); start < n; start = next() {
			if i, err := runItems(start, min(start+run, n), f); err != nil {
				mu.Lock()
				if i < lowest {
					lowest, failure = i, err
				}
				mu.Unlock()
			}
		}
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work() // here too: waking one goroutine more takes as long as a small share of the work
	wg.Wait()
	return failure
}

// runItems calls f for lo ≤ i < hi and returns the first that failed.
func runItems(lo, hi int, f func(i int) error) (int, error) {
	lowest, failure := hi, error(nil)
	for i := lo; i < hi; i++ {
		if err := f(i); err != nil && failure == nil {
			lowest, failure = i, err
		}
	}
	return lowest, failure
}
