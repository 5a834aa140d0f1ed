package live

import "slices"

// firstShown is the step that is shown first: far enough to see something
// learned, and soon computed.
const firstShown = 20

// An Event is something that the reader does.
type Event struct {
	Kind EventKind `json:"kind"`
	// Value is the problem of Select, the control's position of Set, the step of
	// Scrub.
	Value   int `json:"value"`
	Control int `json:"control"` // of Set: which
	// Dragging tells that more of the same is to come: a preview will do.
	Dragging bool `json:"dragging"`
}

// EventKind says what an Event does.
type EventKind string

const (
	Select EventKind = "select" // another problem
	Set    EventKind = "set"    // a control
	Play   EventKind = "play"   // from the step shown on
	Pause  EventKind = "pause"
	Step   EventKind = "step"  // one forward, and pause
	Scrub  EventKind = "scrub" // to an earlier step, and pause
	Pin    EventKind = "pin"   // keep the run, to compare others with it
	Unpin  EventKind = "unpin"
	Reset  EventKind = "reset" // the paper's settings, and the run's start
)

// A Machine holds, for each problem, the settings, the run under them, the step
// that is shown and a pinned run. Under the same events it always shows the
// same. The zero value is not ready; see [NewMachine].
type Machine struct {
	problem  Problem
	sessions [problems]*session
}

// session is what the machine holds for one problem.
type session struct {
	settings Settings
	run      *trajectory
	shown    int // the step to be shown; where the run has not come so far, its last
	playing  bool
	pinned   *trajectory
	// failed says why the settings allow no run; run is then still the one
	// before.
	failed error
}

// NewMachine returns a machine that shows the rings under the paper's settings.
func NewMachine() *Machine {
	m := new(Machine)
	m.open(Rings)
	return m
}

func (m *Machine) open(p Problem) {
	m.problem = p
	if m.sessions[p] == nil {
		m.sessions[p] = &session{settings: Paper(p), shown: firstShown}
		m.now().start(false)
	}
}

func (m *Machine) now() *session { return m.sessions[m.problem] }

// Settings returns those of the problem shown.
func (m *Machine) Settings() Settings { return m.now().settings }

// Playing tells whether [Machine.Tick] goes on.
func (m *Machine) Playing() bool { return m.now().playing }

// Handle does what an event says. Events that make no sense do nothing.
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
		moved := s.settings.with(e.Control, e.Value)
		if moved.equal(s.settings) && s.run.coarse == e.Dragging && s.failed == nil {
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
		s.forward()
	case Scrub:
		s.playing = false
		s.shown = min(max(e.Value, 0), s.run.last())
	case Pin:
		// The pinned run and the current one may be the same, but only one of
		// them may go on.
		pinned := *s.run
		pinned.states = slices.Clone(s.run.states)
		pinned.next, pinned.stop = nil, func() {}
		s.pinned = &pinned
	case Unpin:
		s.pinned = nil
	case Reset:
		s.playing, s.failed, s.shown = false, nil, 0
		s.settings = Paper(m.problem)
		s.start(false)
	}
}

// start replaces the run by one under the settings.
func (s *session) start(coarse bool) {
	r := newRun(s.settings, coarse)
	r.extend()
	if s.failed = r.err; s.failed != nil && s.run != nil {
		r.stop()
		return
	}
	if s.run != nil {
		s.run.stop()
	}
	s.run = r
}

// forward shows the next step, which it computes if need be.
func (s *session) forward() bool {
	if s.shown >= s.run.last() && !s.run.extend() {
		s.playing = false
		return false
	}
	s.shown = min(s.shown+1, s.run.last())
	return true
}

// CatchUp computes one state on the way to the step to be shown, and tells
// whether it is there.
func (m *Machine) CatchUp() bool {
	s := m.now()
	if s.run.last() < s.shown && s.run.extend() {
		return s.run.last() == s.shown
	}
	s.shown = min(s.shown, s.run.last())
	return true
}

// Tick goes one step further while playing.
func (m *Machine) Tick() {
	if s := m.now(); s.playing {
		s.forward()
	}
}

// Close ends all runs.
func (m *Machine) Close() {
	for _, s := range m.sessions {
		if s != nil {
			s.run.stop()
		}
	}
}
