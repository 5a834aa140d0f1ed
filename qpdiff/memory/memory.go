// Package memory bounds the memory of the packages of this module. It determines how much memory
// the process may use, counts bytes, and formats the errors. Go ends a program that allocates more
// memory than is available, so a bound must be checked before an allocation. The bound only decides
// between a result and an error: no result depends on it.
package memory

import (
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// defaultShare is the share of the smallest limit that is the default bound. It is small because
// the garbage collector lets a heap grow to twice the live memory, and because the caller has data
// of its own.
const defaultShare = 4

// usual is the default bound, 0 before it is known.
var usual atomic.Int64

// once reads the limits when they are first needed. A program that does not need the default bound
// opens no file.
var once = sync.OnceValue(func() int64 { return share(least(debug.SetMemoryLimit(-1), math.MaxInt, system())) })

// share returns the default bound for a limit.
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

// Bound returns most, the bound that the caller set, if most is above 0. Otherwise it returns the
// default: a quarter of the smallest limit, or Unbounded if there is no limit. The limits are
// GOMEMLIMIT, the address space, RLIMIT_AS and RLIMIT_DATA, twice the free addresses below
// RLIMIT_AS, the limits of the process's control group and of the groups above it, and the physical
// memory. On other systems than Linux only the first two are read. The default is computed once.
func Bound(most int64) int64 {
	if most > 0 {
		return most
	}
	if b := usual.Load(); b != 0 {
		return b
	}
	usual.CompareAndSwap(0, once())
	return usual.Load()
}

// SetDefault changes the default bound, for tests, and returns the old one.
func SetDefault(bytes int64) (old int64) {
	old = Bound(0)
	usual.Store(bytes)
	return old
}
