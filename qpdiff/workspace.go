package qpdiff

import "cvgm/qpdiff/internal/check"

// Workspace is the storage of derivatives: their preparation, once for each solution or fit,
// and their scratch. Its zero value is ready for use. It can be used with any solutions and
// learners, by one goroutine at a time, and is best kept for one of them: a change of the
// solution, or a new solve, costs a preparation. It must not be copied after its first use.
type Workspace struct {
	home  check.Home
	qp    qpDerivative
	slots []any // pointers, each to another type
}

// orNew returns w, or a new workspace if w is nil.
func (w *Workspace) orNew() *Workspace {
	if w == nil {
		w = new(Workspace)
	}
	w.home.Take()
	return w
}

// Scratch returns the value of type T that w keeps: a zero one at the first call, and the same
// one afterwards, whatever other types w keeps. A derivative, also of your own learner, keeps
// its storage there, so that it allocates nothing after its first call. Types that a package
// does not export are its own. A nil w keeps nothing.
func Scratch[T any](w *Workspace) *T {
	w = w.orNew()
	for _, s := range w.slots {
		if t, ok := s.(*T); ok {
			return t
		}
	}
	t := new(T)
	w.slots = append(w.slots, t)
	return t
}
