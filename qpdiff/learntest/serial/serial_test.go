package serial

import (
	"fmt"
	"testing"
)

// recordingTB is a testing.TB that records the cleanup function and the failure of the tested code.
type recordingTB struct {
	testing.TB
	cleanup func()
	failure string
}

func (w *recordingTB) Cleanup(f func())               { w.cleanup = f }
func (w *recordingTB) Errorf(format string, a ...any) { w.failure = fmt.Sprintf(format, a...) }

func TestGoroutinesAreFound(t *testing.T) {
	for n := range 3 {
		w := &recordingTB{TB: t}
		Test(w)
		if n > 0 {
			n += int(ofRuntime())
		}
		for range n {
			done := make(chan bool)
			go close(done)
			<-done
		}
		w.cleanup()
		want := ""
		if n > 0 {
			want = fmt.Sprintf("serial: the test has started goroutines (%d): delete its call of serial.Test, so that the race detector runs it", n)
		}
		if w.failure != want {
			t.Errorf("%d goroutines: %q, want %q", n, w.failure, want)
		}
	}
}

func TestTheDetectorSkipsChecksAfterAProbe(t *testing.T) {
	for name, starts := range map[string]bool{"no goroutine": false, "goroutines": true} {
		var p Probe
		first, then := false, false
		t.Run(name, func(t *testing.T) {
			p.First(t, func(*testing.T) {
				first = true
				for range 1 + ofRuntime() {
					if done := make(chan bool); starts {
						go close(done)
						<-done
					}
				}
			})
			p.First(t, func(*testing.T) {}) // does not take back what the first one has found
			p.Then(t, func(*testing.T) { then = true })
		})
		if !first || then != (starts || !detecting || !testing.Short()) {
			t.Errorf("%s: the first check runs: %v, the next one: %v", name, first, then)
		}
	}
}

func TestTheDetectorSkips(t *testing.T) {
	t.Run("marked", func(t *testing.T) {
		Test(t)
		if detecting {
			t.Error("it runs")
		}
	})
}
