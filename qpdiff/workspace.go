package qpdiff

import "cvgm/qpdiff/internal/check"

// A Workspace is the storage of derivatives. It holds scratch, and the preparation of derivatives.
// The preparation is computed once for each solution or fit, and again after a new solve or when
// the Workspace is used with another solution. It is therefore best to use one Workspace for each
// solution. The zero value is ready to use. A Workspace can be used with any solutions and
// learners, but only by one goroutine at a time. A Workspace must not be copied after its first
// use.
type Workspace struct {
	home  check.Home
	qp    qpDerivative
	slots []any // pointers to values of different types
}

// orNew returns w, or a new workspace if w is nil.
func (w *Workspace) orNew() *Workspace {
	if w == nil {
		w = new(Workspace)
	}
	w.home.Take()
	return w
}

// Scratch returns a pointer to the value of type T that w keeps. The first call returns a zero
// value, and later calls with the same T return the same pointer. The methods VJP and JVP of any
// learner, also of your own, can keep their scratch in this value. Only the first derivative then
// allocates. If a package does not export the type T, no other package can use the value. If w is
// nil, Scratch returns a new value each time.
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
