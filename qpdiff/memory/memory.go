// Package memory computes the default bound of the memory that a learner of this module may use. It
// also counts bytes and formats errors. A Go program that allocates more memory than is available
// is killed, so learners check the bound before they allocate. The bound decides only whether a
// call returns a result or an error. It does not change any result.
package memory

import (
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// The default bound is the smallest limit divided by defaultShare. The rest of the limit is for the
// garbage collector, which lets a heap grow to twice the live memory, and for the caller's own
// data.
const defaultShare = 4

// defaultBound is the default bound, or 0 before the bound has been computed.
var defaultBound atomic.Int64

// readOnce reads the limits when the default bound is first needed, and returns the default bound.
// If a program never needs the default bound, no file is opened.
var readOnce = sync.OnceValue(func() int64 { return share(least(debug.SetMemoryLimit(-1), math.MaxInt, system())) })

// share returns the default bound for the smallest limit.
func share(limit int64) int64 {
	if limit == Unbounded {
		return Unbounded
	}
	return limit / defaultShare
}

func least(limits ...int64) int64 {
	low := int64(Unbounded)
	for _, l := range limits {
		if l > 0 {
			low = min(low, l)
		}
	}
	return low
}

// Bound returns maxBytes if it is above 0. Otherwise it returns the default: a quarter of the
// smallest limit, or Unbounded if there is no limit. Two limits are GOMEMLIMIT and the address
// space. On Linux there are five more: RLIMIT_AS; RLIMIT_DATA; twice the free addresses below
// RLIMIT_AS; the limits of the process's control group and of the groups above it; and the physical
// memory. The default is computed only once.
func Bound(maxBytes int64) int64 {
	if maxBytes > 0 {
		return maxBytes
	}
	if b := defaultBound.Load(); b != 0 {
		return b
	}
	defaultBound.CompareAndSwap(0, readOnce())
	return defaultBound.Load()
}

// SetDefault is a function for tests. It changes the default bound, and returns the old bound.
func SetDefault(bytes int64) (old int64) {
	old = Bound(0)
	defaultBound.Store(bytes)
	return old
}
