package memory

import (
	"fmt"
	"math"
)

// Unbounded is the limit if no limit can be read. It is also the largest number of bytes that this
// package returns.
const Unbounded = math.MaxInt64

// Bytes converts v, a number of bytes, to an int64. The result is at most Unbounded. Sizes are
// computed as float64s, because they do not overflow.
func Bytes(v float64) int64 {
	if v >= Unbounded {
		return Unbounded
	}
	return int64(v)
}

// Add returns the sum of numbers of bytes, at most Unbounded.
func Add(numbers ...int64) int64 {
	sum := 0.0
	exact := int64(0)
	for _, n := range numbers {
		sum += float64(n)
		exact += n
	}
	if sum >= Unbounded {
		return Unbounded
	}
	return exact
}

// Needs returns the text of an error for too little memory. The argument need is the number of
// bytes that are needed, and bound is the number that is allowed.
func Needs(need, bound int64) string {
	return fmt.Sprintf("needs %s where MaxBytes allows %s", text(need), text(bound))
}

// text formats a number of bytes with a unit.
func text(bytes int64) string {
	if bytes == Unbounded {
		return "2⁶³ bytes or more"
	}
	const units = "kMGTPE"
	v, at := float64(bytes), -1
	for v >= 999.5 && at < len(units)-1 {
		v /= 1000
		at++
	}
	if at < 0 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d bytes (%.3g %cB)", bytes, v, units[at])
}
