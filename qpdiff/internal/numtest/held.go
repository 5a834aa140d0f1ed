package numtest

import "runtime"

// HeldBy returns the bytes that are held after f but were not after begin. It repeats both if
// the runtime has started a thread meanwhile, as on a busy machine: a thread holds 5 KB, and the
// number of threads is bounded. The tests of a package that calls it must not run beside others.
func HeldBy(begin, f func()) int64 {
	for {
		begin()
		threads, _ := runtime.ThreadCreateProfile(nil)
		var before, after runtime.MemStats
		for _, m := range []*runtime.MemStats{&before, &after} {
			runtime.GC()
			runtime.GC() // frees the memory of finalizers and pools
			runtime.ReadMemStats(m)
			if m == &before {
				f()
			}
		}
		if now, _ := runtime.ThreadCreateProfile(nil); now == threads {
			return int64(after.HeapAlloc) - int64(before.HeapAlloc)
		}
	}
}
