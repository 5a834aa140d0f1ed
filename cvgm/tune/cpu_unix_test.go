//go:build unix

package tune_test

import (
	"syscall"
	"testing"
)

// cpuSeconds returns the processor time of this process so far.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
