package numtest

import "runtime"

// HeldBy calls the function begin and then the function f. It returns the number of bytes by which
// f has increased the memory in use. On a busy machine, the runtime may start a thread during f,
// and a thread takes 5 KB. In this case HeldBy repeats both calls. The repetitions end, because the
// number of threads is bounded. A package that calls HeldBy must not run its tests in parallel.
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
