package check

import "sync/atomic"

// states counts the solves, factorisations and fits of the program.
var states atomic.Uint64

// NewState returns a new number for a state of a solver. No two states have the same number, so a
// [qpdiff.Workspace] can record for which state it is prepared.
func NewState() uint64 { return states.Add(1) }

// A Home is a field of a value that must not be copied, because the copy would share its storage.
// After Take, a copy of the value panics when it is used. Without the panic, the copy would return
// the numbers of another problem.
type Home struct{ self *Home }

// Take takes the value's place in memory for its home.
func (h *Home) Take() {
	if h.self == nil {
		h.self = h
	}
	h.Check()
}

// Check panics if the value is a copy.
func (h *Home) Check() {
	if h.self != nil && h.self != h {
		panic("qpdiff: a learner, a Solution or a Workspace was copied after its first use")
	}
}
