package serial

import (
	"fmt"
	"testing"
)

// watched is a test whose end and failures this one sees.
type watched struct {
	testing.TB
	cleanup func()
	failure string
}

func (w *watched) Cleanup(f func())               { w.cleanup = f }
func (w *watched) Errorf(format string, a ...any) { w.failure = fmt.Sprintf(format, a...) }

func TestGoroutinesAreFound(t *testing.T) {
	for n := range 3 {
		w := &watched{TB: t}
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

func TestTheDetectorSkips(t *testing.T) {
	t.Run("marked", func(t *testing.T) {
		Test(t)
		if detecting {
			t.Error("it runs")
		}
	})
}
