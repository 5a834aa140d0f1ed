// Package serial marks tests that start no goroutine.
package serial

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// Test marks t as a test that starts no goroutine, also in subtests. The race detector cannot find
// a race in such a test, and makes it ten times slower, so Test skips t under the detector. Without
// the detector, t fails if it has started a goroutine. t must not be a parallel test, and must not
// run at the same time as a parallel test.
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

// A Probe runs checks of a caller's code, which may start goroutines. Checks of code that starts
// none, one after the other, tell the race detector nothing. The zero value is ready for use. A
// Probe must not be used by two tests at the same time.
type Probe struct {
	started bool
}

// First runs check, which calls all of the caller's code, and notes whether it has started a
// goroutine. The goroutines of tests that run at the same time count, too.
func (p *Probe) First(t *testing.T, check func(t *testing.T)) {
	t.Helper()
	startRuntime()
	before := created()
	defer func() { p.started = p.started || created()-before > ofRuntime() }()
	check(t)
}

// Then runs check, which calls the code that First has called, and no other. Under the race
// detector with -short, it skips t if that code has started no goroutine. Without -short it does not,
// since the caller may run no tests without the detector.
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
