package check

import "sync/atomic"

// states counts the solves, factorisations and fits of the program.
var states atomic.Uint64

// NewState returns a new number for a state of a solver. No two states have the same number. A
// [qpdiff.Workspace] stores the number of the state for which it is prepared.
func NewState() uint64 { return states.Add(1) }

// A Home is a field of each struct that must not be copied after its first use. A copy would share
// storage with the original, and could return the results of another problem. If the struct was
// copied after a call of Take, Check panics.
type Home struct{ self *Home }

// Take stores the address of the struct when it is first called. Each call of Take then calls
// Check.
func (h *Home) Take() {
	if h.self == nil {
		h.self = h
	}
	h.Check()
}

// Check panics if the struct was copied after Take.
func (h *Home) Check() {
	if h.self != nil && h.self != h {
		panic("qpdiff: a learner, a Solution or a Workspace was copied after its first use")
	}
}
