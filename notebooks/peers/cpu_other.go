//go:build !unix

package main

import "time"

var began = time.Now()

// cpuSeconds returns the time since the start: this system has no processor time in package syscall.
func cpuSeconds() float64 { return time.Since(began).Seconds() }
