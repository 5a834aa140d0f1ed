//go:build !unix

package main

import "time"

var began = time.Now()

// cpuSeconds returns the time since the start of the process. On this system, package syscall
// cannot return the processor time.
func cpuSeconds() float64 { return time.Since(began).Seconds() }
