package live

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A message comes from a page. Its Kind is the kind of an action of the reader, or one of the kinds
// below.
type message struct {
	Event
	// Page is the name of the page that sent the message. Several pages may show the same run, and
	// the name distinguishes them.
	Page string `json:"page"`
	// Seq numbers the messages of a page in the order in which the page made them. Messages may
	// arrive in another order, and a message may arrive several times.
	Seq int64 `json:"seq"`
}

const (
	hello EventKind = "hello" // the page has opened, and shows nothing yet
	here  EventKind = "here"  // the page answers a ping
	drawn EventKind = "drawn" // the frame with the number Value is visible
	leave EventKind = "leave" // the page has gone
	hide  EventKind = "hide"  // the browser leaves the page, and may load it again
)

// These constants are the messages to pages, except frames.
const (
	ping = "ping %d" // requests an answer; a page that lacks the frame with this number answers hello
	end  = "end"     // no more frames will follow
)

// frame is a message to all pages.
type frame struct {
	Number int `json:"number"`
	// Answers maps each page to the Seq of the page's newest event that has taken effect.
	Answers map[string]int64 `json:"answers"`
	// Done is true if the picture is complete: all states that the events require are computed, and
	// the picture is not a preview.
	Done     bool          `json:"done"`
	Problem  Problem       `json:"problem"`
	Problems []string      `json:"problems,omitempty"` // empty if all pages have the problems
	Controls []controlView `json:"controls,omitempty"` // empty if all pages have the controls
	At       []int         `json:"at"`                 // positions of the controls
	SVG      string        `json:"svg"`
	Alt      string        `json:"alt"` // description of the picture
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
	Unit   string   `json:"unit"`
}

// inbox collects messages until the server takes them.
type inbox struct {
	mu       sync.Mutex
	messages []message
	wake     chan struct{} // holds one token while there are messages
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// addMessages adds messages in the format of the page. Other text is ignored.
func (b *inbox) addMessages(text string) {
	var all []message
	if json.Unmarshal([]byte(text), &all) != nil {
		return
	}
	b.mu.Lock()
	b.messages = append(b.messages, all...)
	b.mu.Unlock()
	b.rouse()
}

func (b *inbox) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// takeMessages returns the collected messages in the order in which the pages made them. A page may
// send several successive messages that move the same control. Of such messages, takeMessages keeps
// only the last one. The same applies to successive Scrub messages.
func (b *inbox) takeMessages() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.messages
	b.messages = nil
	slices.SortFunc(all, func(x, y message) int { return cmp.Compare(x.Seq, y.Seq) })
	kept := all[:0]
	for _, m := range all {
		if n := len(kept); n > 0 && (m.Kind == Set || m.Kind == Scrub) && kept[n-1].Kind == m.Kind && kept[n-1].Control == m.Control && kept[n-1].Page == m.Page {
			kept[n-1] = m
			continue
		}
		kept = append(kept, m)
	}
	return kept
}

const (
	// previewTime limits the computing time of a preview. After this time, only the computed part
	// of the preview is drawn.
	previewTime = 40 * time.Millisecond
	// During the computation of a long exact run, the server takes messages at intervals of
	// sliceTime. It shows the progress of the run at intervals of showTime.
	sliceTime = 20 * time.Millisecond
	showTime  = 200 * time.Millisecond
	// If a page has not drawn a frame for longer than patienceTime, the server assumes that the
	// page is hidden.
	patienceTime = time.Second
	// pingTime is the interval between pings. If a page has been silent for absenceTime, the server
	// assumes that the page is gone. If the reader has left the page, returnTime replaces
	// absenceTime.
	pingTime    = 1500 * time.Millisecond
	absenceTime = 30 * time.Second
	returnTime  = 8 * time.Second
)

// server serves a machine to the pages that show its cell.
type server struct {
	*Machine
	in   *inbox
	send func(text string)
	keep func(state []byte) // nil: the state is not stored

	number   int          // number of the last frame that was made
	arriving atomic.Int64 // number of the last frame that was sent
	heard    atomic.Int64 // time at which the last message was taken, in ns of Unix time
	seen     bool
	sent     time.Time
	inform   bool             // some page may lack the problems or controls
	newest   map[int]int64    // Seq of the last applied Set, by control
	answers  map[string]int64 // largest Seq of an applied event, by page
	caughtUp bool
	pages    map[string]time.Time // time of the last message of a page
	kept     time.Time
}

func newServer(m *Machine, in *inbox, send func(text string)) *server {
	return &server{Machine: m, in: in, send: send, seen: true, newest: map[int]int64{}, answers: map[string]int64{}, pages: map[string]time.Time{}}
}

