//go:build !unix

package tune_test

import (
	"testing"
	"time"
)

var began = time.Now()

// cpuSeconds returns the elapsed time, because package syscall has no processor time on this
// system.
func cpuSeconds(*testing.B) float64 { return time.Since(began).Seconds() }
