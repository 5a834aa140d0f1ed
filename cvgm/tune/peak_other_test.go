//go:build !linux

package tune_test

import "testing"

func resetPeak(*testing.B)         {}
func peakBytes(*testing.B) float64 { return 0 }
