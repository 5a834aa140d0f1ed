package live

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakePage is a page that draws at once what it is sent.
type fakePage struct {
	t      *testing.T
	in     *inbox
	mu     sync.Mutex
	frames []frame
	seq    int
	arrive chan struct{}
}

func (p *fakePage) say(kind EventKind, change func(*Event)) {
	p.mu.Lock()
	p.seq++
	m := message{Event{Kind: kind}, p.seq}
	p.mu.Unlock()
	if change != nil {
		change(&m.Event)
	}
	text, err := json.Marshal(m)
	if err != nil {
		p.t.Error(err)
	}
	p.in.put(string(text))
}

func (p *fakePage) receive(text string) {
	var f frame
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		p.t.Error(err)
	}
	p.mu.Lock()
	p.frames = append(p.frames, f)
	p.mu.Unlock()
	p.say(drawn, func(e *Event) { e.Value = f.Number })
	select {
	case p.arrive <- struct{}{}:
	default:
	}
}

// until waits for a frame that meets the condition.
func (p *fakePage) until(what string, met func(f frame) bool) frame {
	p.t.Helper()
	late := time.After(20 * time.Second)
	for {
		p.mu.Lock()
		n := len(p.frames)
		if n > 0 && met(p.frames[n-1]) {
			f := p.frames[n-1]
			p.mu.Unlock()
			return f
		}
		p.mu.Unlock()
		select {
		case <-p.arrive:
		case <-late:
			p.t.Fatalf("no frame with %s", what)
		}
	}
}

