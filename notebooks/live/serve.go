package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"
)

// message is what the page sends: an Event, or one of the kinds below.
type message struct {
	Event
	// Seq counts the page's messages: they may arrive in another order.
	Seq int `json:"seq"`
}

const (
	hello EventKind = "hello" // the page is there and knows nothing
	drawn EventKind = "drawn" // the frame numbered Value can be seen
	leave EventKind = "leave" // the page has gone
)

// frame is what the page is told.
type frame struct {
	Number   int           `json:"number"`
	Problem  Problem       `json:"problem"`
	Problems []string      `json:"problems,omitempty"` // where the page may not know them
	Controls []controlView `json:"controls,omitempty"` // where they may have moved without the page
	SVG      string        `json:"svg"`
	Readout  string        `json:"readout"`
	Command  string        `json:"command"`
	Speed    string        `json:"speed"`
	Playing  bool          `json:"playing"`
	Pinned   bool          `json:"pinned"`
	Shown    int           `json:"shown"`
	Last     int           `json:"last"`
}

type controlView struct {
	Field  string   `json:"field"`
	Label  string   `json:"label"`
	Help   string   `json:"help"`
	Values []string `json:"values"`
	At     int      `json:"at"`
}

// inbox collects messages until they are taken.
type inbox struct {
	mu       sync.Mutex
	messages []message
	wake     chan struct{} // holds one token while there are messages
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put adds a message as the page writes it; others are ignored.
func (b *inbox) put(text string) {
	var m message
	if json.Unmarshal([]byte(text), &m) != nil {
		return
	}
	b.mu.Lock()
	b.messages = append(b.messages, m)
	b.mu.Unlock()
	b.rouse()
}

func (b *inbox) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// take returns the messages so far in the order in which they were sent. Of
// those that move the same control, or scrub, directly after each other, only
// the last is kept.
func (b *inbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.messages
	b.messages = nil
	slices.SortFunc(all, func(x, y message) int { return cmp.Compare(x.Seq, y.Seq) })
	kept := all[:0]
	for _, m := range all {
		if n := len(kept); n > 0 && (m.Kind == Set || m.Kind == Scrub) && kept[n-1].Kind == m.Kind && kept[n-1].Control == m.Control {
			kept[n-1] = m
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

const (
	// A preview may compute for so long before it is drawn as far as it has come.
	previewTime = 40 * time.Millisecond
	// An exact run that takes long looks for messages at this interval and shows
	// how far it is at the next.
	sliceTime = 20 * time.Millisecond
	showTime  = 200 * time.Millisecond
	// A page that has not drawn for so long is taken not to be looked at.
	patience = time.Second
)

// server plays a machine to one page.
type server struct {
	*Machine
	in   *inbox
	send func(frame string)

	number   int // of the last frame sent
	seen     bool
	sent     time.Time
	inform   bool        // the page may not know problems or controls
	newest   map[int]int // Seq of the last Set applied, per control
	caughtUp bool
}

// run serves until ctx is done or the page has gone.
func (s *server) run(ctx context.Context) {
	s.seen, s.newest = true, map[int]int{}
	dirty := false      // the page does not show all that has happened
	var since time.Time // how long that is so
	for ctx.Err() == nil {
		for _, m := range s.in.take() {
			if m.Kind == leave {
				return
			}
			if s.handle(m) && !dirty {
				dirty, since = true, time.Now()
			}
		}
		ready := s.seen || time.Since(s.sent) > patience
		switch {
		case dirty && !s.caughtUp:
			budget := sliceTime
			if s.view().run.coarse {
				budget = previewTime
			}
			for start := time.Now(); ; { // once at least, however busy the machine is
				s.caughtUp = s.CatchUp()
				if s.caughtUp || time.Since(start) >= budget {
					break
				}
			}
		case !dirty && ready && s.Playing():
			s.Tick()
			dirty = true
		}
		if dirty && ready && (s.caughtUp || s.view().run.coarse || time.Since(since) > showTime) {
			s.show()
			dirty, since = !s.caughtUp, time.Now()
			continue
		}
		if dirty && (ready || !s.caughtUp) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.in.wake:
		case <-time.After(patience):
		}
	}
}

// handle does what a message says and tells whether the picture may change.
func (s *server) handle(m message) bool {
	switch m.Kind {
	case hello:
		s.inform, s.seen = true, true
		return true
	case drawn:
		s.seen = s.seen || m.Value == s.number
		return false
	case Set:
		if m.Seq < s.newest[m.Control] {
			return false
		}
		s.newest[m.Control] = m.Seq
	case Select, Reset:
		clear(s.newest)
		s.inform = true
	}
	s.Handle(m.Event)
	s.caughtUp = false
	return true
}

// show sends the picture.
func (s *server) show() {
	v := s.view()
	s.number++
	f := frame{
		Number: s.number, Problem: s.problem,
		SVG: string(s.Draw()), Readout: s.Readout(), Command: s.Settings().Command(v.shown),
		Playing: s.Playing(), Pinned: v.pinned != nil, Shown: v.shown, Last: v.run.last(),
	}
	if t := v.run.perStep; t > 0 && !v.run.coarse {
		f.Speed = fmt.Sprintf("%.2f ms per step", t.Seconds()*1e3)
	}
	if !s.caughtUp {
		f.Speed = fmt.Sprintf("computing up to step %d; %s", s.now().shown, f.Speed)
	}
	if s.inform {
		s.inform = false
		for p := range problems {
			f.Problems = append(f.Problems, p.Title())
		}
		for i, c := range s.problem.Controls() {
			f.Controls = append(f.Controls, controlView{c.Field, c.Label, s.problem.Help(c), c.Values, s.Settings().At(i)})
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // a frame holds nothing but texts and integers
	}
	s.seen, s.sent = false, time.Now()
	s.send(string(text))
}
