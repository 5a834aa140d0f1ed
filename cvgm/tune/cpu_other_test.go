//go:build !unix

package tune_test

import (
	"testing"
	"time"
)

var began = time.Now()

// cpuSeconds returns the time since the start. On this system, package syscall cannot return the
// processor time.
func cpuSeconds(*testing.B) float64 { return time.Since(began).Seconds() }
