package qpdiff

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// ForEach calls f(0), …, f(n-1), spread over at most GOMAXPROCS goroutines,
// and returns the error of the lowest index that failed. Every index is
// called, whatever the others return: one failure never disturbs another item.
//
// The result has the same bits for any GOMAXPROCS provided that f(i) writes
// only what belongs to item i; sum over the items after ForEach returns, in
// the order of the index. A panic in f reaches the caller of ForEach, again
// that of the lowest index.
func ForEach(n int, f func(i int) error) error {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		var first error
		for i := range n {
			if err := f(i); err != nil && first == nil {
				first = err
			}
		}
		return first
	}
	b := batch{f: f, n: int64(n), failed: n, panicked: n}
	b.running.Add(workers)
	for range workers - 1 {
		go b.work()
	}
	b.work()
	b.running.Wait()
	if b.panicked < n {
		panic(b.panic)
	}
	return b.err
}

// batch is what the goroutines of one ForEach share.
type batch struct {
	f       func(i int) error
	n       int64
	next    atomic.Int64
	running sync.WaitGroup

	mu       sync.Mutex
	failed   int // lowest failing index so far, n while there is none
	err      error
	panicked int
	panic    any
}

func (b *batch) work() {
	defer b.running.Done()
	for {
		i := b.next.Add(1) - 1
		if i >= b.n {
			return
		}
		b.item(int(i))
	}
}

func (b *batch) item(i int) {
	defer func() {
		if p := recover(); p != nil {
			b.mu.Lock()
			if i < b.panicked {
				b.panicked, b.panic = i, p
			}
			b.mu.Unlock()
		}
	}()
	if err := b.f(i); err != nil {
		b.mu.Lock()
		if i < b.failed {
			b.failed, b.err = i, err
		}
		b.mu.Unlock()
	}
}
