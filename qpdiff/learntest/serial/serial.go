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
