package qpdiff

import "cvgm/qpdiff/internal/check"

// Workspace is the storage of derivatives. It holds their preparation, which is made once for each
// solution or fit, and their scratch. Its zero value is ready for use. It can be used with any
// solutions and learners, by one goroutine at a time. It is best used with one of them, because
// each change of the solution, and each new solve, costs a preparation. It must not be copied after
// its first use.
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

// Scratch returns the value of type T that w keeps. At the first call it is zero, and afterwards
// the same value, whatever other types w keeps. A derivative, also of your own learner, keeps its
// storage there, so that only its first call allocates. Types that a package does not export belong
// to it alone. A nil w keeps nothing.
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
