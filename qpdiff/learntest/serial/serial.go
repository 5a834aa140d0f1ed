// Package serial marks tests that start no goroutine.
package serial

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// Test declares that the test t starts no goroutine, not even in subtests. The race detector cannot
// find a race in such a test, and makes it ten times slower. Test therefore skips t under the
// detector. Without the detector, t fails if it has started a goroutine. The test t must not be a
// parallel test, and must not run at the same time as a parallel test.
func Test(t testing.TB) {
	t.Helper()
	if detecting {
		t.Skip("starts no goroutine, so it has no race")
	}
	startRuntime()
	before := created()
	t.Cleanup(func() {
		if n := created() - before; n > ofRuntime() {
			t.Errorf("serial: the test has started goroutines (%d): delete its call of serial.Test, so that the race detector runs it", n)
		}
	})
}

// A Probe runs checks of a caller's code and finds out whether this code starts goroutines. If the
// code starts no goroutines, it is useless to run checks in sequence under the race detector. The
// zero value is ready for use. A Probe must not be used by two tests at the same time.
type Probe struct {
	started bool
}

// First calls the function check, which must call all of the caller's code. First records whether
// check has started a goroutine. Goroutines of tests that run at the same time count too.
func (p *Probe) First(t *testing.T, check func(t *testing.T)) {
	t.Helper()
	startRuntime()
	before := created()
	defer func() { p.started = p.started || created()-before > ofRuntime() }()
	check(t)
}

// Then calls its function check, which may call only code that the check of First has called. Under
// the race detector with -short, Then skips the test t instead if First has recorded no goroutine.
// Without -short it does not skip t, because the caller may run no tests without the detector.
func (p *Probe) Then(t *testing.T, check func(t *testing.T)) {
	t.Helper()
	if detecting && testing.Short() && !p.started {
		t.Skip("the same calls have started no goroutine, so they have no race")
	}
	check(t)
}

// startRuntime starts the goroutines of the runtime that would otherwise start when they are first
// needed, for example when a file is opened.
func startRuntime() {
	x := new([64]byte)
	runtime.SetFinalizer(x, func(*[64]byte) {})
	y := new([64]byte)
	runtime.AddCleanup(y, func(int) {}, 0)
	runtime.GC()
}

// ofRuntime returns the number of goroutines for cleanups that the runtime may start during a test.
// startRuntime has already started the first of them. With fewer than eight processors, ofRuntime
// returns 0.
func ofRuntime() uint64 { return uint64(max(runtime.GOMAXPROCS(0)/4, 1) - 1) }

// created returns the number of goroutines that this process has started.
func created() uint64 {
	sample := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
