package tune_test

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// resetPeak returns unused memory to the system and begins a new measurement of peakBytes.
func resetPeak(b *testing.B) {
	b.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

// peakBytes returns the largest memory of this process since resetPeak.
func peakBytes(b *testing.B) (bytes float64) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &bytes); err != nil {
		b.Fatal(err)
	}
	return 1024 * bytes
}
