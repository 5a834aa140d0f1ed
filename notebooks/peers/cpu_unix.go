//go:build unix

package main

import (
	"log"
	"syscall"
)

// cpuSeconds returns the processor time that this process has used so far. Other processes on the
// machine affect it much less than the wall-clock time.
func cpuSeconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		log.Fatal(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}
