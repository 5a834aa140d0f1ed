package live

import (
	"encoding/json"
	"slices"
)

// firstShown is the first visible step. By this step the method has learned something, and the
// steps so far take little time.
const firstShown = 20

// An Event is an action of the reader.
type Event struct {
	Kind EventKind `json:"kind"`
	// The meaning of Value depends on the kind of the event. For Select, Value is the number of the
	// problem. For Set, Value is the position of the control. For Scrub, Value is the number of the
	// step.
	Value   int `json:"value"`
	Control int `json:"control"` // the control for Set
	// Dragging is true while the reader drags a control. More events of the same kind will follow,
	// so a preview is enough.
	Dragging bool `json:"dragging"`
}

// EventKind is the kind of action of an Event.
type EventKind string

const (
	Select EventKind = "select" // show another problem
	Set    EventKind = "set"    // move a control
	Play   EventKind = "play"   // play from the visible step on
	Pause  EventKind = "pause"
	Step   EventKind = "step"  // go one step forward, and pause
	Scrub  EventKind = "scrub" // go to an earlier step, and pause
	Pin    EventKind = "pin"   // pin the run, to compare it with other runs
	Unpin  EventKind = "unpin"
	Reset  EventKind = "reset" // return to the paper's settings, at the visible step
)

// A Machine holds, for each problem, the settings, their run, the visible step and a pinned run.
// The same events always lead to the same state. The zero value is not usable; see [NewMachine].
type Machine struct {
	problem  Problem
	sessions [problems]*session
	kept     [problems]*keptSession // of problems that are not opened yet
}

// NewMachine returns a machine that shows the rings with the paper's settings.
func NewMachine() *Machine {
	m := new(Machine)
	m.open(Rings)
	return m
}

func (m *Machine) open(p Problem) {
	m.problem = p
	if m.sessions[p] != nil {
		return
	}
	s := &session{settings: Paper(p), visibleStep: firstShown}
	s.start(false)
	if kept := m.kept[p]; kept != nil {
		s.restore(kept)
	}
	m.sessions[p] = s
}

func (m *Machine) now() *session { return m.sessions[m.problem] }

// Settings returns the settings of the visible problem.
func (m *Machine) Settings() Settings { return m.now().settings }

// Playing reports whether [Machine.Tick] takes further steps.
func (m *Machine) Playing() bool { return m.now().playing }

// Handle processes an event. Invalid events have no effect.
func (m *Machine) Handle(e Event) {
	s := m.now()
	switch e.Kind {
	case Select:
		if e.Value >= 0 && e.Value < int(problems) {
			s.playing = false
			m.open(Problem(e.Value))
		}
	case Set:
		if e.Control < 0 || e.Control >= len(s.settings.at) {
			return
		}
		moved := s.settings.withControl(e.Control, e.Value)
		if moved.equal(s.settings) && s.run.isPreview == e.Dragging && s.failed == nil {
			return
		}
		s.settings = moved
		s.start(e.Dragging)
	case Play:
		s.playing = true
	case Pause:
		s.playing = false
	case Step:
		s.playing = false
		s.showNext()
	case Scrub:
		s.playing = false
		s.visibleStep = min(max(e.Value, 0), s.run.lastStep())
	case Pin:
		// The pinned run is a copy that cannot continue. If the reader pins the current run, only
		// the current run continues.
		pinned := *s.run
		pinned.states = slices.Clone(s.run.states)
		pinned.next, pinned.stop = nil, func() {}
		s.pin(&pinned, pinned.lastStep())
	case Unpin:
		s.pin(nil, 0)
	case Reset:
		s.settings = Paper(m.problem)
		s.start(false)
	}
}

// CatchUp computes one state of a run that has not yet reached the visible step. It returns true if
// no further state has to be computed.
func (m *Machine) CatchUp() bool {
	s := m.now()
	if goal := max(s.visibleStep, s.runSteps); s.run.lastStep() < goal && s.run.extend() {
		return s.run.lastStep() == goal && !s.pinLags()
	}
	if s.pinLags() && s.pinnedRun.extend() {
		return !s.pinLags()
	}
	s.visibleStep = min(s.visibleStep, s.run.lastStep())
	s.runSteps, s.pinnedSteps = 0, 0
	return true
}

// Tick goes one step forward while the machine plays.
func (m *Machine) Tick() {
	if s := m.now(); s.playing {
		s.showNext()
	}
}

// Close ends all runs.
func (m *Machine) Close() {
	for _, s := range m.sessions {
		if s != nil {
			s.run.stop()
			s.pin(nil, 0)
		}
	}
}

// Keep returns the state as text for [Restore].
func (m *Machine) Keep() []byte {
	k := kept{Problem: m.problem.String(), Sessions: map[string]*keptSession{}}
	for p := range problems {
		if s := m.sessions[p]; s != nil {
			k.Sessions[p.String()] = s.keep()
		} else if m.kept[p] != nil {
			k.Sessions[p.String()] = m.kept[p]
		}
	}
	text, err := json.MarshalIndent(k, "", "\t")
	if err != nil {
		panic(err) // the type kept contains only texts and integers
	}
	return append(text, '\n')
}

// Restore returns a machine with a stored state. The argument text is the state that [Machine.Keep]
// has returned. Invalid parts of the text have no effect.
func Restore(text []byte) *Machine {
	var k kept
	m := new(Machine)
	if json.Unmarshal(text, &k) != nil {
		k = kept{}
	}
	first := Rings
	for p := range problems {
		m.kept[p] = k.Sessions[p.String()]
		if k.Problem == p.String() {
			first = p
		}
	}
	m.open(first)
	return m
}
