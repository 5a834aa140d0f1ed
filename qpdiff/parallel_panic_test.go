package qpdiff

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// panickingItem panics with an error that wraps io.EOF.
func panickingItem(i int) { panic(fmt.Errorf("item %d: %w", i, io.EOF)) }

// ForEach panics in the caller's goroutine, after all items have ended, if an item panics in any
// goroutine.
func TestForEachPanicsInTheCallersGoroutine(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, workers := range []int{1, 2, 4} {
		for first := range 12 {
			var running atomic.Int64
			within := func(i int) error {
				return ForEach(workers, 3, func(int) error {
					running.Add(1)
					defer running.Add(-1)
					if i >= first && i%2 == first%2 {
						panickingItem(i)
					}
					time.Sleep(50 * time.Microsecond)
					return errors.New("an error of a lower item does not hide a panic")
				})
			}
			value := recoveredPanic(func() { _ = ForEach(workers, 12, within) })
			if n := running.Load(); n != 0 {
				t.Fatalf("%d workers: %d items run after the panic", workers, n)
			}
			err, ok := value.(error)
			if !ok || !errors.Is(err, io.EOF) || !strings.HasPrefix(err.Error(), fmt.Sprintf("item %d: EOF\n", first)) || strings.Count(err.Error(), "panickingItem") != 1 {
				t.Fatalf("%d workers: panic %v, want of item %d, with its stack", workers, value, first)
			}
			if value := recoveredPanic(func() { _ = ForEach(workers, 2, func(int) error { panic("no error") }) }); !strings.HasPrefix(fmt.Sprint(value), "no error\n") || errors.Unwrap(value.(error)) != nil {
				t.Fatalf("%d workers: panic %v", workers, value)
			}
			noFailure(t, ForEach(workers, 12, func(int) error { return nil }))
		}
	}
}

func recoveredPanic(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

// If an item ends its goroutine, as t.FailNow does, the caller's goroutine ends too.
func TestForEachExitsWithAnItem(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, workers := range []int{1, 2, 4} {
		for exits := range 8 {
			var running atomic.Int64
			returned, done := false, make(chan bool)
			go func() {
				defer close(done)
				_ = ForEach(workers, 8, func(i int) error {
					running.Add(1)
					defer running.Add(-1)
					if i == exits {
						runtime.Goexit()
					}
					time.Sleep(50 * time.Microsecond)
					return nil
				})
				returned = true
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatalf("%d workers: hangs after item %d", workers, exits)
			}
			if n := running.Load(); returned || n != 0 {
				t.Fatalf("%d workers, item %d: returned %v, %d items run", workers, exits, returned, n)
			}
		}
	}
}
