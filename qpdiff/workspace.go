package qpdiff

import "cvgm/qpdiff/internal/check"

// Workspace is the storage of derivatives: their preparation, which is computed once for each
// solution or fit, and scratch. The zero value is ready to use. A Workspace can be used with any
// solutions and learners, but only by one goroutine at a time. Each new solve, and each change to
// another solution, costs a preparation, so it is best to use one Workspace for each solution. A
// Workspace must not be copied after its first use.
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

// Scratch returns the value of type T that w keeps. The first call returns a zero value, and later
// calls return the same value, whatever other types w keeps. A derivative, also of a learner of
// your own, keeps its storage in this value, so only its first call allocates. A type that a
// package does not export is used by that package alone. If w is nil, Scratch returns a new value
// each time.
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
