package check

import "sync/atomic"

// states counts the solves, factorisations and fits of the program.
var states atomic.Uint64

// NewState returns the number of a new state of a solver. No two states have the same,
// so that a [qpdiff.Workspace] finds out for which of them it is prepared.
func NewState() uint64 { return states.Add(1) }

// A Home is part of a value with storage that a copy of the value would share. Once it
// is taken, a copy panics when it is used, rather than return the numbers of another
// problem.
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
