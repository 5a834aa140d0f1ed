package qpdiff

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
)

// ForEach calls f(0) … f(n-1) in parallel. The argument workers is the largest number of
// goroutines. If workers is zero, negative or above GOMAXPROCS, this number is GOMAXPROCS. ForEach
// makes all n calls, even if some of them return errors. It returns the error of the failed call
// with the lowest index. If the calls write to different memory, the results do not depend on the
// number of goroutines. When a goroutine that ForEach started has no work left, it waits about a
// tenth of a millisecond for the next call of ForEach, and then ends. A waiting goroutine gives up
// its processor when another goroutine needs it. The project uses ForEach for everything that runs
// in parallel.
//
// If calls of f panic, ForEach waits until no call of f runs any more, and then panics in the
// caller's goroutine. Among the panics of f, ForEach selects the panic of the call with the lowest
// index. The value of ForEach's own panic is an error that reports the value and the stack of the
// selected panic. If the selected panic's value is an error, ForEach's error wraps it. If a call of
// f calls [runtime.Goexit], so does ForEach. The goroutine of that call makes no further calls of
// f.
func ForEach(workers, n int, f func(i int) error) error {
	maxWorkers := runtime.GOMAXPROCS(0)
	if workers <= 0 {
		workers = maxWorkers
	}
	if workers = min(workers, n, maxWorkers); workers <= 1 {
		return inOrder(n, f)
	}
	j := newSharedItems(workers, n, f)
	for range workers - 1 {
		if !helpers.passOn(j) {
			go runHelper(j)
		}
	}
	j.runAndWait()
	switch {
	case j.brokenItem == j.n:
		return j.failure
	case j.panicked == nil:
		runtime.Goexit()
	}
	panic(j.panicked)
}

// inOrder calls f(0) … f(n-1) and returns the first error.
func inOrder(n int, f func(i int) error) (failure error) {
	allRan := false
	defer func() {
		if allRan {
			return
		}
		if value := recover(); value != nil {
			panic(panicOf(value))
		}
	}()
	for i := range n {
		if err := f(i); err != nil && failure == nil {
			failure = err
		}
	}
	allRan = true
	return failure
}

// itemPanic is the panic of an item.
type itemPanic struct {
	value any
	stack []byte
}

// panicOf returns the panic of an item, given the value that recover returned. If the item itself
// called ForEach, the recovered value may already be the panic of an inner item. panicOf then
// returns it unchanged.
func panicOf(value any) *itemPanic {
	if p, ok := value.(*itemPanic); ok {
		return p
	}
	return &itemPanic{value, debug.Stack()}
}

func (p *itemPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

func (p *itemPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// sharedItems holds the items of one ForEach call, which several goroutines share.
type sharedItems struct {
	n, run     int
	f          func(i int) error
	taken      atomic.Int64
	helping    atomic.Int64
	finished   sync.RWMutex // read-locked once for each helper; not a sync.WaitGroup, because a WaitGroup would belong to one bubble of testing/synctest
	mu         sync.Mutex
	failedItem int
	failure    error
	brokenItem int        // the lowest item that did not return
	panicked   *itemPanic // of that item; nil after runtime.Goexit
}

// newSharedItems divides n items into runs of consecutive items. A goroutine takes one run at a
// time. There are about eight runs for each worker. This number balances items of unequal cost, and
// taking a run still costs almost nothing.
func newSharedItems(workers, n int, f func(i int) error) *sharedItems {
	j := &sharedItems{n: n, run: max(1, n/(8*workers)), f: f, failedItem: n, brokenItem: n}
	j.helping.Store(int64(workers - 1))
	for range workers - 1 {
		j.finished.RLock()
	}
	return j
}

// runItems runs items until all items are taken, or until an item does not return, because it
// panics or calls runtime.Goexit.
func (j *sharedItems) runItems() {
	i, allRan := 0, false
	defer func() {
		if allRan {
			return
		}
		value := recover() // nil after runtime.Goexit
		j.mu.Lock()
		defer j.mu.Unlock()
		if i < j.brokenItem {
			if j.brokenItem, j.panicked = i, nil; value != nil {
				j.panicked = panicOf(value)
			}
		}
	}()
	next := func() int { return int(j.taken.Add(int64(j.run))) - j.run }
	for start := next(); start < j.n; start = next() {
		for i = start; i < min(start+j.run, j.n); i++ {
			if err := j.f(i); err != nil {
				j.noteError(i, err)
			}
		}
	}
	allRan = true
}

// noteError records the error of item i.
func (j *sharedItems) noteError(i int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i < j.failedItem {
		j.failedItem, j.failure = i, err
	}
}

// runAndWait works on the items in the caller's goroutine, and returns when no item runs any more.
// The caller works instead of only waiting, because a small share of the work takes no longer than
// waking one more goroutine.
func (j *sharedItems) runAndWait() {
	defer j.wait()
	j.runItems()
}

// helpOut works in a goroutine that ForEach has started.
func (j *sharedItems) helpOut() {
	defer func() {
		j.helping.Add(-1)
		j.finished.RUnlock()
	}()
	j.runItems()
}

// wait returns when all helpers have finished their items.
func (j *sharedItems) wait() {
	if !spin(func() bool { return j.helping.Load() == 0 }) {
		j.finished.Lock()
	}
}

// A helper is a goroutine that works on the items of one ForEach call after another.
type helper struct{ nextItems atomic.Pointer[sharedItems] }

// helpers holds the helpers that wait for work.
var helpers readyHelpers

type readyHelpers struct {
	mu    sync.Mutex
	ready []*helper
}

// passOn passes the shared items j to a waiting helper. It returns false if no helper is waiting.
func (r *readyHelpers) passOn(j *sharedItems) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.ready) - 1
	if last < 0 {
		return false
	}
	r.ready[last].nextItems.Store(j)
	r.ready = r.ready[:last]
	return true
}

// add adds h to the waiting helpers.
func (r *readyHelpers) add(h *helper) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = append(r.ready, h)
}

// remove removes the helper h from the list of waiting helpers, unless passOn has already removed
// it.
func (r *readyHelpers) remove(h *helper) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.ready, h); i >= 0 {
		r.ready = slices.Delete(r.ready, i, i+1)
	}
}

// runHelper works on the shared items j, and then on the items of later ForEach calls.
func runHelper(j *sharedItems) {
	for h := new(helper); j != nil; j = h.nextItems.Swap(nil) {
		j.helpOut()
		helpers.add(h)
		if !spin(func() bool { return h.nextItems.Load() != nil }) {
			helpers.remove(h) // from here on no call changes h.next
		}
	}
}

// These constants set how long the function spin waits: about 100 µs, twice the time that waking a
// thread takes. The constants count checks and do not measure time, because time does not pass in a
// bubble of testing/synctest.
const (
	spinYields     = 600
	checksPerYield = 8 // before each yield
)

// spin calls the function isDone repeatedly for a short time, until isDone returns true. It reports
// whether isDone has returned true.
func spin(isDone func() bool) bool {
	for range spinYields {
		for range checksPerYield {
			if isDone() {
				return true
			}
		}
		runtime.Gosched()
	}
	return false
}