// serve serves a machine to a fake page until the test ends.
func serve(t *testing.T) *fakePage {
	p := &fakePage{t: t, in: newInbox(), arrive: make(chan struct{}, 1)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	m := quick(t, Rings, 3)
	go func() {
		defer close(done)
		(&server{Machine: m, in: p.in, send: p.receive}).run(ctx)
	}()
	t.Cleanup(func() { stop(); <-done })
	p.say(hello, nil)
	return p
}

func TestServing(t *testing.T) {
	p := serve(t)
	f := p.until("the first picture", func(f frame) bool { return f.Shown == 3 })
	if len(f.Problems) != int(problems) || len(f.Controls) != len(Rings.Controls()) || !strings.HasPrefix(f.SVG, "<svg") || f.Playing {
		t.Fatalf("first frame: %d problems, %d controls, playing %v", len(f.Problems), len(f.Controls), f.Playing)
	}
	if f.Controls[0].Help == "" || f.Controls[0].Values[f.Controls[0].At] != "60" {
		t.Errorf("first control: %+v", f.Controls[0])
	}
	p.say(Play, nil)
	f = p.until("step 12", func(f frame) bool { return f.Shown >= 12 })
	if !f.Playing || !strings.Contains(f.Speed, "ms per step") {
		t.Errorf("playing is %v at %q", f.Playing, f.Speed)
	}
	p.say(Pause, nil)
	p.until("a pause", func(f frame) bool { return !f.Playing })
	p.say(Scrub, func(e *Event) { e.Value = 2 })
	before := p.until("step 2", func(f frame) bool { return f.Shown == 2 })

	// While a slider moves there are previews, then the exact picture.
	noise := control(t, Rings, "RadiusSD")
	for at := range 10 {
		p.say(Set, func(e *Event) { e.Control, e.Value, e.Dragging = noise, at, true })
	}
	p.until("a preview", func(f frame) bool { return strings.Contains(f.Readout, "preview") })
	p.say(Set, func(e *Event) { e.Control, e.Value = noise, 3 })
	f = p.until("the exact picture", func(f frame) bool { return !strings.Contains(f.Readout, "preview") && f.Shown == 2 })
	if f.SVG == before.SVG || !strings.Contains(f.Command, "-p RadiusSD=.2") {
		t.Errorf("the released slider leads to %q", f.Command)
	}
	p.say(Select, func(e *Event) { e.Value = int(ElasticNet) })
	f = p.until("the elastic net", func(f frame) bool { return f.Problem == ElasticNet && f.Shown == firstShown })
	if f.Controls[2].Field != "Lambda1" {
		t.Errorf("its controls: %+v", f.Controls)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.frames {
		if f.Number != i+1 {
			t.Fatalf("frame %d is numbered %d", i, f.Number)
		}
	}
}

// A page that does not draw is not flooded.
func TestServingWaitsForThePage(t *testing.T) {
	in := newInbox()
	var frames []string
	ctx, stop := context.WithTimeout(t.Context(), 600*time.Millisecond)
	defer stop()
	in.put(`{"kind":"hello","seq":1}`)
	in.put(`{"kind":"play","seq":2}`)
	in.put(`no message at all`)
	(&server{Machine: quick(t, ElasticNet, 1), in: in, send: func(f string) { frames = append(frames, f) }}).run(ctx)
	if len(frames) != 1 {
		t.Errorf("%d frames were sent to a page that drew none", len(frames))
	}
}

// A page that has gone ends the cell, so that it can be run again.
func TestServingEndsWithThePage(t *testing.T) {
	in := newInbox()
	in.put(`{"kind":"hello","seq":1}`)
	in.put(`{"kind":"play","seq":2}`)
	in.put(`{"kind":"leave","seq":3}`)
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	(&server{Machine: quick(t, Rings, 1), in: in, send: func(string) {}}).run(ctx)
	if ctx.Err() != nil {
		t.Error("served a page that had gone")
	}
}

// What a step takes is measured for each problem by itself.
func TestTimePerStep(t *testing.T) {
	s := server{Machine: quick(t, Rings, 0)}
	for range 3 {
		s.timed(func() { s.Handle(Event{Kind: Step}) })
	}
	s.Handle(Event{Kind: Select, Value: int(XOR)})
	if s.perStep[Rings] <= 0 || s.perStep[XOR] != 0 {
		t.Errorf("time per step: %v", s.perStep)
	}
}

func TestInboxSortsAndKeepsTheLatest(t *testing.T) {
	b := newInbox()
	for _, m := range []string{
		`{"kind":"set","control":1,"value":5,"seq":4}`, `{"kind":"set","control":1,"value":3,"seq":2}`,
		`{"kind":"play","seq":1}`, `{"kind":"set","control":1,"value":4,"seq":3}`, `{"kind":"set","control":2,"value":9,"seq":5}`,
		`{"kind":"step","seq":6}`, `{"kind":"step","seq":7}`,
	} {
		b.put(m)
	}
	var seqs []int
	for _, m := range b.take() {
		seqs = append(seqs, m.Seq)
	}
	if want := []int{1, 4, 5, 6, 7}; !slices.Equal(seqs, want) {
		t.Errorf("took %v, want %v", seqs, want)
	}
	if len(b.take()) != 0 {
		t.Error("messages are given twice")
	}
	s := server{Machine: quick(t, Rings, 0), in: b, newest: map[int]int{}}
	s.handle(message{Event{Kind: Set, Control: 0, Value: 2}, 9})
	s.handle(message{Event{Kind: Set, Control: 0, Value: 1}, 8})
	if got := s.Settings().At(0); got != 2 {
		t.Errorf("a late message moved the control to %d", got)
	}
}

func FuzzInbox(f *testing.F) {
	f.Add(`{"kind":"set","control":-1,"value":99,"dragging":true,"seq":1}`)
	f.Add(`{"kind":"scrub","value":-1}`)
	f.Add(`[]`)
	m := NewMachine()
	f.Fuzz(func(t *testing.T, text string) {
		b := newInbox()
		b.put(text)
		s := server{Machine: m, in: b, newest: map[int]int{}}
		for _, msg := range b.take() {
			if msg.Kind != Play {
				s.handle(msg)
			}
		}
		if v := m.view(); v.shown < 0 || v.shown > v.run.last() {
			t.Fatalf("shows step %d of %d", v.shown, v.run.last())
		}
	})
}
