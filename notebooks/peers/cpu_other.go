//go:build !unix

package main

import "time"

var began = time.Now()

// cpuSeconds returns the time since the start of the process. Package syscall has no processor time
// on this system.
func cpuSeconds() float64 { return time.Since(began).Seconds() }