// run serves until ctx is done or all pages have gone.
func (s *server) run(ctx context.Context) {
	s.pages[""] = time.Now() // stands for the first page
	s.heard.Store(time.Now().UnixNano())
	ctx, stop := context.WithCancel(ctx)
	var pings sync.WaitGroup
	defer pings.Wait() // nothing may be sent after run has returned
	defer stop()
	defer s.store()
	pings.Go(func() { s.ping(ctx) })
	dirty := false      // the pages do not show the current state
	var since time.Time // time since when dirty is set
	for ctx.Err() == nil {
		for _, m := range s.in.takeMessages() {
			if s.handle(m) && !dirty {
				dirty, since = true, time.Now()
			}
		}
		if s.deserted() {
			return
		}
		ready := s.seen || time.Since(s.sent) > patienceTime
		switch {
		case dirty && !s.caughtUp:
			budget := sliceTime
			if s.view().run.isPreview {
				budget = previewTime
			}
			for start := time.Now(); ; { // at least once, also on a busy machine
				s.caughtUp = s.CatchUp()
				if s.caughtUp || time.Since(start) >= budget {
					break
				}
			}
		case !dirty && ready && s.Playing():
			s.Tick()
			dirty = true
		}
		if time.Since(s.kept) > patienceTime {
			s.store()
		}
		if dirty && ready && (s.caughtUp || s.view().run.isPreview || time.Since(since) > showTime) {
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
		case <-time.After(patienceTime):
		}
	}
}

// ping sends pings to the pages until ctx is done, even during a long step. GoNB takes seconds for
// each ping without an answer, and the cell ends only after the last ping. The pings therefore
// become rarer the longer the pages are silent.
func (s *server) ping(ctx context.Context) {
	for {
		silent := time.Since(time.Unix(0, s.heard.Load()))
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(pingTime, silent/2)):
			s.send(fmt.Sprintf(ping, s.arriving.Load()))
		}
	}
}

// deserted reports whether no page is left.
func (s *server) deserted() bool {
	maps.DeleteFunc(s.pages, func(_ string, heard time.Time) bool { return time.Since(heard) > absenceTime })
	return len(s.pages) == 0
}

func (s *server) store() {
	if s.keep != nil {
		s.keep(s.Keep())
	}
	s.kept = time.Now()
}

// handle processes a message, and reports whether the picture may change.
func (s *server) handle(m message) bool {
	delete(s.pages, "")
	s.pages[m.Page] = time.Now()
	s.heard.Store(time.Now().UnixNano())
	switch m.Kind {
	case here:
		return false
	case leave:
		delete(s.pages, m.Page)
		return false
	case hide:
		s.pages[m.Page] = time.Now().Add(returnTime - absenceTime)
		return false
	case hello:
		s.inform, s.seen = true, true
		return true
	case drawn:
		s.seen = s.seen || m.Value == s.number
		return false
	}
	if m.Seq <= s.answers[m.Page] {
		return false // the event has been applied before
	}
	s.answers[m.Page] = m.Seq
	switch m.Kind {
	case Set:
		if m.Seq < s.newest[m.Control] {
			return true // another page has moved the control later; the next frame shows this page the new position
		}
		s.newest[m.Control] = m.Seq
	case Select:
		clear(s.newest)
		s.inform = true
	case Reset:
		clear(s.newest)
	}
	s.Handle(m.Event)
	s.caughtUp = false
	return true
}

// show sends the picture to all pages.
func (s *server) show() {
	v := s.view()
	s.number++
	f := frame{
		Number: s.number, Answers: s.answers, Done: s.caughtUp && !v.run.isPreview, Problem: s.problem, At: s.Settings().at,
		SVG: string(s.Draw()), Alt: s.Alt(), Readout: s.Readout(), Command: s.Settings().Command(v.shown),
		Playing: s.Playing(), Pinned: v.pinned != nil, Shown: v.shown, Last: v.run.lastStep(),
	}
	if t := v.run.perStep; t > 0 && !v.run.isPreview {
		f.Speed = fmt.Sprintf("%.2f ms per step", t.Seconds()*1e3)
	}
	if !s.caughtUp {
		f.Speed = fmt.Sprintf("computing up to step %d; %s", s.now().visibleStep, f.Speed)
	}
	if s.inform {
		s.inform = false
		for p := range problems {
			f.Problems = append(f.Problems, p.Title())
		}
		for _, c := range s.problem.Controls() {
			f.Controls = append(f.Controls, controlView{c.Field, c.Label, s.problem.Help(c), c.Values, c.Unit})
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		panic(err) // a frame contains only texts and integers
	}
	s.seen, s.sent = false, time.Now()
	s.send(string(text))
	s.arriving.Store(int64(f.Number))
}
